/* The public calls of sound.h that separate: records in and out around the separator. */
#include "base/record.h"
#include "engine/device.h"
#include "separate/blocks.h"
#include "separate/envelope.h"
#include "separate/keep.h"
#include "separate/model.h"
#include "separate/study.h"
#include "separate/unlabelled.h"

#include <math.h>
#include <stdio.h>

/* ---- settings -------------------------------------------------------------------------------- */

static int64_t to_samples(double seconds, double rate)
{
    return (int64_t)floor(seconds * rate + 0.5);
}

/* What the settings of task "separate" come to for this sound. */
static tl_separate_options options_for(const tl_settings *s, const tlnmf_sound *sound)
{
    const double usual_frame = 40.0 * 1e-3; /* seconds */
    enum { USUAL_J = 10 };
    tl_settings framed = *s;
    if (framed.frame == 0)
        framed.frame = to_samples(usual_frame, sound->rate);
    tl_separate_options opt = {.frames = tl_frames_from(&framed),
                               .sources = sound->sources > 0 ? sound->sources : s->k,
                               .per_source = s->per_source,
                               .rate = sound->rate,
                               .release = to_samples(s->release, sound->rate),
                               .learn_frames = s->learn_frames,
                               .J = s->iterations > 0 ? s->iterations : USUAL_J,
                               .starts = s->starts,
                               .threads = s->threads,
                               .seed = s->seed,
                               .eps_rel = s->eps_rel,
                               .method = s->method,
                               .basis = s->basis,
                               .any_window = s->window == TL_WINDOW_AUTO,
                               .any_length = s->frame == 0 && s->hop == 0,
                               .any_J = s->iterations == 0,
                               .device = s->device};
    if (s->learn_below > 0.0) { /* rows are in order of frequency, up to half the rate */
        double M = (double)opt.frames.M;
        opt.band = (int64_t)fmax(1.0, fmin(M, floor(M * (2.0 * s->learn_below) / sound->rate)));
    }
    return opt;
}

static tlnmf_error check_sources(tlnmf_ctx *ctx, const tlnmf_sound *sound, int64_t k)
{
    if (sound->sources > 0 && sound->span_count == 0)
        return tl_fail(ctx, TLNMF_ERR_DATA, "none of the labels lies inside the sound");
    if (sound->sources > 0 && k > 0 && k != sound->sources)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "k = %lld, but the labels name %lld source%s",
                       (long long)k, (long long)sound->sources, sound->sources == 1 ? "" : "s");
    return TLNMF_OK;
}

static tlnmf_error prepare(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_settings *settings,
                           tl_separate_options *opt)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, sound);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, TL_TASK_SEPARATE));
    TRY(tlnmf_settings_check(ctx, settings));
    TRY(check_sources(ctx, sound, settings->k));
    *opt = options_for(settings, sound);
    return tl_frames_check(ctx, &opt->frames);
}

tlnmf_error tlnmf_separate_memory(tlnmf_ctx *ctx, const tlnmf_sound *sound,
                                  const tl_settings *settings, double *bytes)
{
    tl_separate_options opt;
    TL_NEED(ctx, bytes);
    *bytes = 0.0;
    TRY(prepare(ctx, sound, settings, &opt));
    *bytes = tl_separate_memory(&opt, sound->sound.length, sound->sound.channels);
    return TLNMF_OK;
}

/* ---- learning -------------------------------------------------------------------------------- */

/* Without labels: how many sources there are if k does not say, and what is known of them. */
static tlnmf_error look_blindly(tlnmf_ctx *ctx, const tlnmf_sound *sound, tl_separate_options *opt,
                                tl_look *look, char *reason, size_t size)
{
    TRY(tl_look_at(ctx, &sound->sound, opt, look));
    if (opt->sources > 0) {
        snprintf(reason, size, "as asked");
        return TLNMF_OK;
    }
    opt->sources = look->sources;
    if (look->sure)
        snprintf(reason, size, "one sound explains the recording");
    else if (look->sounds <= TL_LOOK_MOST)
        snprintf(reason, size,
                 "a guess: %lld sounds explain the recording, and nothing says which of them are "
                 "notes of the same source; k or labels would",
                 (long long)look->sounds);
    else
        snprintf(reason, size,
                 "a guess: not even %d sounds explain the recording, so that they are notes of "
                 "phrases, and nothing says whose; k or labels would",
                 TL_LOOK_MOST);
    return TLNMF_OK;
}

/* What one call of tlnmf_separate works with. */
typedef struct lesson {
    const tlnmf_sound *sound;
    const tl_settings *settings;
    tl_separate_options opt;
    tl_unlabelled found; /* labels, and what they leave open */
    tl_look look;
    char reason[256];
    double power;
    tl_blend *blend;
    tl_trials trials;
} lesson;

/* The labels with what they leave open, or what can be said without any. */
static tlnmf_error listen(tlnmf_ctx *ctx, lesson *l)
{
    const tlnmf_sound *sound = l->sound;
    bool silent = l->settings->unlabelled == TL_UNLABELLED_SILENT;
    if (sound->sources == 0)
        return look_blindly(ctx, sound, &l->opt, &l->look, l->reason, sizeof l->reason);
    tl_schedule schedule = {sound->span, sound->span_count, l->opt.release, sound->sources};
    TRY(tl_unlabelled_find(ctx, &sound->sound, &schedule, sound->rate, &l->found));
    tl_unlabelled_warn(ctx, &l->found, sound->rate, silent);
    if (silent)
        l->found.count = sound->span_count; /* the labels come first */
    return TLNMF_OK;
}

static tlnmf_error learn(tlnmf_ctx *ctx, lesson *l)
{
    tl_reporter reporter;
    TRY(tl_reporter_create(ctx, &reporter));
    tl_watch watch = {
        .callback = tl_reporter_callback(&reporter), .user = &reporter, .trials = &l->trials};
    tlnmf_error error = tl_keep_create(ctx, l->sound, l->settings, &watch.keep);
    if (error == TLNMF_OK)
        error = listen(ctx, l);
    if (error == TLNMF_OK)
        error = tl_blend_learn(ctx, &l->sound->sound, l->found.spans, l->found.count, &l->opt,
                               &watch, &l->blend);
    if (watch.stopped)
        tl_keep_save(watch.keep);
    tl_keep_free(watch.keep);
    tl_reporter_free(&reporter);
    if (error == TLNMF_OK && l->sound->sources == 0)
        tl_verdict_expect_blind(l->opt.sources,
                                l->look.misfit[tl_min(l->opt.sources, TL_LOOK_MOST)],
                                &l->blend->verdict);
    return error;
}

static tlnmf_error put_lesson(tlnmf_ctx *ctx, const lesson *l, tlnmf_record *model)
{
    TRY(tl_blend_to_record(ctx, l->blend, l->sound, l->power, model));
    TRY(tl_trials_to_record(ctx, &l->trials, model));
    TRY(tlnmf_set_real(ctx, model, "unlabelled_seconds", l->found.samples / l->sound->rate));
    TRY(tlnmf_set_real(ctx, model, "unlabelled_energy", l->found.energy));
    return tlnmf_set_text(ctx, model, "reason", l->reason);
}

tlnmf_error tlnmf_separate(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_settings *settings,
                           tlnmf_record **model)
{
    lesson l = {.sound = sound, .settings = settings, .reason = "the labels name them"};
    TL_NEED(ctx, model);
    *model = NULL;
    TRY(prepare(ctx, sound, settings, &l.opt));
    TRY(tlnmf_sound_power(ctx, sound, &l.power));
    tl_updates largest = tl_separate_largest(&l.opt, sound->sound.length);
    TRY(tl_device_updater(ctx, l.opt.device, &largest, 0, &l.opt.updater));
    tlnmf_error error = learn(ctx, &l);
    tl_device_updater_close(l.opt.updater);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(ctx, model);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(put_lesson(ctx, &l, *model), model);
    tl_blend_free(l.blend);
    tl_unlabelled_free(&l.found);
    return tl_sound_explain(ctx, sound, error);
}

/* ---- stems ----------------------------------------------------------------------------------- */

/* What one call of tlnmf_stems works with. */
typedef struct job {
    const tlnmf_record *model;
    const tlnmf_sound *sound;
    const tl_settings *settings;
    tl_blend *blend;
    bool same;     /* the sound is the one that the model was learnt from */
    tl_span *span; /* the sound's labels with the model's numbers of the sources */
    tl_unlabelled found;
    void *block;
} job;

static void job_free(tlnmf_ctx *ctx, job *j)
{
    tl_blend_free(j->blend);
    tl_unlabelled_free(&j->found);
    tl_release(&ctx->hooks, j->block);
}

static tlnmf_error find_name(tlnmf_ctx *ctx, const tlnmf_record *model, const char *name,
                             int64_t *place)
{
    const char *known;
    for (*place = 0; (known = tlnmf_get_text_at(model, "names", (size_t)*place)) != NULL; ++*place)
        if (strcmp(known, name) == 0)
            return TLNMF_OK;
    return tl_fail(ctx, TLNMF_ERR_DATA, "the model knows no source \"%s\"", name);
}

static tlnmf_error map_labels(tlnmf_ctx *ctx, job *j)
{
    int64_t place[TL_SOURCES_MAX];
    for (int64_t k = 0; k < j->sound->sources; k++)
        TRY(find_name(ctx, j->model, j->sound->name[k], &place[k]));
    tl_slot table[] = {TL_SLOT(j->span, j->sound->span_count)};
    TRY(TL_ARENA(ctx, "the labels", table, &j->block));
    for (int64_t i = 0; i < j->sound->span_count; i++) {
        j->span[i] = j->sound->span[i];
        j->span[i].source = place[j->sound->span[i].source];
    }
    return TLNMF_OK;
}

static tlnmf_error check_rate(tlnmf_ctx *ctx, const job *j)
{
    double rate = tlnmf_get_real(j->model, "rate");
    if (rate == j->sound->rate)
        return TLNMF_OK;
    return tl_fail(ctx, TLNMF_ERR_DATA,
                   "its rate is %.10g Hz, the model was learnt at %.10g Hz: resample it first",
                   j->sound->rate, rate);
}

static tlnmf_error job_create(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                              const tl_settings *settings, job *j)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, model);
    TL_NEED(ctx, sound);
    TL_NEED(ctx, settings);
    *j = (job){.model = model, .sound = sound, .settings = settings};
    TRY(tl_settings_need(ctx, settings, TL_TASK_STEMS));
    TRY(tlnmf_settings_check(ctx, settings));
    TRY(tl_blend_from_record(ctx, model, &j->blend));
    tlnmf_error error = check_rate(ctx, j);
    if (error == TLNMF_OK)
        error = map_labels(ctx, j);
    if (error != TLNMF_OK)
        job_free(ctx, j);
    return error;
}

/* The model's floor, scaled to the level of this sound. A floor that would leave the range (that of
 * the option eps, with a margin) stays: silence is silent anyway. */
static tlnmf_error scaled_floor(tlnmf_ctx *ctx, job *j, double *power_of, double *eps)
{
    double power, learnt = tlnmf_get_real(j->model, "power");
    *eps = j->blend->member[0]->info.eps;
    TRY(tl_sound_power(ctx, &j->sound->sound, &power));
    *power_of = power;
    j->same = learnt == power && tlnmf_get_integer(j->model, "length") == j->sound->sound.length;
    double scaled = learnt > 0.0 && learnt != power ? *eps * power / learnt : *eps;
    if (scaled >= 1e-290 && scaled <= 1e290)
        *eps = scaled;
    return TLNMF_OK;
}

/* The names of the stems, and how many there are. */
static tlnmf_error put_stem_names(tlnmf_ctx *ctx, const job *j, tlnmf_record *out)
{
    enum { LENGTH = 300 };
    const tl_separator *first = j->blend->member[0];
    bool each = j->settings->components != 0;
    int64_t plain = each ? first->K : first->info.sources, count = plain + j->settings->residual;
    int64_t number[TL_SOURCES_MAX] = {0};
    char(*text)[LENGTH];
    const char **name;
    void *block;
    tl_slot table[] = {TL_SLOT(text, count), TL_SLOT(name, count)};
    TRY(TL_ARENA(ctx, "the names of the stems", table, &block));
    for (int64_t i = 0; i < count; i++) {
        int64_t source = each && i < plain ? first->owner[i] : i;
        const char *known = tlnmf_get_text_at(j->model, "names", (size_t)source);
        if (i == plain)
            snprintf(text[i], LENGTH, "residual");
        else if (each)
            snprintf(text[i], LENGTH, "%s %lld", known, (long long)++number[source]);
        else
            snprintf(text[i], LENGTH, "%s", known);
        name[i] = text[i];
    }
    tlnmf_error error = tlnmf_set_texts(ctx, out, "names", name, (size_t)count);
    tl_release(&ctx->hooks, block);
    return error == TLNMF_OK ? tlnmf_set_integer(ctx, out, "stems", count) : error;
}

static tlnmf_error put_plan(tlnmf_ctx *ctx, const job *j, tlnmf_record *out)
{
    TRY(put_stem_names(ctx, j, out));
    return tlnmf_set_integer(
        ctx, out, "N", tl_frames_count(&j->blend->member[0]->info.frames, j->sound->sound.length));
}

tlnmf_error tlnmf_stems_plan(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                             const tl_settings *settings, tlnmf_record **plan)
{
    job j;
    TL_NEED(ctx, plan);
    *plan = NULL;
    TRY(job_create(ctx, model, sound, settings, &j));
    tlnmf_error error = tlnmf_record_create(ctx, plan);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(put_plan(ctx, &j, *plan), plan);
    job_free(ctx, &j);
    return error;
}

/* The labels that the run goes by. */
static tlnmf_error open_unlabelled(tlnmf_ctx *ctx, job *j)
{
    const tlnmf_sound *sound = j->sound;
    bool silent = j->settings->unlabelled == TL_UNLABELLED_SILENT;
    if (sound->span_count == 0)
        return TLNMF_OK;
    tl_schedule schedule = {j->span, sound->span_count,
                            to_samples(j->settings->release, sound->rate), j->blend->info.sources};
    TRY(tl_unlabelled_find(ctx, &sound->sound, &schedule, sound->rate, &j->found));
    if (!j->same) /* else learning has said so */
        tl_unlabelled_warn(ctx, &j->found, sound->rate, silent);
    if (silent)
        j->found.count = sound->span_count;
    return TLNMF_OK;
}

/* Envelopes of the stems, for activations: a stem of a source each. */
static tlnmf_error put_envelope(tlnmf_ctx *ctx, const job *j, double power, tl_envelope *e,
                                tlnmf_record *report)
{
    const tl_sound *sound = &j->sound->sound;
    int64_t outputs = j->blend->info.sources + (j->settings->residual ? 1 : 0);
    int64_t hop = tl_envelope_hop(j->sound->rate), times = (sound->length + hop - 1) / hop;
    const int64_t shape[2] = {outputs, times};
    TRY(tlnmf_set_real(ctx, report, "envelope.step", (double)hop / j->sound->rate));
    TRY(tl_record_new_array(ctx, report, "envelope.level", 2, shape, &e->level));
    TRY(tl_record_new_array(ctx, report, "envelope.flux", 2, shape, &e->flux));
    TRY(tl_record_new_array(ctx, report, "envelope.sum", 2, shape, &e->sum));
    return tl_envelope_create(ctx, sound, outputs, j->sound->rate, power, e);
}

/* Where H is fitted: of blocks of frames, one after another. */
static tlnmf_error open_updater(tlnmf_ctx *ctx, const job *j, tl_updater **updater)
{
    tl_updates largest = {.N = TL_BLOCK_COLUMNS};
    for (int64_t i = 0; i < j->blend->members; i++) {
        largest.rows = tl_max(largest.rows, j->blend->member[i]->rows);
        largest.K = tl_max(largest.K, j->blend->member[i]->K);
    }
    int64_t frames = tl_frames_count(&j->blend->member[0]->info.frames, j->sound->sound.length);
    return tl_device_updater(ctx, j->settings->device, &largest, frames, updater);
}

static tlnmf_error run_job(tlnmf_ctx *ctx, job *j, tlnmf_write write, void *user,
                           tlnmf_record *report)
{
    const tl_settings *s = j->settings;
    int64_t N = tl_frames_count(&j->blend->member[0]->info.frames, j->sound->sound.length);
    tl_separate_run run = {.release = to_samples(s->release, j->sound->rate),
                           .eps = s->eps,
                           .components = s->components,
                           .residual = s->residual,
                           .threads = s->threads,
                           .write = write,
                           .user = user};
    tl_reporter reporter;
    TRY(put_plan(ctx, j, report));
    double eps, power, unexplained = NAN;
    run.unexplained = &unexplained;
    TRY(scaled_floor(ctx, j, &power, &eps));
    if (!(run.eps > 0.0))
        run.eps = eps;
    run.notes = j->same;
    TRY(open_unlabelled(ctx, j));
    run.spans = j->found.spans;
    run.span_count = j->found.count;
    if (s->keep_H)
        TRY(tl_record_new_array(ctx, report, "H", 2, (int64_t[]){j->blend->member[0]->K, N},
                                &run.H));
    TRY(tl_reporter_create(ctx, &reporter));
    tl_watch watch = {.callback = tl_reporter_callback(&reporter), .user = &reporter};
    tl_envelope envelope = {.memory = NULL};
    tlnmf_error error = TLNMF_OK;
    if (s->keep_H && write != NULL && !s->components) {
        error = put_envelope(ctx, j, power, &envelope, report);
        run.envelope = &envelope;
    }
    if (error == TLNMF_OK)
        error = tl_blocks_create(
            ctx, &(tl_blocks_of){j->blend, &j->sound->sound, j->settings, &run}, &run.blocks);
    if (error == TLNMF_OK)
        error = open_updater(ctx, j, &run.updater);
    if (error == TLNMF_OK)
        error = tl_blend_run(ctx, j->blend, &j->sound->sound, &run, &watch);
    tl_device_updater_close(run.updater);
    tl_blocks_free(run.blocks);
    if (error == TLNMF_OK && run.envelope != NULL)
        tl_envelope_finish(&envelope);
    tl_envelope_free(&envelope);
    tl_reporter_free(&reporter);
    TRY(error);
    tlnmf_outcome outcome = watch.stopped ? TLNMF_CANCELLED : TLNMF_ITERATIONS;
    TRY(tlnmf_set_real(ctx, report, "eps", run.eps));
    TRY(tlnmf_set_real(ctx, report, "unexplained", unexplained));
    TRY(tlnmf_set_integer(ctx, report, "outcome_code", outcome));
    return tl_record_refer_text(ctx, report, "outcome", tlnmf_outcome_name(outcome));
}

tlnmf_error tlnmf_stems(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                        const tl_settings *settings, tlnmf_write write, void *user,
                        tlnmf_record **report)
{
    job j;
    TL_NEED(ctx, report);
    *report = NULL;
    TRY(job_create(ctx, model, sound, settings, &j));
    tlnmf_error error = tlnmf_record_create(ctx, report);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(run_job(ctx, &j, write, user, *report), report);
    job_free(ctx, &j);
    return tl_sound_explain(ctx, sound, error);
}

/* Where stems[stem][t][c] lie. */
typedef struct target {
    double *stems;
    int64_t length, channels;
} target;

static int write_array(int64_t stem, int64_t first, int64_t count, const double *x, void *user)
{
    const target *to = user;
    tl_copy(to->stems + (stem * to->length + first) * to->channels, x, count * to->channels);
    return 0;
}

tlnmf_error tlnmf_stems_array(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                              const tl_settings *settings, double *stems, tlnmf_record **report)
{
    TL_NEED(ctx, report);
    *report = NULL;
    TL_NEED(ctx, sound);
    TL_NEED(ctx, stems);
    target to = {stems, sound->sound.length, sound->sound.channels};
    return tlnmf_stems(ctx, model, sound, settings, write_array, &to, report);
}
