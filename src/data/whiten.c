/* Whitening: data whose mean covariance is the identity, and the maps to and from them. */
#include "data/data.h"
#include "linalg/linalg.h"

#include <math.h>

/* The mean of the (weighted) covariances; `scaled` (M x T) is scratch. */
static void mean_covariance(const tlnmf_data *data, double *scaled, double *mean)
{
    int64_t M = data->M, T = data->T;
    for (int64_t n = 0; n < data->N; n++) {
        double root = data->weighted ? sqrt(data->weight[n]) : 1.0;
        for (int64_t m = 0; m < M; m++)
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                scaled[m * T + t] = root * data->R[m * T + t];
    }
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, M, T, 1.0 / (double)data->all, scaled, T, scaled, T, 0.0,
            mean, M);
    tl_comm_add(data->frames_comm, mean, M * M);
}

/* P = diag(lambda)^-1/2 E and back = E' diag(lambda)^1/2, from the eigenvectors E, one per row. */
static tlnmf_error split(tlnmf_ctx *ctx, int64_t M, const double *lambda, const double *E,
                         double *P, double *back)
{
    const double least =
        1e-12; /* of the largest eigenvalue: directions below are rounding errors */
    int64_t missing = 0;
    for (int64_t i = 0; i < M; i++)
        missing += !(lambda[i] > least * lambda[M - 1]);
    if (missing > 0)
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "whiten: the mean covariance has rank %lld of %lld: omit %lld channel%s",
                       (long long)(M - missing), (long long)M, (long long)missing,
                       missing == 1 ? "" : "s");
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < M; j++) {
            P[i * M + j] = E[i * M + j] / sqrt(lambda[i]);
            back[j * M + i] = E[i * M + j] * sqrt(lambda[i]);
        }
    return TLNMF_OK;
}

tlnmf_error tl_data_whiten(tlnmf_ctx *ctx, const tlnmf_data *data, double *P, double *back,
                           tlnmf_data **out)
{
    int64_t M = data->M, T = data->T;
    tl_eigen eigen = {.hooks = ctx->hooks};
    double *E = NULL;
    void *block = NULL;
    tl_slot table[] = {TL_SLOT(E, M * M)};
    *out = NULL;
    tlnmf_error error = tl_data_copy(ctx, data, out);
    if (error == TLNMF_OK)
        error = TL_ARENA(ctx, "whitening", table, &block);
    if (error == TLNMF_OK)
        error = tl_eigen_create(ctx, M, &eigen);
    error = tl_comm_agree(ctx, data->frames_comm, error);
    if (error == TLNMF_OK && E != NULL) {
        mean_covariance(data, (*out)->R, E);
        error = tl_eigen_solve(ctx, &eigen, E);
        if (error == TLNMF_OK)
            error = split(ctx, M, eigen.lambda, E, P, back);
    }
    if (error == TLNMF_OK) {
        tl_comm_broadcast(data->frames_comm, P, M * M);
        tl_comm_broadcast(data->frames_comm, back, M * M);
        tl_gemm(TL_PLAIN, TL_PLAIN, M, T, M, 1.0, P, M, data->R, T, 0.0, (*out)->R, T);
        (*out)->mean_power = 1.0;
        (*out)->mean_square = 0.0;
    }
    tl_eigen_free(&eigen);
    tl_release(&ctx->hooks, block);
    if (error != TLNMF_OK) {
        tlnmf_data_free(*out);
        *out = NULL;
    }
    return error;
}
