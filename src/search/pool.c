/* A pool of starts: its workers, a job from one start, a job from many on several threads. */
#include "search/pool.h"
#include "search/checkpoint.h"
#include "search/share.h"

#include <math.h>
#include <string.h>

/* ---- create and free ------------------------------------------------------------------------- */

/* The workers on their way; an error is kept in each. */
typedef struct creating {
    tl_pool *pool;
    tl_engine_spec spec;
} creating;

static tlnmf_error create_worker(const creating *c, tl_worker *w)
{
    tl_pool *pool = c->pool;
    const tl_plan *plan = &pool->plan;
    TRY(plan->engine->create(&w->ctx, &c->spec, &w->engine));
    if (plan->hops > 0)
        TRY(tl_shelf_create(&w->ctx, pool->data, plan->K, 1, &w->hop));
    return tl_trace_create(&w->ctx, plan->trace_capacity, &w->trace);
}

static void create_one(int64_t i, int64_t last, void *arg)
{
    const creating *c = arg;
    tl_worker *w = &c->pool->worker[i];
    (void)last;
    w->ctx = *c->pool->ctx;
    w->failed = create_worker(c, w);
}

/* Each on the thread that will use it most, so that its memory is near. */
static tlnmf_error create_workers(tl_pool *pool)
{
    const tl_plan *plan = &pool->plan;
    creating c = {pool, tl_plan_spec(plan, pool->opt, &pool->model)};
    bool gathers = plan->hops > 0 && pool->data->sums != NULL;
    tl_slot table[] = {TL_SLOT(pool->worker, plan->workers),
                       TL_SLOT(pool->H_all, gathers ? plan->K * pool->data->all : 0)};
    TRY(TL_ARENA(pool->ctx, "the workers", table, &pool->block));
    tl_share(plan->workers, 1, create_one, &c);
    for (int i = 0; i < plan->workers; i++)
        if (pool->worker[i].failed != TLNMF_OK) {
            memcpy(pool->ctx->message, pool->worker[i].ctx.message, sizeof pool->ctx->message);
            return pool->worker[i].failed;
        }
    return TLNMF_OK;
}

/* A start may run in several batches; those that begin where others ended have numbers of their
 * own. */
static tlnmf_error create_traces(tl_pool *pool)
{
    tl_traces *t = &pool->traces;
    if (!pool->opt->trace_all)
        return TLNMF_OK;
    if (pool->machines != NULL)
        return tl_fail(pool->ctx, TLNMF_ERR_OPTION, "trace-all is for one machine");
    t->capacity = pool->plan.trace_capacity;
    int64_t starts = 2 * pool->plan.P + 1, rows;
    tl_slot table[] = {TL_SLOT(t->length, starts)};
    if (__builtin_mul_overflow(starts, t->capacity, &rows))
        return tl_fail(pool->ctx, TLNMF_ERR_TOO_LARGE, "traces of %lld starts would not fit",
                       (long long)starts);
    TRY(TL_ARENA(pool->ctx, "the traces", table, &t->block));
    TRY(tl_trace_create(pool->ctx, rows, &t->row));
    t->starts = starts;
    return TLNMF_OK;
}

tlnmf_error tl_pool_create(tlnmf_ctx *ctx, const tl_search_task *task, const tlnmf_data *data,
                           tl_pool *pool)
{
    const tl_settings *opt = task->opt;
    *pool = (tl_pool){.ctx = ctx,
                      .machines = task->machines,
                      .data = data,
                      .opt = opt,
                      .quick = *opt,
                      .plan = tl_plan_make(data, opt, task->goal),
                      .solver = tl_solver_of(opt),
                      .starts = {.hooks = ctx->hooks}};
    if (task->engine != NULL)
        tl_plan_engine(&pool->plan, opt, task->engine);
    pool->model =
        (tl_model){.data = data, .K = pool->plan.K, .eps = task->eps, .gamma = opt->gamma};
    tl_monitor_init(&pool->monitor, opt, task->callback, task->user,
                    opt->exchange ? 2 * pool->plan.P : pool->plan.P);
    pool->monitor.sums = data->sums;
    TRY(tl_starts_create(ctx, data, opt, pool->plan.K, task->goal == TL_GOAL_NMF, task->start,
                         &pool->starts));
    TRY(create_traces(pool));
    return create_workers(pool);
}

void tl_pool_free(tl_pool *pool)
{
    tl_checkpoint_free(pool->checkpoint);
    for (int i = 0; pool->worker != NULL && i < pool->plan.workers; i++) {
        tl_worker *w = &pool->worker[i];
        tl_shelf_free(&w->hop);
        if (w->engine != NULL)
            w->engine->ops->free(w->engine);
        tl_release(&pool->ctx->hooks, w->trace);
    }
    tl_release(&pool->ctx->hooks, pool->traces.row);
    tl_release(&pool->ctx->hooks, pool->traces.block);
    tl_release(&pool->ctx->hooks, pool->block);
    tl_starts_free(&pool->starts);
    tl_monitor_done(&pool->monitor);
}

void tl_pool_trace(tl_pool *pool, int64_t start, const tl_trace_row *row, int64_t count)
{
    tl_traces *t = &pool->traces;
    if (start >= t->starts)
        return;
    int64_t fits = tl_min(count, t->capacity - t->length[start]);
    if (fits > 0)
        memcpy(t->row + start * t->capacity + t->length[start], row, (size_t)fits * sizeof *row);
    t->length[start] += tl_max(fits, 0);
}

tlnmf_error tl_pool_give_traces(tl_pool *pool, tl_result *result)
{
    const tl_traces *t = &pool->traces;
    int64_t total = 0, to = 0;
    tl_trace_row *row;
    for (int64_t p = 0; p < t->starts; p++)
        total += t->length[p];
    if (total == 0)
        return TLNMF_OK;
    TRY(tl_trace_create(pool->ctx, total, &row));
    for (int64_t p = 0; p < t->starts; p++)
        for (int64_t i = 0; i < t->length[p]; i++)
            row[to++] = t->row[p * t->capacity + i];
    tl_release(&result->hooks, result->trace);
    result->trace = row;
    result->trace_length = result->trace_capacity = total;
    return TLNMF_OK;
}

/* ---- one start ------------------------------------------------------------------------------- */

double tl_score_of(const tl_job *job, tl_values values)
{
    return job->score == 'C' ? values.C : job->score == 'L' ? values.L : values.I;
}

/* Keeps the point if its score is better, or equal and its start number smaller. */
static void offer(tl_pool *pool, const tl_batch *b, const tl_engine *e, const tl_run *run,
                  tl_values values)
{
    tl_result *best = b->best;
    omp_set_lock(&pool->monitor.lock);
    tl_checkpoint_before(pool->checkpoint);
    tl_pool_trace(pool, run->start, run->trace, run->trace_length);
    double old = tl_score_of(b->job, (tl_values){best->info.C, best->info.L, best->info.I});
    double score = tl_score_of(b->job, values);
    bool better = best->info.best_start < 0 || score < old ||
                  (score == old && run->start < best->info.best_start);
    if (better) {
        tl_result_store(best, e, values);
        best->info.outcome = (int32_t)run->outcome;
        best->info.iterations = run->iterations;
        best->info.best_start = run->start;
        best->trace_length = run->trace_length;
        if (run->trace_length > 0)
            memcpy(best->trace, run->trace, (size_t)run->trace_length * sizeof *run->trace);
    }
    long long start = run->start + 1, iterations = run->iterations;
    tl_log(pool->ctx, TLNMF_LOG_INFO, "%s from start %lld: %c = %.12g, %s after %lld iterations%s",
           b->job->name, start, b->job->score, score, tlnmf_outcome_name(run->outcome), iterations,
           better ? ", the best" : "");
    tl_checkpoint_after(pool->checkpoint, run->start);
    omp_unset_lock(&pool->monitor.lock);
}

/* A random start; Phi is replaced by the batch's, if it has one. */
typedef struct drawing {
    tl_worker *worker;
    const tl_starts *starts;
    int64_t p;
    const double *Phi;
} drawing;

static tlnmf_error draw(const tl_point *point, void *user)
{
    const drawing *d = user;
    TRY(tl_starts_fill(&d->worker->ctx, d->starts, d->p, point));
    if (d->Phi != NULL)
        tl_copy(point->Phi, d->Phi, point->M * point->M);
    return TLNMF_OK;
}

static tlnmf_error go_to_start(const tl_pool *pool, const tl_batch *b, tl_worker *w, int64_t p)
{
    if (p < pool->plan.P)
        return tl_engine_fill(w->engine, TL_ALL, draw, &(drawing){w, &pool->starts, p, b->Phi});
    tl_shelf_take(b->from, p - b->from_first, w->engine);
    if (b->Phi != NULL)
        tl_engine_load(w->engine, b->Phi, NULL, NULL);
    return TLNMF_OK;
}

static tlnmf_error run_start(tl_pool *pool, const tl_batch *b, tl_worker *w, int64_t p)
{
    tl_engine *e = w->engine;
    tl_run run = {.opt = b->quick ? &pool->quick : pool->opt,
                  .monitor = &pool->monitor,
                  .start = p,
                  .roams = p < pool->plan.P && tl_starts_draw_Phi(&pool->starts),
                  .to_the_end = b->job->to_the_end || b->Phi != NULL, /* Algorithm 2 */
                  .trace = w->trace,
                  .trace_capacity = pool->plan.trace_capacity};
    TRY(tl_checkpoint_start(pool->checkpoint, (int)(w - pool->worker), p, &run));
    TRY(go_to_start(pool, b, w, p));
    b->job->run(pool, w, &run);
    if (b->keep != NULL) {
        omp_set_lock(&pool->monitor.lock); /* another start may save the shelf */
        tl_shelf_put(b->keep, p - b->first, e);
        omp_unset_lock(&pool->monitor.lock);
    }
    tl_values values = tl_engine_values(e, TL_C | TL_L | TL_I);
    TRY(tl_engine_error(&w->ctx, e, "a start"));
    if (!tl_engine_inspect(e, NULL) || (e->K > 0 && !isfinite(values.C)))
        return tl_fail(
            &w->ctx, TLNMF_ERR_NUMERIC,
            "start %lld left the range of double: rescale the data, or take a larger eps",
            (long long)p + 1);
    offer(pool, b, e, &run, values);
    omp_set_lock(&pool->monitor.lock);
    w->nmf_seconds += run.nmf_seconds;
    w->transform_seconds += run.transform_seconds;
    omp_unset_lock(&pool->monitor.lock);
    return TLNMF_OK;
}

/* ---- many starts ----------------------------------------------------------------------------- */

bool tl_pool_stopped(tl_pool *pool)
{
    return atomic_load(&pool->monitor.stop) != TLNMF_NOT_RUN;
}

/* After a stop, starts are skipped, unless the batch has no result yet: then one more runs, which
 * ends at once. */
static bool skip(tl_pool *pool, const tl_batch *b)
{
    if (!tl_pool_stopped(pool))
        return false;
    omp_set_lock(&pool->monitor.lock);
    bool has = b->best->info.best_start >= 0;
    omp_unset_lock(&pool->monitor.lock);
    return has;
}

/* A batch on its way. */
typedef struct running {
    tl_pool *pool;
    const tl_batch *batch;
    tlnmf_error failed;
} running;

static tl_worker *take_worker(tl_pool *pool)
{
    omp_set_lock(&pool->monitor.lock);
    tl_worker *w = &pool->worker[tl_thread_index() % pool->plan.workers];
    if (w->busy)
        for (w = pool->worker; w->busy; w++)
            ;
    w->busy = true;
    omp_unset_lock(&pool->monitor.lock);
    return w;
}

static void run_one(int64_t i, int64_t last, void *arg)
{
    running *r = arg;
    tl_pool *pool = r->pool;
    (void)last;
    if (!tl_share_has(pool, r->batch, r->batch->first + i) ||
        tl_checkpoint_has(pool->checkpoint, r->batch->first + i) || skip(pool, r->batch))
        return;
    tl_worker *w = take_worker(pool);
    tlnmf_error error = run_start(pool, r->batch, w, r->batch->first + i);
    tl_checkpoint_leave(pool->checkpoint, (int)(w - pool->worker));
    omp_set_lock(&pool->monitor.lock);
    w->busy = false;
    if (error != TLNMF_OK) {
        r->failed = error;
        memcpy(pool->ctx->message, w->ctx.message, sizeof pool->ctx->message);
    }
    omp_unset_lock(&pool->monitor.lock);
}

tlnmf_error tl_pool_run(tl_pool *pool, const tl_batch *b)
{
    running r = {.pool = pool, .batch = b};
    int64_t before = b->best->info.best_start;
    bool finished;
    TRY(tl_share_error(pool->ctx, pool->data->sums, pool->machines,
                       tl_checkpoint_begin(pool->checkpoint, b, &finished)));
    if (finished)
        return TLNMF_OK;
    if (pool->plan.workers >= tl_min(tl_threads_here(), b->count))
        tl_share(b->count, 1, run_one, &r);
    else /* one after the other, with all threads in each */
        for (int64_t i = 0; i < b->count; i++)
            run_one(i, i + 1, &r);
    tlnmf_error error = tl_sums_agree(pool->ctx, pool->data->sums, r.failed);
    if (error == TLNMF_OK)
        tl_checkpoint_wait(pool->checkpoint);
    TRY(tl_share_batch(pool, b, before, error));
    return tl_share_error(pool->ctx, pool->data->sums, pool->machines,
                          tl_checkpoint_end(pool->checkpoint, b->is_last));
}
