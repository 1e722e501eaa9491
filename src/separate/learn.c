/* One candidate: NMF at a fixed transform, then perhaps a short descent that turns it. */
#include "separate/learn.h"
#include "base/rng.h"

#include <math.h>

enum { UPDATES = 60, UPDATES_AFTER = 10, BAND_MOST = 400, BAND_LEAST = 32 };
/* The energy that may lie outside the rows that are learnt. */
static const double OUTSIDE = 5e-3;
/* Decibels that a candidate must gain to be preferred: learning over a fixed transform, each
 * component a source over one less, frames of twice the length, and other numbers of iterations
 * (docs/separation.md). */
static const double MARGIN_LEARNT = 0.7, MARGIN_COMPONENT = 0.2, MARGIN_LENGTH = 1.0,
                    MARGIN_ITERATIONS = 0.1;

/* ---- progress -------------------------------------------------------------------------------- */

static int relay(const tl_progress *progress, void *self)
{
    tl_choice *choice = self;
    if (choice->callback != NULL && choice->callback(progress, choice->user) != 0)
        choice->stopped = true;
    return choice->stopped;
}

static void report(tl_choice *choice, double C)
{
    relay(&(tl_progress){.struct_size = sizeof(tl_progress),
                         .stage = TL_STAGE_CHOOSE,
                         .complete = 1,
                         .starts = 1,
                         .iteration = choice->candidates,
                         .iterations = choice->planned,
                         .C = C,
                         .L = NAN,
                         .I = NAN,
                         .step = NAN},
          choice);
}

/* ---- analysis -------------------------------------------------------------------------------- */

/* Visits the scene in blocks: the first `rows` rows of X and V; V is collected, and X goes to
 * `X_rows` (S C x rows x L) if that is wanted. */
static void analyse_with(tl_learner *l, tl_engine *engine, const double *Phi, int64_t rows,
                         double *X_rows)
{
    engine->Phi = Phi;
    for (int64_t i0 = 0; i0 < l->L; i0 += engine->most) {
        int64_t count = tl_min(engine->most, l->L - i0), each = engine->each;
        for (int64_t i = 0; i < count; i++) {
            tl_stretch x = tl_scene_stretch(&l->scene, i0 + i);
            tl_engine_put(engine, &x, l->scene.n[i0 + i], i, count);
        }
        tl_engine_transform(engine, rows, count);
        for (int64_t m = 0; m < rows; m++)
            tl_copy(l->V + m * l->L + i0, engine->V + m * count, count);
        for (int64_t m = 0; X_rows != NULL && m < rows; m++)
            for (int64_t i = 0; i < count; i++)
                for (int64_t t = 0; t < each; t++)
                    X_rows[(t * rows + m) * l->L + i0 + i] = engine->X[(m * count + i) * each + t];
    }
}

/* The window and the transform, unless they are those of the last candidate. */
static tlnmf_error set_basis(tl_learner *l, const tl_recipe *r)
{
    if (l->analysed && l->window == r->window && l->basis == r->basis)
        return TLNMF_OK;
    tl_frames frames = l->scene.frames;
    frames.window = (int32_t)r->window;
    tl_framing_free(&l->framing);
    l->analysed = false;
    TRY(tl_framing_create(l->ctx, &frames, &l->framing));
    if (r->basis == TL_BASIS_DCT)
        tl_dct(l->M, l->Phi0);
    else
        tl_dft(l->M, l->Phi0);
    l->window = r->window;
    l->basis = r->basis;
    return TLNMF_OK;
}

static tlnmf_error analyse(tl_learner *l, const tl_recipe *r, tl_engine *engine)
{
    TRY(set_basis(l, r));
    engine->paired = r->basis == TL_BASIS_STFT;
    if (l->analysed)
        return TLNMF_OK;
    analyse_with(l, engine, l->Phi0, l->M, NULL);
    double sum = 0.0;
    for (int64_t i = 0; i < l->M * l->L; i++)
        sum += l->V[i];
    l->mean_power = sum / ((double)l->M * (double)l->L);
    l->eps = l->opt->eps_rel * l->mean_power;
    if (!(l->eps >= 1e-290 && l->eps <= 1e290))
        return tl_fail(l->ctx, TLNMF_ERR_DATA,
                       "eps-rel = %g of a mean power of %g is no usable floor", l->opt->eps_rel,
                       l->mean_power);
    l->analysed = true;
    return TLNMF_OK;
}

/* ---- NMF at a transform that stays ----------------------------------------------------------- */

static int64_t rank_of(const tl_learner *l, const tl_recipe *r)
{
    return l->opt->sources * r->per_source;
}

/* W is nearly flat where spans tell the sources apart, and rough where nothing else does. */
static void draw_start(tl_learner *l, const tl_recipe *r, uint64_t start, double *W, double *H)
{
    int64_t K = rank_of(l, r), P = r->per_source;
    bool blind = l->scene.spans == NULL;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, l->opt->seed, start);
    for (int64_t i = 0; i < l->M * K; i++)
        W[i] = 1.0 + (blind ? fabs(tl_rng_normal(&rng)) : 0.2 * tl_rng_uniform(&rng));
    if (r->basis == TL_BASIS_STFT) /* (25): cosine and sine start, and stay, alike */
        for (int64_t m = 1; m + 1 < l->M; m += 2)
            tl_copy(W + (m + 1) * K, W + m * K, K);
    for (int64_t k = 0; k < K; k++)
        for (int64_t i = 0; i < l->L; i++) {
            double h = 1.0 + (blind ? fabs(tl_rng_normal(&rng)) : 0.1 * tl_rng_uniform(&rng));
            bool active = l->scene.active[i] >> (k / P) & 1;
            H[k * l->L + i] = active ? h * l->mean_power / (double)K : 0.0;
        }
    tl_normalise(l->M, l->L, K, W, H);
}

/* (2) at the V of now. */
static double objective(const tl_learner *l, int64_t K, const double *W, const double *H, double *U)
{
    tl_weights(l->M, l->L, K, W, H, l->eps, U);
    int64_t count = l->M * l->L;
    return tl_sum_product(count, l->V, l->eps, U) - tl_sum_log(count, U, 0.0);
}

static void update(tl_learner *l, int64_t K, int updates, double *W, double *H)
{
    l->mu.K = K;
    tl_mu_begin(&l->mu, l->V, l->V_turned);
    for (int i = 0; i < updates; i++)
        tl_mu_update(&l->mu, l->eps, W, H);
}

/* W, H from the best of the starts; guided starts are all alike, so one is enough. */
static double fit_factors(tl_learner *l, const tl_recipe *r, double *U)
{
    int64_t K = rank_of(l, r), starts = l->scene.spans == NULL ? l->opt->starts : 1;
    double best = INFINITY;
    for (int64_t s = 0; s < starts && !(s > 0 && l->choice->stopped); s++) {
        draw_start(l, r, (uint64_t)s, l->W_try, l->H_try);
        update(l, K, UPDATES, l->W_try, l->H_try);
        double C = objective(l, K, l->W_try, l->H_try, U);
        if (C < best) {
            best = C;
            tl_copy(l->W, l->W_try, l->M * K);
            tl_copy(l->H, l->H_try, K * l->L);
        }
    }
    return best;
}

/* ---- learning -------------------------------------------------------------------------------- */

/* Rows are in order of frequency: the first so many that leave little energy outside. */
static int64_t choose_band(const tl_learner *l)
{
    if (l->opt->band > 0) /* of frames as long as the options say: longer ones have more rows */
        return tl_min(tl_max(1, l->opt->band * l->M / l->opt->frames.M), l->M);
    double total = 0.0, outside = 0.0;
    for (int64_t i = 0; i < l->M * l->L; i++)
        total += l->V[i];
    int64_t m = l->M;
    for (; m > BAND_LEAST; m--) {
        for (int64_t i = 0; i < l->L; i++)
            outside += l->V[(m - 1) * l->L + i];
        if (outside > OUTSIDE * total)
            break;
    }
    return tl_min(tl_min(m, l->M), BAND_MOST);
}

static int64_t iterations_of(const tl_learner *l, const tl_recipe *r)
{
    return r->J > 0 ? r->J : l->opt->J;
}

/* The settings of a short, gentle descent from the start that is given. */
static tl_settings short_descent(const tl_learner *l, const tl_recipe *r)
{
    tl_settings s;
    tl_settings_init(&s);
    s.k = rank_of(l, r);
    s.method = r->method == TL_METHOD_JD ? TL_METHOD_JD : TL_METHOD_TL;
    s.solver = TL_ALGORITHM_PAPER;
    s.J = iterations_of(l, r);
    s.eps = l->eps;
    s.threads = l->opt->threads;
    return s;
}

/* Scales between W of all rows and that of the first `band`, whose columns sum to 1. */
static void take_rows(const tl_learner *l, int64_t K, int64_t band, const double *W_band,
                      const double *H_band)
{
    for (int64_t k = 0; k < K; k++) {
        double c = 0.0;
        for (int64_t m = 0; m < band; m++)
            c += l->W[m * K + k];
        for (int64_t m = 0; m < band; m++)
            l->W[m * K + k] = W_band[m * K + k] * c;
        for (int64_t i = 0; c > 0.0 && i < l->L; i++)
            l->H[k * l->L + i] = H_band[k * l->L + i] / c;
    }
    tl_normalise(l->M, l->L, K, l->W, l->H);
}

/* Phi = diag(Q, I) Phi0, then V, W, H go along: (26). */
static void accept(tl_learner *l, const tl_recipe *r, int64_t band, const tl_result *result,
                   tl_engine *engine)
{
    int64_t M = l->M, K = rank_of(l, r);
    tl_copy(l->Phi, l->Phi0, M * M);
    tl_gemm(TL_PLAIN, TL_PLAIN, band, M, band, 1.0, (result)->Phi, band, l->Phi0, M, 0.0,
            l->Phi, M);
    take_rows(l, K, band, (result)->W, (result)->H);
    analyse_with(l, engine, l->Phi, band, NULL); /* the other rows stay */
    l->analysed = false;                         /* V is no longer that of Phi0 */
    update(l, K, UPDATES_AFTER, l->W, l->H);
}

/* Turns the rows that hold the energy so that W H fits better. */
static tlnmf_error turn(tl_learner *l, const tl_recipe *r, tl_engine *engine, int64_t *band_out)
{
    int64_t band = choose_band(l), each = engine->each;
    double *X, *identity;
    void *block;
    tl_slot table[] = {TL_SLOT(X, each * band * l->L), TL_SLOT(identity, band * band)};
    TRY(TL_ARENA(l->ctx, "the frames to learn from", table, &block));
    analyse_with(l, engine, l->Phi0, band, X);
    tl_identity(band, identity);
    tlnmf_data *data = NULL;
    tl_result *result = NULL;
    tl_settings settings = short_descent(l, r);
    tl_start start;
    tl_start_init(&start);
    start.Phi = identity;
    start.W = l->W; /* its first rows: W is M x K in C order */
    start.H = l->H;
    tlnmf_error error = tlnmf_data_from_realisations(l->ctx, X, each, band, l->L, &data);
    if (error == TLNMF_OK)
        error = tl_fit(l->ctx, data, &settings, &start, relay, l->choice, &result);
    if (error == TLNMF_OK)
        accept(l, r, band, result, engine);
    tl_result_free(result);
    tlnmf_data_free(data);
    tl_release(&l->ctx->hooks, block);
    *band_out = band;
    return error;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static tlnmf_error keep(tl_learner *l, const tl_recipe *r, const double *Phi, int64_t band,
                        double score, double C)
{
    int64_t K = rank_of(l, r);
    tl_separator *fresh;
    TRY(tl_separator_new(l->ctx, l->M, K, &fresh));
    tl_copy(fresh->Phi, Phi, l->M * l->M);
    tl_copy(fresh->W, l->W, l->M * K);
    fresh->info = (tl_separator_info){.frames = l->framing.f,
                                      .sources = l->opt->sources,
                                      .per_source = r->per_source,
                                      .method = (int32_t)r->method,
                                      .basis = (int32_t)r->basis,
                                      .eps = l->eps,
                                      .mean_power = l->mean_power,
                                      .score = score,
                                      .C = C,
                                      .learn_frames = l->L,
                                      .band = band,
                                      .remixes = l->choice->remix.count,
                                      .J = r->method == TL_METHOD_NMF ? 0 : iterations_of(l, r)};
    tl_separator_free(l->choice->best);
    l->choice->best = fresh;
    return TLNMF_OK;
}

static tlnmf_error try_with(tl_learner *l, const tl_recipe *r, tl_engine *engine)
{
    int64_t band = 0;
    TRY(analyse(l, r, engine));
    double C = fit_factors(l, r, l->Phi); /* as scratch */
    bool learns = r->method != TL_METHOD_NMF;
    if (learns) {
        TRY(turn(l, r, engine, &band));
        C = objective(l, rank_of(l, r), l->W, l->H, l->H_try);
    }
    engine->Phi = learns ? l->Phi : l->Phi0;
    engine->W = l->W;
    engine->eps = l->eps;
    tl_choice *choice = l->choice;
    double score = tl_remix_judge(&choice->remix, engine, r->per_source);
    double merit =
        score - (learns ? MARGIN_LEARNT : 0.0) - (l->M > l->opt->frames.M ? MARGIN_LENGTH : 0.0) -
        (r->J > 0 ? MARGIN_ITERATIONS : 0.0) - MARGIN_COMPONENT * (double)(r->per_source - 1);
    choice->candidates++;
    choice->last_score = score;
    if (choice->best == NULL || merit > choice->best_merit) {
        choice->best_merit = merit;
        TRY(keep(l, r, engine->Phi, band, score, C));
    }
    static const char *const bases[] = {"auto", "DCT", "DFT", "STFT"};
    tl_log(l->ctx, TLNMF_LOG_INFO,
           "%s %s, %s window, frames of %lld, %lld a source: %.2f dB on remixes, C = %.8g",
           learns ? "learnt from" : "fixed", bases[r->basis], tl_window_name(r->window),
           (long long)l->M, (long long)r->per_source, score, C);
    report(choice, C);
    return TLNMF_OK;
}

tlnmf_error tl_try(tl_learner *l, tl_recipe r)
{
    if (l->choice->stopped && l->choice->best != NULL)
        return TLNMF_OK;
    tl_engine engine;
    TRY(set_basis(l, &r));
    TRY(tl_engine_create(l->ctx, &l->framing, rank_of(l, &r), l->C, &engine));
    tlnmf_error error = try_with(l, &r, &engine);
    tl_engine_free(&engine);
    return error;
}

/* ---- room ---------------------------------------------------------------------------------- */

static tlnmf_error make_room(tl_learner *l)
{
    int64_t M = l->M, L = l->L, most = tl_max(TL_MOST_PER_SOURCE, l->opt->per_source);
    int64_t K = l->opt->sources * most, scratch = tl_max(M * M, M * L);
    tl_slot table[8 + TL_MU_SLOTS] = {
        TL_SLOT(l->Phi0, M * M),  TL_SLOT(l->Phi, scratch),
        TL_SLOT(l->V, M * L),     TL_SLOT(l->V_turned, L * M),
        TL_SLOT(l->W, M * K),     TL_SLOT(l->H, K * L),
        TL_SLOT(l->W_try, M * K), TL_SLOT(l->H_try, tl_max(K * L, M * L))};
    l->mu.gamma = 1.0;
    tl_mu_slots(&l->mu, M, L, K, table + 8);
    TRY(tl_check_size(l->ctx, "M", M));
    TRY(tl_check_size(l->ctx, "the frames to learn from", L));
    return TL_ARENA(l->ctx, "learning", table, &l->block);
}

tlnmf_error tl_learner_create(tl_choice *choice, const tl_sound *sound, const tl_span *spans,
                              int64_t span_count, const tl_frames *frames, tl_learner *l)
{
    tlnmf_ctx *ctx = choice->ctx;
    *l = (tl_learner){.ctx = ctx,
                      .opt = choice->opt,
                      .choice = choice,
                      .M = frames->M,
                      .C = sound->channels,
                      .framing = {.hooks = ctx->hooks},
                      .hooks = ctx->hooks};
    TRY(tl_scene_create(ctx, sound, spans, span_count, choice->opt, frames, &l->scene));
    l->L = l->scene.L;
    tlnmf_error error = make_room(l);
    if (error != TLNMF_OK)
        tl_learner_free(l);
    return error;
}

void tl_learner_free(tl_learner *l)
{
    tl_framing_free(&l->framing);
    tl_release(&l->hooks, l->block);
    l->block = NULL;
    tl_scene_free(&l->scene);
}
