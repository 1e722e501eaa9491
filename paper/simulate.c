/* The paper's two data sets (docs/spec.md, "Data sets"). */
#include "base/rng.h"
#include "data/data.h"
#include "linalg/linalg.h"

#include <math.h>

static const double TWO_PI = 6.283185307179586476925287;

static void fill_gamma(tl_rng *rng, int64_t count, double *x)
{
    for (int64_t i = 0; i < count; i++) /* Gamma(shape 1, scale 2) */
        x[i] = -2.0 * log(1.0 - tl_rng_uniform(rng));
}

/* Y[s][.][n] = Phibar' (randn .* root[.][n]), Gaussians in the order s, n, m. */
static void draw_gcm(tl_rng *rng, int64_t S, int64_t M, int64_t N, const double *Phibar,
                     const double *root, double *x, double *y, double *Y)
{
    for (int64_t s = 0; s < S; s++)
        for (int64_t n = 0; n < N; n++) {
            for (int64_t m = 0; m < M; m++)
                x[m] = tl_rng_normal(rng) * root[m * N + n];
            tl_gemv_transposed(M, Phibar, x, y);
            for (int64_t m = 0; m < M; m++)
                Y[(s * M + m) * N + n] = y[m];
        }
}

tlnmf_error tl_simulate_gcm(tlnmf_ctx *ctx, int64_t S, int64_t M, int64_t N, int64_t K,
                               uint64_t seed_truth, uint64_t seed_data, tl_stream stream,
                               double *Y, double *Wbar, double *Hbar)
{
    if (S < 1 || M < 1 || N < 1 || K < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE,
                       "S = %lld, M = %lld, N = %lld, K = %lld: at least 1 each", (long long)S,
                       (long long)M, (long long)N, (long long)K);
    if (stream == TL_STREAM_NUMPY) {
        TRY(tl_check_numpy_seed(ctx, seed_truth));
        TRY(tl_check_numpy_seed(ctx, seed_data));
    }
    TRY(tl_check_size(ctx, "S", S));
    TRY(tl_check_size(ctx, "M", M));
    TRY(tl_check_size(ctx, "N", N));
    TRY(tl_check_size(ctx, "K", K));
    double *W, *H, *root, *Phibar, *x, *y;
    void *block;
    tl_slot table[] = {TL_SLOT(W, M * K),      TL_SLOT(H, K * N), TL_SLOT(root, M * N),
                       TL_SLOT(Phibar, M * M), TL_SLOT(x, M),     TL_SLOT(y, M)};
    TRY(TL_ARENA(ctx, "the composite model", table, &block));
    tl_rng rng;
    tl_rng_seed(&rng, stream, seed_truth, 0);
    fill_gamma(&rng, M * K, W);
    fill_gamma(&rng, K * N, H);
    tl_gemm(TL_PLAIN, TL_PLAIN, M, N, K, 1.0, W, K, H, N, 0.0, root, N);
    for (int64_t i = 0; i < M * N; i++)
        root[i] = sqrt(root[i]);
    tl_dct(M, Phibar);
    tl_rng_seed(&rng, stream, seed_data, 0);
    draw_gcm(&rng, S, M, N, Phibar, root, x, y, Y);
    for (int64_t i = 0; Wbar != NULL && i < M * K; i++)
        Wbar[i] = W[i];
    for (int64_t i = 0; Hbar != NULL && i < K * N; i++)
        Hbar[i] = H[i];
    tl_release(&ctx->hooks, block);
    return TLNMF_OK;
}

/* ---- music notes ----------------------------------------------------------------------------- */

enum {
    RATE = TLNMF_NOTES_RATE,
    LENGTH = TLNMF_NOTES_LENGTH,
    M_ = TLNMF_NOTES_M,
    N_ = TLNMF_NOTES_N
};

/* A smooth bump over each second that the note plays in, at sample t = 1 .. LENGTH. */
static double envelope(int note, int64_t t)
{
    int64_t second = (t - 1) / RATE;
    if (second != note && second != 2) /* alone, alone, together */
        return 0.0;
    double x = 2.0 * (double)((t - 1) % RATE + 1) / (RATE + 1.0) - 1.0;
    return 0.5 * exp(1.0 - 1.0 / (1.0 - x * x));
}

static double sample(int64_t t, const double theta[2])
{
    static const double frequency[2] = {440.0, 466.16};
    double y = 0.0;
    for (int note = 0; note < 2; note++) {
        double g = envelope(note, t);
        double p = TWO_PI * frequency[note] * (double)t / RATE + theta[note];
        y += g * (0.5 * cos(p) + 0.25 * cos(2.0 * p));
    }
    return y;
}

/* Rises over 10 samples, flat, falls over 9: symmetric about m = 100. */
static double window(int64_t m)
{
    int64_t edge = tl_min(m, M_ - m);
    return edge < 10 ? 0.5 * (1.0 - cos(0.5 * TWO_PI * (double)edge / 10.0)) : 1.0;
}

tlnmf_error tl_simulate_notes(tlnmf_ctx *ctx, int64_t S, const double *theta, double *Y,
                                 double *signal)
{
    const int64_t hop = M_ / 2, pad = M_ / 2;
    if (S < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "S = %lld: at least 1", (long long)S);
    double *y;
    void *block;
    tl_slot table[] = {TL_SLOT(y, LENGTH + 2 * pad)};
    TRY(TL_ARENA(ctx, "a signal", table, &block));
    for (int64_t s = 0; s < S; s++) {
        for (int64_t t = 1; t <= LENGTH; t++)
            y[pad + t - 1] = sample(t, theta + 2 * s);
        for (int64_t t = 0; signal != NULL && t < LENGTH; t++)
            signal[s * LENGTH + t] = y[pad + t];
        for (int64_t m = 0; Y != NULL && m < M_; m++)
            for (int64_t n = 0; n < N_; n++) /* 190 is the sum of the window */
                Y[(s * M_ + m) * N_ + n] = window(m) * y[hop * n + m] / 190.0;
    }
    tl_release(&ctx->hooks, block);
    return TLNMF_OK;
}

tlnmf_error tl_random_phases(tlnmf_ctx *ctx, uint64_t seed, tl_stream stream, int64_t count,
                                double *theta)
{
    if (stream == TL_STREAM_NUMPY)
        TRY(tl_check_numpy_seed(ctx, seed));
    tl_rng rng;
    tl_rng_seed(&rng, stream, seed, 0);
    for (int64_t i = 0; i < count; i++)
        theta[i] = TWO_PI * tl_rng_uniform(&rng);
    return TLNMF_OK;
}

tlnmf_error tl_transform_matrix(tlnmf_ctx *ctx, tl_transform kind, int64_t M, double *Phi)
{
    if (M < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "M = %lld: at least 1", (long long)M);
    switch (kind) {
    case TL_TRANSFORM_DCT:
        tl_dct(M, Phi);
        return TLNMF_OK;
    case TL_TRANSFORM_DFT:
        tl_dft(M, Phi);
        return TLNMF_OK;
    case TL_TRANSFORM_IDENTITY:
        tl_identity(M, Phi);
        return TLNMF_OK;
    default:
        return tl_fail(ctx, TLNMF_ERR_OPTION, "transform %d is not a fixed matrix", (int)kind);
    }
}
