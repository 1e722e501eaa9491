/* The public call of sound.h that scores: arrays in, a record out. */
#include "sound/score/score.h"
#include "base/monitor.h"
#include "base/record.h"
#include "base/settings.h"
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

double tl_score_mean(int64_t count, int64_t stride, const tl_score *scores, int column)
{
    double sum = 0.0, scored = 0.0;
    for (int64_t i = 0; i < count; i++)
        if (scores[i * stride].state == TL_SCORED) {
            sum += figure(&scores[i * stride], column);
            scored += 1.0;
        }
    return sum / scored;
}

static tlnmf_error put_scores(tlnmf_ctx *ctx, const tl_score_signals *in, const int64_t *match,
                              const tl_score *scores, tlnmf_record *out)
{
    const int64_t shape[2] = {in->sources, in->channels + 1};
    char name[32];
    double *x;
    for (int c = 0; c <= FIGURES; c++) {
        TRY(tl_record_new_array(ctx, out, names[c], 2, shape, &x));
        for (int64_t i = 0; i < shape[0] * shape[1]; i++)
            x[i] = figure(&scores[i], c);
    }
    for (int c = 0; c < FIGURES; c++) {
        snprintf(name, sizeof name, "mean_%s", names[c]);
        TRY(tlnmf_record_set_real(ctx, out, name,
                                  tl_score_mean(shape[0], shape[1], scores + in->channels, c)));
    }
    TRY(tl_record_new_array(ctx, out, "match", 1, &in->sources, &x));
    int64_t scored = 0;
    for (int64_t r = 0; r < in->sources; r++) {
        x[r] = (double)match[r];
        scored += scores[r * shape[1] + in->channels].state == TL_SCORED;
    }
    return tlnmf_record_set_integer(ctx, out, "scored", scored);
}

/* ---- window by window ------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the values that are numbers; sorts x. */
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

/* frame_sdr and so on, windows x sources, and median_sdr and so on, sources. */
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

/* Scores each window of `framewise` samples, a new one every `hop`, all channels together, with the
 * estimates in the order of `match`. */
static tlnmf_error score_windows(tlnmf_ctx *ctx, const tl_score_signals *in,
                                 const tl_score_rules *rules, const int64_t *match,
                                 const tl_settings *settings, tlnmf_record *out)
{
    int64_t window = settings->framewise, n = in->sources, each = in->channels + 1, *same;
    if (window == 0)
        return TLNMF_OK;
    int64_t hop = settings->framewise_hop > 0 ? settings->framewise_hop : tl_max(1, window / 2);
    int64_t windows = window >= in->frames ? 1 : (in->frames - window + hop) / hop;
    const double **signal;
    tl_score *all, *here;
    double *scratch;
    void *memory;
    tl_slot table[] = {TL_SLOT(signal, 2 * n), TL_SLOT(same, n), TL_SLOT(here, n * each),
                       TL_SLOT(all, windows * n), TL_SLOT(scratch, windows)};
    TRY(TL_ARENA(ctx, "the scores of all windows", table, &memory));
    tl_score_signals part = {n, tl_min(window, in->frames), in->channels, signal, signal + n};
    tl_score_rules fixed = {rules->filter, false, rules->images, true};
    tlnmf_error error = TLNMF_OK;
    for (int64_t w = 0; w < windows && error == TLNMF_OK; w++) {
        for (int64_t i = 0; i < n; i++) {
            signal[i] = in->reference[i] + w * hop * in->channels;
            signal[n + i] = in->estimate[match[i]] + w * hop * in->channels;
        }
        tl_poll_at(ctx->monitor, "score windows", (double)w, (double)windows);
        error = tl_score_evaluate(ctx, &part, &fixed, same, here);
        for (int64_t r = 0; r < n && error == TLNMF_OK; r++)
            all[w * n + r] = here[r * each + each - 1];
    }
    if (error == TLNMF_OK)
        error = put_windows(ctx, windows, n, all, scratch, out);
    tl_release(&ctx->hooks, memory);
    return error;
}

/* ---- the call -------------------------------------------------------------------------------- */

static tlnmf_error check_shape(tlnmf_ctx *ctx, const int64_t shape[3])
{
    if (shape[0] < 1 || shape[1] < 1 || shape[2] < 1 || shape[2] > INT32_MAX)
        return tl_fail(ctx, TLNMF_ERR_SHAPE,
                       "%lld sources, %lld samples, %lld channels: all must be at least 1",
                       (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    return TLNMF_OK;
}

/* Scores the whole signals, then the windows. */
static tlnmf_error score_all(tlnmf_ctx *ctx, const tl_score_signals *signals,
                             const tl_settings *settings, int64_t *match, tl_score *all,
                             tlnmf_record **scores)
{
    tl_score_rules rules = {settings->filter, settings->permute != 0, settings->images != 0, false};
    TRY(tl_score_evaluate(ctx, signals, &rules, match, all));
    TRY(tlnmf_record_create(ctx, scores));
    TRY(tl_record_keep_if(put_scores(ctx, signals, match, all, *scores), scores));
    return tl_record_keep_if(score_windows(ctx, signals, &rules, match, settings, *scores), scores);
}

tlnmf_error tlnmf_score(tlnmf_ctx *ctx, const double *reference, const double *estimate,
                        const int64_t shape[3], const tl_settings *settings, tlnmf_record **scores)
{
    size_t count;
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
    TRY(tl_count_elements(ctx, "the signals", 3, shape, &count));
    int64_t sources = shape[0], samples = shape[1], channels = shape[2], *match;
    const double **signal;
    tl_score *all;
    void *memory;
    tl_slot table[] = {TL_SLOT(signal, 2 * sources), TL_SLOT(match, sources),
                       TL_SLOT(all, sources * (channels + 1))};
    TRY(TL_ARENA(ctx, "the scores", table, &memory));
    for (int64_t i = 0; i < sources; i++) {
        signal[i] = reference + i * samples * channels;
        signal[sources + i] = estimate + i * samples * channels;
    }
    tl_score_signals signals = {sources, samples, (int)channels, signal, signal + sources};
    tl_scope outer;
    tl_monitor_enter(ctx->monitor, 0.0, NULL, &outer);
    tlnmf_error error = score_all(ctx, &signals, settings, match, all, scores);
    if (error == TLNMF_OK)
        tl_report_end(ctx->monitor);
    tl_monitor_leave(ctx->monitor, &outer);
    tl_release(&ctx->hooks, memory);
    return error;
}
