/* Fourier transforms of real signals in double precision. Debian's kissfft is built for single
 * precision only, which would cost half the digits of the correlations that scores are made of. */
#ifndef TLNMF_AUDIO_FFT_H
#define TLNMF_AUDIO_FFT_H

#include "base/base.h"

typedef struct audio_complex {
    double re, im;
} audio_complex;

/* Tables and scratch for one length n, a power of two, at least 4. */
typedef struct audio_fft {
    int64_t n;
    audio_complex *root; /* exp(-2 pi i k / n), k < n / 2 */
    audio_complex *a, *b;
    tlnmf_hooks hooks;
    void *block;
} audio_fft;

tlnmf_error audio_fft_create(tlnmf_ctx *ctx, int64_t n, audio_fft *fft);
void audio_fft_free(audio_fft *fft);

/* X[k] = sum_t x[t] exp(-2 pi i k t / n), k = 0 .. n / 2. */
void audio_fft_forward(audio_fft *fft, const double *x, audio_complex *X);
/* The x that has this X. */
void audio_fft_inverse(audio_fft *fft, const audio_complex *X, double *x);

#endif
