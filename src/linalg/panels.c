/* A product by panels of 24 columns, with AVX-512. */
#include "linalg/panels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <stdlib.h>

#define WIDE __attribute__((target("avx512f")))

/* Columns of a vector. Of B, this many columns and a depth of k are copied at a time: 192 KiB, a
 * fifth of a second-level cache, in the scratch of the thread. */
enum { LANES = 8, SIDE = 4 * TL_PANEL_COLUMNS, DEEP = 256 };

bool tl_panels_here(void)
{
    return __builtin_cpu_supports("avx512f");
}

/* At most 8 x 24 entries of C: alpha A B + beta C, where B is a panel. */
typedef struct patch {
    int64_t rows, columns, k;
    const double *A;
    int64_t up, along; /* from a row of op(A) to the next, from a column to the next */
    const double *panel;
    double alpha, beta;
    double *C;
    int64_t ldc;
} patch;

/* Sums of one row: three vectors with names, since those of an array would live in memory. */
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define BEGIN(r)                                             \
    const double *A##r = A + tl_min(r, p->rows - 1) * p->up; \
    __m512d x##r = _mm512_setzero_pd(), y##r = x##r, z##r = x##r;
#define ADD(r)                                       \
    {                                                \
        __m512d a = _mm512_set1_pd(A##r[l * along]); \
        x##r = _mm512_fmadd_pd(a, b0, x##r);         \
        if (vectors > 1)                             \
            y##r = _mm512_fmadd_pd(a, b1, y##r);     \
        if (vectors > 2)                             \
            z##r = _mm512_fmadd_pd(a, b2, z##r);     \
    }
#define END(r)                                                                 \
    if ((r) < p->rows) {                                                       \
        store(p, C + (r)*p->ldc, vectors > 1 ? 0xff : last, x##r);             \
        if (vectors > 1)                                                       \
            store(p, C + (r)*p->ldc + LANES, vectors > 2 ? 0xff : last, y##r); \
        if (vectors > 2)                                                       \
            store(p, C + (r)*p->ldc + (int64_t)2 * LANES, last, z##r);         \
    }

WIDE static inline __attribute__((always_inline)) void store(const patch *p, double *C,
                                                             __mmask8 which, __m512d sum)
{
    __m512d out = _mm512_mul_pd(_mm512_set1_pd(p->alpha), sum);
    if (p->beta != 0.0)
        out = _mm512_fmadd_pd(_mm512_set1_pd(p->beta), _mm512_maskz_loadu_pd(which, C), out);
    _mm512_mask_storeu_pd(C, which, out);
}

/* For a constant number of vectors per row, 1 to 3. Missing rows repeat the last one and are not
 * stored. */
WIDE static inline __attribute__((always_inline)) void multiply(const patch *p, int vectors)
{
    const double *A = p->A, *B = p->panel;
    int64_t along = p->along, k = p->k;
    double *C = p->C;
    __mmask8 last = (__mmask8)(0xff >> (vectors * LANES - (int)p->columns));
    for (int64_t r = 0; r < p->rows; r++)
        for (int w = 0; w < vectors; w++)
            __builtin_prefetch(C + r * p->ldc + (int64_t)w * LANES, 1);
    EACH_ROW(BEGIN)
    for (int64_t l = 0; l < k; l++) {
        const double *b = B + l * TL_PANEL_COLUMNS;
        __m512d b0 = _mm512_load_pd(b), b1 = _mm512_load_pd(b + LANES),
                b2 = _mm512_load_pd(b + (int64_t)2 * LANES);
        EACH_ROW(ADD)
    }
    EACH_ROW(END)
}

WIDE static void multiply_patch(const patch *p)
{
    if (p->columns > (int64_t)2 * LANES)
        multiply(p, 3);
    else if (p->columns > LANES)
        multiply(p, 2);
    else
        multiply(p, 1);
}

/* Rows of op(B), 24 columns wide; absent columns are 0. The next panel is fetched meanwhile. */
static void pack_plain(int64_t k, int64_t columns, const double *B, int64_t ldb, double *panel)
{
    for (int64_t l = 0; l < k; l++, B += ldb, panel += TL_PANEL_COLUMNS) {
        if (columns == TL_PANEL_COLUMNS) { /* a constant length */
            memcpy(panel, B, TL_PANEL_COLUMNS * sizeof *panel);
            for (int i = 0; i < TL_PANEL_COLUMNS; i += LANES)
                __builtin_prefetch(B + TL_PANEL_COLUMNS + i);
            continue;
        }
        for (int64_t j = 0; j < TL_PANEL_COLUMNS; j++)
            panel[j] = j < columns ? B[j] : 0.0;
    }
}

/* The same from B', eight of k at a time: a cache line of each of its rows. */
static void pack_turned(int64_t k, int64_t columns, const double *B, int64_t ldb, double *panel)
{
    for (int64_t l0 = 0; l0 < k; l0 += LANES) {
        int64_t count = tl_min(LANES, k - l0);
        double *out = panel + l0 * TL_PANEL_COLUMNS;
        for (int64_t j = 0; j < TL_PANEL_COLUMNS; j++) {
            const double *in = B + j * ldb + l0;
            if (j < columns && count == LANES)
                for (int64_t i = 0; i < LANES; i++)
                    out[i * TL_PANEL_COLUMNS + j] = in[i];
            else
                for (int64_t i = 0; i < count; i++)
                    out[i * TL_PANEL_COLUMNS + j] = j < columns ? in[i] : 0.0;
        }
    }
}

/* Copies k x n of op(B), from row l and column j on: panel after panel. */
static void pack(const tl_product *t, int64_t l, int64_t k, int64_t j, int64_t n, double *panels)
{
    for (int64_t at = 0; at < n; at += TL_PANEL_COLUMNS) {
        int64_t columns = tl_min(TL_PANEL_COLUMNS, n - at);
        if (t->opB == TL_PLAIN)
            pack_plain(k, columns, t->B + l * t->ldb + j + at, t->ldb, panels + at * DEEP);
        else
            pack_turned(k, columns, t->B + (j + at) * t->ldb + l, t->ldb, panels + at * DEEP);
    }
}

/* Columns j .. j + n - 1 of C; a depth of k from l on, as in p. */
static void add_panels(const tl_product *t, patch *p, int64_t l, int64_t j, int64_t n,
                       const double *panels)
{
    for (int64_t i = 0; i < t->m; i += TL_PANEL_ROWS) {
        p->rows = tl_min(TL_PANEL_ROWS, t->m - i);
        p->A = t->A + i * p->up + l * p->along;
        for (int64_t at = 0; at < n; at += TL_PANEL_COLUMNS) {
            p->columns = tl_min(TL_PANEL_COLUMNS, n - at);
            p->panel = panels + at * DEEP;
            p->C = t->C + i * t->ldc + j + at;
            multiply_patch(p);
        }
    }
}

/* Without scratch: the same sums in the same order, so the same bits, but slowly. */
WIDE static void add_entries(const tl_product *t, const patch *p, int64_t l)
{
    int64_t right = t->opB == TL_PLAIN ? 1 : t->ldb, down = t->opB == TL_PLAIN ? t->ldb : 1;
    for (int64_t i = 0; i < t->m; i++)
        for (int64_t j = 0; j < t->n; j++) {
            const double *A = t->A + i * p->up + l * p->along, *B = t->B + j * right + l * down;
            double *C = t->C + i * t->ldc + j, sum = 0.0;
            for (int64_t k = 0; k < p->k; k++)
                sum = __builtin_fma(A[k * p->along], B[k * down], sum);
            sum *= p->alpha;
            *C = p->beta != 0.0 ? __builtin_fma(p->beta, *C, sum) : sum;
        }
}

static void multiply_with(const tl_product *t, double *panels)
{
    int64_t parts = (t->k + DEEP - 1) / DEEP, deep = ((t->k + parts - 1) / parts + 7) / 8 * 8;
    patch p = {.up = t->opA == TL_PLAIN ? t->lda : 1,
               .along = t->opA == TL_PLAIN ? 1 : t->lda,
               .alpha = t->alpha,
               .ldc = t->ldc};
    int64_t side = panels != NULL ? SIDE : t->n;
    for (int64_t j = 0; j < t->n; j += side)
        for (int64_t l = 0; l < t->k; l += deep) {
            int64_t n = tl_min(side, t->n - j);
            p.k = tl_min(deep, t->k - l);
            p.beta = l == 0 ? t->beta : 1.0;
            if (panels == NULL) {
                add_entries(t, &p, l);
                continue;
            }
            pack(t, l, p.k, j, n, panels);
            add_panels(t, &p, l, j, n, panels);
        }
}

void tl_panels_multiply(const tl_product *t)
{
    double *panels = tl_thread_scratch();
    void *own = NULL;
    _Static_assert((size_t)DEEP * SIDE * sizeof *panels == TL_THREAD_SCRATCH,
                   "the scratch has this size");
    if (panels == NULL) /* outside of tl_with_threads() */
        panels = own = aligned_alloc(64, TL_THREAD_SCRATCH);
    multiply_with(t, panels);
    free(own);
}

#else /* never called */

bool tl_panels_here(void)
{
    return false;
}

void tl_panels_multiply(const tl_product *tile)
{
    (void)tile;
}

#endif
