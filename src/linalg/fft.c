/* A real transform of length n as a complex one of length m = n / 2, by Stockham's algorithm: radix
 * 2, in order without bit reversal. */
#include "linalg/fft.h"

#include <math.h>

tlnmf_error tl_fft_create(tlnmf_ctx *ctx, int64_t n, tl_fft *fft)
{
    const double pi = 3.14159265358979323846;
    *fft = (tl_fft){.n = n, .hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(fft->root, n / 2), TL_SLOT(fft->a, n / 2), TL_SLOT(fft->b, n / 2)};
    TRY(TL_ARENA(ctx, "a Fourier transform", table, &fft->block));
    for (int64_t k = 0; k < n / 2; k++) {
        double angle = 2.0 * pi * (double)k / (double)n;
        fft->root[k] = (tl_complex){cos(angle), -sin(angle)};
    }
    return TLNMF_OK;
}

void tl_fft_free(tl_fft *fft)
{
    tl_release(&fft->hooks, fft->block);
    *fft = (tl_fft){0};
}

/* One pass: `half` pairs of blocks of `stride` numbers that are half * stride apart. */
TL_HOT static void pass(int64_t half, int64_t stride, const tl_complex *root,
                        const tl_complex *restrict from, tl_complex *restrict to)
{
    for (int64_t j = 0; j < half; j++) {
        tl_complex w = root[2 * j * stride]; /* exp(-2 pi i j / (2 half)): roots are of n = 2m */
        const tl_complex *x = from + stride * j, *y = x + stride * half;
        tl_complex *sum = to + 2 * stride * j, *difference = sum + stride;
        for (int64_t k = 0; k < stride; k++) {
            double re = x[k].re - y[k].re, im = x[k].im - y[k].im;
            sum[k] = (tl_complex){x[k].re + y[k].re, x[k].im + y[k].im};
            difference[k] = (tl_complex){re * w.re - im * w.im, re * w.im + im * w.re};
        }
    }
}

/* Transforms fft->a and returns where the result is, a or b. */
static tl_complex *transform(tl_fft *fft)
{
    tl_complex *from = fft->a, *to = fft->b;
    for (int64_t half = fft->n / 4, stride = 1; half >= 1; half /= 2, stride *= 2) {
        pass(half, stride, fft->root, from, to);
        tl_complex *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* Even samples are the real parts, odd ones the imaginary parts: with Z their transform and Z* its
 * mirror image, X = (Z + Z*) / 2 - i w (Z - Z*) / 2. */
void tl_fft_forward(tl_fft *fft, const double *x, tl_complex *X)
{
    int64_t m = fft->n / 2;
    for (int64_t t = 0; t < m; t++)
        fft->a[t] = (tl_complex){x[2 * t], x[2 * t + 1]};
    const tl_complex *Z = transform(fft);
    X[0] = (tl_complex){Z[0].re + Z[0].im, 0.0};
    X[m] = (tl_complex){Z[0].re - Z[0].im, 0.0};
    for (int64_t k = 1; k < m; k++) {
        tl_complex w = fft->root[k], z = Z[k], y = Z[m - k];
        double re = 0.5 * (z.re - y.re), im = 0.5 * (z.im + y.im);
        X[k] = (tl_complex){0.5 * (z.re + y.re) + w.re * im + w.im * re,
                            0.5 * (z.im - y.im) - w.re * re + w.im * im};
    }
}

/* The steps above backwards; a complex inverse is a forward transform with re and im exchanged. */
void tl_fft_inverse(tl_fft *fft, const tl_complex *X, double *x)
{
    int64_t m = fft->n / 2;
    double scale = 1.0 / (double)m;
    fft->a[0] = (tl_complex){0.5 * (X[0].re - X[m].re), 0.5 * (X[0].re + X[m].re)};
    for (int64_t k = 1; k < m; k++) {
        tl_complex w = fft->root[k], z = X[k], y = X[m - k];
        double re = 0.5 * (z.re - y.re), im = 0.5 * (z.im + y.im);
        fft->a[k].im = 0.5 * (z.re + y.re) - w.re * im + w.im * re;
        fft->a[k].re = 0.5 * (z.im - y.im) + w.re * re + w.im * im;
    }
    const tl_complex *Z = transform(fft);
    for (int64_t t = 0; t < m; t++) {
        x[2 * t] = scale * Z[t].im;
        x[2 * t + 1] = scale * Z[t].re;
    }
}
