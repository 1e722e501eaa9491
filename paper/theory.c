/* Q_S, the divergence of the data's power from the true one (spec (17)), and the way up on it. */
#include "model/model.h"
#include "paper/paper.h"
#include "solve/lbfgs.h"
#include "tlnmf/paper.h"

#include <math.h>

/* Two models that turn together: V on the data, Vbar on the truth. */
typedef struct pair {
    tl_model data, truth;
    int64_t M, count; /* entries of V */
    double eps;
} pair;

static tlnmf_error check_pair(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_data *truth,
                              const double *Phi, double eps)
{
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

static tlnmf_error pair_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_data *truth,
                               const double *Phi, double eps, pair *p)
{
    *p = (pair){.M = data->M, .count = data->M * data->N, .eps = eps};
    TRY(check_pair(ctx, data, truth, Phi, eps));
    TRY(tl_model_create(ctx, data, 0, eps, 1.0, &p->data));
    tlnmf_error error = tl_model_create(ctx, truth, 0, eps, 1.0, &p->truth);
    if (error != TLNMF_OK) {
        tl_model_free(&p->data);
        return error;
    }
    tl_copy(p->data.Phi, Phi, p->M * p->M);
    tl_copy(p->truth.Phi, Phi, p->M * p->M);
    tl_model_refresh(&p->data);
    tl_model_refresh(&p->truth);
    return TLNMF_OK;
}

static void pair_free(pair *p)
{
    tl_model_free(&p->truth);
    tl_model_free(&p->data);
}

/* (17) D_eps(V | Vbar); U of the truth becomes 1/(Vbar + eps). */
static double value(pair *p)
{
    tl_inverse(p->count, p->truth.V, p->eps, p->truth.U);
    return tl_divergence(p->count, p->data.V, p->eps, p->truth.U);
}

/* Of -Q along each e_ab, a > b. With A = V + eps and B = Vbar + eps, dQ/dA = 1/B - 1/A and
 * dQ/dB = (B - A) / B^2 are the weights of two gradients as in (10). */
static void slope(pair *p, double *out)
{
    tl_model *data = &p->data, *truth = &p->truth;
    for (int64_t i = 0; i < p->count; i++) {
        double A = data->V[i] + p->eps, B = truth->V[i] + p->eps;
        data->U[i] = 1.0 / B - 1.0 / A;
        truth->U[i] = (B - A) / (B * B);
    }
    tl_gradient(data->data, NULL, data->X, data->U, data->UX, data->G);
    tl_gradient(truth->data, NULL, truth->X, truth->U, truth->UX, truth->G);
    int64_t M = p->M;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < a; b++)
            *out++ =
                data->G[b * M + a] - data->G[a * M + b] + truth->G[b * M + a] - truth->G[a * M + b];
}

/* Q after the step `a` along E of the data's model, which is not taken yet. */
static double try_step(pair *p, double a)
{
    tl_model_try(&p->data, TL_EXP, a);
    tl_model_try_Phi(&p->truth, p->data.skew.s);
    return value(p);
}

typedef struct ascent {
    int64_t size;
    double *gradient, *before, *direction, *metric;
    tl_lbfgs lbfgs;
    void *block;
} ascent;

static tlnmf_error ascent_create(tlnmf_ctx *ctx, int64_t M, ascent *up)
{
    enum { OWN = 4 };
    int64_t size = M * (M - 1) / 2;
    *up = (ascent){.size = size};
    tl_slot table[OWN + TL_LBFGS_SLOTS] = {TL_SLOT(up->gradient, size), TL_SLOT(up->before, size),
                                           TL_SLOT(up->direction, size), TL_SLOT(up->metric, size)};
    tl_lbfgs_slots(&up->lbfgs, size, table + OWN);
    return TL_ARENA(ctx, "an ascent", table, &up->block);
}

/* The direction as a skew-symmetric matrix, with its powers. */
static void prepare(pair *p, const double *direction)
{
    int64_t M = p->M;
    for (int64_t a = 0; a < M; a++) {
        p->data.E[a * M + a] = 0.0;
        for (int64_t b = 0; b < a; b++, direction++) {
            p->data.E[a * M + b] = *direction;
            p->data.E[b * M + a] = -*direction;
        }
    }
    tl_skew_prepare(&p->data.skew, p->data.E);
}

/* One scale for all coordinates: y'y / s'y of the last step (Nocedal and Wright, 7.20); at first
 * such that the largest turn is a tenth of a radian. */
static void scale_metric(ascent *up, double step)
{
    double most = 0.0, yy = 0.0, sy = 0.0;
    for (int64_t i = 0; i < up->size; i++) {
        double y = up->gradient[i] - up->before[i];
        most = fmax(most, fabs(up->gradient[i]));
        yy += y * y;
        sy += step * up->direction[i] * y;
    }
    double scale = step > 0.0 && sy > 0.0 ? yy / sy : 10.0 * most;
    for (int64_t i = 0; i < up->size; i++)
        up->metric[i] = scale;
}

/* The longest of the steps 1, 1/2, 1/4, .. that gains enough (Armijo), or 0. */
static double line_search(pair *p, double Q, double fall, double *reached)
{
    enum { MOST = 40 };
    double a = 1.0;
    for (int tries = 0; tries < MOST; tries++, a *= 0.5) {
        *reached = try_step(p, a);
        if (*reached >= Q - 1e-4 * a * fall)
            return a;
    }
    return 0.0;
}

static double climb(pair *p, ascent *up, int64_t iterations)
{
    const double settled = 1e-13;
    double Q = value(p), step = 0.0;
    slope(p, up->gradient);
    for (int64_t it = 0; it < iterations; it++) {
        scale_metric(up, step);
        if (up->size == 0 || !(up->metric[0] > 0.0))
            break;
        double fall = tl_lbfgs_direction(&up->lbfgs, up->gradient, up->metric, up->direction);
        prepare(p, up->direction);
        double next;
        step = line_search(p, Q, fall, &next);
        if (step == 0.0)
            break;
        tl_model_accept(&p->data);
        tl_model_accept(&p->truth);
        tl_copy(up->before, up->gradient, up->size);
        slope(p, up->gradient);
        tl_lbfgs_step(&up->lbfgs, step, up->direction);
        tl_lbfgs_learn(&up->lbfgs, up->before, up->gradient, up->metric);
        double gain = next - Q;
        Q = next;
        if (gain <= settled * fabs(Q))
            break;
    }
    return Q;
}

tlnmf_error tlnmf_theory_Q(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_data *truth,
                           const double *Phi, double eps, double *Q)
{
    pair p;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    TL_NEED(ctx, truth);
    TL_NEED(ctx, Phi);
    TL_NEED(ctx, Q);
    TRY(pair_create(ctx, data, truth, Phi, eps, &p));
    *Q = value(&p);
    pair_free(&p);
    return TLNMF_OK;
}

tlnmf_error tlnmf_theory_climb(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_data *truth,
                               double eps, int64_t iterations, double *Phi, double *Q)
{
    pair p;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    TL_NEED(ctx, truth);
    TL_NEED(ctx, Phi);
    TL_NEED(ctx, Q);
    TRY(pair_create(ctx, data, truth, Phi, eps, &p));
    ascent up;
    tlnmf_error error = ascent_create(ctx, p.M, &up);
    if (error == TLNMF_OK) {
        *Q = climb(&p, &up, iterations);
        tl_copy(Phi, p.data.Phi, p.M * p.M);
        tl_release(&ctx->hooks, up.block);
    }
    pair_free(&p);
    return error;
}
