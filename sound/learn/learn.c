/* Learns one candidate: NMF at a fixed transform. If the recipe asks for it, a few iterations of
 * TL-NMF or JD then rotate the transform. */
#include "sound/learn/learn.h"
#include "api/api.h"
#include "base/rng.h"
#include "sound/render/frame_block.h"

#include <math.h>

/* UPDATES: of W and H from each start. UPDATES_AFTER: after a transform has been learnt.
 * BAND_LEAST: the least number of rows that are learnt. The figures in
 * docs/measurements/separation.md are with these and TL_BAND_MOST. */
enum { UPDATES = 60, UPDATES_AFTER = 10, BAND_LEAST = 32 };
static const double OUTSIDE = 5e-3; /* the largest fraction of the energy outside the band */

/* A candidate that is being learnt. */
typedef struct fit {
    tl_learner *l;
    const tl_recipe *recipe;
    tl_frame_block *block;
    int64_t K, band; /* band: rows learnt; 0: none */
    double *Phi, *W; /* of the candidate's model: M x M, M x K */
    double C;
} fit;

/* ---- analysis -------------------------------------------------------------------------------- */

/* Sets the window and Phi0, unless the last candidate had the same ones. */
static tlnmf_error set_basis(tl_learner *l, const tl_recipe *r)
{
    if (l->analysed && l->window == r->window && l->basis == r->basis)
        return TLNMF_OK;
    tl_frames layout = l->scene->layout;
    layout.window = (int32_t)r->window;
    tl_framing_free(&l->framing);
    l->analysed = false;
    TRY(tl_framing_create(l->ctx, &layout, &l->framing));
    if (r->basis == TL_BASIS_DCT)
        tl_dct(l->M, l->Phi0);
    else
        tl_dft(l->M, l->Phi0);
    l->window = r->window;
    l->basis = r->basis;
    return TLNMF_OK;
}

/* Computes V at Phi0, and the floor from the mean of V. */
static tlnmf_error analyse(tl_learner *l, tl_frame_block *block)
{
    if (l->analysed)
        return TLNMF_OK;
    block->Phi = l->Phi0;
    tl_frame_block_analyse_scene(block, l->scene, l->M, l->V, NULL);
    double sum = 0.0;
    for (int64_t i = 0; i < l->M * l->frames; i++)
        sum += l->V[i];
    l->mean_power = sum / ((double)l->M * (double)l->frames);
    TRY(tl_learn_floor(l->ctx, l->opt, l->mean_power, &l->eps));
    l->analysed = true;
    return TLNMF_OK;
}

/* ---- NMF at a fixed transform ---------------------------------------------------------------- */

/* Draws W and H. With labels W is nearly flat, because the zeros of H distinguish the sources.
 * Without labels only the random W does. */
static void draw_start(const fit *f, uint64_t start, double *W, double *H)
{
    const tl_learner *l = f->l;
    int64_t M = l->M, K = f->K, per_source = f->recipe->per_source;
    bool blind = l->scene->schedule.spans == NULL;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, l->opt->set.seed, start);
    for (int64_t i = 0; i < M * K; i++)
        W[i] = 1.0 + (blind ? fabs(tl_rng_normal(&rng)) : 0.2 * tl_rng_uniform(&rng));
    if (f->recipe->basis == TL_BASIS_STFT) /* (25): rows of cosine and sine stay equal */
        for (int64_t m = 1; m + 1 < M; m += 2)
            tl_copy(W + (m + 1) * K, W + m * K, K);
    for (int64_t k = 0; k < K; k++)
        for (int64_t i = 0; i < l->frames; i++) {
            double h = 1.0 + (blind ? fabs(tl_rng_normal(&rng)) : 0.1 * tl_rng_uniform(&rng));
            bool active = l->scene->active[i] >> (k / per_source) & 1;
            H[k * l->frames + i] = active ? h * l->mean_power / (double)K : 0.0;
        }
    tl_normalise(M, l->frames, K, W, H);
}

/* C of (2) at the current V. */
static double objective(tl_learner *l, int64_t K, const double *W, const double *H)
{
    int64_t count = l->M * l->frames;
    tl_weights(l->M, l->frames, K, W, H, l->eps, l->U);
    return tl_sum_product(count, l->V, l->eps, l->U) - tl_sum_log(count, l->U, 0.0);
}

static tlnmf_error update(tl_learner *l, int64_t K, int updates, double *W, double *H)
{
    tl_updater *updater = l->opt->updater;
    if (updater != NULL)
        return updater->ops->run(l->ctx, updater,
                                 &(tl_updates){.rows = l->M,
                                               .N = l->frames,
                                               .K = K,
                                               .eps = l->eps,
                                               .V = l->V,
                                               .W = W,
                                               .H = H,
                                               .moves_W = true,
                                               .count = updates});
    l->mu.K = K;
    tl_mu_begin(&l->mu, l->V, l->V_turned);
    for (int i = 0; i < updates && !tl_poll(l->ctx->monitor); i++)
        tl_mu_update(&l->mu, l->eps, W, H);
    return TLNMF_OK;
}

/* Fits W and H from several starts and keeps those with the lowest C. With labels all starts are
 * nearly equal: one is enough. */
static tlnmf_error fit_factors(fit *f)
{
    tl_learner *l = f->l;
    int64_t starts = l->scene->schedule.spans == NULL ? l->opt->set.starts : 1;
    f->C = INFINITY;
    for (int64_t s = 0; s < starts && !(s > 0 && tl_poll(l->ctx->monitor)); s++) {
        draw_start(f, (uint64_t)s, l->W_start, l->H_start);
        TRY(update(l, f->K, UPDATES, l->W_start, l->H_start));
        double C = objective(l, f->K, l->W_start, l->H_start);
        if (C < f->C) {
            f->C = C;
            tl_copy(f->W, l->W_start, l->M * f->K);
            tl_copy(l->H, l->H_start, f->K * l->frames);
        }
    }
    return TLNMF_OK;
}

/* ---- learning the transform ------------------------------------------------------------------ */

/* The number of rows to learn: the fewest low-frequency rows that leave at most OUTSIDE of the
 * energy to the others. */
static int64_t choose_band(const tl_learner *l)
{
    if (l->opt->band > 0) /* at the frame length of the options: longer frames have more rows */
        return tl_min(tl_max(1, l->opt->band * l->M / l->opt->frames.M), l->M);
    double total = 0.0, outside = 0.0;
    for (int64_t i = 0; i < l->M * l->frames; i++)
        total += l->V[i];
    int64_t m = l->M;
    for (; m > BAND_LEAST; m--) {
        for (int64_t i = 0; i < l->frames; i++)
            outside += l->V[(m - 1) * l->frames + i];
        if (outside > OUTSIDE * total)
            break;
    }
    return tl_min(tl_min(m, l->M), TL_BAND_MOST);
}

/* Runs a few iterations of the paper's algorithm on X (columns x band x frames), the coefficients
 * of the band. The start is Phi = I and the current W and H. */
static tlnmf_error descend(const fit *f, const double *X, const double *identity,
                           tl_result **result)
{
    const tl_learner *l = f->l;
    tl_settings settings;
    tl_settings_defaults(TL_TASK_FIT, &settings);
    settings.k = f->K;
    settings.method = (int32_t)f->recipe->method;
    settings.solver = TL_ALGORITHM_PAPER;
    settings.J = f->recipe->J;
    settings.eps = l->eps;
    settings.threads = l->opt->set.threads;
    if (l->opt->updater != NULL)
        settings.device = l->opt->set.device;
    tl_start start = {0};
    start.Phi = identity;
    start.W = f->W; /* M x K in C order: its first rows are those of the band */
    start.H = l->H;
    tlnmf_data *data;
    *result = NULL;
    /* Compression is not interrupted: a candidate that has begun is finished. */
    tlnmf_ctx whole = *l->ctx;
    whole.monitor = NULL;
    tlnmf_error error = tlnmf_data_from_realisations(
        &whole, X, (int64_t[]){f->block->per_frame, f->band, l->frames}, &data);
    if (error != TLNMF_OK)
        return tl_fail_as(l->ctx, error, &whole);
    error = tl_fit(l->ctx, data, &settings, &start, result);
    tlnmf_data_free(data);
    return error;
}

/* Replaces the first `band` rows of W, and H, by the learnt ones. The columns of W_band sum to 1;
 * they are scaled to the sum that these rows of W had. */
static void replace_rows(const fit *f, const double *W_band, const double *H_band)
{
    tl_learner *l = f->l;
    int64_t K = f->K;
    for (int64_t k = 0; k < K; k++) {
        double weight = 0.0;
        for (int64_t m = 0; m < f->band; m++)
            weight += f->W[m * K + k];
        for (int64_t m = 0; m < f->band; m++)
            f->W[m * K + k] = W_band[m * K + k] * weight;
        for (int64_t i = 0; weight > 0.0 && i < l->frames; i++)
            l->H[k * l->frames + i] = H_band[k * l->frames + i] / weight;
    }
    tl_normalise(l->M, l->frames, K, f->W, l->H);
}

/* Sets Phi = diag(Q, I) Phi0, (26), and computes V, W, H and C at this Phi. */
static tlnmf_error adopt(fit *f, const tl_result *result)
{
    tl_learner *l = f->l;
    int64_t M = l->M, band = f->band;
    tl_gemm(TL_PLAIN, TL_PLAIN, band, M, band, 1.0, result->Phi, band, l->Phi0, M, 0.0, f->Phi, M);
    replace_rows(f, result->W, result->H);
    f->block->Phi = f->Phi;
    /* Phi and V change in the rows of the band only */
    tl_frame_block_analyse_scene(f->block, l->scene, band, l->V, NULL);
    l->analysed = false; /* V is no longer that of Phi0 */
    TRY(update(l, f->K, UPDATES_AFTER, f->W, l->H));
    f->C = objective(l, f->K, f->W, l->H);
    return TLNMF_OK;
}

/* Rotates the rows of the band so that W H fits better. */
static tlnmf_error learn_transform(fit *f)
{
    tl_learner *l = f->l;
    f->band = choose_band(l);
    double *X, *identity;
    void *memory;
    tl_slot table[] = {TL_SLOT(X, f->block->per_frame * f->band * l->frames),
                       TL_SLOT(identity, f->band * f->band)};
    TRY(TL_ARENA(l->ctx, "the frames to learn from", table, &memory));
    f->block->Phi = l->Phi0;
    tl_frame_block_analyse_scene(f->block, l->scene, f->band, l->V, X);
    tl_identity(f->band, identity);
    tl_result *result = NULL;
    tlnmf_error error = descend(f, X, identity, &result);
    if (error == TLNMF_OK && result != NULL)
        error = adopt(f, result);
    tl_result_free(result);
    tl_release(&l->ctx->hooks, memory);
    return error;
}

/* ---- a candidate ----------------------------------------------------------------------------- */

static tlnmf_error fit_model(fit *f)
{
    tl_learner *l = f->l;
    f->block->paired = f->recipe->basis == TL_BASIS_STFT;
    TRY(analyse(l, f->block));
    tl_copy(f->Phi, l->Phi0, l->M * l->M);
    TRY(fit_factors(f));
    if (f->recipe->method == TL_METHOD_NMF)
        return TLNMF_OK;
    f->band = 1; /* if it is stopped now: Phi = Phi0 */
    return tl_poll(l->ctx->monitor) ? TLNMF_OK : learn_transform(f);
}

static tl_separator_info describe(const fit *f)
{
    const tl_learner *l = f->l;
    const tl_recipe *r = f->recipe;
    return (tl_separator_info){.frames = l->framing.f,
                               .sources = l->opt->sources,
                               .per_source = r->per_source,
                               .method = (int32_t)r->method,
                               .basis = (int32_t)r->basis,
                               .eps = l->eps,
                               .mean_power = l->mean_power,
                               .score = NAN,
                               .C = f->C,
                               .learn_frames = l->frames,
                               .band = f->band,
                               .J = r->method == TL_METHOD_NMF ? 0 : r->J};
}

tlnmf_error tl_learn(tl_learner *l, const tl_recipe *recipe, tl_candidate *out)
{
    int64_t K = l->opt->sources * recipe->per_source;
    tl_frame_block block;
    *out = (tl_candidate){.recipe = *recipe, .score = NAN};
    TRY(set_basis(l, recipe));
    TRY(tl_frame_block_create(l->ctx, &l->framing, l->channels, 0, false, &block));
    tl_separator *model;
    tlnmf_error error = tl_separator_new(l->ctx, &(tl_separator_shape){.M = l->M, .K = K}, &model);
    if (error == TLNMF_OK) {
        fit f = {
            .l = l, .recipe = recipe, .block = &block, .K = K, .Phi = model->Phi, .W = model->W};
        error = fit_model(&f);
        model->info = describe(&f);
        for (int64_t k = 0; k < K; k++)
            model->owner[k] = k / recipe->per_source;
    }
    tl_frame_block_free(&block);
    if (error == TLNMF_OK)
        out->model = model;
    else
        tl_separator_free(model);
    return error;
}

/* ---- the learner ----------------------------------------------------------------------------- */

tlnmf_error tl_learner_create(tlnmf_ctx *ctx, const tl_scene *scene, const tl_learn_options *opt,
                              int64_t per_source, tl_learner *l)
{
    int64_t M = scene->layout.M, frames = scene->frames, K = opt->sources * per_source;
    *l = (tl_learner){.ctx = ctx,
                      .opt = opt,
                      .scene = scene,
                      .M = M,
                      .frames = frames,
                      .channels = scene->sound->channels,
                      .mu = {.gamma = 1.0},
                      .framing = {.hooks = ctx->hooks},
                      .hooks = ctx->hooks};
    tl_slot table[7 + TL_MU_SLOTS] = {TL_SLOT(l->Phi0, M * M),          TL_SLOT(l->V, M * frames),
                                      TL_SLOT(l->V_turned, frames * M), TL_SLOT(l->U, M * frames),
                                      TL_SLOT(l->H, K * frames),        TL_SLOT(l->W_start, M * K),
                                      TL_SLOT(l->H_start, K * frames)};
    tl_mu_slots(&l->mu, M, frames, K, table + 7);
    TRY(tl_check_size(ctx, "M", M));
    TRY(tl_check_size(ctx, "the frames to learn from", frames));
    return TL_ARENA(ctx, "learning", table, &l->memory);
}

void tl_learner_free(tl_learner *l)
{
    tl_framing_free(&l->framing);
    tl_release(&l->hooks, l->memory);
    l->memory = NULL;
}
