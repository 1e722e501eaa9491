/* Starts that are shared out over machines: the best of all of them, on all of them. */
#include "search/share.h"

#include <math.h>

/* The machine that runs start p of the batch. */
static int owner(const tl_pool *pool, const tl_batch *b, int64_t p)
{
    int64_t place = p < pool->plan.P ? p : p - b->from_first;
    return (int)(place % pool->machines->size);
}

bool tl_share_has(const tl_pool *pool, const tl_batch *b, int64_t p)
{
    return pool->machines == NULL || owner(pool, b, p) == pool->machines->rank;
}

bool tl_share_any(const tl_pool *pool, bool here)
{
    double somewhere = tl_sums_of(pool->data->sums, here);
    return tl_sums_of(pool->machines, somewhere) > 0.0;
}

tlnmf_error tl_share_error(tlnmf_ctx *ctx, tl_sums *frames, tl_sums *starts, tlnmf_error error)
{
    return tl_sums_agree(ctx, starts, tl_sums_agree(ctx, frames, error));
}

static void share_stop(tl_pool *pool)
{
    int stop = atomic_load(&pool->monitor.stop);
    atomic_store(&pool->monitor.stop, (int)tl_sums_max(pool->machines, stop));
}

/* The machine whose result has the lowest score, and of equal ones the smallest start number; -1 if
 * there is none. *start is that number. */
static int best_machine(tl_sums *machines, const tl_batch *b, int64_t *start)
{
    enum { AT_A_TIME = 64, EACH = 3 };
    int best = -1;
    double lowest = INFINITY;
    const tl_info *info = &b->best->info;
    *start = -1;
    for (int first = 0; first < machines->size; first += AT_A_TIME) {
        double each[EACH * AT_A_TIME] = {0.0};
        int64_t count = tl_min(AT_A_TIME, machines->size - first), here = machines->rank - first;
        if (here >= 0 && here < count && info->best_start >= 0) {
            each[EACH * here] = 1.0;
            each[EACH * here + 1] = tl_score_of(b->job, (tl_values){info->C, info->L, info->I});
            each[EACH * here + 2] = (double)info->best_start;
        }
        tl_sums_call(machines, each, EACH * count);
        for (int64_t i = 0; i < count; i++) {
            double score = each[EACH * i + 1];
            int64_t number = (int64_t)each[EACH * i + 2];
            if (each[EACH * i] == 0.0 ||
                !(best < 0 || score < lowest || (score == lowest && number < *start)))
                continue;
            best = first + (int)i;
            lowest = score;
            *start = number;
        }
    }
    return best;
}

/* A trace as numbers: bit patterns of integers need not survive a transport of doubles. */
static void send_trace(tl_sums *machines, tl_result *result, int root)
{
    enum { ROWS = 64, COLUMNS = TL_TRACE_COLUMNS };
    double x[ROWS * COLUMNS];
    for (int64_t first = 0; first < result->trace_length; first += ROWS) {
        int64_t rows = tl_min(ROWS, result->trace_length - first);
        for (int64_t i = 0; i < rows && machines->rank == root; i++)
            tl_trace_values(&result->trace[first + i], x + i * COLUMNS);
        tl_sums_send(machines, x, rows * COLUMNS, root);
        for (int64_t i = 0; i < rows; i++) {
            const double *v = x + i * COLUMNS;
            result->trace[first + i] = (tl_trace_row){
                (int64_t)v[0], (int64_t)v[1], v[2], v[3], v[4], v[5], v[6], v[7], (int64_t)v[8]};
        }
    }
}

static void send_result(tl_sums *machines, tl_result *result, int root)
{
    tl_info *info = &result->info;
    int64_t M = info->M, N = info->N, K = info->K;
    double x[] = {info->C,
                  info->L,
                  info->I,
                  (double)info->outcome,
                  (double)info->iterations,
                  (double)info->best_start,
                  (double)result->trace_length};
    tl_sums_send(machines, x, sizeof x / sizeof *x, root);
    tl_sums_send(machines, result->Phi, M * M, root);
    tl_sums_send(machines, result->W, M * K, root);
    tl_sums_send(machines, result->H, K * N, root);
    info->C = x[0];
    info->L = x[1];
    info->I = x[2];
    info->outcome = (int32_t)x[3];
    info->iterations = (int64_t)x[4];
    info->best_start = (int64_t)x[5];
    result->trace_length = tl_min((int64_t)x[6], result->trace_capacity);
    send_trace(machines, result, root);
}

/* Each machine's checkpoint is to hold all points, since any of them may be the only one of a batch
 * that comes. */
static void send_points(tl_pool *pool, const tl_batch *b)
{
    int64_t M = pool->data->M, N = pool->data->N, K = pool->plan.K;
    for (int64_t i = 0; i < b->count; i++) {
        int root = owner(pool, b, b->first + i);
        tl_sums_send(pool->machines, b->keep->Phi + i * M * M, M * M, root);
        tl_sums_send(pool->machines, b->keep->W + i * M * K, M * K, root);
        tl_sums_send(pool->machines, b->keep->H + i * K * N, K * N, root);
    }
}

tlnmf_error tl_share_batch(tl_pool *pool, const tl_batch *b, int64_t before, tlnmf_error error)
{
    int64_t start;
    TRY(tl_share_error(pool->ctx, pool->data->sums, pool->machines, error));
    if (pool->machines == NULL)
        return TLNMF_OK;
    share_stop(pool);
    int root = best_machine(pool->machines, b, &start);
    if (root >= 0 && start != before)
        send_result(pool->machines, b->best, root);
    if (pool->checkpoint != NULL && b->keep != NULL && !tl_pool_stopped(pool))
        send_points(pool, b);
    return tl_sums_agree(pool->ctx, pool->machines, TLNMF_OK);
}

void tl_share_result(tl_pool *pool, tl_result *result)
{
    if (pool->machines == NULL)
        return;
    send_result(pool->machines, result, 0);
    share_stop(pool);
}
