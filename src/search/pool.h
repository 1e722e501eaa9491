/* A pool of starts: runs one solver from many of them on several threads and keeps the best. Which
 * one that is depends on scores and start numbers alone, so the answer is the same at any number of
 * threads. */
#ifndef TLNMF_SEARCH_POOL_H
#define TLNMF_SEARCH_POOL_H

#include "search/plan.h"
#include "search/shelf.h"
#include "search/starts.h"

/* What one thread has. Its context is a copy, so that messages do not mix. */
typedef struct tl_worker {
    tlnmf_ctx ctx;
    tl_engine *engine;
    tl_shelf hop; /* where hops keep their best, if there are any */
    tl_trace_row *trace;
    double nmf_seconds, transform_seconds;
} tl_worker;

typedef struct tl_pool {
    tlnmf_ctx *ctx;
    const tlnmf_data *data;
    const tl_settings *opt;
    tl_settings quick; /* opt with a tolerance that is enough to rank starts by */
    tl_plan plan;
    tl_model model;
    const tl_solver *solver;
    tl_starts starts;
    tl_monitor monitor;
    tl_worker *worker;
    void *block;
} tl_pool;

/* `data` are the task's, or as many of their columns as the floor can see. A pool that could not be
 * created must be freed, too. */
tlnmf_error tl_pool_create(tlnmf_ctx *ctx, const tl_task *task, const tlnmf_data *data,
                           tl_pool *pool);
void tl_pool_free(tl_pool *pool);

typedef enum tl_job { TL_JOB_TL, TL_JOB_JD, TL_JOB_JD_NMF, TL_JOB_NMF } tl_job;

/* One solver from many starts: numbers below plan.P are drawn, the others stand on a shelf. */
typedef struct tl_batch {
    tl_job job;
    bool quick; /* the best is polished later */
    int64_t first, count;
    const tl_shelf *from; /* where starts that are not drawn stand */
    int64_t from_first;   /* number of the first of them */
    const double *Phi;    /* a transform for all of them, or NULL */
    tl_shelf *keep;       /* where to put the final points, or NULL */
    tl_result *best;      /* the least score, over all batches that share it */
} tl_batch;

tlnmf_error tl_pool_run(tl_pool *pool, const tl_batch *batch);

/* Whether a callback or the clock has ended all runs. */
bool tl_pool_stopped(tl_pool *pool);

#endif
