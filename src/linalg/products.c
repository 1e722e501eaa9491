/* Products of double matrices in tiles, which threads take in turn. */
#include "base/alone.h"
#include "linalg/panels.h"

#include <cblas.h>

/* How a product is cut depends on its shape and on the processor, not on the number of threads; so
 * the bits do not depend on that number. A tile is one call of BLAS or of tl_panels_multiply(). */
typedef struct tiling {
    tl_product all;
    bool panels;           /* not by BLAS */
    int64_t rows, columns; /* of a tile */
    int64_t across;        /* tiles in a row of them */
} tiling;

static int64_t tiles(int64_t length, int64_t tile)
{
    return (length + tile - 1) / tile;
}

/* Equal tiles of about this length, in multiples of `unit`. */
static int64_t evenly(int64_t length, int64_t about, int64_t unit)
{
    int64_t each = tiles(length, tiles(length, about));
    return tl_min(length, tiles(each, unit) * unit);
}

static int64_t tile_count(const tiling *t)
{
    return tiles(t->all.m, t->rows) * tiles(t->all.n, t->columns);
}

static double tile_flops(const tiling *t)
{
    return 2.0 * (double)t->rows * (double)t->columns * (double)t->all.k;
}

/* Halves tiles until there are enough, or they are too small to be worth a call (14 to 40 us). BLAS
 * copies its inputs for every tile: on one thread larger tiles would be faster, but then more
 * threads would have none. */
static void choose_for_blas(tiling *t)
{
    enum { ENOUGH = 16, ROWS = 128, LEAST_ROWS = 16, COLUMNS = 512, LEAST_COLUMNS = 64, UNIT = 8 };
    const double least = t->all.opB == TL_PLAIN ? 1.4e6 : 4e6; /* BLAS packs all of B each time */
    int64_t rows = ROWS, columns = COLUMNS;
    for (;;) {
        t->rows = evenly(t->all.m, rows, UNIT);
        t->columns = evenly(t->all.n, columns, UNIT);
        if (tile_count(t) >= ENOUGH || tile_flops(t) < least)
            break;
        if (t->rows > LEAST_ROWS && 4 * t->rows >= t->columns)
            rows = tl_max(t->rows / 2, LEAST_ROWS);
        else if (t->columns > LEAST_COLUMNS)
            columns = tl_max(t->columns / 2, LEAST_COLUMNS);
        else
            break;
    }
}

/* A panel is copied again for every tile below the first. Columns are therefore cut first, down to
 * single panels; rows only if there are still too few tiles, or if a tile would not fit the
 * cache. */
static void choose_for_panels(tiling *t)
{
    enum { ENOUGH = 16, PLENTY = 32, ROWS = 512, LEAST_ROWS = 48 };
    const double least = 7e5; /* 14 us */
    int64_t rows = ROWS;
    for (;; rows = t->rows / 2) {
        t->rows = evenly(t->all.m, rows, TL_PANEL_ROWS);
        int64_t wanted = tl_max(PLENTY / tiles(t->all.m, t->rows), 1);
        int64_t worth = (int64_t)(least / (2.0 * (double)t->rows * (double)t->all.k)) + 1;
        t->columns = evenly(t->all.n, tl_max(tiles(t->all.n, wanted), worth), TL_PANEL_COLUMNS);
        if (tile_count(t) >= ENOUGH || t->rows < (int64_t)2 * LEAST_ROWS ||
            tile_flops(t) < 2.0 * least)
            return;
    }
}

/* BLAS is faster for small products, and for those with a short inner dimension. */
static bool worth_panels(const tl_product *t)
{
    enum { LEAST_K = 8 };
    const double least = 1e6;
    return t->m >= TL_PANEL_ROWS && t->n >= TL_PANEL_COLUMNS && t->k >= LEAST_K &&
           2.0 * (double)t->m * (double)t->n * (double)t->k >= least && tl_panels_here();
}

/* The part of `all` from row i and column j on, m x n. */
static tl_product part(const tl_product *all, int64_t i, int64_t j, int64_t m, int64_t n)
{
    tl_product t = *all;
    t.m = m;
    t.n = n;
    t.A += t.opA == TL_PLAIN ? i * t.lda : i;
    t.B += t.opB == TL_PLAIN ? j : j * t.ldb;
    t.C += i * t.ldc + j;
    return t;
}

static void multiply_by_blas(const tl_product *t)
{
    TL_ALONE;
    cblas_dgemm(CblasRowMajor, t->opA == TL_PLAIN ? CblasNoTrans : CblasTrans,
                t->opB == TL_PLAIN ? CblasNoTrans : CblasTrans, (int)t->m, (int)t->n, (int)t->k,
                t->alpha, t->A, (int)t->lda, t->B, (int)t->ldb, t->beta, t->C, (int)t->ldc);
}

static void multiply_tile(int64_t tile, int64_t last, void *arg)
{
    const tiling *t = arg;
    (void)last;
    int64_t i = tile / t->across * t->rows, j = tile % t->across * t->columns;
    tl_product own =
        part(&t->all, i, j, tl_min(t->rows, t->all.m - i), tl_min(t->columns, t->all.n - j));
    if (t->panels)
        tl_panels_multiply(&own);
    else
        multiply_by_blas(&own);
}

static void multiply_double(const tl_arithmetic *self, const tl_product *p)
{
    tiling t = {.all = *p, .panels = worth_panels(p)};
    (void)self;
    if (p->m == 0 || p->n == 0)
        return;
    if (p->k == 0) { /* some BLAS refuse a leading dimension of 0 */
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++)
                p->C[i * p->ldc + j] = p->beta == 0.0 ? 0.0 : p->beta * p->C[i * p->ldc + j];
        return;
    }
    if (t.panels)
        choose_for_panels(&t);
    else
        choose_for_blas(&t);
    t.across = tiles(p->n, t.columns);
    tl_share(tile_count(&t), 1, multiply_tile, &t);
}

/* The parameters are those of BLAS, in its order. */
void tl_gemm(tl_op opA, tl_op opB, int64_t m, int64_t n, int64_t k, double alpha, const double *A,
             int64_t lda, const double *B, int64_t ldb, double beta, double *C, int64_t ldc)
{
    multiply_double(&tl_double,
                    &(tl_product){opA, opB, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc});
}

/* ---- A A' ------------------------------------------------------------------------------------ */

/* Rows first .. last - 1 of the lower triangle, and of the diagonal block a little more. */
static void gram_rows(int64_t first, int64_t last, void *arg)
{
    TL_ALONE;
    const tl_product *g = arg;
    int n = (int)g->n, k = (int)g->k;
    if (first == 0 && last == g->n) {
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, k, g->alpha, g->A, k, 0.0, g->C, n);
        return;
    }
    tl_product rows = part(g, first, 0, last - first, last);
    multiply_by_blas(&rows);
}

/* One tile of the lower triangle; most entries above the diagonal are skipped. */
static void gram_tile(int64_t tile, int64_t last, void *arg)
{
    const tiling *t = arg;
    (void)last;
    int64_t i = tile / t->across * t->rows, j = tile % t->across * t->columns;
    int64_t end = tl_min(i + t->rows, t->all.n);
    i = tl_max(i, j);
    if (i >= end)
        return;
    tl_product own = part(&t->all, i, j, end - i, tl_min(t->columns, end - j));
    tl_panels_multiply(&own);
}

/* Copies the lower triangle to the upper one, tile by tile: whole rows to whole columns would miss
 * the cache. */
static void mirror(int64_t first, int64_t last, void *arg)
{
    enum { TILE = 16 };
    const tl_product *g = arg;
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
    tiling t = {.all = {TL_PLAIN, TL_TRANSPOSED, n, n, k, alpha, A, k, A, k, 0.0, C, n}};
    bool panels = worth_panels(&t.all);
    if (panels) {
        choose_for_panels(&t);
        t.across = tiles(n, t.columns);
        tl_share(tile_count(&t), 1, gram_tile, &t);
    } else {
        tl_share(n, n < AT_ONCE ? tl_max(n, 1) : ROWS, gram_rows, &t.all);
    }
    tl_share(n, n < AT_ONCE && !panels ? tl_max(n, 1) : MIRRORED, mirror, &t.all);
}

static void gram_double(const tl_arithmetic *self, int64_t n, double alpha, const double *A,
                        double *C)
{
    (void)self;
    tl_gram(n, n, alpha, A, C);
}

const tl_arithmetic tl_double = {multiply_double, gram_double, false};
