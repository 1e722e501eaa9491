/* Jacobi sweeps (14), in both precisions. */
#include "engine/jacobi.h"

#include <math.h>

/* Rows are processed in blocks. Both blocks of a pair stay in cache while all their pairs are
 * rotated. A block offers up to BLOCK disjoint pairs at a time, whose latencies overlap. */
enum { BLOCK = TL_SWEEP_BLOCK, PAIR_SUMS = 2 * BLOCK };

/* sum U V is about N per row. A gain below this fraction of it is not worth a rotation: the angle
 * would be mostly rounding. */
static const double TRIFLE = 1e-8;

/* Up to BLOCK disjoint pairs of rows (a, b) and their angles. */
typedef struct group {
    int64_t count, a[BLOCK], b[BLOCK];
    double sums[2][BLOCK]; /* p and D of (14) */
    double c[BLOCK], s[BLOCK];
} group;

/* The two loops in both precisions: p and D of (14) for one pair, where x and u are rows of X and
 * of the weights; then the rotation of rows of X and of Phi. */
/* NOLINTBEGIN(bugprone-macro-parentheses): `real` is a type */
#define LOOPS(real, precision)                                                                     \
    static inline __attribute__((always_inline)) void pair_sums_##precision(                       \
        int64_t length, const real *restrict xa, const real *restrict xb, const real *restrict ua, \
        const real *restrict ub, double *p_out, double *D_out)                                     \
    {                                                                                              \
        real p = 0, D = 0;                                                                         \
        _Pragma("omp simd reduction(+ : p, D)") for (int64_t t = 0; t < length; t++)               \
        {                                                                                          \
            real d = ua[t] - ub[t];                                                                \
            p += d * (xa[t] - xb[t]) * (xa[t] + xb[t]);                                            \
            D += d * xa[t] * xb[t];                                                                \
        }                                                                                          \
        *p_out = (double)p;                                                                        \
        *D_out = (double)D;                                                                        \
    }                                                                                              \
    static inline __attribute__((always_inline)) void turn_##precision(                            \
        int64_t length, real c, real s, real *restrict a, real *restrict b)                        \
    {                                                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < length; i++)                                   \
        {                                                                                          \
            real x = a[i], y = b[i];                                                               \
            a[i] = c * x + s * y;                                                                  \
            b[i] = c * y - s * x;                                                                  \
        }                                                                                          \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
LOOPS(double, double)
LOOPS(float, single)

/* With x_a' = c x_a + s x_b, x_b' = c x_b - s x_a the sum is const + (p/2) cos 2t + D sin 2t, which
 * is least at cos 2t = -p/2r, sin 2t = -D/r. The angle is halved from the larger of c and s, which
 * loses no digits. Returns by how much the sum falls. If that is mere rounding, c = 1 and s = 0. */
static inline __attribute__((always_inline)) double solve_angles(group *g, double least)
{
    double total = 0.0;
    for (int64_t i = 0; i < g->count; i++) {
        double p = g->sums[0][i], D = g->sums[1][i];
        double r = sqrt(0.25 * p * p + D * D);
        double gain = 0.5 * p + r;
        bool turns = gain > least && gain > 1e-16 * r;
        double cos2 = turns ? -0.5 * p / r : 1.0, sin2 = turns ? -D / r : 0.0;
        double large = sqrt(0.5 * (1.0 + fabs(cos2))), small = 0.5 * fabs(sin2) / large;
        g->c[i] = cos2 >= 0.0 ? large : small;
        g->s[i] = copysign(cos2 >= 0.0 ? small : large, sin2);
        total += turns ? gain : 0.0;
    }
    return total;
}

/* The two current blocks of rows, which begin with rows a0 and b0, and the weights of these
 * rows. */
typedef struct blocks blocks;
struct blocks {
    const tl_sweep *sweep;
    double least; /* least gain for which a pair is rotated */
    int64_t a0, b0;
    /* Rotates the group's pairs; lays out the weights of the rows from a0 on, or from b0 on. */
    double (*rotate)(const blocks *at, group *g);
    void (*spread)(blocks *at, bool is_b);
    const double *Ua, *Ub;  /* in double: T apart */
    const tl_rounded *rows; /* in single */
};

TL_HOT static double rotate_double(const blocks *at, group *g)
{
    const tl_sweep *sweep = at->sweep;
    int64_t M = sweep->data->M, T = sweep->data->T;
    double *X = sweep->X, *Phi = sweep->Phi;
    for (int64_t i = 0; i < g->count; i++)
        pair_sums_double(T, X + g->a[i] * T, X + g->b[i] * T, at->Ua + (g->a[i] - at->a0) * T,
                         at->Ub + (g->b[i] - at->b0) * T, &g->sums[0][i], &g->sums[1][i]);
    tl_sums_add(sweep->sums, g->sums[0], PAIR_SUMS);
    double gain = solve_angles(g, at->least);
    for (int64_t i = 0; i < g->count; i++) {
        if (g->s[i] == 0.0)
            continue;
        turn_double(T, g->c[i], g->s[i], X + g->a[i] * T, X + g->b[i] * T);
        turn_double(M, g->c[i], g->s[i], Phi + g->a[i] * M, Phi + g->b[i] * M);
    }
    return gain;
}

TL_HOT static double rotate_single(const blocks *at, group *g)
{
    const tl_rounded *rows = at->rows;
    int64_t M = rows->Phi_stride, T = rows->X_stride;
    const float *Ua = rows->U, *Ub = at->b0 == at->a0 ? Ua : Ua + BLOCK * T;
    for (int64_t i = 0; i < g->count; i++)
        pair_sums_single(T, rows->X + g->a[i] * T, rows->X + g->b[i] * T,
                         Ua + (g->a[i] - at->a0) * T, Ub + (g->b[i] - at->b0) * T, &g->sums[0][i],
                         &g->sums[1][i]);
    tl_sums_add(at->sweep->sums, g->sums[0], PAIR_SUMS);
    double gain = solve_angles(g, at->least);
    for (int64_t i = 0; i < g->count; i++) {
        if (g->s[i] == 0.0)
            continue;
        float c = (float)g->c[i], s = (float)g->s[i];
        turn_single(T, c, s, rows->X + g->a[i] * T, rows->X + g->b[i] * T);
        turn_single(M, c, s, rows->Phi + g->a[i] * M, rows->Phi + g->b[i] * M);
    }
    return gain;
}

/* All pairs with one row in each block, in rounds: each row occurs once per round. */
static double turn_between(const blocks *at)
{
    int64_t rows = tl_min(BLOCK, at->sweep->data->M - at->b0); /* fewer in the last block */
    double gain = 0.0;
    for (int64_t shift = 0; shift < BLOCK; shift++) {
        group g = {.count = 0};
        for (int64_t i = 0; i < BLOCK; i++) {
            int64_t j = (i + shift) % BLOCK;
            if (j >= rows)
                continue;
            g.a[g.count] = at->a0 + i;
            g.b[g.count++] = at->b0 + j;
        }
        gain += at->rotate(at, &g);
    }
    return gain;
}

/* All pairs inside one block, b0 = a0: the circle method of a round-robin tournament. */
static double turn_within(const blocks *at)
{
    int64_t a0 = at->a0, rows = tl_min(BLOCK, at->sweep->data->M - a0);
    double gain = 0.0;
    for (int64_t round = 0; round < BLOCK - 1; round++) {
        group g = {.count = 0};
        for (int64_t i = 0; i < BLOCK / 2; i++) {
            int64_t j = i == 0 ? BLOCK - 1 : (round + BLOCK - 1 - i) % (BLOCK - 1);
            int64_t k = (round + i) % (BLOCK - 1);
            if (j >= rows || k >= rows)
                continue;
            g.a[g.count] = a0 + tl_min(j, k);
            g.b[g.count++] = a0 + tl_max(j, k);
        }
        gain += at->rotate(at, &g);
    }
    return gain;
}

static double turn_all(blocks *at)
{
    int64_t M = at->sweep->data->M;
    double gain = 0.0;
    at->least = fmax(at->sweep->least, TRIFLE * at->sweep->frames);
    for (at->a0 = 0; at->a0 < M; at->a0 += BLOCK) {
        at->b0 = at->a0;
        at->spread(at, false);
        gain += turn_within(at);
        for (at->b0 = at->a0 + BLOCK; at->b0 < M; at->b0 += BLOCK) {
            at->spread(at, true);
            gain += turn_between(at);
        }
    }
    return gain;
}

/* ---- in double ------------------------------------------------------------------------------- */

int64_t tl_sweep_scratch(const tlnmf_data *data)
{
    return data->one_each ? 0 : (int64_t)2 * BLOCK * data->T;
}

/* The weights of a block's rows, one for each column, written to `out`. If every frame has one
 * column: U itself. */
static const double *lay_out_weights(const tl_sweep *sweep, int64_t row, double *out)
{
    const tlnmf_data *data = sweep->data;
    int64_t M = data->M, N = data->N;
    if (data->one_each)
        return sweep->U + row * N;
    const double *first = out;
    for (int64_t m = row; m < tl_min(row + BLOCK, M); m++)
        for (int64_t n = 0; n < N; n++)
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                *out++ = sweep->U[m * N + n];
    return first;
}

static void spread_double(blocks *at, bool is_b)
{
    const tl_sweep *sweep = at->sweep;
    const double *U = lay_out_weights(sweep, is_b ? at->b0 : at->a0,
                                      sweep->scratch + (is_b ? BLOCK * sweep->data->T : 0));
    at->Ub = U;
    if (!is_b)
        at->Ua = U;
}

double tl_sweep_double(const tl_sweep *sweep)
{
    return turn_all(&(blocks){.sweep = sweep, .rotate = rotate_double, .spread = spread_double});
}

/* ---- in single ------------------------------------------------------------------------------- */

static int64_t padded(int64_t length)
{
    enum { VECTOR = 16 }; /* floats in the longest vector register */
    return (length + VECTOR - 1) / VECTOR * VECTOR;
}

void tl_rounded_slots(tl_rounded *rows, const tlnmf_data *data, tl_slot slots[TL_ROUNDED_SLOTS])
{
    rows->X_stride = padded(data->T);
    rows->Phi_stride = padded(data->M);
    const tl_slot parts[] = {TL_SLOT(rows->X, data->M * rows->X_stride),
                             TL_SLOT(rows->Phi, data->M * rows->Phi_stride),
                             TL_SLOT(rows->U, (int64_t)2 * BLOCK * rows->X_stride)};
    memcpy(slots, parts, sizeof parts);
}

TL_HOT static void round_weights(const tl_sweep *sweep, int64_t row, int64_t stride, float *out)
{
    const tlnmf_data *data = sweep->data;
    int64_t N = data->N;
    for (int64_t m = row; m < tl_min(row + BLOCK, data->M); m++, out += stride) {
        const double *u = sweep->U + m * N;
        if (data->one_each) {
            for (int64_t n = 0; n < N; n++)
                out[n] = (float)u[n];
            continue;
        }
        for (int64_t n = 0; n < N; n++)
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                out[t] = (float)u[n];
    }
}

static void spread_single(blocks *at, bool is_b)
{
    int64_t stride = at->rows->X_stride;
    round_weights(at->sweep, is_b ? at->b0 : at->a0, stride,
                  at->rows->U + (is_b ? BLOCK * stride : 0));
}

static void round_rows(int64_t M, int64_t length, const double *x, int64_t stride, float *out)
{
    for (int64_t m = 0; m < M; m++)
        for (int64_t i = 0; i < length; i++)
            out[m * stride + i] = (float)x[m * length + i];
}

static void return_rows(int64_t M, int64_t length, const float *x, int64_t stride, double *out)
{
    for (int64_t m = 0; m < M; m++)
        for (int64_t i = 0; i < length; i++)
            out[m * length + i] = (double)x[m * stride + i];
}

double tl_sweep_single(const tl_sweep *sweep, const tl_rounded *rows)
{
    int64_t M = sweep->data->M, T = sweep->data->T;
    round_rows(M, T, sweep->X, rows->X_stride, rows->X); /* padding stays zero */
    round_rows(M, M, sweep->Phi, rows->Phi_stride, rows->Phi);
    double gain = turn_all(
        &(blocks){.sweep = sweep, .rotate = rotate_single, .spread = spread_single, .rows = rows});
    return_rows(M, T, rows->X, rows->X_stride, sweep->X);
    return_rows(M, M, rows->Phi, rows->Phi_stride, sweep->Phi);
    return gain;
}
