/* Distributes starts over processes, and the best result to all of them. */
#include "search/distribute.h"
#include "search/checkpoint.h"

#include <math.h>

/* The process that runs start p of the batch. */
static int owner(const tl_pool *pool, const tl_batch *b, int64_t p)
{
    int64_t place = p < pool->plan.P ? p : p - b->from_first;
    return (int)(place % pool->starts_comm->size);
}

bool tl_distribute_runs_here(const tl_pool *pool, const tl_batch *b, int64_t p)
{
    return pool->starts_comm == NULL || owner(pool, b, p) == pool->starts_comm->rank;
}

bool tl_distribute_any(const tl_pool *pool, bool here)
{
    double somewhere = tl_comm_of(pool->data->frames_comm, here);
    return tl_comm_of(pool->starts_comm, somewhere) > 0.0;
}

tlnmf_error tl_distribute_agree(tlnmf_ctx *ctx, tl_comm *frames_comm, tl_comm *starts_comm,
                                tlnmf_error error)
{
    return tl_comm_agree(ctx, starts_comm, tl_comm_agree(ctx, frames_comm, error));
}

static void share_stop(tl_pool *pool)
{
    int stop = atomic_load(&pool->monitor->stop);
    atomic_store(&pool->monitor->stop, (int)tl_comm_max(pool->starts_comm, stop));
}

/* The process whose result has the lowest score and, of equal scores, the smallest start number,
 * which is stored in *start; -1 if no process has a result. */
static int best_process(tl_comm *starts_comm, const tl_batch *b, int64_t *start)
{
    enum { AT_A_TIME = 64, EACH = 3 };
    int best = -1;
    double lowest = INFINITY;
    const tl_info *info = &b->best->info;
    *start = -1;
    for (int first = 0; first < starts_comm->size; first += AT_A_TIME) {
        double each[EACH * AT_A_TIME] = {0.0};
        int64_t count = tl_min(AT_A_TIME, starts_comm->size - first),
                here = starts_comm->rank - first;
        if (here >= 0 && here < count && info->best_start >= 0) {
            each[EACH * here] = 1.0;
            each[EACH * here + 1] = tl_score_of(b->job, (tl_values){info->C, info->L, info->I});
            each[EACH * here + 2] = (double)info->best_start;
        }
        tl_comm_add(starts_comm, each, EACH * count);
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

/* Sends a trace as doubles: a transport of doubles need not keep the bit patterns of integers. */
static void send_trace(tl_comm *starts_comm, tl_result *result, int root)
{
    enum { ROWS = 64, COLUMNS = TL_TRACE_COLUMNS };
    double x[ROWS * COLUMNS];
    for (int64_t first = 0; first < result->trace_length; first += ROWS) {
        int64_t rows = tl_min(ROWS, result->trace_length - first);
        for (int64_t i = 0; i < rows && starts_comm->rank == root; i++)
            tl_trace_values(&result->trace[first + i], x + i * COLUMNS);
        tl_comm_send(starts_comm, x, rows * COLUMNS, root);
        for (int64_t i = 0; i < rows; i++)
            result->trace[first + i] = tl_trace_of_values(x + i * COLUMNS);
    }
}

static void send_result(tl_comm *starts_comm, tl_result *result, int root)
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
    tl_comm_send(starts_comm, x, sizeof x / sizeof *x, root);
    tl_comm_send(starts_comm, result->Phi, M * M, root);
    tl_comm_send(starts_comm, result->W, M * K, root);
    tl_comm_send(starts_comm, result->H, K * N, root);
    info->C = x[0];
    info->L = x[1];
    info->I = x[2];
    info->outcome = (int32_t)x[3];
    info->iterations = (int64_t)x[4];
    info->best_start = (int64_t)x[5];
    result->trace_length = tl_min((int64_t)x[6], result->trace_capacity);
    send_trace(starts_comm, result, root);
}

void tl_distribute_scores(tl_pool *pool, const tl_batch *b, int64_t first, int64_t count)
{
    enum { AT_A_TIME = 256, EACH = 2 };
    for (; pool->starts_comm != NULL && count > 0; first += AT_A_TIME, count -= AT_A_TIME) {
        double x[EACH * AT_A_TIME] = {0.0}, *score = b->best->score + first;
        int64_t now = tl_min(AT_A_TIME, count);
        for (int64_t i = 0; i < now; i++)
            if (tl_distribute_runs_here(pool, b, first + i) && !isnan(score[i])) {
                x[EACH * i] = 1.0;
                x[EACH * i + 1] = score[i];
            }
        tl_comm_add(pool->starts_comm, x, EACH * now);
        for (int64_t i = 0; i < now; i++)
            score[i] = x[EACH * i] > 0.0 ? x[EACH * i + 1] : (double)NAN;
    }
}

tlnmf_error tl_distribute_batch(tl_pool *pool, const tl_batch *b, int64_t before, tlnmf_error error)
{
    int64_t start;
    TRY(tl_distribute_agree(pool->ctx, pool->data->frames_comm, pool->starts_comm, error));
    tl_checkpoint_count(pool);
    if (pool->starts_comm == NULL)
        return TLNMF_OK;
    share_stop(pool);
    int root = best_process(pool->starts_comm, b, &start);
    if (root >= 0 && start != before)
        send_result(pool->starts_comm, b->best, root);
    return tl_comm_agree(pool->ctx, pool->starts_comm, TLNMF_OK);
}

void tl_distribute_result(tl_pool *pool, tl_result *result)
{
    if (pool->starts_comm == NULL)
        return;
    send_result(pool->starts_comm, result, 0);
    share_stop(pool);
}
