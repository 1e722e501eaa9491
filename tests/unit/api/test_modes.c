/* A fit does not change the state of the host: rounding, flushing of denormals, traps, signals. */
#define _GNU_SOURCE /* feenableexcept; NOLINT(bugprone-reserved-identifier) */
#include "support.h"

#include <fenv.h>
#include <signal.h>

enum { M = 12, N = 40, SIGNALS = 65 };

static double fit(int64_t threads)
{
    double Y[2 * M * N];
    for (int i = 0; i < 2 * M * N; i++)
        Y[i] = (double)(i * 7919L % 1009) / 500.0 - 1.0;
    char options[80];
    snprintf(options, sizeof options, "k=3 J=20 starts=3 threads=%d", (int)threads);
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = data_of(ctx, Y, 2, M, N);
    double C = fitted_C(ctx, data, options);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return C;
}

/* In every mode, the optimum is the same to a few digits, and the mode is unchanged. */
static void rounding_modes_are_unchanged(void **state)
{
    (void)state;
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int64_t threads = 1; threads <= 2; threads++) {
        double usual = fit(threads);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(fesetround(modes[i]), 0);
            double C = fit(threads);
            int after = fegetround();
            fesetround(FE_TONEAREST);
            assert_int_equal(after, modes[i]);
            assert_close(C, usual, 1e-2);
        }
    }
}

#ifdef __x86_64__
static void flushing_of_denormals_is_unchanged(void **state)
{
    (void)state;
    const unsigned flush = 0x8040; /* FTZ and DAZ */
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | flush);
    double C = fit(2);
    unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    assert_int_equal(after & flush, flush);
    assert_true(isfinite(C));
}
#endif

/* A host that traps invalid operations, divisions by zero and overflows is not ended by a fit. */
static void nothing_is_trapped(void **state)
{
    (void)state;
    const int traps = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
    double usual = fit(2);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(traps);
    double C = fit(2);
    int after = fegetexcept();
    fedisableexcept(FE_ALL_EXCEPT);
    assert_int_equal(after, traps);
    assert_true(C == usual);
}

static void signal_handlers_are_unchanged(void **state)
{
    (void)state;
    struct sigaction before[SIGNALS], after;
    sigset_t masked, still;
    for (int i = 1; i < SIGNALS; i++)
        if (sigaction(i, NULL, &before[i]) != 0)
            before[i].sa_handler = SIG_ERR;
    pthread_sigmask(SIG_SETMASK, NULL, &masked);
    fit(2);
    pthread_sigmask(SIG_SETMASK, NULL, &still);
    for (int i = 1; i < SIGNALS; i++) {
        if (sigaction(i, NULL, &after) == 0)
            assert_true(after.sa_handler == before[i].sa_handler);
        assert_int_equal(sigismember(&masked, i), sigismember(&still, i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_modes_are_unchanged),
#ifdef __x86_64__
        cmocka_unit_test(flushing_of_denormals_is_unchanged),
#endif
        cmocka_unit_test(nothing_is_trapped),
        cmocka_unit_test(signal_handlers_are_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
