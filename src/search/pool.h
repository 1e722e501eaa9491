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
    tlnmf_error create_error;
    tlnmf_ctx ctx;
    tl_engine *engine;
    tl_shelf hop; /* the best point of its hops */
    tl_trace_row *trace;
    double nmf_seconds, transform_seconds;
} tl_worker;

/* With trace-all: the rows of every start. Those of start p begin at row p * capacity. */
typedef struct tl_traces {
    int64_t starts, capacity; /* 0 starts: trace-all is off */
    int64_t *length;
    tl_trace_row *row;
    void *block; /* of `length` */
} tl_traces;

/* The checkpoint of the search (checkpoint.h). */
typedef struct tl_checkpoint {
    tl_units *units; /* NULL: none */
    const char *section;
    bool adds; /* finished units are added, because some process saves them */
    int64_t stage;
    const struct tl_batch *batch;
    uint64_t input; /* a hash of the input of the batch */
    double *row;    /* the table of the batch: a tl_unit per start */
    int64_t best;   /* the best start with a saved array; -1: none */
    int64_t found;  /* that when the batch began */
    double *H;      /* scratch, under the lock of the units: K x N */
    void *block;
} tl_checkpoint;

typedef struct tl_pool {
    tlnmf_ctx *ctx;
    tl_comm *starts_comm; /* the processes that distribute starts; NULL: one process */
    int64_t columns;      /* of all frames, on all processes */
    bool singular;        /* the covariance of a frame with a weight is singular */
    const tlnmf_data *data;
    const tl_settings *opt;
    tl_settings quick; /* opt with a tolerance that suffices to rank starts */
    tl_plan plan;
    tl_model model;
    const tl_solver *solver;
    tl_starts starts;
    tl_monitor *monitor; /* of the context */
    tl_worker *worker;
    double *H_all; /* scratch for hops if frames are distributed: K x all frames */
    tl_traces traces;
    tl_checkpoint checkpoint;
    double seconds_before; /* wall time of the run that is resumed */
    int64_t continued;     /* starts that continued from a saved iterate, also in earlier runs */
    void *block;
} tl_pool;

/* `data` are the task's data, without the columns that the floor hides. The caller frees the pool
 * even if this fails. */
tlnmf_error tl_pool_create(tlnmf_ctx *ctx, const tl_search_task *task, const tlnmf_data *data,
                           tl_pool *pool);
void tl_pool_free(tl_pool *pool);

/* The work from one start, and the value that ranks its results. */
typedef struct tl_job {
    const char *name; /* for the log */
    char score;       /* 'C', 'L' or 'I' */
    bool to_the_end;  /* see tl_run */
    /* Runs from the engine's point. The final Phi is orthogonal to rounding. */
    void (*run)(const tl_pool *pool, tl_worker *w, tl_run *run);
} tl_job;
extern const tl_job tl_job_tl, tl_job_jd, tl_job_jd_nmf, tl_job_nmf;

/* A job from many starts. Starts numbered below plan.P are drawn; the others are on a shelf. */
typedef struct tl_batch {
    const tl_job *job;
    bool quick;     /* low accuracy: the best result is polished later */
    bool continues; /* starts from `best`, and replaces it even if the score is not lower */
    int64_t first, count;
    const tl_shelf *from; /* the starts that are not drawn */
    int64_t from_first;   /* the number of the first of these */
    const double *Phi;    /* one transform for all starts, or NULL */
    tl_shelf *keep;       /* receives the final points; may be NULL */
    tl_result *best;      /* the best result of all batches that share it */
} tl_batch;

double tl_score_of(const tl_job *job, tl_values values);
/* Whether a result of start p replaces the best of the batch: its score is lower, or the scores are
 * equal and its start number is smaller. */
bool tl_is_better(const tl_batch *batch, tl_values values, int64_t p);

/* Runs the starts of the batch on all processes, which then have the same best result. */
tlnmf_error tl_pool_run(tl_pool *pool, const tl_batch *batch);

/* With trace-all: appends rows to those of a start. */
void tl_pool_trace(tl_pool *pool, int64_t start, const tl_trace_row *row, int64_t count);
/* Makes the rows of all starts, in their order, the trace of the result. */
tlnmf_error tl_pool_give_traces(tl_pool *pool, tl_result *result);

/* The number of starts of all batches, for progress; -1: auto. */
int64_t tl_pool_starts(const tl_pool *pool);

/* Whether the monitor has ended all runs. */
bool tl_pool_stopped(tl_pool *pool);

#endif
