/* The products of cuBLAS that src/cuda/updates.c uses, as plain loops over Fortran's order. */
#ifndef TLNMF_TESTS_CUBLAS_V2_H
#define TLNMF_TESTS_CUBLAS_V2_H

#include "cuda_runtime_api.h"

typedef void *cublasHandle_t;
typedef int cublasStatus_t;
typedef int cublasOperation_t;
enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };

static inline cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = handle;
    return CUBLAS_STATUS_SUCCESS;
}

static inline cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    (void)handle;
    return CUBLAS_STATUS_SUCCESS;
}

static inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    (void)handle;
    (void)stream;
    return CUBLAS_STATUS_SUCCESS;
}

static inline const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS ? "success" : "a failure";
}

static inline double cublas_entry(const double *A, long ld, cublasOperation_t op, long row,
                                  long column)
{
    return op == CUBLAS_OP_N ? A[row + column * ld] : A[column + row * ld];
}

/* The parameters are cuBLAS's: more than seven. */
static inline cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t opA,
                                         cublasOperation_t opB, int m, int n, int k,
                                         const double *alpha, const double *A, int lda,
                                         const double *B, int ldb, const double *beta, double *C,
                                         int ldc)
{
    (void)handle;
    for (long j = 0; j < n; j++)
        for (long i = 0; i < m; i++) {
            double sum = 0.0, *c = &C[i + j * ldc];
            for (long l = 0; l < k; l++)
                sum += cublas_entry(A, lda, opA, i, l) * cublas_entry(B, ldb, opB, l, j);
            *c = *alpha * sum + (*beta == 0.0 ? 0.0 : *beta * *c);
        }
    return CUBLAS_STATUS_SUCCESS;
}

/* The parameters are cuBLAS's: more than seven. */
static inline cublasStatus_t
cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t opA, cublasOperation_t opB,
                          int m, int n, int k, const double *alpha, const double *A, int lda,
                          long long A_apart, const double *B, int ldb, long long B_apart,
                          const double *beta, double *C, int ldc, long long C_apart, int count)
{
    for (int i = 0; i < count; i++)
        cublasDgemm(handle, opA, opB, m, n, k, alpha, A + i * A_apart, lda, B + i * B_apart, ldb,
                    beta, C + i * C_apart, ldc);
    return CUBLAS_STATUS_SUCCESS;
}

#endif
