/* Learning by candidates: tries transforms, windows and frame lengths, and keeps the best. */
#include "sound/learn/course.h"
#include "sound/learn/keep.h"
#include "sound/learn/learn.h"

#include <math.h>
#include <stdio.h>

/* Length of passages for remixes, in frames. Shorter ones are mostly edges; longer ones only take
 * more time. */
enum { SHORTEST = 4, LONGEST = 64 };

/* The candidates that the options allow. */
typedef struct trial_plan {
    tl_window window[2];
    tl_basis fixed[2], learnt[2];
    int windows, bases; /* how many of these are tried */
    int lengths; /* number of frame lengths: 2 if frames of twice the length are also tried */
    int64_t per_source_low, per_source_high;
    tl_method method;   /* TL or JD, of learnt transforms */
    bool fixes, learns; /* whether fixed and learnt transforms are tried */
} trial_plan;

typedef struct choice {
    tl_course *on; /* scene[0]: frames of the length asked for; scene[1]: twice as long */
    trial_plan plan;
    tl_learner learner[2];
    tl_candidate
        best; /* has no model if it comes from a checkpoint with a better, later candidate */
    int64_t best_number;
    int64_t planned;    /* number of candidates */
    int64_t first_unit; /* number of the first candidate in the checkpoint */
} choice;

/* ---- one candidate --------------------------------------------------------------------------- */

static bool stops(const choice *c)
{
    return tl_poll(c->on->ctx->monitor);
}

/* Keeps the better of the candidate, which is the last trial, and the best so far. Frees the model
 * of the other. */
static void choose_better(choice *c, const tl_candidate *candidate)
{
    tl_trial *trial = c->on->blend->trial;
    int64_t number = c->on->blend->trials - 1;
    bool better = number == 0 || candidate->score > c->best.score;
    int64_t worse = better ? c->best_number : number;
    tl_separator_free(better ? c->best.model : candidate->model);
    if (worse >= 0) {
        tl_keep_drop(c->on->units, c->first_unit + worse);
        trial[worse].why = isnan(candidate->score) ? "refused: nothing can be remixed to judge it"
                                                   : "refused: below the best on remixes";
        trial[worse].weight = 0.0;
    }
    if (!better)
        return;
    c->best = *candidate;
    c->best_number = number;
    trial[number].weight = 1.0;
    trial[number].why = isnan(candidate->score) ? "kept: the first, as nothing can be remixed"
                                                : "kept: the best on remixes";
}

/* Adds the candidate to the trials. */
static void announce(choice *c, const tl_candidate *candidate, double C)
{
    static const char *const bases[] = {"auto", "DCT", "DFT", "STFT"};
    const tl_recipe *r = &candidate->recipe;
    tl_trial *trial = &c->on->blend->trial[c->on->blend->trials++];
    trial->score = candidate->score;
    snprintf(trial->what, sizeof trial->what, "%s %s, %s window, frames of %lld, %lld per source",
             r->method == TL_METHOD_NMF ? "fixed" : "learnt from", bases[r->basis],
             tl_window_name(r->window), (long long)c->on->scene[r->longer].layout.M,
             (long long)r->per_source);
    if (r->method != TL_METHOD_NMF) {
        size_t used = strlen(trial->what);
        snprintf(trial->what + used, sizeof trial->what - used, ", %lld iterations",
                 (long long)r->J);
    }
    tl_log(c->on->ctx, TLNMF_LOG_INFO, "%s: %.2f dB on remixes, C = %.8g", trial->what,
           candidate->score, C);
}

/* Learns a candidate and judges it; or takes one that was finished before. */
static tlnmf_error try_recipe(choice *c, const tl_recipe *recipe, tl_candidate *candidate,
                              double *C)
{
    tl_separator_info info;
    tl_separator *model;
    bool found;
    int64_t unit = c->first_unit + c->on->blend->trials;
    TRY(tl_keep_take(c->on->units, unit, &info, &model, &found));
    if (found) {
        *candidate = (tl_candidate){*recipe, model, info.score};
        *C = info.C;
        return TLNMF_OK;
    }
    TRY(tl_learn(&c->learner[recipe->longer], recipe, candidate));
    tlnmf_error error =
        tl_remix_judge(c->on->ctx, &c->on->remix, candidate->model, &candidate->score);
    if (error != TLNMF_OK) {
        tl_separator_free(candidate->model);
        return error;
    }
    *C = candidate->model->info.C;
    if (!stops(c)) /* an interrupted candidate is not kept */
        tl_keep_put(c->on->units, unit, candidate->model, candidate->score);
    return TLNMF_OK;
}

/* Tries a recipe and keeps the candidate if it is the best. Its score is NaN if there are no
 * remixes. After a stop it is also NaN, and nothing more is tried. */
static tlnmf_error consider(choice *c, tl_recipe recipe, double *score)
{
    tl_candidate candidate;
    *score = NAN;
    if (stops(c) && c->best.model != NULL)
        return TLNMF_OK;
    double C;
    TRY(try_recipe(c, &recipe, &candidate, &C));
    *score = candidate.score;
    announce(c, &candidate, C);
    choose_better(c, &candidate);
    tl_report_units(c->on->ctx->monitor, "choose", c->on->blend->trials, c->planned, C);
    return TLNMF_OK;
}

/* ---- which candidates ------------------------------------------------------------------------ */

static trial_plan make_plan(const tl_learn_options *opt, bool judged)
{
    bool open = opt->set.basis == TL_BASIS_AUTO, automatic = opt->set.method == TL_METHOD_AUTO;
    int64_t least = tl_max(1, opt->set.per_source);
    trial_plan p = {.window = {(tl_window)opt->frames.window, TL_WINDOW_SINE},
                    .fixed = {TL_BASIS_STFT, TL_BASIS_DCT},
                    .learnt = {TL_BASIS_DCT, TL_BASIS_DFT},
                    .windows = 1,
                    .bases = judged && open ? 2 : 1,
                    .lengths = judged && automatic && opt->any_length ? 2 : 1,
                    .per_source_low = least,
                    .per_source_high =
                        judged && opt->set.per_source == 0 ? TL_PER_SOURCE_TRIED : least,
                    .method = opt->set.method == TL_METHOD_JD ? TL_METHOD_JD : TL_METHOD_TL,
                    .learns = opt->set.method != TL_METHOD_NMF,
                    .fixes = opt->set.method == TL_METHOD_NMF || (automatic && judged)};
    if (!open) {
        p.fixed[0] = (tl_basis)opt->set.basis;
        p.learnt[0] = opt->set.basis == TL_BASIS_DCT ? TL_BASIS_DCT : TL_BASIS_DFT;
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
static int64_t count_planned(const trial_plan *p)
{
    int64_t more = p->per_source_high - p->per_source_low, count = 0;
    if (p->fixes)
        count += more + (int64_t)p->lengths * p->windows * p->bases;
    if (p->learns)
        count += p->bases + p->lengths - 1 + (p->fixes ? tl_min(1, more) : more);
    return count;
}

/* Tries every length, window and transform with the fewest components per source; then more
 * components with the best of these. */
static tlnmf_error try_fixed(choice *c)
{
    const trial_plan *p = &c->plan;
    double score;
    for (int longer = 0; longer < p->lengths; longer++)
        for (int w = 0; w < p->windows; w++)
            for (int b = 0; b < p->bases; b++)
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

/* Learns from each transform with the fewest components per source; then, if long frames were best
 * for fixed transforms, at twice the length from the better transform. Then from the best of these
 * with the number of components that was best for fixed transforms, or with every number if no
 * fixed transform was tried. */
static tlnmf_error try_learnt(choice *c)
{
    const trial_plan *p = &c->plan;
    tl_recipe fixed = c->best.recipe; /* used if p->fixes */
    tl_recipe recipe = {.window = p->window[0],
                        .method = p->method,
                        .per_source = p->per_source_low,
                        .J = c->on->opt->J};
    tl_basis better = p->learnt[0];
    double most = -INFINITY, score;
    for (int b = 0; b < p->bases; b++) {
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

/* Tries half and twice the iterations if the best candidate has a learnt transform. */
static tlnmf_error try_iterations(choice *c)
{
    tl_recipe recipe = c->best.recipe;
    int64_t J = recipe.J;
    double score;
    if (recipe.method == TL_METHOD_NMF || c->on->remix.count == 0 || !c->on->opt->any_J)
        return TLNMF_OK;
    c->planned += 2;
    recipe.J = tl_max(1, J / 2);
    TRY(consider(c, recipe, &score));
    recipe.J = 2 * J;
    return consider(c, recipe, &score);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* K components need at least K frames. */
static tlnmf_error check_rank(const choice *c)
{
    int64_t K = c->on->opt->sources * tl_max(1, c->on->opt->set.per_source),
            frames = c->on->scene[0].frames;
    if (K > frames)
        return tl_fail(c->on->ctx, TLNMF_ERR_DATA,
                       "%lld components need at least as many frames, but there are %lld: "
                       "use a longer sound, shorter frames or fewer components",
                       (long long)K, (long long)frames);
    return TLNMF_OK;
}

static tlnmf_error create_learner(choice *c, bool longer)
{
    return tl_learner_create(c->on->ctx, &c->on->scene[longer], c->on->opt, c->plan.per_source_high,
                             &c->learner[longer]);
}

/* The plan, and scenes and learners for the frame lengths it has. */
static tlnmf_error prepare(choice *c)
{
    TRY(tl_course_scene(c->on, 0, 1));
    TRY(check_rank(c));
    TRY(tl_remix_create(c->on->ctx, c->on->sound, &c->on->schedule, SHORTEST * c->on->opt->frames.M,
                        LONGEST * c->on->opt->frames.M, &c->on->remix));
    c->on->remix.updater = c->on->opt->updater;
    c->plan = make_plan(c->on->opt, c->on->remix.count > 0);
    TRY(create_learner(c, false));
    if (c->plan.lengths == 1)
        return TLNMF_OK;
    TRY(tl_course_scene(c->on, 1, 2));
    return create_learner(c, true);
}

static tlnmf_error try_all(choice *c)
{
    TRY(prepare(c));
    c->planned = count_planned(&c->plan);
    if (c->plan.fixes)
        TRY(try_fixed(c));
    if (c->plan.learns)
        TRY(try_learnt(c));
    return try_iterations(c);
}

/* The best candidate as a blend of one. With a single member there is no agreement to measure, so
 * the expected SI-SDR stays unknown. */
static tlnmf_error fill_blend(const choice *c)
{
    tl_blend *blend = c->on->blend;
    blend->members = 1;
    blend->member[0] = c->best.model;
    blend->weight[0] = 1.0;
    c->best.model->info.score = c->best.score;
    tl_course_describe(c->on);
    const tl_separator *const member[] = {c->best.model};
    return tl_course_listen(c->on, member, 1);
}

tlnmf_error tl_learn_candidates(tl_course *course)
{
    bool blind = course->schedule.spans == NULL; /* then candidates depend on the starts */
    choice c = {.on = course,
                .best_number = -1,
                .first_unit = blind ? course->opt->set.starts * TL_TRIALS_MAX : 0};
    tlnmf_error error = try_all(&c);
    if (error == TLNMF_OK && c.best.model == NULL)
        error = tl_fail(course->ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
    for (int i = 0; i < 2; i++)
        tl_learner_free(&c.learner[i]);
    if (error == TLNMF_OK)
        return fill_blend(&c);
    tl_separator_free(c.best.model);
    return error;
}
