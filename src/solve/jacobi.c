#include "solve/jacobi.h"

#include <math.h>

/* Rows are taken in blocks: both blocks of a pair stay in cache while all their pairs turn, and a
 * block offers as many pairs at a time that share no row, whose latencies then overlap. */
enum { BLOCK = 8 };

/* Sum U V is about N a row. A gain of less than this part of it is not worth a turn, whose angle
 * would be mostly rounding. */
static const double TRIFLE = 1e-8;

/* Up to BLOCK disjoint pairs of rows (a, b) and their angles. */
typedef struct group {
    int64_t count, a[BLOCK], b[BLOCK];
    double p[BLOCK], D[BLOCK], c[BLOCK], s[BLOCK];
} group;

/* (14): p and D of one pair; x and u are rows of X and of the weights, T long. */
static inline __attribute__((always_inline)) void
pair_sums(int64_t T, const double *restrict xa, const double *restrict xb,
          const double *restrict ua, const double *restrict ub, double *p_out, double *D_out)
{
    double p = 0.0, D = 0.0;
#pragma omp simd reduction(+ : p, D)
    for (int64_t t = 0; t < T; t++) {
        double d = ua[t] - ub[t];
        p += d * (xa[t] - xb[t]) * (xa[t] + xb[t]);
        D += d * xa[t] * xb[t];
    }
    *p_out = p;
    *D_out = D;
}

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

static inline __attribute__((always_inline)) void turn(int64_t count, double c, double s,
                                                       double *restrict a, double *restrict b)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        double x = a[i], y = b[i];
        a[i] = c * x + s * y;
        b[i] = c * y - s * x;
    }
}

TL_HOT static double rotate(tl_model *model, const double *U, double least, group *g)
{
    int64_t M = model->M, T = model->T;
    for (int64_t i = 0; i < g->count; i++)
        pair_sums(T, model->X + g->a[i] * T, model->X + g->b[i] * T, U + g->a[i] * T,
                  U + g->b[i] * T, &g->p[i], &g->D[i]);
    double gain = solve_angles(g, least);
    for (int64_t i = 0; i < g->count; i++) {
        if (g->s[i] == 0.0)
            continue;
        turn(T, g->c[i], g->s[i], model->X + g->a[i] * T, model->X + g->b[i] * T);
        turn(M, g->c[i], g->s[i], model->Phi + g->a[i] * M, model->Phi + g->b[i] * M);
    }
    return gain;
}

/* All pairs with one row in each of two blocks: in rounds, each row once in a round. */
static double turn_blocks(tl_model *model, const double *U, double least, int64_t a0, int64_t b0)
{
    int64_t M = model->M, rows = tl_min(BLOCK, M - b0); /* only the last block may be short */
    double gain = 0.0;
    for (int64_t shift = 0; shift < BLOCK; shift++) {
        group g = {.count = 0};
        for (int64_t i = 0; i < BLOCK; i++) {
            int64_t j = (i + shift) % BLOCK;
            if (j >= rows)
                continue;
            g.a[g.count] = a0 + i;
            g.b[g.count++] = b0 + j;
        }
        gain += rotate(model, U, least, &g);
    }
    return gain;
}

/* All pairs inside one block: the circle method of a round-robin tournament. */
static double turn_within(tl_model *model, const double *U, double least, int64_t a0)
{
    int64_t rows = tl_min(BLOCK, model->M - a0);
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
        gain += rotate(model, U, least, &g);
    }
    return gain;
}

/* The weights of frame n for each of its columns; U itself where every frame has one. */
static const double *spread_weights(tl_model *model)
{
    const tlnmf_data *data = model->data;
    if (data->one_each)
        return model->U;
    for (int64_t m = 0; m < model->M; m++)
        for (int64_t n = 0; n < model->N; n++)
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                model->UX[m * model->T + t] = model->U[m * model->N + n];
    return model->UX;
}

double tl_jacobi_sweep(tl_model *model, double least)
{
    const double *U = spread_weights(model);
    double gain = 0.0;
    least = fmax(least, TRIFLE * (double)model->N);
    for (int64_t a0 = 0; a0 < model->M; a0 += BLOCK) {
        gain += turn_within(model, U, least, a0);
        for (int64_t b0 = a0 + BLOCK; b0 < model->M; b0 += BLOCK)
            gain += turn_blocks(model, U, least, a0, b0);
    }
    tl_power(model->data, model->X, model->V);
    return gain;
}
