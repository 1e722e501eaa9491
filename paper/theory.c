/* The paper's theory. Q_S is the divergence of the power of the data from the true power (17). It
 * is maximised by a descent on -Q over Phi with the L-BFGS of the solvers. Theorem 4 and Remark 6
 * bound and approximate it for Gaussian data. */
#include "engine/lbfgs.h"
#include "model/kernels.h"
#include "solve/solver.h"
#include "tlnmf/paper.h"

#include <math.h>

/* One of two sets of frames that share Phi: the data, with power V, or the truth, with Vbar. */
typedef struct side {
    const tlnmf_data *frames;
    double *X, *V, *U, *UX; /* Phi R, its power, weights, scratch */
    double *G;              /* (10) */
} side;

/* An engine that has only the operations of a descent. Its objective is -Q. */
typedef struct ascent {
    tl_engine is; /* first */
    side data, truth;
    double *Phi, *Phi_new, *E;
    double *Q, *scratch; /* M x M: scratch of steps */
    tl_skew skew;
    int64_t size; /* of the lower triangle of E */
    double *gradient, *before, *direction, *metric;
    tl_lbfgs lbfgs;
    double step; /* the last step taken; 0: none yet */
    tl_hooks hooks;
    void *block;
} ascent;

static tlnmf_error check_pair(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_data *truth,
                              const double *Phi, double eps)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    TL_NEED(ctx, truth);
    TL_NEED(ctx, Phi);
    if (data->M != truth->M || data->N != truth->N)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "the data are %lld x %lld, the truth is %lld x %lld",
                       (long long)data->M, (long long)data->N, (long long)truth->M,
                       (long long)truth->N);
    if (!(eps >= 1e-300 && eps <= 1e300))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "eps = %g is outside [1e-300, 1e+300]", eps);
    for (int64_t i = 0; i < data->M * data->M; i++)
        if (!isfinite(Phi[i]))
            return tl_fail(ctx, TLNMF_ERR_DATA, "Phi is not finite");
    return TLNMF_OK;
}

enum { SIDE_SLOTS = 5 };

static void side_slots(side *s, tl_slot slots[SIDE_SLOTS])
{
    int64_t M = s->frames->M, N = s->frames->N;
    const tl_slot parts[] = {TL_SLOT(s->X, M * s->frames->T), TL_SLOT(s->V, M * N),
                             TL_SLOT(s->U, M * N), TL_SLOT(s->UX, tl_gradient_scratch(s->frames)),
                             TL_SLOT(s->G, M * M)};
    memcpy(slots, parts, sizeof parts);
}

/* X and V of both sides. */
static void transform(ascent *up, const double *Phi)
{
    tl_coefficients(up->data.frames, &tl_double, Phi, up->data.X, up->data.V);
    tl_coefficients(up->truth.frames, &tl_double, Phi, up->truth.X, up->truth.V);
}

/* (17) D_eps(V | Vbar); U of the truth becomes 1/(Vbar + eps). */
static double value(ascent *up)
{
    int64_t count = up->is.M * up->is.N;
    tl_inverse(count, up->truth.V, up->is.eps, up->truth.U);
    return tl_divergence(count, up->data.V, up->is.eps, up->truth.U);
}

/* The gradient of -Q along each e_ab, a > b. With A = V + eps and B = Vbar + eps, dQ/dA = 1/B - 1/A
 * and dQ/dB = (B - A) / B^2 are the weights of two gradients as in (10). */
static void gradient(ascent *up, double *out)
{
    const side *data = &up->data, *truth = &up->truth;
    int64_t M = up->is.M;
    for (int64_t i = 0; i < M * up->is.N; i++) {
        double A = data->V[i] + up->is.eps, B = truth->V[i] + up->is.eps;
        data->U[i] = 1.0 / B - 1.0 / A;
        truth->U[i] = (B - A) / (B * B);
    }
    tl_gradient(data->frames, &tl_double, data->X, data->U, data->UX, data->G);
    tl_gradient(truth->frames, &tl_double, truth->X, truth->U, truth->UX, truth->G);
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < a; b++)
            *out++ =
                data->G[b * M + a] - data->G[a * M + b] + truth->G[b * M + a] - truth->G[a * M + b];
}

/* ---- the operations of a descent ------------------------------------------------------------- */

static double begin(tl_engine *e, unsigned over)
{
    ascent *up = (ascent *)e;
    (void)over; /* always Phi */
    up->step = 0.0;
    tl_lbfgs_begin(&up->lbfgs, up->size);
    double Q = value(up);
    gradient(up, up->gradient);
    return -Q;
}

/* The metric is one scale for all coordinates: y'y / s'y of the last step (Nocedal and Wright,
 * 7.20); at first, the scale at which the largest rotation is a tenth of a radian. */
static double scale(const ascent *up)
{
    double most = 0.0, yy = 0.0, sy = 0.0;
    for (int64_t i = 0; i < up->size; i++) {
        double y = up->gradient[i] - up->before[i];
        most = fmax(most, fabs(up->gradient[i]));
        yy += y * y;
        sy += up->step * up->direction[i] * y;
    }
    return up->step > 0.0 && sy > 0.0 ? yy / sy : 10.0 * most;
}

/* The scale depends on the last step, so it is always renewed. */
static double norm(tl_engine *e, bool renew)
{
    ascent *up = (ascent *)e;
    double metric = scale(up), sum = 0.0;
    (void)renew;
    for (int64_t i = 0; i < up->size; i++) {
        up->metric[i] = metric;
        sum += up->gradient[i] * up->gradient[i] / metric;
    }
    return metric > 0.0 ? sqrt(sum / (double)(e->M * e->N)) : 0.0;
}

/* Reports no pairs, so that the descent ends if a direction fails. */
static tl_aim aim(tl_engine *e, tl_direction how)
{
    ascent *up = (ascent *)e;
    (void)how;
    double slope = tl_lbfgs_direction(&up->lbfgs, up->gradient, up->metric, up->direction);
    tl_skew_unpack(e->M, up->direction, up->E);
    tl_skew_prepare(&up->skew, up->E);
    return (tl_aim){.slope = slope, .first = 1.0};
}

static double try_step(tl_engine *e, double a)
{
    ascent *up = (ascent *)e;
    tl_skew_turn(&up->skew, TL_EXP, a, up->Phi, (tl_lent){up->Phi_new, up->scratch}, up->Q,
                 up->Phi_new);
    transform(up, up->Phi_new);
    return -value(up);
}

static void take(tl_engine *e, double a)
{
    ascent *up = (ascent *)e;
    if (a == 0.0) {
        transform(up, up->Phi);
        return;
    }
    double *Phi = up->Phi;
    up->Phi = up->Phi_new;
    up->Phi_new = Phi;
    up->step = a;
    tl_copy(up->before, up->gradient, up->size);
    gradient(up, up->gradient);
    tl_lbfgs_step(&up->lbfgs, a, up->direction);
    tl_lbfgs_learn(&up->lbfgs, up->before, up->gradient, up->metric);
}

static bool revive(tl_engine *e, double least)
{
    (void)e;
    (void)least;
    return false; /* only W and H have entries to revive */
}

static const tl_engine_ops ascending = {.name = "ascent on Q",
                                        .begin = begin,
                                        .norm = norm,
                                        .aim = aim,
                                        .try = try_step,
                                        .take = take,
                                        .revive = revive};

static tlnmf_error ascent_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_data *truth,
                                 const double *Phi, double eps, ascent *up)
{
    enum {
        OWN = 9,
        SECOND = OWN + SIDE_SLOTS,
        THIRD = SECOND + SIDE_SLOTS,
        SLOTS = THIRD + TL_SKEW_SLOTS + TL_LBFGS_SLOTS
    };
    TRY(check_pair(ctx, data, truth, Phi, eps));
    int64_t M = data->M, size = M * (M - 1) / 2;
    *up = (ascent){.is = {.ops = &ascending, .M = M, .N = data->N, .eps = eps},
                   .size = size,
                   .hooks = ctx->hooks};
    up->data.frames = data;
    up->truth.frames = truth;
    tl_slot table[SLOTS] = {
        TL_SLOT(up->Phi, M * M),   TL_SLOT(up->Phi_new, M * M),  TL_SLOT(up->E, M * M),
        TL_SLOT(up->Q, M * M),     TL_SLOT(up->scratch, M * M),  TL_SLOT(up->gradient, size),
        TL_SLOT(up->before, size), TL_SLOT(up->direction, size), TL_SLOT(up->metric, size)};
    side_slots(&up->data, table + OWN);
    side_slots(&up->truth, table + SECOND);
    tl_skew_slots(&up->skew, M, table + THIRD);
    tl_lbfgs_slots(&up->lbfgs, size, table + THIRD + TL_SKEW_SLOTS);
    TRY(TL_ARENA(ctx, "an ascent", table, &up->block));
    tl_copy(up->Phi, Phi, M * M);
    transform(up, up->Phi);
    return TLNMF_OK;
}

/* ---- public ---------------------------------------------------------------------------------- */

tlnmf_error tlnmf_theory_Q(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_data *truth,
                           const double *Phi, double eps, double *Q)
{
    ascent up;
    TL_NEED(ctx, Q);
    TRY(ascent_create(ctx, data, truth, Phi, eps, &up));
    *Q = value(&up);
    tl_release(&up.hooks, up.block);
    return TLNMF_OK;
}

tlnmf_error tlnmf_theory_climb(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_data *truth,
                               double eps, int64_t iterations, double *Phi, double *Q)
{
    const tl_descent how = {
        .over = TL_PHI, .last = iterations, .relative = 1e-13, .calm = 1, .halvings = 40};
    ascent up;
    tl_run run = {.quiet = true};
    TL_NEED(ctx, Q);
    TRY(ascent_create(ctx, data, truth, Phi, eps, &up));
    *Q = -tl_descend(&up.is, &how, &run);
    tl_copy(Phi, up.Phi, up.is.M * up.is.M);
    tl_release(&up.hooks, up.block);
    return TLNMF_OK;
}

/* ---- bounds for Gaussian data ---------------------------------------------------------------- */

/* psi(x) = d log Gamma(x) / dx, for x > 0. */
static double digamma(double x)
{
    double sum = 0.0;
    int shift = x < 12.0 ? (int)ceil(12.0 - x) : 0; /* psi(x) = psi(x + 1) - 1 / x */
    for (int i = 0; i < shift; i++)
        sum -= 1.0 / (x + i);
    x += shift;
    double y = 1.0 / (x * x); /* Abramowitz and Stegun 6.3.18 */
    double tail =
        y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132)))));
    return sum + log(x) - 0.5 / x - tail;
}

double tlnmf_theory_bound(int64_t M, int64_t N, int64_t S, double t)
{
    if (M < 1 || N < 1 || S < 1 || !(t >= 0.0))
        return NAN;
    double h = 3.0 * (sqrt((double)M) + t) / sqrt((double)S);
    return h < 1.0 ? (double)M * (double)N * h * h / (1.0 - h) : INFINITY;
}

double tlnmf_theory_probability(int64_t N, double t)
{
    if (N < 1 || !(t >= 0.0))
        return NAN;
    return pow(fmax(0.0, 1.0 - 2.0 * exp(-0.5 * t * t)), (double)N);
}

double tlnmf_theory_asymptote(int64_t M, int64_t N, int64_t S)
{
    double s = (double)S;
    if (M < 1 || N < 1 || S < 1)
        return NAN;
    return (double)M * (double)N * (log(s) - digamma(0.5 * s) - log(2.0));
}
