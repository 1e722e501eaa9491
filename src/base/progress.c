/* Progress as a record for the context's progress function. */
#include "base/progress.h"
#include "base/record.h"

#include <math.h>

static const char *const stages[] = {"tl", "jd", "nmf", "choose", "stems"};

/* Sets every name. All names exist after the first call, so that later ones allocate nothing. */
static tlnmf_error fill(tlnmf_ctx *ctx, tlnmf_record *record, const tl_progress *p, double seconds)
{
    TRY(tl_record_refer_text(ctx, record, "stage", stages[p->stage]));
    TRY(tlnmf_set_integer(ctx, record, "complete", p->complete));
    TRY(tlnmf_set_integer(ctx, record, "start", p->start));
    TRY(tlnmf_set_integer(ctx, record, "starts", p->starts));
    TRY(tlnmf_set_integer(ctx, record, "iteration", p->iteration));
    TRY(tlnmf_set_integer(ctx, record, "iterations", p->iterations));
    TRY(tlnmf_set_real(ctx, record, "C", p->C));
    TRY(tlnmf_set_real(ctx, record, "L", p->L));
    TRY(tlnmf_set_real(ctx, record, "I", p->I));
    TRY(tlnmf_set_real(ctx, record, "step", p->step));
    bool separates = p->stage == TL_STAGE_CHOOSE || p->stage == TL_STAGE_STEMS;
    TRY(tlnmf_set_real(ctx, record, "score", separates ? p->score : NAN));
    TRY(tlnmf_set_real(ctx, record, "done", separates ? p->done : NAN));
    return tlnmf_set_real(ctx, record, "seconds", seconds);
}

tlnmf_error tl_reporter_create(tlnmf_ctx *ctx, tl_reporter *reporter)
{
    *reporter = (tl_reporter){.ctx = ctx, .since = tl_wall_seconds()};
    if (ctx->callback == NULL)
        return TLNMF_OK;
    TRY(tlnmf_record_create(ctx, &reporter->record));
    tl_progress nothing = {.C = NAN, .L = NAN, .I = NAN, .step = NAN};
    return tl_record_keep_if(fill(ctx, reporter->record, &nothing, 0.0), &reporter->record);
}

void tl_reporter_free(tl_reporter *reporter)
{
    tlnmf_record_free(reporter->record);
    reporter->record = NULL;
}

/* Works on a copy of the context, so that the caller's last message does not change during a
 * run. */
static int report(const tl_progress *progress, void *user)
{
    const tl_reporter *reporter = user;
    tlnmf_ctx ctx = *reporter->ctx;
    if (fill(&ctx, reporter->record, progress, tl_wall_seconds() - reporter->since) != TLNMF_OK)
        return 0; /* cannot happen: every name is there */
    return reporter->ctx->callback(reporter->record, reporter->ctx->callback_user);
}

tl_callback tl_reporter_callback(const tl_reporter *reporter)
{
    return reporter->record == NULL ? NULL : report;
}
