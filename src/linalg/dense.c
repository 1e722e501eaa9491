/* BLAS and LAPACK, behind matrices in C order. */
#include "linalg/alone.h"
#include "linalg/linalg.h"

#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

/* OpenBLAS describes itself; other implementations have no such function. */
extern char *openblas_get_config(void) __attribute__((weak));

const char *tlnmf_blas(void)
{
    return openblas_get_config != NULL ? openblas_get_config()
                                       : "a BLAS that does not tell its name";
}

/* OpenBLAS puts its text together anew at each call, always at the same place. */
void tl_blas_name(char name[TL_BLAS_NAME])
{
#pragma omp critical(tl_blas_name)
    snprintf(name, TL_BLAS_NAME, "%s", tlnmf_blas());
}

tlnmf_error tl_check_size(tlnmf_ctx *ctx, const char *name, int64_t size)
{
    if (size > INT_MAX)
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE, "%s = %lld is more than BLAS can count (%d)", name,
                       (long long)size, INT_MAX);
    return TLNMF_OK;
}

/* ---- products in tiles ----------------------------------------------------------------------- */

/* A product in tiles, each a call of BLAS on one thread: how it is cut depends on its shape alone,
 * and so do its bits. Larger tiles would cost one thread less (BLAS copies its inputs for every
 * tile), and leave more threads without one. */
typedef struct tiling {
    tl_op opA, opB;
    int64_t m, n, k;
    double alpha, beta;
    const double *A, *B;
    int64_t lda, ldb, ldc;
    double *C;
    int64_t rows, columns; /* of a tile */
    int64_t across;        /* tiles in a row of them */
} tiling;

static int64_t tiles(int64_t length, int64_t tile)
{
    return (length + tile - 1) / tile;
}

/* Equal tiles of about this length, in multiples of 8, as long as BLAS's vectors. */
static int64_t evenly(int64_t length, int64_t about)
{
    int64_t each = tiles(length, tiles(length, about));
    return tl_min(length, (each + 7) / 8 * 8);
}

/* Halves tiles until there are enough, or they are too small to be worth a call (14 to 40 us). */
static void choose_tiles(tiling *t)
{
    enum { ENOUGH = 16, ROWS = 128, LEAST_ROWS = 16, COLUMNS = 512, LEAST_COLUMNS = 64 };
    const double least = t->opB == TL_PLAIN ? 7e5 : 2e6; /* BLAS packs all of B for each tile */
    int64_t rows = ROWS, columns = COLUMNS;
    for (;;) {
        t->rows = evenly(t->m, rows);
        t->columns = evenly(t->n, columns);
        if (tiles(t->m, t->rows) * tiles(t->n, t->columns) >= ENOUGH ||
            2.0 * (double)t->rows * (double)t->columns * (double)t->k < 2.0 * least)
            break;
        if (t->rows > LEAST_ROWS && 4 * t->rows >= t->columns)
            rows = tl_max(t->rows / 2, LEAST_ROWS);
        else if (t->columns > LEAST_COLUMNS)
            columns = tl_max(t->columns / 2, LEAST_COLUMNS);
        else
            break;
    }
    t->across = tiles(t->n, t->columns);
}

static void multiply_tile(int64_t tile, int64_t last, void *arg)
{
    TL_ALONE;
    const tiling *t = arg;
    (void)last;
    int64_t i = tile / t->across * t->rows, j = tile % t->across * t->columns;
    const double *A = t->A + (t->opA == TL_PLAIN ? i * t->lda : i);
    const double *B = t->B + (t->opB == TL_PLAIN ? j : j * t->ldb);
    cblas_dgemm(CblasRowMajor, t->opA == TL_PLAIN ? CblasNoTrans : CblasTrans,
                t->opB == TL_PLAIN ? CblasNoTrans : CblasTrans, (int)tl_min(t->rows, t->m - i),
                (int)tl_min(t->columns, t->n - j), (int)t->k, t->alpha, A, (int)t->lda, B,
                (int)t->ldb, t->beta, t->C + i * t->ldc + j, (int)t->ldc);
}

/* The parameters are those of BLAS, in its order. */
void tl_gemm(tl_op opA, tl_op opB, int64_t m, int64_t n, int64_t k, double alpha, const double *A,
             int64_t lda, const double *B, int64_t ldb, double beta, double *C, int64_t ldc)
{
    if (m == 0 || n == 0)
        return;
    if (k == 0) { /* some BLAS refuse a leading dimension of 0 */
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                C[i * ldc + j] = beta == 0.0 ? 0.0 : beta * C[i * ldc + j];
        return;
    }
    tiling t = {.opA = opA,
                .opB = opB,
                .m = m,
                .n = n,
                .k = k,
                .alpha = alpha,
                .beta = beta,
                .A = A,
                .B = B,
                .lda = lda,
                .ldb = ldb,
                .ldc = ldc,
                .C = C};
    choose_tiles(&t);
    tl_share(tiles(m, t.rows) * t.across, 1, multiply_tile, &t);
}

/* ---- A A' ------------------------------------------------------------------------------------ */

typedef struct gramming {
    int64_t n, k;
    double alpha;
    const double *A;
    double *C;
} gramming;

/* Rows first .. last - 1 of the lower triangle, and of the diagonal block a little more. */
static void gram_rows(int64_t first, int64_t last, void *arg)
{
    TL_ALONE;
    const gramming *g = arg;
    int n = (int)g->n, k = (int)g->k;
    if (first == 0 && last == g->n) {
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, k, g->alpha, g->A, k, 0.0, g->C, n);
        return;
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(last - first), (int)last, k,
                g->alpha, g->A + first * k, k, g->A, k, 0.0, g->C + first * n, n);
}

/* Copies the lower triangle to the upper one, tile by tile: whole rows to whole columns would miss
 * the cache. */
static void mirror(int64_t first, int64_t last, void *arg)
{
    enum { TILE = 16 };
    const gramming *g = arg;
    int64_t n = g->n;
    for (int64_t b0 = first; b0 < last; b0 += TILE)
        for (int64_t a0 = b0; a0 < n; a0 += TILE)
            for (int64_t b = b0; b < tl_min(b0 + TILE, last); b++)
                for (int64_t a = tl_max(a0, b + 1); a < tl_min(a0 + TILE, n); a++)
                    g->C[b * n + a] = g->C[a * n + b];
}

void tl_gram(int64_t n, int64_t k, double alpha, const double *A, double *C)
{
    enum { ROWS = 64, MIRRORED = 32, AT_ONCE = 256 }; /* below, dsyrk at once is the fastest */
    gramming g = {n, k, alpha, A, C};
    tl_share(n, n < AT_ONCE ? tl_max(n, 1) : ROWS, gram_rows, &g);
    tl_share(n, n < AT_ONCE ? tl_max(n, 1) : MIRRORED, mirror, &g);
}

/* ---- the double arithmetic ------------------------------------------------------------------- */

static void multiply_double(const tl_arithmetic *self, const tl_product *p)
{
    (void)self;
    tl_gemm(TL_PLAIN, p->opB, p->m, p->n, p->k, p->alpha, p->A, p->lda, p->B, p->ldb, p->beta, p->C,
            p->ldc);
}

static void gram_double(const tl_arithmetic *self, int64_t n, double alpha, const double *A,
                        double *C)
{
    (void)self;
    tl_gram(n, n, alpha, A, C);
}

const tl_arithmetic tl_double = {multiply_double, gram_double, false};

void tl_gemv_transposed(int64_t M, const double *A, const double *x, double *y)
{
    TL_ALONE;
    cblas_dgemv(CblasRowMajor, CblasTrans, (int)M, (int)M, 1.0, A, (int)M, x, 1, 0.0, y, 1);
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

tlnmf_error tl_check_orthogonal(tlnmf_ctx *ctx, const char *name, int64_t M, const double *A)
{
    const double most = 1e-8; /* the error of a matrix printed with nine digits */
    double *scratch;
    void *block;
    tl_slot table[] = {TL_SLOT(scratch, M * M)};
    TRY(TL_ARENA(ctx, "checking Phi", table, &block));
    double off = tl_orthogonality(M, A, scratch);
    tl_release(&ctx->hooks, block);
    if (!(off <= most))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "%s is not orthogonal: Phi Phi' differs from I by %.3g (at most %g)", name,
                       off, most);
    return TLNMF_OK;
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
    int64_t M = skew->M;
    double *X = lent.a;
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
    if (qr->rows > M) { /* tall: a plain QR first, which is fast; only its triangle is pivoted */
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
