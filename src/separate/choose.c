/* Which candidates to try, and the call that learns from a recording. */
#include "separate/learn.h"

#include <math.h>
#include <omp.h>

/* ---- the plan -------------------------------------------------------------------------------- */

/* What the options leave open. */
typedef struct plan {
    tlnmf_window window[2];
    tlnmf_basis fixed[2], learnt[2];
    int windows, fixed_count, learnt_count;
    int64_t P_low, P_high;
    tlnmf_method method; /* TL or JD, of what is learnt */
    bool fixes, learns;
} plan;

static plan make_plan(const tl_learner *l)
{
    const tlnmf_separate_options *opt = l->opt;
    bool judged = l->remix.count > 0, open = opt->basis == TLNMF_BASIS_AUTO;
    plan p = {.window = {(tlnmf_window)opt->frames.window, TLNMF_WINDOW_SINE},
              .fixed = {TLNMF_BASIS_STFT, TLNMF_BASIS_DCT},
              .learnt = {TLNMF_BASIS_DCT, TLNMF_BASIS_DFT},
              .windows = 1,
              .fixed_count = judged && open ? 2 : 1,
              .learnt_count = judged && open ? 2 : 1,
              .P_low = tl_max(1, opt->per_source),
              .P_high = tl_max(judged && opt->per_source == 0 ? TL_MOST_PER_SOURCE : 1,
                               opt->per_source),
              .method = opt->method == TLNMF_METHOD_JD ? TLNMF_METHOD_JD : TLNMF_METHOD_TL,
              .learns = opt->method != TLNMF_METHOD_NMF,
              .fixes = opt->method == TLNMF_METHOD_NMF ||
                       (opt->method == TLNMF_METHOD_AUTO && judged)};
    if (!open) {
        p.fixed[0] = (tlnmf_basis)opt->basis;
        p.learnt[0] = opt->basis == TLNMF_BASIS_DCT ? TLNMF_BASIS_DCT : TLNMF_BASIS_DFT;
    }
    if (opt->any_window && p.window[0] != TLNMF_WINDOW_SINE) {
        if (judged)
            p.windows = 2;
        else if (!p.learns) /* leakage matters where the transform is fixed */
            p.window[0] = TLNMF_WINDOW_SINE;
    }
    return p;
}

static tlnmf_error try_fixed(tl_learner *l, const plan *p)
{
    for (int w = 0; w < p->windows; w++)
        for (int b = 0; b < p->fixed_count; b++)
            for (int64_t P = p->P_low; P <= p->P_high; P++)
                TRY(tl_try(l, (tl_recipe){p->window[w], p->fixed[b], TLNMF_METHOD_NMF, P}));
    return TLNMF_OK;
}

/* From each transform with the fewest components a source; then, from the better of them, with as
 * many as served the fixed transforms best, or with all numbers of them if none was tried. */
static tlnmf_error try_learnt(tl_learner *l, const plan *p)
{
    int64_t P_fixed = p->fixes ? l->best->info.per_source : 0;
    double most = -INFINITY;
    int better = 0;
    for (int b = 0; b < p->learnt_count; b++) {
        TRY(tl_try(l, (tl_recipe){p->window[0], p->learnt[b], p->method, p->P_low}));
        if (l->last_score > most) {
            most = l->last_score;
            better = b;
        }
    }
    for (int64_t P = p->P_low + 1; P <= p->P_high; P++)
        if (P_fixed == 0 || P == P_fixed)
            TRY(tl_try(l, (tl_recipe){p->window[0], p->learnt[better], p->method, P}));
    return TLNMF_OK;
}

static tlnmf_error try_all(tl_learner *l)
{
    plan p = make_plan(l);
    int64_t P = p.P_high - p.P_low + 1;
    l->planned = (p.fixes ? P * p.windows * p.fixed_count : 0) +
                 (p.learns ? p.learnt_count + (p.fixes ? tl_min(1, P - 1) : P - 1) : 0);
    if (p.fixes)
        TRY(try_fixed(l, &p));
    return p.learns ? try_learnt(l, &p) : TLNMF_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

static tlnmf_error check_options(tlnmf_ctx *ctx, const tlnmf_separate_options *opt, bool guided)
{
    const struct {
        const char *name;
        int64_t value, low, high;
    } ranges[] = {{"k", opt->sources, 1, TLNMF_SOURCES_MAX},
                  {"per-source", opt->per_source, 0, TLNMF_PER_SOURCE_MAX},
                  {"release", opt->release, 0, (int64_t)1 << 40},
                  {"learn-columns", opt->learn_frames, 1, 1000000},
                  {"band", opt->band, 0, (int64_t)1 << 20},
                  {"J", opt->J, 1, 1000000},
                  {"starts", opt->starts, 1, 1000000},
                  {"threads", opt->threads, 0, 4096},
                  {"method", opt->method, TLNMF_METHOD_TL, TLNMF_METHOD_AUTO},
                  {"basis", opt->basis, TLNMF_BASIS_AUTO, TLNMF_BASIS_STFT}};
    if (opt->struct_size != sizeof *opt)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "the options are from another version: use tlnmf_separate_init");
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
    return tlnmf_frames_check(ctx, &opt->frames);
}

/* So many components need as many frames to be told apart at all. */
static tlnmf_error check_rank(tlnmf_ctx *ctx, const tl_scene *scene,
                              const tlnmf_separate_options *opt)
{
    int64_t K = opt->sources * tl_max(1, opt->per_source);
    if (K > scene->L)
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "%lld components cannot be told apart in %lld frames: the sound is too "
                       "short, or the frames are too long",
                       (long long)K, (long long)scene->L);
    return TLNMF_OK;
}

static tlnmf_error learn_scene(tlnmf_ctx *ctx, const tl_scene *scene,
                               const tlnmf_separate_options *opt, tlnmf_callback callback,
                               void *user, tlnmf_separator **out)
{
    tl_learner l = {.ctx = ctx,
                 .opt = opt,
                 .scene = scene,
                 .callback = callback,
                 .user = user,
                 .M = opt->frames.M,
                 .L = scene->L,
                 .C = scene->sound->channels,
                 .hooks = ctx->hooks,
                 .framing = {.hooks = ctx->hooks}};
    TRY(check_rank(ctx, scene, opt));
    TRY(tl_remix_create(ctx, scene, opt->sources, opt->release, &l.remix));
    tlnmf_error error = tl_learner_create(&l);
    if (error == TLNMF_OK)
        error = try_all(&l);
    tl_learner_free(&l);
    tl_remix_free(&l.remix);
    if (error == TLNMF_OK) {
        l.best->info.candidates = l.candidates;
        l.best->info.outcome = l.stopped ? TLNMF_CANCELLED : TLNMF_ITERATIONS;
        *out = l.best;
    } else {
        tlnmf_separator_free(l.best);
    }
    return error;
}

tlnmf_error tlnmf_separator_learn(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tlnmf_span *spans,
                                  int64_t span_count, const tlnmf_separate_options *opt,
                                  tlnmf_callback callback, void *user, tlnmf_separator **out)
{
    *out = NULL;
    TRY(check_options(ctx, opt, spans != NULL));
    TRY(tl_sound_check(ctx, sound));
    TRY(tl_spans_check(ctx, spans, span_count, opt->sources));
    tl_scene scene;
    TRY(tl_scene_create(ctx, sound, spans, span_count, opt, &scene));
    int threads = opt->threads > 0 ? (int)opt->threads : omp_get_max_threads();
    tlnmf_error error = TLNMF_OK;
#pragma omp parallel num_threads(1) /* a region of its own: the caller's settings stay */
    {
        omp_set_num_threads(threads);
        error = learn_scene(ctx, &scene, opt, callback, user, out);
    }
    tl_scene_free(&scene);
    return error;
}
