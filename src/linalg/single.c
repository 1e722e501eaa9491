/* Products of double matrices in single precision. Inputs are rounded, and results are accurate to
 * 6e-8 of their terms. Twice as fast where the product costs more than the conversion. */
#include "base/alone.h"
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

/* A product, and the columns of it that are at hand. */
typedef struct product {
    const tl_single *single;
    const tl_product *p;
    int64_t column, width;
} product;

enum { ROUNDED = 32, MULTIPLIED = 32 }; /* rows of a piece */

static void round_A(int64_t first, int64_t last, void *arg)
{
    const product *at = arg;
    const tl_product *p = at->p;
    round_to_single(last - first, p->k, p->A + first * p->lda, p->lda,
                    at->single->A + first * p->k);
}

/* Rows of B, or of its transpose: the columns at hand. */
static void round_B(int64_t first, int64_t last, void *arg)
{
    const product *at = arg;
    const tl_product *p = at->p;
    bool plain = p->opB == TL_PLAIN;
    int64_t length = plain ? at->width : p->k;
    const double *B = p->B + (plain ? at->column : at->column * p->ldb);
    round_to_single(last - first, length, B + first * p->ldb, p->ldb,
                    at->single->B + first * length);
}

static void multiply_rows(int64_t first, int64_t last, void *arg)
{
    TL_ALONE;
    const product *at = arg;
    const tl_product *p = at->p;
    const tl_single *single = at->single;
    bool plain = p->opB == TL_PLAIN;
    float *C = single->C + first * at->width;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, plain ? CblasNoTrans : CblasTrans, (int)(last - first),
                (int)at->width, (int)p->k, (float)p->alpha, single->A + first * p->k, (int)p->k,
                single->B, (int)(plain ? at->width : p->k), 0.0f, C, (int)at->width);
    add_single(last - first, at->width, C, p->beta, p->C + first * p->ldc + at->column, p->ldc);
}

static void multiply(const tl_arithmetic *self, const tl_product *p)
{
    product at = {.single = (const tl_single *)self, .p = p};
    if (p->k == 0) { /* nothing to round */
        tl_multiply(&tl_double, p);
        return;
    }
    tl_share(p->m, ROUNDED, round_A, &at);
    for (at.column = 0; at.column < p->n; at.column += CHUNK) {
        at.width = tl_min(CHUNK, p->n - at.column);
        tl_share(p->opB == TL_PLAIN ? p->k : at.width, ROUNDED, round_B, &at);
        tl_share(p->m, MULTIPLIED, multiply_rows, &at);
    }
}

static void gram(const tl_arithmetic *self, int64_t n, double alpha, const double *A, double *C)
{
    multiply(self, &(tl_product){TL_PLAIN, TL_TRANSPOSED, n, n, n, alpha, A, n, A, n, 0.0, C, n});
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
    *single = (tl_single){.arithmetic = {multiply, gram, true}, .hooks = ctx->hooks};
    tl_slot table[3];
    lay_out(single, M, inner, table);
    return TL_ARENA(ctx, "products in single precision", table, &single->block);
}
