/* Fourier transforms of real signals in double precision. Debian's kissfft has single precision
 * only: correlations, and the scores made from them, would lose half their digits. */
#ifndef TLNMF_LINALG_FFT_H
#define TLNMF_LINALG_FFT_H

#include "base/base.h"

typedef struct tl_complex {
    double re, im;
} tl_complex;

/* Tables and scratch for one length n, a power of two, at least 4. */
typedef struct tl_fft {
    int64_t n;
    tl_complex *root; /* exp(-2 pi i k / n), k < n / 2 */
    tl_complex *a, *b;
    tl_hooks hooks;
    void *block;
} tl_fft;

tlnmf_error tl_fft_create(tlnmf_ctx *ctx, int64_t n, tl_fft *fft);
void tl_fft_free(tl_fft *fft);

/* X[k] = sum_t x[t] exp(-2 pi i k t / n), k = 0 .. n / 2. */
void tl_fft_forward(tl_fft *fft, const double *x, tl_complex *X);
/* The inverse: x from X. */
void tl_fft_inverse(tl_fft *fft, const tl_complex *X, double *x);

#endif
