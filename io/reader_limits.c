/* Limits of the reader process: memory, time, system calls. */
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): memfd_create and numbers of calls
#include "reader.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sanitizers map terabytes and make unusual system calls. */
#if defined(TLNMF_SANITIZED)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && !IS_SANITIZED
#define HAS_FILTER 1
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#else
#define HAS_FILTER 0
#endif

/* ---- memory and time ------------------------------------------------------------------------- */

static void limit_time(uint64_t seconds)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_cur <= seconds)
        return;
    limit.rlim_cur = (rlim_t)seconds;
    if (limit.rlim_max > seconds + 1)
        limit.rlim_max = (rlim_t)seconds + 1; /* the first signal can be caught */
    setrlimit(RLIMIT_CPU, &limit);
}

/* Bytes of address space in use; 0 if unknown. */
static uint64_t mapped(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (!f)
        return 0;
    if (fscanf(f, "%lu", &pages) != 1) // NOLINT(cert-err34-c): the kernel's own number
        pages = 0;
    fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t io_memory_to_read(int64_t size)
{
    const uint64_t times = UINT64_C(3) * 200;
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    return size < 0 || (uint64_t)size > machine / times ? machine : (uint64_t)size * times;
}

/* `base` is for everything else that the libraries allocate; it was chosen arbitrarily. */
static void limit_memory(int64_t size)
{
    const uint64_t base = UINT64_C(384) << 20, more = io_memory_to_read(size);

    struct rlimit limit;
    if (IS_SANITIZED || getrlimit(RLIMIT_AS, &limit) != 0 ||
        limit.rlim_cur <= mapped() + base + more)
        return;
    limit.rlim_cur = (rlim_t)(mapped() + base + more);
    setrlimit(RLIMIT_AS, &limit);
}

/* ---- system calls ---------------------------------------------------------------------------- */

#if HAS_FILTER
#ifdef __x86_64__
#define OUR_ARCH AUDIT_ARCH_X86_64
#else
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define DENY           ANSWER(SECCOMP_RET_ERRNO | 1 /* EPERM */)
#define ALLOW(name) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)SYS_##name, 0, 1), ANSWER(SECCOMP_RET_ALLOW)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

/* Allows reading, memory, time and exit. Files may be opened, but not for writing: the low word of
 * the third argument of openat has the flags. Any other call returns EPERM. */
static bool filter_calls(void)
{
    struct sock_filter program[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0),
        DENY,
        LOAD(nr),
        ALLOW(read),
        ALLOW(pread64),
        ALLOW(readv),
        ALLOW(preadv),
        ALLOW(lseek),
        ALLOW(fstat),
        ALLOW(newfstatat),
        ALLOW(statx),
        ALLOW(statfs),
        ALLOW(fstatfs),
        ALLOW(close),
        ALLOW(write),
        ALLOW(ftruncate),
        ALLOW(mmap),
        ALLOW(munmap),
        ALLOW(mremap),
        ALLOW(mprotect),
        ALLOW(madvise),
        ALLOW(brk),
        ALLOW(futex),
        ALLOW(flock),
        ALLOW(fcntl),
        ALLOW(faccessat),
        ALLOW(readlinkat),
        ALLOW(getcwd),
        ALLOW(memfd_create),
        ALLOW(getrandom),
        ALLOW(clock_gettime),
        ALLOW(gettimeofday),
        ALLOW(getpid),
        ALLOW(gettid),
        ALLOW(getuid),
        ALLOW(geteuid),
        ALLOW(rt_sigaction),
        ALLOW(rt_sigprocmask),
        ALLOW(rt_sigreturn),
        ALLOW(sched_yield),
        ALLOW(sched_getaffinity),
        ALLOW(sysinfo),
        ALLOW(uname),
        ALLOW(prlimit64),
        ALLOW(tgkill),
        ALLOW(exit),
        ALLOW(exit_group),
#ifdef __x86_64__
        ALLOW(stat),
        ALLOW(lstat),
        ALLOW(access),
        ALLOW(readlink),
        ALLOW(getdents64),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)SYS_openat, 1, 0),
        DENY,
        LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1),
        DENY,
        ANSWER(SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {sizeof program / sizeof *program, program};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}
#else
static bool filter_calls(void)
{
    return false;
}
#endif

bool io_confine(int64_t size)
{
    const int64_t rate = 5 << 20; /* bytes per second, on a slow machine */
    const struct rlimit none = {0, 0};

    limit_memory(size);
    if (size >= 0)
        limit_time(5 + (uint64_t)(size / rate));
    setrlimit(RLIMIT_CORE, &none);
    return size >= 0 && filter_calls(); /* a .mat file from a pipe needs a temporary file */
}

int io_memory_file(const char *name)
{
#ifdef MFD_CLOEXEC
    return memfd_create(name, MFD_CLOEXEC);
#else
    FILE *f = tmpfile();
    int fd = f ? fcntl(fileno(f), F_DUPFD_CLOEXEC, 3) : -1;

    (void)name;
    if (f)
        fclose(f);
    return fd;
#endif
}
