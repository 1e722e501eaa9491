/* A pool of starts: the jobs, the workers, a job from one start, a job from many starts. */
#include "search/pool.h"
#include "engine/device.h"
#include "search/checkpoint.h"
#include "search/distribute.h"
#include "search/hop.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- jobs ------------------------------------------------------------------------------------ */

static void run_tl(const tl_pool *pool, tl_worker *w, tl_run *run)
{
    pool->solver->tl(w->engine, run);
    if (run->roams && pool->plan.hops > 0)
        tl_hop_search(
            &(tl_hops){pool->plan.hops, &w->hop, pool->opt->seed, pool->data, pool->H_all},
            pool->solver, w->engine, run);
    tl_engine_project(w->engine, TL_PHI);
}

static void run_jd(const tl_pool *pool, tl_worker *w, tl_run *run)
{
    pool->solver->jd(w->engine, run);
    tl_engine_project(w->engine, TL_PHI);
}

static void run_nmf(const tl_pool *pool, tl_worker *w, tl_run *run)
{
    pool->solver->nmf(w->engine, run);
}

/* NMF at the Phi of JD, with fewer updates if `handover` is set. The reported outcome and
 * iterations stay those of JD. */
static void nmf_at_jd(const tl_solver *solver, tl_engine *e, tl_run *run)
{
    tl_run jd = *run;
    tl_settings opt = *run->opt;
    if (opt.handover > 0) {
        opt.J = opt.handover;
        opt.J_nmf = 1;
    }
    run->opt = &opt;
    run->iterations = 0;
    solver->nmf(e, run);
    run->opt = jd.opt;
    run->outcome = jd.outcome;
    run->iterations = jd.iterations;
    run->trace_length = jd.trace_length;
}

static void run_jd_nmf(const tl_pool *pool, tl_worker *w, tl_run *run)
{
    pool->solver->jd(w->engine, run);
    nmf_at_jd(pool->solver, w->engine, run);
    tl_engine_project(w->engine, TL_PHI);
}

const tl_job tl_job_tl = {"TL-NMF", 'C', false, run_tl};
const tl_job tl_job_jd = {"JD", 'L', false, run_jd};
const tl_job tl_job_jd_nmf = {"JD+NMF", 'L', true, run_jd_nmf};
const tl_job tl_job_nmf = {"NMF", 'I', false, run_nmf};

/* ---- create and free ------------------------------------------------------------------------- */

/* The arguments of create_one. */
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
    w->create_error = create_worker(c, w);
}

/* A worker is created on the thread that will use it most, so that its memory is near. */
static tlnmf_error create_workers(tl_pool *pool)
{
    const tl_plan *plan = &pool->plan;
    creating c = {pool, tl_plan_spec(plan, pool->opt, &pool->model)};
    pool->plan.workers = tl_device_workers(pool->ctx, &c.spec, pool->opt, plan->workers);
    bool gathers = plan->hops > 0 && pool->data->frames_comm != NULL;
    tl_slot table[] = {TL_SLOT(pool->worker, plan->workers),
                       TL_SLOT(pool->H_all, gathers ? plan->K * pool->data->all : 0)};
    TRY(TL_ARENA(pool->ctx, "the workers", table, &pool->block));
    tl_share(plan->workers, 1, create_one, &c);
    for (int i = 0; i < plan->workers; i++)
        if (pool->worker[i].create_error != TLNMF_OK)
            return tl_fail_as(pool->ctx, pool->worker[i].create_error, &pool->worker[i].ctx);
    return TLNMF_OK;
}

/* 2 P + 1 starts: P random ones, P of an exchange, and TL-NMF from the end of JD+NMF. A start may
 * run in several batches. */
static tlnmf_error create_traces(tl_pool *pool)
{
    tl_traces *t = &pool->traces;
    if (!pool->opt->trace_all)
        return TLNMF_OK;
    if (pool->starts_comm != NULL)
        return tl_fail(pool->ctx, TLNMF_ERR_OPTION,
                       "trace-all cannot be used if starts are distributed over processes");
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
                      .monitor = ctx->monitor,
                      .starts_comm = task->starts_comm,
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
    tl_poll_at(pool->monitor, "prepare", 0.0, 0.0);
    TRY(tl_starts_create(ctx, data, opt, pool->plan.K, task->goal == TL_GOAL_NMF, task->start,
                         &pool->starts));
    TRY(create_traces(pool));
    return create_workers(pool);
}

void tl_pool_free(tl_pool *pool)
{
    tl_release(&pool->ctx->hooks, pool->checkpoint.block);
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

int64_t tl_pool_starts(const tl_pool *pool)
{
    if (pool->opt->starts == 0)
        return -1;
    return pool->opt->exchange ? 2 * pool->plan.P : pool->plan.P;
}

double tl_score_of(const tl_job *job, tl_values values)
{
    return job->score == 'C' ? values.C : job->score == 'L' ? values.L : values.I;
}

bool tl_is_better(const tl_batch *b, tl_values values, int64_t p)
{
    const tl_info *best = &b->best->info;
    double old = tl_score_of(b->job, (tl_values){best->C, best->L, best->I});
    double score = tl_score_of(b->job, values);
    return best->best_start < 0 || score < old || (score == old && p < best->best_start);
}

/* "start 3", or the result of the other method from which a start continues. */
static void name_start(const tl_pool *pool, const tl_batch *b, int64_t p, char *text, size_t size)
{
    long long P = pool->plan.P, number = p < P ? p + 1 : p - P + 1;
    const char *other = b->job == &tl_job_tl ? "JD+NMF" : "TL-NMF";
    if (p < P)
        snprintf(text, size, "start %lld", number);
    else if (b->count == 1)
        snprintf(text, size, "the result of %s", other);
    else
        snprintf(text, size, "result %lld of %s", number, other);
}

static void offer(tl_pool *pool, const tl_batch *b, const tl_engine *e, const tl_run *run,
                  tl_values values)
{
    tl_result *best = b->best;
    pthread_mutex_lock(&pool->monitor->lock);
    tl_pool_trace(pool, run->start, run->trace, run->trace_length);
    bool better = tl_is_better(b, values, run->start);
    if (!tl_pool_stopped(pool) || tl_checkpoint_has(pool, run->start))
        best->score[run->start] = tl_score_of(b->job, values);
    if (better) {
        tl_result_store(best, e, values);
        best->info.outcome = (int32_t)run->outcome;
        best->info.iterations = run->iterations;
        best->info.best_start = run->start;
        best->trace_length = run->trace_length;
        if (run->trace_length > 0)
            memcpy(best->trace, run->trace, (size_t)run->trace_length * sizeof *run->trace);
    }
    long long iterations = run->iterations;
    char from[64];
    name_start(pool, b, run->start, from, sizeof from);
    const char *outcome = run->outcome == TLNMF_OUTCOME_ITERATIONS ? "not converged"
                          : run->outcome == TLNMF_OUTCOME_TIME     ? "stopped by the time limit"
                                                               : tlnmf_outcome_name(run->outcome);
    tl_log(pool->ctx, TLNMF_LOG_INFO, "%s from %s: %c = %.12g, %s after %lld iterations%s",
           b->job->name, from, b->job->score, tl_score_of(b->job, values), outcome, iterations,
           better ? ", the best" : "");
    tl_checkpoint_add(pool, e, run, values);
    pthread_mutex_unlock(&pool->monitor->lock);
}

/* The arguments of draw(): a random start, with the Phi of the batch if it has one. */
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
                  .monitor = pool->monitor,
                  .start = p,
                  .starts = tl_pool_starts(pool),
                  .roams = p < pool->plan.P && tl_starts_draw_Phi(&pool->starts),
                  .to_the_end = b->job->to_the_end || b->Phi != NULL, /* Algorithm 2 */
                  .trace = w->trace,
                  .trace_capacity = pool->plan.trace_capacity};
    TRY(go_to_start(pool, b, w, p));
    e->monitor = pool->monitor;
    tl_values values;
    bool finished = tl_checkpoint_take(pool, e, &run, &values);
    if (!finished)
        b->job->run(pool, w, &run);
    if (b->keep != NULL)
        tl_shelf_put(b->keep, p - b->first, e);
    if (!finished)
        values = tl_engine_values(e, TL_C | TL_L | TL_I);
    TRY(tl_engine_error(&w->ctx, e, "a start"));
    if (!tl_engine_inspect(e, NULL) || (e->K > 0 && !isfinite(values.C)))
        return tl_fail(
            &w->ctx, TLNMF_ERR_NUMERIC,
            "start %lld left the range of double: rescale the data, or take a larger eps",
            (long long)p + 1);
    offer(pool, b, e, &run, values);
    pthread_mutex_lock(&pool->monitor->lock);
    w->nmf_seconds += run.nmf_seconds;
    w->transform_seconds += run.transform_seconds;
    pthread_mutex_unlock(&pool->monitor->lock);
    return TLNMF_OK;
}

/* ---- many starts ----------------------------------------------------------------------------- */

bool tl_pool_stopped(tl_pool *pool)
{
    return tl_stopped(pool->monitor) != TLNMF_OUTCOME_NOT_RUN;
}

/* After a stop, the remaining starts are skipped. If the batch has no result yet, one more start
 * runs; it ends at once, with a result. */
static bool skip(tl_pool *pool, const tl_batch *b)
{
    if (!tl_pool_stopped(pool))
        return false;
    pthread_mutex_lock(&pool->monitor->lock);
    bool has = b->best->info.best_start >= 0;
    pthread_mutex_unlock(&pool->monitor->lock);
    return has;
}

/* A batch that runs. */
typedef struct running {
    tl_pool *pool;
    const tl_batch *batch;
    int64_t from; /* the first start of the wave, within the batch */
    tlnmf_error failed;
} running;

static tl_worker *take_worker(tl_pool *pool)
{
    pthread_mutex_lock(&pool->monitor->lock);
    tl_worker *w = &pool->worker[tl_thread_index() % pool->plan.workers];
    if (w->busy)
        for (w = pool->worker; w->busy; w++)
            ;
    w->busy = true;
    pthread_mutex_unlock(&pool->monitor->lock);
    return w;
}

static void run_one(int64_t i, int64_t last, void *arg)
{
    running *r = arg;
    tl_pool *pool = r->pool;
    (void)last;
    int64_t p = r->batch->first + r->from + i;
    if (!tl_distribute_runs_here(pool, r->batch, p))
        return;
    if (tl_checkpoint_skips(pool, p, &r->batch->best->score[p]) ||
        (!tl_checkpoint_has(pool, p) && skip(pool, r->batch)))
        return;
    tl_worker *w = take_worker(pool);
    tlnmf_error error = run_start(pool, r->batch, w, p);
    pthread_mutex_lock(&pool->monitor->lock);
    w->busy = false;
    if (error != TLNMF_OK)
        r->failed = tl_fail_as(pool->ctx, error, &w->ctx);
    pthread_mutex_unlock(&pool->monitor->lock);
}

/* Runs the starts of this process in one wave. All processes then have their scores, and agree
 * whether the batch ends here. A resumed batch reaches at least the best start of the checkpoint:
 * only there does it have a point. */
static bool run_wave(running *r, int64_t count)
{
    tl_pool *pool = r->pool;
    const tl_batch *b = r->batch;
    if (pool->plan.workers >= tl_min(tl_threads_here(), count))
        tl_share(count, 1, run_one, r);
    else /* sequentially, with all threads in each start */
        for (int64_t i = 0; i < count; i++)
            run_one(i, i + 1, r);
    r->from += count;
    tl_distribute_scores(pool, b, b->first + r->from - count, count);
    tl_result_count(b->best, INFINITY);
    bool ahead = pool->checkpoint.units != NULL && pool->checkpoint.found >= b->first + r->from;
    bool stops = r->failed != TLNMF_OK || (!ahead && tl_pool_stopped(pool));
    return tl_distribute_any(pool, stops) || r->from == b->count ||
           (!ahead && b->best->info.agree >= TL_AUTO_ENOUGH);
}

/* Runs the starts of this process, then finds the best result of all processes. */
static tlnmf_error run_all(tl_pool *pool, const tl_batch *b, int64_t before)
{
    running r = {.pool = pool, .batch = b};
    bool automatic = pool->opt->starts == 0;
    tl_info *best = &b->best->info;
    while (!run_wave(&r, automatic ? tl_min(TL_AUTO_WAVE, b->count - r.from) : b->count))
        ;
    TRY(tl_distribute_batch(pool, b, before,
                            tl_comm_agree(pool->ctx, pool->data->frames_comm, r.failed)));
    if (best->best_start < 0)
        return tl_fail(pool->ctx, TLNMF_ERR_NUMERIC, "%s: no start has a result", b->job->name);
    tl_result_count(b->best, tl_score_of(b->job, (tl_values){best->C, best->L, best->I}));
    if (automatic && b->first == 0)
        best->starts = r.from;
    return TLNMF_OK;
}

tlnmf_error tl_pool_run(tl_pool *pool, const tl_batch *b)
{
    int64_t before = b->best->info.best_start;
    TRY(tl_distribute_agree(pool->ctx, pool->data->frames_comm, pool->starts_comm,
                            tl_checkpoint_begin(pool, b)));
    return run_all(pool, b, before);
}
