/* One tile of a product of double matrices without BLAS, where the processor has AVX-512. BLAS
 * copies both factors for every tile; this copies 24 columns of one at a time, so that small tiles
 * cost hardly more than large ones. */
#ifndef TLNMF_LINALG_PANELS_H
#define TLNMF_LINALG_PANELS_H

#include "linalg/linalg.h"

/* Columns that are computed at once: tiles of a multiple of it waste nothing. Rows: 8. */
enum { TL_PANEL_COLUMNS = 24, TL_PANEL_ROWS = 8 };

/* C (m x n) = alpha op(A) op(B) + beta C, as tl_gemm(). */
typedef struct tl_tile {
    tl_op opA, opB;
    int64_t m, n, k;
    double alpha, beta;
    const double *A, *B;
    int64_t lda, ldb, ldc;
    double *C;
} tl_tile;

/* Whether this processor can. */
bool tl_panels_here(void);

/* Needs k > 0. The bits of an entry depend on its row, its column, alpha and beta alone, not on the
 * tile that it is in: sums run over k in order, in parts that follow from k. */
void tl_panels_multiply(const tl_tile *tile);

#endif
