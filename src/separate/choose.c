/* Which candidates to try, what they are worth, and which one is kept. */
#include "separate/keep.h"
#include "separate/learn.h"

#include <math.h>
#include <stdio.h>

/* The most components a source that are tried where the options leave it open. */
enum { PER_SOURCE_MOST = 3 };

/* Passages for remixes, in frames: a shorter one has too little between its edges, and beyond
 * LONGEST a judgement only takes longer. */
enum { SHORTEST = 4, LONGEST = 64 };

/* What the options leave open. */
typedef struct plan {
    tl_window window[2];
    tl_basis fixed[2], learnt[2];
    int windows, fixed_count, learnt_count;
    int lengths; /* of frames: 2 if twice as long ones are tried, too */
    int64_t per_source_low, per_source_high;
    tl_method method;   /* TL or JD, of what is learnt */
    bool fixes, learns; /* whether fixed and learnt transforms are tried */
} plan;

typedef struct choice {
    tlnmf_ctx *ctx;
    const tl_sound *sound;
    tl_schedule schedule;
    const tl_separate_options *opt;
    tl_watch *watch;
    plan plan;
    tl_scene scene[2]; /* frames as long as asked for, and twice as long */
    tl_learner learner[2];
    tl_remix remix;    /* made from scene[0], judges both lengths */
    tl_candidate best; /* its model is missing while candidates are taken that were kept */
    int64_t best_number;
    tl_trial spare[2], *best_trial;
    int64_t tried, planned; /* candidates */
} choice;

/* ---- one candidate --------------------------------------------------------------------------- */

/* Keeps the better of the candidate and the best so far, and frees the model of the other. */
static void keep_better(choice *c, const tl_candidate *candidate, tl_trial *trial)
{
    bool better = c->tried == 0 || candidate->score > c->best.score;
    tl_trial *worse = better ? c->best_trial : trial;
    tl_separator_free(better ? c->best.model : candidate->model);
    tl_keep_drop(c->watch->keep, better ? c->best_number : c->tried);
    if (worse != NULL) {
        worse->why = isnan(candidate->score) ? "refused: nothing can be remixed to judge it"
                                             : "refused: below the best on remixes";
        worse->weight = 0.0;
    }
    if (!better)
        return;
    c->best = *candidate;
    c->best_number = c->tried;
    c->best_trial = trial;
    trial->weight = 1.0;
    trial->why = isnan(candidate->score) ? "kept: the first, as nothing can be remixed"
                                         : "kept: the best on remixes";
}

static tl_trial *announce(choice *c, const tl_candidate *candidate, double C)
{
    static const char *const bases[] = {"auto", "DCT", "DFT", "STFT"};
    const tl_recipe *r = &candidate->recipe;
    tl_trial *trial = tl_trials_next(c->watch, &c->spare[c->best_trial == c->spare ? 1 : 0]);
    trial->score = candidate->score;
    snprintf(trial->what, sizeof trial->what, "%s %s, %s window, frames of %lld, %lld a source",
             r->method == TL_METHOD_NMF ? "fixed" : "learnt from", bases[r->basis],
             tl_window_name(r->window), (long long)c->scene[r->longer].layout.M,
             (long long)r->per_source);
    if (r->method != TL_METHOD_NMF) {
        size_t used = strlen(trial->what);
        snprintf(trial->what + used, sizeof trial->what - used, ", %lld iterations",
                 (long long)r->J);
    }
    tl_log(c->ctx, TLNMF_LOG_INFO, "%s: %.2f dB on remixes, C = %.8g", trial->what,
           candidate->score, C);
    return trial;
}

/* Learns a candidate and judges it; or takes one that was finished before. */
static tlnmf_error try_recipe(choice *c, const tl_recipe *recipe, tl_candidate *candidate,
                              double *C)
{
    tl_kept kept;
    bool found;
    TRY(tl_keep_take(c->watch->keep, c->tried, &kept, &found));
    if (found) {
        *candidate = (tl_candidate){*recipe, kept.model, kept.score};
        *C = kept.C;
        return TLNMF_OK;
    }
    TRY(tl_learn(&c->learner[recipe->longer], recipe, candidate));
    tlnmf_error error = tl_remix_judge(c->ctx, &c->remix, candidate->model, &candidate->score);
    if (error != TLNMF_OK) {
        tl_separator_free(candidate->model);
        return error;
    }
    *C = candidate->model->info.C;
    if (!c->watch->stopped) /* what was cut short is not kept */
        tl_keep_put(c->watch->keep, c->tried, candidate->model, candidate->score);
    return TLNMF_OK;
}

/* Tries a recipe and keeps the candidate if it is the best. Its score is NaN if there are no
 * remixes, or if the caller has said stop: then nothing more is tried. */
static tlnmf_error consider(choice *c, tl_recipe recipe, double *score)
{
    tl_candidate candidate;
    *score = NAN;
    if (c->watch->stopped && c->best.model != NULL)
        return TLNMF_OK;
    double C;
    TRY(try_recipe(c, &recipe, &candidate, &C));
    *score = candidate.score;
    keep_better(c, &candidate, announce(c, &candidate, C));
    tl_watch_report(c->watch, TL_STAGE_CHOOSE, ++c->tried, c->planned, C);
    return TLNMF_OK;
}

/* ---- which candidates ------------------------------------------------------------------------ */

static plan make_plan(const tl_separate_options *opt, bool judged)
{
    bool open = opt->basis == TL_BASIS_AUTO, automatic = opt->method == TL_METHOD_AUTO;
    int64_t least = tl_max(1, opt->per_source);
    plan p = {.window = {(tl_window)opt->frames.window, TL_WINDOW_SINE},
              .fixed = {TL_BASIS_STFT, TL_BASIS_DCT},
              .learnt = {TL_BASIS_DCT, TL_BASIS_DFT},
              .windows = 1,
              .fixed_count = judged && open ? 2 : 1,
              .learnt_count = judged && open ? 2 : 1,
              .lengths = judged && automatic && opt->any_length ? 2 : 1,
              .per_source_low = least,
              .per_source_high = judged && opt->per_source == 0 ? PER_SOURCE_MOST : least,
              .method = opt->method == TL_METHOD_JD ? TL_METHOD_JD : TL_METHOD_TL,
              .learns = opt->method != TL_METHOD_NMF,
              .fixes = opt->method == TL_METHOD_NMF || (automatic && judged)};
    if (!open) {
        p.fixed[0] = (tl_basis)opt->basis;
        p.learnt[0] = opt->basis == TL_BASIS_DCT ? TL_BASIS_DCT : TL_BASIS_DFT;
    }
    if (opt->any_window && p.window[0] != TL_WINDOW_SINE) {
        if (judged)
            p.windows = 2;
        else if (!p.learns) /* leakage matters where the transform is fixed */
            p.window[0] = TL_WINDOW_SINE;
    }
    return p;
}

/* How many candidates try_fixed and try_learnt will try, at most. */
static int64_t count_planned(const plan *p)
{
    int64_t more = p->per_source_high - p->per_source_low, count = 0;
    if (p->fixes)
        count += more + (int64_t)p->lengths * p->windows * p->fixed_count;
    if (p->learns)
        count += p->learnt_count + p->lengths - 1 + (p->fixes ? tl_min(1, more) : more);
    return count;
}

/* Every length, window and transform with the fewest components a source; then more of them with
 * the best of these. */
static tlnmf_error try_fixed(choice *c)
{
    const plan *p = &c->plan;
    double score;
    for (int longer = 0; longer < p->lengths; longer++)
        for (int w = 0; w < p->windows; w++)
            for (int b = 0; b < p->fixed_count; b++)
                TRY(consider(c,
                             (tl_recipe){.longer = longer != 0,
                                         .window = p->window[w],
                                         .basis = p->fixed[b],
                                         .method = TL_METHOD_NMF,
                                         .per_source = p->per_source_low},
                             &score));
    tl_recipe recipe = c->best.recipe;
    while (++recipe.per_source <= p->per_source_high)
        TRY(consider(c, recipe, &score));
    return TLNMF_OK;
}

/* From each transform with the fewest components a source; at twice the length from the better of
 * them, if that length served the fixed transforms best. Then from the best of these with as many
 * components as served the fixed transforms best, or with every number if none was fixed. */
static tlnmf_error try_learnt(choice *c)
{
    const plan *p = &c->plan;
    tl_recipe fixed = c->best.recipe; /* used if p->fixes */
    tl_recipe recipe = {.window = p->window[0],
                        .method = p->method,
                        .per_source = p->per_source_low,
                        .J = c->opt->J};
    tl_basis better = p->learnt[0];
    double most = -INFINITY, score;
    for (int b = 0; b < p->learnt_count; b++) {
        recipe.basis = p->learnt[b];
        TRY(consider(c, recipe, &score));
        if (score > most) {
            most = score;
            better = recipe.basis;
        }
    }
    recipe.basis = better;
    if (p->fixes && fixed.longer) {
        recipe.longer = true;
        TRY(consider(c, recipe, &score));
        recipe.longer = score > most;
    }
    while (++recipe.per_source <= p->per_source_high)
        if (!p->fixes || recipe.per_source == fixed.per_source)
            TRY(consider(c, recipe, &score));
    return TLNMF_OK;
}

/* When to stop: half and twice the iterations of the best, if that is a learnt one. */
static tlnmf_error try_iterations(choice *c)
{
    tl_recipe recipe = c->best.recipe;
    int64_t J = recipe.J;
    double score;
    if (recipe.method == TL_METHOD_NMF || c->remix.count == 0 || !c->opt->any_J)
        return TLNMF_OK;
    c->planned += 2;
    recipe.J = tl_max(1, J / 2);
    TRY(consider(c, recipe, &score));
    recipe.J = 2 * J;
    return consider(c, recipe, &score);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Components can be told apart in as many frames at least. */
static tlnmf_error check_rank(const choice *c)
{
    int64_t K = c->opt->sources * tl_max(1, c->opt->per_source), frames = c->scene[0].frames;
    if (K > frames)
        return tl_fail(c->ctx, TLNMF_ERR_DATA,
                       "%lld components cannot be told apart in %lld frames: the sound is too "
                       "short, or the frames are too long",
                       (long long)K, (long long)frames);
    return TLNMF_OK;
}

static tlnmf_error create_scene(choice *c, bool longer)
{
    tl_frames layout = c->opt->frames;
    layout.M *= longer ? 2 : 1;
    layout.hop *= longer ? 2 : 1;
    return tl_scene_create(c->ctx, c->sound, &c->schedule, &layout, c->opt->learn_frames,
                           &c->scene[longer]);
}

static tlnmf_error create_learner(choice *c, bool longer)
{
    return tl_learner_create(c->ctx, &c->scene[longer], c->opt, c->plan.per_source_high, c->watch,
                             &c->learner[longer]);
}

/* The plan, and scenes and learners for the frame lengths it has. */
static tlnmf_error prepare(choice *c)
{
    TRY(create_scene(c, false));
    TRY(check_rank(c));
    TRY(tl_remix_create(c->ctx, c->sound, &c->schedule, SHORTEST * c->opt->frames.M,
                        LONGEST * c->opt->frames.M, &c->remix));
    c->remix.updater = c->opt->updater;
    c->plan = make_plan(c->opt, c->remix.count > 0);
    TRY(create_learner(c, false));
    if (c->plan.lengths == 1)
        return TLNMF_OK;
    TRY(create_scene(c, true));
    return create_learner(c, true);
}

static tlnmf_error try_all(void *job)
{
    choice *c = job;
    TRY(prepare(c));
    c->planned = count_planned(&c->plan);
    if (c->plan.fixes)
        TRY(try_fixed(c));
    if (c->plan.learns)
        TRY(try_learnt(c));
    return try_iterations(c);
}

/* The best candidate's model, with what only the choice knows. */
static void finish(const choice *c, tl_separator *model)
{
    model->info.score = c->best.score;
    model->info.remixes = c->remix.count;
    model->info.candidates = c->tried;
    model->info.outcome = c->watch->stopped ? TLNMF_CANCELLED : TLNMF_ITERATIONS;
}

tlnmf_error tl_separator_learn(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *spans,
                               int64_t span_count, const tl_separate_options *options,
                               tl_watch *watch, tl_separator **out)
{
    choice c = {.ctx = ctx,
                .sound = sound,
                .schedule = {spans, span_count, options->release, options->sources},
                .opt = options,
                .watch = watch,
                .best_number = -1};
    *out = NULL;
    TRY(tl_separate_check(ctx, options, spans != NULL));
    TRY(tl_sound_check(ctx, sound));
    TRY(tl_schedule_check(ctx, &c.schedule));
    tlnmf_error error = tl_separate_on_threads(options->threads, try_all, &c);
    if (error == TLNMF_OK && c.best.model == NULL)
        error = tl_fail(ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
    *out = c.best.model;
    if (error == TLNMF_OK && *out != NULL) {
        finish(&c, *out);
    } else {
        tl_separator_free(*out);
        *out = NULL;
    }
    for (int i = 0; i < 2; i++) {
        tl_learner_free(&c.learner[i]);
        tl_scene_free(&c.scene[i]);
    }
    tl_remix_free(&c.remix);
    return error;
}
