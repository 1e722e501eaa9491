/* Multiplicative updates (7)-(9).
 *
 * The update of H reads V by columns, that of W by rows. V' is kept beside V, so that both are the
 * same computation with the roles exchanged: `right` (K x columns) is updated from V (rows x
 * columns) and `left` (rows x K). It runs over panels of columns, in blocks of eight rows by eight
 * columns. Each row of a block is one vector of columns: sums over rows need no reduction and stay
 * in cache, and every number that is loaded is used eight times. */
#include "model/kernels.h"

#include <math.h>
#include <string.h>

enum { LANE = 8, ROWS = 8, BLOCKS = 4, PANEL = LANE * BLOCKS };

/* Eight columns of one row, at any address. */
typedef double lane __attribute__((vector_size(LANE * sizeof(double)), aligned(sizeof(double))));

void tl_mu_slots(tl_mu *mu, int64_t M, int64_t N, int64_t K, tl_slot slots[TL_MU_SLOTS])
{
    mu->M = M;
    mu->N = N;
    mu->K = K;
    struct {
        double **part;
        int64_t count;
    } parts[TL_MU_SLOTS] = {
        {&mu->W_turned, K * M},  {&mu->H_turned, N * K}, {&mu->panel_V, (int64_t)ROWS * PANEL},
        {&mu->panel, K * PANEL}, {&mu->num, K * PANEL},  {&mu->den, K * PANEL}};
    for (int i = 0; i < TL_MU_SLOTS; i++)
        slots[i] = (tl_slot){parts[i].part, parts[i].count, sizeof(double)};
}

/* x times (num / den)^gamma. A denominator of 0 means that the other factor's component is all
 * zeros: x has no effect then and stays. */
static inline __attribute__((always_inline)) double scaled(double x, double num, double den,
                                                           double gamma)
{
    double ratio = den > 0.0 ? num / den : 1.0;
    if (gamma == 1.0)
        return x * ratio;
    return x * (gamma == 0.5 ? sqrt(ratio) : pow(ratio, gamma));
}

/* A macro: vectors passed to functions would tie the ABI to the instruction set. */
#define LOAD(x)     (*(const lane *)(const void *)(x))
#define STORE(x, v) (*(lane *)(void *)(x) = (v))

/* One lane of eight columns: rows of V, `stride` apart; `left`, K per row; lanes of `right`, num
 * and den, PANEL apart. */
typedef struct tile {
    int64_t K, stride;
    double eps;
    const double *V, *left, *right;
    double *num, *den;
} tile;

/* `rows` <= ROWS rows of V by one lane of columns: B = 1 / (left right + eps), A = (V + eps) B^2,
 * num += left' A, den += left' B. */
static inline __attribute__((always_inline)) void block(int64_t rows, const tile *t)
{
    lane A[ROWS], B[ROWS];
    for (int64_t i = 0; i < rows; i++)
        B[i] = (lane){0} + t->eps;
    for (int64_t k = 0; k < t->K; k++) {
        lane h = LOAD(t->right + k * PANEL);
        for (int64_t i = 0; i < rows; i++)
            B[i] += t->left[i * t->K + k] * h;
    }
    for (int64_t i = 0; i < rows; i++) {
        B[i] = 1.0 / B[i];
        A[i] = (LOAD(t->V + i * t->stride) + t->eps) * B[i] * B[i];
    }
    for (int64_t k = 0; k < t->K; k++) {
        lane n = LOAD(t->num + k * PANEL), d = LOAD(t->den + k * PANEL);
        for (int64_t i = 0; i < rows; i++) {
            n += t->left[i * t->K + k] * A[i];
            d += t->left[i * t->K + k] * B[i];
        }
        STORE(t->num + k * PANEL, n);
        STORE(t->den + k * PANEL, d);
    }
}

/* All blocks of these rows. A panel at the right edge whose columns do not fill their lanes is
 * copied first; values beyond the edge are not used. */
static inline __attribute__((always_inline)) void row_of_blocks(tl_mu *mu, int64_t rows,
                                                                int64_t width, const double *V,
                                                                int64_t stride, double eps,
                                                                const double *left)
{
    if (width < PANEL) {
        for (int64_t i = 0; i < rows; i++)
            memcpy(mu->panel_V + i * PANEL, V + i * stride, (size_t)width * sizeof *V);
        V = mu->panel_V;
        stride = PANEL;
    }
    for (int64_t j = 0; j < width; j += LANE)
        block(rows,
              &(tile){mu->K, stride, eps, V + j, left, mu->panel + j, mu->num + j, mu->den + j});
}

/* One of the two updates: `right` (K x columns) from V (rows x columns) and `left` (rows x K). */
typedef struct side {
    int64_t rows, columns;
    double eps;
    const double *V, *left;
    double *right;
} side;

/* The sums over all rows for the panel of columns that begins with column j: mu->num, mu->den. */
TL_HOT static void sum_panel(tl_mu *mu, const side *s, int64_t j)
{
    int64_t K = mu->K, columns = s->columns, width = tl_min(PANEL, columns - j), r = 0;
    size_t bytes = (size_t)(K * PANEL) * sizeof(double);
    for (int64_t k = 0; k < K; k++)
        memcpy(mu->panel + k * PANEL, s->right + k * columns + j, (size_t)width * sizeof(double));
    memset(mu->num, 0, bytes);
    memset(mu->den, 0, bytes);
    for (; r + ROWS <= s->rows; r += ROWS)
        row_of_blocks(mu, ROWS, width, s->V + r * columns + j, columns, s->eps, s->left + r * K);
    for (; r < s->rows; r++)
        row_of_blocks(mu, 1, width, s->V + r * columns + j, columns, s->eps, s->left + r * K);
}

/* The panel's update from these sums. */
TL_HOT static void scale_panel(const tl_mu *mu, const side *s, int64_t j)
{
    int64_t columns = s->columns, width = tl_min(PANEL, columns - j);
    double *right = s->right + j;
    for (int64_t k = 0; k < mu->K; k++)
        for (int64_t i = 0; i < width; i++)
            right[k * columns + i] = scaled(right[k * columns + i], mu->num[k * PANEL + i],
                                            mu->den[k * PANEL + i], mu->gamma);
}

static void update(tl_mu *mu, const side *s)
{
    for (int64_t j = 0; j < s->columns; j += PANEL) {
        sum_panel(mu, s, j);
        scale_panel(mu, s, j);
    }
}

/* out (columns x rows) = A' (A is rows x columns), in tiles that fit the cache. */
static void turn(int64_t rows, int64_t columns, const double *A, double *out)
{
    enum { TILE = 16 };
    for (int64_t r0 = 0; r0 < rows; r0 += TILE)
        for (int64_t c0 = 0; c0 < columns; c0 += TILE)
            for (int64_t c = c0; c < tl_min(c0 + TILE, columns); c++)
                for (int64_t r = r0; r < tl_min(r0 + TILE, rows); r++)
                    out[c * rows + r] = A[r * columns + c];
}

void tl_normalise(int64_t M, int64_t N, int64_t K, double *W, double *H)
{
    for (int64_t k = 0; k < K; k++) {
        double c = 0.0;
        for (int64_t m = 0; m < M; m++)
            c += W[m * K + k];
        if (!(c > 0.0))
            continue;
        for (int64_t m = 0; m < M; m++)
            W[m * K + k] /= c;
        for (int64_t n = 0; n < N; n++)
            H[k * N + n] *= c;
    }
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
    update(mu, &(side){mu->M, mu->N, eps, mu->V, W, H});
}

/* W' and H', on which (8) is computed. */
static side side_of_W(tl_mu *mu, double eps, const double *W, const double *H)
{
    turn(mu->M, mu->K, W, mu->W_turned);
    turn(mu->K, mu->N, H, mu->H_turned);
    return (side){mu->N, mu->M, eps, mu->V_turned, mu->H_turned, mu->W_turned};
}

void tl_mu_update(tl_mu *mu, double eps, double *W, double *H)
{
    tl_mu_update_H(mu, eps, W, H);
    side s = side_of_W(mu, eps, W, H);
    update(mu, &s);
    turn(mu->K, mu->M, mu->W_turned, W);
    tl_normalise(mu->M, mu->N, mu->K, W, H);
}

void tl_mu_sums_W(tl_mu *mu, double eps, const double *W, const double *H, double *num, double *den)
{
    side s = side_of_W(mu, eps, W, H);
    for (int64_t j = 0; j < s.columns; j += PANEL) {
        int64_t width = tl_min(PANEL, s.columns - j);
        sum_panel(mu, &s, j);
        for (int64_t k = 0; k < mu->K; k++) {
            tl_copy(num + k * s.columns + j, mu->num + k * PANEL, width);
            tl_copy(den + k * s.columns + j, mu->den + k * PANEL, width);
        }
    }
}

void tl_mu_scale_W(const tl_mu *mu, const double *num, const double *den, double *W)
{
    int64_t M = mu->M, K = mu->K;
    for (int64_t m = 0; m < M; m++)
        for (int64_t k = 0; k < K; k++)
            W[m * K + k] = scaled(W[m * K + k], num[k * M + m], den[k * M + m], mu->gamma);
}
