/* Solves symmetric positive semidefinite systems, singular ones included. */
#include "base/alone.h"
#include "linalg/linalg.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>

bool tl_cholesky(int64_t n, double *A, double tol)
{
    TL_ALONE;
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)n, A, (int)n) != 0)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (!(A[i * n + i] * A[i * n + i] > tol))
            return false;
    return true;
}

static void solve_triangles(int n, int rank, const double *L, int64_t count, double *B)
{
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, rank, (int)count,
                1.0, L, n, B, n);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, rank, (int)count,
                1.0, L, n, B, n);
}

/* P'AP = LL', whose rank is the number of pivots above tol; the other unknowns are 0. */
static tlnmf_error solve_pivoted(tlnmf_ctx *ctx, int n, double *A, double tol, int64_t count,
                                 double *B)
{
    int *pivot, rank = 0;
    double *work, *b;
    tl_slot table[] = {TL_SLOT(pivot, n), TL_SLOT(work, 2 * (int64_t)n), TL_SLOT(b, n)};
    void *block;
    TRY(TL_ARENA(ctx, "a pivoted factorisation", table, &block));
    int info = LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'L', n, A, n, pivot, &rank, tol, work);
    for (int64_t k = 0; info >= 0 && k < count; k++) {
        for (int64_t i = 0; i < n; i++)
            b[i] = i < rank ? B[k * n + pivot[i] - 1] : 0.0;
        solve_triangles(n, rank, A, 1, b);
        for (int64_t i = 0; i < n; i++)
            B[k * n + pivot[i] - 1] = b[i];
    }
    tl_release(&ctx->hooks, block);
    return info >= 0 ? TLNMF_OK
                     : tl_fail(ctx, TLNMF_ERR_NUMERIC, "LAPACK's dpstrf failed (info = %d)", info);
}

tlnmf_error tl_solve_semidefinite(tlnmf_ctx *ctx, int64_t n, double *A, int64_t count, double *B)
{
    TL_ALONE;
    TRY(tl_check_size(ctx, "n", n));
    TRY(tl_check_size(ctx, "count", count));
    double *copy, largest = 0.0;
    tl_slot table[] = {TL_SLOT(copy, n * n)};
    void *block;
    TRY(TL_ARENA(ctx, "a symmetric system", table, &block));
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, A[i * n + i]);
    double tol = (double)n * DBL_EPSILON * largest;
    tl_copy(copy, A, n * n);
    bool definite = tl_cholesky(n, copy, tol);
    if (definite)
        solve_triangles((int)n, (int)n, copy, count, B);
    tl_release(&ctx->hooks, block);
    return definite ? TLNMF_OK : solve_pivoted(ctx, (int)n, A, tol, count, B);
}
