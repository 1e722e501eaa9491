/* Taking sound apart with what has been learnt, block by block. */
#include "separate/separate.h"

#include <math.h>
#include <omp.h>

/* What one call works with. */
typedef struct job {
    tlnmf_ctx *ctx;
    const tl_separator *separator;
    const tl_sound *sound;
    const tl_separate_run *run;
    tl_framing framing;
    tl_engine engine;
    int64_t N, outputs;
    int64_t done; /* samples before this have been written */
    int64_t room; /* frames of sound in the buffers */
    double *in;   /* the sound of a block */
    double *out;  /* outputs - 1 sums of frames, each `room` long, from `done` on */
    double *last; /* the last output: what the others leave */
    uint64_t *active;
    void *block;
} job;

void tl_separate_run_init(tl_separate_run *run)
{
    *run = (tl_separate_run){.struct_size = sizeof *run};
}

static tlnmf_error check_job(tlnmf_ctx *ctx, const tl_separator *separator, const tl_sound *sound,
                             const tl_separate_run *run)
{
    if (run->struct_size != sizeof *run)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "the run is from another version: use tl_separate_run_init");
    TRY(tl_sound_check(ctx, sound));
    TRY(tl_spans_check(ctx, run->spans, run->span_count, separator->info.sources));
    if (!(run->eps == 0.0 || (run->eps >= 1e-300 && run->eps <= 1e300)))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "eps = %g is outside [1e-300, 1e+300]", run->eps);
    if (run->release < 0)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "release = %lld is negative",
                       (long long)run->release);
    return TLNMF_OK;
}

static int64_t count_outputs(const tl_separator *separator, const tl_separate_run *run)
{
    return (run->components ? separator->K : separator->info.sources) + (run->residual ? 1 : 0);
}

static tlnmf_error job_create(job *j)
{
    const tl_separator *separator = j->separator;
    const tl_frames *f = &j->framing.f;
    j->outputs = count_outputs(separator, j->run);
    TRY(tl_framing_create(j->ctx, &separator->info.frames, &j->framing));
    TRY(tl_engine_create(j->ctx, &j->framing, separator->K, j->sound->channels, &j->engine));
    j->engine.Phi = separator->Phi;
    j->engine.W = separator->W;
    j->engine.eps = j->run->eps > 0.0 ? j->run->eps : separator->info.eps;
    j->engine.paired = separator->info.basis == TL_BASIS_STFT;
    j->N = tl_frames_count(f, j->sound->length);
    j->done = tl_frame_first(f, 0) - f->hop + 1;
    j->room = (j->engine.most + 1) * f->hop + f->M;
    int64_t size = j->room * j->sound->channels;
    tl_slot table[] = {TL_SLOT(j->in, size), TL_SLOT(j->out, (j->outputs - 1) * size),
                       TL_SLOT(j->last, size), TL_SLOT(j->active, j->engine.most)};
    return TL_ARENA(j->ctx, "the outputs of a block", table, &j->block);
}

static void job_free(job *j)
{
    tl_release(&j->ctx->hooks, j->block);
    tl_engine_free(&j->engine);
    tl_framing_free(&j->framing);
}

/* ---- a block --------------------------------------------------------------------------------- */

static tl_part part_of(const job *j, int64_t output)
{
    int64_t P = j->separator->info.per_source;
    bool each = j->run->components != 0;
    return (tl_part){.first = each ? output : output * P,
                     .members = each ? 1 : P,
                     .floor_share = 1.0 / (double)j->outputs,
                     .no_floor = j->run->residual != 0};
}

static void keep_H(const job *j, int64_t n, int64_t count)
{
    for (int64_t k = 0; j->run->H != NULL && k < j->separator->K; k++)
        tl_copy(j->run->H + k * j->N + n, j->engine.H + k * count, count);
}

/* Frames n .. n+count-1: analysis, H, and their part of every output but the last. */
static tlnmf_error separate_block(job *j, int64_t n, int64_t count)
{
    const tl_frames *f = &j->framing.f;
    int64_t C = j->sound->channels;
    tl_stretch in = {j->done, tl_frame_first(f, n + count - 1) + f->M - j->done, C, j->in};
    TRY(tl_sound_read(j->ctx, j->sound, &in));
    for (int64_t i = 0; i < count; i++) {
        tl_engine_put(&j->engine, &in, n + i, i, count);
        j->active[i] = tl_active_in(f, j->run->spans, j->run->span_count, j->run->release,
                                    j->separator->info.sources, n + i);
    }
    tl_engine_transform(&j->engine, j->engine.M, count);
    tl_engine_fit_H(&j->engine, count, j->separator->info.per_source, j->active);
    keep_H(j, n, count);
    if (j->run->write == NULL)
        return TLNMF_OK;
    tl_engine_weigh(&j->engine, count);
    for (int64_t o = 0; o + 1 < j->outputs; o++) {
        tl_part part = part_of(j, o);
        tl_stretch out = {in.first, in.length, C, j->out + o * j->room * C};
        if (tl_engine_part(&j->engine, count, &part))
            for (int64_t i = 0; i < count; i++)
                tl_engine_add(&j->engine, n + i, i, count, &out);
    }
    return TLNMF_OK;
}

static tlnmf_error write_output(job *j, int64_t output, int64_t from, int64_t count,
                                const double *x)
{
    if (j->run->write != NULL && count > 0 &&
        j->run->write(output, from, count, x, j->run->user) != 0)
        return tl_fail(j->ctx, TLNMF_ERR_DATA, "the outputs could not be written");
    return TLNMF_OK;
}

/* Samples before `until` have all their frames: they are divided, written, and make room. The last
 * output is what the others leave, so that the outputs sum to the sound. */
static tlnmf_error flush(job *j, int64_t until)
{
    int64_t C = j->sound->channels, length = until - j->done;
    int64_t from = tl_max(0, j->done), to = tl_min(until, j->sound->length);
    int64_t skip = (from - j->done) * C, kept = (j->room - length) * C;
    tl_copy(j->last, j->in, length * C);
    for (int64_t o = 0; o + 1 < j->outputs; o++) {
        double *x = j->out + o * j->room * C;
        tl_stretch out = {j->done, length, C, x};
        tl_frames_divide(&j->framing, &out);
        for (int64_t t = 0; t < length * C; t++)
            j->last[t] -= x[t];
        TRY(write_output(j, o, from, to - from, x + skip));
        memmove(x, x + length * C, (size_t)kept * sizeof *x);
        memset(x + kept, 0, (size_t)(length * C) * sizeof *x);
    }
    TRY(write_output(j, j->outputs - 1, from, to - from, j->last + skip));
    j->done = until;
    return TLNMF_OK;
}

static tlnmf_error run_blocks(job *j, tl_callback callback, void *user, tlnmf_outcome *outcome)
{
    const tl_frames *f = &j->framing.f;
    for (int64_t n = 0; n < j->N; n += j->engine.most) {
        int64_t count = tl_min(j->engine.most, j->N - n);
        TRY(separate_block(j, n, count));
        bool end = n + count == j->N;
        /* the next frame begins here at its earliest shift; the last block has all there is */
        int64_t until = end ? j->sound->length : tl_frame_first(f, n + count) - f->hop + 1;
        TRY(flush(j, until));
        tl_progress progress = {.struct_size = sizeof progress,
                                .stage = TL_STAGE_STEMS,
                                .complete = 1,
                                .starts = 1,
                                .iteration = n + count,
                                .iterations = j->N,
                                .C = NAN,
                                .L = NAN,
                                .I = NAN,
                                .step = NAN};
        if (callback != NULL && callback(&progress, user) != 0) {
            *outcome = TLNMF_CANCELLED;
            return TLNMF_OK;
        }
    }
    *outcome = TLNMF_ITERATIONS;
    return TLNMF_OK;
}

tlnmf_error tl_separator_run(tlnmf_ctx *ctx, const tl_separator *separator,
                                const tl_sound *sound, const tl_separate_run *run,
                                tl_callback callback, void *user, tlnmf_outcome *outcome)
{
    *outcome = TLNMF_NOT_RUN;
    TRY(check_job(ctx, separator, sound, run));
    job j = {.ctx = ctx, .separator = separator, .sound = sound, .run = run};
    int threads = run->threads > 0 ? (int)run->threads : omp_get_max_threads();
    tlnmf_error error = TLNMF_OK;
#pragma omp parallel num_threads(1) /* a region of its own: the caller's settings stay */
    {
        omp_set_num_threads(threads);
        error = job_create(&j);
        if (error == TLNMF_OK)
            error = run_blocks(&j, callback, user, outcome);
    }
    job_free(&j);
    return error;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

typedef struct arrays {
    const double *x;
    int64_t channels;
    double *const *stems;
} arrays;

static int read_array(int64_t first, int64_t count, double *x, void *user)
{
    const arrays *a = user;
    tl_copy(x, a->x + first * a->channels, count * a->channels);
    return 0;
}

static int write_array(int64_t output, int64_t first, int64_t count, const double *x, void *user)
{
    const arrays *a = user;
    tl_copy(a->stems[output] + first * a->channels, x, count * a->channels);
    return 0;
}

tlnmf_error tl_separate_array(tlnmf_ctx *ctx, const tl_separator *separator, const double *x,
                                 int64_t length, int64_t channels, const tl_separate_run *run,
                                 double *const *stems)
{
    arrays a = {x, channels, stems};
    tl_sound sound = {sizeof sound, length, channels, read_array, &a};
    tl_separate_run own = *run;
    tlnmf_outcome outcome;
    own.write = write_array;
    own.user = &a;
    return tl_separator_run(ctx, separator, &sound, &own, NULL, NULL, &outcome);
}
