/* Checks, before anything else runs, whether ulimit -v allows BLAS the address space that it maps.
 */
#include "cli/cli.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__linux__) && !defined(TLNMF_SANITIZED) /* sanitizers map terabytes */

/* If OpenBLAS cannot map its buffers, it retries for ever, first in its constructor, before main.
 * Code and libraries take 200 MB of address space. Each thread takes a buffer of 128 MiB, a stack
 * of 8 MiB and 64 MiB for the heap of the C library. Measured with OpenBLAS 0.3.21
 * (docs/measurements/reliability.md). */
enum { BASE_MB = 400, THREAD_MB = 200 };

static double reserved;

double cli_blas_space(void)
{
    return reserved;
}

/* A whole number of threads, or `otherwise`. */
static long threads_of(const char *digit, long otherwise)
{
    long value = 0;
    for (; *digit >= '0' && *digit <= '9' && value < 1000; digit++)
        value = 10 * value + (*digit - '0');
    return value > 0 ? value : otherwise; /* may exceed the number of cores */
}

/* OMP_NUM_THREADS of the environment. getenv() does not work this early. */
static long threads_in(char *const *environment, long otherwise)
{
    static const char name[] = "OMP_NUM_THREADS=";
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, sizeof name - 1) == 0)
            return threads_of(*environment + sizeof name - 1, otherwise);
    return otherwise;
}

/* --threads N or --threads=N, if it is larger. */
static long threads_asked(int argc, char *const *argv, long otherwise)
{
    static const char name[] = "--threads";
    long most = otherwise;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], name, sizeof name - 1) != 0)
            continue;
        const char *rest = argv[i] + sizeof name - 1;
        long asked = *rest == '='                    ? threads_of(rest + 1, 1)
                     : *rest == '\0' && i + 1 < argc ? threads_of(argv[i + 1], 1)
                                                     : 1;
        most = asked > most ? asked : most;
    }
    return most;
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(EXIT_INTERNAL);
}

static void check(int argc, char **argv, char **environment)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    /* OPENBLAS_NUM_THREADS does not matter: if BLAS uses OpenMP, OpenMP creates its threads. */
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    threads = threads_asked(argc, argv, threads_in(environment, threads > 1 ? threads : 1));
    unsigned long needed = BASE_MB + THREAD_MB * (unsigned long)threads;
    reserved = (double)threads * THREAD_MB * 1048576.0;
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
#else
double cli_blas_space(void)
{
    return 0.0;
}
#endif
