/* Learning by dictionaries: candidates from several representations, blended by their scores. */
#include "sound/learn/course.h"
#include "sound/learn/keep.h"
#include "sound/learn/notes.h"

#include <math.h>
#include <stdio.h>

enum { REPRESENTATIONS = 3, CANDIDATES = 24 };
/* Numbers of flat columns: for a source that is never alone (two candidates); and per source in
 * flat candidates, next to dictionaries and without any. */
static const int64_t HIDDEN[2] = {4, 8}, FLAT[2] = {1, 3}, FLAT_BLIND[2] = {3, 8};
/* Passages of remixes: at least 4 and at most 64 frames of 40 ms. */
static const double SHORTEST = 0.16, LONGEST = 2.56;
/* In dB of the remix score: weights fall by a factor of e per SOFT; a flat candidate takes part if
 * it exceeds all dictionaries by FLAT_MARGIN. */
static const double SOFT = 0.5, FLAT_MARGIN = 0.5;

typedef struct representation {
    int length; /* which scene */
    tl_window window;
} representation;

typedef enum candidate_kind { FLATS, PLAIN, NOTES } candidate_kind;

/* A candidate and its parameters. */
typedef struct candidate {
    const tl_study *study;
    candidate_kind kind;
    int64_t columns; /* flat initial columns per source, or per source that is never alone */
    tl_dictionary solos;
    tl_separator *model; /* NULL: not tried */
    double score;        /* on remixes; NaN: not judged */
    tl_trial *trial;
    atomic_bool begun, judged; /* what is done of it */
} candidate;

typedef struct comparison comparison;
typedef tlnmf_error (*candidate_step)(comparison *all, const tl_study *s, candidate *c);
struct comparison {
    tl_course *on;
    candidate_step step; /* the current step of all candidates */
    representation rep[REPRESENTATIONS];
    int reps;
    tl_study study[REPRESENTATIONS];
    tl_notes notes;
    atomic_bool decided; /* on the notes */
    bool dictionaries;   /* some candidate that was tried has a dictionary from solos */
    candidate candidate[CANDIDATES];
    int64_t count;
    pthread_mutex_t reporting; /* the fraction done never decreases from one report to the next */
};

static bool stops(const comparison *all)
{
    return tl_poll(all->on->ctx->monitor);
}

/* Candidates with dictionaries from solos take part; others only if they are better. */
static bool is_dictionary(const candidate *c)
{
    return c->kind != FLATS;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static const char *const KIND_NAMES[] = {"flat", "solos", "solos and notes"};

/* For the fraction done: each step of a candidate counts as one part, deciding on the notes as
 * DECISION, the verdict at the end as VERDICT. */
static void report(comparison *all)
{
    enum { DECISION = 6, VERDICT = 2 };
    double best = NAN;
    int64_t done = 0;
    pthread_mutex_lock(&all->reporting);
    int64_t parts = all->decided ? DECISION : 0;
    for (int64_t i = 0; i < all->count; i++) {
        const candidate *c = &all->candidate[i];
        if (c->judged) {
            best = fmax(best, c->score);
            done++;
        }
        parts += (c->begun ? 1 : 0) + (c->judged ? 1 : 0);
    }
    tl_progress progress = tl_progress_of("choose");
    progress.complete = true;
    progress.iteration = done;
    progress.iterations = all->count;
    progress.score = best;
    progress.done = (double)parts / (double)(2 * all->count + DECISION + VERDICT);
    tl_report(all->on->ctx->monitor, &progress);
    pthread_mutex_unlock(&all->reporting);
}

/* Makes a model of the dictionary and judges it. */
static tlnmf_error judge(const comparison *all, const tl_study *s, const tl_dictionary *d,
                         candidate *c)
{
    tl_hooks short_lived = s->ctx->hooks;
    s->ctx->hooks = all->on->lasting;
    tlnmf_error error = tl_study_separator(s, d, c->kind == NOTES ? &all->notes : NULL, &c->model);
    s->ctx->hooks = short_lived;
    TRY(error);
    if (!stops(all)) /* an interrupted candidate is not judged */
        TRY(tl_remix_judge(s->ctx, &all->on->remix, c->model, &c->score));
    if (!stops(all))
        tl_keep_put(all->on->units, c - all->candidate, c->model, c->score);
    c->judged = true;
    return TLNMF_OK;
}

/* The work that does not need the notes: flat candidates, and the solos of the others. The first
 * candidate with solos decides on the notes, also if it was judged before the run was resumed. */
static tlnmf_error begin(comparison *all, const tl_study *s, candidate *c)
{
    bool decides = is_dictionary(c);
    for (const candidate *before = all->candidate; before < c; before++)
        decides = decides && !is_dictionary(before);
    if (c->judged && !decides)
        return TLNMF_OK;
    if (c->kind == FLATS) {
        tl_dictionary flat = {.memory = NULL};
        tlnmf_error error = tl_dictionary_flat(s, c->columns, &flat);
        if (error == TLNMF_OK)
            error = judge(all, s, &flat, c);
        tl_dictionary_free(&flat);
        return error;
    }
    TRY(tl_dictionary_solos(s, c->columns, &c->solos));
    if (decides) {
        TRY(tl_notes_decide(s, &c->solos, &all->notes));
        all->decided = true;
    }
    return TLNMF_OK;
}

/* The dictionary of the solos with notes. */
static tlnmf_error complete(comparison *all, const tl_study *s, candidate *c)
{
    tl_dictionary with = {.memory = NULL};
    if (!is_dictionary(c) || (c->solos.memory == NULL && !c->judged))
        return TLNMF_OK;
    c->kind = all->notes.count > 0 ? NOTES : PLAIN;
    if (c->judged)
        return TLNMF_OK;
    tlnmf_error error = tl_notes_apply(s, &c->solos, &all->notes, &with);
    if (error == TLNMF_OK)
        error = judge(all, s, &with, c);
    tl_dictionary_free(&with);
    return error;
}

/* ---- candidates that run concurrently -------------------------------------------------------- */

/* After a stop only the first candidate is made: there must be something to return. */
static tlnmf_error try_candidate(tlnmf_ctx *own, int64_t i, void *arg)
{
    comparison *all = arg;
    candidate *c = &all->candidate[i];
    if (i > 0 && stops(all))
        return TLNMF_OK;
    tl_study study = *c->study;
    study.ctx = own;
    bool changes = !c->begun || !c->judged;
    tlnmf_error error = all->step(all, &study, c);
    c->begun = true;
    if (changes && error == TLNMF_OK)
        report(all);
    return error;
}

/* tl_learn_memory assumes that at most TL_CANDIDATES_AT_ONCE run at a time. */
static tlnmf_error for_all(comparison *all, candidate_step step)
{
    all->step = step;
    return tl_concurrently(all->on->ctx, TL_CANDIDATES_AT_ONCE, all->count, try_candidate, all);
}

static void add_candidate(comparison *all, const tl_study *s, candidate_kind what, int64_t columns)
{
    candidate *c = &all->candidate[all->count++];
    *c = (candidate){.study = s, .kind = what, .columns = columns, .score = NAN};
}

static void add_candidates(comparison *all, const tl_study *s)
{
    bool any = false, every = true;
    for (int64_t r = 0; r < all->on->opt->sources; r++) {
        any = any || s->alone[r];
        every = every && s->alone[r];
    }
    for (int i = 0; any && i < (every ? 1 : 2); i++)
        add_candidate(all, s, PLAIN, HIDDEN[i]);
    for (int i = 0; i < 2; i++)
        add_candidate(all, s, FLATS, any ? FLAT[i] : FLAT_BLIND[i]);
}

/* The candidates that were finished before. */
static tlnmf_error take_kept(comparison *all)
{
    tl_separator_info info;
    bool found;
    for (candidate *c = all->candidate; c < all->candidate + all->count; c++) {
        TRY(tl_keep_take(all->on->units, c - all->candidate, &info, &c->model, &found));
        if (found && c->model == NULL)
            return tl_fail(all->on->ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
        c->score = found ? info.score : NAN;
        c->judged = found;
    }
    return TLNMF_OK;
}

static void note(const comparison *all, candidate *c)
{
    c->trial = &all->on->blend->trial[all->on->blend->trials++];
    c->trial->score = c->score;
    snprintf(c->trial->what, sizeof c->trial->what,
             "STFT, %s window, frames of %lld, %s, %lld columns",
             tl_window_name((tl_window)c->model->info.frames.window), (long long)c->model->M,
             KIND_NAMES[c->kind], (long long)c->model->K);
    if (isfinite(c->score))
        tl_log(all->on->ctx, TLNMF_LOG_INFO, "%s: %.2f dB on remixes", c->trial->what, c->score);
    else
        tl_log(all->on->ctx, TLNMF_LOG_INFO, "%s: not judged", c->trial->what);
}

/* Removes candidates that were not tried. */
static void drop_untried(comparison *all)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < all->count; i++) {
        candidate *c = &all->candidate[i];
        tl_dictionary_free(&c->solos);
        if (c->model == NULL)
            continue;
        all->dictionaries = all->dictionaries || is_dictionary(c);
        all->candidate[kept] = *c;
        note(all, &all->candidate[kept++]);
    }
    all->count = kept;
}

/* ---- representations ------------------------------------------------------------------------- */

static tlnmf_error create_study(tlnmf_ctx *own, int64_t i, void *arg)
{
    comparison *all = arg;
    tlnmf_error error = tl_study_create(own, &all->on->scene[all->rep[i].length], all->on->opt,
                                        all->rep[i].window, &all->study[i]);
    all->study[i].ctx = all->on->ctx;
    return error;
}

/* The calling thread reads the sound; all threads do the rest. */
static tlnmf_error create_studies(comparison *all)
{
    for (int i = 0; i < all->reps; i++)
        if (all->on->scene[all->rep[i].length].memory == NULL)
            TRY(tl_course_scene(all->on, all->rep[i].length,
                                all->on->opt->any_length ? 2 << all->rep[i].length : 1));
    return tl_concurrently(all->on->ctx, all->reps, all->reps, create_study, all);
}

/* ---- what takes part ------------------------------------------------------------------------- */

static void choose(comparison *all, double weight[CANDIDATES])
{
    double best = -INFINITY, most = -INFINITY, sum = 0.0;
    bool judged = all->on->remix.count > 0 && !stops(all);
    for (int64_t i = 0; i < all->count; i++)
        if (is_dictionary(&all->candidate[i]))
            best = fmax(best, all->candidate[i].score);
    for (int64_t i = 0; i < all->count; i++) {
        const candidate *c = &all->candidate[i];
        bool in =
            is_dictionary(c) || !all->dictionaries || (judged && c->score > best + FLAT_MARGIN);
        weight[i] = in ? 1.0 : 0.0;
        c->trial->why = in ? "refused: far below the best"
                           : "refused: it ignores the solos, so it would have to score 0.5 dB more";
        if (in && judged)
            most = fmax(most, c->score);
    }
    for (int64_t i = 0; i < all->count; i++) {
        if (judged && weight[i] > 0.0)
            weight[i] = exp((all->candidate[i].score - most) / SOFT);
        if (weight[i] < 1e-3) /* not worth its time */
            weight[i] = 0.0;
        sum += weight[i];
    }
    for (int64_t i = 0; i < all->count; i++)
        weight[i] /= sum;
}

/* The members in order of weight; the blend owns their models. */
static void fill_blend(comparison *all, double weight[CANDIDATES])
{
    tl_blend *b = all->on->blend;
    while (b->members < TL_MEMBERS_MAX) {
        int64_t best = 0;
        for (int64_t i = 1; i < all->count; i++)
            if (weight[i] > weight[best])
                best = i;
        tl_separator *model = all->candidate[best].model;
        if (!(weight[best] > 0.0) || model == NULL)
            break;
        b->weight[b->members] = all->candidate[best].trial->weight = weight[best];
        all->candidate[best].trial->why = stops(all) ? "kept, not judged: stopped before"
                                          : all->on->remix.count > 0
                                              ? "kept, by its score"
                                              : "kept: nothing can be remixed here";
        model->info.score = all->candidate[best].score;
        b->member[b->members++] = model;
        all->candidate[best].model = NULL;
        weight[best] = 0.0;
    }
    tl_course_describe(all->on);
}

/* The agreement of the dictionaries, or of the flat candidates if there are no dictionaries. */
static tlnmf_error listen(comparison *all)
{
    enum { MOST = 6 };
    const tl_separator *member[MOST];
    int64_t members = 0;
    for (int64_t i = 0; i < all->count && members < MOST; i++)
        if (is_dictionary(&all->candidate[i]) == all->dictionaries)
            member[members++] = all->candidate[i].model;
    tl_verdict *verdict = &all->on->blend->verdict;
    verdict->coverage = all->notes.sounding > 0.0 ? all->notes.heard / all->notes.sounding : 1.0;
    return tl_course_listen(all->on, member, members);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* STFT: Tukey and sine windows at twice the usual frame, sine at four times; as far as the options
 * leave that open. */
static void represent(comparison *all)
{
    const tl_learn_options *opt = all->on->opt;
    bool lengths = opt->any_length != 0, windows = opt->any_window != 0;
    tl_window first = (tl_window)opt->frames.window;
    all->rep[all->reps++] = (representation){0, first};
    if (windows && first != TL_WINDOW_SINE)
        all->rep[all->reps++] = (representation){0, TL_WINDOW_SINE};
    if (lengths)
        all->rep[all->reps++] = (representation){1, windows ? TL_WINDOW_SINE : first};
}

static tlnmf_error try_all(comparison *all)
{
    double rate = all->on->opt->rate, weight[CANDIDATES] = {0.0};
    represent(all);
    TRY(tl_remix_create(all->on->ctx, all->on->sound, &all->on->schedule,
                        (int64_t)(SHORTEST * rate), (int64_t)(LONGEST * rate), &all->on->remix));
    all->on->remix.updater = all->on->opt->updater;
    TRY(create_studies(all));
    for (int i = 0; i < all->reps; i++)
        add_candidates(all, &all->study[i]);
    TRY(take_kept(all));
    TRY(for_all(all, begin));
    all->decided = true;
    TRY(for_all(all, complete));
    drop_untried(all);
    if (!stops(all))
        TRY(listen(all));
    choose(all, weight);
    fill_blend(all, weight);
    tl_verdict *verdict = &all->on->blend->verdict;
    if (stops(all))
        tl_verdict_unknown(all->on->opt->sources, verdict);
    else
        tl_verdict_expect(all->on->opt->sources, all->on->blend->info.score, verdict);
    return TLNMF_OK;
}

tlnmf_error tl_learn_guided(tl_course *course)
{
    comparison all = {.on = course, .reporting = PTHREAD_MUTEX_INITIALIZER};
    tlnmf_error error = try_all(&all);
    for (int64_t i = 0; i < all.count; i++) {
        tl_dictionary_free(&all.candidate[i].solos);
        tl_separator_free(all.candidate[i].model);
    }
    for (int i = 0; i < all.reps; i++)
        tl_study_free(&all.study[i]);
    tl_notes_free(&all.notes);
    pthread_mutex_destroy(&all.reporting);
    return error;
}
