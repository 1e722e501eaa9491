/* Which candidates to try, and the call that learns from a recording. */
#include "separate/learn.h"

#include <math.h>
#include <omp.h>

/* What the options leave open. */
typedef struct plan {
    tl_window window[2];
    tl_basis fixed[2], learnt[2];
    int windows, fixed_count, learnt_count;
    int lengths; /* of frames: 2 if twice as long ones are tried, too */
    int64_t P_low, P_high;
    tl_method method; /* TL or JD, of what is learnt */
    bool fixes, learns;
} plan;

static plan make_plan(const tl_separate_options *opt, bool judged)
{
    bool open = opt->basis == TL_BASIS_AUTO, automatic = opt->method == TL_METHOD_AUTO;
    plan p = {.window = {(tl_window)opt->frames.window, TL_WINDOW_SINE},
              .fixed = {TL_BASIS_STFT, TL_BASIS_DCT},
              .learnt = {TL_BASIS_DCT, TL_BASIS_DFT},
              .windows = 1,
              .fixed_count = judged && open ? 2 : 1,
              .learnt_count = judged && open ? 2 : 1,
              .lengths = judged && automatic && opt->any_length ? 2 : 1,
              .P_low = tl_max(1, opt->per_source),
              .P_high =
                  tl_max(judged && opt->per_source == 0 ? TL_MOST_PER_SOURCE : 1, opt->per_source),
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

/* ---- the candidates ----------------------------------------------------------------------------
 */

/* Every window and transform with the fewest components a source, then more of them in the best. */
static tlnmf_error try_fixed(tl_choice *choice, tl_learner *l, const plan *p)
{
    for (int length = 0; length < p->lengths; length++)
        for (int w = 0; w < p->windows; w++)
            for (int b = 0; b < p->fixed_count; b++)
                TRY(tl_try(&l[length],
                           (tl_recipe){p->window[w], p->fixed[b], TL_METHOD_NMF, p->P_low, 0}));
    tl_separator_info best = choice->best->info;
    int length = best.frames.M == l[0].M ? 0 : 1;
    for (int64_t P = p->P_low + 1; P <= p->P_high; P++)
        TRY(tl_try(&l[length], (tl_recipe){(tl_window)best.frames.window,
                                           (tl_basis)best.basis, TL_METHOD_NMF, P, 0}));
    return TLNMF_OK;
}

/* From each transform with the fewest components a source; at twice the length from the better of
 * them, if that served the fixed transforms best; then in the best of these with as many components
 * as served the fixed transforms best, or with all numbers of them if none was tried. */
static tlnmf_error try_learnt(tl_choice *choice, tl_learner *l, const plan *p)
{
    int64_t P_fixed = p->fixes ? choice->best->info.per_source : 0;
    bool longer = p->fixes && choice->best->info.frames.M != l[0].M;
    double most = -INFINITY;
    int better = 0, length = 0;
    for (int b = 0; b < p->learnt_count; b++) {
        TRY(tl_try(&l[0], (tl_recipe){p->window[0], p->learnt[b], p->method, p->P_low, 0}));
        if (choice->last_score > most) {
            most = choice->last_score;
            better = b;
        }
    }
    if (longer) {
        TRY(tl_try(&l[1], (tl_recipe){p->window[0], p->learnt[better], p->method, p->P_low, 0}));
        length = choice->last_score > most ? 1 : 0;
    }
    for (int64_t P = p->P_low + 1; P <= p->P_high; P++)
        if (P_fixed == 0 || P == P_fixed)
            TRY(tl_try(&l[length], (tl_recipe){p->window[0], p->learnt[better], p->method, P, 0}));
    return TLNMF_OK;
}

/* When to stop: half and twice the iterations of the best, if it is a learnt one. */
static tlnmf_error try_iterations(tl_choice *choice, tl_learner *l)
{
    tl_separator_info best = choice->best->info;
    if (best.method == TL_METHOD_NMF || best.remixes == 0 || !choice->opt->any_J)
        return TLNMF_OK;
    tl_recipe recipe = {(tl_window)best.frames.window, (tl_basis)best.basis,
                        (tl_method)best.method, best.per_source, tl_max(1, best.J / 2)};
    int length = best.frames.M == l[0].M ? 0 : 1;
    choice->planned += 2;
    TRY(tl_try(&l[length], recipe));
    recipe.J = 2 * best.J;
    return tl_try(&l[length], recipe);
}

static tlnmf_error try_all(tl_choice *choice, tl_learner *l, const plan *p)
{
    int64_t more = p->P_high - p->P_low, pairs = p->windows;
    pairs *= p->fixed_count;
    if (p->fixes)
        choice->planned += more + p->lengths * pairs;
    if (p->learns)
        choice->planned += p->learnt_count + p->lengths - 1 + (p->fixes ? tl_min(1, more) : more);
    if (p->fixes)
        TRY(try_fixed(choice, l, p));
    if (p->learns)
        TRY(try_learnt(choice, l, p));
    return try_iterations(choice, l);
}

/* ---- the call ----------------------------------------------------------------------------------
 */

static tlnmf_error check_options(tlnmf_ctx *ctx, const tl_separate_options *opt, bool guided)
{
    const struct {
        const char *name;
        int64_t value, low, high;
    } ranges[] = {{"k", opt->sources, 1, TL_SOURCES_MAX},
                  {"per-source", opt->per_source, 0, TL_PER_SOURCE_MAX},
                  {"release", opt->release, 0, (int64_t)1 << 40},
                  {"learn-columns", opt->learn_frames, 1, 1000000},
                  {"band", opt->band, 0, (int64_t)1 << 20},
                  {"J", opt->J, 1, 1000000},
                  {"starts", opt->starts, 1, 1000000},
                  {"threads", opt->threads, 0, 4096},
                  {"method", opt->method, TL_METHOD_TL, TL_METHOD_AUTO},
                  {"basis", opt->basis, TL_BASIS_AUTO, TL_BASIS_STFT}};
    if (opt->struct_size != sizeof *opt)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "the options are from another version: use tl_separate_init");
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].value < ranges[i].low || ranges[i].value > ranges[i].high)
            return tl_fail(ctx, TLNMF_ERR_OPTION, "%s = %lld is outside [%lld, %lld]",
                           ranges[i].name, (long long)ranges[i].value, (long long)ranges[i].low,
                           (long long)ranges[i].high);
    if (!(opt->eps_rel >= 1e-30 && opt->eps_rel <= 1e6))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "eps-rel = %g is outside [1e-30, 1e+06]",
                       opt->eps_rel);
    if (!guided && opt->per_source > 1)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "per-source = %lld: without labels nothing says which components belong "
                       "together",
                       (long long)opt->per_source);
    return tl_frames_check(ctx, &opt->frames);
}

/* So many components need as many frames to be told apart at all. */
static tlnmf_error check_rank(tlnmf_ctx *ctx, const tl_scene *scene, const tl_separate_options *opt)
{
    int64_t K = opt->sources * tl_max(1, opt->per_source);
    if (K > scene->L)
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "%lld components cannot be told apart in %lld frames: the sound is too "
                       "short, or the frames are too long",
                       (long long)K, (long long)scene->L);
    return TLNMF_OK;
}

/* Learners for the frame length asked for and, if it is open, for twice that; the remixes are made
 * from the first and judge both. */
static tlnmf_error learn_all(tl_choice *choice, const tl_sound *sound, const tl_span *spans,
                             int64_t span_count, tl_learner l[2])
{
    const tl_separate_options *opt = choice->opt;
    tl_frames frames = opt->frames;
    TRY(tl_learner_create(choice, sound, spans, span_count, &frames, &l[0]));
    TRY(check_rank(choice->ctx, &l[0].scene, opt));
    TRY(tl_remix_create(choice->ctx, &l[0].scene, opt->sources, &choice->remix));
    plan p = make_plan(opt, choice->remix.count > 0);
    if (p.lengths == 2) {
        frames.M *= 2;
        frames.hop *= 2;
        TRY(tl_learner_create(choice, sound, spans, span_count, &frames, &l[1]));
    }
    return try_all(choice, l, &p);
}

tlnmf_error tl_separator_learn(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *spans,
                                  int64_t span_count, const tl_separate_options *opt,
                                  tl_callback callback, void *user, tl_separator **out)
{
    *out = NULL;
    TRY(check_options(ctx, opt, spans != NULL));
    TRY(tl_sound_check(ctx, sound));
    TRY(tl_spans_check(ctx, spans, span_count, opt->sources));
    tl_choice choice = {
        .ctx = ctx, .opt = opt, .callback = callback, .user = user, .remix = {.hooks = ctx->hooks}};
    tl_learner learner[2] = {{.hooks = ctx->hooks}, {.hooks = ctx->hooks}};
    int threads = opt->threads > 0 ? (int)opt->threads : omp_get_max_threads();
    tlnmf_error error = TLNMF_OK;
#pragma omp parallel num_threads(1) /* a region of its own: the caller's settings stay */
    {
        omp_set_num_threads(threads);
        error = learn_all(&choice, sound, spans, span_count, learner);
    }
    for (int i = 0; i < 2; i++)
        tl_learner_free(&learner[i]);
    tl_remix_free(&choice.remix);
    if (error == TLNMF_OK) {
        choice.best->info.candidates = choice.candidates;
        choice.best->info.outcome = choice.stopped ? TLNMF_CANCELLED : TLNMF_ITERATIONS;
        *out = choice.best;
    } else {
        tl_separator_free(choice.best);
    }
    return error;
}
