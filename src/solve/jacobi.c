#include "solve/jacobi.h"

#include <math.h>

/* Rows are taken in blocks: both blocks of a pair stay in cache while all their pairs turn, and a
 * block offers as many pairs at a time that share no row, whose latencies then overlap. */
enum { BLOCK = TL_SWEEP_BLOCK };

/* Sum U V is about N a row. A gain of less than this part of it is not worth a turn, whose angle
 * would be mostly rounding. */
static const double TRIFLE = 1e-8;

/* Up to BLOCK disjoint pairs of rows (a, b) and their angles. */
typedef struct group {
    int64_t count, a[BLOCK], b[BLOCK];
    double p[BLOCK], D[BLOCK], c[BLOCK], s[BLOCK];
} group;

/* The two loops, in both precisions. (14): p and D of one pair; x and u are rows of X and of the
 * weights. Then its turn, of rows of X and of Phi. */
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

/* With x_a' = c x_a + s x_b, x_b' = c x_b - s x_a the sum is const + (p/2) cos 2t + D sin 2t, least
 * at cos 2t = -p/2r, sin 2t = -D/r. The angle is halved from the larger of c and s, which loses no
 * digits. Returns by how much the sums fall; where that is rounding, c = 1 and s = 0. */
static inline __attribute__((always_inline)) double solve_angles(group *g, double least)
{
    double total = 0.0;
    for (int64_t i = 0; i < g->count; i++) {
        double r = sqrt(0.25 * g->p[i] * g->p[i] + g->D[i] * g->D[i]);
        double gain = 0.5 * g->p[i] + r;
        bool turns = gain > least && gain > 1e-16 * r;
        double cos2 = turns ? -0.5 * g->p[i] / r : 1.0, sin2 = turns ? -g->D[i] / r : 0.0;
        double large = sqrt(0.5 * (1.0 + fabs(cos2))), small = 0.5 * fabs(sin2) / large;
        g->c[i] = cos2 >= 0.0 ? large : small;
        g->s[i] = copysign(cos2 >= 0.0 ? small : large, sin2);
        total += turns ? gain : 0.0;
    }
    return total;
}

/* Two blocks of rows at work, which begin with rows a0 and b0, and the weights of these rows. */
typedef struct blocks {
    tl_model *model;
    double least; /* gain for which a pair is turned */
    int64_t a0, b0;
    const double *Ua, *Ub; /* T apart; where the model is in single precision, see tl_mixed */
} blocks;

TL_HOT static double rotate_double(const blocks *at, group *g)
{
    tl_model *model = at->model;
    int64_t M = model->M, T = model->T;
    for (int64_t i = 0; i < g->count; i++)
        pair_sums_double(T, model->X + g->a[i] * T, model->X + g->b[i] * T,
                         at->Ua + (g->a[i] - at->a0) * T, at->Ub + (g->b[i] - at->b0) * T, &g->p[i],
                         &g->D[i]);
    double gain = solve_angles(g, at->least);
    for (int64_t i = 0; i < g->count; i++) {
        if (g->s[i] == 0.0)
            continue;
        turn_double(T, g->c[i], g->s[i], model->X + g->a[i] * T, model->X + g->b[i] * T);
        turn_double(M, g->c[i], g->s[i], model->Phi + g->a[i] * M, model->Phi + g->b[i] * M);
    }
    return gain;
}

TL_HOT static double rotate_single(const blocks *at, group *g)
{
    const tl_mixed *mixed = at->model->mixed;
    int64_t M = mixed->Phi_stride, T = mixed->X_stride;
    const float *Ua = mixed->U, *Ub = at->b0 == at->a0 ? Ua : Ua + BLOCK * T;
    for (int64_t i = 0; i < g->count; i++)
        pair_sums_single(T, mixed->X + g->a[i] * T, mixed->X + g->b[i] * T,
                         Ua + (g->a[i] - at->a0) * T, Ub + (g->b[i] - at->b0) * T, &g->p[i],
                         &g->D[i]);
    double gain = solve_angles(g, at->least);
    for (int64_t i = 0; i < g->count; i++) {
        if (g->s[i] == 0.0)
            continue;
        float c = (float)g->c[i], s = (float)g->s[i];
        turn_single(T, c, s, mixed->X + g->a[i] * T, mixed->X + g->b[i] * T);
        turn_single(M, c, s, mixed->Phi + g->a[i] * M, mixed->Phi + g->b[i] * M);
    }
    return gain;
}

static double rotate(const blocks *at, group *g)
{
    return at->model->mixed != NULL ? rotate_single(at, g) : rotate_double(at, g);
}

/* All pairs with one row in each of the blocks: in rounds, each row once in a round. */
static double turn_between(const blocks *at)
{
    int64_t rows = tl_min(BLOCK, at->model->M - at->b0); /* only the last block may be short */
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
        gain += rotate(at, &g);
    }
    return gain;
}

/* All pairs inside one block, b0 = a0: the circle method of a round-robin tournament. */
static double turn_within(const blocks *at)
{
    int64_t a0 = at->a0, rows = tl_min(BLOCK, at->model->M - a0);
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
        gain += rotate(at, &g);
    }
    return gain;
}

/* ---- a sweep --------------------------------------------------------------------------------- */

/* The weights of a block's rows: those of frame n for each of its columns, laid out in `room`; U
 * itself where every frame has one. */
static const double *spread_double(const tl_model *model, int64_t row, double *room)
{
    const tlnmf_data *data = model->data;
    if (data->one_each)
        return model->U + row * model->N;
    double *out = room;
    for (int64_t m = row; m < tl_min(row + BLOCK, model->M); m++)
        for (int64_t n = 0; n < model->N; n++)
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                *out++ = model->U[m * model->N + n];
    return room;
}

TL_HOT static void spread_single(const tl_model *model, int64_t row, float *room)
{
    const tlnmf_data *data = model->data;
    for (int64_t m = row; m < tl_min(row + BLOCK, model->M); m++, room += model->mixed->X_stride) {
        const double *u = model->U + m * model->N;
        if (data->one_each) {
            for (int64_t n = 0; n < model->N; n++)
                room[n] = (float)u[n];
            continue;
        }
        for (int64_t n = 0; n < model->N; n++)
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                room[t] = (float)u[n];
    }
}

/* The weights of the rows from a0 on, or of those from b0 on. */
static void spread(blocks *at, bool is_b)
{
    const tl_model *model = at->model;
    int64_t row = is_b ? at->b0 : at->a0;
    if (model->mixed != NULL) {
        spread_single(model, row, model->mixed->U + (is_b ? BLOCK * model->mixed->X_stride : 0));
        return;
    }
    const double *U = spread_double(model, row, model->UX + (is_b ? BLOCK * model->T : 0));
    at->Ub = U;
    if (!is_b)
        at->Ua = U;
}

static double turn_all(tl_model *model, double least)
{
    double gain = 0.0;
    blocks at = {.model = model, .least = fmax(least, TRIFLE * (double)model->N)};
    for (at.a0 = 0; at.a0 < model->M; at.a0 += BLOCK) {
        at.b0 = at.a0;
        spread(&at, false);
        gain += turn_within(&at);
        for (at.b0 = at.a0 + BLOCK; at.b0 < model->M; at.b0 += BLOCK) {
            spread(&at, true);
            gain += turn_between(&at);
        }
    }
    return gain;
}

/* Into the room for single precision, and back; padding stays zero. */
static void round_rows(const tl_model *model)
{
    const tl_mixed *mixed = model->mixed;
    int64_t M = model->M, T = model->T;
    for (int64_t m = 0; m < M; m++) {
        for (int64_t t = 0; t < T; t++)
            mixed->X[m * mixed->X_stride + t] = (float)model->X[m * T + t];
        for (int64_t b = 0; b < M; b++)
            mixed->Phi[m * mixed->Phi_stride + b] = (float)model->Phi[m * M + b];
    }
}

static void return_rows(tl_model *model)
{
    const tl_mixed *mixed = model->mixed;
    int64_t M = model->M, T = model->T;
    for (int64_t m = 0; m < M; m++) {
        for (int64_t t = 0; t < T; t++)
            model->X[m * T + t] = (double)mixed->X[m * mixed->X_stride + t];
        for (int64_t b = 0; b < M; b++)
            model->Phi[m * M + b] = (double)mixed->Phi[m * mixed->Phi_stride + b];
    }
}

double tl_jacobi_sweep(tl_model *model, double least)
{
    if (model->mixed != NULL)
        round_rows(model);
    double gain = turn_all(model, least);
    if (model->mixed != NULL)
        return_rows(model);
    tl_power(model->data, model->X, model->V);
    return gain;
}
