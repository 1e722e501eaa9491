/* The methods of a fit, each a few batches of starts: TL-NMF, JD+NMF, NMF, their exchange of starts
 * (the paper's last appendix), and the choice between them. */
#include "search/checkpoint.h"
#include "search/distribute.h"
#include "search/hop.h"
#include "search/pool.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

/* The results of a search: of the requested method and, if both methods run, of the other one. */
typedef struct results {
    tl_goal goal; /* of `best`: AUTO only until search_auto() has chosen */
    tl_result *best, *other;
} results;

/* ---- TL-NMF ---------------------------------------------------------------------------------- */

/* Continues from the best point to the tolerance that the settings ask for. */
static tlnmf_error polish(tl_pool *pool, tl_result *best)
{
    tl_worker *w = &pool->worker[0];
    const tl_settings *opt = pool->opt;
    int64_t start = best->info.best_start;
    const tl_batch batch = {
        .job = &tl_job_tl, .first = start, .count = 1, .best = best, .continues = true};
    TRY(tl_checkpoint_begin(pool, &batch));
    tl_run run = {.opt = opt,
                  .monitor = pool->monitor,
                  .start = start,
                  .starts = tl_pool_starts(pool),
                  .iterations = best->info.iterations,
                  .trace = best->trace,
                  .trace_length = best->trace_length,
                  .trace_capacity = best->trace_capacity};
    tl_engine_load(w->engine, best->Phi, best->W, best->H);
    tl_values values;
    if (!tl_checkpoint_take(pool, w->engine, &run, &values)) {
        tl_descent how = tl_descent_of(w->engine, opt, TL_ALL, opt->J);
        tl_descend(w->engine, &how, &run);
        values = tl_engine_values(w->engine, TL_C | TL_L | TL_I);
        tl_checkpoint_add(pool, w->engine, &run, values);
    }
    tl_result_store(best, w->engine, values);
    best->info.outcome = (int32_t)run.outcome;
    best->info.iterations = run.iterations;
    if (run.trace_length > best->trace_length)
        tl_pool_trace(pool, run.start, run.trace + best->trace_length,
                      run.trace_length - best->trace_length);
    best->trace_length = run.trace_length;
    w->transform_seconds += run.transform_seconds;
    return tl_engine_error(pool->ctx, w->engine, "the end of the best start");
}

/* Large problems with the fast solver: all starts run at low accuracy, which ranks them; then the
 * best one continues. Small problems: each start runs to the end, because runs are cheap and the
 * minima lie close together. */
static tlnmf_error search_tl(tl_pool *pool, results *r)
{
    const double enough = 1e-9; /* docs/measurements/constants.md */
    const tl_settings *opt = pool->opt;
    bool quick = opt->solver == TL_ALGORITHM_FAST && opt->tol < enough &&
                 !tl_is_small(pool->data, pool->plan.K);
    pool->quick.tol = enough;
    TRY(tl_pool_run(
        pool,
        &(tl_batch){.job = &tl_job_tl, .count = pool->plan.P, .best = r->best, .quick = quick}));
    if (!quick || tl_pool_stopped(pool))
        return TLNMF_OK;
    tlnmf_error error = TLNMF_OK;
    if (pool->starts_comm == NULL || pool->starts_comm->rank == 0)
        error = polish(pool, r->best);
    tl_distribute_result(pool, r->best);
    return tl_distribute_agree(pool->ctx, pool->data->frames_comm, pool->starts_comm, error);
}

/* ---- JD+NMF ---------------------------------------------------------------------------------- */

/* NMF at the best Phi of JD, from `count` starts, some of them on a shelf. The trace of JD comes
 * first. If NMF converges, the outcome is JD's. */
static tlnmf_error nmf_after_jd(tl_pool *pool, const tl_result *jd, const tl_shelf *more,
                                int64_t count, tl_result *best)
{
    TRY(tl_pool_run(pool, &(tl_batch){.job = &tl_job_nmf,
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
    if (best->info.outcome == TLNMF_OUTCOME_CONVERGED ||
        best->info.outcome == TLNMF_OUTCOME_STATIONARY) {
        /* whether the result has converged depends on JD */
        best->info.outcome = jd->info.outcome;
        best->info.outcome_of = TL_STAGE_JD;
    }
    best->info.jd_outcome = jd->info.jd_outcome;
    best->info.nmf_iterations = best->info.iterations;
    best->info.iterations = jd->info.iterations;
    best->info.best_start = jd->info.best_start;
    best->info.starts = jd->info.starts;
    best->info.nmf_completed = best->info.completed;
    best->info.nmf_agree = best->info.agree;
    best->info.completed = jd->info.completed;
    best->info.agree = jd->info.agree;
    return TLNMF_OK;
}

/* Notes why the search for the least L ended: the monitor's reason if it was stopped, else the
 * outcome of its best start. */
static void note_jd(tl_pool *pool, tl_result *jd)
{
    jd->info.jd_outcome = tl_pool_stopped(pool) ? tl_stopped(pool->monitor) : jd->info.outcome;
}

/* The result of JD alone, without W and H. */
static tlnmf_error create_jd(const tl_pool *pool, tl_result **out)
{
    return tl_result_create(pool->ctx, pool->data, pool->opt, 0, pool->plan.trace_capacity, out);
}

/* JD from all starts, or from one if they have the same Phi. */
static tlnmf_error jd_from_starts(tl_pool *pool, tl_result *best)
{
    int64_t count = tl_starts_draw_Phi(&pool->starts) ? pool->plan.P : 1;
    return tl_pool_run(pool, &(tl_batch){.job = &tl_job_jd, .count = count, .best = best});
}

static tlnmf_error search_jd_nmf(tl_pool *pool, results *r)
{
    tl_result *jd;
    tlnmf_error error = tl_distribute_agree(pool->ctx, pool->data->frames_comm, pool->starts_comm,
                                            create_jd(pool, &jd));
    if (error == TLNMF_OK)
        error = jd_from_starts(pool, jd);
    if (error == TLNMF_OK)
        note_jd(pool, jd);
    if (error == TLNMF_OK)
        error = nmf_after_jd(pool, jd, NULL, pool->plan.P, r->best);
    tl_result_free(jd);
    return error;
}

/* ---- both methods ---------------------------------------------------------------------------- */

/* TL-NMF from the point that JD+NMF reached, counted as start number p. */
static tlnmf_error run_tl_from(tl_pool *pool, const tl_result *jd, int64_t p, tl_result *best)
{
    const tl_shelf reached = {.Phi = jd->Phi, .W = jd->W, .H = jd->H};
    return tl_pool_run(pool, &(tl_batch){.job = &tl_job_tl,
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
        {.job = &tl_job_tl, .count = P, .keep = &x->from_tl, .best = tl},
        {.job = &tl_job_jd_nmf, .count = P, .keep = &x->from_jd, .best = x->jd},
        {.job = &tl_job_tl,
         .first = P,
         .count = P,
         .from = &x->from_jd,
         .from_first = P,
         .best = tl},
        {.job = &tl_job_jd,
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
    return pool->solver == &tl_fast ? run_tl_from(pool, jd, 2 * P, tl) : TLNMF_OK;
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
    error = tl_distribute_agree(pool->ctx, pool->data->frames_comm, pool->starts_comm, error);
    if (error == TLNMF_OK)
        error = exchange(pool, &x, is_tl ? r->best : r->other, is_tl ? r->other : r->best);
    tl_result_free(x.jd);
    tl_shelf_free(&x.from_jd);
    tl_shelf_free(&x.from_tl);
    return error;
}

/* Runs JD+NMF in at most half of the time limit, and leaves the rest to TL-NMF, which is slower. */
static tlnmf_error search_jd_nmf_in_half(tl_pool *pool, results *r)
{
    tl_monitor *monitor = pool->monitor;
    double end = monitor->deadline, now = tl_wall_seconds();
    if (isfinite(end))
        monitor->deadline = now + 0.5 * (end - now);
    tlnmf_error error = search_jd_nmf(pool, r);
    monitor->deadline = end;
    if (!tl_distribute_any(pool, tl_wall_seconds() >= end))
        tl_monitor_extend(monitor, end);
    return error;
}

/* JD+NMF runs first, since it is cheap. If its L is the global minimum, its C exceeds the least C
 * by at most its I. If that I is negligible, the result of JD+NMF is returned. Otherwise TL-NMF
 * runs from it, and the result with the lower C is returned: JD+NMF's if time ends before TL-NMF is
 * better. */
static tlnmf_error search_auto(tl_pool *pool, results *r)
{
    /* negligible I per entry of V: about that of data from the model with 1000 realisations */
    const double worth = 1e-3;
    /* `best` must be the result of the goal, here of JD+NMF; `r` keeps TL-NMF as the best */
    results jd = {.goal = TL_GOAL_JD_NMF, .best = r->other, .other = r->best};
    TRY(search_jd_nmf_in_half(pool, &jd));
    if (!(jd.best->info.I > worth * (double)pool->data->M * (double)pool->data->all)) {
        *r = jd;
        return TLNMF_OK;
    }
    r->goal = TL_GOAL_TL;
    TRY(run_tl_from(pool, r->other, pool->plan.P, r->best));
    TRY(search_tl(pool, r));
    if (!(r->best->info.C <= r->other->info.C))
        *r = jd;
    return TLNMF_OK;
}

/* ---- one method alone ------------------------------------------------------------------------ */

static tlnmf_error search_nmf(tl_pool *pool, results *r)
{
    return tl_pool_run(pool,
                       &(tl_batch){.job = &tl_job_nmf, .count = pool->plan.P, .best = r->best});
}

static tlnmf_error search_jd(tl_pool *pool, results *r)
{
    return jd_from_starts(pool, r->best);
}

/* ---- the search ------------------------------------------------------------------------------ */

typedef tlnmf_error (*method)(tl_pool *pool, results *r);

static method method_of(const tl_search_task *task)
{
    static const method methods[] = {[TL_GOAL_TL] = search_tl,
                                     [TL_GOAL_JD_NMF] = search_jd_nmf,
                                     [TL_GOAL_NMF] = search_nmf,
                                     [TL_GOAL_JD] = search_jd,
                                     [TL_GOAL_AUTO] = search_auto};
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
    result->info.singular = pool->singular;
    tl_result_measure(result, goal, pool->opt, pool->monitor, pool->worker[0].engine);
    for (int i = 0; i < pool->plan.workers; i++) {
        result->info.nmf_seconds += pool->worker[i].nmf_seconds;
        result->info.transform_seconds += pool->worker[i].transform_seconds;
    }
    result->info.continued = pool->continued;
    if (tl_pool_stopped(pool)) /* the search was stopped, even if the kept start converged */
        result->info.outcome = tl_stopped(pool->monitor);
    TRY(tl_engine_error(pool->ctx, pool->worker[0].engine, "the measures of the result"));
    if (result->info.K > 0 && !isfinite(result->info.C)) /* a forged checkpoint */
        return tl_fail(pool->ctx, TLNMF_ERR_NUMERIC, "the kept result has C = %g, L = %g",
                       result->info.C, result->info.L);
    return TLNMF_OK;
}

/* Computes the reported values. The other method's result stays with the best if the
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
    TRY(measure(pool, is_tl ? TL_GOAL_JD_NMF : TL_GOAL_TL, r->other));
    r->best->other = r->other;
    r->other = NULL;
    return TLNMF_OK;
}

/* Counts the columns, and the frames whose covariance is singular, of all processes. */
static void count_columns(tl_pool *pool)
{
    const tlnmf_data *data = pool->data;
    double counts[] = {(double)data->T, 0.0};
    for (int64_t n = 0; n < data->N; n++)
        counts[1] += data->offset[n + 1] - data->offset[n] < data->M && !tl_data_is_silent(data, n);
    tl_comm_add(data->frames_comm, counts, 2);
    pool->columns = (int64_t)counts[0];
    pool->singular = counts[1] > 0.0;
}

/* Runs the method of the task. All processes call this together. */
static tlnmf_error find(const tl_search_task *task, tl_pool *pool, results *r)
{
    count_columns(pool);
    return method_of(task)(pool, r);
}

/* The cost of the sums over frames since `before`. */
static void note_sums(const tl_comm *frames_comm, const tl_comm *before, tl_info *info)
{
    if (frames_comm == NULL)
        return;
    info->sums = frames_comm->calls - before->calls;
    info->sum_bytes = frames_comm->bytes - before->bytes;
    info->sum_seconds = frames_comm->seconds - before->seconds;
}

/* A search on its threads. */
typedef struct searching {
    tlnmf_ctx *ctx;
    const tl_search_task *task;
    const tlnmf_data *data;
    results *r;
    double wall_before; /* seconds of the run that is resumed */
} searching;

static tlnmf_error search(void *arg)
{
    searching *s = arg;
    tl_pool pool;
    tl_scope outer;
    tl_monitor_enter(s->ctx->monitor, s->task->opt->max_seconds, s->data->frames_comm, &outer);
    tlnmf_error error = tl_pool_create(s->ctx, s->task, s->data, &pool);
    if (error == TLNMF_OK)
        error = create_results(&pool, s->r);
    error = tl_distribute_agree(s->ctx, s->data->frames_comm, s->task->starts_comm, error);
    if (error == TLNMF_OK)
        error = tl_distribute_agree(s->ctx, s->data->frames_comm, s->task->starts_comm,
                                    tl_checkpoint_create(&pool, s->task));
    if (error == TLNMF_OK)
        error = find(s->task, &pool, s->r);
    if (error == TLNMF_OK)
        error = report(&pool, s->r);
    for (tl_result *one = s->r->best; error == TLNMF_OK && one != NULL; one = one->other)
        error = tl_pool_give_traces(&pool, one);
    if (tl_pool_stopped(&pool))
        tl_units_save(s->task->units, true);
    s->wall_before = pool.seconds_before;
    tl_pool_free(&pool);
    tl_monitor_leave(s->ctx->monitor, &outer);
    return error;
}

/* The number of threads: as the settings ask, but at least one for each start on a device. */
static int threads_of(const tl_search_task *task)
{
    const tl_engine_ops *engine = task->engine != NULL ? task->engine : tl_engine_of(task->opt);
    int64_t starts =
        tl_min(engine->at_once, task->opt->starts > 0 ? task->opt->starts : TL_AUTO_WAVE);
    return (int)tl_max(tl_thread_count(task->opt->threads), starts);
}

/* Adds the time that the other processes have spent. */
static void add_seconds(tl_comm *starts_comm, tl_info *info)
{
    double spent[] = {info->cpu_seconds, info->nmf_seconds, info->transform_seconds};
    tl_comm_add(starts_comm, spent, sizeof spent / sizeof *spent);
    info->cpu_seconds = spent[0];
    info->nmf_seconds = spent[1];
    info->transform_seconds = spent[2];
}

tlnmf_error tl_search(tlnmf_ctx *ctx, const tl_search_task *task, tl_result **out)
{
    double wall = tl_wall_seconds(), cpu = tl_cpu_seconds();
    tlnmf_data *trimmed;
    results r = {.goal = task->goal};
    tl_comm *frames_comm = task->data->frames_comm, before = {0};
    *out = NULL;
    if (frames_comm != NULL)
        before = *frames_comm;
    tlnmf_error error = tl_data_trim(ctx, task->data, task->eps, &trimmed);
    error = tl_distribute_agree(ctx, task->data->frames_comm, task->starts_comm, error);
    if (error != TLNMF_OK) {
        tlnmf_data_free(trimmed);
        return error;
    }
    const tlnmf_data *used = trimmed != NULL ? trimmed : task->data;
    searching s = {.ctx = ctx, .task = task, .data = used, .r = &r};
    error = tl_with_threads(threads_of(task), search, &s);
    wall -= s.wall_before; /* the time of the run that is resumed counts */
    for (tl_result *one = r.best; error == TLNMF_OK && one != NULL; one = one->other) {
        tl_result_clear_silent(used, one);
        one->info.wall_seconds = tl_wall_seconds() - wall;
        one->info.cpu_seconds = tl_cpu_seconds() - cpu;
        note_sums(frames_comm, &before, &one->info);
        add_seconds(task->starts_comm, &one->info);
    }
    tlnmf_data_free(trimmed);
    tl_result_free(r.other);
    if (error != TLNMF_OK)
        tl_result_free(r.best);
    *out = error == TLNMF_OK ? r.best : NULL;
    return error;
}
