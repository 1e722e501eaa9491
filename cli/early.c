/* Before anything else runs: whether ulimit -v leaves BLAS the address space that it maps. */
#include "cli/cli.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__linux__) && !defined(TLNMF_SANITIZED) /* sanitizers map terabytes */

/* OpenBLAS tries for ever to map its buffers where it cannot, the first time in its constructor,
 * before main. Code and libraries take 200 MB of address space, the buffers of a thread and its
 * stack up to 100 MB; measured with OpenBLAS 0.3.21 (docs/reliability.md). */
enum { BASE_MB = 400, THREAD_MB = 100 };

/* The value of a variable as a whole number of threads, or `otherwise`. The C library's getenv does
 * not work yet. */
static long threads_in(char *const *environment, const char *name, long otherwise)
{
    size_t length = strlen(name);
    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, name, length) != 0)
            continue;
        long value = 0;
        for (const char *digit = *environment + length;
             *digit >= '0' && *digit <= '9' && value < 1000; digit++)
            value = 10 * value + (*digit - '0');
        return value > 0 ? value : otherwise; /* it may be more than there are cores */
    }
    return otherwise;
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(EXIT_INTERNAL);
}

static void check(int argc, char **argv, char **environment)
{
    struct rlimit limit;
    (void)argc, (void)argv;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    /* OPENBLAS_NUM_THREADS is not asked: where BLAS uses OpenMP, its threads are OpenMP's. */
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    threads = threads_in(environment, "OMP_NUM_THREADS=", threads > 1 ? threads : 1);
    unsigned long needed = BASE_MB + THREAD_MB * (unsigned long)threads;
    if (limit.rlim_cur >> 20 >= needed)
        return;
    char number[24], *at = number + sizeof number;
    *--at = '\0';
    for (; needed > 0; needed /= 10)
        *--at = (char)('0' + needed % 10);
    say("tlnmf: ulimit -v is too low: BLAS and the libraries need ");
    say(at);
    say(" MB of address space (OMP_NUM_THREADS=1 takes less)\n");
    _exit(EXIT_INTERNAL);
}

/* The dynamic linker calls these before the constructors of any library. */
__attribute__((section(".preinit_array"), used)) static void (*const early)(int, char **,
                                                                            char **) = check;
#endif
