/* A pool of starts: runs a job from many starts on several threads and keeps the best. Which one is
 * kept depends on scores and start numbers only, so the result is the same at any number of
 * threads. */
#ifndef TLNMF_SEARCH_POOL_H
#define TLNMF_SEARCH_POOL_H

#include "search/plan.h"
#include "search/shelf.h"
#include "search/starts.h"

/* The state of one start that runs. Its context is a copy, so that messages do not mix. */
typedef struct tl_worker {
    bool busy;
    tlnmf_error failed; /* to be created */
    tlnmf_ctx ctx;
    tl_engine *engine;
    tl_shelf hop; /* the best point of the hops, if there are any */
    tl_trace_row *trace;
    double nmf_seconds, transform_seconds;
} tl_worker;

/* The rows of every start, with trace-all: start p has its rows from p * capacity on. */
typedef struct tl_traces {
    int64_t starts, capacity; /* 0 starts: not asked for */
    int64_t *length;
    tl_trace_row *row;
    void *block; /* of `length` */
} tl_traces;

typedef struct tl_checkpoint tl_checkpoint; /* search/checkpoint.h */

typedef struct tl_pool {
    tlnmf_ctx *ctx;
    tl_sums *machines; /* those that share out the starts; NULL: one machine */
    int64_t columns;   /* of all frames, wherever they are */
    const tlnmf_data *data;
    const tl_settings *opt;
    tl_settings quick; /* opt with a tolerance that suffices to rank starts */
    tl_plan plan;
    tl_model model;
    const tl_solver *solver;
    tl_starts starts;
    tl_monitor monitor;
    tl_worker *worker;
    double *H_all; /* scratch for hops: K x all frames, where frames are shared out */
    tl_traces traces;
    tl_checkpoint *checkpoint; /* NULL: none */
    int64_t identity;          /* of the data, for checkpoints */
    void *block;
} tl_pool;

/* `data` are the task's data, without the columns that the floor hides. The caller frees the pool
 * even if this fails. */
tlnmf_error tl_pool_create(tlnmf_ctx *ctx, const tl_search_task *task, const tlnmf_data *data,
                           tl_pool *pool);
void tl_pool_free(tl_pool *pool);

/* What is done from a start, and by which value its results are ranked. */
typedef struct tl_job {
    const char *name; /* for the log */
    char score;       /* 'C', 'L' or 'I' */
    bool to_the_end;  /* see tl_run */
    /* From the engine's point. Results have an exactly orthogonal Phi. */
    void (*run)(const tl_pool *pool, tl_worker *w, tl_run *run);
} tl_job;

/* A job from many starts. Starts numbered below plan.P are drawn; the others are on a shelf. */
typedef struct tl_batch {
    const tl_job *job;
    bool quick;   /* low accuracy: the best is polished later */
    bool is_last; /* of the search: no checkpoint follows */
    int64_t first, count;
    const tl_shelf *from; /* the starts that are not drawn */
    int64_t from_first;   /* the number of the first of these */
    const double *Phi;    /* one transform for all starts, or NULL */
    tl_shelf *keep;       /* receives the final points; may be NULL */
    tl_result *best;      /* the best result of all batches that share it */
} tl_batch;

double tl_score_of(const tl_job *job, tl_values values);

/* Runs the batch's starts, on all machines together, which then have the same best result. */
tlnmf_error tl_pool_run(tl_pool *pool, const tl_batch *batch);

/* Adds rows to those of a start, with trace-all. */
void tl_pool_trace(tl_pool *pool, int64_t start, const tl_trace_row *row, int64_t count);
/* Makes the rows of all starts, in their order, the trace of the result. */
tlnmf_error tl_pool_give_traces(tl_pool *pool, tl_result *result);

/* Whether the callback or the deadline has ended all runs. */
bool tl_pool_stopped(tl_pool *pool);

#endif
