#include "solve/joint.h"

#include <math.h>
#include <string.h>

enum { OWN_SLOTS = 8, SLOTS = OWN_SLOTS + TL_LBFGS_SLOTS + TL_NEWTON_SLOTS };

static void lay_out(tl_joint *joint, int64_t M, int64_t N, int64_t K, tl_joint_for what,
                    tl_slot table[SLOTS])
{
    int64_t size = (what.turns_Phi ? M * (M - 1) / 2 : 0) + M * K + K * N;
    const tl_slot own[OWN_SLOTS] = {
        TL_SLOT(joint->gradient, size), TL_SLOT(joint->direction, size),
        TL_SLOT(joint->metric, size),   TL_SLOT(joint->P, M * K),
        TL_SLOT(joint->Q, K * N),       TL_SLOT(joint->W_new, M * K),
        TL_SLOT(joint->H_new, K * N),   TL_SLOT(joint->mu, M * K + K * N)};
    memcpy(table, own, sizeof own);
    tl_lbfgs_slots(&joint->lbfgs, size, table + OWN_SLOTS);
    tl_newton_slots(&joint->newton, what.newton ? size : 0, what.newton ? M * K : 0,
                    what.newton ? K * N : 0, table + OWN_SLOTS + TL_LBFGS_SLOTS);
}

size_t tl_joint_bytes(const tlnmf_data *data, int64_t K, tl_joint_for what)
{
    tl_joint joint;
    tl_slot table[SLOTS];
    lay_out(&joint, data->M, data->N, K, what, table);
    return TL_ARENA_BYTES(table);
}

tlnmf_error tl_joint_create(tlnmf_ctx *ctx, const tl_model *model, tl_joint_for what,
                            tl_joint *joint)
{
    *joint = (tl_joint){.hooks = ctx->hooks};
    tl_slot table[SLOTS];
    lay_out(joint, model->M, model->N, model->K, what, table);
    return TL_ARENA(ctx, "the joint solver", table, &joint->block);
}

/* The sizes of a run over these coordinates, which fit into the room there is. */
void tl_joint_choose(tl_joint *joint, const tl_model *model, tl_joint_over over)
{
    int64_t M = model->M, N = model->N, K = model->K;
    joint->over = over;
    joint->triangle = over == TL_JOINT_FACTORS ? 0 : M * (M - 1) / 2;
    joint->entries = over == TL_JOINT_PHI ? 0 : M * K + K * N;
    joint->size = joint->lbfgs.size = joint->triangle + joint->entries;
}

void tl_joint_free(tl_joint *joint)
{
    tl_release(&joint->hooks, joint->block);
}

/* ---- gradient -------------------------------------------------------------------------------- */

/* Along e_ab the derivative is <E, G> = G_ab - G_ba. */
static void gradient_of_Phi(tl_model *model, double *out)
{
    int64_t M = model->M;
    tl_gradient(model->data, model->skew.arithmetic, model->X, model->U, model->UX, model->G);
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < a; b++)
            *out++ = model->G[a * M + b] - model->G[b * M + a];
}

static void multiply_by(int64_t count, const double *x, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] *= x[i];
}

/* dC/dVhat = D = U - (V + eps) U^2, so dC/dP = 2 P .* (D H') and dC/dQ = 2 Q .* (W' D). D takes
 * the place of U for as long, since U is quickly made again. */
static void gradient_of_factors(tl_model *model, const tl_joint *joint, double *out)
{
    int64_t M = model->M, N = model->N, K = model->K;
    double *D = model->U;
    for (int64_t i = 0; i < M * N; i++)
        D[i] -= (model->V[i] + model->eps) * D[i] * D[i];
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, K, N, 2.0, D, N, model->H, N, 0.0, out, K);
    multiply_by(M * K, joint->P, out);
    out += M * K;
    tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, M, 2.0 * joint->unit, model->W, K, D, N, 0.0, out, N);
    multiply_by(K * N, joint->Q, out);
    tl_model_weights_C(model);
}

void tl_joint_gradient(tl_model *model, tl_joint *joint)
{
    if (joint->triangle > 0)
        gradient_of_Phi(model, joint->gradient);
    if (joint->entries > 0)
        gradient_of_factors(model, joint, joint->gradient + joint->triangle);
}

/* ---- metric ---------------------------------------------------------------------------------- */

/* A coordinate without any curvature (silent rows, a dead component) may have any metric. */
static double positive(double x)
{
    return x > 0.0 ? x : 1.0;
}

/* (13), the second derivative along e_ab at fixed weights, floored where it is small or negative */
static void metric_of_Phi(tl_model *model, double *out)
{
    int64_t M = model->M;
    const double *Gamma = model->Gamma;
    tl_gamma(model->skew.arithmetic, M, model->N, model->U, model->V, model->Gamma);
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < a; b++) {
            double cross = Gamma[a * M + b] + Gamma[b * M + a];
            double exact = cross - Gamma[a * M + a] - Gamma[b * M + b];
            *out++ = positive(fmax(exact, 0.1 * cross));
        }
}

static void square(int64_t count, double scale, const double *x, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = (scale * x[i]) * (scale * x[i]);
}

/* U^2 (H^2)' and (W^2)' U^2, with H and 1/U in units of unit^2, since squares of what they are may
 * overflow. U^2 takes the place of U for as long. */
void tl_joint_curvature(tl_model *model, tl_joint *joint, double *out)
{
    int64_t M = model->M, N = model->N, K = model->K;
    double *U2 = model->U, *W2 = joint->W_new, *H2 = joint->H_new;
    double unit = joint->unit * joint->unit;
    square(M * N, unit, model->U, U2);
    square(M * K, 1.0, model->W, W2);
    square(K * N, 1.0 / unit, model->H, H2);
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, K, N, 1.0, U2, N, H2, N, 0.0, out, K);
    tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, M, 1.0, W2, K, U2, N, 0.0, out + M * K, N);
    tl_model_weights_C(model);
}

/* The larger of the expected Hessian, 4 W .* (U^2 (H^2)'), and 0.3 of the metric that
 * multiplicative updates amount to, 4 U H'; the same for H, whose coordinate is Q / unit. */
static void metric_of_factors(tl_model *model, tl_joint *joint, double *out)
{
    int64_t M = model->M, N = model->N, K = model->K;
    double *mu = joint->mu, *out_H = out + M * K, *mu_H = mu + M * K;
    double unit = joint->unit * joint->unit;
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, K, N, 1.2, model->U, N, model->H, N, 0.0, mu, K);
    tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, M, 1.2 * unit, model->W, K, model->U, N, 0.0, mu_H, N);
    tl_joint_curvature(model, joint, out);
    for (int64_t i = 0; i < M * K; i++)
        out[i] = positive(fmax(4.0 * model->W[i] * out[i], mu[i]));
    for (int64_t i = 0; i < K * N; i++)
        out_H[i] = positive(fmax(4.0 * (model->H[i] / unit) * out_H[i], mu_H[i]));
}

void tl_joint_metric(tl_model *model, tl_joint *joint)
{
    if (joint->triangle > 0)
        metric_of_Phi(model, joint->metric);
    if (joint->entries > 0)
        metric_of_factors(model, joint, joint->metric + joint->triangle);
}

/* ---- a step ---------------------------------------------------------------------------------- */

double tl_joint_begin(tl_model *model, tl_joint *joint)
{
    if (joint->over == TL_JOINT_PHI) {
        tl_model_weights_L(model);
        return tl_model_L(model);
    }
    for (int64_t i = 0; i < model->M * model->K; i++)
        joint->P[i] = sqrt(model->W[i]);
    joint->unit = 0.0;
    for (int64_t i = 0; i < model->K * model->N; i++) {
        joint->Q[i] = sqrt(model->H[i]);
        joint->unit = fmax(joint->unit, joint->Q[i]);
    }
    joint->unit = positive(joint->unit);
    tl_model_weights_C(model);
    return tl_model_C(model);
}

/* The direction's part of Phi as a skew-symmetric matrix, ready for all steps along it. */
void tl_joint_aim(tl_model *model, tl_joint *joint)
{
    if (joint->triangle == 0)
        return;
    tl_skew_unpack(model->M, joint->direction, model->E);
    tl_skew_prepare(&model->skew, model->E);
}

/* out = (x + a d)^2 */
static void move(int64_t count, const double *x, double a, const double *d, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = (x[i] + a * d[i]) * (x[i] + a * d[i]);
}

double tl_joint_value(tl_model *model, tl_joint *joint, double a)
{
    int64_t M = model->M, N = model->N, K = model->K;
    if (joint->triangle > 0)
        tl_model_try(model, TL_EXP, a);
    if (joint->over == TL_JOINT_PHI)
        return tl_model_L(model);
    const double *d = joint->direction + joint->triangle;
    move(M * K, joint->P, a, d, joint->W_new);
    move(K * N, joint->Q, a * joint->unit, d + M * K, joint->H_new);
    tl_weights(M, N, K, joint->W_new, joint->H_new, model->eps, model->U);
    return tl_model_C(model);
}

static void advance(int64_t count, double a, const double *d, double *x)
{
    for (int64_t i = 0; i < count; i++)
        x[i] += a * d[i];
}

void tl_joint_accept(tl_model *model, tl_joint *joint, double a)
{
    int64_t M = model->M, N = model->N, K = model->K;
    if (joint->triangle > 0)
        tl_model_accept(model);
    if (joint->over == TL_JOINT_PHI) {
        tl_model_weights_L(model);
        return;
    }
    const double *d = joint->direction + joint->triangle;
    advance(M * K, a, d, joint->P);
    advance(K * N, a * joint->unit, d + M * K, joint->Q);
    memcpy(model->W, joint->W_new, (size_t)(M * K) * sizeof *model->W);
    memcpy(model->H, joint->H_new, (size_t)(K * N) * sizeof *model->H);
}

/* X, V and U of the point that the run is at, after steps that led nowhere. */
void tl_joint_restore(tl_model *model, const tl_joint *joint)
{
    if (joint->triangle > 0)
        tl_model_refresh(model);
    if (joint->over == TL_JOINT_PHI)
        tl_model_weights_L(model);
    else
        tl_model_weights_C(model);
}
