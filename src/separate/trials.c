/* What a separation compared, with scores and reasons, as part of its model. */
#include "base/record.h"
#include "separate/separate.h"

tl_trial *tl_trials_next(tl_watch *watch, tl_trial *spare)
{
    tl_trials *trials = watch->trials;
    return trials != NULL && trials->count < TL_TRIALS_MAX ? &trials->trial[trials->count++]
                                                           : spare;
}

tlnmf_error tl_trials_to_record(tlnmf_ctx *ctx, const tl_trials *trials, tlnmf_record *model)
{
    const char *what[TL_TRIALS_MAX], *why[TL_TRIALS_MAX];
    double *score, *weight;
    if (trials->count == 0)
        return TLNMF_OK;
    TRY(tl_record_new_array(ctx, model, "candidate.score", 1, &trials->count, &score));
    TRY(tl_record_new_array(ctx, model, "candidate.weight", 1, &trials->count, &weight));
    for (int64_t i = 0; i < trials->count; i++) {
        const tl_trial *t = &trials->trial[i];
        what[i] = t->what;
        why[i] = t->why != NULL ? t->why : "";
        score[i] = t->score;
        weight[i] = t->weight;
    }
    TRY(tlnmf_set_texts(ctx, model, "candidate.what", what, (size_t)trials->count));
    return tlnmf_set_texts(ctx, model, "candidate.why", why, (size_t)trials->count);
}
