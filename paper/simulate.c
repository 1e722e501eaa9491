/* The paper's two data sets (docs/spec.md, "Data sets"). */
#include "base/record.h"
#include "base/rng.h"
#include "linalg/linalg.h"
#include "tlnmf/paper.h"

#include <math.h>

static const double TWO_PI = 6.283185307179586476925287;

static void fill_gamma(tl_rng *rng, int64_t count, double *x)
{
    for (int64_t i = 0; i < count; i++) /* Gamma(shape 1, scale 2) */
        x[i] = -2.0 * log(1.0 - tl_rng_uniform(rng));
}

/* Frames are made in blocks, and each block in panels of rows of Y, which threads take in turn. A
 * panel of Phi, its columns side by side, stays in the cache for all frames of a block. */
enum { BLOCK = 256, PANEL = 64 };

typedef struct gcm_making {
    int64_t S, M, N;
    int64_t s, n0, frames; /* of the block */
    const double *Phi;     /* the true one */
    double *panels;        /* Phi in panels, M x PANEL each */
    double *root;          /* sqrt(W H), M x N */
    double *x, *y;         /* Phi y and y of the block: frames x M; panels of frames x PANEL */
    double *Y;
} gcm_making;

static void take_roots(int64_t first, int64_t last, void *arg)
{
    const gcm_making *g = arg;
    for (int64_t i = first; i < last; i++)
        g->root[i] = sqrt(g->root[i]);
}

static void copy_panel(int64_t p, int64_t last, void *arg)
{
    const gcm_making *g = arg;
    int64_t M = g->M, from = p * PANEL, width = tl_min(PANEL, M - from);
    (void)last;
    for (int64_t m = 0; m < M; m++)
        tl_copy(g->panels + from * M + m * width, g->Phi + m * M + from, width);
}

/* Multiplies the Gaussians of rows first .. last - 1 by the roots. */
static void scale_rows(int64_t first, int64_t last, void *arg)
{
    const gcm_making *g = arg;
    for (int64_t i = 0; i < g->frames; i++)
        for (int64_t m = first; m < last; m++)
            g->x[i * g->M + m] *= g->root[m * g->N + g->n0 + i];
}

static void make_panel(int64_t p, int64_t last, void *arg)
{
    const gcm_making *g = arg;
    int64_t M = g->M, from = p * PANEL, width = tl_min(PANEL, M - from);
    double *y = g->y + from * BLOCK;
    (void)last;
    for (int64_t i = 0; i < g->frames; i++)
        tl_gemv_transposed(M, width, g->panels + from * M, g->x + i * M, y + i * width);
    for (int64_t m = 0; m < width; m++)
        for (int64_t i = 0; i < g->frames; i++)
            g->Y[(g->s * M + from + m) * g->N + g->n0 + i] = y[i * width + m];
}

/* Y[s][.][n] = Phi' (randn .* root[.][n]), Gaussians in the order s, n, m. */
static void draw_gcm(tl_rng *rng, gcm_making *g)
{
    enum { ROWS = 64 }; /* of a piece, 10 us or more */
    int64_t panels = (g->M + PANEL - 1) / PANEL;
    tl_share(panels, 1, copy_panel, g);
    for (g->s = 0; g->s < g->S; g->s++)
        for (g->n0 = 0; g->n0 < g->N; g->n0 += BLOCK) {
            g->frames = tl_min(BLOCK, g->N - g->n0);
            for (int64_t i = 0; i < g->frames * g->M; i++)
                g->x[i] = tl_rng_normal(rng);
            tl_share(g->M, ROWS, scale_rows, g);
            tl_share(panels, 1, make_panel, g);
        }
}

static tlnmf_error check_gcm(tlnmf_ctx *ctx, const tl_settings *g)
{
    TRY(tl_settings_need(ctx, g, TL_TASK_GCM));
    TRY(tlnmf_settings_check(ctx, g));
    if (g->stream == TL_STREAM_NUMPY) {
        TRY(tl_check_numpy_seed(ctx, g->seed_truth));
        TRY(tl_check_numpy_seed(ctx, g->seed_data));
    }
    TRY(tl_check_size(ctx, "S", g->gcm_S));
    TRY(tl_check_size(ctx, "M", g->gcm_M));
    TRY(tl_check_size(ctx, "N", g->gcm_N));
    return tl_check_size(ctx, "K", g->gcm_K);
}

/* The arguments of fill_gcm. */
typedef struct simulation {
    tlnmf_ctx *ctx;
    const tl_settings *g;
    tlnmf_record *sample;
} simulation;

static tlnmf_error fill_gcm(void *arg)
{
    tlnmf_ctx *ctx = ((const simulation *)arg)->ctx;
    const tl_settings *g = ((const simulation *)arg)->g;
    tlnmf_record *sample = ((const simulation *)arg)->sample;
    int64_t S = g->gcm_S, M = g->gcm_M, N = g->gcm_N, K = g->gcm_K, frames = tl_min(N, BLOCK);
    gcm_making making = {.S = S, .M = M, .N = N};
    double *Phi, *W, *H;
    TRY(tl_record_new_array(ctx, sample, "Y", 3, (int64_t[]){S, M, N}, &making.Y));
    TRY(tl_record_new_array(ctx, sample, "Phi", 2, (int64_t[]){M, M}, &Phi));
    TRY(tl_record_new_array(ctx, sample, "W", 2, (int64_t[]){M, K}, &W));
    TRY(tl_record_new_array(ctx, sample, "H", 2, (int64_t[]){K, N}, &H));
    void *block;
    tl_slot table[] = {TL_SLOT(making.root, M * N), TL_SLOT(making.panels, M * M),
                       TL_SLOT(making.x, M * frames), TL_SLOT(making.y, M * BLOCK)};
    TRY(TL_SCRATCH(ctx, "the composite model", table, &block));
    tl_rng rng;
    tl_rng_seed(&rng, (tl_stream)g->stream, g->seed_truth, 0);
    fill_gamma(&rng, M * K, W);
    fill_gamma(&rng, K * N, H);
    tl_gemm(TL_PLAIN, TL_PLAIN, M, N, K, 1.0, W, K, H, N, 0.0, making.root, N);
    tl_share(M * N, 1 << 14, take_roots, &making);
    tl_dct(M, Phi);
    making.Phi = Phi;
    tl_rng_seed(&rng, (tl_stream)g->stream, g->seed_data, 0);
    draw_gcm(&rng, &making);
    tl_release(&ctx->hooks, block);
    return TLNMF_OK;
}

tlnmf_error tlnmf_simulate_gcm(tlnmf_ctx *ctx, const tl_settings *settings, tlnmf_record **sample)
{
    TL_NEED(ctx, sample);
    *sample = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, settings);
    TRY(check_gcm(ctx, settings));
    TRY(tlnmf_record_create(ctx, sample));
    return tl_record_keep_if(tl_with_threads(tl_thread_count(ctx->threads), fill_gcm,
                                             &(simulation){ctx, settings, *sample}),
                             sample);
}

/* ---- music notes ----------------------------------------------------------------------------- */

enum { RATE = 5000, LENGTH = 15000, M_ = 200, N_ = 151 };

/* A smooth bump in each second in which the note sounds, at sample t = 1 .. LENGTH. */
static double envelope(int note, int64_t t)
{
    int64_t second = (t - 1) / RATE;
    if (second != note && second != 2) /* alone, alone, together */
        return 0.0;
    double x = 2.0 * (double)((t - 1) % RATE + 1) / (RATE + 1.0) - 1.0;
    return 0.5 * exp(1.0 - 1.0 / (1.0 - x * x));
}

static double sample_at(int64_t t, const double theta[2])
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

static tlnmf_error fill_notes(tlnmf_ctx *ctx, const double *theta, int64_t S, tlnmf_record *sample)
{
    const int64_t hop = M_ / 2, pad = M_ / 2;
    double *y, *Y, *signal;
    TRY(tlnmf_record_set_real(ctx, sample, "rate", RATE));
    TRY(tl_record_new_array(ctx, sample, "Y", 3, (int64_t[]){S, M_, N_}, &Y));
    TRY(tl_record_new_array(ctx, sample, "signal", 2, (int64_t[]){S, LENGTH}, &signal));
    void *block;
    tl_slot table[] = {TL_SLOT(y, LENGTH + 2 * pad)};
    TRY(TL_ARENA(ctx, "a signal", table, &block));
    for (int64_t s = 0; s < S; s++) {
        for (int64_t t = 1; t <= LENGTH; t++)
            y[pad + t - 1] = signal[s * LENGTH + t - 1] = sample_at(t, theta + 2 * s);
        for (int64_t m = 0; m < M_; m++)
            for (int64_t n = 0; n < N_; n++) /* 190 is the sum of the window */
                Y[(s * M_ + m) * N_ + n] = window(m) * y[hop * n + m] / 190.0;
    }
    tl_release(&ctx->hooks, block);
    return TLNMF_OK;
}

tlnmf_error tlnmf_simulate_notes(tlnmf_ctx *ctx, const double *theta, int64_t S,
                                 tlnmf_record **sample)
{
    TL_NEED(ctx, sample);
    *sample = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, theta);
    if (S < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "S = %lld must be at least 1", (long long)S);
    size_t count;
    TRY(tl_count_elements(ctx, "Y", 3, (int64_t[]){S, M_, N_}, &count));
    for (int64_t s = 0; s < S; s++)
        if (!isfinite(theta[2 * s]) || !isfinite(theta[2 * s + 1]))
            return tl_fail(ctx, TLNMF_ERR_DATA, "the phase of realisation %lld is not finite",
                           (long long)s + 1);
    TRY(tlnmf_record_create(ctx, sample));
    return tl_record_keep_if(fill_notes(ctx, theta, S, *sample), sample);
}

tlnmf_error tlnmf_random_phases(tlnmf_ctx *ctx, uint64_t seed, tlnmf_stream stream, int64_t count,
                                double *theta)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, theta);
    size_t size;
    TRY(tl_count_elements(ctx, "theta", 1, &count, &size));
    if (stream != TLNMF_STREAM_OWN && stream != TLNMF_STREAM_NUMPY)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "%d is not a random number generator", (int)stream);
    if (stream == TLNMF_STREAM_NUMPY)
        TRY(tl_check_numpy_seed(ctx, seed));
    tl_rng rng;
    tl_rng_seed(&rng, stream == TLNMF_STREAM_NUMPY ? TL_STREAM_NUMPY : TL_STREAM_OWN, seed, 0);
    for (int64_t i = 0; i < count; i++)
        theta[i] = TWO_PI * tl_rng_uniform(&rng);
    return TLNMF_OK;
}
