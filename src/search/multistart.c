/* Multi-start search, with the exchange of starts between TL-NMF and JD+NMF (the paper's last
 * appendix). Starts run in parallel; which one is kept depends on scores and start numbers alone,
 * so the answer is the same at any number of threads. */
#include "search/hop.h"
#include "search/plan.h"
#include "search/shelf.h"
#include "search/starts.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

typedef enum task { TASK_TL, TASK_JD, TASK_JD_NMF, TASK_NMF } task;

/* One thread's room. Its context is a copy, so that messages do not mix. */
typedef struct worker {
    tlnmf_ctx ctx;
    tl_solver solver;
    tl_shelf hop; /* where hops keep their best, if there are any */
    tl_trace_row *trace;
    double nmf_seconds, transform_seconds;
} worker;

typedef struct search {
    tlnmf_ctx *ctx;
    const tlnmf_data *data;
    const tl_settings *opt;
    tl_settings quick; /* opt with a tolerance that is enough to rank starts by */
    const tl_plan *plan;
    int64_t M, N, K, P; /* of the data and of the plan */
    tl_starts starts;
    tl_monitor monitor;
    worker *worker;
    void *block;
} search;

/* One solver from many starts: 0 .. P-1 are drawn, P .. 2P-1 stand on a shelf. */
typedef struct batch {
    task what;
    int64_t first, count;
    const tl_shelf *from; /* where starts from number `from_first`, or P, on stand */
    int64_t from_first;
    const double *Phi; /* a transform for all of them, or NULL */
    tl_shelf *keep;    /* where to put start p's final point, or NULL */
    tl_result *best;   /* the least score, over all batches that share it */
    bool quick;        /* the best is polished later */
} batch;

/* ---- one start ------------------------------------------------------------------------------- */

static double score_of(task what, tl_values values)
{
    switch (what) {
    case TASK_TL:
        return values.C;
    case TASK_NMF:
        return values.I;
    default:
        return values.L;
    }
}

/* Keeps the point if it beats the best, or equals it and came from an earlier start. */
static void offer(search *s, const batch *b, const worker *w, const tl_run *run, tl_values values)
{
    tl_result *best = b->best;
    omp_set_lock(&s->monitor.lock);
    double old = score_of(b->what, (tl_values){best->info.C, best->info.L, best->info.I});
    double score = score_of(b->what, values);
    bool better = best->info.best_start < 0 || score < old ||
                  (score == old && run->start < best->info.best_start);
    if (better) {
        tl_result_store(best, &w->solver.model, values);
        best->info.outcome = (int32_t)run->outcome;
        best->info.iterations = run->iterations;
        best->info.best_start = run->start;
        best->trace_length = run->trace_length;
        if (run->trace_length > 0)
            memcpy(best->trace, run->trace, (size_t)run->trace_length * sizeof *run->trace);
    }
    static const char *const names[] = {"TL-NMF", "JD", "JD+NMF", "NMF"};
    static const char *const scores[] = {"C", "L", "L", "I"}; /* what score_of() looks at */
    long long start = run->start + 1, iterations = run->iterations;
    tl_log(s->ctx, TLNMF_LOG_INFO, "%s from start %lld: %s = %.12g, %s after %lld iterations%s",
           names[b->what], start, scores[b->what], score, tlnmf_outcome_name(run->outcome),
           iterations, better ? ", the best" : "");
    omp_unset_lock(&s->monitor.lock);
}

/* Algorithm 2 from this start, perhaps with fewer updates (handover): what JD left is what is
 * reported. */
static void solve_jd_nmf(tl_solver *solver, tl_run *run)
{
    tl_solve_jd(solver, run);
    tl_run jd = *run;
    tl_settings opt = *run->opt;
    if (opt.handover > 0) {
        opt.J = opt.handover;
        opt.J_nmf = 1;
    }
    run->opt = &opt;
    run->iterations = 0;
    tl_solve_nmf(solver, run);
    run->opt = jd.opt;
    run->outcome = jd.outcome;
    run->iterations = jd.iterations;
    run->trace_length = jd.trace_length;
}

static void solve(const batch *b, tl_solver *solver, tl_run *run)
{
    run->to_the_end = b->what == TASK_JD_NMF || b->Phi != NULL; /* Algorithm 2 */
    switch (b->what) {
    case TASK_TL:
        tl_solve_tl(solver, run);
        break;
    case TASK_JD:
        tl_solve_jd(solver, run);
        break;
    case TASK_JD_NMF:
        solve_jd_nmf(solver, run);
        break;
    case TASK_NMF:
        tl_solve_nmf(solver, run);
        break;
    }
}

static double sum_of(int64_t count, const double *x)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i];
    return sum;
}

static tlnmf_error run_start(search *s, const batch *b, worker *w, int64_t p)
{
    tl_model *model = &w->solver.model;
    if (p < s->P)
        TRY(tl_starts_fill(&w->ctx, &s->starts, p, model));
    else
        tl_shelf_take(b->from, p - tl_max(b->from_first, s->P), model);
    if (b->Phi != NULL)
        tl_copy(model->Phi, b->Phi, s->M * s->M);
    tl_model_refresh(model);
    tl_run run = {.opt = b->quick ? &s->quick : s->opt,
                  .monitor = &s->monitor,
                  .start = p,
                  .roams = p < s->P && tl_starts_draw_Phi(&s->starts),
                  .trace = w->trace,
                  .trace_room = s->plan->trace_room};
    solve(b, &w->solver, &run);
    if (b->what == TASK_TL && run.roams && s->plan->hops > 0)
        tl_hop_search(s->plan->hops, &w->hop, &w->solver, &run, s->opt->seed);
    if (b->what != TASK_NMF) /* whose Phi has not moved */
        tl_orthogonalise(&model->skew, tl_model_lend(model), model->Phi);
    tl_model_refresh(model); /* the values that count are those of Phi itself */
    if (b->keep != NULL)
        tl_shelf_put(b->keep, p - b->first, model);
    tl_values values = tl_model_values(model);
    /* NaN and Inf show in sums, as they do not in sums of logarithms. */
    double sums = sum_of(s->M * s->N, model->V) + sum_of(s->M * s->K, model->W) +
                  sum_of(s->K * s->N, model->H);
    if (!isfinite(sums) || (model->K > 0 && !isfinite(values.C)))
        return tl_fail(&w->ctx, TLNMF_ERR_NUMERIC, "start %lld ended with C = %g, L = %g",
                       (long long)p + 1, values.C, values.L);
    offer(s, b, w, &run, values);
    w->nmf_seconds += run.nmf_seconds;
    w->transform_seconds += run.transform_seconds;
    return TLNMF_OK;
}

/* ---- many starts ----------------------------------------------------------------------------- */

/* After a stop, only a batch that has nothing yet still runs a start (which then ends at once). */
static bool skip(search *s, const batch *b)
{
    if (atomic_load(&s->monitor.stop) == TLNMF_NOT_RUN)
        return false;
    omp_set_lock(&s->monitor.lock);
    bool has = b->best->info.best_start >= 0;
    omp_unset_lock(&s->monitor.lock);
    return has;
}

static tlnmf_error run_batch(search *s, const batch *b)
{
    int team = (int)tl_min(s->plan->workers, b->count);
    /* Many starts: BLAS on one thread in each. */
    int inner = b->count > 1 ? 1 : omp_get_max_threads();
    tlnmf_error failed = TLNMF_OK;
#pragma omp parallel num_threads(team)
    {
        omp_set_num_threads(inner); /* of this region's own tasks: nothing outside changes */
        worker *w = &s->worker[omp_get_thread_num()];
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < b->count; i++) {
            if (skip(s, b))
                continue;
            tlnmf_error error = run_start(s, b, w, b->first + i);
            if (error != TLNMF_OK) {
                omp_set_lock(&s->monitor.lock);
                failed = error;
                memcpy(s->ctx->message, w->ctx.message, sizeof s->ctx->message);
                omp_unset_lock(&s->monitor.lock);
            }
        }
    }
    return failed;
}

/* ---- the methods ----------------------------------------------------------------------------- */

/* NMF at the best Phi of JD, whose trace and outcome are kept in front. */
static tlnmf_error nmf_after_jd(search *s, const tl_result *jd, const tl_shelf *more, int64_t count,
                                tl_result *best)
{
    TRY(run_batch(
        s, &(batch){.what = TASK_NMF, .count = count, .from = more, .Phi = jd->Phi, .best = best}));
    int64_t rows = tl_min(best->trace_length, best->trace_room - jd->trace_length);
    if (rows > 0)
        memmove(best->trace + jd->trace_length, best->trace, (size_t)rows * sizeof *best->trace);
    if (jd->trace_length > 0)
        memcpy(best->trace, jd->trace, (size_t)jd->trace_length * sizeof *best->trace);
    best->trace_length = jd->trace_length + rows;
    if (best->info.outcome == TLNMF_CONVERGED || best->info.outcome == TLNMF_STATIONARY)
        /* then the run is as good as its diagonalisation */
        best->info.outcome = jd->info.outcome;
    best->info.iterations = jd->info.iterations;
    best->info.best_start = jd->info.best_start;
    return TLNMF_OK;
}

/* Goes on from the best point to the tolerance that was asked for. */
static void polish(search *s, tl_result *best)
{
    tl_solver *solver = &s->worker[0].solver;
    tl_run run = {.opt = s->opt,
                  .monitor = &s->monitor,
                  .start = best->info.best_start,
                  .newton = s->opt->newton != 0,
                  .iterations = best->info.iterations,
                  .trace = best->trace,
                  .trace_length = best->trace_length,
                  .trace_room = best->trace_room};
    tl_result_load(best, &solver->model);
    tl_descend(&solver->model, &solver->joint, TL_JOINT_ALL, &run, s->opt->J);
    tl_model_refresh(&solver->model);
    tl_result_store(best, &solver->model, tl_model_values(&solver->model));
    best->info.outcome = (int32_t)run.outcome;
    best->info.iterations = run.iterations;
    best->trace_length = run.trace_length;
    s->worker[0].transform_seconds += run.transform_seconds;
}

/* Fast and large: all starts just far enough to rank them, then the best to the end. A small
 * problem's starts are cheap and its minima close together, so that each goes to the end. */
static tlnmf_error search_tl(search *s, tl_result *best)
{
    const double enough = 1e-9;
    bool quick =
        s->opt->solver == TLNMF_SOLVER_FAST && s->opt->tol < enough && !tl_is_small(s->data, s->K);
    s->quick = *s->opt;
    s->quick.tol = enough;
    TRY(run_batch(s, &(batch){.what = TASK_TL, .count = s->P, .best = best, .quick = quick}));
    if ((quick || s->opt->newton) && atomic_load(&s->monitor.stop) == TLNMF_NOT_RUN)
        polish(s, best);
    return TLNMF_OK;
}

static tlnmf_error search_jd(search *s, tl_result *best)
{
    tl_result *jd;
    TRY(tl_result_create(s->ctx, s->data, s->opt, 0, s->plan->trace_room, &jd));
    tlnmf_error error = run_batch(s, &(batch){.what = TASK_JD, .count = s->P, .best = jd});
    if (error == TLNMF_OK)
        error = nmf_after_jd(s, jd, NULL, s->P, best);
    tlnmf_result_free(jd);
    return error;
}

/* TL-NMF from the point that JD+NMF reached, as start number p. */
static tlnmf_error tl_from(search *s, const tl_result *jd, int64_t p, tl_result *best)
{
    tl_shelf shelf;
    TRY(tl_shelf_create(s->ctx, s->data, s->K, 1, &shelf));
    tl_result_load(jd, &s->worker[0].solver.model);
    tl_shelf_put(&shelf, 0, &s->worker[0].solver.model);
    tlnmf_error error = run_batch(s, &(batch){.what = TASK_TL,
                                              .first = p,
                                              .count = 1,
                                              .from = &shelf,
                                              .from_first = p,
                                              .best = best});
    tl_shelf_free(&shelf);
    return error;
}

/* Both methods from P drawn starts, then each from the other's P results. */
static tlnmf_error exchange(search *s, tl_shelf *from_tl, tl_shelf *from_jd, tl_result *jd,
                            tl_result *best_tl, tl_result *best_jd)
{
    int64_t P = s->P;
    TRY(run_batch(s, &(batch){.what = TASK_TL, .count = P, .keep = from_tl, .best = best_tl}));
    TRY(run_batch(s, &(batch){.what = TASK_JD_NMF, .count = P, .keep = from_jd, .best = jd}));
    TRY(run_batch(
        s, &(batch){.what = TASK_TL, .first = P, .count = P, .from = from_jd, .best = best_tl}));
    TRY(run_batch(s,
                  &(batch){.what = TASK_JD, .first = P, .count = P, .from = from_tl, .best = jd}));
    TRY(nmf_after_jd(s, jd, from_tl, 2 * P, best_jd));
    /* Fast: TL-NMF is never above JD+NMF, since it also descends from there. */
    return s->opt->solver == TLNMF_SOLVER_FAST ? tl_from(s, best_jd, 2 * P, best_tl) : TLNMF_OK;
}

static tlnmf_error search_exchange(search *s, tl_result *best_tl, tl_result *best_jd)
{
    tl_shelf from_tl = {0}, from_jd = {0};
    tl_result *jd = NULL;
    tlnmf_error error = tl_shelf_create(s->ctx, s->data, s->K, s->P, &from_tl);
    if (error == TLNMF_OK)
        error = tl_shelf_create(s->ctx, s->data, s->K, s->P, &from_jd);
    if (error == TLNMF_OK)
        error = tl_result_create(s->ctx, s->data, s->opt, 0, s->plan->trace_room, &jd);
    if (error == TLNMF_OK)
        error = exchange(s, &from_tl, &from_jd, jd, best_tl, best_jd);
    tlnmf_result_free(jd);
    tl_shelf_free(&from_jd);
    tl_shelf_free(&from_tl);
    return error;
}

/* ---- setting up ------------------------------------------------------------------------------ */

static tlnmf_error workers_create(search *s, double eps)
{
    tl_slot table[] = {TL_SLOT(s->worker, s->plan->workers)};
    TRY(TL_ARENA(s->ctx, "the workers", table, &s->block));
    for (int i = 0; i < s->plan->workers; i++) {
        worker *w = &s->worker[i];
        w->ctx = *s->ctx;
        TRY(tl_solver_create(s->ctx, s->data, s->opt, eps, s->K, s->plan->goal != TL_GOAL_NMF,
                             &w->solver));
        if (s->plan->hops > 0)
            TRY(tl_shelf_create(s->ctx, s->data, s->K, 1, &w->hop));
        TRY(tl_trace_create(s->ctx, s->plan->trace_room, &w->trace));
    }
    return TLNMF_OK;
}

static void workers_free(search *s)
{
    for (int i = 0; s->worker != NULL && i < s->plan->workers; i++) {
        tl_shelf_free(&s->worker[i].hop);
        tl_solver_free(&s->worker[i].solver);
        tl_release(&s->ctx->hooks, s->worker[i].trace);
    }
    tl_release(&s->ctx->hooks, s->block);
}

/* JD+NMF first, which is cheap. C - C* is at most its I if its L is the least there is: where that
 * is next to nothing it is the answer, else TL-NMF has something to gain. */
static tlnmf_error search_auto(search *s, tl_goal *goal, tl_result **best, tl_result **other)
{
    const double worth = 1e-3; /* of I, per entry of V */
    TRY(search_jd(s, *other));
    if ((*other)->info.I > worth * (double)s->M * (double)s->N) {
        *goal = TL_GOAL_TL;
        TRY(tl_from(s, *other, s->P, *best));
        return search_tl(s, *best);
    }
    *goal = TL_GOAL_JD;
    tl_result *jd = *other;
    *other = *best;
    *best = jd;
    return TLNMF_OK;
}

static tlnmf_error search_goal(search *s, tl_goal goal, tl_result *best, tl_result *other)
{
    switch (goal) {
    case TL_GOAL_TL:
        if (s->opt->exchange)
            return search_exchange(s, best, other);
        return search_tl(s, best);
    case TL_GOAL_JD:
        if (s->opt->exchange)
            return search_exchange(s, other, best);
        return search_jd(s, best);
    case TL_GOAL_NMF:
        return run_batch(s, &(batch){.what = TASK_NMF, .count = s->P, .best = best});
    default:
        return run_batch(s, &(batch){.what = TASK_JD, .count = s->P, .best = best});
    }
}

static void report(search *s, tl_goal goal, tl_result *result)
{
    tl_result_measure(result, goal, s->opt, &s->monitor, &s->worker[0].solver);
    for (int i = 0; i < s->plan->workers; i++) {
        result->info.nmf_seconds += s->worker[i].nmf_seconds;
        result->info.transform_seconds += s->worker[i].transform_seconds;
    }
    int stop = atomic_load(&s->monitor.stop);
    if (stop != TLNMF_NOT_RUN) /* the search as a whole was stopped, whichever start was kept */
        result->info.outcome = stop;
}

static tlnmf_error search_run(search *s, tl_goal goal, tl_result **out)
{
    bool is_auto = goal == TL_GOAL_AUTO;
    tl_result *other = NULL;
    TRY(tl_result_create(s->ctx, s->data, s->opt, s->K, s->plan->trace_room, out));
    tlnmf_error error = TLNMF_OK;
    if (s->opt->exchange || is_auto)
        error = tl_result_create(s->ctx, s->data, s->opt, s->K, s->plan->trace_room, &other);
    if (error == TLNMF_OK)
        error = is_auto ? search_auto(s, &goal, out, &other) : search_goal(s, goal, *out, other);
    if (error == TLNMF_OK) {
        tl_info *info = &(*out)->info;
        if (goal == TL_GOAL_TL && other != NULL)
            tl_result_compare(info, info, &other->info);
        else if (s->opt->exchange)
            tl_result_compare(info, &other->info, info);
        report(s, goal, *out);
        if (s->opt->exchange && other != NULL) { /* the caller may ask for it */
            tl_result_compare(&other->info, goal == TL_GOAL_TL ? info : &other->info,
                              goal == TL_GOAL_TL ? &other->info : info);
            report(s, goal == TL_GOAL_TL ? TL_GOAL_JD : TL_GOAL_TL, other);
            (*out)->other = other;
            return TLNMF_OK;
        }
    } else {
        tlnmf_result_free(*out);
        *out = NULL;
    }
    tlnmf_result_free(other);
    return error;
}

static tlnmf_error search_trimmed(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                                  double eps, const tl_plan *plan, const tl_start *start,
                                  tlnmf_callback callback, void *user, tl_result **out)
{
    search s = {.ctx = ctx,
                .data = data,
                .opt = opt,
                .plan = plan,
                .M = data->M,
                .N = data->N,
                .K = plan->K,
                .P = plan->P};
    tlnmf_error error =
        tl_starts_create(ctx, data, opt, s.K, plan->goal == TL_GOAL_NMF, start, &s.starts);
    if (error == TLNMF_OK)
        error = workers_create(&s, eps);
    tl_monitor_init(&s.monitor, opt, callback, user, opt->exchange ? 2 * s.P : s.P);
    if (error == TLNMF_OK)
        error = search_run(&s, plan->goal, out);
    workers_free(&s);
    tl_starts_free(&s.starts);
    tl_monitor_done(&s.monitor);
    return error;
}

tlnmf_error tl_search(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt, double eps,
                      tl_goal goal, const tl_start *start, tlnmf_callback callback, void *user,
                      tl_result **out)
{
    double wall = tl_wall_seconds(), cpu = tl_cpu_seconds();
    tlnmf_data *trimmed;
    TRY(tl_data_trim(ctx, data, eps, &trimmed));
    const tlnmf_data *used = trimmed != NULL ? trimmed : data;
    const tl_plan plan = tl_plan_make(used, opt, goal);
    tlnmf_error error = TLNMF_OK;
#pragma omp parallel num_threads( \
    1) /* a region of its own: the caller's settings stay as they are */
    {
        omp_set_num_threads(plan.blas_threads);
        error = search_trimmed(ctx, used, opt, eps, &plan, start, callback, user, out);
    }
    for (tl_result *result = *out; error == TLNMF_OK && result != NULL; result = result->other) {
        result->info.columns = used->T;
        result->info.wall_seconds = tl_wall_seconds() - wall;
        result->info.cpu_seconds = tl_cpu_seconds() - cpu;
    }
    tlnmf_data_free(trimmed);
    return error;
}
