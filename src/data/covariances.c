/* Data from covariances: each is factored into columns with the same outer product. */
#include "data/making.h"
#include "linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double SLACK = 1e-6; /* accepted as rounding of single precision */

/* Makes a covariance symmetric. *rounding: the largest relative asymmetry so far. */
static tlnmf_error symmetrise(const tl_making *r, int64_t n, double *A, double *rounding)
{
    double most = 0.0, skew = 0.0;
    tlnmf_ctx *ctx = r->ctx;
    int64_t M = r->M, row = 0, column = 0;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b <= a; b++) {
            double off = fabs(A[a * M + b] - A[b * M + a]);
            most = fmax(most, fabs(A[a * M + b]));
            row = off > skew ? b : row;
            column = off > skew ? a : column;
            skew = fmax(skew, off);
            A[a * M + b] = A[b * M + a] = 0.5 * (A[a * M + b] + A[b * M + a]);
        }
    if (skew > SLACK * most)
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "covariance %lld is not symmetric: entries (%lld, %lld) and (%lld, %lld) "
                       "differ by %.3g of %.3g",
                       (long long)n, (long long)row, (long long)column, (long long)column,
                       (long long)row, skew, most);
    if (most > 0.0)
        *rounding = fmax(*rounding, skew / most);
    return TLNMF_OK;
}

/* Factors a symmetric matrix whose rank may be lower: eigenvectors times the roots of the
 * eigenvalues. *rounding: the largest relative negative eigenvalue so far. */
static tlnmf_error factor_semidefinite(const tl_making *r, int64_t n, tl_eigen *eigen, double *A,
                                       double *rounding)
{
    tlnmf_ctx *ctx = r->ctx;
    int64_t M = r->M;
    double most = 0.0;
    for (int64_t i = 0; i < M * M; i++)
        most = fmax(most, fabs(A[i]));
    TRY(tl_eigen_solve(ctx, eigen, A));
    double least = eigen->lambda[0], top = eigen->lambda[M - 1];
    if (least < -SLACK * fmax(top, most))
        return tl_fail(
            ctx, TLNMF_ERR_DATA,
            "covariance %lld is not positive semidefinite (least eigenvalue %.3g of %.3g)",
            (long long)n, least, top);
    if (most > 0.0)
        *rounding = fmax(*rounding, -least / most);
    int64_t rank = 0; /* the largest come last */
    while (rank < M && eigen->lambda[M - 1 - rank] > 4.0 * DBL_EPSILON * top)
        rank++;
    for (int64_t i = M - rank; i < M; i++)
        for (int64_t m = 0; m < M; m++)
            A[i * M + m] *= sqrt(eigen->lambda[i]);
    return tl_making_keep(ctx, r, n, rank, A + (M - rank) * M, 1.0);
}

/* Factors one covariance, A: by Cholesky, faster than eigenvectors, if it is safely
 * definite. `L` is scratch. */
static tlnmf_error factor_covariance(const tl_making *r, int64_t n, tl_eigen *eigen, double *A,
                                     double *L, double *rounding)
{
    const double safe = 1e-8; /* least pivot, relative to the largest variance */
    double most = 0.0;
    int64_t M = r->M;
    TRY(symmetrise(r, n, A, rounding));
    for (int64_t m = 0; m < M; m++)
        most = fmax(most, A[m * M + m]);
    tl_copy(L, A, M * M);
    if (!tl_cholesky(M, L, safe * most))
        return factor_semidefinite(r, n, eigen, A, rounding);
    for (int64_t i = 0; i < M; i++)
        memset(L + i * M, 0, (size_t)i * sizeof *L);
    return tl_making_keep(r->ctx, r, n, M, L, 1.0);
}

tlnmf_error tl_factor_covariances(tl_making *r)
{
    tlnmf_ctx *ctx = r->ctx;
    const double usual = 1e-10; /* rounding of double precision */
    int64_t M = r->M;
    double *A, *L;
    void *block;
    tl_slot table[] = {TL_SLOT(A, M * M), TL_SLOT(L, M * M)};
    TRY(TL_ARENA(ctx, "a covariance", table, &block));
    tl_eigen eigen;
    tlnmf_error error = tl_eigen_create(ctx, M, &eigen);
    for (int64_t n = 0; n < r->N && error == TLNMF_OK; n++) {
        memcpy(A, r->in + n * M * M, (size_t)(M * M) * sizeof *A);
        error = factor_covariance(r, n, &eigen, A, L, &r->rounding);
        if (error == TLNMF_OK && tl_making_stops(ctx, (double)(n + 1), (double)r->N))
            error = tl_making_stopped(ctx);
    }
    if (error == TLNMF_OK && r->rounding > usual)
        tl_log(ctx, TLNMF_LOG_WARNING,
               "the covariances are symmetric and positive semidefinite only to %.1g of their "
               "largest entries, as in single precision; the nearest symmetric positive "
               "semidefinite matrices are used",
               r->rounding);
    tl_eigen_free(&eigen);
    tl_release(&ctx->hooks, block);
    return error;
}

/* Eigenvalues are at most M times the largest entry, which must also fit a double. */
tlnmf_error tl_measure_traces(tl_making *r)
{
    tlnmf_ctx *ctx = r->ctx;
    int64_t M = r->M, N = r->N;
    double sum = 0.0, largest = 0.0;
    for (int64_t n = 0; n < N; n++)
        for (int64_t a = 0; a < M; a++)
            for (int64_t b = 0; b < M; b++) {
                double x = r->in[(n * M + a) * M + b];
                if (!isfinite(x))
                    return tl_fail(ctx, TLNMF_ERR_DATA,
                                   "covariance %lld, row %lld, column %lld is not finite (%g)",
                                   (long long)n, (long long)a, (long long)b, x);
                sum += a == b ? x : 0.0;
                largest = fmax(largest, fabs(x));
            }
    if (!isfinite(sum) || !(largest <= 0.5 * DBL_MAX / (double)M))
        return tl_data_check_power(ctx, INFINITY, largest);
    r->mean = N > 0 ? sum / ((double)N * (double)M) : 0.0;
    if (ctx->frames_comm != NULL && r->mean == 0.0)
        return TLNMF_OK; /* other processes may have power */
    if (!(r->mean >= DBL_MIN))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "the covariances have a mean power of %g: it must be positive", r->mean);
    return TLNMF_OK;
}
