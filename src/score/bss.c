/* Scores of a separation: BSS Eval 3 (Vincent, Gribonval, Fevotte 2006) and SI-SDR. */
#include "score/project.h"

#include "linalg/linalg.h"

#include <math.h>

typedef struct evaluation {
    const tl_score_signals *in;
    int64_t n;
    bss_signal *reference, *estimate; /* one channel of each, or n x channels with images */
    bool images;
    double *reference_scale, *estimate_scale;
    bool *reference_silent, *estimate_silent; /* n x (channels + 1), the last: all channels */
    bss_energies *energies;                   /* (channels + 1) x n x n: estimate, reference */
    double *wish;                             /* n x n: reference, estimate */
    void *memory;
} evaluation;

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

static tlnmf_error create(tlnmf_ctx *ctx, const tl_score_signals *in, evaluation *ev)
{
    int64_t n = in->sources, channels = in->channels;
    *ev = (evaluation){.in = in, .n = n};
    tl_slot table[] = {TL_SLOT(ev->reference, n * channels),
                       TL_SLOT(ev->estimate, n * channels),
                       TL_SLOT(ev->reference_scale, n),
                       TL_SLOT(ev->estimate_scale, n),
                       TL_SLOT(ev->reference_silent, n * (channels + 1)),
                       TL_SLOT(ev->estimate_silent, n * (channels + 1)),
                       TL_SLOT(ev->energies, (channels + 1) * n * n),
                       TL_SLOT(ev->wish, n * n)};
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
static void select_channels(evaluation *ev, int c, int count)
{
    int64_t stride = ev->in->channels;
    for (int64_t i = 0; i < ev->n * count; i++) {
        int64_t source = i / count, at = c + i % count;
        ev->reference[i] =
            (bss_signal){ev->in->reference[source] + at, stride, ev->reference_scale[source]};
        ev->estimate[i] =
            (bss_signal){ev->in->estimate[source] + at, stride, ev->estimate_scale[source]};
    }
}

static void add_energies(const bss_energies *x, bss_energies *sum)
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

/* Fills ev->energies: those of each channel, then their sums over all channels. */
static tlnmf_error measure(tlnmf_ctx *ctx, evaluation *ev, int64_t filter)
{
    int64_t n = ev->n, channels = ev->in->channels, pairs = n * n;
    int together = ev->images ? ev->in->channels : 1; /* channels that are projected at a time */
    bss_problem problem = {n, together, ev->in->frames, filter, ev->reference, ev->estimate};
    for (int c = 0; c < channels; c += together) {
        select_channels(ev, c, together);
        TRY(bss_project(ctx, &problem, ev->energies + c * pairs));
    }
    for (int64_t i = 0; i < channels * pairs; i++)
        add_energies(&ev->energies[i], &ev->energies[channels * pairs + i % pairs]);
    return TLNMF_OK;
}

/* How many references are not silent in a channel, or in all for c = channels. */
static int64_t count_sounding(const evaluation *ev, int c)
{
    int64_t count = 0;
    for (int64_t r = 0; r < ev->n; r++)
        count += !ev->reference_silent[r * (ev->in->channels + 1) + c];
    return count;
}

/* Pairs references and estimates by the mean SIR of all channels together, or by SDR if only one
 * reference sounds, since nothing can interfere then. For a silent reference all estimates are
 * equal; a silent estimate is the worst for any other reference. */
static tlnmf_error permute(tlnmf_ctx *ctx, evaluation *ev, int64_t *match)
{
    int64_t n = ev->n, channels = ev->in->channels;
    bool interferes = count_sounding(ev, ev->in->channels) > 1;
    const bool *no_reference = ev->reference_silent + channels,
               *no_estimate = ev->estimate_silent + channels;
    for (int64_t r = 0; r < n; r++)
        for (int64_t e = 0; e < n; e++) {
            const bss_energies *x = ev->energies + channels * n * n + e * n + r;
            double score = tl_decibels(x->target, interferes ? x->interference : x->rest);
            if (no_reference[r * (channels + 1)])
                score = 0.0;
            else if (no_estimate[e * (channels + 1)])
                score = -INFINITY;
            ev->wish[r * n + e] = score;
        }
    return tl_score_assign(ctx, n, ev->wish, match);
}

/* Over channels first .. last-1. */
static double si_sdr_of(const evaluation *ev, int64_t r, int64_t e, int first, int last)
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

static tl_score score_of(const evaluation *ev, int64_t r, int64_t e, int c)
{
    int channels = ev->in->channels;
    tl_score score = {TL_SCORED, NAN, NAN, NAN, NAN, NAN};
    if (ev->reference_silent[r * (channels + 1) + c])
        score.state = TL_SILENT_REFERENCE;
    else if (ev->estimate_silent[e * (channels + 1) + c])
        score.state = TL_SILENT_ESTIMATE;
    if (score.state != TL_SCORED)
        return score;
    const bss_energies *x = ev->energies + (c * ev->n + e) * ev->n + r;
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
    int64_t n = separation->sources, filter = rules->filter;
    int channels = separation->channels;
    if (n < 1 || separation->frames < 1 || channels < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "%lld sources of %lld frames and %d channels",
                       (long long)n, (long long)separation->frames, channels);
    if (filter < 1 || filter > TL_SCORE_FILTER_MAX)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "filter = %lld is outside [1, %d]", (long long)filter,
                       TL_SCORE_FILTER_MAX);
    TRY(tl_check_size(ctx, "sources x filter", n * filter * (rules->images ? channels : 1)));
    evaluation ev;
    TRY(create(ctx, separation, &ev));
    ev.images = rules->images;
    for (int64_t r = 0; r < n; r++)
        match[r] = r;
    tlnmf_error error = measure(ctx, &ev, filter);
    if (error == TLNMF_OK && rules->permute)
        error = permute(ctx, &ev, match);
    if (error == TLNMF_OK)
        for (int64_t r = 0; r < n; r++)
            for (int c = 0; c <= channels; c++)
                scores[r * (channels + 1) + c] = score_of(&ev, r, match[r], c);
    tl_release(&ctx->hooks, ev.memory);
    return error;
}

tl_score tl_score_mean(int64_t count, int64_t stride, const tl_score *scores)
{
    tl_score mean = {TL_SCORED, 0.0, 0.0, 0.0, 0.0, 0.0};
    double scored = 0.0;
    for (int64_t i = 0; i < count; i++) {
        const tl_score *s = &scores[i * stride];
        if (s->state != TL_SCORED)
            continue;
        mean.sdr += s->sdr;
        mean.sir += s->sir;
        mean.sar += s->sar;
        mean.si_sdr += s->si_sdr;
        mean.isr += s->isr;
        scored += 1.0;
    }
    mean.sdr /= scored;
    mean.sir /= scored;
    mean.sar /= scored;
    mean.si_sdr /= scored;
    mean.isr /= scored;
    return mean;
}
