/* BLAS and LAPACK, behind matrices in C order. */
#define _GNU_SOURCE /* dladdr; NOLINT(bugprone-reserved-identifier) */
#include "base/alone.h"
#include "base/monitor.h"
#include "linalg/linalg.h"

#include <cblas.h>
#include <dlfcn.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

/* Looks up a symbol in the library that computes products and in the libraries that it needs. A
 * process may have a second BLAS, which another library has brought along. */
static void *find_in_blas(const char *symbol)
{
    void *product = dlsym(RTLD_DEFAULT, "cblas_dgemm"), *found = NULL, *library;
    Dl_info info;
    if (product == NULL || dladdr(product, &info) == 0)
        return NULL;
    library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) {
        found = dlsym(library, symbol);
        dlclose(library);
    }
    return found;
}

const char *tlnmf_blas(void)
{
    char *(*config)(void) = NULL;
    void *symbol = find_in_blas("openblas_get_config");
    memcpy(&config, &symbol, sizeof config); /* ISO C has no cast from data to functions */
    if (config != NULL)
        return config();
    return find_in_blas("bli_info_get_version_str") != NULL ? "BLIS" : "unknown";
}

/* OpenBLAS rewrites the same buffer at each call. */
static pthread_mutex_t blas_name_lock = PTHREAD_MUTEX_INITIALIZER;

void tl_blas_name(char name[TL_BLAS_NAME])
{
    pthread_mutex_lock(&blas_name_lock);
    snprintf(name, TL_BLAS_NAME, "%s", tlnmf_blas());
    pthread_mutex_unlock(&blas_name_lock);
}

tlnmf_error tl_check_size(tlnmf_ctx *ctx, const char *name, int64_t size)
{
    if (size > INT_MAX)
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE, "%s = %lld is more than BLAS can count (%d)", name,
                       (long long)size, INT_MAX);
    return TLNMF_OK;
}

void tl_gemv_transposed(int64_t rows, int64_t columns, const double *A, const double *x, double *y)
{
    TL_ALONE;
    cblas_dgemv(CblasRowMajor, CblasTrans, (int)rows, (int)columns, 1.0, A, (int)columns, x, 1, 0.0,
                y, 1);
}

double tl_orthogonality(int64_t M, const double *A, double *scratch)
{
    tl_gram(M, M, 1.0, A, scratch);
    double worst = 0.0;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b <= a; b++) {
            double off = fabs(scratch[a * M + b] - (a == b ? 1.0 : 0.0));
            worst = off > worst || isnan(off) ? off : worst; /* NaN stays: nothing exceeds it */
        }
    return worst;
}

tlnmf_error tl_check_finite(tlnmf_ctx *ctx, const char *name, int64_t rows, int64_t columns,
                            const double *A)
{
    for (int64_t i = 0; i < rows * columns; i++)
        if (!isfinite(A[i]))
            return tl_fail(ctx, TLNMF_ERR_DATA, "%s is not finite at row %lld, column %lld", name,
                           (long long)(i / columns), (long long)(i % columns));
    return TLNMF_OK;
}

tlnmf_error tl_check_orthogonal_to(tlnmf_ctx *ctx, const char *name, int64_t M, const double *A,
                                   double most, double *off)
{
    double *scratch;
    void *block;
    tl_slot table[] = {TL_SLOT(scratch, M * M)};
    TRY(tl_check_finite(ctx, name, M, M, A));
    TRY(TL_ARENA(ctx, "checking Phi", table, &block));
    *off = tl_orthogonality(M, A, scratch);
    tl_release(&ctx->hooks, block);
    if (!(*off <= most))
        return tl_fail(
            ctx, TLNMF_ERR_DATA,
            "%s is not orthogonal: Phi Phi' differs from I by %.3g (at most %g). Use its "
            "polar factor U V', where U S V' is its singular value decomposition",
            name, *off, most);
    return TLNMF_OK;
}

tlnmf_error tl_check_orthogonal(tlnmf_ctx *ctx, const char *name, int64_t M, const double *A)
{
    double off;
    return tl_check_orthogonal_to(ctx, name, M, A, 1e-8, &off);
}

/* The workspace size that a LAPACK query returned in `answer`. */
static int64_t work_size(double answer)
{
    return tl_max((int64_t)answer, 1);
}

static tlnmf_error lapack_failed(tlnmf_ctx *ctx, const char *routine, int info)
{
    return tl_fail(ctx, TLNMF_ERR_NUMERIC, "LAPACK's %s failed (info = %d)", routine, info);
}

/* By singular values: slow, but always works. */
static tlnmf_error polar_by_svd(tlnmf_ctx *ctx, int64_t M, double *A)
{
    TL_ALONE;
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
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, m, m, 1.0, U, m, Vt, m, 0.0, A,
                    m);
    tl_release(&ctx->hooks, block);
    return info == 0 ? TLNMF_OK : lapack_failed(ctx, "dgesvd", info);
}

bool tl_polar_step(int64_t M, double g, double *X, double *inverse, double *work, int *pivot,
                   double *change)
{
    TL_ALONE;
    enum { TILE = 16 };
    int m = (int)M;
    tl_copy(inverse, X, M * M);
    /* Column-major LAPACK inverts X'; read in C order that is the inverse of X. */
    if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, m, m, inverse, m, pivot) != 0 ||
        LAPACKE_dgetri_work(LAPACK_COL_MAJOR, m, inverse, m, pivot, work, m * TL_LU_BLOCK) != 0)
        return false;
    if (g == 0.0)
        g = sqrt(cblas_dnrm2((int)(M * M), inverse, 1) / cblas_dnrm2((int)(M * M), X, 1));
    double sum = 0.0;
    for (int64_t a0 = 0; a0 < M; a0 += TILE)
        for (int64_t b0 = 0; b0 < M; b0 += TILE)
            for (int64_t a = a0; a < tl_min(a0 + TILE, M); a++)
                for (int64_t b = b0; b < tl_min(b0 + TILE, M); b++) {
                    double now = 0.5 * (g * X[a * M + b] + inverse[b * M + a] / g);
                    sum += (now - X[a * M + b]) * (now - X[a * M + b]);
                    X[a * M + b] = now;
                }
    *change = sqrt(sum);
    return isfinite(sum);
}

/* Newton's iteration until X converges; false if A is singular or it does not converge. */
static bool polar_by_newton(int64_t M, double *X, double *inverse, double *work, int *pivot)
{
    enum { MOST = 40 };
    const double size = sqrt((double)M); /* of an orthogonal matrix */
    for (int it = 0; it < MOST; it++) {
        double change;
        if (!tl_polar_step(M, 0.0, X, inverse, work, pivot, &change))
            return false;
        if (change <= 1e-8 * size) /* the step just taken squared the error */
            return true;
    }
    return false;
}

tlnmf_error tl_polar_with(tlnmf_ctx *ctx, tl_skew *skew, tl_lent lent, double *A)
{
    enum { MANY = 256 }; /* rows from which products are faster and run on all threads */
    int64_t M = skew->M;
    double *X = lent.a;
    if (M >= MANY && tl_polar_by_products(skew, lent, A))
        return TLNMF_OK;
    if (tl_poll(skew->monitor))
        return tl_fail(ctx, TLNMF_ERR_CALLBACK, "stopped while a start was being drawn");
    tl_copy(X, A, M * M);
    /* LAPACK counts the entries of the matrix in int. */
    if (M > 40000 || !polar_by_newton(M, X, lent.b, skew->lu_work, skew->pivot))
        return polar_by_svd(ctx, M, A);
    tl_copy(A, X, M * M);
    return TLNMF_OK;
}

tlnmf_error tl_polar(tlnmf_ctx *ctx, int64_t M, double *A)
{
    tl_skew skew;
    tl_lent lent = {NULL, NULL};
    tl_slot table[2 + TL_SKEW_SLOTS] = {TL_SLOT(lent.a, M * M), TL_SLOT(lent.b, M * M)};
    void *block;
    tl_skew_slots(&skew, M, table + 2);
    TRY(TL_ARENA(ctx, "a polar factor", table, &block));
    tlnmf_error error = tl_polar_with(ctx, &skew, lent, A);
    tl_release(&ctx->hooks, block);
    return error;
}

tlnmf_error tl_qr_create(tlnmf_ctx *ctx, int64_t rows, int64_t M, tl_qr *qr)
{
    *qr = (tl_qr){.rows = rows, .M = M, .hooks = ctx->hooks};
    int s = (int)rows, m = (int)M, r = (int)tl_min(rows, M);
    double plain = 0.0, pivoted = 0.0;
    LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, s, m, NULL, s, NULL, &plain, -1);
    LAPACKE_dgeqp3_work(LAPACK_COL_MAJOR, r, m, NULL, r, NULL, NULL, &pivoted, -1);
    qr->work_length = tl_max(work_size(plain), work_size(pivoted));
    tl_slot table[] = {TL_SLOT(qr->tau, M), TL_SLOT(qr->work, qr->work_length),
                       TL_SLOT(qr->triangle, rows > M ? M * M : 0), TL_SLOT(qr->pivot, M)};
    return TL_ARENA(ctx, "a QR factorisation", table, &qr->block);
}

void tl_qr_free(tl_qr *qr)
{
    tl_release(&qr->hooks, qr->block);
}

/* Entry (i, j) of the upper triangle of a column-major matrix with `rows` rows, 0 below it. */
static double upper(const double *A, int64_t rows, int64_t i, int64_t j)
{
    return i <= j ? A[j * rows + i] : 0.0;
}

tlnmf_error tl_qr_rows(tlnmf_ctx *ctx, tl_qr *qr, double *A, double *R)
{
    TL_ALONE;
    int64_t M = qr->M, count = tl_min(qr->rows, M);
    int m = (int)M, r = (int)count, lwork = (int)qr->work_length;
    if (qr->rows > M) { /* tall: a fast QR without pivoting, then a pivoted QR of its triangle */
        int s = (int)qr->rows;
        int info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, s, m, A, s, qr->tau, qr->work, lwork);
        if (info != 0)
            return lapack_failed(ctx, "dgeqrf", info);
        for (int64_t j = 0; j < M; j++)
            for (int64_t i = 0; i < M; i++)
                qr->triangle[j * M + i] = upper(A, qr->rows, i, j);
        A = qr->triangle;
    }
    for (int64_t j = 0; j < M; j++)
        qr->pivot[j] = 0; /* 0: LAPACK may move this column */
    int info =
        LAPACKE_dgeqp3_work(LAPACK_COL_MAJOR, r, m, A, r, qr->pivot, qr->tau, qr->work, lwork);
    if (info != 0)
        return lapack_failed(ctx, "dgeqp3", info);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < M; j++)
            R[i * M + qr->pivot[j] - 1] = upper(A, count, i, j);
    return TLNMF_OK;
}

tlnmf_error tl_eigen_create(tlnmf_ctx *ctx, int64_t M, tl_eigen *eigen)
{
    *eigen = (tl_eigen){.M = M, .hooks = ctx->hooks};
    double work = 0.0;
    int iwork = 0;
    LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', (int)M, NULL, (int)M, NULL, &work, -1, &iwork,
                        -1);
    eigen->work_length = work_size(work);
    eigen->iwork_length = tl_max(iwork, 1);
    tl_slot table[] = {TL_SLOT(eigen->lambda, M), TL_SLOT(eigen->work, eigen->work_length),
                       TL_SLOT(eigen->iwork, eigen->iwork_length)};
    return TL_ARENA(ctx, "an eigenvalue decomposition", table, &eigen->block);
}

void tl_eigen_free(tl_eigen *eigen)
{
    tl_release(&eigen->hooks, eigen->block);
}

tlnmf_error tl_eigen_solve(tlnmf_ctx *ctx, tl_eigen *eigen, double *A)
{
    TL_ALONE;
    int m = (int)eigen->M;
    int info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', m, A, m, eigen->lambda, eigen->work,
                                   (int)eigen->work_length, eigen->iwork, (int)eigen->iwork_length);
    return info == 0 ? TLNMF_OK : lapack_failed(ctx, "dsyevd", info);
}
