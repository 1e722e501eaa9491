/* One tile of a product of double matrices without BLAS, if the processor has AVX-512. BLAS copies
 * both factors for every tile; this copies 24 columns of one at a time, so that small tiles cost
 * hardly more than large ones.
 *
 * Measured on one thread, as time over that of one OpenBLAS call for the whole product
 * (docs/measurements/threads.md): transforms 0.90 to 1.01, gradients 0.96 to 0.99; the same tiles
 * by OpenBLAS take 0.84 to 1.17 and 1.08 to 1.22. On a busy machine the longest chain of a start of
 * notes fell from 0.46 s to 0.29 s.
 *
 * With sixteen threads it has 3.5 to 4 times the speed of OpenBLAS, BLIS and libxsmm at 200 rows,
 * and 1.0 to 1.5 times at 441 and 1024 rows. With one thread on the same machine it has 1.1 to 1.2
 * times their speed at 200 rows, and 0.6 to 1.0 times at 441 and 1024 rows. */
#ifndef TLNMF_LINALG_PANELS_H
#define TLNMF_LINALG_PANELS_H

#include "linalg/linalg.h"

/* Columns that are computed at once: tiles of a multiple of it waste nothing. Rows: 8. */
enum { TL_PANEL_COLUMNS = 24, TL_PANEL_ROWS = 8 };

/* Whether this processor has AVX-512. */
bool tl_panels_here(void);

/* Needs k > 0. The bits of an entry depend on its row, its column, alpha and beta alone, not on the
 * tile that it is in: sums run over k in order, in parts that follow from k. */
void tl_panels_multiply(const tl_product *tile);

#endif
