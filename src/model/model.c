#include "model/model.h"

#include <math.h>
#include <string.h>

/* What the gradient and sweeps need; where a frame is a column, a sweep reads U itself. */
static int64_t scratch_room(const tlnmf_data *data)
{
    int64_t sweep = data->one_each ? 0 : (int64_t)2 * TL_SWEEP_BLOCK * data->T;
    return tl_max(tl_gradient_room(data), sweep);
}

enum { OWN_SLOTS = 11, SLOTS = OWN_SLOTS + TL_SKEW_SLOTS + TL_MU_SLOTS };

/* Sets the sizes, and the table of what they need. */
static void lay_out(tl_model *model, const tlnmf_data *data, int64_t K, tl_slot table[SLOTS])
{
    int64_t M = model->M = data->M, N = model->N = data->N, T = model->T = data->T;
    model->K = K;
    const tl_slot own[OWN_SLOTS] = {TL_SLOT(model->Phi, M * M),
                                    TL_SLOT(model->Phi_new, M * M),
                                    TL_SLOT(model->Gamma, M * M),
                                    TL_SLOT(model->W, M * K),
                                    TL_SLOT(model->H, K * N),
                                    TL_SLOT(model->X, M * T),
                                    TL_SLOT(model->V, M * N),
                                    TL_SLOT(model->U, M * N),
                                    TL_SLOT(model->G, M * M),
                                    TL_SLOT(model->E, M * M),
                                    TL_SLOT(model->UX, scratch_room(data))};
    memcpy(table, own, sizeof own);
    tl_skew_slots(&model->skew, M, table + OWN_SLOTS);
    tl_mu_slots(&model->mu, M, N, K, table + OWN_SLOTS + TL_SKEW_SLOTS);
}

size_t tl_model_bytes(const tlnmf_data *data, int64_t K)
{
    tl_model model;
    tl_slot table[SLOTS];
    lay_out(&model, data, K, table);
    return TL_ARENA_BYTES(table);
}

tlnmf_error tl_model_create(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t K, double eps,
                            double gamma, tl_model *model)
{
    *model = (tl_model){.data = data, .eps = eps, .hooks = ctx->hooks};
    tl_slot table[SLOTS];
    lay_out(model, data, K, table);
    model->mu.gamma = gamma;
    return TL_ARENA(ctx, "the model", table, &model->block);
}

void tl_model_free(tl_model *model)
{
    tl_release(&model->hooks, model->block);
}

void tl_model_refresh(tl_model *model)
{
    int64_t M = model->M, T = model->T;
    tl_gemm(TL_PLAIN, TL_PLAIN, M, T, M, 1.0, model->Phi, M, model->data->R, T, 0.0, model->X, T);
    tl_power(model->data, model->X, model->V);
}

void tl_model_weights_C(tl_model *model)
{
    tl_weights(model->M, model->N, model->K, model->W, model->H, model->eps, model->U);
}

void tl_model_weights_L_at(tl_model *model, double floor)
{
    int64_t N = model->N;
    tl_inverse(model->M * N, model->V, floor, model->U);
    for (int64_t m = 0; model->data->weighted && m < model->M; m++)
        for (int64_t n = 0; n < N; n++)
            model->U[m * N + n] *= model->data->weight[n];
}

void tl_model_weights_L(tl_model *model)
{
    tl_model_weights_L_at(model, model->eps);
}

double tl_model_C(const tl_model *model)
{
    int64_t count = model->M * model->N; /* log(Vhat + eps) = -log U */
    return tl_sum_product(count, model->V, model->eps, model->U) - tl_sum_log(count, model->U, 0.0);
}

double tl_model_I(const tl_model *model)
{
    return tl_divergence(model->M * model->N, model->V, model->eps, model->U);
}

double tl_model_L(const tl_model *model)
{
    int64_t N = model->N, count = model->M * N;
    if (!model->data->weighted)
        return (double)count + tl_sum_log(count, model->V, model->eps);
    double sum = (double)count;
    for (int64_t m = 0; m < model->M; m++)
        for (int64_t n = 0; n < N; n++)
            sum += model->data->weight[n] * log(model->V[m * N + n] + model->eps);
    return sum;
}

tl_values tl_model_values(tl_model *model)
{
    tl_values values = {.C = NAN, .L = tl_model_L(model), .I = NAN};
    if (model->K > 0) {
        tl_model_weights_C(model);
        values.C = tl_model_C(model);
        values.I = tl_model_I(model);
    }
    return values;
}

double tl_model_gradient_norm(tl_model *model)
{
    int64_t M = model->M;
    tl_gradient(model->data, model->skew.arithmetic, model->X, model->U, model->UX, model->G);
    double sum = 0.0;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < a; b++) {
            double anti = 0.5 * (model->G[a * M + b] - model->G[b * M + a]);
            sum += 2.0 * anti * anti;
        }
    return sqrt(sum) / (2.0 * (double)model->N);
}

tl_lent tl_model_lend(tl_model *model)
{
    return (tl_lent){model->Phi_new, model->Gamma};
}

void tl_model_try(tl_model *model, tl_retraction how, double a)
{
    int64_t M = model->M, T = model->T;
    tl_skew_turn(&model->skew, how, a, model->Phi, tl_model_lend(model), model->G, model->Phi_new);
    tl_multiply(model->skew.arithmetic, &(tl_product){TL_PLAIN, M, T, M, 1.0, model->Phi_new, M,
                                                      model->data->R, T, 0.0, model->X, T});
    tl_power(model->data, model->X, model->V);
}

void tl_model_try_Phi(tl_model *model, const double *Phi)
{
    int64_t M = model->M, T = model->T;
    tl_copy(model->Phi_new, Phi, M * M);
    tl_gemm(TL_PLAIN, TL_PLAIN, M, T, M, 1.0, Phi, M, model->data->R, T, 0.0, model->X, T);
    tl_power(model->data, model->X, model->V);
}

void tl_model_accept(tl_model *model)
{
    double *Phi_new = model->Phi_new;
    model->Phi_new = model->Phi;
    model->Phi = Phi_new;
}
