/* The methods of a fit, each a few batches of starts: TL-NMF, JD+NMF, NMF, their exchange of starts
 * (the paper's last appendix), and the choice between them. */
#include "search/checkpoint.h"
#include "search/hop.h"
#include "search/join.h"
#include "search/pool.h"
#include "search/share.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

/* The results of a search: the one asked for, and the other method's if both run. */
typedef struct results {
    tl_goal goal; /* what `best` minimises: never AUTO */
    tl_result *best, *other;
} results;

/* ---- what is done from a start --------------------------------------------------------------- */

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

/* NMF at the Phi of JD, perhaps with fewer updates (handover). The outcome and the iterations
 * reported are those of JD. */
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

static const tl_job job_tl = {"TL-NMF", 'C', false, run_tl};
static const tl_job job_jd = {"JD", 'L', false, run_jd};
static const tl_job job_jd_nmf = {"JD+NMF", 'L', true, run_jd_nmf};
static const tl_job job_nmf = {"NMF", 'I', false, run_nmf};

/* ---- TL-NMF ---------------------------------------------------------------------------------- */

/* Continues from the best point to the tolerance that the settings ask for. */
static tlnmf_error polish(tl_pool *pool, tl_result *best)
{
    tl_worker *w = &pool->worker[0];
    const tl_settings *opt = pool->opt;
    tl_checkpoint *checkpoint = pool->checkpoint;
    bool finished;
    const tl_batch batch = {
        .job = &job_tl, .first = best->info.best_start, .count = 1, .best = best};
    TRY(tl_checkpoint_begin(checkpoint, &batch, &finished));
    if (finished)
        return TLNMF_OK;
    tl_run run = {.opt = opt,
                  .monitor = &pool->monitor,
                  .start = best->info.best_start,
                  .newton = opt->newton != 0,
                  .iterations = best->info.iterations,
                  .trace = best->trace,
                  .trace_length = best->trace_length,
                  .trace_capacity = best->trace_capacity};
    TRY(tl_checkpoint_start(checkpoint, 0, run.start, &run));
    tl_result_load(best, w->engine);
    tl_descent how = tl_descent_of(w->engine, opt, TL_ALL, opt->J);
    tl_descend(w->engine, &how, &run);
    tl_checkpoint_before(checkpoint);
    tl_result_store(best, w->engine, tl_engine_values(w->engine, TL_C | TL_L | TL_I));
    best->info.outcome = (int32_t)run.outcome;
    best->info.iterations = run.iterations;
    if (run.trace_length > best->trace_length)
        tl_pool_trace(pool, run.start, run.trace + best->trace_length,
                      run.trace_length - best->trace_length);
    best->trace_length = run.trace_length;
    w->transform_seconds += run.transform_seconds;
    tl_checkpoint_leave(checkpoint, 0);
    TRY(tl_engine_error(pool->ctx, w->engine, "the end of the best start"));
    return tl_checkpoint_end(checkpoint, true);
}

/* Large problems on the fast solver: run all starts at low accuracy to rank them, then continue the
 * best. Small problems: run each start to the end, since they are cheap and their minima close
 * together. */
static tlnmf_error search_tl(tl_pool *pool, results *r)
{
    const double enough = 1e-9; /* docs/benchmarks.md, "Constants" */
    const tl_settings *opt = pool->opt;
    bool quick = opt->solver == TL_ALGORITHM_FAST && opt->tol < enough &&
                 !tl_is_small(pool->data, pool->plan.K);
    pool->quick.tol = enough;
    TRY(tl_pool_run(
        pool, &(tl_batch){.job = &job_tl, .count = pool->plan.P, .best = r->best, .quick = quick}));
    if (!(quick || opt->newton) || tl_pool_stopped(pool))
        return TLNMF_OK;
    tlnmf_error error = TLNMF_OK;
    if (pool->machines == NULL || pool->machines->rank == 0)
        error = polish(pool, r->best);
    tl_share_result(pool, r->best);
    return tl_share_error(pool->ctx, pool->data->sums, pool->machines, error);
}

/* ---- JD+NMF ---------------------------------------------------------------------------------- */

/* NMF at the best Phi of JD, from `count` starts, some of them on a shelf. The trace of JD comes
 * first. If NMF converges, the outcome is JD's. */
static tlnmf_error nmf_after_jd(tl_pool *pool, const tl_result *jd, const tl_shelf *more,
                                int64_t count, tl_result *best)
{
    TRY(tl_pool_run(pool, &(tl_batch){.job = &job_nmf,
                                      .count = count,
                                      .from = more,
                                      .from_first = pool->plan.P,
                                      .Phi = jd->Phi,
                                      .best = best}));
    int64_t rows = tl_min(best->trace_length, best->trace_capacity - jd->trace_length);
    if (rows > 0)
        memmove(best->trace + jd->trace_length, best->trace, (size_t)rows * sizeof *best->trace);
    if (jd->trace_length > 0)
        memcpy(best->trace, jd->trace, (size_t)jd->trace_length * sizeof *best->trace);
    best->trace_length = jd->trace_length + rows;
    best->info.outcome_of = TL_STAGE_NMF;
    if (best->info.outcome == TLNMF_CONVERGED || best->info.outcome == TLNMF_STATIONARY) {
        /* the run is only as good as its diagonalisation */
        best->info.outcome = jd->info.outcome;
        best->info.outcome_of = TL_STAGE_JD;
    }
    best->info.jd_outcome = jd->info.jd_outcome;
    best->info.nmf_iterations = best->info.iterations;
    best->info.iterations = jd->info.iterations;
    best->info.best_start = jd->info.best_start;
    return TLNMF_OK;
}

/* Why the search for the least L ended: that of its best start, unless it was stopped as a whole.
 */
static void note_jd(tl_pool *pool, tl_result *jd)
{
    jd->info.jd_outcome =
        tl_pool_stopped(pool) ? atomic_load(&pool->monitor.stop) : jd->info.outcome;
}

/* The result of JD alone, without W and H. */
static tlnmf_error create_jd(const tl_pool *pool, tl_result **out)
{
    return tl_result_create(pool->ctx, pool->data, pool->opt, 0, pool->plan.trace_capacity, out);
}

static tlnmf_error search_jd(tl_pool *pool, results *r)
{
    int64_t P = pool->plan.P;
    tl_result *jd;
    tlnmf_error error =
        tl_share_error(pool->ctx, pool->data->sums, pool->machines, create_jd(pool, &jd));
    if (error == TLNMF_OK)
        error = tl_pool_run(pool, &(tl_batch){.job = &job_jd, .count = P, .best = jd});
    if (error == TLNMF_OK)
        note_jd(pool, jd);
    if (error == TLNMF_OK)
        error = nmf_after_jd(pool, jd, NULL, P, r->best);
    tl_result_free(jd);
    return error;
}

/* ---- both methods ---------------------------------------------------------------------------- */

/* TL-NMF from the point that JD+NMF reached, counted as start number p. */
static tlnmf_error tl_from(tl_pool *pool, const tl_result *jd, int64_t p, tl_result *best)
{
    const tl_shelf reached = {.Phi = jd->Phi, .W = jd->W, .H = jd->H};
    return tl_pool_run(pool, &(tl_batch){.job = &job_tl,
                                         .first = p,
                                         .count = 1,
                                         .from = &reached,
                                         .from_first = p,
                                         .best = best});
}

/* The intermediate results of an exchange: all points of each method, and JD's best Phi. */
typedef struct exchanged {
    tl_shelf from_tl, from_jd;
    tl_result *jd;
} exchanged;

/* Both methods from P random starts, then each from the P results of the other. */
static tlnmf_error exchange(tl_pool *pool, exchanged *x, tl_result *tl, tl_result *jd)
{
    int64_t P = pool->plan.P;
    const tl_batch batches[] = {
        {.job = &job_tl, .count = P, .keep = &x->from_tl, .best = tl},
        {.job = &job_jd_nmf, .count = P, .keep = &x->from_jd, .best = x->jd},
        {.job = &job_tl, .first = P, .count = P, .from = &x->from_jd, .from_first = P, .best = tl},
        {.job = &job_jd,
         .first = P,
         .count = P,
         .from = &x->from_tl,
         .from_first = P,
         .best = x->jd}};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        TRY(tl_pool_run(pool, &batches[i]));
    note_jd(pool, x->jd);
    TRY(nmf_after_jd(pool, x->jd, &x->from_tl, 2 * P, jd));
    /* Fast: TL-NMF also starts from the end of JD+NMF, so its C is never higher. */
    return pool->solver == &tl_fast ? tl_from(pool, jd, 2 * P, tl) : TLNMF_OK;
}

static tlnmf_error search_exchange(tl_pool *pool, results *r)
{
    bool is_tl = r->goal == TL_GOAL_TL;
    int64_t K = pool->plan.K, P = pool->plan.P;
    exchanged x = {0};
    tlnmf_error error = tl_shelf_create(pool->ctx, pool->data, K, P, &x.from_tl);
    if (error == TLNMF_OK)
        error = tl_shelf_create(pool->ctx, pool->data, K, P, &x.from_jd);
    if (error == TLNMF_OK)
        error = create_jd(pool, &x.jd);
    error = tl_share_error(pool->ctx, pool->data->sums, pool->machines, error);
    if (error == TLNMF_OK)
        error = exchange(pool, &x, is_tl ? r->best : r->other, is_tl ? r->other : r->best);
    tl_result_free(x.jd);
    tl_shelf_free(&x.from_jd);
    tl_shelf_free(&x.from_tl);
    return error;
}

/* JD+NMF in half of the time that there is: TL-NMF is what gains from more. */
static tlnmf_error search_jd_in_half(tl_pool *pool, results *r)
{
    tl_monitor *monitor = &pool->monitor;
    double end = monitor->deadline;
    if (isfinite(end))
        monitor->deadline = monitor->since + 0.5 * (end - monitor->since);
    tlnmf_error error = search_jd(pool, r);
    monitor->deadline = end;
    int time = TLNMF_TIME;
    if (!tl_share_any(pool, tl_wall_seconds() >= end)) {
        tl_monitor_go_on(monitor);
        atomic_compare_exchange_strong(&monitor->stop, &time, TLNMF_NOT_RUN);
    }
    return error;
}

/* JD+NMF first, which is cheap. C - C* is at most its I if its L is the least there is: where that
 * is next to nothing it is the answer, else TL-NMF has something to gain. Where the time ends
 * before TL-NMF is better, JD+NMF is the answer, too. */
static tlnmf_error search_auto(tl_pool *pool, results *r)
{
    /* I per entry of V that is negligible: what 1000 realisations leave where the model holds. */
    const double worth = 1e-3;
    results jd = {.goal = TL_GOAL_JD, .best = r->other, .other = r->best};
    TRY(search_jd_in_half(pool, &jd));
    if (!(jd.best->info.I > worth * (double)pool->data->M * (double)pool->data->all)) {
        *r = jd;
        return TLNMF_OK;
    }
    r->goal = TL_GOAL_TL;
    TRY(tl_from(pool, r->other, pool->plan.P, r->best));
    TRY(search_tl(pool, r));
    if (!(r->best->info.C <= r->other->info.C))
        *r = jd;
    return TLNMF_OK;
}

/* ---- one method alone ------------------------------------------------------------------------ */

static tlnmf_error search_nmf(tl_pool *pool, results *r)
{
    return tl_pool_run(
        pool,
        &(tl_batch){.job = &job_nmf, .count = pool->plan.P, .best = r->best, .is_last = true});
}

static tlnmf_error search_L(tl_pool *pool, results *r)
{
    return tl_pool_run(
        pool, &(tl_batch){.job = &job_jd, .count = pool->plan.P, .best = r->best, .is_last = true});
}

/* ---- the search ------------------------------------------------------------------------------ */

typedef tlnmf_error (*method)(tl_pool *pool, results *r);

static method method_of(const tl_search_task *task)
{
    static const method methods[] = {search_tl, search_jd, search_nmf, search_L, search_auto};
    return task->opt->exchange ? search_exchange : methods[task->goal];
}

static tlnmf_error create_results(const tl_pool *pool, results *r)
{
    int64_t K = pool->plan.K, capacity = pool->plan.trace_capacity;
    TRY(tl_result_create(pool->ctx, pool->data, pool->opt, K, capacity, &r->best));
    if (!pool->opt->exchange && r->goal != TL_GOAL_AUTO)
        return TLNMF_OK;
    return tl_result_create(pool->ctx, pool->data, pool->opt, K, capacity, &r->other);
}

static tlnmf_error measure(tl_pool *pool, tl_goal goal, tl_result *result)
{
    result->info.columns = pool->columns;
    tl_result_measure(result, goal, pool->opt, &pool->monitor, pool->worker[0].engine);
    for (int i = 0; i < pool->plan.workers; i++) {
        result->info.nmf_seconds += pool->worker[i].nmf_seconds;
        result->info.transform_seconds += pool->worker[i].transform_seconds;
    }
    if (tl_pool_stopped(pool)) /* of the search as a whole, whichever start was kept */
        result->info.outcome = atomic_load(&pool->monitor.stop);
    TRY(tl_engine_error(pool->ctx, pool->worker[0].engine, "the measures of the result"));
    if (result->info.K > 0 && !isfinite(result->info.C)) /* from a checkpoint that was made up */
        return tl_fail(pool->ctx, TLNMF_ERR_NUMERIC, "the kept result has C = %g, L = %g",
                       result->info.C, result->info.L);
    return TLNMF_OK;
}

/* Computes what is reported beside the points. The other method's result stays with the best if the
 * caller has asked for both. */
static tlnmf_error report(tl_pool *pool, results *r)
{
    bool is_tl = r->goal == TL_GOAL_TL;
    tl_result *tl = is_tl ? r->best : r->other, *jd = is_tl ? r->other : r->best;
    if (r->other != NULL && (is_tl || pool->opt->exchange))
        tl_result_compare(&r->best->info, &tl->info, &jd->info);
    TRY(measure(pool, r->goal, r->best));
    if (!pool->opt->exchange || r->other == NULL)
        return TLNMF_OK;
    tl_result_compare(&r->other->info, &tl->info, &jd->info);
    TRY(measure(pool, is_tl ? TL_GOAL_JD : TL_GOAL_TL, r->other));
    r->best->other = r->other;
    r->other = NULL;
    return TLNMF_OK;
}

/* The method, once all machines are ready. */
static tlnmf_error find(const tl_search_task *task, tl_pool *pool, results *r)
{
    pool->columns = (int64_t)tl_sums_of(pool->data->sums, (double)pool->data->T);
    return method_of(task)(pool, r);
}

/* What the sums of the frames have cost since there were `before` of them. */
static void note_sums(const tl_sums *frames, const tl_sums *before, tl_info *info)
{
    if (frames == NULL)
        return;
    info->sums = frames->calls - before->calls;
    info->sum_bytes = frames->bytes - before->bytes;
    info->sum_seconds = frames->seconds - before->seconds;
}

/* A search on its threads. */
typedef struct searching {
    tlnmf_ctx *ctx;
    const tl_search_task *task;
    const tlnmf_data *data;
    results *r;
    double wall_before, cpu_before; /* of a run that was continued */
} searching;

static tlnmf_error search(void *arg)
{
    searching *s = arg;
    tl_pool pool;
    tlnmf_error error = tl_pool_create(s->ctx, s->task, s->data, &pool);
    if (error == TLNMF_OK)
        error = create_results(&pool, s->r);
    error = tl_share_error(s->ctx, s->data->sums, s->task->machines, error);
    if (error == TLNMF_OK)
        error = tl_share_error(s->ctx, s->data->sums, s->task->machines,
                               tl_checkpoint_create(&pool, s->task));
    if (error == TLNMF_OK)
        error = tl_share_error(
            s->ctx, s->data->sums, s->task->machines,
            tl_join_agree(s->ctx, s->data->sums, s->task->machines,
                          s->task->keeping != NULL ? s->task->keeping->resume : NULL));
    if (error == TLNMF_OK)
        error = find(s->task, &pool, s->r);
    if (error == TLNMF_OK)
        error = report(&pool, s->r);
    for (tl_result *one = s->r->best; error == TLNMF_OK && one != NULL; one = one->other)
        error = tl_pool_give_traces(&pool, one);
    s->wall_before = tl_checkpoint_wall(pool.checkpoint);
    s->cpu_before = tl_checkpoint_cpu(pool.checkpoint);
    tl_pool_free(&pool);
    return error;
}

/* The threads of a search: those asked for, and one for each start on a device. */
static int threads_of(const tl_search_task *task)
{
    const tl_engine_ops *engine = task->engine != NULL ? task->engine : tl_engine_of(task->opt);
    int64_t starts = tl_min(engine->at_once, task->opt->starts);
    return (int)tl_max(tl_thread_count(task->opt->threads), starts);
}

/* The time that all machines have spent. */
static void add_seconds(tl_sums *machines, tl_info *info)
{
    double spent[] = {info->cpu_seconds, info->nmf_seconds, info->transform_seconds};
    tl_sums_add(machines, spent, sizeof spent / sizeof *spent);
    info->cpu_seconds = spent[0];
    info->nmf_seconds = spent[1];
    info->transform_seconds = spent[2];
}

tlnmf_error tl_search(tlnmf_ctx *ctx, const tl_search_task *task, tl_result **out)
{
    double wall = tl_wall_seconds(), cpu = tl_cpu_seconds();
    tlnmf_data *trimmed;
    results r = {.goal = task->goal};
    tl_sums *frames = task->data->sums, before = {0};
    *out = NULL;
    if (frames != NULL)
        before = *frames;
    tlnmf_error error = tl_data_trim(ctx, task->data, task->eps, &trimmed);
    error = tl_share_error(ctx, task->data->sums, task->machines, error);
    if (error != TLNMF_OK) {
        tlnmf_data_free(trimmed);
        return error;
    }
    const tlnmf_data *used = trimmed != NULL ? trimmed : task->data;
    searching s = {.ctx = ctx, .task = task, .data = used, .r = &r};
    error = tl_with_threads(threads_of(task), search, &s);
    wall -= s.wall_before; /* before this process */
    cpu -= s.cpu_before;
    for (tl_result *one = r.best; error == TLNMF_OK && one != NULL; one = one->other) {
        tl_result_clear_silent(used, one);
        one->info.wall_seconds = tl_wall_seconds() - wall;
        one->info.cpu_seconds = tl_cpu_seconds() - cpu;
        note_sums(frames, &before, &one->info);
        add_seconds(task->machines, &one->info);
    }
    tlnmf_data_free(trimmed);
    tl_result_free(r.other);
    if (error != TLNMF_OK)
        tl_result_free(r.best);
    *out = error == TLNMF_OK ? r.best : NULL;
    return error;
}
