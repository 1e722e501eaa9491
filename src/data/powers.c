/* Missing powers: NaN in the square roots of powers becomes a mask of the entries of V. */
#include "data/data.h"

#include <math.h>

/* Y {S, M, N}: roots of powers; mask {M, N}. */
typedef struct power_gaps {
    double *Y, *mask;
    int64_t S, M, N;
    bool all;        /* every NaN is a gap; else only where the mask is 0 */
    double mean;     /* of the powers that are present */
    int64_t present; /* entries of V that at least one realisation has */
} power_gaps;

/* The mean over the realisations that have power i of V. *seen receives their number. */
static double mean_of(const power_gaps *g, int64_t i, int64_t *seen)
{
    double sum = 0.0;
    *seen = 0;
    for (int64_t s = 0; s < g->S; s++) {
        double y = g->Y[s * g->M * g->N + i];
        sum += isnan(y) ? 0.0 : y * y;
        *seen += isnan(y) ? 0 : 1;
    }
    return *seen > 0 ? sum / (double)*seen : 0.0;
}

static void measure(power_gaps *g)
{
    int64_t seen;
    for (int64_t i = 0; i < g->M * g->N; i++) {
        double v = mean_of(g, i, &seen);
        g->mean += v;
        g->present += seen > 0 ? 1 : 0;
    }
    g->mean /= (double)tl_max(g->present, 1);
}

/* Fills the gaps of entry i. Returns their number. */
static int64_t fill_entry(const power_gaps *g, int64_t i)
{
    int64_t seen;
    double v = mean_of(g, i, &seen);
    if (seen == g->S || !(g->all || g->mask[i] == 0.0))
        return 0;
    double root = sqrt(seen > 0 ? v : g->mean); /* the mean power, and thus eps, stays the same */
    for (int64_t s = 0; s < g->S; s++) {
        double *y = &g->Y[s * g->M * g->N + i];
        *y = isnan(*y) ? root : *y;
    }
    g->mask[i] *= (double)seen / (double)g->S;
    return g->S - seen;
}

tlnmf_error tlnmf_fill_missing_powers(tlnmf_ctx *ctx, double *Y, const int64_t shape[3],
                                      double *mask, int64_t *missing)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, Y);
    TL_NEED(ctx, shape);
    TL_NEED(ctx, mask);
    int64_t S = shape[0], M = shape[1], N = shape[2], count;
    if (S < 1 || M < 1 || N < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "S = %lld, M = %lld, N = %lld: all must be at least 1",
                       (long long)S, (long long)M, (long long)N);
    if (__builtin_mul_overflow(S, M, &count) || __builtin_mul_overflow(count, N, &count))
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE, "%lld x %lld x %lld numbers would not fit",
                       (long long)S, (long long)M, (long long)N);
    power_gaps g = {Y, mask, S, M, N, missing != NULL, 0.0, 0};
    measure(&g);
    if (g.present == 0)
        return tl_fail(ctx, TLNMF_ERR_DATA, "every power is missing");
    count = 0;
    for (int64_t i = 0; i < M * N; i++)
        count += fill_entry(&g, i);
    if (missing != NULL)
        *missing = count;
    return TLNMF_OK;
}
