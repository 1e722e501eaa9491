/* Products on the device: in double, or from three (one) in TF32 while the engine rounds. */
#include "cuda/gpu.h"

static cublasOperation_t op_of(tl_op op)
{
    return op == TL_PLAIN ? CUBLAS_OP_N : CUBLAS_OP_T;
}

static int64_t lda_of(const tl_cuda_product *p)
{
    return p->opA == TL_PLAIN ? p->k : p->m;
}

static int64_t ldb_of(const tl_cuda_product *p)
{
    return p->ldb != 0 ? p->ldb : p->opB == TL_PLAIN ? p->n : p->k;
}

static void check_blas(tl_cuda *self, cublasStatus_t status)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        tl_cuda_fault(self, TLNMF_ERR_NUMERIC, "a product on the GPU",
                      cublasGetStatusString(status));
}

/* ---- single precision ------------------------------------------------------------------------ */

/* Rows begin at multiples of 16 bytes, which the tensor cores need. */
static int64_t apart(int64_t columns)
{
    return (columns + 3) / 4 * 4;
}

int64_t tl_cuda_single_size(int64_t M, int64_t columns)
{
    return M * apart(columns);
}

static tl_gpu_matrix matrix(tl_op op, int64_t rows, int64_t columns, const double *x, int64_t lda)
{
    tl_gpu_matrix m = {(double *)(uintptr_t)x, rows, columns, lda};
    if (op == TL_TRANSPOSED) {
        m.rows = columns;
        m.columns = rows;
    }
    return m;
}

/* out += A B in TF32, out = A B if `first`; out is m x n. */
static void add_tf32(tl_cuda *self, const tl_cuda_product *p, const float *A, const float *B,
                     bool first)
{
    const float one = 1.0F, beta = first ? 0.0F : 1.0F;
    int64_t lda = apart(p->opA == TL_PLAIN ? p->k : p->m),
            ldb = apart(p->opB == TL_PLAIN ? p->n : p->k);
    check_blas(self, cublasGemmEx(self->blas, op_of(p->opB), op_of(p->opA), (int)p->n, (int)p->m,
                                  (int)p->k, &one, B, CUDA_R_32F, (int)ldb, A, CUDA_R_32F, (int)lda,
                                  &beta, self->single.out, CUDA_R_32F, (int)apart(p->n),
                                  CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT));
}

/* Each number is split into two TF32 numbers. Three of the four products keep about the digits
 * of single precision; a single product keeps three digits. */
static void multiply_rounded(tl_cuda *self, const tl_cuda_product *p)
{
    tl_cuda_single *x = &self->single;
    const bool all = p->passes == 3;
    const tl_gpu_matrix A = matrix(p->opA, p->m, p->k, p->A, lda_of(p)),
                        B = matrix(p->opB, p->k, p->n, p->B, ldb_of(p));
    tl_gpu_split(&self->gpu, &A, apart(A.columns), x->A_high, all ? x->A_low : NULL);
    tl_gpu_split(&self->gpu, &B, apart(B.columns), x->B_high, all ? x->B_low : NULL);
    if (all) { /* the small ones first */
        add_tf32(self, p, x->A_low, x->B_high, true);
        add_tf32(self, p, x->A_high, x->B_low, false);
    }
    add_tf32(self, p, x->A_high, x->B_high, !all);
    tl_gpu_join(&self->gpu, &(tl_gpu_matrix){p->C, p->m, p->n, p->n}, apart(p->n), x->out,
                (const double[]){p->alpha, p->beta});
}

/* ---- products -------------------------------------------------------------------------------- */

/* cuBLAS is in Fortran order: C' = op(B)' op(A)'. */
void tl_cuda_multiply(tl_cuda *self, const tl_cuda_product *p)
{
    if (p->m == 0 || p->n == 0)
        return;
    if (p->k == 0 && p->beta == 0.0) /* a process without frames; cuBLAS refuses rows of length 0 */
        tl_cuda_check(
            self, cudaMemsetAsync(p->C, 0, (size_t)(p->m * p->n) * sizeof *p->C, self->gpu.stream),
            "the GPU");
    if (p->k == 0)
        return;
    self->flops += 2.0 * (double)p->m * (double)p->n * (double)p->k;
    if (self->rough && p->passes > 0) {
        multiply_rounded(self, p);
        return;
    }
    check_blas(self, cublasDgemm(self->blas, op_of(p->opB), op_of(p->opA), (int)p->n, (int)p->m,
                                 (int)p->k, &p->alpha, p->B, (int)ldb_of(p), p->A, (int)lda_of(p),
                                 &p->beta, p->C, (int)p->n));
}

void tl_cuda_multiply_two(tl_cuda *self, const tl_cuda_product *p, int64_t B_apart, int64_t C_apart)
{
    if (p->m == 0 || p->n == 0)
        return;
    self->flops += 4.0 * (double)p->m * (double)p->n * (double)p->k;
    check_blas(self, cublasDgemmStridedBatched(self->blas, op_of(p->opB), op_of(p->opA), (int)p->n,
                                               (int)p->m, (int)p->k, &p->alpha, p->B,
                                               (int)ldb_of(p), B_apart, p->A, (int)lda_of(p), 0,
                                               &p->beta, p->C, (int)p->n, C_apart, 2));
}

void tl_cuda_square_product(tl_cuda *self, double alpha, const double *A, const double *B,
                            double beta, double *C)
{
    int64_t M = self->is.M;
    tl_cuda_multiply(
        self, &(tl_cuda_product){TL_PLAIN, TL_PLAIN, M, M, M, alpha, A, B, beta, C, .passes = 3});
}

void tl_cuda_gram(tl_cuda *self, double alpha, const double *A, double *C)
{
    int64_t M = self->is.M;
    tl_cuda_multiply(self, &(tl_cuda_product){TL_PLAIN, TL_TRANSPOSED, M, M, M, alpha, A, A, 0.0, C,
                                              .passes = 0});
}

void tl_cuda_times_H(tl_cuda *self, double alpha, const double *A, const double *H, double *out)
{
    int64_t M = self->is.M, N = self->f.N, K = self->is.K;
    tl_cuda_multiply(self, &(tl_cuda_product){TL_PLAIN, TL_TRANSPOSED, M, K, N, alpha, A, H, 0.0,
                                              out, .passes = 0});
}
