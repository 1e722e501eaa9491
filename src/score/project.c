/* Least-squares projections of estimates on references that are filtered by up to L taps.
 *
 * <r(t - i), q(t - j)> depends on i - j alone, so that the Gram matrix of all delayed references is
 * made of correlations at L lags, one Toeplitz block a pair; docs/spec.md (S1). Correlations
 * and filters go through Fourier transforms of blocks of N samples. */
#include "score/project.h"
#include "linalg/fft.h"
#include "linalg/linalg.h"

#include <math.h>

typedef struct projector {
    int64_t n, frames, L, N, bins; /* n sources; N / 2 + 1 bins */
    const bss_signal *reference, *estimate;
    tl_fft fft;
    tl_complex *spectrum;        /* n + n of a block: references, estimates */
    tl_complex *padded;          /* of one reference's block, with zeros behind */
    tl_complex *cross;           /* n x 2n: references against references and estimates */
    double *time;                /* N */
    double *correlation;         /* n x 2n x L */
    double *norm;                /* n: the references are scaled to energy 1 */
    double *gram, *all, *single; /* all: n x nL, the taps of each estimate on all references;
                                    single: n x n x L, of each estimate on one */
    tl_complex *all_filter, *single_filter; /* n x n x bins, estimate x reference */
    double *part;                           /* N */
    void *block;
} projector;

static int64_t transform_length(int64_t L, int64_t frames)
{
    int64_t N = 4;
    while (N < 16 * L && N < frames + 2 * L)
        N *= 2;
    return N;
}

static tlnmf_error create(tlnmf_ctx *ctx, projector *p)
{
    int64_t n = p->n, L = p->L, nn = n * n;
    p->N = transform_length(L, p->frames);
    p->bins = p->N / 2 + 1;
    tl_slot table[] = {
        TL_SLOT(p->spectrum, 2 * n * p->bins),
        TL_SLOT(p->padded, p->bins),
        TL_SLOT(p->cross, 2 * nn * p->bins),
        TL_SLOT(p->time, p->N),
        TL_SLOT(p->part, p->N),
        TL_SLOT(p->correlation, 2 * nn * L),
        TL_SLOT(p->norm, n),
        TL_SLOT(p->gram, nn * L * L),
        TL_SLOT(p->all, nn * L),
        TL_SLOT(p->single, nn * L),
        TL_SLOT(p->all_filter, nn * p->bins),
        TL_SLOT(p->single_filter, nn * p->bins),
    };
    TRY(TL_ARENA(ctx, "the scores", table, &p->block));
    tlnmf_error error = tl_fft_create(ctx, p->N, &p->fft);
    if (error != TLNMF_OK)
        tl_release(&ctx->hooks, p->block);
    return error;
}

static const bss_signal *signal_at(const projector *p, int64_t i)
{
    return i < p->n ? &p->reference[i] : &p->estimate[i - p->n];
}

/* The transform of samples first .. first + count - 1, silence outside the signal and behind. */
static void transform_block(projector *p, const bss_signal *signal, int64_t first, int64_t count,
                            tl_complex *X)
{
    for (int64_t i = 0; i < p->N; i++) {
        int64_t t = first + i;
        p->time[i] = i < count && t >= 0 && t < p->frames ? bss_sample(signal, t) : 0.0;
    }
    tl_fft_forward(&p->fft, p->time, X);
}

/* sum += conj(A) B */
TL_HOT static void add_cross(int64_t bins, const tl_complex *A, const tl_complex *B,
                             tl_complex *sum)
{
    for (int64_t k = 0; k < bins; k++) {
        sum[k].re += A[k].re * B[k].re + A[k].im * B[k].im;
        sum[k].im += A[k].re * B[k].im - A[k].im * B[k].re;
    }
}

/* sum += A B */
TL_HOT static void add_product(int64_t bins, const tl_complex *A, const tl_complex *B,
                               tl_complex *sum)
{
    for (int64_t k = 0; k < bins; k++) {
        sum[k].re += A[k].re * B[k].re - A[k].im * B[k].im;
        sum[k].im += A[k].re * B[k].im + A[k].im * B[k].re;
    }
}

/* correlation[(r 2n + s) L + l] = sum_t r[t] s[t + l], l = 0 .. L - 1. A block of r that leaves
 * room for L - 1 lags sees no sample of s twice. */
static void correlate(projector *p)
{
    int64_t n = p->n, advance = p->N - p->L + 1;
    for (int64_t first = 0; first < p->frames; first += advance) {
        for (int64_t s = 0; s < 2 * n; s++)
            transform_block(p, signal_at(p, s), first, p->N, p->spectrum + s * p->bins);
        for (int64_t r = 0; r < n; r++) {
            transform_block(p, &p->reference[r], first, advance, p->padded);
            for (int64_t s = 0; s < 2 * n; s++)
                add_cross(p->bins, p->padded, p->spectrum + s * p->bins,
                          p->cross + (r * 2 * n + s) * p->bins);
        }
    }
    for (int64_t i = 0; i < 2 * n * n; i++) {
        tl_fft_inverse(&p->fft, p->cross + i * p->bins, p->time);
        tl_copy(p->correlation + i * p->L, p->time, p->L);
    }
    for (int64_t r = 0; r < n; r++) {
        double energy = p->correlation[(r * 2 * n + r) * p->L];
        p->norm[r] = energy > 0.0 ? sqrt(energy) : 0.0;
    }
}

/* 1 / (norms), or 0 beside a silent reference, whose taps stay 0. */
static double inverse_norm(const projector *p, int64_t r)
{
    return p->norm[r] > 0.0 ? 1.0 / p->norm[r] : 0.0;
}

/* <r(t - i), q(t - j)> for i, j < L, into the block of an array with `width` columns. */
static void fill_block(const projector *p, int64_t r, int64_t q, int64_t width, double *G)
{
    int64_t n = p->n, L = p->L;
    const double *rq = p->correlation + (r * 2 * n + q) * L,
                 *qr = p->correlation + (q * 2 * n + r) * L;
    double scale = inverse_norm(p, r) * inverse_norm(p, q);
    for (int64_t i = 0; i < L; i++)
        for (int64_t j = 0; j < L; j++)
            G[i * width + j] = scale * (i >= j ? rq[i - j] : qr[j - i]);
}

/* <r(t - i), e(t)>, i < L. */
static void fill_side(const projector *p, int64_t e, int64_t r, double *side)
{
    const double *re = p->correlation + (r * 2 * p->n + p->n + e) * p->L;
    for (int64_t i = 0; i < p->L; i++)
        side[i] = inverse_norm(p, r) * re[i];
}

/* The taps of all estimates on all references together, then on each alone. */
static tlnmf_error solve(tlnmf_ctx *ctx, projector *p)
{
    int64_t n = p->n, L = p->L;
    for (int64_t r = 0; r < n; r++)
        for (int64_t q = 0; q < n; q++)
            fill_block(p, r, q, n * L, p->gram + r * L * n * L + q * L);
    for (int64_t e = 0; e < n; e++)
        for (int64_t r = 0; r < n; r++)
            fill_side(p, e, r, p->all + (e * n + r) * L);
    TRY(tl_solve_semidefinite(ctx, n * L, p->gram, n, p->all));
    for (int64_t r = 0; r < n; r++) { /* single: reference x estimate x tap */
        fill_block(p, r, r, L, p->gram);
        for (int64_t e = 0; e < n; e++)
            fill_side(p, e, r, p->single + (r * n + e) * L);
        TRY(tl_solve_semidefinite(ctx, L, p->gram, n, p->single + r * n * L));
    }
    return TLNMF_OK;
}

static void transform_taps(projector *p, const double *taps, double scale, tl_complex *X)
{
    for (int64_t i = 0; i < p->N; i++)
        p->time[i] = i < p->L ? scale * taps[i] : 0.0;
    tl_fft_forward(&p->fft, p->time, X);
}

static void make_filters(projector *p)
{
    int64_t n = p->n, L = p->L, bins = p->bins;
    for (int64_t e = 0; e < n; e++)
        for (int64_t r = 0; r < n; r++) {
            int64_t i = e * n + r;
            double scale = inverse_norm(p, r);
            transform_taps(p, p->all + i * L, scale, p->all_filter + i * bins);
            transform_taps(p, p->single + (r * n + e) * L, scale, p->single_filter + i * bins);
        }
}

/* What one block adds; projection and target are valid from sample L - 1 on. */
static void add_energies(const projector *p, const bss_signal *estimate, int64_t first,
                         const double *projection, const double *target, bss_energies *sum)
{
    for (int64_t i = p->L - 1; i < p->N; i++) {
        int64_t t = first + i;
        if (t >= p->frames + p->L - 1)
            break;
        double e = t < p->frames ? bss_sample(estimate, t) : 0.0;
        double P = projection[i], T = target[i];
        sum->target += T * T;
        sum->projection += P * P;
        sum->interference += (P - T) * (P - T);
        sum->artifacts += (e - P) * (e - P);
        sum->rest += (e - T) * (e - T);
    }
}

/* Overlap and save: a block of N samples of the references gives N - L + 1 of what is filtered. The
 * filters ring for L - 1 samples after the end. */
static void filter_and_add(projector *p, bss_energies *energies)
{
    int64_t n = p->n, bins = p->bins, advance = p->N - p->L + 1;
    for (int64_t first = 1 - p->L; first < p->frames; first += advance) {
        for (int64_t r = 0; r < n; r++)
            transform_block(p, &p->reference[r], first, p->N, p->spectrum + r * bins);
        for (int64_t e = 0; e < n; e++) {
            memset(p->padded, 0, (size_t)bins * sizeof *p->padded);
            for (int64_t r = 0; r < n; r++)
                add_product(bins, p->all_filter + (e * n + r) * bins, p->spectrum + r * bins,
                            p->padded);
            tl_fft_inverse(&p->fft, p->padded, p->part);
            for (int64_t r = 0; r < n; r++) {
                memset(p->padded, 0, (size_t)bins * sizeof *p->padded);
                add_product(bins, p->single_filter + (e * n + r) * bins, p->spectrum + r * bins,
                            p->padded);
                tl_fft_inverse(&p->fft, p->padded, p->time);
                add_energies(p, &p->estimate[e], first, p->part, p->time, &energies[e * n + r]);
            }
        }
    }
}

tlnmf_error bss_project(tlnmf_ctx *ctx, int64_t sources, int64_t frames, int64_t filter,
                        const bss_signal *reference, const bss_signal *estimate,
                        bss_energies *energies)
{
    projector p = {
        .n = sources, .frames = frames, .L = filter, .reference = reference, .estimate = estimate};
    TRY(create(ctx, &p));
    correlate(&p);
    tlnmf_error error = solve(ctx, &p);
    if (error == TLNMF_OK) {
        make_filters(&p);
        filter_and_add(&p, energies);
    }
    tl_fft_free(&p.fft);
    tl_release(&ctx->hooks, p.block);
    return error;
}
