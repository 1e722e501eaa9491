/* Candidates from several representations, what they are worth, and what is blended of them. */
#include "base/reuse.h"
#include "separate/keep.h"

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

/* A candidate, and what it is learnt from. */
typedef struct candidate {
    const tl_study *study;
    kind kind;
    int64_t columns; /* that begin flat: of each source, or of each that is never alone */
    tl_dictionary solos;
    tl_separator *model; /* NULL: not tried */
    double score;        /* on remixes; NaN: none */
    tl_trial spare, *trial;
    atomic_bool judged;
    tlnmf_ctx ctx; /* with a message of its own */
    tlnmf_error error;
} candidate;

typedef struct pool {
    tlnmf_ctx *ctx;   /* with memory that is given back before the call ends */
    tl_hooks lasting; /* memory of what is returned */
    const tl_sound *sound;
    tl_schedule schedule;
    const tl_separate_options *opt;
    tl_watch *watch;
    representation rep[REPRESENTATIONS];
    int reps;
    tl_scene scene[LENGTHS];
    tl_study study[REPRESENTATIONS];
    tlnmf_ctx study_ctx[REPRESENTATIONS];
    tlnmf_error study_error[REPRESENTATIONS];
    tl_remix remix;
    tl_notes notes;
    bool decided;
    candidate candidate[CANDIDATES];
    int64_t count;
    tl_blend *blend;
} pool;

/* Candidates with dictionaries from solos take part; others only if they are better. */
static bool is_dictionary(const candidate *c)
{
    return c->kind != FLATS;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static const char *const KIND_NAMES[] = {"flat", "solos", "solos and notes"};

/* Deciding on the notes takes as long as FIRST candidates, listening to all of them at the end as
 * long as one. */
static void report(const pool *p)
{
    enum { FIRST = 4 };
    double best = NAN;
    int64_t done = 0;
    for (int64_t i = 0; i < p->count; i++)
        if (p->candidate[i].judged) {
            best = fmax(best, p->candidate[i].score);
            done++;
        }
    double parts = (double)(done + (p->decided ? FIRST - 1 : 0));
    tl_watch_relay(&(tl_progress){.stage = TL_STAGE_CHOOSE,
                                  .complete = true,
                                  .starts = 1,
                                  .iteration = done,
                                  .iterations = p->count,
                                  .C = NAN,
                                  .L = NAN,
                                  .I = NAN,
                                  .step = NAN,
                                  .score = best,
                                  .done = fmin(1.0, parts / (double)(p->count + FIRST))},
                   p->watch);
}

/* Makes a model of the dictionary and judges it. */
static tlnmf_error judge(const pool *p, const tl_study *s, const tl_dictionary *d, candidate *c)
{
    tl_hooks short_lived = c->ctx.hooks;
    c->ctx.hooks = p->lasting;
    tlnmf_error error = tl_study_separator(s, d, c->kind == NOTES ? &p->notes : NULL, &c->model);
    c->ctx.hooks = short_lived;
    if (error != TLNMF_OK)
        return error;
    if (!p->watch->stopped) /* what was cut short is not judged */
        TRY(tl_remix_judge(s->ctx, &p->remix, c->model, &c->score));
    if (!p->watch->stopped)
        tl_keep_put(p->watch->keep, c - p->candidate, c->model, c->score);
    c->judged = true;
    return TLNMF_OK;
}

static tlnmf_error try_flat(const pool *p, const tl_study *s, candidate *c)
{
    tl_dictionary d;
    TRY(tl_dictionary_flat(s, c->columns, &d));
    tlnmf_error error = judge(p, s, &d, c);
    tl_dictionary_free(&d);
    return error;
}

/* All that can be done before the notes are known: flat candidates, and the solos of others. The
 * first of those decides on the notes. */
static tlnmf_error begin(pool *p, const tl_study *s, candidate *c)
{
    if (c->judged) /* in the run that this one goes on from */
        return TLNMF_OK;
    if (c->kind == FLATS)
        return try_flat(p, s, c);
    TRY(tl_dictionary_solos(s, c->columns, &c->solos));
    for (const candidate *before = p->candidate; before < c; before++)
        if (is_dictionary(before))
            return TLNMF_OK;
    if (p->decided)
        return TLNMF_OK;
    TRY(tl_notes_decide(s, &c->solos, &p->notes));
    if (!p->watch->stopped)
        tl_keep_put_notes(p->watch->keep, &p->notes);
    return TLNMF_OK;
}

/* The dictionary of the solos with notes. */
static tlnmf_error complete(pool *p, const tl_study *s, candidate *c)
{
    tl_dictionary with;
    if (c->solos.memory == NULL)
        return TLNMF_OK;
    TRY(tl_notes_apply(s, &c->solos, &p->notes, &with));
    c->kind = p->notes.count > 0 ? NOTES : PLAIN;
    tlnmf_error error = judge(p, s, &with, c);
    tl_dictionary_free(&with);
    return error;
}

/* ---- several at a time ----------------------------------------------------------------------- */

typedef tlnmf_error (*step)(pool *p, const tl_study *s, candidate *c);

typedef struct turn {
    pool *pool;
    step step;
} turn;

/* When the caller has said stop, only the first candidate is made: there must be something to
 * return. */
static void try_candidate(int64_t i, int64_t last, void *arg)
{
    const turn *r = arg;
    pool *p = r->pool;
    candidate *c = &p->candidate[i];
    (void)last;
    if (i > 0 && p->watch->stopped)
        return;
    tl_study study = *c->study;
    study.ctx = &c->ctx;
    bool before = c->judged;
    c->error = r->step(p, &study, c);
    if (tl_thread_index() == 0 && c->judged != before)
        report(p);
}

/* As many at a time as there is memory for while all listen at the end (tl_separate_memory). */
static tlnmf_error for_all(pool *p, step each)
{
    turn r = {.pool = p, .step = each};
    tl_share_among(TL_CANDIDATES_AT_ONCE, p->count, try_candidate, &r);
    for (int64_t i = 0; i < p->count; i++)
        if (p->candidate[i].error != TLNMF_OK) {
            memcpy(p->ctx->message, p->candidate[i].ctx.message, sizeof p->ctx->message);
            return p->candidate[i].error;
        }
    return TLNMF_OK;
}

static void add_candidate(pool *p, const tl_study *s, kind what, int64_t columns)
{
    candidate *c = &p->candidate[p->count++];
    *c = (candidate){.study = s, .kind = what, .columns = columns, .ctx = *p->ctx};
    c->score = NAN;
}

static void add_candidates(pool *p, const tl_study *s)
{
    bool any = false, all = true;
    for (int64_t r = 0; r < p->opt->sources; r++) {
        any = any || s->alone[r];
        all = all && s->alone[r];
    }
    for (int i = 0; any && i < (all ? 1 : 2); i++)
        add_candidate(p, s, PLAIN, HIDDEN[i]);
    for (int i = 0; i < 2; i++)
        add_candidate(p, s, FLATS, any ? FLAT[i] : FLAT_BLIND[i]);
}

/* The notes and candidates that were finished before. */
static tlnmf_error take_kept(pool *p)
{
    tl_kept kept;
    bool found;
    TRY(tl_keep_take_notes(p->watch->keep, &p->notes, &p->decided));
    for (int64_t i = 0; i < p->count; i++) {
        candidate *c = &p->candidate[i];
        if (is_dictionary(c) && !p->decided)
            continue;
        TRY(tl_keep_take(p->watch->keep, i, &kept, &found));
        if (found && kept.model == NULL)
            return tl_fail(p->ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
        if (!found)
            continue;
        c->model = kept.model;
        c->score = kept.score;
        c->judged = true;
        if (is_dictionary(c))
            c->kind = p->notes.count > 0 ? NOTES : PLAIN;
    }
    return TLNMF_OK;
}

static void note(const pool *p, candidate *c)
{
    c->trial = tl_trials_next(p->watch, &c->spare);
    c->trial->score = c->score;
    snprintf(c->trial->what, sizeof c->trial->what,
             "STFT, %s window, frames of %lld, %s, %lld columns",
             tl_window_name((tl_window)c->model->info.frames.window), (long long)c->model->M,
             KIND_NAMES[c->kind], (long long)c->model->K);
    tl_log(p->ctx, TLNMF_LOG_INFO, "%s: %.2f dB on remixes", c->trial->what, c->score);
}

/* Those that were tried, in their order. */
static void keep_tried(pool *p)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < p->count; i++) {
        candidate *c = &p->candidate[i];
        tl_dictionary_free(&c->solos);
        if (c->model == NULL)
            continue;
        p->candidate[kept] = *c;
        note(p, &p->candidate[kept++]);
    }
    p->count = kept;
}

/* ---- representations ------------------------------------------------------------------------- */

static tlnmf_error create_scene(pool *p, int length)
{
    tl_frames layout = p->opt->frames;
    int64_t times = p->opt->any_length ? 2 << length : 1;
    layout.M *= times;
    layout.hop *= times;
    return tl_scene_create(p->ctx, p->sound, &p->schedule, &layout, p->opt->learn_frames,
                           &p->scene[length]);
}

static void create_study(int64_t i, int64_t last, void *arg)
{
    pool *p = arg;
    const representation *rep = &p->rep[i];
    (void)last;
    p->study_ctx[i] = *p->ctx;
    p->study_error[i] = tl_study_create(&p->study_ctx[i], &p->scene[rep->length], p->opt,
                                        rep->window, &p->study[i]);
    p->study[i].watch = p->watch;
}

/* Reading is for the thread of the call, the rest for all. */
static tlnmf_error create_studies(pool *p)
{
    for (int i = 0; i < p->reps; i++)
        if (p->scene[p->rep[i].length].memory == NULL)
            TRY(create_scene(p, p->rep[i].length));
    tl_share(p->reps, 1, create_study, p);
    for (int i = 0; i < p->reps; i++)
        if (p->study_error[i] != TLNMF_OK) {
            memcpy(p->ctx->message, p->study_ctx[i].message, sizeof p->ctx->message);
            return p->study_error[i];
        }
    return TLNMF_OK;
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
    b->hooks = p->lasting;
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

static tlnmf_error create_blend(pool *p)
{
    tl_slot table[] = {TL_SLOT(p->blend, 1)};
    void *memory;
    tl_hooks short_lived = p->ctx->hooks;
    p->ctx->hooks = p->lasting;
    tlnmf_error error = TL_ARENA(p->ctx, "the blend", table, &memory);
    p->ctx->hooks = short_lived;
    return error;
}

static tlnmf_error try_all(void *self)
{
    pool *p = self;
    double rate = p->opt->rate, weight[CANDIDATES] = {0.0};
    represent(p);
    TRY(tl_remix_create(p->ctx, p->sound, &p->schedule, (int64_t)(SHORTEST * rate),
                        (int64_t)(LONGEST * rate), &p->remix));
    p->remix.updater = p->opt->updater;
    TRY(create_studies(p));
    for (int i = 0; i < p->reps; i++)
        add_candidates(p, &p->study[i]);
    TRY(take_kept(p));
    TRY(for_all(p, begin));
    p->decided = true;
    TRY(for_all(p, complete));
    keep_tried(p);
    TRY(create_blend(p));
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
    tl_reuse reuse;
    tlnmf_ctx own = *ctx;
    tl_reuse_begin(&reuse, &ctx->hooks);
    own.hooks = tl_reuse_hooks(&reuse);
    pool p = {.ctx = &own,
              .lasting = ctx->hooks,
              .sound = sound,
              .schedule = *schedule,
              .opt = options,
              .watch = watch};
    tlnmf_error error = tl_separate_on_threads(options->threads, try_all, &p);
    memcpy(ctx->message, own.message, sizeof ctx->message);
    for (int64_t i = 0; i < p.count; i++) {
        tl_dictionary_free(&p.candidate[i].solos);
        tl_separator_free(p.candidate[i].model);
    }
    for (int i = 0; i < p.reps; i++)
        tl_study_free(&p.study[i]);
    for (int i = 0; i < LENGTHS; i++)
        if (p.scene[i].memory != NULL)
            tl_scene_free(&p.scene[i]);
    tl_notes_free(&p.notes);
    tl_remix_free(&p.remix);
    tl_reuse_end(&reuse);
    if (error != TLNMF_OK)
        tl_release(&ctx->hooks, p.blend);
    *out = error == TLNMF_OK ? p.blend : NULL;
    return error;
}
