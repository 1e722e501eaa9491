/* Several separators as one: who learns them, and their end. */
#include "separate/study.h"

#include <math.h>

void tl_blend_free(tl_blend *blend)
{
    if (blend == NULL)
        return;
    tl_hooks hooks = blend->hooks; /* the blend lies in the memory it releases */
    for (int64_t i = 0; i < blend->members; i++)
        tl_separator_free(blend->member[i]);
    tl_release(&hooks, blend);
}

typedef struct single {
    tlnmf_ctx *ctx;
    const tl_sound *sound;
    const tl_schedule *schedule;
    const tl_separate_options *options;
    tl_blend *blend;
} single;

/* What to expect of a single member: there is nothing to agree with. */
static tlnmf_error judge_single(void *self)
{
    const single *s = self;
    const tl_separator *const member[] = {s->blend->member[0]};
    tl_verdict *verdict = &s->blend->verdict;
    TRY(tl_verdict_listen(s->ctx, s->sound, s->schedule, s->options, member, 1, verdict));
    verdict->coverage = NAN;
    for (int64_t r = 0; r < s->options->sources; r++)
        verdict->expected[r] = verdict->low[r] = verdict->high[r] = NAN;
    return TLNMF_OK;
}

tlnmf_error tl_blend_learn(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *spans,
                           int64_t span_count, const tl_separate_options *options, tl_watch *watch,
                           tl_blend **out)
{
    tl_schedule schedule = {spans, span_count, options->release, options->sources};
    *out = NULL;
    TRY(tl_separate_check(ctx, options, spans != NULL));
    TRY(tl_sound_check(ctx, sound));
    TRY(tl_schedule_check(ctx, &schedule));
    if (spans != NULL && tl_separate_is_open(options))
        return tl_pool_learn(ctx, sound, &schedule, options, watch, out);
    tl_separator *separator;
    TRY(tl_separator_learn(ctx, sound, spans, span_count, options, watch, &separator));
    void *memory;
    tl_blend *blend;
    tl_slot table[] = {TL_SLOT(blend, 1)};
    tlnmf_error error = TL_ARENA(ctx, "the blend", table, &memory);
    if (error != TLNMF_OK) {
        tl_separator_free(separator);
        return error;
    }
    blend->info = separator->info;
    blend->hooks = ctx->hooks;
    blend->members = 1;
    blend->member[0] = separator;
    blend->weight[0] = 1.0;
    single job = {ctx, sound, &schedule, options, blend};
    error = tl_separate_on_threads(options->threads, judge_single, &job);
    if (error != TLNMF_OK)
        tl_blend_free(blend);
    else
        *out = blend;
    return error;
}
