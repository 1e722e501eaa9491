/* Scores window by window, as music separation reports them. */
#include "base/base.h"
#include "score/score.h"

int64_t tl_score_windows(int64_t frames, int64_t window, int64_t hop)
{
    return window >= frames ? 1 : (frames - window + hop) / hop;
}

tlnmf_error tl_score_framewise(tlnmf_ctx *ctx, const tl_score_signals *separation,
                               const tl_score_rules *rules, const int64_t *match, int64_t window,
                               int64_t hop, tl_score *scores)
{
    int64_t n = separation->sources, each = separation->channels + 1, *same;
    int64_t windows = tl_score_windows(separation->frames, window, hop);
    const double **signal;
    tl_score *here;
    void *memory;
    tl_slot table[] = {TL_SLOT(signal, 2 * n), TL_SLOT(same, n), TL_SLOT(here, n * each)};
    tl_score_rules fixed = *rules;
    tl_score_signals part = *separation;
    fixed.permute = false;
    TRY(TL_ARENA(ctx, "the scores of a window", table, &memory));
    part.reference = signal;
    part.estimate = signal + n;
    part.frames = windows > 1 ? window : separation->frames;
    tlnmf_error error = TLNMF_OK;
    for (int64_t w = 0; w < windows && error == TLNMF_OK; w++) {
        for (int64_t i = 0; i < n; i++) {
            signal[i] = separation->reference[i] + w * hop * separation->channels;
            signal[n + i] = separation->estimate[match[i]] + w * hop * separation->channels;
        }
        error = tl_score_evaluate(ctx, &part, &fixed, same, here);
        for (int64_t r = 0; r < n && error == TLNMF_OK; r++)
            scores[w * n + r] = here[r * each + each - 1];
    }
    tl_release(&ctx->hooks, memory);
    return error;
}
