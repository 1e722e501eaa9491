/* Which estimate belongs to which reference: the assignment with the largest sum of scores. */
#include "linalg/linalg.h"
#include "score/score.h"

#include <math.h>

/* The cost of a pair. Scores are cut at 10^4 dB, which no ratio of doubles reaches. NaN is the
 * worst score. */
static double cost_of(double score)
{
    const double most = 1e4;
    return isnan(score) ? most : -fmin(fmax(score, -most), most);
}

tlnmf_error tl_score_assign(tlnmf_ctx *ctx, int64_t n, const double *score, int64_t *column)
{
    double *cost;
    void *memory;
    tl_slot table[] = {TL_SLOT(cost, n * n)};
    TRY(TL_ARENA(ctx, "the costs of an assignment", table, &memory));
    for (int64_t i = 0; i < n * n; i++)
        cost[i] = cost_of(score[i]);
    tlnmf_error error = tl_assign(ctx, n, cost, column);
    tl_release(&ctx->hooks, memory);
    return error;
}
