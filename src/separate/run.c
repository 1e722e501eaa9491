/* Taking sound apart with what has been learnt, round by round. */
#include "separate/blocks.h"
#include "separate/envelope.h"

#include <math.h>

/* What one call works with. */
typedef struct job {
    tlnmf_ctx *ctx;
    const tl_blend *blend;
    const tl_sound *sound;
    const tl_separate_run *run;
    tl_watch *watch;
    tl_lanes lanes;
    double *out;         /* outputs x capacity x channels: what waits to be written .. */
    int64_t from, count; /* .. from this sample on, and how many samples */
    tlnmf_error error;   /* of writing */
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
                   .blocks = run->blocks,
                   .silent = run->write == NULL};
    TRY(check(j, &j->lanes.guide.schedule));
    double scale = run->eps > 0.0 ? run->eps / j->blend->member[0]->info.eps : 1.0;
    TRY(tl_lanes_create(&j->lanes, (const tl_separator *const *)j->blend->member,
                        run->write == NULL ? 1 : members, scale));
    j->lanes.lane[0].H = run->H;
    int64_t size = run->write == NULL ? 0 : j->lanes.capacity * j->sound->channels;
    tl_slot table[] = {TL_SLOT(j->out, j->lanes.outputs * size)};
    return TL_ARENA(j->ctx, "the outputs", table, &j->memory);
}

/* ---- a round of outputs ---------------------------------------------------------------------- */

static double *output_of(const job *j, int64_t output)
{
    return j->out + output * j->lanes.capacity * j->sound->channels;
}

/* Numbers first .. last-1 of every output: the weighted mean of the lanes. The last output is what
 * the others leave, so that the outputs sum to the sound. */
static void blend_numbers(int64_t first, int64_t last, void *arg)
{
    const job *j = arg;
    const tl_lanes *l = &j->lanes;
    int64_t skip = (j->from - l->base) * j->sound->channels;
    double *rest = output_of(j, l->outputs - 1);
    tl_copy(rest + first, l->in + skip + first, last - first);
    for (int64_t o = 0; o + 1 < l->outputs; o++) {
        double *out = output_of(j, o);
        for (int64_t i = 0; i < l->count; i++) {
            double weight = l->count == 1 ? 1.0 : j->blend->weight[i];
            const double *x = tl_lanes_output(l, i, o) + skip;
            for (int64_t t = first; t < last; t++)
                out[t] = (i > 0 ? out[t] : 0.0) + weight * x[t];
        }
        for (int64_t t = first; t < last; t++)
            rest[t] -= out[t];
    }
}

static void add_envelope(int64_t output, int64_t last, void *arg)
{
    const job *j = arg;
    (void)last;
    tl_envelope_add(j->run->envelope, output, j->count, output_of(j, output));
}

/* What is ready now goes to the outputs, where it waits to be written. */
static void take_ready(job *j)
{
    enum { NUMBERS = 8192 }; /* a piece, 10 us and more */
    const tl_lanes *l = &j->lanes;
    if (j->run->write == NULL)
        return;
    j->from = tl_max(0, l->base);
    j->count = tl_max(0, l->ready - j->from);
    tl_share(j->count * j->sound->channels, NUMBERS, blend_numbers, j);
    if (j->run->envelope != NULL && j->count > 0)
        tl_share(l->outputs, 1, add_envelope, j);
}

/* Writes what waits, on the caller's thread, while lanes may be at work on the next round. */
static bool write_waiting(void *self)
{
    job *j = self;
    int64_t count = j->count;
    j->count = 0;
    for (int64_t o = 0; count > 0 && j->error == TLNMF_OK && o < j->lanes.outputs; o++) {
        int status = j->run->write(o, j->from, count, output_of(j, o), j->run->user);
        if (status != 0)
            j->error = tl_fail(j->ctx, TLNMF_ERR_CALLBACK,
                               "writing output %lld failed at sample %lld: the callback returned "
                               "%d for samples %lld to %lld",
                               (long long)o, (long long)j->from, status, (long long)j->from,
                               (long long)(j->from + count) - 1);
    }
    return j->error == TLNMF_OK;
}

static tlnmf_error run_rounds(void *self)
{
    job *j = self;
    TRY(prepare(j));
    j->lanes.beside = write_waiting;
    j->lanes.beside_arg = j;
    bool more = true;
    while (more && !j->watch->stopped) {
        tlnmf_error error = tl_lanes_advance(&j->lanes, &more);
        if (j->error != TLNMF_OK || error != TLNMF_OK)
            return j->error != TLNMF_OK ? j->error : error;
        if (!more)
            break;
        take_ready(j);
        tl_blocks_save(j->run->blocks, false);
        tl_watch_report(j->watch, TL_STAGE_STEMS, j->lanes.lane[0].n, j->lanes.lane[0].N, NAN);
    }
    if (j->watch->stopped)
        tl_blocks_save(j->run->blocks, true);
    write_waiting(j);
    if (j->run->unexplained != NULL)
        *j->run->unexplained = tl_lanes_unexplained(&j->lanes);
    return j->error;
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
