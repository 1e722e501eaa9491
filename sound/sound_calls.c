/* The public calls of sound.h that separate: records in and out around the separator. */
#include "base/record.h"
#include "engine/device.h"
#include "sound/learn/course.h"
#include "sound/learn/keep.h"
#include "sound/model/separation_model.h"
#include "sound/render/frame_block.h"
#include "sound/render/rounds.h"

#include <math.h>
#include <stdio.h>

/* ---- settings -------------------------------------------------------------------------------- */

/* The options for this sound, from settings of task "learn". */
static tl_learn_options options_for(const tl_settings *s, const tlnmf_sound *sound)
{
    const double usual_frame = 40.0 * 1e-3; /* seconds */
    enum { USUAL_J = 10 };
    tl_settings framed = *s;
    if (framed.frame == 0)
        framed.frame = tl_samples(usual_frame, sound->rate);
    tl_learn_options opt = {.set = *s,
                            .frames = tl_frames_from(&framed),
                            .sources = sound->sources > 0 ? sound->sources : s->k,
                            .rate = sound->rate,
                            .release = tl_samples(s->release, sound->rate),
                            .J = s->iterations > 0 ? s->iterations : USUAL_J,
                            .any_window = s->window == TL_WINDOW_AUTO,
                            .any_length = s->frame == 0 && s->hop == 0,
                            .any_J = s->iterations == 0};
    if (s->learn_below > 0.0) { /* rows are in order of frequency, up to half the rate */
        double M = (double)opt.frames.M;
        opt.band = (int64_t)fmax(1.0, fmin(M, floor(M * (2.0 * s->learn_below) / sound->rate)));
    }
    return opt;
}

static tlnmf_error check_sources(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_settings *s)
{
    int64_t k = s->k;
    if (sound->sources > 0 && sound->span_count == 0)
        return tl_fail(ctx, TLNMF_ERR_DATA, "none of the labels lies inside the sound");
    if (sound->sources > 0 && k > 0 && k != sound->sources)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "k = %lld, but the labels name %lld source%s",
                       (long long)k, (long long)sound->sources, sound->sources == 1 ? "" : "s");
    if (sound->sources == 0 && s->per_source > 1)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "per-source = %lld: without labels nothing says which components belong "
                       "together",
                       (long long)s->per_source);
    return TLNMF_OK;
}

static tlnmf_error prepare(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_settings *settings,
                           tl_learn_options *opt)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, sound);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, TL_TASK_LEARN));
    TRY(tlnmf_settings_check(ctx, settings));
    TRY(check_sources(ctx, sound, settings));
    *opt = options_for(settings, sound);
    return tl_frames_check(ctx, &opt->frames);
}

tlnmf_error tlnmf_learn_sources_memory(tlnmf_ctx *ctx, const tlnmf_sound *sound,
                                       const tl_settings *settings, double *bytes)
{
    tl_learn_options opt;
    TL_NEED(ctx, bytes);
    *bytes = 0.0;
    TRY(prepare(ctx, sound, settings, &opt));
    *bytes = tl_learn_memory(&opt, sound->sound.length, sound->sound.channels);
    return TLNMF_OK;
}

/* ---- learning -------------------------------------------------------------------------------- */

/* The state of one call of tlnmf_learn_sources. */
typedef struct lesson {
    const tlnmf_sound *sound;
    const tl_settings *settings;
    tl_learn_options opt;
    tl_unlabelled found; /* labels, and spans of sound without a label */
    tl_caveats caveats;  /* about the labels */
    tl_look look;
    char reason[256];
    double power;
    tl_blend *blend;
} lesson;

/* Estimates the number of sources of a sound without labels, unless k sets it. */
static tlnmf_error look_blindly(tlnmf_ctx *ctx, lesson *l)
{
    enum { USUAL = 2 }; /* a guess: without labels, notes cannot be distinguished from sources */
    TRY(tl_look_at(ctx, &l->sound->sound, &l->opt, &l->look));
    int64_t sounds = l->look.sounds;
    size_t size = sizeof l->reason;
    if (l->opt.sources > 0)
        snprintf(l->reason, size, "as asked");
    else if (sounds == 1)
        snprintf(l->reason, size, "one sound explains the recording");
    else if (sounds <= TL_LOOK_MOST)
        snprintf(
            l->reason, size,
            "assumed (%lld spectra explain it); only k or labels can tell which of them belong to "
            "the same source",
            (long long)sounds);
    else
        snprintf(
            l->reason, size,
            "assumed (more than %d spectra are needed, for notes or their parts); only k or labels "
            "can tell which of them belong to the same source",
            TL_LOOK_MOST);
    if (l->opt.sources == 0)
        l->opt.sources = sounds == 1 ? 1 : USUAL;
    return TLNMF_OK;
}

/* Polls report that nothing of the stage is done. */
static void begin_stage(tlnmf_ctx *ctx, const char *stage)
{
    tl_progress progress = tl_progress_of(stage);
    progress.done = 0.0;
    tl_monitor_set(ctx->monitor, &progress);
}

/* Looks at the labels; without any, estimates the number of sources. */
static tlnmf_error listen(tlnmf_ctx *ctx, lesson *l)
{
    const tlnmf_sound *sound = l->sound;
    if (sound->sources == 0)
        return look_blindly(ctx, l);
    tl_schedule schedule;
    TRY(tl_schedule_create(ctx, sound->span, sound->span_count, l->opt.release, sound->sources,
                           &schedule));
    bool silent = l->settings->unlabelled == TL_UNLABELLED_SILENT;
    tlnmf_error error = tl_labels_look(ctx, sound, &schedule, silent, &l->found, &l->caveats);
    if (error == TLNMF_OK && tl_learn_may_use_solos(&l->opt))
        tl_check_solos(ctx, sound, &schedule, &l->caveats);
    tl_schedule_free(&schedule);
    return error;
}

/* The candidates of a guided separation were compared, but there was nothing to check them on. */
static void note_unchecked(tlnmf_ctx *ctx, lesson *l)
{
    uint64_t shown = ~l->caveats.sources << (TL_SOURCES_MAX - l->opt.sources);
    if (shown == 0 || !isfinite(l->blend->verdict.agreement[0]) || isfinite(l->blend->info.score))
        return;
    l->caveats.sources = ~(uint64_t)0;
    tl_caveats_warn(
        ctx, &l->caveats,
        "no two passages without a common source are long enough to check the quality: record "
        "each source alone before the mixture, and label it");
}

static tlnmf_error learn(tlnmf_ctx *ctx, lesson *l)
{
    tl_units *units;
    begin_stage(ctx, "choose");
    tlnmf_error error = tl_keep_create(ctx, l->sound, l->settings, &units);
    if (error == TLNMF_OK)
        error = listen(ctx, l);
    if (error == TLNMF_OK)
        error = tl_blend_learn(ctx, &l->sound->sound, l->found.spans, l->found.count, &l->opt,
                               units, NULL, &l->blend);
    bool late = tl_wall_seconds() - ctx->monitor->began >= ctx->keeping.seconds;
    tl_units_save(units, tl_poll(ctx->monitor) || late); /* the stems may take long */
    tl_units_free(units);
    if (error == TLNMF_OK && l->sound->sources == 0)
        tl_verdict_expect_blind(l->opt.sources,
                                l->look.misfit[tl_min(l->opt.sources, TL_LOOK_MOST)],
                                &l->blend->verdict);
    if (error == TLNMF_OK && l->sound->sources > 1)
        note_unchecked(ctx, l);
    if (error == TLNMF_OK)
        tl_verdict_withhold(l->opt.sources, l->caveats.sources, &l->blend->verdict);
    return error;
}

/* candidate.what, .score, .weight and .why: the candidates that were compared. */
static tlnmf_error put_trials(tlnmf_ctx *ctx, const tl_blend *blend, tlnmf_record *model)
{
    const char *what[TL_TRIALS_MAX], *why[TL_TRIALS_MAX];
    double *score, *weight;
    if (blend->trials == 0)
        return TLNMF_OK;
    TRY(tl_record_new_array(ctx, model, "candidate.score", 1, &blend->trials, &score));
    TRY(tl_record_new_array(ctx, model, "candidate.weight", 1, &blend->trials, &weight));
    for (int64_t i = 0; i < blend->trials; i++) {
        const tl_trial *t = &blend->trial[i];
        what[i] = t->what;
        why[i] = t->why;
        score[i] = t->score;
        weight[i] = t->weight;
    }
    TRY(tlnmf_record_set_texts(ctx, model, "candidate.what", what, (size_t)blend->trials));
    return tlnmf_record_set_texts(ctx, model, "candidate.why", why, (size_t)blend->trials);
}

static tlnmf_error put_lesson(tlnmf_ctx *ctx, const lesson *l, tlnmf_record *model)
{
    TRY(tl_blend_to_record(ctx, l->blend, l->sound, l->power, model));
    TRY(put_trials(ctx, l->blend, model));
    TRY(tl_caveats_put(ctx, &l->caveats, model));
    TRY(tlnmf_record_set_real(ctx, model, "unlabelled_seconds", l->found.seconds));
    TRY(tlnmf_record_set_real(ctx, model, "unlabelled_energy", l->found.energy));
    return tlnmf_record_set_text(ctx, model, "reason", l->reason);
}

tlnmf_error tlnmf_learn_sources(tlnmf_ctx *ctx, const tlnmf_sound *sound,
                                const tl_settings *settings, tlnmf_record **model)
{
    lesson l = {.sound = sound, .settings = settings, .reason = "the labels name them"};
    TL_NEED(ctx, model);
    *model = NULL;
    TRY(prepare(ctx, sound, settings, &l.opt));
    TRY(tlnmf_sound_power(ctx, sound, &l.power));
    tl_updates largest = tl_learn_largest_updates(&l.opt, sound->sound.length);
    TRY(tl_device_updater(ctx, l.opt.set.device, &largest, 0, &l.opt.updater));
    tl_scope outer;
    tl_monitor_enter(ctx->monitor, 0.0, NULL, &outer);
    tlnmf_error error = learn(ctx, &l);
    tl_device_updater_close(l.opt.updater);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(ctx, model);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(put_lesson(ctx, &l, *model), model);
    if (error == TLNMF_OK)
        tl_report_end(ctx->monitor);
    tl_monitor_leave(ctx->monitor, &outer);
    tl_blend_free(l.blend);
    tl_unlabelled_free(&l.found);
    return tl_sound_explain(ctx, sound, error);
}

/* ---- stems ----------------------------------------------------------------------------------- */

/* The state of one call of tlnmf_separate. */
typedef struct separation_job {
    const tlnmf_record *model;
    const tlnmf_sound *sound;
    const tl_settings *settings;
    tl_blend *blend;
    double power;  /* mean square of the sound */
    bool same;     /* the sound is the one that the model was learnt from */
    tl_span *span; /* the sound's labels with the model's numbers of the sources */
    tl_unlabelled found;
    void *memory;
} separation_job;

static void job_free(tlnmf_ctx *ctx, separation_job *j)
{
    tl_blend_free(j->blend);
    tl_unlabelled_free(&j->found);
    tl_release(&ctx->hooks, j->memory);
}

static tlnmf_error find_name(tlnmf_ctx *ctx, const tlnmf_record *model, const char *name,
                             int64_t *place)
{
    const char *known;
    for (*place = 0; (known = tlnmf_record_get_text_at(model, "names", (size_t)*place)) != NULL;
         ++*place)
        if (strcmp(known, name) == 0)
            return TLNMF_OK;
    return tl_fail(ctx, TLNMF_ERR_DATA, "the model has no source \"%s\"", name);
}

static tlnmf_error map_labels(tlnmf_ctx *ctx, separation_job *j)
{
    int64_t place[TL_SOURCES_MAX];
    for (int64_t k = 0; k < j->sound->sources; k++)
        TRY(find_name(ctx, j->model, j->sound->name[k], &place[k]));
    tl_slot table[] = {TL_SLOT(j->span, j->sound->span_count)};
    TRY(TL_ARENA(ctx, "the labels", table, &j->memory));
    for (int64_t i = 0; i < j->sound->span_count; i++) {
        j->span[i] = j->sound->span[i];
        j->span[i].source = place[j->sound->span[i].source];
    }
    return TLNMF_OK;
}

static tlnmf_error check_rate(tlnmf_ctx *ctx, const separation_job *j)
{
    double rate = tlnmf_record_get_real(j->model, "rate");
    if (rate == j->sound->rate)
        return TLNMF_OK;
    return tl_fail(
        ctx, TLNMF_ERR_DATA,
        "the rate of the sound is %.10g Hz, the model was learnt at %.10g Hz: resample it first",
        j->sound->rate, rate);
}

static tlnmf_error job_create(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                              const tl_settings *settings, separation_job *j)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, model);
    TL_NEED(ctx, sound);
    TL_NEED(ctx, settings);
    *j = (separation_job){.model = model, .sound = sound, .settings = settings};
    TRY(tl_settings_need(ctx, settings, TL_TASK_SEPARATE));
    TRY(tlnmf_settings_check(ctx, settings));
    TRY(tl_blend_from_record(ctx, model, &j->blend));
    tlnmf_error error = check_rate(ctx, j);
    if (error == TLNMF_OK)
        error = map_labels(ctx, j);
    if (error != TLNMF_OK)
        job_free(ctx, j);
    return error;
}

/* The model's floor, scaled to the level of this sound. It is not scaled if it would leave the
 * range of the option eps (with a margin): a silent sound has silent stems anyway. */
static tlnmf_error scaled_floor(tlnmf_ctx *ctx, separation_job *j, double *eps)
{
    double learnt = tlnmf_record_get_real(j->model, "power");
    *eps = j->blend->member[0]->info.eps;
    TRY(tl_sound_power(ctx, &j->sound->sound, &j->power));
    double power = j->power;
    j->same =
        learnt == power && tlnmf_record_get_integer(j->model, "length") == j->sound->sound.length;
    double scaled = learnt > 0.0 && learnt != power ? *eps * power / learnt : *eps;
    if (scaled >= 1e-290 && scaled <= 1e290)
        *eps = scaled;
    return TLNMF_OK;
}

/* The names of the stems, and how many there are. */
static tlnmf_error put_stem_names(tlnmf_ctx *ctx, const separation_job *j, tlnmf_record *out)
{
    enum { LENGTH = 300 };
    const tl_separator *first = j->blend->member[0];
    bool each = j->settings->components != 0;
    int64_t plain = each ? first->K : first->info.sources, count = plain + j->settings->residual;
    int64_t number[TL_SOURCES_MAX] = {0};
    char(*text)[LENGTH];
    const char **name;
    void *memory;
    tl_slot table[] = {TL_SLOT(text, count), TL_SLOT(name, count)};
    TRY(TL_ARENA(ctx, "the names of the stems", table, &memory));
    for (int64_t i = 0; i < count; i++) {
        int64_t source = each && i < plain ? first->owner[i] : i;
        const char *known = tlnmf_record_get_text_at(j->model, "names", (size_t)source);
        if (i == plain)
            snprintf(text[i], LENGTH, "residual");
        else if (each)
            snprintf(text[i], LENGTH, "%s %lld", known, (long long)++number[source]);
        else
            snprintf(text[i], LENGTH, "%s", known);
        name[i] = text[i];
    }
    tlnmf_error error = tlnmf_record_set_texts(ctx, out, "names", name, (size_t)count);
    tl_release(&ctx->hooks, memory);
    return error == TLNMF_OK ? tlnmf_record_set_integer(ctx, out, "stems", count) : error;
}

static tlnmf_error put_plan(tlnmf_ctx *ctx, const separation_job *j, tlnmf_record *out)
{
    TRY(put_stem_names(ctx, j, out));
    return tlnmf_record_set_integer(
        ctx, out, "N", tl_frames_count(&j->blend->member[0]->info.frames, j->sound->sound.length));
}

tlnmf_error tlnmf_separate_plan(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                                const tl_settings *settings, tlnmf_record **plan)
{
    separation_job j;
    TL_NEED(ctx, plan);
    *plan = NULL;
    TRY(job_create(ctx, model, sound, settings, &j));
    tlnmf_error error = tlnmf_record_create(ctx, plan);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(put_plan(ctx, &j, *plan), plan);
    job_free(ctx, &j);
    return error;
}

/* Finds sound without a label, if there are labels. */
static tlnmf_error open_unlabelled(tlnmf_ctx *ctx, separation_job *j)
{
    const tlnmf_sound *sound = j->sound;
    bool silent = j->settings->unlabelled == TL_UNLABELLED_SILENT;
    if (sound->span_count == 0)
        return TLNMF_OK;
    tl_schedule schedule;
    TRY(tl_schedule_create(ctx, j->span, sound->span_count,
                           tl_samples(j->settings->release, sound->rate), j->blend->info.sources,
                           &schedule));
    tlnmf_error error =
        tl_unlabelled_find(ctx, sound, &schedule, silent, !j->same, /* else learning warned */
                           &j->found);
    tl_schedule_free(&schedule);
    return error;
}

/* The device that fits H, block by block. */
static tlnmf_error open_updater(tlnmf_ctx *ctx, const separation_job *j, tl_updater **updater)
{
    tl_updates largest = {.N = TL_BLOCK_COLUMNS};
    for (int64_t i = 0; i < j->blend->members; i++) {
        largest.rows = tl_max(largest.rows, j->blend->member[i]->rows);
        largest.K = tl_max(largest.K, j->blend->member[i]->K);
    }
    int64_t frames = tl_frames_count(&j->blend->member[0]->info.frames, j->sound->sound.length);
    return tl_device_updater(ctx, j->settings->device, &largest, frames, updater);
}

static tlnmf_error run_job(tlnmf_ctx *ctx, separation_job *j, tlnmf_write_fn write, void *user,
                           tlnmf_record *report)
{
    const tl_settings *s = j->settings;
    int64_t N = tl_frames_count(&j->blend->member[0]->info.frames, j->sound->sound.length);
    tl_separate_run run = {.release = tl_samples(s->release, j->sound->rate),
                           .eps = s->eps,
                           .components = s->components,
                           .residual = s->residual,
                           .threads = s->threads,
                           .write = write,
                           .user = user,
                           .named = report};
    tl_scope outer;
    TRY(put_plan(ctx, j, report));
    double eps, unexplained = NAN;
    int64_t written = 0;
    run.unexplained = &unexplained;
    run.written = &written;
    TRY(scaled_floor(ctx, j, &eps));
    if (!(run.eps > 0.0))
        run.eps = eps;
    run.notes = j->same;
    TRY(open_unlabelled(ctx, j));
    run.spans = j->found.spans;
    run.span_count = j->found.count;
    if (s->keep_H)
        TRY(tl_record_new_array(ctx, report, "H", 2, (int64_t[]){j->blend->member[0]->K, N},
                                &run.H));
    tl_monitor_enter(ctx->monitor, 0.0, NULL, &outer);
    begin_stage(ctx, "stems");
    if (s->keep_H && write != NULL && !s->components)
        run.envelope = (tl_envelope_request){j->sound->rate, j->power, report};
    tlnmf_error error = open_updater(ctx, j, &run.updater);
    if (error == TLNMF_OK)
        error = tl_blend_run(ctx, j->blend, &j->sound->sound, &run);
    tl_device_updater_close(run.updater);
    tl_monitor_leave(ctx->monitor, &outer);
    TRY(error);
    tlnmf_outcome outcome =
        tl_poll(ctx->monitor) ? TLNMF_OUTCOME_CANCELLED : TLNMF_OUTCOME_ITERATIONS;
    TRY(tlnmf_record_set_real(ctx, report, "eps", run.eps));
    TRY(tlnmf_record_set_real(ctx, report, "unexplained", unexplained));
    TRY(tlnmf_record_set_integer(ctx, report, "written", written));
    TRY(tlnmf_record_set_integer(ctx, report, "outcome_code", outcome));
    return tl_record_refer_text(ctx, report, "outcome", tlnmf_outcome_name(outcome));
}

tlnmf_error tlnmf_separate(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                           const tl_settings *settings, tlnmf_write_fn write, void *user,
                           tlnmf_record **report)
{
    separation_job j;
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
typedef struct stem_array {
    double *stems;
    int64_t length, channels;
} stem_array;

static int write_array(int64_t stem, int64_t first, int64_t count, const double *x, void *user)
{
    const stem_array *to = user;
    tl_copy(to->stems + (stem * to->length + first) * to->channels, x, count * to->channels);
    return 0;
}

tlnmf_error tlnmf_separate_array(tlnmf_ctx *ctx, const tlnmf_record *model,
                                 const tlnmf_sound *sound, const tl_settings *settings,
                                 double *stems, tlnmf_record **report)
{
    TL_NEED(ctx, report);
    *report = NULL;
    TL_NEED(ctx, sound);
    TL_NEED(ctx, stems);
    stem_array to = {stems, sound->sound.length, sound->sound.channels};
    return tlnmf_separate(ctx, model, sound, settings, write_array, &to, report);
}
