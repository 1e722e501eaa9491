/* Least-squares projections of estimates on the delayed references, docs/spec.md (S1).
 *
 * Reference r is allowed a filter of `taps` taps. <r(t - i), q(t - j)> depends on i - j alone, so
 * that the Gram matrix of all delayed references consists of correlations at `taps` lags, one
 * Toeplitz block for each pair of references. Correlations and filters are computed by Fourier
 * transforms of blocks of `size` samples. */
#include "score/project.h"
#include "linalg/fft.h"
#include "linalg/linalg.h"

#include <math.h>

typedef struct projector {
    int64_t n, frames, taps; /* n signals of `frames` samples */
    int64_t sources, group;  /* n = sources x group */
    int64_t size, bins;      /* length of the Fourier transforms; size / 2 + 1 bins */
    const bss_signal *reference, *estimate;
    tl_fft fft;
    double *samples;      /* size: input of a transform */
    tl_complex *spectrum; /* n + n spectra of a block: references, estimates */
    tl_complex *padded;   /* spectrum of one reference's block, padded with zeros */
    tl_complex *cross;    /* n x 2n: references against references and estimates */
    double *lags;         /* size: a cross-spectrum, transformed back */
    double *correlation;  /* n x 2n x taps */
    double *norm;         /* n: references are scaled to energy 1 */
    double *gram;         /* n taps x n taps: of all references, then of one */
    double *all; /* estimate x reference x taps: filters of the projections P e on all references */
    double
        *single; /* source x estimate x group x taps: filters of P_r e, on one source's signals */
    tl_complex *all_filter;      /* n x n x bins, estimate x reference: the spectra of `all` */
    tl_complex *single_filter;   /* the same of `single` */
    tl_complex *filtered;        /* bins: references times filters */
    double *projection, *target; /* size: a block of P e and of P_r e */
    void *memory;
} projector;

/* 16 times the filter, so that only 1/16 of a block is overlap; not longer than the signal
 * needs. */
static int64_t transform_length(int64_t taps, int64_t frames)
{
    int64_t size = 4;
    while (size < 16 * taps && size < frames + 2 * taps)
        size *= 2;
    return size;
}

static tlnmf_error create(tlnmf_ctx *ctx, projector *p)
{
    int64_t n = p->n, taps = p->taps, nn = n * n;
    p->size = transform_length(taps, p->frames);
    p->bins = p->size / 2 + 1;
    tl_slot table[] = {
        TL_SLOT(p->spectrum, 2 * n * p->bins),
        TL_SLOT(p->padded, p->bins),
        TL_SLOT(p->cross, 2 * nn * p->bins),
        TL_SLOT(p->samples, p->size),
        TL_SLOT(p->lags, p->size),
        TL_SLOT(p->correlation, 2 * nn * taps),
        TL_SLOT(p->norm, n),
        TL_SLOT(p->gram, nn * taps * taps),
        TL_SLOT(p->all, nn * taps),
        TL_SLOT(p->single, nn * taps),
        TL_SLOT(p->all_filter, nn * p->bins),
        TL_SLOT(p->single_filter, nn * p->bins),
        TL_SLOT(p->filtered, p->bins),
        TL_SLOT(p->projection, p->size),
        TL_SLOT(p->target, p->size),
    };
    TRY(TL_ARENA(ctx, "the scores", table, &p->memory));
    tlnmf_error error = tl_fft_create(ctx, p->size, &p->fft);
    if (error != TLNMF_OK)
        tl_release(&ctx->hooks, p->memory);
    return error;
}

static const bss_signal *signal_at(const projector *p, int64_t i)
{
    return i < p->n ? &p->reference[i] : &p->estimate[i - p->n];
}

/* The transform of samples first .. first + count - 1, followed by zeros; the signal is zero
 * outside its samples. */
static void transform_block(projector *p, const bss_signal *signal, int64_t first, int64_t count,
                            tl_complex *X)
{
    for (int64_t i = 0; i < p->size; i++) {
        int64_t t = first + i;
        p->samples[i] = i < count && t >= 0 && t < p->frames ? bss_sample(signal, t) : 0.0;
    }
    tl_fft_forward(&p->fft, p->samples, X);
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

/* correlation[(r 2n + s) taps + l] = sum_t r[t] s[t + l], l < taps. A block of r is followed by
 * taps - 1 zeros, so that the circular correlation is the plain one. */
static void correlate(projector *p)
{
    int64_t n = p->n, advance = p->size - p->taps + 1;
    for (int64_t first = 0; first < p->frames; first += advance) {
        for (int64_t s = 0; s < 2 * n; s++)
            transform_block(p, signal_at(p, s), first, p->size, p->spectrum + s * p->bins);
        for (int64_t r = 0; r < n; r++) {
            transform_block(p, &p->reference[r], first, advance, p->padded);
            for (int64_t s = 0; s < 2 * n; s++)
                add_cross(p->bins, p->padded, p->spectrum + s * p->bins,
                          p->cross + (r * 2 * n + s) * p->bins);
        }
    }
    for (int64_t i = 0; i < 2 * n * n; i++) {
        tl_fft_inverse(&p->fft, p->cross + i * p->bins, p->lags);
        tl_copy(p->correlation + i * p->taps, p->lags, p->taps);
    }
    for (int64_t r = 0; r < n; r++) {
        double energy = p->correlation[(r * 2 * n + r) * p->taps];
        p->norm[r] = energy > 0.0 ? sqrt(energy) : 0.0;
    }
}

/* 1 / norm, or 0 for a silent reference, whose filter stays 0. */
static double inverse_norm(const projector *p, int64_t r)
{
    return p->norm[r] > 0.0 ? 1.0 / p->norm[r] : 0.0;
}

/* G_ij = <r(t - i), q(t - j)> for i, j < taps; rows of G are `width` apart. */
static void fill_block(const projector *p, int64_t r, int64_t q, int64_t width, double *G)
{
    int64_t n = p->n, taps = p->taps;
    const double *rq = p->correlation + (r * 2 * n + q) * taps,
                 *qr = p->correlation + (q * 2 * n + r) * taps;
    double scale = inverse_norm(p, r) * inverse_norm(p, q);
    for (int64_t i = 0; i < taps; i++)
        for (int64_t j = 0; j < taps; j++)
            G[i * width + j] = scale * (i >= j ? rq[i - j] : qr[j - i]);
}

/* The right-hand side <r(t - i), e(t)>, i < taps. */
static void fill_side(const projector *p, int64_t e, int64_t r, double *side)
{
    const double *re = p->correlation + (r * 2 * p->n + p->n + e) * p->taps;
    for (int64_t i = 0; i < p->taps; i++)
        side[i] = inverse_norm(p, r) * re[i];
}

/* The filters of all estimates on the signals of source j. */
static tlnmf_error solve_source(tlnmf_ctx *ctx, projector *p, int64_t j)
{
    int64_t n = p->n, taps = p->taps, group = p->group, width = group * taps;
    for (int64_t r = 0; r < group; r++)
        for (int64_t q = 0; q < group; q++)
            fill_block(p, j * group + r, j * group + q, width,
                       p->gram + r * taps * width + q * taps);
    for (int64_t e = 0; e < n; e++)
        for (int64_t r = 0; r < group; r++)
            fill_side(p, e, j * group + r, p->single + ((j * n + e) * group + r) * taps);
    return tl_solve_semidefinite(ctx, width, p->gram, n, p->single + j * n * width);
}

/* The filters of all estimates on all references together, then on those of each source alone. */
static tlnmf_error solve(tlnmf_ctx *ctx, projector *p)
{
    int64_t n = p->n, taps = p->taps;
    for (int64_t r = 0; r < n; r++)
        for (int64_t q = 0; q < n; q++)
            fill_block(p, r, q, n * taps, p->gram + r * taps * n * taps + q * taps);
    for (int64_t e = 0; e < n; e++)
        for (int64_t r = 0; r < n; r++)
            fill_side(p, e, r, p->all + (e * n + r) * taps);
    TRY(tl_solve_semidefinite(ctx, n * taps, p->gram, n, p->all));
    for (int64_t j = 0; j < p->sources; j++)
        TRY(solve_source(ctx, p, j));
    return TLNMF_OK;
}

static void transform_filter(projector *p, const double *filter, double scale, tl_complex *X)
{
    for (int64_t i = 0; i < p->size; i++)
        p->samples[i] = i < p->taps ? scale * filter[i] : 0.0;
    tl_fft_forward(&p->fft, p->samples, X);
}

static void make_filters(projector *p)
{
    int64_t n = p->n, taps = p->taps, bins = p->bins;
    for (int64_t e = 0; e < n; e++)
        for (int64_t r = 0; r < n; r++) {
            int64_t i = e * n + r;
            double scale = inverse_norm(p, r);
            transform_filter(p, p->all + i * taps, scale, p->all_filter + i * bins);
            const double *single =
                p->single + ((r / p->group * n + e) * p->group + r % p->group) * taps;
            transform_filter(p, single, scale, p->single_filter + i * bins);
        }
}

/* Adds the energies of one block. Its projection and target are valid from sample taps - 1 on. */
static void add_energies(const projector *p, const bss_signal *estimate,
                         const bss_signal *reference, int64_t first, bss_energies *sum)
{
    double scale = estimate->scale / reference->scale; /* images are compared at the same scale */
    for (int64_t i = p->taps - 1; i < p->size; i++) {
        int64_t t = first + i;
        if (t >= p->frames + p->taps - 1)
            break;
        double e = t < p->frames ? bss_sample(estimate, t) : 0.0;
        double image = t < p->frames ? scale * bss_sample(reference, t) : 0.0;
        double projection = p->projection[i], target = p->target[i];
        sum->target += target * target;
        sum->projection += projection * projection;
        sum->interference += (projection - target) * (projection - target);
        sum->artifacts += (e - projection) * (e - projection);
        sum->rest += (e - target) * (e - target);
        sum->image += image * image;
        sum->spatial += (target - image) * (target - image);
        sum->distortion += (e - image) * (e - image);
    }
}

/* y = the sum of references first .. first+count-1 of the block in p->spectrum, each filtered. */
static void filter_block(projector *p, const tl_complex *filter, int64_t first, int64_t count,
                         double *y)
{
    memset(p->filtered, 0, (size_t)p->bins * sizeof *p->filtered);
    for (int64_t r = first; r < first + count; r++)
        add_product(p->bins, filter + r * p->bins, p->spectrum + r * p->bins, p->filtered);
    tl_fft_inverse(&p->fft, p->filtered, y);
}

/* Overlap and save: a block of `size` samples of the references gives size - taps + 1 filtered
 * ones. Filters ring for taps - 1 samples after the end of the signal. */
static void filter_and_add(projector *p, bss_energies *energies)
{
    int64_t n = p->n, bins = p->bins, advance = p->size - p->taps + 1;
    for (int64_t first = 1 - p->taps; first < p->frames; first += advance) {
        for (int64_t r = 0; r < n; r++)
            transform_block(p, &p->reference[r], first, p->size, p->spectrum + r * bins);
        for (int64_t e = 0; e < n; e++) {
            filter_block(p, p->all_filter + e * n * bins, 0, n, p->projection);
            int64_t source = e / p->group, c = e % p->group;
            for (int64_t j = 0; j < p->sources; j++) {
                filter_block(p, p->single_filter + e * n * bins, j * p->group, p->group, p->target);
                add_energies(p, &p->estimate[e], &p->reference[j * p->group + c], first,
                             &energies[(c * p->sources + source) * p->sources + j]);
            }
        }
    }
}

tlnmf_error bss_project(tlnmf_ctx *ctx, const bss_problem *problem, bss_energies *energies)
{
    projector p = {.n = problem->sources * problem->group,
                   .sources = problem->sources,
                   .group = problem->group,
                   .frames = problem->frames,
                   .taps = problem->filter,
                   .reference = problem->reference,
                   .estimate = problem->estimate};
    TRY(create(ctx, &p));
    correlate(&p);
    tlnmf_error error = solve(ctx, &p);
    if (error == TLNMF_OK) {
        make_filters(&p);
        filter_and_add(&p, energies);
    }
    tl_fft_free(&p.fft);
    tl_release(&ctx->hooks, p.memory);
    return error;
}
