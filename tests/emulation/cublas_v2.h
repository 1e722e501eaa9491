/* The functions of cuBLAS that cuda/ uses: products by the BLAS of the host, both in Fortran's
 * order. */
#ifndef TLNMF_TESTS_CUBLAS_V2_H
#define TLNMF_TESTS_CUBLAS_V2_H

#include "cuda_runtime_api.h"

typedef void *cublasHandle_t;
typedef int cublasStatus_t;
typedef int cublasOperation_t;
typedef int cudaDataType;
enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_FAILED = 1,
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUDA_R_32F = 0,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    CUBLAS_GEMM_DEFAULT = -1
};

/* Fortran's BLAS */
void dgemm_(const char *opA, const char *opB, const int *m, const int *n, const int *k,
            const double *alpha, const double *A, const int *lda, const double *B, const int *ldb,
            const double *beta, double *C, const int *ldc);
void sgemm_(const char *opA, const char *opB, const int *m, const int *n, const int *k,
            const float *alpha, const float *A, const int *lda, const float *B, const int *ldb,
            const float *beta, float *C, const int *ldc);

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

static inline cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t size)
{
    (void)handle;
    (void)size;
    return workspace != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_FAILED;
}

static inline const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS ? "success" : "a failure";
}

/* The parameters are cuBLAS's: more than seven. */
static inline cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t opA,
                                         cublasOperation_t opB, int m, int n, int k,
                                         const double *alpha, const double *A, int lda,
                                         const double *B, int ldb, const double *beta, double *C,
                                         int ldc)
{
    (void)handle;
    if (m > 0 && n > 0)
        dgemm_(&"NT"[opA], &"NT"[opB], &m, &n, &k, alpha, A, &lda, B, &ldb, beta, C, &ldc);
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

/* The parameters are cuBLAS's: more than seven. Factors must be numbers of TF32 already. */
static inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t opA,
                                          cublasOperation_t opB, int m, int n, int k,
                                          const void *alpha, const void *A, cudaDataType A_is,
                                          int lda, const void *B, cudaDataType B_is, int ldb,
                                          const void *beta, void *C, cudaDataType C_is, int ldc,
                                          int compute, int algorithm)
{
    (void)handle;
    if (A_is != CUDA_R_32F || B_is != CUDA_R_32F || C_is != CUDA_R_32F ||
        compute != CUBLAS_COMPUTE_32F_FAST_TF32 || algorithm != CUBLAS_GEMM_DEFAULT)
        return CUBLAS_STATUS_FAILED;
    sgemm_(&"NT"[opA], &"NT"[opB], &m, &n, &k, (const float *)alpha, (const float *)A, &lda,
           (const float *)B, &ldb, (const float *)beta, (float *)C, &ldc);
    return CUBLAS_STATUS_SUCCESS;
}

#endif
