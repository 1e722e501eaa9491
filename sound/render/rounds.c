/* Sound to stems with a learnt blend, round by round. */
#include "sound/render/rounds.h"
#include "base/monitor.h"
#include "sound/render/passes.h"

#include <math.h>
#include <stdio.h>

/* ---- a call ---------------------------------------------------------------------------------- */

/* The state of one call. */
typedef struct rendering {
    tlnmf_ctx *ctx;
    const tl_blend *blend;
    const tl_sound *sound;
    const tl_separate_run *run;
    tl_passes passes;
    tl_envelope envelopes;
    double *out;         /* outputs x capacity x channels: samples to be written .. */
    int64_t from, count; /* .. from this sample on, and how many samples */
    int64_t written;     /* samples of every output */
    tlnmf_error error;   /* of writing */
    void *memory;
} rendering;

static tlnmf_error prepare(rendering *j)
{
    const tl_separate_run *run = j->run;
    int64_t members = run->components ? 1 : j->blend->members; /* components are of one member */
    j->passes = (tl_passes){.ctx = j->ctx,
                            .sound = j->sound,
                            .notes = run->notes != 0,
                            .last = j->sound->length,
                            .components = run->components,
                            .residual = run->residual,
                            .updater = run->updater,
                            .silent = run->write == NULL};
    TRY(tl_schedule_create(j->ctx, run->spans, run->span_count, run->release,
                           j->blend->info.sources, &j->passes.schedule));
    double scale = run->eps > 0.0 ? run->eps / j->blend->member[0]->info.eps : 1.0;
    TRY(tl_passes_create(&j->passes, (const tl_separator *const *)j->blend->member,
                         run->write == NULL ? 1 : members, scale));
    j->passes.pass[0].H = run->H;
    if (run->envelope.record != NULL)
        TRY(tl_envelope_create(j->ctx, j->sound, j->passes.outputs, &run->envelope, &j->envelopes));
    int64_t size = run->write == NULL ? 0 : j->passes.capacity * j->sound->channels;
    tl_slot table[] = {TL_SLOT(j->out, j->passes.outputs * size)};
    return TL_ARENA(j->ctx, "the outputs", table, &j->memory);
}

/* ---- a round of outputs ---------------------------------------------------------------------- */

static double *output_of(const rendering *j, int64_t output)
{
    return j->out + output * j->passes.capacity * j->sound->channels;
}

/* Numbers first .. last-1 of every output: the weighted mean of the passes. The last output is what
 * the others leave, so that the outputs sum to the sound. */
static void blend_numbers(int64_t first, int64_t last, void *arg)
{
    const rendering *j = arg;
    const tl_passes *l = &j->passes;
    int64_t skip = (j->from - l->base) * j->sound->channels;
    double *rest = output_of(j, l->outputs - 1);
    tl_copy(rest + first, l->in + skip + first, last - first);
    for (int64_t o = 0; o + 1 < l->outputs; o++) {
        double *out = output_of(j, o);
        for (int64_t i = 0; i < l->count; i++) {
            double weight = l->count == 1 ? 1.0 : j->blend->weight[i];
            const double *x = tl_pass_output(l, &l->pass[i], o) + skip;
            for (int64_t t = first; t < last; t++)
                out[t] = (i > 0 ? out[t] : 0.0) + weight * x[t];
        }
        for (int64_t t = first; t < last; t++)
            rest[t] -= out[t];
    }
}

static void add_envelope(int64_t output, int64_t last, void *arg)
{
    rendering *j = arg;
    (void)last;
    tl_envelope_add(&j->envelopes, output, j->count, output_of(j, output));
}

/* Moves the finished samples to the outputs, to be written later. */
static void take_ready(rendering *j)
{
    enum { NUMBERS = 8192 }; /* a piece, 10 us and more */
    const tl_passes *l = &j->passes;
    if (j->run->write == NULL)
        return;
    j->from = tl_max(0, l->base);
    j->count = tl_max(0, l->ready - j->from);
    tl_share(j->count * j->sound->channels, NUMBERS, blend_numbers, j);
    if (j->run->envelope.record != NULL && j->count > 0)
        tl_share(l->outputs, 1, add_envelope, j);
}

/* The error of a write function that returned `status` for output o. */
static tlnmf_error refuse_write(const rendering *j, int64_t o, int64_t count, int status)
{
    const char *name = NULL;
    char text[120], numbered[40];
    if (j->run->named != NULL)
        name = tlnmf_record_get_text_at(j->run->named, "names", (size_t)o);
    snprintf(numbered, sizeof numbered, "output %lld", (long long)o);
    snprintf(text, sizeof text, "the callback returned %d for samples %lld to %lld", status,
             (long long)j->from, (long long)(j->from + count) - 1);
    return tl_fail(j->ctx, TLNMF_ERR_CALLBACK, "writing %s%s%s failed at sample %lld: %s",
                   name != NULL ? "the stem \"" : "", name != NULL ? name : numbered,
                   name != NULL ? "\"" : "", (long long)j->from, tl_cause_or(j->ctx, text));
}

/* Writes the finished samples on the calling thread, while other threads run the next round. */
static bool write_waiting(void *self)
{
    rendering *j = self;
    int64_t count = j->count;
    j->count = 0;
    for (int64_t o = 0; count > 0 && j->error == TLNMF_OK && o < j->passes.outputs; o++) {
        tl_cause_forget(j->ctx);
        int status = j->run->write(o, j->from, count, output_of(j, o), j->run->user);
        if (status != 0)
            j->error = refuse_write(j, o, count, status);
    }
    j->written += count;
    return j->error == TLNMF_OK;
}

static tlnmf_error run_rounds(void *self)
{
    rendering *j = self;
    TRY(prepare(j));
    j->passes.beside = write_waiting;
    j->passes.beside_arg = j;
    bool more = true;
    while (more && !tl_poll(j->ctx->monitor)) {
        tlnmf_error error = tl_passes_advance(&j->passes, &more);
        if (j->error != TLNMF_OK || error != TLNMF_OK)
            return j->error != TLNMF_OK ? j->error : error;
        if (!more || tl_poll(j->ctx->monitor)) /* an interrupted round is not written */
            break;
        take_ready(j);
        tl_report_units(j->ctx->monitor, "stems", j->passes.pass[0].n, j->passes.pass[0].N, NAN);
    }
    write_waiting(j);
    tl_envelope_finish(&j->envelopes);
    if (j->run->unexplained != NULL)
        *j->run->unexplained = tl_passes_unexplained(&j->passes);
    if (j->run->written != NULL)
        *j->run->written = j->written;
    return j->error;
}

tlnmf_error tl_blend_run(tlnmf_ctx *ctx, const tl_blend *blend, const tl_sound *sound,
                         const tl_separate_run *run)
{
    rendering j = {.ctx = ctx, .blend = blend, .sound = sound, .run = run};
    tlnmf_error error = tl_with_threads(tl_thread_count(run->threads), run_rounds, &j);
    tl_passes_free(&j.passes);
    tl_schedule_free(&j.passes.schedule);
    tl_envelope_free(&j.envelopes);
    tl_release(&ctx->hooks, j.memory);
    return error;
}
