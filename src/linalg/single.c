/* Products of double matrices in single precision. Inputs are rounded, and results are accurate to
 * 6e-8 of their terms. Twice as fast where the product costs more than the conversion. */
#include "linalg/linalg.h"

#include <cblas.h>

enum { CHUNK = 256 }; /* columns of the result at a time */

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

static void multiply(const tl_arithmetic *self, const tl_product *p)
{
    const tl_single *single = (const tl_single *)self;
    bool plain = p->opB == TL_PLAIN;
    if (p->k == 0) { /* nothing to round */
        tl_multiply(&tl_double, p);
        return;
    }
    round_to_single(p->m, p->k, p->A, p->lda, single->A);
    for (int64_t j = 0; j < p->n; j += CHUNK) {
        int64_t width = tl_min(CHUNK, p->n - j);
        if (plain)
            round_to_single(p->k, width, p->B + j, p->ldb, single->B);
        else
            round_to_single(width, p->k, p->B + j * p->ldb, p->ldb, single->B);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, plain ? CblasNoTrans : CblasTrans, (int)p->m,
                    (int)width, (int)p->k, (float)p->alpha, single->A, (int)p->k, single->B,
                    (int)(plain ? width : p->k), 0.0f, single->C, (int)width);
        add_single(p->m, width, single->C, p->beta, p->C + j, p->ldc);
    }
}

static void gram(const tl_arithmetic *self, int64_t n, double alpha, const double *A, double *C)
{
    multiply(self, &(tl_product){.opB = TL_TRANSPOSED,
                                 .m = n,
                                 .n = n,
                                 .k = n,
                                 .alpha = alpha,
                                 .A = A,
                                 .lda = n,
                                 .B = A,
                                 .ldb = n,
                                 .C = C,
                                 .ldc = n});
}

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
    *single =
        (tl_single){.arithmetic = {multiply, gram}, .M = M, .inner = inner, .hooks = ctx->hooks};
    tl_slot table[3];
    lay_out(single, M, inner, table);
    return TL_ARENA(ctx, "products in single precision", table, &single->block);
}

void tl_single_free(tl_single *single)
{
    tl_release(&single->hooks, single->block);
}
