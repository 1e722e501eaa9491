/* Learning a candidate: NMF at a fixed transform, then perhaps a short descent that turns it. */
#include "separate/learn.h"
#include "api.h"
#include "base/rng.h"

#include <math.h>

/* UPDATES of W and H from each start, and after a transform has been learnt. The band that is
 * learnt has at most BAND_MOST rows, for its cost grows with their square, and at least BAND_LEAST.
 * The figures in docs/separation.md are with these. */
enum { UPDATES = 60, UPDATES_AFTER = 10, BAND_MOST = 400, BAND_LEAST = 32 };
static const double OUTSIDE = 5e-3; /* the part of the energy that may lie outside the band */

/* A candidate in the making. */
typedef struct fit {
    tl_learner *l;
    const tl_recipe *recipe;
    tl_block *block;
    int64_t K, band; /* band: rows learnt; 0: none */
    double *Phi, *W; /* of the candidate's model: M x M, M x K */
    double C;
} fit;

/* ---- analysis -------------------------------------------------------------------------------- */

/* The coefficients of a block to X[column][row][frame], `rows` of them, from frame `first` on. */
static void collect(const tl_learner *l, const tl_block *block, int64_t rows, int64_t first,
                    double *X)
{
    int64_t count = block->count, per_frame = block->per_frame;
    for (int64_t m = 0; m < rows; m++)
        for (int64_t i = 0; i < count; i++)
            for (int64_t t = 0; t < per_frame; t++)
                X[(t * rows + m) * l->frames + first + i] =
                    block->X[(m * count + i) * per_frame + t];
}

/* Passes the scene through the block: the first `rows` rows of V at Phi, and of the coefficients if
 * X (per_frame x rows x frames) is not NULL. The other rows of V stay. */
static void analyse_rows(tl_learner *l, tl_block *block, const double *Phi, int64_t rows, double *X)
{
    block->Phi = Phi;
    for (int64_t first = 0; first < l->frames; first += block->capacity) {
        int64_t count = tl_min(block->capacity, l->frames - first);
        tl_block_begin(block, count);
        tl_block_take(block, l->scene, first);
        tl_block_analyse(block, rows);
        for (int64_t m = 0; m < rows; m++)
            tl_copy(l->V + m * l->frames + first, block->V + m * count, count);
        if (X != NULL)
            collect(l, block, rows, first, X);
    }
}

/* The window and Phi0, unless they are those of the last candidate. */
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

/* V at Phi0, and the floor that follows from it. */
static tlnmf_error analyse(tl_learner *l, tl_block *block)
{
    if (l->analysed)
        return TLNMF_OK;
    analyse_rows(l, block, l->Phi0, l->M, NULL);
    double sum = 0.0;
    for (int64_t i = 0; i < l->M * l->frames; i++)
        sum += l->V[i];
    l->mean_power = sum / ((double)l->M * (double)l->frames);
    l->eps = l->opt->eps_rel * l->mean_power;
    if (!(l->eps >= 1e-290 && l->eps <= 1e290)) /* so that 1 / eps is finite */
        return tl_fail(l->ctx, TLNMF_ERR_DATA,
                       "eps-rel = %g of a mean power of %g is no usable floor", l->opt->eps_rel,
                       l->mean_power);
    l->analysed = true;
    return TLNMF_OK;
}

/* ---- NMF at a transform that stays ----------------------------------------------------------- */

/* W is nearly flat where spans tell the sources apart, and rough where nothing else does. */
static void draw_start(const fit *f, uint64_t start, double *W, double *H)
{
    const tl_learner *l = f->l;
    int64_t M = l->M, K = f->K, per_source = f->recipe->per_source;
    bool blind = l->scene->schedule.spans == NULL;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, l->opt->seed, start);
    for (int64_t i = 0; i < M * K; i++)
        W[i] = 1.0 + (blind ? fabs(tl_rng_normal(&rng)) : 0.2 * tl_rng_uniform(&rng));
    if (f->recipe->basis == TL_BASIS_STFT) /* (25): cosine and sine start, and stay, alike */
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

/* C of (2) at the V of now. */
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
    for (int i = 0; i < updates; i++)
        tl_mu_update(&l->mu, l->eps, W, H);
    return TLNMF_OK;
}

/* W, H and C from the best of the starts. Guided starts are nearly alike, so that one is enough. */
static tlnmf_error fit_factors(fit *f)
{
    tl_learner *l = f->l;
    int64_t starts = l->scene->schedule.spans == NULL ? l->opt->starts : 1;
    f->C = INFINITY;
    for (int64_t s = 0; s < starts && !(s > 0 && l->watch->stopped); s++) {
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

/* Rows are in order of frequency: the fewest from the first on that leave little energy outside. */
static int64_t choose_band(const tl_learner *l)
{
    if (l->opt->band > 0) /* of frames as long as the options say: longer ones have more rows */
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
    return tl_min(tl_min(m, l->M), BAND_MOST);
}

/* A few iterations of the paper's algorithm from Phi = I and the W and H of now, on the
 * coefficients X (columns x band x frames) of the band. */
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
    settings.threads = l->opt->threads;
    if (l->opt->updater != NULL)
        settings.device = l->opt->device;
    tl_start start = {0};
    start.Phi = identity;
    start.W = f->W; /* its first rows: W is M x K in C order */
    start.H = l->H;
    tlnmf_data *data;
    *result = NULL;
    TRY(tlnmf_data_from_realisations(l->ctx, X,
                                     (int64_t[]){f->block->per_frame, f->band, l->frames}, &data));
    tlnmf_error error = tl_fit(l->ctx, data, &settings, &start, tl_watch_relay, l->watch, result);
    tlnmf_data_free(data);
    return error;
}

/* The first `band` rows of W, and H, become those that were learnt, whose columns of W sum to 1;
 * each keeps its weight beside the other rows of W. */
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

/* Phi = diag(Q, I) Phi0, (26); then V, W, H and C at this Phi. */
static tlnmf_error adopt(fit *f, const tl_result *result)
{
    tl_learner *l = f->l;
    int64_t M = l->M, band = f->band;
    tl_gemm(TL_PLAIN, TL_PLAIN, band, M, band, 1.0, (result)->Phi, band, l->Phi0, M, 0.0, f->Phi,
            M);
    replace_rows(f, (result)->W, (result)->H);
    analyse_rows(l, f->block, f->Phi, band, NULL); /* the other rows stay */
    l->analysed = false;                           /* V is no longer that of Phi0 */
    TRY(update(l, f->K, UPDATES_AFTER, f->W, l->H));
    f->C = objective(l, f->K, f->W, l->H);
    return TLNMF_OK;
}

/* Turns the rows that hold the energy so that W H fits better. */
static tlnmf_error learn_transform(fit *f)
{
    tl_learner *l = f->l;
    f->band = choose_band(l);
    double *X, *identity;
    void *memory;
    tl_slot table[] = {TL_SLOT(X, f->block->per_frame * f->band * l->frames),
                       TL_SLOT(identity, f->band * f->band)};
    TRY(TL_ARENA(l->ctx, "the frames to learn from", table, &memory));
    analyse_rows(l, f->block, l->Phi0, f->band, X);
    tl_identity(f->band, identity);
    tl_result *result = NULL;
    tlnmf_error error = descend(f, X, identity, &result);
    if (error == TLNMF_OK)
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
    return f->recipe->method == TL_METHOD_NMF ? TLNMF_OK : learn_transform(f);
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
    tl_block block;
    *out = (tl_candidate){.recipe = *recipe, .score = NAN};
    TRY(set_basis(l, recipe));
    TRY(tl_block_create(l->ctx, &l->framing, l->channels, 0, false, &block));
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
    tl_block_free(&block);
    if (error == TLNMF_OK)
        out->model = model;
    else
        tl_separator_free(model);
    return error;
}

/* ---- the learner ----------------------------------------------------------------------------- */

tlnmf_error tl_learner_create(tlnmf_ctx *ctx, const tl_scene *scene, const tl_separate_options *opt,
                              int64_t per_source, tl_watch *watch, tl_learner *l)
{
    int64_t M = scene->layout.M, frames = scene->frames, K = opt->sources * per_source;
    *l = (tl_learner){.ctx = ctx,
                      .opt = opt,
                      .watch = watch,
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
