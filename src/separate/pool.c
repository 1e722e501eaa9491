/* Candidates from several representations, what they are worth, and what is blended of them. */
#include "separate/study.h"

#include <math.h>
#include <stdio.h>

enum { REPRESENTATIONS = 3, LENGTHS = 2, CANDIDATES = 24 };
/* Flat columns for a source that is never alone: two members; and of the flat candidates. */
static const int64_t HIDDEN[2] = {4, 8}, FLAT[2] = {1, 3}, FLAT_BLIND[2] = {3, 8};
/* Passages of remixes: at least 4 and at most 64 frames of 40 ms. */
static const double SHORTEST = 0.16, LONGEST = 2.56;
/* Decibels of a remix score over which weights fall by e, and by which a flat candidate must be
 * better than all with dictionaries to take part. */
static const double SOFT = 0.5, FLAT_MARGIN = 0.5;

typedef struct representation {
    int length; /* which scene */
    tl_window window;
} representation;

typedef enum kind { FLATS, PLAIN, NOTES } kind;

typedef struct candidate {
    tl_separator *model;
    kind kind;
    double score; /* on remixes; NaN: none */
    tl_trial spare, *trial;
} candidate;

typedef struct pool {
    tlnmf_ctx *ctx;
    const tl_sound *sound;
    tl_schedule schedule;
    const tl_separate_options *opt;
    tl_watch *watch;
    representation rep[REPRESENTATIONS];
    int reps;
    tl_scene scene[LENGTHS];
    tl_remix remix;
    tl_notes notes;
    bool decided;
    candidate candidate[CANDIDATES];
    int64_t count, planned;
    tl_blend *blend;
} pool;

/* Candidates with dictionaries from solos take part; others only if they are better. */
static bool is_dictionary(const candidate *c)
{
    return c->kind != FLATS;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static const char *const KIND_NAMES[] = {"flat", "solos", "solos and notes"};

/* The first candidate decides on the notes, too: it takes as long as FIRST others. Listening to all
 * of them at the end takes as long as one. */
static void report(const pool *p)
{
    enum { FIRST = 4 };
    double best = NAN, planned = (double)(p->planned + FIRST);
    for (int64_t i = 0; i < p->count; i++)
        best = fmax(best, p->candidate[i].score);
    tl_watch_relay(&(tl_progress){.stage = TL_STAGE_CHOOSE,
                                  .complete = true,
                                  .starts = 1,
                                  .iteration = p->count,
                                  .iterations = p->planned,
                                  .C = NAN,
                                  .L = NAN,
                                  .I = NAN,
                                  .step = NAN,
                                  .score = best,
                                  .done = fmin(1.0, (double)(p->count + FIRST - 1) / planned)},
                   p->watch);
}

/* Judges a model and puts it into the pool, which owns it from here on. */
static tlnmf_error enter(pool *p, kind what, tl_separator *model)
{
    candidate *c = &p->candidate[p->count++];
    *c = (candidate){.model = model, .kind = what};
    c->score = NAN;
    if (!p->watch->stopped) /* what was cut short is not judged */
        TRY(tl_remix_judge(p->ctx, &p->remix, model, &c->score));
    c->trial = tl_trials_next(p->watch, &c->spare);
    c->trial->score = c->score;
    snprintf(c->trial->what, sizeof c->trial->what,
             "STFT, %s window, frames of %lld, %s, %lld columns",
             tl_window_name((tl_window)model->info.frames.window), (long long)model->M,
             KIND_NAMES[what], (long long)model->K);
    tl_log(p->ctx, TLNMF_LOG_INFO, "%s: %.2f dB on remixes", c->trial->what, c->score);
    report(p);
    return TLNMF_OK;
}

static tlnmf_error enter_dictionary(pool *p, const tl_study *s, kind what, const tl_dictionary *d)
{
    tl_separator *model;
    TRY(tl_study_separator(s, d, what == NOTES ? &p->notes : NULL, &model));
    return enter(p, what, model);
}

static tlnmf_error try_flat(pool *p, const tl_study *s, int64_t per_source)
{
    tl_dictionary d;
    TRY(tl_dictionary_flat(s, per_source, &d));
    tlnmf_error error = enter_dictionary(p, s, FLATS, &d);
    tl_dictionary_free(&d);
    return error;
}

/* The dictionary with notes, and without. */
static tlnmf_error try_notes(pool *p, const tl_study *s, const tl_dictionary *d)
{
    tl_dictionary with = {.memory = NULL};
    if (!p->decided)
        TRY(tl_notes_decide(s, d, &p->notes));
    p->decided = true;
    TRY(tl_notes_apply(s, d, &p->notes, &with));
    tlnmf_error error = enter_dictionary(p, s, p->notes.count > 0 ? NOTES : PLAIN, &with);
    tl_dictionary_free(&with);
    return error;
}

static tlnmf_error try_solos(pool *p, const tl_study *s, int64_t hidden)
{
    tl_dictionary d;
    TRY(tl_dictionary_solos(s, hidden, &d));
    tlnmf_error error = try_notes(p, s, &d);
    tl_dictionary_free(&d);
    return error;
}

/* Stopped, and there is something to return. */
static bool is_over(const pool *p)
{
    return p->count > 0 && p->watch->stopped;
}

static tlnmf_error try_study(pool *p, const tl_study *s)
{
    bool any = false, all = true;
    for (int64_t r = 0; r < p->opt->sources; r++) {
        any = any || s->alone[r];
        all = all && s->alone[r];
    }
    for (int i = 0; any && i < (all ? 1 : 2) && !is_over(p); i++)
        TRY(try_solos(p, s, HIDDEN[i]));
    for (int i = 0; i < 2 && !is_over(p); i++)
        TRY(try_flat(p, s, any ? FLAT[i] : FLAT_BLIND[i]));
    return TLNMF_OK;
}

static tlnmf_error create_scene(pool *p, int length)
{
    tl_frames layout = p->opt->frames;
    int64_t times = p->opt->any_length ? 2 << length : 1;
    layout.M *= times;
    layout.hop *= times;
    return tl_scene_create(p->ctx, p->sound, &p->schedule, &layout, p->opt->learn_frames,
                           &p->scene[length]);
}

/* ---- what takes part ------------------------------------------------------------------------- */

static void choose(pool *p, double weight[CANDIDATES])
{
    double best = -INFINITY, most = -INFINITY, sum = 0.0;
    bool dictionaries = false, judged = p->remix.count > 0 && !p->watch->stopped;
    for (int64_t i = 0; i < p->count; i++)
        if (is_dictionary(&p->candidate[i])) {
            dictionaries = true;
            best = fmax(best, p->candidate[i].score);
        }
    for (int64_t i = 0; i < p->count; i++) {
        const candidate *c = &p->candidate[i];
        bool in = is_dictionary(c) || !dictionaries || (judged && c->score > best + FLAT_MARGIN);
        weight[i] = in ? 1.0 : 0.0;
        c->trial->why = in ? "refused: far below the best"
                           : "refused: without spectra from solos, and not 0.5 dB better than with";
        if (in && judged)
            most = fmax(most, c->score);
    }
    for (int64_t i = 0; i < p->count; i++) {
        if (judged && weight[i] > 0.0)
            weight[i] = exp((p->candidate[i].score - most) / SOFT);
        if (weight[i] < 1e-3) /* not worth its time */
            weight[i] = 0.0;
        sum += weight[i];
    }
    for (int64_t i = 0; i < p->count; i++)
        weight[i] /= sum;
}

/* The members in order of weight; the blend owns their models. */
static void fill_blend(pool *p, double weight[CANDIDATES])
{
    tl_blend *b = p->blend;
    double score = NAN;
    for (int64_t i = 0; i < p->count; i++) {
        p->candidate[i].model->info.score = p->candidate[i].score;
        if (weight[i] > 0.0)
            score = fmax(score, p->candidate[i].score);
    }
    while (b->members < TL_MEMBERS_MAX) {
        int64_t best = 0;
        for (int64_t i = 1; i < p->count; i++)
            if (weight[i] > weight[best])
                best = i;
        if (!(weight[best] > 0.0))
            break;
        b->weight[b->members] = p->candidate[best].trial->weight = weight[best];
        p->candidate[best].trial->why = p->watch->stopped    ? "kept, not judged: stopped before"
                                        : p->remix.count > 0 ? "kept, by its score"
                                                             : "kept: nothing can be remixed here";
        b->member[b->members++] = p->candidate[best].model;
        p->candidate[best].model = NULL;
        weight[best] = 0.0;
    }
    b->hooks = p->ctx->hooks;
    b->info = b->member[0]->info;
    b->info.remixes = p->remix.count;
    b->info.candidates = p->count;
    b->info.score = score;
    b->info.outcome = p->watch->stopped ? TLNMF_CANCELLED : TLNMF_ITERATIONS;
}

/* How far the candidates of the kind that matters agree, and what follows. */
static tlnmf_error listen(pool *p)
{
    enum { MOST = 6 };
    const tl_separator *member[MOST];
    int64_t members = 0;
    bool dictionaries = false;
    for (int64_t i = 0; i < p->count; i++)
        dictionaries = dictionaries || is_dictionary(&p->candidate[i]);
    for (int64_t i = 0; i < p->count && members < MOST; i++)
        if ((is_dictionary(&p->candidate[i])) == dictionaries)
            member[members++] = p->candidate[i].model;
    tl_verdict *verdict = &p->blend->verdict;
    verdict->coverage = p->notes.sounding > 0.0 ? p->notes.heard / p->notes.sounding : 1.0;
    return tl_verdict_listen(p->ctx, p->sound, &p->schedule, p->opt, member, members, verdict);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* STFT: Tukey and sine windows at twice the usual frame, sine at four times; as far as the options
 * leave that open. */
static void represent(pool *p)
{
    const tl_separate_options *opt = p->opt;
    bool lengths = opt->any_length != 0, windows = opt->any_window != 0;
    tl_window first = (tl_window)opt->frames.window;
    p->rep[p->reps++] = (representation){0, first};
    if (windows && first != TL_WINDOW_SINE)
        p->rep[p->reps++] = (representation){0, TL_WINDOW_SINE};
    if (lengths)
        p->rep[p->reps++] = (representation){1, windows ? TL_WINDOW_SINE : first};
}

static tlnmf_error try_all(void *self)
{
    pool *p = self;
    double rate = p->opt->rate, weight[CANDIDATES] = {0.0};
    represent(p);
    p->planned = (int64_t)3 * p->reps;
    TRY(tl_remix_create(p->ctx, p->sound, &p->schedule, (int64_t)(SHORTEST * rate),
                        (int64_t)(LONGEST * rate), &p->remix));
    for (int i = 0; i < p->reps && !is_over(p); i++) {
        const representation *rep = &p->rep[i];
        tl_study study;
        if (p->scene[rep->length].memory == NULL)
            TRY(create_scene(p, rep->length));
        TRY(tl_study_create(p->ctx, &p->scene[rep->length], p->opt, rep->window, &study));
        study.watch = p->watch;
        tlnmf_error error = try_study(p, &study);
        tl_study_free(&study);
        TRY(error);
    }
    tl_slot table[] = {TL_SLOT(p->blend, 1)};
    void *memory;
    TRY(TL_ARENA(p->ctx, "the blend", table, &memory));
    if (!p->watch->stopped)
        TRY(listen(p));
    choose(p, weight);
    fill_blend(p, weight);
    tl_verdict *verdict = &p->blend->verdict;
    if (p->watch->stopped)
        tl_verdict_unknown(p->opt->sources, verdict);
    else
        tl_verdict_expect(p->opt->sources, p->blend->info.score, verdict);
    return TLNMF_OK;
}

tlnmf_error tl_pool_learn(tlnmf_ctx *ctx, const tl_sound *sound, const tl_schedule *schedule,
                          const tl_separate_options *options, tl_watch *watch, tl_blend **out)
{
    pool p = {.ctx = ctx, .sound = sound, .schedule = *schedule, .opt = options, .watch = watch};
    tlnmf_error error = tl_separate_on_threads(1, try_all, &p);
    for (int64_t i = 0; i < p.count; i++)
        tl_separator_free(p.candidate[i].model);
    for (int i = 0; i < LENGTHS; i++)
        if (p.scene[i].memory != NULL)
            tl_scene_free(&p.scene[i]);
    tl_notes_free(&p.notes);
    tl_remix_free(&p.remix);
    if (error != TLNMF_OK)
        tl_release(&ctx->hooks, p.blend);
    *out = error == TLNMF_OK ? p.blend : NULL;
    return error;
}
