/* Learning a blend: the driver of both ways of learning. */
#include "sound/learn/course.h"
#include "base/reuse.h"

#include <math.h>

tlnmf_error tl_course_scene(tl_course *c, int place, int64_t times)
{
    tl_frames layout = c->opt->frames;
    layout.M *= times;
    layout.hop *= times;
    return tl_scene_create(c->ctx, c->sound, &c->schedule, &layout, c->opt->set.learn_frames,
                           &c->scene[place]);
}

void tl_course_describe(tl_course *c)
{
    tl_blend *b = c->blend;
    tl_separator_info *first = &b->member[0]->info;
    first->remixes = c->remix.count;
    first->candidates = b->trials;
    first->outcome = tl_poll(c->ctx->monitor) ? TLNMF_OUTCOME_CANCELLED : TLNMF_OUTCOME_ITERATIONS;
    b->info = *first;
    for (int64_t i = 1; i < b->members; i++)
        b->info.score = fmax(b->info.score, b->member[i]->info.score);
}

tlnmf_error tl_course_listen(tl_course *c, const tl_separator *const *member, int64_t members)
{
    tl_listener listener = {c->ctx, c->sound, &c->schedule, c->opt->rate, c->opt->updater};
    return tl_verdict_listen(&listener, member, members, &c->blend->verdict);
}

typedef struct course_job {
    tl_course *course;
    tl_way way;
} course_job;

static tlnmf_error follow(void *self)
{
    const course_job *job = self;
    return job->way(job->course);
}

/* Tests call it with plain values; hence eight parameters. */
tlnmf_error tl_blend_learn(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *spans,
                           int64_t span_count, const tl_learn_options *options, tl_units *units,
                           tl_way way, tl_blend **out)
{
    tlnmf_ctx own = *ctx;
    tl_course course = {
        .ctx = &own, .lasting = ctx->hooks, .sound = sound, .opt = options, .units = units};
    *out = NULL;
    TRY(tl_schedule_create(ctx, spans, span_count, options->release, options->sources,
                           &course.schedule));
    tlnmf_error error = tl_blend_new(ctx, &course.blend);
    if (error != TLNMF_OK) {
        tl_schedule_free(&course.schedule);
        return error;
    }
    tl_verdict_unknown(options->sources, &course.blend->verdict);
    if (way == NULL)
        way = spans != NULL && tl_learn_may_use_solos(options) ? tl_learn_guided
                                                               : tl_learn_candidates;
    tl_reuse reuse;
    tl_reuse_begin(&reuse, &ctx->hooks);
    if (way == tl_learn_guided)
        own.hooks = tl_reuse_hooks(&reuse);
    error =
        tl_with_threads(tl_thread_count(options->set.threads), follow, &(course_job){&course, way});
    if (error != TLNMF_OK)
        tl_fail_as(ctx, error, &own);
    for (int i = 0; i < 2; i++)
        tl_scene_free(&course.scene[i]);
    tl_remix_free(&course.remix);
    tl_reuse_end(&reuse);
    tl_schedule_free(&course.schedule);
    if (error != TLNMF_OK)
        tl_blend_free(course.blend);
    else
        *out = course.blend;
    return error;
}
