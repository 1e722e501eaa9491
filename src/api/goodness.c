/* The test of fit of a model on new data: a parametric bootstrap of I.
 *
 * I per frame depends on chance (with S realisations, log(S/2) - psi(S/2) per entry), on the floor
 * and on the K numbers of each frame that were fitted. So it cannot be compared between data with
 * different S. Instead, data are simulated from the model, with the S and the H of the real data,
 * and H is fitted to them in the same way. A star marks means over the frames of such data:
 *
 *   I_new*, I_own*  V* = v G, v = W H of the new data or of the model's own data
 *   I_perm*         the same with the rows of v = W H_new permuted, the mean of 4 permutations: the
 *                   misfit of a model that knows nothing about the data
 *
 * where G is the mean of S squared Gaussians. Phi is orthogonal, so V* needs no Phi: the engine
 * gets sqrt(V*) as its data and Phi = I. With I_new and I_own the means of the real data,
 *
 *   excess = ((I_new - I_new*) - (I_own - I_own*)) / M - 2 K (M - 1) / (M N_own S_own)
 *   error  = sqrt(var_new / F_new + var_new* / F + var_own* (1 / N_own + 1 / F)) / M
 *   random = (I_perm* - I_new*) / M
 *
 * The last term of the excess is the fit of W to the noise of the model's own data. Variances are
 * over frames. If the model's own data fit significantly worse than simulated ones, tails heavier
 * than Gaussian may be the cause. Their misfit is proportional to 1 / S, so the excess may then be
 * wrong by `tails`, (S_own / S_new - 1) times the misfit; the verdict must hold either way.
 *
 * F = 100 to 400 frames are simulated, some of them several times if there are fewer, and at most F
 * of the new frames are compared: more frames do not lower the error. The error rates are in
 * docs/measurements/goodness.md. */
#include "api/goodness.h"

#include "base/rng.h"
#include "linalg/linalg.h"
#include "solve/solver.h"

#include <math.h>

enum {
    MOST_FRAMES = 400, /* simulated at a time, ... */
    LEAST_FRAMES = 100,
    ENTRIES = 250000,  /* ... of about so many entries, which bounds the time */
    FEWEST_FRAMES = 5, /* the variance of fewer is not known */
    PERMUTATIONS = 4,
    GATHERED = 64 /* columns in one product */
};

static const uint64_t SEED = 20261117; /* fixed: the verdict on the same data is the same */

typedef struct moments {
    double mean, variance; /* over frames */
} moments;

/* Frames that data are simulated from: the columns of W H, with S realisations. */
typedef struct population {
    const double *H; /* K x N */
    int64_t N, S;
    int64_t *frame; /* F: the columns of H, in turn, or chosen at random if N > F */
} population;

typedef struct fit_test {
    tlnmf_ctx *ctx;
    const tl_goodness_task *task;
    tl_settings opt;
    int64_t F; /* simulated frames */
    population new, own;
    tlnmf_data *data; /* sqrt(V*) as one column per frame */
    tl_engine *engine;
    double *V, *H, *I;       /* M x F, K x F, F */
    double *columns, *image; /* M x width: columns of the new data, and Phi times them */
    int64_t width;
    int64_t *row; /* M: row m is simulated with the power of row[m] */
    const population *from;
    uint64_t stream;
    void *block;
} fit_test;

/* ---- I of frames ----------------------------------------------------------------------------- */

/* (4) of frames first .. last - 1, from V and H. */
static void measure(int64_t first, int64_t last, void *arg)
{
    const fit_test *s = arg;
    const tl_model_point *model = s->task->model;
    int64_t M = s->data->M, K = model->K, F = s->F;
    for (int64_t i = first; i < last; i++) {
        double I = 0.0;
        for (int64_t m = 0; m < M; m++) {
            double Vhat = model->eps;
            for (int64_t k = 0; k < K; k++)
                Vhat += model->W[m * K + k] * s->H[k * F + i];
            double x = (s->V[m * F + i] + model->eps) / Vhat;
            I += x - log(x) - 1.0;
        }
        s->I[i] = I;
    }
}

static moments moments_of(int64_t count, const double *x)
{
    moments r = {0};
    for (int64_t i = 0; i < count; i++)
        r.mean += x[i] / (double)count;
    for (int64_t i = 0; i < count; i++)
        r.variance += (x[i] - r.mean) * (x[i] - r.mean) / (double)(count - 1);
    return r;
}

static moments measure_all(fit_test *s, int64_t count)
{
    tl_share(count, 8, measure, s);
    return moments_of(count, s->I);
}

/* ---- the new data ---------------------------------------------------------------------------- */

/* V of frames first .. last - 1 of those compared, whose columns fit the scratch. */
static void power_of(fit_test *s, int64_t first, int64_t last)
{
    const tlnmf_data *data = s->task->data;
    const int64_t *offset = data->offset, *frame = s->new.frame;
    int64_t M = data->M, width = s->width, used = 0;
    for (int64_t i = first; i < last; i++)
        for (int64_t t = offset[frame[i]]; t < offset[frame[i] + 1]; t++, used++)
            for (int64_t m = 0; m < M; m++)
                s->columns[m * width + used] = data->R[m * data->T + t];
    tl_gemm(TL_PLAIN, TL_PLAIN, M, used, M, 1.0, s->task->model->Phi, M, s->columns, width, 0.0,
            s->image, width);
    for (int64_t m = 0; m < M; m++) {
        const double *x = s->image + m * width;
        for (int64_t i = first; i < last; i++) {
            double sum = 0.0;
            for (int64_t t = offset[frame[i]]; t < offset[frame[i] + 1]; t++, x++)
                sum += *x * *x;
            s->V[m * s->F + i] = sum;
        }
    }
}

/* I of the new data, over the frames that are compared. */
static moments measure_new(fit_test *s)
{
    const int64_t *offset = s->task->data->offset, *frame = s->new.frame;
    int64_t count = tl_min(s->new.N, s->F), first = 0, columns = 0;
    for (int64_t i = 0; i < count; i++) {
        if (tl_poll(s->ctx->monitor))
            return (moments){NAN, NAN};
        int64_t own = offset[frame[i] + 1] - offset[frame[i]];
        if (columns + own > s->width) {
            power_of(s, first, i);
            first = i;
            columns = 0;
        }
        columns += own;
        for (int64_t k = 0; k < s->task->model->K; k++)
            s->H[k * s->F + i] = s->new.H[k * s->new.N + frame[i]];
    }
    power_of(s, first, count);
    return measure_all(s, count);
}

/* ---- simulated data -------------------------------------------------------------------------- */

static void draw(int64_t first, int64_t last, void *arg)
{
    const fit_test *s = arg;
    const population *from = s->from;
    int64_t M = s->data->M, K = s->task->model->K, F = s->F;
    for (int64_t i = first; i < last; i++) {
        const double *h = from->H + from->frame[i];
        tl_rng rng;
        tl_rng_seed(&rng, TL_STREAM_OWN, SEED, s->stream * MOST_FRAMES + (uint64_t)i);
        for (int64_t m = 0; m < M; m++) {
            const double *w = s->task->model->W + s->row[m] * K;
            double v = 0.0;
            for (int64_t k = 0; k < K; k++)
                v += w[k] * h[k * from->N];
            s->V[m * F + i] = v * tl_rng_mean_square(&rng, from->S);
            s->data->R[m * F + i] = sqrt(s->V[m * F + i]);
        }
    }
}

static tlnmf_error start(const tl_point *point, void *user)
{
    const fit_test *s = user;
    int64_t M = point->M;
    for (int64_t i = 0; i < M * M; i++)
        point->Phi[i] = i % (M + 1) == 0 ? 1.0 : 0.0;
    tl_copy(point->W, s->task->model->W, M * point->K);
    tl_copy(point->H, s->H, point->K * point->N);
    return TLNMF_OK;
}

/* I of data simulated from these frames, H fitted. */
static tlnmf_error simulate(fit_test *s, const population *from, moments *out)
{
    tl_run run = {.opt = &s->opt, .monitor = s->ctx->monitor, .quiet = true};
    *out = (moments){NAN, NAN};
    if (tl_poll(s->ctx->monitor))
        return TLNMF_OK;
    s->from = from;
    s->stream++;
    tl_share(s->F, 8, draw, s);
    tl_flat_start(s->data, s->task->model->K, s->task->model->eps, s->H);
    TRY(tl_engine_fill(s->engine, TL_PHI | TL_W | TL_H, start, s));
    tl_fast_activations(s->engine, &run);
    tl_engine_store(s->engine, NULL, NULL, s->H);
    if (!tl_poll(s->ctx->monitor)) /* else H is not fitted */
        *out = measure_all(s, s->F);
    return TLNMF_OK;
}

/* A random order of the rows that differs from their own (Fisher and Yates). */
static void permute(fit_test *s, tl_rng *rng)
{
    int64_t M = s->data->M, moved = 0;
    while (moved == 0 && M > 1) {
        for (int64_t m = M - 1; m > 0; m--) {
            int64_t other = (int64_t)(tl_rng_uniform(rng) * (double)(m + 1)), was = s->row[m];
            s->row[m] = s->row[other];
            s->row[other] = was;
        }
        for (int64_t m = 0; m < M; m++)
            moved += s->row[m] != m;
    }
}

/* ---- the test -------------------------------------------------------------------------------- */

static tlnmf_error test(fit_test *s, tl_goodness *out)
{
    const tl_fitted *own = &s->task->own;
    double M = (double)s->data->M, K = (double)s->task->model->K, F = (double)s->F,
           N_own = (double)own->N, compared = (double)tl_min(s->new.N, s->F), permuted = 0.0;
    moments new = measure_new(s), new_star, own_star, other;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, SEED, 0);
    TRY(simulate(s, &s->new, &new_star));
    TRY(simulate(s, &s->own, &own_star));
    for (int i = 0; i < PERMUTATIONS; i++) {
        permute(s, &rng);
        TRY(simulate(s, &s->new, &other));
        permuted += other.mean / PERMUTATIONS;
    }
    double lack =
        (own->I / N_own - own_star.mean) / M + 2.0 * K * (M - 1.0) / (M * N_own * (double)own->S);
    out->excess = (new.mean - new_star.mean) / M - lack;
    if (lack > 2.0 * sqrt(own_star.variance * (1.0 / N_own + 1.0 / F)) / M)
        out->tails = lack * ((double)own->S / (double)s->new.S - 1.0);
    /* few frames may look more alike than they are */
    out->error = sqrt(fmax(new.variance, new_star.variance) / compared + new_star.variance / F +
                      own_star.variance * (1.0 / N_own + 1.0 / F)) /
                 M;
    out->random = (permuted - new_star.mean) / M;
    return TLNMF_OK;
}

/* The verdict from the figures. */
static const char *decide(const tl_goodness_task *task, const tl_goodness *g)
{
    /* H follows the noise of a single realisation so closely that the excess is biased upwards, by
     * one standard error in trials */
    bool single = tl_min(task->own.S, task->data->S) == 1;
    double least = (single ? 3.0 : 2.5) * g->error, low = g->excess - fmax(g->tails, 0.0),
           high = g->excess - fmin(g->tails, 0.0);
    if (!isfinite(g->excess) || !isfinite(g->error) || !isfinite(g->random))
        return "cannot tell: the test was stopped, or left the range of double";
    if (low >= least && low >= 0.2 * g->random)
        return low >= 0.25 * g->random ? "no: these data are different" : "worse than its own data";
    if ((high >= least && high < 0.2 * g->random) || high + 2.0 * g->error < 0.25 * g->random)
        return "about as well as its own data";
    if (g->tails != 0.0)
        return "cannot tell: the numbers of realisations differ, and the model does not describe "
               "its own data well";
    return 2.0 * g->error >= 0.25 * g->random
               ? "cannot tell: too few realisations or frames"
               : "cannot tell: chance could explain the larger misfit of these data";
}

/* Whether the model was learnt from so few data that it follows their noise: it then fits all other
 * data alike. There must be 2.5 numbers for each parameter, and N S >= 3 M for a learnt Phi. */
static bool is_overfitted(const tl_goodness_task *task)
{
    const tl_fitted *own = &task->own;
    double M = (double)task->data->M, K = (double)task->model->K, N = (double)own->N,
           S = (double)own->S, parameters = K * (M - 1.0) + K * N;
    if (own->Phi_learnt)
        parameters += 0.5 * M * (M - 1.0);
    return M * N * S < 2.5 * parameters || (own->Phi_learnt && N * S < 3.0 * M);
}

/* Data of a mean power below this share of eps differ little from silence. */
static const double HIDDEN = 0.3;

/* Why the test is not possible; NULL: it is. */
static const char *obstacle(const tl_goodness_task *task)
{
    const tl_fitted *own = &task->own;
    if (own->H == NULL || !isfinite(own->I))
        return "cannot tell: the model does not say how well it fits its own data";
    if (own->S < 0)
        return "cannot tell: the model does not say how many realisations it was learnt from";
    if (own->S == 0)
        return "cannot tell: the model was learnt from covariances, or from weighted, masked, "
               "missing or overlapping frames";
    if (task->data->S == 0)
        return "cannot tell: these data are covariances of an unknown number of realisations";
    if (task->data->frames_comm != NULL)
        return "cannot tell: the frames are distributed over processes";
    if (tl_data_replicates(task->data) == 0)
        return "cannot tell: frames of these data are weighted, masked, missing or overlapping";
    if (tl_min(task->data->N, own->N) < FEWEST_FRAMES)
        return "cannot tell: too few frames";
    if (task->data->mean_power < HIDDEN * task->model->eps)
        return "cannot tell: most of these data lie below the eps of the model; check their unit";
    if (is_overfitted(task))
        return "cannot tell: the model was learnt from too few data";
    return task->converged ? NULL : "cannot tell: the fit of H did not converge";
}

/* The frames to simulate from: each in turn, or if there are more than F, a random one of each F-th
 * part. */
static void choose(const population *from, int64_t F, uint64_t stream)
{
    double step = (double)from->N / (double)F;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, SEED + 1, stream);
    for (int64_t i = 0; i < F; i++)
        from->frame[i] =
            from->N <= F
                ? i % from->N
                : tl_min(from->N - 1, (int64_t)(((double)i + tl_rng_uniform(&rng)) * step));
}

static tlnmf_error create(fit_test *s)
{
    const tlnmf_data *data = s->task->data;
    int64_t M = data->M, K = s->task->model->K, F = s->F;
    for (int64_t n = 0; n < data->N; n++)
        s->width = tl_max(s->width, data->offset[n + 1] - data->offset[n]);
    s->width = tl_max(s->width, GATHERED);
    tl_slot table[] = {TL_SLOT(s->V, M * F),
                       TL_SLOT(s->H, K * F),
                       TL_SLOT(s->I, F),
                       TL_SLOT(s->columns, M * s->width),
                       TL_SLOT(s->image, M * s->width),
                       TL_SLOT(s->row, M),
                       TL_SLOT(s->new.frame, F),
                       TL_SLOT(s->own.frame, F)};
    TRY(TL_ARENA(s->ctx, "the test of fit", table, &s->block));
    TRY(tl_data_new(s->ctx, M, F, F, &s->data));
    s->data->S = 1;
    s->data->mean_power = data->mean_power;
    for (int64_t i = 0; i < F; i++) {
        s->data->offset[i + 1] = i + 1;
        s->data->weight[i] = 1.0;
    }
    for (int64_t m = 0; m < M; m++)
        s->row[m] = m;
    tl_data_note_one_each(s->data);
    choose(&s->new, F, 0);
    choose(&s->own, F, 1);
    const tl_model model = {.data = s->data, .K = K, .eps = s->task->model->eps, .gamma = 1.0};
    TRY(tl_engine_of(NULL)->create(s->ctx, &(tl_engine_spec){.model = &model, .moves = TL_H},
                                   &s->engine));
    s->engine->monitor = s->ctx->monitor;
    return TLNMF_OK;
}

tlnmf_error tl_goodness_test(tlnmf_ctx *ctx, const tl_goodness_task *task, tl_goodness *out)
{
    *out = (tl_goodness){NAN, NAN, NAN, 0.0, obstacle(task)};
    if (out->words != NULL)
        return TLNMF_OK;
    fit_test s = {.ctx = ctx,
                  .task = task,
                  .opt = *task->settings,
                  .F = tl_min(MOST_FRAMES, tl_max(LEAST_FRAMES, ENTRIES / task->data->M)),
                  .new = {.H = task->model->H, .N = task->data->N, .S = task->data->S},
                  .own = {.H = task->own.H, .N = task->own.N, .S = task->own.S}};
    s.opt.tol = fmax(s.opt.tol, 1e-10); /* errors far below the standard error */
    s.opt.grad_tol = fmax(s.opt.grad_tol, 1e-4);
    tlnmf_error error = create(&s);
    if (error == TLNMF_OK)
        error = test(&s, out);
    if (error == TLNMF_OK)
        out->words = decide(task, out);
    if (s.engine != NULL)
        s.engine->ops->free(s.engine);
    tlnmf_data_free(s.data);
    tl_release(&ctx->hooks, s.block);
    return error;
}
