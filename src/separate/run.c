/* Taking sound apart with what has been learnt, round by round. */
#include "separate/envelope.h"
#include "separate/separate.h"

#include <math.h>

/* What one call works with. */
typedef struct job {
    tlnmf_ctx *ctx;
    const tl_blend *blend;
    const tl_sound *sound;
    const tl_separate_run *run;
    tl_watch *watch;
    tl_lanes lanes;
    double *out, *last; /* capacity x channels: an output; what the outputs leave */
    void *memory;
} job;

static tlnmf_error check(const job *j, const tl_schedule *schedule)
{
    const tl_separate_run *run = j->run;
    TRY(tl_sound_check(j->ctx, j->sound));
    TRY(tl_schedule_check(j->ctx, schedule));
    if (!(run->eps == 0.0 || (run->eps >= 1e-300 && run->eps <= 1e300)))
        return tl_fail(j->ctx, TLNMF_ERR_OPTION, "eps = %g is outside [1e-300, 1e+300]", run->eps);
    if (run->release < 0)
        return tl_fail(j->ctx, TLNMF_ERR_OPTION, "release = %lld is negative",
                       (long long)run->release);
    return TLNMF_OK;
}

static tlnmf_error prepare(job *j)
{
    const tl_separate_run *run = j->run;
    int64_t members = run->components ? 1 : j->blend->members; /* components are of one member */
    j->lanes =
        (tl_lanes){.ctx = j->ctx,
                   .sound = j->sound,
                   .guide = {{run->spans, run->span_count, run->release, j->blend->info.sources},
                             run->notes != 0},
                   .last = j->sound->length,
                   .components = run->components,
                   .residual = run->residual,
                   .updater = run->updater,
                   .silent = run->write == NULL};
    TRY(check(j, &j->lanes.guide.schedule));
    double scale = run->eps > 0.0 ? run->eps / j->blend->member[0]->info.eps : 1.0;
    TRY(tl_lanes_create(&j->lanes, (const tl_separator *const *)j->blend->member,
                        run->write == NULL ? 1 : members, scale));
    j->lanes.lane[0].H = run->H;
    int64_t size = j->lanes.capacity * j->sound->channels;
    tl_slot table[] = {TL_SLOT(j->out, size), TL_SLOT(j->last, size)};
    return TL_ARENA(j->ctx, "an output", table, &j->memory);
}

/* Samples first .. first+count-1 of an output. */
static tlnmf_error write_output(const job *j, int64_t output, int64_t first, int64_t count,
                                const double *x)
{
    if (count <= 0)
        return TLNMF_OK;
    if (j->run->envelope != NULL)
        tl_envelope_add(j->run->envelope, output, count, x);
    int status = j->run->write(output, first, count, x, j->run->user);
    if (status != 0)
        return tl_fail(j->ctx, TLNMF_ERR_CALLBACK,
                       "writing output %lld failed at sample %lld: the callback returned %d for "
                       "samples %lld to %lld",
                       (long long)output, (long long)first, status, (long long)first,
                       (long long)(first + count) - 1);
    return TLNMF_OK;
}

/* The weighted mean of the lanes, samples from `skip` on of what is ready. */
static void blend_output(const job *j, int64_t output, int64_t skip, int64_t numbers)
{
    for (int64_t i = 0; i < j->lanes.count; i++) {
        double weight = j->lanes.count == 1 ? 1.0 : j->blend->weight[i];
        const double *x = tl_lanes_output(&j->lanes, i, output) + skip;
        for (int64_t t = 0; t < numbers; t++)
            j->out[t] = (i > 0 ? j->out[t] : 0.0) + weight * x[t];
    }
}

/* The last output is what the others leave, so that the outputs sum to the sound. */
static tlnmf_error write_ready(const job *j)
{
    const tl_lanes *l = &j->lanes;
    int64_t channels = j->sound->channels, from = tl_max(0, l->base),
            count = tl_max(0, l->ready - from), skip = (from - l->base) * channels;
    if (j->run->write == NULL || count == 0)
        return TLNMF_OK;
    tl_copy(j->last, l->in + skip, count * channels);
    for (int64_t o = 0; o + 1 < l->outputs; o++) {
        blend_output(j, o, skip, count * channels);
        for (int64_t t = 0; t < count * channels; t++)
            j->last[t] -= j->out[t];
        TRY(write_output(j, o, from, count, j->out));
    }
    return write_output(j, l->outputs - 1, from, count, j->last);
}

static tlnmf_error run_rounds(void *self)
{
    job *j = self;
    TRY(prepare(j));
    bool more = true;
    while (more && !j->watch->stopped) {
        TRY(tl_lanes_advance(&j->lanes, &more));
        if (!more)
            break;
        TRY(write_ready(j));
        tl_watch_report(j->watch, TL_STAGE_STEMS, j->lanes.lane[0].n, j->lanes.lane[0].N, NAN);
    }
    if (j->run->unexplained != NULL)
        *j->run->unexplained = tl_lanes_unexplained(&j->lanes);
    return TLNMF_OK;
}

tlnmf_error tl_blend_run(tlnmf_ctx *ctx, const tl_blend *blend, const tl_sound *sound,
                         const tl_separate_run *run, tl_watch *watch)
{
    job j = {.ctx = ctx, .blend = blend, .sound = sound, .run = run, .watch = watch};
    tlnmf_error error = tl_separate_on_threads(run->threads, run_rounds, &j);
    tl_lanes_free(&j.lanes);
    tl_release(&ctx->hooks, j.memory);
    return error;
}

tlnmf_error tl_separator_run(tlnmf_ctx *ctx, const tl_separator *separator, const tl_sound *sound,
                             const tl_separate_run *run, tl_watch *watch)
{
    tl_blend one = {.info = separator->info,
                    .members = 1,
                    .member = {(tl_separator *)(uintptr_t)separator},
                    .weight = {1.0}};
    return tl_blend_run(ctx, &one, sound, run, watch);
}
