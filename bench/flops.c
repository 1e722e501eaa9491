/* Counts the operations that BLAS and LAPACK do, and products of our own. */
#include "flops.h"
#include "linalg/panels.h"

static double total;

double flops_so_far(void)
{
    return total;
}

/* Enumerations of cblas.h and lapacke.h are passed as int; so are sizes, as the library does. The
 * linker makes up these names. NOLINTBEGIN(bugprone-reserved-identifier) */
void __real_cblas_dgemm(int order, int opA, int opB, int m, int n, int k, double alpha,
                        const double *A, int lda, const double *B, int ldb, double beta, double *C,
                        int ldc);
void __wrap_cblas_dgemm(int order, int opA, int opB, int m, int n, int k, double alpha,
                        const double *A, int lda, const double *B, int ldb, double beta, double *C,
                        int ldc);
void __real_cblas_dsyrk(int order, int half, int op, int n, int k, double alpha, const double *A,
                        int lda, double beta, double *C, int ldc);
void __wrap_cblas_dsyrk(int order, int half, int op, int n, int k, double alpha, const double *A,
                        int lda, double beta, double *C, int ldc);
int __real_LAPACKE_dgetrf_work(int order, int m, int n, double *A, int lda, int *pivot);
int __wrap_LAPACKE_dgetrf_work(int order, int m, int n, double *A, int lda, int *pivot);
int __real_LAPACKE_dgetri_work(int order, int n, double *A, int lda, const int *pivot, double *work,
                               int lwork);
int __wrap_LAPACKE_dgetri_work(int order, int n, double *A, int lda, const int *pivot, double *work,
                               int lwork);
int __real_LAPACKE_dgeqrf_work(int order, int m, int n, double *A, int lda, double *tau,
                               double *work, int lwork);
int __wrap_LAPACKE_dgeqrf_work(int order, int m, int n, double *A, int lda, double *tau,
                               double *work, int lwork);
int __real_LAPACKE_dgeqp3_work(int order, int m, int n, double *A, int lda, int *pivot, double *tau,
                               double *work, int lwork);
int __wrap_LAPACKE_dgeqp3_work(int order, int m, int n, double *A, int lda, int *pivot, double *tau,
                               double *work, int lwork);

void __real_tl_panels_multiply(const tl_product *tile);
void __wrap_tl_panels_multiply(const tl_product *tile);

/* 2 m n k */
void __wrap_tl_panels_multiply(const tl_product *tile)
{
    total += 2.0 * (double)tile->m * (double)tile->n * (double)tile->k;
    __real_tl_panels_multiply(tile);
}

/* 2 m n k. The parameters are those of BLAS. */
void __wrap_cblas_dgemm(int order, int opA, int opB, int m, int n, int k, double alpha,
                        const double *A, int lda, const double *B, int ldb, double beta, double *C,
                        int ldc)
{
    total += 2.0 * m * (double)n * k;
    __real_cblas_dgemm(order, opA, opB, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

/* One triangle: n^2 k. The parameters are those of BLAS. */
void __wrap_cblas_dsyrk(int order, int half, int op, int n, int k, double alpha, const double *A,
                        int lda, double beta, double *C, int ldc)
{
    total += 1.0 * n * (double)n * k;
    __real_cblas_dsyrk(order, half, op, n, k, alpha, A, lda, beta, C, ldc);
}

/* LU of a square matrix: 2/3 n^3 */
int __wrap_LAPACKE_dgetrf_work(int order, int m, int n, double *A, int lda, int *pivot)
{
    total += 2.0 / 3.0 * m * (double)n * n;
    return __real_LAPACKE_dgetrf_work(order, m, n, A, lda, pivot);
}

/* The inverse from it: 4/3 n^3 */
int __wrap_LAPACKE_dgetri_work(int order, int n, double *A, int lda, const int *pivot, double *work,
                               int lwork)
{
    total += 4.0 / 3.0 * n * (double)n * n;
    return __real_LAPACKE_dgetri_work(order, n, A, lda, pivot, work, lwork);
}

/* Householder QR of m x n: with r = min(m, n), 2 r^2 (max(m, n) - r / 3) */
static double qr_flops(double m, double n)
{
    double r = m < n ? m : n, most = m < n ? n : m;
    return 2.0 * r * r * (most - r / 3.0);
}

/* The parameters are those of LAPACKE. */
int __wrap_LAPACKE_dgeqrf_work(int order, int m, int n, double *A, int lda, double *tau,
                               double *work, int lwork)
{
    if (lwork >= 0) /* else it is a workspace query */
        total += qr_flops(m, n);
    return __real_LAPACKE_dgeqrf_work(order, m, n, A, lda, tau, work, lwork);
}

/* The parameters are those of LAPACKE. */
int __wrap_LAPACKE_dgeqp3_work(int order, int m, int n, double *A, int lda, int *pivot, double *tau,
                               double *work, int lwork)
{
    if (lwork >= 0)
        total += qr_flops(m, n);
    return __real_LAPACKE_dgeqp3_work(order, m, n, A, lda, pivot, tau, work, lwork);
}
/* NOLINTEND(bugprone-reserved-identifier) */
