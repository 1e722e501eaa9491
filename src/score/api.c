/* The public call of sound.h that scores: arrays in, a record out. */
#include "base/record.h"
#include "base/settings.h"
#include "score/score.h"
#include "tlnmf/sound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIGURES = 5 };
static const char *const names[FIGURES + 1] = {"sdr", "sir", "sar", "si_sdr", "isr", "state"};

/* One of the figures, or the state. */
static double figure(const tl_score *score, int column)
{
    const double figures[] = {score->sdr,    score->sir, score->sar,
                              score->si_sdr, score->isr, (double)score->state};
    return figures[column];
}

static tlnmf_error put_scores(tlnmf_ctx *ctx, const tl_score_signals *in, const int64_t *match,
                              const tl_score *scores, tlnmf_record *out)
{
    static const char *const means[FIGURES] = {"mean_sdr", "mean_sir", "mean_sar", "mean_si_sdr",
                                               "mean_isr"};
    const int64_t shape[2] = {in->sources, in->channels + 1};
    tl_score mean = tl_score_mean(shape[0], shape[1], scores + in->channels);
    double *x;
    for (int c = 0; c <= FIGURES; c++) {
        TRY(tl_record_new_array(ctx, out, names[c], 2, shape, &x));
        for (int64_t i = 0; i < shape[0] * shape[1]; i++)
            x[i] = figure(&scores[i], c);
    }
    for (int c = 0; c < FIGURES; c++)
        TRY(tlnmf_set_real(ctx, out, means[c], figure(&mean, c)));
    TRY(tl_record_new_array(ctx, out, "match", 1, &in->sources, &x));
    for (int64_t r = 0; r < in->sources; r++)
        x[r] = (double)match[r];
    return TLNMF_OK;
}

/* ---- window by window ------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of what is a number; sorts x. */
static double median(int64_t count, double *x)
{
    int64_t good = 0;
    for (int64_t i = 0; i < count; i++)
        if (!isnan(x[i]))
            x[good++] = x[i];
    if (good == 0)
        return NAN;
    qsort(x, (size_t)good, sizeof *x, by_size);
    return good % 2 == 1 ? x[good / 2] : 0.5 * (x[good / 2 - 1] + x[good / 2]);
}

/* frame_sdr and its like, windows x sources, and median_sdr and its like, sources. */
static tlnmf_error put_windows(tlnmf_ctx *ctx, int64_t windows, int64_t sources,
                               const tl_score *scores, double *scratch, tlnmf_record *out)
{
    char name[32];
    double *x, *middle;
    for (int c = 0; c < FIGURES; c++) {
        snprintf(name, sizeof name, "frame_%s", names[c]);
        TRY(tl_record_new_array(ctx, out, name, 2, (int64_t[]){windows, sources}, &x));
        snprintf(name, sizeof name, "median_%s", names[c]);
        TRY(tl_record_new_array(ctx, out, name, 1, &sources, &middle));
        for (int64_t i = 0; i < windows * sources; i++)
            x[i] = figure(&scores[i], c);
        for (int64_t r = 0; r < sources; r++) {
            for (int64_t w = 0; w < windows; w++)
                scratch[w] = x[w * sources + r];
            middle[r] = median(windows, scratch);
        }
    }
    return TLNMF_OK;
}

static tlnmf_error score_windows(tlnmf_ctx *ctx, const tl_score_signals *in,
                                 const tl_score_rules *rules, const int64_t *match,
                                 const tl_settings *settings, tlnmf_record *out)
{
    int64_t window = settings->framewise, hop = settings->framewise_hop;
    if (window == 0)
        return TLNMF_OK;
    if (hop == 0)
        hop = tl_max(1, window / 2);
    int64_t windows = tl_score_windows(in->frames, window, hop);
    tl_score *all;
    double *scratch;
    void *memory;
    tl_slot table[] = {TL_SLOT(all, windows * in->sources), TL_SLOT(scratch, windows)};
    TRY(TL_ARENA(ctx, "the scores of all windows", table, &memory));
    tlnmf_error error = tl_score_framewise(ctx, in, rules, match, window, hop, all);
    if (error == TLNMF_OK)
        error = put_windows(ctx, windows, in->sources, all, scratch, out);
    tl_release(&ctx->hooks, memory);
    return error;
}

/* ---- the call -------------------------------------------------------------------------------- */

static tlnmf_error check_shape(tlnmf_ctx *ctx, const int64_t shape[3])
{
    if (shape[0] < 1 || shape[1] < 1 || shape[2] < 1 || shape[2] > INT32_MAX)
        return tl_fail(ctx, TLNMF_ERR_SHAPE,
                       "%lld sources of %lld samples and %lld channels: at least 1 each",
                       (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    return TLNMF_OK;
}

tlnmf_error tlnmf_score(tlnmf_ctx *ctx, const double *reference, const double *estimate,
                        const int64_t shape[3], const tl_settings *settings, tlnmf_record **scores)
{
    TL_NEED(ctx, scores);
    *scores = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, reference);
    TL_NEED(ctx, estimate);
    TL_NEED(ctx, shape);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, TL_TASK_SCORE));
    TRY(tlnmf_settings_check(ctx, settings));
    TRY(check_shape(ctx, shape));
    int64_t sources = shape[0], samples = shape[1], channels = shape[2], *match;
    const double **signal;
    tl_score *all;
    void *block;
    tl_slot table[] = {TL_SLOT(signal, 2 * sources), TL_SLOT(match, sources),
                       TL_SLOT(all, sources * (channels + 1))};
    TRY(TL_ARENA(ctx, "the scores", table, &block));
    for (int64_t i = 0; i < sources; i++) {
        signal[i] = reference + i * samples * channels;
        signal[sources + i] = estimate + i * samples * channels;
    }
    tl_score_signals signals = {sources, samples, (int)channels, signal, signal + sources};
    tl_score_rules rules = {settings->filter, settings->permute != 0, settings->images != 0};
    tlnmf_error error = tl_score_evaluate(ctx, &signals, &rules, match, all);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(ctx, scores);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(put_scores(ctx, &signals, match, all, *scores), scores);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(score_windows(ctx, &signals, &rules, match, settings, *scores),
                                  scores);
    tl_release(&ctx->hooks, block);
    return error;
}
