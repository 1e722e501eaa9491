/* Products in single precision of matrices in double: what goes in is rounded, what comes out is
 * not better than 6e-8 of its terms. Twice as fast where the product dominates the conversion. */
#include "linalg/linalg.h"

#include <cblas.h>

enum { CHUNK = 256 }; /* columns of the result at a time */

static void lay_out(tl_single *single, int64_t M, int64_t inner, tl_slot table[3])
{
    const tl_slot parts[] = {TL_SLOT(single->A, M * inner), TL_SLOT(single->B, inner * CHUNK),
                             TL_SLOT(single->C, M * CHUNK)};
    memcpy(table, parts, sizeof parts);
}

size_t tl_single_bytes(int64_t M, int64_t inner)
{
    tl_single single;
    tl_slot table[3];
    lay_out(&single, M, inner, table);
    return TL_ARENA_BYTES(table);
}

tlnmf_error tl_single_create(tlnmf_ctx *ctx, int64_t M, int64_t inner, tl_single *single)
{
    *single = (tl_single){.M = M, .inner = inner, .hooks = ctx->hooks};
    tl_slot table[3];
    lay_out(single, M, inner, table);
    return TL_ARENA(ctx, "products in single precision", table, &single->block);
}

void tl_single_free(tl_single *single)
{
    tl_release(&single->hooks, single->block);
}

/* out (rows x columns, packed) = A, whose rows are `lda` apart. */
TL_HOT static void round_to_single(int64_t rows, int64_t columns, const double *A, int64_t lda,
                                   float *out)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            out[r * columns + c] = (float)A[r * lda + c];
}

TL_HOT static void add_single(int64_t rows, int64_t columns, const float *A, double beta, double *C,
                              int64_t ldc)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            double old = beta == 0.0 ? 0.0 : beta * C[r * ldc + c];
            C[r * ldc + c] = old + (double)A[r * columns + c];
        }
}

void tl_product(const tl_single *single, tl_op opB, int64_t m, int64_t n, int64_t k, double alpha,
                const double *A, int64_t lda, const double *B, int64_t ldb, double beta, double *C,
                int64_t ldc)
{
    if (single == NULL || k == 0) {
        tl_gemm(TL_PLAIN, opB, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
        return;
    }
    round_to_single(m, k, A, lda, single->A);
    for (int64_t j = 0; j < n; j += CHUNK) {
        int64_t width = tl_min(CHUNK, n - j);
        if (opB == TL_PLAIN)
            round_to_single(k, width, B + j, ldb, single->B);
        else
            round_to_single(width, k, B + j * ldb, ldb, single->B);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, opB == TL_PLAIN ? CblasNoTrans : CblasTrans,
                    (int)m, (int)width, (int)k, (float)alpha, single->A, (int)k, single->B,
                    (int)(opB == TL_PLAIN ? width : k), 0.0f, single->C, (int)width);
        add_single(m, width, single->C, beta, C + j, ldc);
    }
}
