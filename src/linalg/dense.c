/* BLAS and LAPACK, behind matrices in C order. */
#include "linalg/linalg.h"

#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>

/* OpenBLAS describes itself; other implementations have no such function. */
extern char *openblas_get_config(void) __attribute__((weak));

const char *tlnmf_blas(void)
{
    return openblas_get_config != NULL ? openblas_get_config() : "a BLAS that does not tell its name";
}

tlnmf_error tl_check_size(tlnmf_ctx *ctx, const char *name, int64_t size)
{
    if (size > INT_MAX)
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE, "%s = %lld is more than BLAS can count (%d)", name,
                       (long long)size, INT_MAX);
    return TLNMF_OK;
}

void tl_gemm(tl_op opA, tl_op opB, int64_t m, int64_t n, int64_t k, double alpha, const double *A,
             int64_t lda, const double *B, int64_t ldb, double beta, double *C, int64_t ldc)
{
    cblas_dgemm(CblasRowMajor, opA == TL_PLAIN ? CblasNoTrans : CblasTrans,
                opB == TL_PLAIN ? CblasNoTrans : CblasTrans, (int)m, (int)n, (int)k, alpha, A,
                (int)lda, B, (int)ldb, beta, C, (int)ldc);
}

void tl_gram(int64_t n, int64_t k, double alpha, const double *A, double *C)
{
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)n, (int)k, alpha, A, (int)k, 0.0, C,
                (int)n);
    /* Mirrored in square tiles: a whole row against a whole column would miss the cache. */
    enum { TILE = 16 };
    for (int64_t a0 = 0; a0 < n; a0 += TILE)
        for (int64_t b0 = 0; b0 <= a0; b0 += TILE)
            for (int64_t a = a0; a < tl_min(a0 + TILE, n); a++)
                for (int64_t b = b0; b < tl_min(b0 + TILE, a); b++)
                    C[b * n + a] = C[a * n + b];
}

double tl_orthogonality(int64_t M, const double *A, double *scratch)
{
    tl_gram(M, M, 1.0, A, scratch);
    double worst = 0.0;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b <= a; b++)
            worst = fmax(worst, fabs(scratch[a * M + b] - (a == b ? 1.0 : 0.0)));
    return worst;
}

/* The size that a LAPACK query left in `answer`. */
static int64_t work_size(double answer)
{
    return tl_max((int64_t)answer, 1);
}

static tlnmf_error lapack_failed(tlnmf_ctx *ctx, const char *routine, int info)
{
    return tl_fail(ctx, TLNMF_ERR_NUMERIC, "LAPACK's %s failed (info = %d)", routine, info);
}

tlnmf_error tl_polar(tlnmf_ctx *ctx, int64_t M, double *A)
{
    int m = (int)M;
    double query, *work, *sigma, *U, *Vt;
    LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'A', 'A', m, m, A, m, NULL, NULL, m, NULL, m, &query, -1);
    int64_t lwork = work_size(query);
    tl_slot table[] = {TL_SLOT(work, lwork), TL_SLOT(sigma, M), TL_SLOT(U, M * M),
                       TL_SLOT(Vt, M * M)};
    void *block;
    TRY(TL_ARENA(ctx, "a polar factor", table, &block));
    /* Column-major LAPACK sees A', whose factors are those of A with their roles exchanged. */
    int info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'A', 'A', m, m, A, m, sigma, U, m, Vt, m, work,
                                   (int)lwork);
    if (info == 0)
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, m, m, 1.0, U, m, Vt, m, 0.0, A, m);
    tl_release(&ctx->hooks, block);
    return info == 0 ? TLNMF_OK : lapack_failed(ctx, "dgesvd", info);
}

tlnmf_error tl_svd_create(tlnmf_ctx *ctx, int64_t rows, int64_t M, tl_svd *svd)
{
    *svd = (tl_svd){.rows = rows, .M = M, .hooks = ctx->hooks};
    int r = (int)tl_min(rows, M), s = (int)rows, m = (int)M;
    double query_svd, query_qr = 0.0;
    LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'N', 'O', r, m, NULL, r, NULL, NULL, r, NULL, m, &query_svd,
                        -1);
    if (rows > M)
        LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, s, m, NULL, s, NULL, &query_qr, -1);
    svd->work_length = tl_max(work_size(query_svd), work_size(query_qr));
    tl_slot table[] = {TL_SLOT(svd->work, svd->work_length), TL_SLOT(svd->sigma, r),
                       TL_SLOT(svd->tau, M), TL_SLOT(svd->triangle, rows > M ? M * M : 0)};
    return TL_ARENA(ctx, "a singular value decomposition", table, &svd->block);
}

void tl_svd_free(tl_svd *svd)
{
    tl_release(&svd->hooks, svd->block);
}

tlnmf_error tl_svd_right(tlnmf_ctx *ctx, tl_svd *svd, double *A, const double **vectors,
                         int64_t *stride)
{
    int s = (int)svd->rows, m = (int)svd->M, r = (int)tl_min(svd->rows, svd->M);
    int lwork = (int)svd->work_length;
    if (svd->rows > svd->M) { /* A' A = R' R: only the triangle goes on */
        int info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, s, m, A, s, svd->tau, svd->work, lwork);
        if (info != 0)
            return lapack_failed(ctx, "dgeqrf", info);
        for (int64_t j = 0; j < svd->M; j++)
            for (int64_t i = 0; i < svd->M; i++)
                svd->triangle[j * svd->M + i] = i <= j ? A[j * svd->rows + i] : 0.0;
        A = svd->triangle;
    }
    int info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'N', 'O', r, m, A, r, svd->sigma, NULL, r, NULL,
                                   m, svd->work, lwork);
    *vectors = A;
    *stride = r;
    return info == 0 ? TLNMF_OK : lapack_failed(ctx, "dgesvd", info);
}

int64_t tl_eigen_work(int64_t M)
{
    double query = 0.0;
    LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', (int)M, NULL, (int)M, NULL, &query, -1);
    return work_size(query);
}

tlnmf_error tl_eigen(tlnmf_ctx *ctx, int64_t M, double *A, double *lambda, double *work)
{
    int info = LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', (int)M, A, (int)M, lambda, work,
                                  (int)tl_eigen_work(M));
    return info == 0 ? TLNMF_OK : lapack_failed(ctx, "dsyev", info);
}
