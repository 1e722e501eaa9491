/* The public call of sound.h that scores: arrays in, a record out. */
#include "base/record.h"
#include "base/settings.h"
#include "score/score.h"
#include "tlnmf/sound.h"

/* One of the four figures, or the state. */
static double figure(const tl_score *score, int column)
{
    const double figures[] = {score->sdr, score->sir, score->sar, score->si_sdr,
                              (double)score->state};
    return figures[column];
}

static tlnmf_error put_scores(tlnmf_ctx *ctx, int64_t sources, int64_t channels,
                              const int64_t *match, const tl_score *scores, tlnmf_record *out)
{
    static const char *const names[] = {"sdr", "sir", "sar", "si_sdr", "state"};
    static const char *const means[] = {"mean_sdr", "mean_sir", "mean_sar", "mean_si_sdr"};
    const int64_t shape[2] = {sources, channels + 1};
    tl_score mean = tl_score_mean(sources, channels + 1, scores + channels);
    double *x;
    for (int c = 0; c < 5; c++) {
        TRY(tl_record_new_array(ctx, out, names[c], 2, shape, &x));
        for (int64_t i = 0; i < shape[0] * shape[1]; i++)
            x[i] = figure(&scores[i], c);
    }
    for (int c = 0; c < 4; c++)
        TRY(tlnmf_set_real(ctx, out, means[c], figure(&mean, c)));
    TRY(tl_record_new_array(ctx, out, "match", 1, &sources, &x));
    for (int64_t r = 0; r < sources; r++)
        x[r] = (double)match[r];
    return TLNMF_OK;
}

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
    tlnmf_error error =
        tl_score_evaluate(ctx, &signals, settings->filter, settings->permute != 0, match, all);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(ctx, scores);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(put_scores(ctx, sources, channels, match, all, *scores), scores);
    tl_release(&ctx->hooks, block);
    return error;
}
