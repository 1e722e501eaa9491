/* Fourier transforms: against plain sums. */
#include "support.h"

#include "linalg/fft.h"

static const double pi = 3.14159265358979323846;

static void transforms_are_the_sums(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    for (int64_t n = 4; n <= 512; n *= 2) {
        tl_fft fft;
        assert_ok(ctx, tl_fft_create(ctx, n, &fft));
        double *x = new_normals(&rng, n), *back = new_doubles(n);
        tl_complex *X = calloc((size_t)(n / 2 + 1), sizeof *X);
        tl_fft_forward(&fft, x, X);
        for (int64_t k = 0; k <= n / 2; k++) {
            double re = 0.0, im = 0.0;
            for (int64_t t = 0; t < n; t++) {
                double angle = 2.0 * pi * (double)(k * t % n) / (double)n;
                re += x[t] * cos(angle);
                im -= x[t] * sin(angle);
            }
            assert_near(X[k].re, re, 1e-12 * sqrt((double)n));
            assert_near(X[k].im, im, 1e-12 * sqrt((double)n));
        }
        tl_fft_inverse(&fft, X, back);
        assert_true(largest_difference(n, x, back) < 1e-14);
        tl_fft_free(&fft);
        free(x);
        free(back);
        free(X);
    }
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(transforms_are_the_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
