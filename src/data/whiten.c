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

/* Chooses *R, the number of principal components to keep: `wanted`, or the rank if it is 0, or all
 * M if it is negative. `rounding` is the relative error of the covariances. */
static tlnmf_error choose_rank(tlnmf_ctx *ctx, int64_t M, const double *lambda, double rounding,
                               int64_t wanted, int64_t *R)
{
    /* Eigenvalues below this fraction of the largest are rounding errors. The error of an
     * eigenvalue is up to a few times that of the entries. */
    const double least = fmax(1e-12, 8.0 * rounding);
    int64_t rank = 0;
    for (int64_t i = 0; i < M; i++)
        rank += lambda[i] > 0.0 && lambda[i] > least * lambda[M - 1];
    if (rank == 0)
        return tl_fail(ctx, TLNMF_ERR_DATA, "whiten: the weighted mean covariance is 0");
    *R = wanted < 0 ? M : wanted == 0 ? rank : wanted;
    if (wanted < 0 && rank < M)
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "whiten: the mean covariance has rank %lld of %lld, as after an average "
                       "reference; use rank-reduce %lld to keep its %lld principal component%s",
                       (long long)rank, (long long)M, (long long)rank, (long long)rank,
                       rank == 1 ? "" : "s");
    if (*R > rank)
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "rank-reduce = %lld exceeds the rank of the mean covariance, %lld",
                       (long long)wanted, (long long)rank);
    return TLNMF_OK;
}

/* P = diag(lambda)^-1/2 E (R x M) and back = E' diag(lambda)^1/2 (M x R), from the last R of the M
 * eigenvectors E, one per row. */
static void split(int64_t M, int64_t R, const double *lambda, const double *E, double *P,
                  double *back)
{
    for (int64_t r = 0, i = M - R; r < R; r++, i++)
        for (int64_t j = 0; j < M; j++) {
            P[r * M + j] = E[i * M + j] / sqrt(lambda[i]);
            back[j * R + r] = E[i * M + j] * sqrt(lambda[i]);
        }
}

tlnmf_error tl_data_whiten(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t wanted, double *P,
                           double *back, tlnmf_data **out)
{
    int64_t M = data->M, T = data->T, R = M;
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
        double rounding = tl_comm_max(data->frames_comm, data->rounding);
        mean_covariance(data, (*out)->R, E);
        error = tl_eigen_solve(ctx, &eigen, E);
        if (error == TLNMF_OK)
            error = choose_rank(ctx, M, eigen.lambda, rounding, wanted, &R);
        if (error == TLNMF_OK)
            split(M, R, eigen.lambda, E, P, back);
        error = tl_comm_agree(ctx, data->frames_comm, error);
    }
    if (error == TLNMF_OK) {
        double rank = (double)R; /* rounding may differ between processes */
        tl_comm_broadcast(data->frames_comm, &rank, 1);
        (*out)->M = R = (int64_t)rank;
        tl_comm_broadcast(data->frames_comm, P, R * M);
        tl_comm_broadcast(data->frames_comm, back, M * R);
        tl_gemm(TL_PLAIN, TL_PLAIN, R, T, M, 1.0, P, M, data->R, T, 0.0, (*out)->R, T);
        (*out)->mean_power = 1.0;
        (*out)->mean_square = (*out)->drift_square = 0.0;
    }
    tl_eigen_free(&eigen);
    tl_release(&ctx->hooks, block);
    if (error != TLNMF_OK) {
        tlnmf_data_free(*out);
        *out = NULL;
    }
    return error;
}
