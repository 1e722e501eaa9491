/* A failing disk, for LD_PRELOAD: call number FAULT_AT that writes, syncs, reserves, renames or
 * removes a file below FAULT_DIR fails with FAULT_ERROR (ENOSPC, EIO, EDQUOT), or writes only a
 * part (SHORT). BROKEN: this call and all later ones fail. KILL: the process is killed instead. The
 * number of such calls is appended to the file FAULT_COUNT, one line per process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int calls;

static const char *setting(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? text : "";
}

static int is_below(const char *path)
{
    const char *folder = setting("FAULT_DIR");
    return folder[0] != '\0' && strncmp(path, folder, strlen(folder)) == 0;
}

/* Only regular files below FAULT_DIR count. */
static int concerns(int fd)
{
    char name[64], path[4096];
    struct stat st;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = '\0';
    return is_below(path) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* 0: the call succeeds; 1: it fails and errno is set; 2: it writes only a part. */
static int judge(void)
{
    int number = atomic_fetch_add(&calls, 1) + 1;
    const char *how = setting("FAULT_ERROR");
    long at = strtol(setting("FAULT_AT"), NULL, 10);
    if (number != at && (number < at || strcmp(how, "BROKEN") != 0))
        return 0;
    if (strcmp(how, "KILL") == 0)
        raise(SIGKILL);
    if (strcmp(how, "SHORT") == 0)
        return 2;
    errno = strcmp(how, "EIO") == 0 || strcmp(how, "BROKEN") == 0 ? EIO
            : strcmp(how, "EDQUOT") == 0                          ? EDQUOT
                                                                  : ENOSPC;
    return 1;
}

#define REAL(type, name, ...)         \
    static type (*real)(__VA_ARGS__); \
    if (real == NULL)                 \
    *(void **)&real = dlsym(RTLD_NEXT, name)

ssize_t write(int fd, const void *bytes, size_t size)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    int verdict = concerns(fd) ? judge() : 0;
    return verdict == 1 ? -1 : real(fd, bytes, verdict == 2 ? (size + 1) / 2 : size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    int verdict = concerns(fd) ? judge() : 0;
    return verdict == 1 ? -1 : real(fd, bytes, verdict == 2 ? (size + 1) / 2 : size, at);
}

int fsync(int fd)
{
    REAL(int, "fsync", int);
    return concerns(fd) && judge() == 1 ? -1 : real(fd);
}

int ftruncate(int fd, off_t size)
{
    REAL(int, "ftruncate", int, off_t);
    return concerns(fd) && judge() == 1 ? -1 : real(fd, size);
}

int fallocate(int fd, int mode, off_t at, off_t size)
{
    REAL(int, "fallocate", int, int, off_t, off_t);
    return concerns(fd) && judge() == 1 ? -1 : real(fd, mode, at, size);
}

int posix_fallocate(int fd, off_t at, off_t size)
{
    REAL(int, "posix_fallocate", int, off_t, off_t);
    return concerns(fd) && judge() == 1 ? errno : real(fd, at, size);
}

int rename(const char *from, const char *to)
{
    REAL(int, "rename", const char *, const char *);
    return judge() == 1 ? -1 : real(from, to);
}

int renameat(int a, const char *from, int b, const char *to)
{
    REAL(int, "renameat", int, const char *, int, const char *);
    return judge() == 1 ? -1 : real(a, from, b, to);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
    return judge() == 1 ? -1 : real(a, from, b, to, flags);
}

int unlinkat(int folder, const char *name, int flags)
{
    REAL(int, "unlinkat", int, const char *, int);
    return judge() == 1 ? -1 : real(folder, name, flags);
}

int link(const char *from, const char *to)
{
    REAL(int, "link", const char *, const char *);
    return judge() == 1 ? -1 : real(from, to);
}

__attribute__((destructor)) static void say_how_many(void)
{
    const char *path = setting("FAULT_COUNT");
    FILE *out = path[0] != '\0' ? fopen(path, "a") : NULL;
    if (out != NULL) {
        fprintf(out, "%d\n", atomic_load(&calls));
        fclose(out);
    }
}
