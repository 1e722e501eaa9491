/* Taking sound apart with what has been learnt, block by block. */
#include "separate/separate.h"

#include <math.h>

/* What one call works with. */
typedef struct job {
    tlnmf_ctx *ctx;
    const tl_separator *separator;
    const tl_sound *sound;
    const tl_separate_run *run;
    tl_watch *watch;
    tl_schedule schedule;
    tl_framing framing;
    tl_block block;
    int64_t N, outputs;
    int64_t done;     /* samples before this have been written */
    int64_t capacity; /* samples in each buffer: those of a block's frames */
    double *in;       /* capacity x channels: the sound from `done` on */
    double *sums;     /* (outputs - 1) x capacity x channels: sums of frames from `done` on */
    double *last;     /* capacity x channels: the last output, what the others leave */
    uint64_t *active; /* sources that may sound in each frame of the block, one bit each */
    void *memory;
} job;

static tlnmf_error check(const job *j)
{
    const tl_separate_run *run = j->run;
    TRY(tl_sound_check(j->ctx, j->sound));
    TRY(tl_schedule_check(j->ctx, &j->schedule));
    if (!(run->eps == 0.0 || (run->eps >= 1e-300 && run->eps <= 1e300)))
        return tl_fail(j->ctx, TLNMF_ERR_OPTION, "eps = %g is outside [1e-300, 1e+300]", run->eps);
    if (run->release < 0)
        return tl_fail(j->ctx, TLNMF_ERR_OPTION, "release = %lld is negative",
                       (long long)run->release);
    return TLNMF_OK;
}

/* The first sample of frame n at its earliest shift. */
static int64_t earliest(const job *j, int64_t n)
{
    return tl_frame_first(&j->framing.f, n) - j->framing.f.hop + 1;
}

static tlnmf_error job_create(job *j)
{
    const tl_separator *separator = j->separator;
    int64_t channels = j->sound->channels;
    j->outputs =
        (j->run->components ? separator->K : separator->info.sources) + (j->run->residual ? 1 : 0);
    TRY(tl_framing_create(j->ctx, &separator->info.frames, &j->framing));
    TRY(tl_block_create_for(j->ctx, separator, &j->framing, channels, &j->block));
    if (j->run->eps > 0.0)
        j->block.eps = j->run->eps;
    j->N = tl_frames_count(&j->framing.f, j->sound->length);
    j->done = earliest(j, 0);
    j->capacity = (j->block.capacity + 1) * j->framing.f.hop + j->framing.f.M;
    int64_t size = j->capacity * channels;
    tl_slot table[] = {TL_SLOT(j->in, size), TL_SLOT(j->sums, (j->outputs - 1) * size),
                       TL_SLOT(j->last, size), TL_SLOT(j->active, j->block.capacity)};
    return TL_ARENA(j->ctx, "the outputs of a block", table, &j->memory);
}

static void job_free(job *j)
{
    tl_release(&j->ctx->hooks, j->memory);
    tl_block_free(&j->block);
    tl_framing_free(&j->framing);
}

/* ---- a block --------------------------------------------------------------------------------- */

static double *sum_of(const job *j, int64_t output)
{
    return j->sums + output * j->capacity * j->sound->channels;
}

static tl_part part_of(const job *j, int64_t output)
{
    bool single = j->run->components != 0;
    return (tl_part){.sources = single ? 0 : (uint64_t)1 << output,
                     .component = single ? output : -1,
                     .no_floor = j->run->residual != 0,
                     .floor_share = 1.0 / (double)j->outputs};
}

static void keep_H(const job *j, int64_t n)
{
    int64_t count = j->block.count;
    for (int64_t k = 0; j->run->H != NULL && k < j->separator->K; k++)
        tl_copy(j->run->H + k * j->N + n, j->block.H + k * count, count);
}

/* Frames n .. n+count-1: analysis, H, and their part of every output but the last. */
static tlnmf_error separate_block(job *j, int64_t n, int64_t count)
{
    const tl_frames *f = &j->framing.f;
    int64_t channels = j->sound->channels;
    tl_stretch in = {j->done, tl_frame_first(f, n + count - 1) + f->M - j->done, channels, j->in};
    TRY(tl_sound_read(j->ctx, j->sound, &in));
    tl_block_begin(&j->block, count);
    for (int64_t i = 0; i < count; i++) {
        tl_block_put(&j->block, &in, n + i, i);
        j->active[i] = tl_schedule_active(&j->schedule, f, n + i);
    }
    tl_block_analyse(&j->block, j->block.M);
    tl_block_fit(&j->block, j->active);
    keep_H(j, n);
    if (j->run->write == NULL)
        return TLNMF_OK;
    for (int64_t o = 0; o + 1 < j->outputs; o++) {
        tl_part part = part_of(j, o);
        tl_stretch sum = {in.first, in.length, channels, sum_of(j, o)};
        if (tl_block_part(&j->block, &part))
            for (int64_t i = 0; i < count; i++)
                tl_block_add(&j->block, n + i, i, &sum);
    }
    return TLNMF_OK;
}

/* Samples first .. first+count-1 of an output. */
static tlnmf_error write_output(const job *j, int64_t output, int64_t first, int64_t count,
                                const double *x)
{
    if (j->run->write == NULL || count <= 0)
        return TLNMF_OK;
    int status = j->run->write(output, first, count, x, j->run->user);
    if (status != 0)
        return tl_fail(j->ctx, TLNMF_ERR_CALLBACK,
                       "writing output %lld failed at sample %lld: the callback returned %d for "
                       "samples %lld to %lld",
                       (long long)output, (long long)first, status, (long long)first,
                       (long long)(first + count) - 1);
    return TLNMF_OK;
}

/* Samples before `until` have all their frames: they are divided, written, and make way for others.
 * The last output is what the others leave, so that the outputs sum to the sound. */
static tlnmf_error flush(job *j, int64_t until)
{
    int64_t channels = j->sound->channels, length = until - j->done;
    int64_t from = tl_max(0, j->done), to = tl_min(until, j->sound->length);
    int64_t skip = (from - j->done) * channels, kept = (j->capacity - length) * channels;
    tl_copy(j->last, j->in, length * channels);
    for (int64_t o = 0; o + 1 < j->outputs; o++) {
        double *x = sum_of(j, o);
        tl_stretch out = {j->done, length, channels, x};
        tl_frames_divide(&j->framing, &out);
        for (int64_t t = 0; t < length * channels; t++)
            j->last[t] -= x[t];
        TRY(write_output(j, o, from, to - from, x + skip));
        memmove(x, x + length * channels, (size_t)kept * sizeof *x);
        memset(x + kept, 0, (size_t)(length * channels) * sizeof *x);
    }
    TRY(write_output(j, j->outputs - 1, from, to - from, j->last + skip));
    j->done = until;
    return TLNMF_OK;
}

static tlnmf_error run_blocks(void *self)
{
    job *j = self;
    TRY(job_create(j));
    for (int64_t n = 0; n < j->N && !j->watch->stopped; n += j->block.capacity) {
        int64_t count = tl_min(j->block.capacity, j->N - n);
        TRY(separate_block(j, n, count));
        /* what comes before the next frame is complete; the last block completes all there is */
        TRY(flush(j, n + count == j->N ? j->sound->length : earliest(j, n + count)));
        tl_watch_report(j->watch, TL_STAGE_STEMS, n + count, j->N, NAN);
    }
    return TLNMF_OK;
}

tlnmf_error tl_separator_run(tlnmf_ctx *ctx, const tl_separator *separator, const tl_sound *sound,
                             const tl_separate_run *run, tl_watch *watch)
{
    job j = {.ctx = ctx,
             .separator = separator,
             .sound = sound,
             .run = run,
             .watch = watch,
             .schedule = {run->spans, run->span_count, run->release, separator->info.sources}};
    TRY(check(&j));
    tlnmf_error error = tl_separate_on_threads(run->threads, run_blocks, &j);
    job_free(&j);
    return error;
}
