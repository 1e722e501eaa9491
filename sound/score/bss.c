/* Scores of a separation: BSS Eval 3 (Vincent, Gribonval, Fevotte 2006) and SI-SDR. */
#include "base/monitor.h"
#include "linalg/dft.h"
#include "linalg/linalg.h"
#include "sound/score/score.h"

#include <math.h>

/* One channel of a signal: sample t is scale * x[t * stride]. */
typedef struct channel {
    const double *x;
    int64_t stride;
    double scale;
} channel;

static double sample_of(const channel *c, int64_t t)
{
    return c->scale * c->x[t * c->stride];
}

/* The energies of an estimate for one reference, docs/spec.md (S2): target P_r e, projection on all
 * references P e, interference P e - P_r e, artifacts e - P e, and e - P_r e, all that is not
 * target. Of images, (S5): the reference itself, P_r e - r and e - r. */
typedef struct energies {
    double target, projection, interference, artifacts, rest;
    double image, spatial, distortion;
} energies;

/* ---- projections ----------------------------------------------------------------------------- */

/* Least-squares projections of estimates on the delayed references, docs/spec.md (S1).
 *
 * Reference r is allowed a filter of `taps` taps. <r(t - i), q(t - j)> depends on i - j alone, so
 * that the Gram matrix of all delayed references consists of correlations at `taps` lags, one
 * Toeplitz block for each pair of references. Correlations and filters are computed by Fourier
 * transforms of blocks of `size` samples. */

/* Signals and their transforms are columns of matrices of `size` rows. */
typedef struct projector {
    int64_t n, frames, taps; /* n signals of `frames` samples */
    int64_t sources, group;  /* n = sources x group */
    int64_t size, batch;     /* length of the transforms; blocks that are transformed together */
    int64_t outputs;         /* n + n x sources: P e of each estimate, then P_r e of each pair */
    tl_monitor *monitor;
    double pass, passes; /* of all passes over the signals; passes = 0: progress is not set here */
    const channel *reference, *estimate;
    tl_dft_plan dft;
    double *block;       /* columns before a transform, or after an inverse one */
    double *spectrum;    /* 3n of each block: references, estimates, references with zeros */
    double *cross;       /* 2nn columns: references against references and estimates */
    double *filters;     /* 2nn columns: the spectra of `all`, then of `single` */
    double *filtered;    /* outputs of each block: references times filters */
    double *correlation; /* n x 2n x taps */
    double *norm;        /* n: references are scaled to energy 1 */
    double *gram;        /* n taps x n taps: of all references, then of one */
    double *all; /* estimate x reference x taps: filters of the projections P e on all references */
    double
        *single; /* source x estimate x group x taps: filters of P_r e, on one source's signals */
    void *memory;
} projector;

/* 8 times the filter, so that only 1/8 of a block is overlap; not longer than the signal
 * needs. */
static int64_t transform_length(int64_t taps, int64_t frames)
{
    int64_t size = 4;
    while (size < 8 * taps && size < frames + 2 * taps)
        size *= 2;
    return size;
}

static tlnmf_error create_projector(tlnmf_ctx *ctx, projector *p)
{
    int64_t n = p->n, taps = p->taps, nn = n * n;
    p->size = transform_length(taps, p->frames);
    p->batch = tl_max(1, 16 / n); /* transforms work on 16 columns at a time */
    p->outputs = n + n * p->sources;
    int64_t columns = p->batch * tl_max(3 * n, p->outputs);
    tl_slot table[] = {
        TL_SLOT(p->block, p->size * tl_max(columns, 2 * nn)),
        TL_SLOT(p->spectrum, p->size * 3 * n * p->batch),
        TL_SLOT(p->cross, p->size * 2 * nn),
        TL_SLOT(p->filters, p->size * 2 * nn),
        TL_SLOT(p->filtered, p->size * p->outputs * p->batch),
        TL_SLOT(p->correlation, 2 * nn * taps),
        TL_SLOT(p->norm, n),
        TL_SLOT(p->gram, nn * taps * taps),
        TL_SLOT(p->all, nn * taps),
        TL_SLOT(p->single, nn * taps),
    };
    TRY(TL_ARENA(ctx, "the scores", table, &p->memory));
    tlnmf_error error = tl_dft_plan_create(ctx, p->size, &p->dft);
    if (error != TLNMF_OK)
        tl_release(&ctx->hooks, p->memory);
    return error;
}

/* Whether the call must end; this pass has reached sample `first`. */
static bool stops(const projector *p, int64_t first)
{
    if (p->passes == 0.0)
        return tl_poll(p->monitor);
    double part = (double)tl_max(first, 0) / (double)p->frames;
    return tl_poll_at(p->monitor, "score", p->pass + part, p->passes);
}

/* Sample t of a signal, zero outside its samples. */
static double sample_at(const projector *p, const channel *c, int64_t t)
{
    return t >= 0 && t < p->frames ? sample_of(c, t) : 0.0;
}

/* The blocks of a batch, the first of which begins at sample `first`: of each the references, and
 * unless `only` the estimates, and the references with zeros from sample `advance` on. */
static void cut(const projector *p, int64_t first, int64_t advance, bool only)
{
    int64_t n = p->n;
    double *to = p->block;
    for (int64_t i = 0; i < p->size; i++)
        for (int64_t k = 0; k < p->batch; k++) {
            int64_t t = first + k * advance + i;
            for (int64_t r = 0; r < n; r++)
                to[r] = sample_at(p, &p->reference[r], t);
            for (int64_t r = 0; !only && r < n; r++) {
                to[n + r] = sample_at(p, &p->estimate[r], t);
                to[2 * n + r] = i < advance ? to[r] : 0.0;
            }
            to += only ? n : 3 * n;
        }
}

/* The Fourier sum of a column at one frequency is scale (a - i b), a and b being two rows of its
 * spectrum. At 0 and at half the rate b is zero and has no row. */
typedef struct frequency {
    int64_t a, b;
    bool alone; /* no row b */
    double scale;
} frequency;

static frequency frequency_at(int64_t size, int64_t j)
{
    bool alone = j == 0 || 2 * j == size;
    int64_t a = tl_max(0, 2 * j - 1);
    return (frequency){a, alone ? a : 2 * j, alone, sqrt((double)size / (alone ? 1.0 : 2.0))};
}

/* cross += conj(padded references) times references and estimates, over the blocks of a batch. */
TL_HOT static void add_cross(const projector *p)
{
    int64_t n = p->n, wide = 2 * n, columns = 3 * n * p->batch;
    for (int64_t j = 0; 2 * j <= p->size; j++) {
        frequency f = frequency_at(p->size, j);
        for (int64_t i = 0; i < n * p->batch; i++) {
            int64_t r = i % n, at = i / n * 3 * n; /* the reference, and where its block begins */
            const double *a = p->spectrum + f.a * columns + at,
                         *b = p->spectrum + f.b * columns + at;
            double *to_a = p->cross + (f.a * n + r) * wide, *to_b = p->cross + (f.b * n + r) * wide;
            double ra = f.scale * a[wide + r], rb = f.alone ? 0.0 : f.scale * b[wide + r];
            for (int64_t s = 0; s < wide; s++)
                to_a[s] += ra * a[s] + rb * b[s];
            for (int64_t s = 0; !f.alone && s < wide; s++)
                to_b[s] += ra * b[s] - rb * a[s];
        }
    }
}

/* correlation[(r 2n + s) taps + l] = sum_t r[t] s[t + l], l < taps. A block of r is followed by
 * taps - 1 zeros, so that the circular correlation is the plain one. */
static void correlate(projector *p)
{
    int64_t n = p->n, advance = p->size - p->taps + 1, pairs = 2 * n * n;
    int64_t columns = 3 * n * p->batch;
    for (int64_t first = 0; first < p->frames && !stops(p, first); first += p->batch * advance) {
        cut(p, first, advance, false);
        tl_dft_forward(&p->dft, columns, p->block, p->spectrum);
        add_cross(p);
    }
    tl_dft_inverse(&p->dft, pairs, p->cross, p->block);
    for (int64_t i = 0; i < pairs; i++)
        for (int64_t l = 0; l < p->taps; l++)
            p->correlation[i * p->taps + l] = p->block[l * pairs + i];
    for (int64_t r = 0; r < n; r++) { /* not by a transform: a silent one must have norm 0 */
        double energy = 0.0;
        for (int64_t t = 0; t < p->frames; t++)
            energy += sample_of(&p->reference[r], t) * sample_of(&p->reference[r], t);
        p->norm[r] = sqrt(energy);
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

/* The filters of all estimates on references first .. first+count-1: estimate x reference x taps.
 */
static tlnmf_error solve_on(tlnmf_ctx *ctx, const projector *p, int64_t first, int64_t count,
                            double *filters)
{
    int64_t taps = p->taps, width = count * taps;
    for (int64_t r = 0; r < count; r++)
        for (int64_t q = 0; q < count; q++)
            fill_block(p, first + r, first + q, width, p->gram + r * taps * width + q * taps);
    for (int64_t e = 0; e < p->n; e++)
        for (int64_t r = 0; r < count; r++)
            fill_side(p, e, first + r, filters + (e * count + r) * taps);
    return tl_solve_semidefinite(ctx, width, p->gram, p->n, filters);
}

/* The filters on all references together, then on those of each source alone. */
static tlnmf_error solve(tlnmf_ctx *ctx, const projector *p)
{
    TRY(solve_on(ctx, p, 0, p->n, p->all));
    for (int64_t j = 0; j < p->sources && !tl_poll(p->monitor); j++)
        TRY(solve_on(ctx, p, j * p->group, p->group, p->single + j * p->n * p->group * p->taps));
    return TLNMF_OK;
}

/* The spectra of all filters: column e n + r of `all`, nn + e n + r of `single`. */
static void make_filters(projector *p)
{
    int64_t n = p->n, taps = p->taps, nn = n * n;
    memset(p->block, 0, (size_t)(p->size * 2 * nn) * sizeof *p->block);
    for (int64_t e = 0; e < n; e++)
        for (int64_t r = 0; r < n; r++) {
            int64_t i = e * n + r;
            double scale = inverse_norm(p, r);
            const double *all = p->all + i * taps;
            const double *single =
                p->single + ((r / p->group * n + e) * p->group + r % p->group) * taps;
            for (int64_t t = 0; t < taps; t++) {
                p->block[t * 2 * nn + i] = scale * all[t];
                p->block[t * 2 * nn + nn + i] = scale * single[t];
            }
        }
    tl_dft_forward(&p->dft, 2 * nn, p->block, p->filters);
}

/* Adds the energies of estimate `at` and source j in one block of the batch, which begins at sample
 * `first`. Its projection and target are valid from sample taps - 1 on. */
static void add_block(const projector *p, int64_t at, int64_t j, int64_t block, int64_t first,
                      energies *sum)
{
    const channel *estimate = &p->estimate[at];
    const channel *reference = &p->reference[j * p->group + at % p->group];
    int64_t columns = p->outputs * p->batch;
    const double *of_all = p->block + block * p->outputs + at,
                 *of_one = p->block + block * p->outputs + p->n + at * p->sources + j;
    double scale = estimate->scale / reference->scale; /* images are compared at the same scale */
    for (int64_t i = p->taps - 1; i < p->size; i++) {
        int64_t t = first + i;
        if (t >= p->frames + p->taps - 1)
            break;
        double e = t < p->frames ? sample_of(estimate, t) : 0.0;
        double image = t < p->frames ? scale * sample_of(reference, t) : 0.0;
        double projection = of_all[i * columns], target = of_one[i * columns];
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

/* filtered: for each estimate the sum of all filtered references; for each pair the sum of the
 * source's filtered references. */
TL_HOT static void filter_blocks(const projector *p)
{
    int64_t n = p->n, filters = 2 * n * n, outputs = p->outputs * p->batch;
    memset(p->filtered, 0, (size_t)(p->size * outputs) * sizeof *p->filtered);
    for (int64_t j = 0; 2 * j <= p->size; j++) {
        frequency f = frequency_at(p->size, j);
        for (int64_t i = 0; i < filters; i++) {
            int64_t e = i / n % n, r = i % n;
            int64_t to = i < n * n ? e : n + e * p->sources + r / p->group;
            double fa = f.scale * p->filters[f.a * filters + i],
                   fb = f.alone ? 0.0 : f.scale * p->filters[f.b * filters + i];
            const double *a = p->spectrum + f.a * n * p->batch + r,
                         *b = p->spectrum + f.b * n * p->batch + r;
            double *to_a = p->filtered + f.a * outputs + to,
                   *to_b = p->filtered + f.b * outputs + to;
            for (int64_t k = 0; k < p->batch; k++) {
                to_a[k * p->outputs] += fa * a[k * n] - fb * b[k * n];
                if (!f.alone)
                    to_b[k * p->outputs] += fa * b[k * n] + fb * a[k * n];
            }
        }
    }
}

/* Overlap and save: a block of `size` samples of the references gives size - taps + 1 filtered
 * ones. Filters ring for taps - 1 samples after the end of the signal. */
static void filter_and_add(projector *p, energies *sums)
{
    int64_t n = p->n, advance = p->size - p->taps + 1;
    for (int64_t first = 1 - p->taps; first < p->frames && !stops(p, first);
         first += p->batch * advance) {
        cut(p, first, advance, true);
        tl_dft_forward(&p->dft, n * p->batch, p->block, p->spectrum);
        filter_blocks(p);
        tl_dft_inverse(&p->dft, p->outputs * p->batch, p->filtered, p->block);
        for (int64_t i = 0; i < p->batch * n * p->sources; i++) {
            int64_t k = i / (n * p->sources), e = i / p->sources % n, j = i % p->sources;
            add_block(p, e, j, k, first + k * advance,
                      &sums[(e % p->group * p->sources + e / p->group) * p->sources + j]);
        }
    }
}

/* Adds the energies of signal c of each source to sums[(c * sources + e) * sources + r]. `p` has
 * the signals and their sizes. */
static tlnmf_error project(tlnmf_ctx *ctx, projector *p, energies *sums)
{
    TRY(create_projector(ctx, p));
    correlate(p);
    p->pass += 1.0;
    tlnmf_error error = tl_poll(p->monitor) ? TLNMF_OK : solve(ctx, p);
    if (error == TLNMF_OK && !tl_poll(p->monitor)) {
        make_filters(p);
        filter_and_add(p, sums);
    }
    if (error == TLNMF_OK && tl_poll(p->monitor))
        error = tl_fail(ctx, TLNMF_ERR_CALLBACK, "stopped while the scores were being computed");
    tl_dft_plan_free(&p->dft);
    tl_release(&ctx->hooks, p->memory);
    return error;
}

/* ---- scores ---------------------------------------------------------------------------------- */

typedef struct bss_evaluation {
    const tl_score_signals *in;
    int64_t n;
    channel *reference, *estimate; /* one channel of each, or n x channels with images */
    bool images;
    double *reference_scale, *estimate_scale;
    bool *reference_silent, *estimate_silent; /* n x (channels + 1), the last: all channels */
    energies *sums;                           /* (channels + 1) x n x n: estimate, reference */
    double *cost;                             /* n x n: of pairing reference and estimate */
    void *memory;
} bss_evaluation;

/* Finds which channels are silent, and a power of two that brings the loudest sample near 1, so
 * that squares neither overflow nor underflow. Scores do not depend on it. */
static void inspect(const tl_score_signals *in, const double *x, double *scale, bool *silent)
{
    double loudest = 0.0;
    for (int c = 0; c <= in->channels; c++)
        silent[c] = true;
    for (int64_t t = 0; t < in->frames; t++)
        for (int c = 0; c < in->channels; c++) {
            double size = fabs(x[t * in->channels + c]);
            loudest = fmax(loudest, size);
            silent[c] = silent[c] && size == 0.0;
        }
    silent[in->channels] = loudest == 0.0;
    int exponent = 0;
    frexp(loudest, &exponent);
    *scale = loudest > 0.0 ? ldexp(1.0, exponent < -1000 ? 1000 : -exponent) : 1.0;
}

static tlnmf_error create(tlnmf_ctx *ctx, const tl_score_signals *in, bss_evaluation *ev)
{
    int64_t n = in->sources, channels = in->channels;
    *ev = (bss_evaluation){.in = in, .n = n};
    tl_slot table[] = {TL_SLOT(ev->reference, n * channels),
                       TL_SLOT(ev->estimate, n * channels),
                       TL_SLOT(ev->reference_scale, n),
                       TL_SLOT(ev->estimate_scale, n),
                       TL_SLOT(ev->reference_silent, n * (channels + 1)),
                       TL_SLOT(ev->estimate_silent, n * (channels + 1)),
                       TL_SLOT(ev->sums, (channels + 1) * n * n),
                       TL_SLOT(ev->cost, n * n)};
    TRY(TL_ARENA(ctx, "the scores", table, &ev->memory));
    for (int64_t i = 0; i < n; i++) {
        inspect(in, in->reference[i], &ev->reference_scale[i],
                ev->reference_silent + i * (channels + 1));
        inspect(in, in->estimate[i], &ev->estimate_scale[i],
                ev->estimate_silent + i * (channels + 1));
    }
    return TLNMF_OK;
}

/* Channels c .. c+count-1 of all sources. */
static void select_channels(bss_evaluation *ev, int c, int count)
{
    int64_t stride = ev->in->channels;
    for (int64_t i = 0; i < ev->n * count; i++) {
        int64_t source = i / count, at = c + i % count;
        ev->reference[i] =
            (channel){ev->in->reference[source] + at, stride, ev->reference_scale[source]};
        ev->estimate[i] =
            (channel){ev->in->estimate[source] + at, stride, ev->estimate_scale[source]};
    }
}

static void add_energies(const energies *x, energies *sum)
{
    sum->target += x->target;
    sum->projection += x->projection;
    sum->interference += x->interference;
    sum->artifacts += x->artifacts;
    sum->rest += x->rest;
    sum->image += x->image;
    sum->spatial += x->spatial;
    sum->distortion += x->distortion;
}

/* Fills ev->sums: those of each channel, then of all channels together. */
static tlnmf_error measure(tlnmf_ctx *ctx, bss_evaluation *ev, const tl_score_rules *rules)
{
    int64_t n = ev->n, channels = ev->in->channels, pairs = n * n;
    int together = ev->images ? ev->in->channels : 1; /* channels that are projected at a time */
    for (int c = 0; c < channels; c += together) {
        projector p = {.n = n * together,
                       .sources = n,
                       .group = together,
                       .frames = ev->in->frames,
                       .taps = rules->filter,
                       .monitor = ctx->monitor,
                       .pass = 2.0 * c / together,
                       .passes = rules->is_part ? 0.0 : 2.0 * (double)channels / together,
                       .reference = ev->reference,
                       .estimate = ev->estimate};
        select_channels(ev, c, together);
        TRY(project(ctx, &p, ev->sums + c * pairs));
    }
    for (int64_t i = 0; i < channels * pairs; i++)
        add_energies(&ev->sums[i], &ev->sums[channels * pairs + i % pairs]);
    return TLNMF_OK;
}

/* How many references are not silent in a channel, or in all for c = channels. */
static int64_t count_sounding(const bss_evaluation *ev, int c)
{
    int64_t count = 0;
    for (int64_t r = 0; r < ev->n; r++)
        count += !ev->reference_silent[r * (ev->in->channels + 1) + c];
    return count;
}

/* Scores are limited to 10^4 dB, which no ratio of doubles reaches. NaN is the worst score. */
static double cost_of(double score)
{
    const double most = 1e4;
    return isnan(score) ? most : -fmin(fmax(score, -most), most);
}

/* Pairs references and estimates by the mean SIR of all channels together, or by SDR if only one
 * reference sounds, since nothing can interfere then. For a silent reference all estimates are
 * equal; a silent estimate is the worst for any other reference. */
static tlnmf_error permute(tlnmf_ctx *ctx, bss_evaluation *ev, int64_t *match)
{
    int64_t n = ev->n, channels = ev->in->channels;
    bool interferes = count_sounding(ev, ev->in->channels) > 1;
    const bool *no_reference = ev->reference_silent + channels,
               *no_estimate = ev->estimate_silent + channels;
    for (int64_t r = 0; r < n; r++)
        for (int64_t e = 0; e < n; e++) {
            const energies *x = ev->sums + channels * n * n + e * n + r;
            double score = tl_decibels(x->target, interferes ? x->interference : x->rest);
            if (no_reference[r * (channels + 1)])
                score = 0.0;
            else if (no_estimate[e * (channels + 1)])
                score = -INFINITY;
            ev->cost[r * n + e] = cost_of(score);
        }
    return tl_assign(ctx, n, ev->cost, match);
}

/* Over channels first .. last-1. */
static double si_sdr_of(const bss_evaluation *ev, int64_t r, int64_t e, int first, int last)
{
    return tl_si_sdr(&(tl_si_sdr_pair){.reference = ev->in->reference[r],
                                       .estimate = ev->in->estimate[e],
                                       .reference_scale = ev->reference_scale[r],
                                       .estimate_scale = ev->estimate_scale[e],
                                       .samples = ev->in->frames,
                                       .channels = ev->in->channels,
                                       .first = first,
                                       .last = last});
}

static tl_score score_of(const bss_evaluation *ev, int64_t r, int64_t e, int c)
{
    int channels = ev->in->channels;
    tl_score score = {TL_SCORED, NAN, NAN, NAN, NAN, NAN};
    if (ev->reference_silent[r * (channels + 1) + c])
        score.state = TL_SILENT_REFERENCE;
    else if (ev->estimate_silent[e * (channels + 1) + c])
        score.state = TL_SILENT_ESTIMATE;
    if (score.state != TL_SCORED)
        return score;
    const energies *x = ev->sums + (c * ev->n + e) * ev->n + r;
    score.sdr = ev->images ? tl_decibels(x->image, x->distortion) : tl_decibels(x->target, x->rest);
    if (ev->images)
        score.isr = tl_decibels(x->image, x->spatial);
    score.sir = count_sounding(ev, c) > 1 ? tl_decibels(x->target, x->interference) : INFINITY;
    score.sar = tl_decibels(x->projection, x->artifacts);
    score.si_sdr = c < channels ? si_sdr_of(ev, r, e, c, c + 1) : si_sdr_of(ev, r, e, 0, channels);
    return score;
}

tlnmf_error tl_score_evaluate(tlnmf_ctx *ctx, const tl_score_signals *separation,
                              const tl_score_rules *rules, int64_t *match, tl_score *scores)
{
    int64_t n = separation->sources;
    int channels = separation->channels;
    TRY(tl_check_size(ctx, "sources x filter", n * rules->filter * (rules->images ? channels : 1)));
    bss_evaluation ev;
    TRY(create(ctx, separation, &ev));
    ev.images = rules->images;
    for (int64_t r = 0; r < n; r++)
        match[r] = r;
    tlnmf_error error = measure(ctx, &ev, rules);
    if (error == TLNMF_OK && rules->permute)
        error = permute(ctx, &ev, match);
    if (error == TLNMF_OK)
        for (int64_t r = 0; r < n; r++)
            for (int c = 0; c <= channels; c++)
                scores[r * (channels + 1) + c] = score_of(&ev, r, match[r], c);
    tl_release(&ctx->hooks, ev.memory);
    return error;
}
