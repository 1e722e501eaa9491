/* Multiplicative updates (7)-(9), panel by panel on all threads.
 *
 * The update of H reads V by columns, that of W by rows. V' is kept in addition to V, so that both
 * are the same computation with the roles exchanged: `right` (K x columns) is updated from V (rows
 * x columns) and `left` (rows x K). It runs over panels of columns, in blocks of eight rows by
 * eight columns. Each row of a block is one vector of columns: sums over rows need no reduction and
 * stay in cache, and every number that is loaded is used eight times.
 *
 * Three places make these updates. This file serves fits without weights of entries. If entries
 * have weights, weighted_update() (engine/cpu.c) forms the sums by matrix products. Separation
 * updates dictionaries of hundreds of columns, some of them fixed, in sound/render/factors.c.
 *
 * Sums that lose digits or leave the range of double are repeated in long double (update_lost), but
 * not those over distributed frames (tl_mu_sums_W) nor weighted ones: if such a sum overflows, the
 * entry keeps its value. */
#include "model/kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LANE = 8, ROWS = 8, BLOCKS = 4, PANEL = LANE * BLOCKS };

/* Eight columns of one row, at any address. */
typedef double lane __attribute__((vector_size(LANE * sizeof(double)), aligned(sizeof(double))));

static int64_t panels(int64_t columns)
{
    return (columns + PANEL - 1) / PANEL;
}

void tl_mu_slots(tl_mu *mu, int64_t M, int64_t N, int64_t K, tl_slot slots[TL_MU_SLOTS])
{
    int64_t most = panels(tl_max(M, N)) * PANEL;
    mu->M = M;
    mu->N = N;
    mu->K = K;
    const tl_slot own[TL_MU_SLOTS] = {
        TL_SLOT(mu->W_turned, K * M),      TL_SLOT(mu->H_turned, N * K),
        TL_SLOT(mu->panel_V, ROWS * most), TL_SLOT(mu->panel, K * most),
        TL_SLOT(mu->num, K * most),        TL_SLOT(mu->den, K * most)};
    memcpy(slots, own, sizeof own);
}

/* The largest entry of W or H, so that their products do not overflow. C also falls if an update
 * stops between the old entry and the new one. */
static const double MOST = 1e300;

/* x times (num / den)^gamma. A denominator of 0 means that the other factor's component is all
 * zeros: x has no effect then and stays. It also stays where a sum has left the range of double.
 */
static inline __attribute__((always_inline)) double scaled(double x, double num, double den,
                                                           double gamma)
{
    double ratio = den > 0.0 && num <= DBL_MAX && den <= DBL_MAX ? num / den : 1.0;
    if (gamma != 1.0)
        ratio = gamma == 0.5 ? sqrt(ratio) : pow(ratio, gamma);
    return x * ratio <= MOST ? x * ratio : MOST;
}

/* A macro: vectors passed to functions would tie the ABI to the instruction set. */
#define LOAD(x)     (*(const lane *)(const void *)(x))
#define STORE(x, v) (*(lane *)(void *)(x) = (v))

/* `rows` <= ROWS rows of V, `stride` apart, by the lane of columns that begins with column j of the
 * panel: B = 1 / (left right + eps), A = (V + eps) B^2, num += left' A, den += left' B. */
static inline __attribute__((always_inline)) void
block(const tl_mu *mu, int64_t rows, int64_t j, const double *V, int64_t stride, const double *left)
{
    const int64_t K = mu->K;
    const double eps = mu->eps, *right = mu->panel + j;
    double *num = mu->num + j, *den = mu->den + j;
    lane A[ROWS], B[ROWS];
    for (int64_t i = 0; i < rows; i++)
        B[i] = (lane){0} + eps;
    for (int64_t k = 0; k < K; k++) {
        lane h = LOAD(right + k * PANEL);
        for (int64_t i = 0; i < rows; i++)
            B[i] += left[i * K + k] * h;
    }
    for (int64_t i = 0; i < rows; i++) {
        B[i] = 1.0 / B[i];
        A[i] = (LOAD(V + i * stride) + eps) * B[i] * B[i];
    }
    for (int64_t k = 0; k < K; k++) {
        lane n = LOAD(num + k * PANEL), d = LOAD(den + k * PANEL);
        for (int64_t i = 0; i < rows; i++) {
            n += left[i * K + k] * A[i];
            d += left[i * K + k] * B[i];
        }
        STORE(num + k * PANEL, n);
        STORE(den + k * PANEL, d);
    }
}

/* All blocks of these rows. A panel at the right edge whose columns do not fill their lanes is
 * copied first; values beyond the edge are not used. */
static inline __attribute__((always_inline)) void row_of_blocks(const tl_mu *mu, int64_t rows,
                                                                int64_t width, const double *V,
                                                                int64_t stride, const double *left)
{
    if (width < PANEL) {
        for (int64_t i = 0; i < rows; i++)
            memcpy(mu->panel_V + i * PANEL, V + i * stride, (size_t)width * sizeof *V);
        V = mu->panel_V;
        stride = PANEL;
    }
    for (int64_t j = 0; j < width; j += LANE)
        block(mu, rows, j, V + j, stride, left);
}

/* The sums of one panel of `right` over all rows: mu->num, mu->den. Scalars rather than a struct:
 * the compiler keeps them in registers, which is worth 3 %. */
TL_HOT static void sum_panel(const tl_mu *mu, int64_t rows, int64_t columns, int64_t width,
                             const double *V, const double *left, const double *right)
{
    int64_t K = mu->K, r = 0;
    size_t bytes = (size_t)(K * PANEL) * sizeof(double);
    for (int64_t k = 0; k < K; k++)
        memcpy(mu->panel + k * PANEL, right + k * columns, (size_t)width * sizeof *right);
    memset(mu->num, 0, bytes);
    memset(mu->den, 0, bytes);
    for (; r + ROWS <= rows; r += ROWS)
        row_of_blocks(mu, ROWS, width, V + r * columns, columns, left + r * K);
    for (; r < rows; r++)
        row_of_blocks(mu, 1, width, V + r * columns, columns, left + r * K);
}

/* Entry k of x moves to k PANEL, the last entry first. */
static void spread(double *x, int64_t K)
{
    for (int64_t k = K - 1; k > 0; k--)
        x[k * PANEL] = x[k];
}

/* The same for a single column, as an applier has. In blocks it would fill one lane of eight; here
 * the lanes are components. */
TL_HOT static void sum_column(const tl_mu *mu, int64_t rows, const double *V, const double *left,
                              const double *right)
{
    int64_t K = mu->K;
    double eps = mu->eps, *h = mu->panel, *num = mu->num, *den = mu->den;
    memcpy(h, right, (size_t)K * sizeof *h);
    memset(num, 0, (size_t)K * sizeof *num);
    memset(den, 0, (size_t)K * sizeof *den);
    for (int64_t r = 0; r < rows; r++, left += K) {
        double B = 0.0;
#pragma omp simd reduction(+ : B)
        for (int64_t k = 0; k < K; k++)
            B += left[k] * h[k];
        B = 1.0 / (B + eps);
        double A = (V[r] + eps) * B * B;
#pragma omp simd
        for (int64_t k = 0; k < K; k++) {
            num[k] += left[k] * A;
            den[k] += left[k] * B;
        }
    }
    spread(h, K);
    spread(num, K);
    spread(den, K);
}

/* The panel's update from these sums. */
TL_HOT static void scale_panel(const tl_mu *mu, int64_t columns, int64_t width, double *right)
{
    for (int64_t k = 0; k < mu->K; k++)
        for (int64_t j = 0; j < width; j++)
            right[k * columns + j] = scaled(right[k * columns + j], mu->num[k * PANEL + j],
                                            mu->den[k * PANEL + j], mu->gamma);
}

/* Sums that have lost digits or left the range of double: (V + eps) / Vhat^2 spans twice the
 * exponents of its parts. Both are 0 where the other factor's component is. */
static inline __attribute__((always_inline)) bool is_lost(double num, double den)
{
    const double least = 1e-290, most = 1e290;
    /* no short cuts: the compiler then compares whole vectors */
    int good = (num >= least) & (num <= most) & (den >= least) & (den <= most);
    return !(good | ((num == 0.0) & (den == 0.0)));
}

/* (7) in long double for one entry: component k of column j of the panel. */
static double update_alone(const tl_mu *mu, int64_t rows, int64_t columns, const double *V,
                           const double *left, int64_t k, int64_t j)
{
    const double *right = mu->panel + j;
    const long double x = right[k * PANEL];
    long double num = 0.0L, den = 0.0L;
    for (int64_t r = 0; r < rows; r++) {
        long double Vhat = mu->eps;
        for (int64_t i = 0; i < mu->K; i++)
            Vhat += (long double)left[r * mu->K + i] * right[i * PANEL];
        num += left[r * mu->K + k] * ((long double)V[r * columns + j] + mu->eps) / Vhat / Vhat;
        den += left[r * mu->K + k] / Vhat;
    }
    long double out = den > 0.0L ? x * powl(num / den, mu->gamma) : x;
    return out <= MOST ? (double)out : MOST;
}

/* Updates again the entries of a panel whose sums are lost. */
static void update_lost(const tl_mu *mu, int64_t rows, int64_t columns, int64_t width,
                        const double *V, const double *left, double *right)
{
    for (int64_t k = 0; k < mu->K; k++)
        for (int64_t j = 0; j < width; j++)
            if (is_lost(mu->num[k * PANEL + j], mu->den[k * PANEL + j]))
                right[k * columns + j] = update_alone(mu, rows, columns, V, left, k, j);
}

TL_HOT static bool any_is_lost(const tl_mu *mu, int64_t width)
{
    double lost = 0.0;
    for (int64_t k = 0; k < mu->K; k++) {
        const double *num = mu->num + k * PANEL, *den = mu->den + k * PANEL;
#pragma omp simd reduction(+ : lost)
        for (int64_t j = 0; j < width; j++)
            lost += is_lost(num[j], den[j]) ? 1.0 : 0.0;
    }
    return lost > 0.0;
}

/* An update of `right` (K x columns), panel by panel, given V (rows x columns) and `left` (rows x
 * K). Every panel has its own scratch, so that panels can be updated concurrently. */
typedef struct updating {
    const tl_mu *mu;
    int64_t rows, columns;
    const double *V, *left;
    double *right;
    double *num, *den; /* K x columns; NULL: the update itself is wanted, not its sums */
} updating;

static tl_mu scratch_of(const tl_mu *mu, int64_t panel)
{
    tl_mu own = *mu;
    own.panel_V += panel * PANEL * ROWS;
    own.panel += panel * PANEL * mu->K;
    own.num += panel * PANEL * mu->K;
    own.den += panel * PANEL * mu->K;
    return own;
}

static void update_panel(int64_t panel, int64_t last, void *arg)
{
    const updating *u = arg;
    (void)last;
    tl_mu own = scratch_of(u->mu, panel);
    int64_t j = panel * PANEL, width = tl_min(PANEL, u->columns - j);
    if (u->columns == 1)
        sum_column(&own, u->rows, u->V, u->left, u->right);
    else
        sum_panel(&own, u->rows, u->columns, width, u->V + j, u->left, u->right + j);
    if (u->num == NULL)
        scale_panel(&own, u->columns, width, u->right + j);
    if (u->num == NULL && any_is_lost(&own, width))
        update_lost(&own, u->rows, u->columns, width, u->V + j, u->left, u->right + j);
    for (int64_t k = 0; u->num != NULL && k < own.K; k++) {
        tl_copy(u->num + k * u->columns + j, own.num + k * PANEL, width);
        tl_copy(u->den + k * u->columns + j, own.den + k * PANEL, width);
    }
}

static void update(updating *u)
{
    tl_share(panels(u->columns), 1, update_panel, u);
}

typedef struct turning {
    int64_t rows, columns;
    const double *A;
    double *out;
} turning;

/* Columns first .. last - 1 of A become rows of `out`, in tiles that fit the cache. */
static void turn_columns(int64_t first, int64_t last, void *arg)
{
    enum { TILE = 16 };
    const turning *t = arg;
    int64_t rows = t->rows, columns = t->columns;
    const double *A = t->A;
    double *out = t->out;
    for (int64_t c0 = first; c0 < last; c0 += TILE)
        for (int64_t r0 = 0; r0 < rows; r0 += TILE) {
            int64_t c1 = tl_min(c0 + TILE, last), r1 = tl_min(r0 + TILE, rows);
            for (int64_t c = c0; c < c1; c++)
                for (int64_t r = r0; r < r1; r++)
                    out[c * rows + r] = A[r * columns + c];
        }
}

/* out (columns x rows) = A' (A is rows x columns). */
static void turn(int64_t rows, int64_t columns, const double *A, double *out)
{
    enum { PIECE = 16384 }; /* numbers, some 10 us */
    int64_t grain = tl_max(1, PIECE / tl_max(rows, 1));
    tl_share(columns, (grain + 15) / 16 * 16, turn_columns, &(turning){rows, columns, A, out});
}

typedef struct normalising {
    int64_t M, N, K;
    double *W, *H;
} normalising;

static void normalise_columns(int64_t first, int64_t last, void *arg)
{
    const normalising *f = arg;
    int64_t M = f->M, N = f->N, K = f->K;
    for (int64_t k = first; k < last; k++) {
        double c = 0.0;
        for (int64_t m = 0; m < M; m++)
            c += f->W[m * K + k];
        if (!(c > 0.0))
            continue;
        for (int64_t m = 0; m < M; m++)
            f->W[m * K + k] /= c;
        for (int64_t n = 0; n < N; n++)
            f->H[k * N + n] *= c;
    }
}

void tl_normalise(int64_t M, int64_t N, int64_t K, double *W, double *H)
{
    enum { PIECE = 4096 }; /* columns of W are far apart: some 5 us */
    tl_share(K, tl_max(1, PIECE / tl_max(M + N, 1)), normalise_columns,
             &(normalising){M, N, K, W, H});
}

void tl_mu_begin(tl_mu *mu, const double *V, double *turned)
{
    mu->V = V;
    mu->V_turned = turned;
    if (turned != NULL)
        turn(mu->M, mu->N, V, turned);
}

void tl_mu_update_H(tl_mu *mu, double eps, const double *W, double *H)
{
    mu->eps = eps;
    update(&(updating){mu, mu->M, mu->N, mu->V, W, H, NULL, NULL});
}

/* W' and H', on which (8) is computed. */
static void turn_factors(tl_mu *mu, const double *W, const double *H)
{
    turn(mu->M, mu->K, W, mu->W_turned);
    turn(mu->K, mu->N, H, mu->H_turned);
}

void tl_mu_update(tl_mu *mu, double eps, double *W, double *H)
{
    tl_mu_update_H(mu, eps, W, H);
    turn_factors(mu, W, H);
    update(&(updating){mu, mu->N, mu->M, mu->V_turned, mu->H_turned, mu->W_turned, NULL, NULL});
    turn(mu->K, mu->M, mu->W_turned, W);
    tl_normalise(mu->M, mu->N, mu->K, W, H);
}

void tl_mu_sums_W(tl_mu *mu, double eps, const double *W, const double *H, double *num, double *den)
{
    mu->eps = eps;
    turn_factors(mu, W, H);
    update(&(updating){mu, mu->N, mu->M, mu->V_turned, mu->H_turned, mu->W_turned, num, den});
}

void tl_mu_scale_W(const tl_mu *mu, const double *num, const double *den, double *W)
{
    int64_t M = mu->M, K = mu->K;
    for (int64_t m = 0; m < M; m++)
        for (int64_t k = 0; k < K; k++)
            W[m * K + k] = scaled(W[m * K + k], num[k * M + m], den[k * M + m], mu->gamma);
}

void tl_mu_scale_H(const tl_mu *mu, const double *num, const double *den, double *H)
{
    for (int64_t i = 0; i < mu->K * mu->N; i++)
        H[i] = scaled(H[i], num[i], den[i], mu->gamma);
}
