/* Multiplicative updates (7)-(9).
 *
 * The update of H reads V by columns, that of W by rows. V' is kept beside V, so that both are the
 * same computation with the roles exchanged: `right` (K x columns) is updated from V (rows x
 * columns) and `left` (rows x K). It goes panel by panel of columns, eight rows by eight columns at
 * a time: a lane of columns for each row, so that sums over rows need no reduction and stay in
 * cache, and every number that is loaded is used eight times. */
#include "model/kernels.h"

#include <math.h>
#include <string.h>

enum { LANE = 8, ROWS = 8, BLOCKS = 4, PANEL = LANE * BLOCKS };

/* Eight columns of one row, wherever they stand. */
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

/* x times (num / den)^gamma. A denominator of zero means that the other factor's component is zero
 * throughout: then x does not matter and stays. */
static inline __attribute__((always_inline)) double scaled(double x, double num, double den,
                                                           double gamma)
{
    double ratio = den > 0.0 ? num / den : 1.0;
    if (gamma == 1.0)
        return x * ratio;
    return x * (gamma == 0.5 ? sqrt(ratio) : pow(ratio, gamma));
}

/* A macro, since vectors that pass through functions would tie the ABI to the instruction set. */
#define LOAD(x)     (*(const lane *)(const void *)(x))
#define STORE(x, v) (*(lane *)(void *)(x) = (v))

/* `rows` <= ROWS rows of V, `stride` apart, by one lane of columns: B = 1 / (left right + eps),
 * A = (V + eps) B^2, num += left' A, den += left' B. */
static inline __attribute__((always_inline)) void block(int64_t rows, int64_t K, const double *V,
                                                        int64_t stride, double eps,
                                                        const double *left, const double *right,
                                                        double *num, double *den)
{
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

/* All blocks of some rows. A panel at the right edge, whose columns do not fill their lanes, is
 * copied first; what stands beyond its edge is not used by anyone. */
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
        block(rows, mu->K, V + j, stride, eps, left, mu->panel + j, mu->num + j, mu->den + j);
}

/* One panel of `right`: its sums over all rows, then its update. */
TL_HOT static void update_panel(tl_mu *mu, int64_t rows, int64_t columns, int64_t width,
                                const double *V, double eps, const double *left, double *right)
{
    int64_t K = mu->K, r = 0;
    size_t bytes = (size_t)(K * PANEL) * sizeof(double);
    for (int64_t k = 0; k < K; k++)
        memcpy(mu->panel + k * PANEL, right + k * columns, (size_t)width * sizeof *right);
    memset(mu->num, 0, bytes);
    memset(mu->den, 0, bytes);
    for (; r + ROWS <= rows; r += ROWS)
        row_of_blocks(mu, ROWS, width, V + r * columns, columns, eps, left + r * K);
    for (; r < rows; r++)
        row_of_blocks(mu, 1, width, V + r * columns, columns, eps, left + r * K);
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < width; j++)
            right[k * columns + j] = scaled(right[k * columns + j], mu->num[k * PANEL + j],
                                            mu->den[k * PANEL + j], mu->gamma);
}

static void update(tl_mu *mu, int64_t rows, int64_t columns, const double *V, double eps,
                   const double *left, double *right)
{
    for (int64_t j = 0; j < columns; j += PANEL)
        update_panel(mu, rows, columns, tl_min(PANEL, columns - j), V + j, eps, left, right + j);
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
    update(mu, mu->M, mu->N, mu->V, eps, W, H);
}

void tl_mu_update(tl_mu *mu, double eps, double *W, double *H)
{
    int64_t M = mu->M, N = mu->N, K = mu->K;
    tl_mu_update_H(mu, eps, W, H);
    turn(M, K, W, mu->W_turned);
    turn(K, N, H, mu->H_turned);
    update(mu, N, M, mu->V_turned, eps, mu->H_turned, mu->W_turned);
    turn(K, M, mu->W_turned, W);
    tl_normalise(M, N, K, W, H);
}
