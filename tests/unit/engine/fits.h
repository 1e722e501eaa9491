/* Whole solvers on two engines: problems, a run, comparison of the traces. */
#ifndef TLNMF_TESTS_FITS_H
#define TLNMF_TESTS_FITS_H

#include "support.h"

#include "search/search.h"

typedef struct fit {
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tl_settings opt;
    double eps;
} fit;

/* The paper's Gaussian data. */
static inline fit gcm(int64_t S)
{
    enum { M = 10, N = 50, K = 5 };
    fit p = {.ctx = new_ctx(), .eps = 1e-8};
    double *Y = new_doubles(S * M * N);
    simulate_gcm(p.ctx, (gcm_recipe){S, M, N, K, 2020, 100, TL_STREAM_NUMPY}, Y, NULL, NULL);
    p.data = data_of(p.ctx, Y, S, M, N);
    free(Y);
    p.opt = fit_settings(K);
    p.opt.seed = 2021;
    p.opt.stream = TL_STREAM_NUMPY;
    return p;
}

static inline void destroy(fit *p)
{
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
}

static inline tl_result *run(fit *p, tl_goal goal, const tl_engine_ops *engine)
{
    tl_result *result;
    tl_search_task task = {
        .goal = goal, .data = p->data, .opt = &p->opt, .eps = p->eps, .engine = engine};
    assert_ok(p->ctx, tl_search(p->ctx, &task, &result));
    return result;
}

/* Within 1e-9 of `size`, or both not known. */
static inline void assert_same(const char *what, int64_t i, double a, double b, double size)
{
    if (isnan(a) && isnan(b))
        return;
    if (!(fabs(a - b) <= 1e-9 * size))
        fail_msg("%s: row %lld is %.17g on the cpu, %.17g on the other engine", what, (long long)i,
                 a, b);
}

/* All J iterations of a solver on the cpu and on another engine: the same traces. */
static inline void compare(fit *p, const tl_engine_ops *engine, tl_goal goal, tl_algorithm solver,
                           int64_t J)
{
    static const char *const goals[] = {"TL", "JD", "NMF"};
    p->opt.solver = (int32_t)solver;
    p->opt.J = J;
    p->opt.tol = p->opt.grad_tol = 0.0; /* all iterations */
    p->opt.trace = 1;
    p->opt.hops = 0;
    tl_result *cpu = run(p, goal, NULL), *other = run(p, goal, engine);
    assert_int_equal(cpu->trace_length, other->trace_length);
    assert_int_equal(cpu->info.outcome, other->info.outcome);
    for (int64_t i = 0; i < cpu->trace_length; i++) {
        const tl_trace_row *a = &cpu->trace[i], *b = &other->trace[i];
        double size = isnan(a->C) ? fabs(a->L) : fabs(a->C);
        assert_int_equal(a->stage, b->stage);
        assert_int_equal(a->iteration, b->iteration);
        assert_same(goals[goal], i, a->C, b->C, size);
        assert_same(goals[goal], i, a->L, b->L, size);
        assert_same(goals[goal], i, a->I, b->I, size);
    }
    assert_same(goals[goal], J, cpu->info.C, other->info.C, fabs(cpu->info.C));
    tl_result_free(cpu);
    tl_result_free(other);
}

/* Rounding differs from the first iteration on, by 1e-15, and a path may make more and more of
 * that. On GCM at S = 10 and on noise, with the paper's solvers the traces stay within 1e-9 for
 * over 200 iterations, with the fast TL-NMF for 140, NMF for 190; the fast JD is at its minimum
 * after 60, where rounding decides when a line search finds nothing more. The numbers below stay
 * well inside. */
static inline void compare_all(fit p, const tl_engine_ops *engine)
{
    compare(&p, engine, TL_GOAL_TL, TL_ALGORITHM_PAPER, 100);
    compare(&p, engine, TL_GOAL_JD, TL_ALGORITHM_PAPER, 100);
    compare(&p, engine, TL_GOAL_NMF, TL_ALGORITHM_PAPER, 100);
    compare(&p, engine, TL_GOAL_TL, TL_ALGORITHM_FAST, 70);
    compare(&p, engine, TL_GOAL_JD, TL_ALGORITHM_FAST, 40);
    compare(&p, engine, TL_GOAL_NMF, TL_ALGORITHM_FAST, 70);
    destroy(&p);
}

#endif
