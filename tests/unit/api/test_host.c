/* A host with its own threads: many concurrent solves on small stacks, some cancelled, with forks
 * in between; and a host that cannot create threads. Results equal those of serial calls. */
#include "support.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 32, KINDS = 8, S = 2, M = 6, N = 12 };

static int solves = 4; /* per thread: the first argument; `make torture` runs more */
static double Y[S * M * N];
static double expected[KINDS];

static double solve(int kind, canceller *s)
{
    static const char *const methods[] = {"tl", "jd", "nmf", "auto"};
    tlnmf_ctx *ctx = new_ctx();
    char options[80];
    snprintf(options, sizeof options, "k=%d J=30 starts=%d threads=1 method=%s", 1 + kind % 3,
             1 + kind % 2, methods[kind % 4]);
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    tlnmf_ctx_set_progress(ctx, cancel_at, s);
    double C = fitted_C(ctx, data, options);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return C;
}

/* cmocka's checks work only in the main thread, so a thread counts its wrong solves. */
typedef struct worker {
    pthread_t thread;
    int number, wrong, cancelled;
} worker;

static void *work(void *user)
{
    worker *w = user;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 3, (uint64_t)w->number);
    for (int i = 0; i < solves; i++) {
        int kind = (int)pick(&rng, 0, KINDS - 1);
        bool cancels = pick(&rng, 0, 1) == 1;
        canceller s = {.last = cancels ? pick(&rng, 1, 60) : INT64_MAX};
        double C = solve(kind, &s);
        bool stopped = s.calls >= s.last;
        w->cancelled += stopped;
        w->wrong += stopped ? !isfinite(C) : C != expected[kind];
    }
    return NULL;
}

static void prepare(void)
{
    tlnmf_ctx *ctx = new_ctx();
    simulate_gcm(ctx, (gcm_recipe){S, M, N, 2, 1, 2, TL_STREAM_OWN}, Y, NULL, NULL);
    tlnmf_ctx_free(ctx);
    for (int kind = 0; kind < KINDS; kind++)
        expected[kind] = solve(kind, &(canceller){.last = INT64_MAX});
}

/* A child computes the same result as its parent, whatever other threads did during the fork. */
static void fork_and_solve(int kind)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        _exit(solve(kind, &(canceller){.last = INT64_MAX}) == expected[kind] ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void many_threads_on_small_stacks(void **state)
{
    (void)state;
    worker workers[THREADS];
    pthread_attr_t attributes;
    int cancelled = 0;
    pthread_attr_init(&attributes);
    for (int i = 0; i < THREADS; i++) {
        size_t stack = (size_t)(128 + 128 * (i % 4)) * 1024;
        workers[i] = (worker){.number = i};
        pthread_attr_setstacksize(&attributes, stack);
        assert_int_equal(pthread_create(&workers[i].thread, &attributes, work, &workers[i]), 0);
    }
#if !defined TLNMF_SANITIZED && !defined __clang__
    /* In a child, locks of a sanitizer, or of libomp next to BLAS's libgomp, may be held for ever.
     */
    for (int kind = 0; kind < KINDS; kind++)
        fork_and_solve(kind);
#else
    (void)fork_and_solve;
#endif
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
        cancelled += workers[i].cancelled;
    }
    pthread_attr_destroy(&attributes);
    print_message("%d solves, %d cancelled\n", THREADS * solves, cancelled);
}

/* ---- a host that cannot create threads ------------------------------------------------------- */

/* Two starts on two threads, in a child process. Exits with 0 if C equals that of one thread. */
static int solve_on_two(void)
{
    tlnmf_ctx *ctx = new_ctx();
    tl_settings opt = fit_settings(2);
    tl_result *result;
    double C[2];
    opt.J = 20;
    opt.starts = 4;
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    for (int i = 0; i < 2; i++) {
        opt.threads = 1 + i;
        assert_ok(ctx, tl_fit(ctx, data, &opt, NULL, &result));
        C[i] = result->info.C;
        tl_result_free(result);
    }
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return C[0] == C[1] ? 0 : 1;
}

static void limited(const char *program, const char *stack, bool no_processes)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (stack != NULL)
            setenv("OMP_STACKSIZE", stack, 1);
        if (no_processes) { /* root is not limited */
            struct rlimit none = {1, 1};
            setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* it needs its own thread */
            if ((getuid() == 0 && setuid(65534) != 0) || setrlimit(RLIMIT_NPROC, &none) != 0)
                _exit(77);
        }
        execl(program, program, "--limited", (char *)NULL);
        _exit(77); /* cannot be started by that user */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (no_processes && WEXITSTATUS(status) == 77)
        print_message("skipped: this program cannot be run by a user with limits\n");
    else
        assert_int_equal(WEXITSTATUS(status), 0);
}

static void fits_without_threads(void **state)
{
    (void)state;
    const char *program = "/proc/self/exe";
    char path[4096];
    ssize_t n = readlink(program, path, sizeof path - 1);
    assert_true(n > 0);
    path[n] = '\0';
    static const char *const stacks[] = {"16k", "64k", "64", " 65536 B", "128k", "1M", "nonsense"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        limited(path, stacks[i], false);
    limited(path, NULL, true);
}

int main(int argc, char **argv)
{
    prepare();
    if (argc > 1 && strcmp(argv[1], "--limited") == 0)
        return solve_on_two();
    if (argc > 1)
        solves = (int)strtol(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_on_small_stacks),
        cmocka_unit_test(fits_without_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
