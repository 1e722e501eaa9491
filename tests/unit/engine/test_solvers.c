/* Whole solvers on the naive engine: the same traces as on the CPU engine. */
#include "unit/engine/fits.h"

/* White noise, 12 x 9, one realisation. */
static fit noise(void)
{
    enum { M = 12, N = 9, K = 3 };
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 12, 9);
    double *Y = new_normals(&rng, M * N);
    fit p = fit_of(new_ctx(), Y, (int64_t[]){1, M, N}, K, 0.01);
    free(Y);
    return p;
}

/* Equal, or both NaN. */
static void assert_same(const char *what, int64_t i, double a, double b, double size)
{
    if (isnan(a) && isnan(b))
        return;
    if (!(fabs(a - b) <= 1e-9 * size))
        fail_msg("%s: row %lld is %.17g on the cpu, %.17g by plain loops", what, (long long)i, a,
                 b);
}

static void compare(fit *p, tl_goal goal, tl_algorithm solver, int64_t J)
{
    static const char *const goals[] = {"TL", "JD", "NMF"};
    p->opt.solver = (int32_t)solver;
    p->opt.J = J;
    p->opt.tol = p->opt.grad_tol = 0.0; /* all iterations */
    p->opt.trace = 1;
    p->opt.hops = 0;
    tl_result *cpu = run_fit(p, goal, NULL), *naive = run_fit(p, goal, &tl_engine_naive);
    assert_int_equal(cpu->trace_length, naive->trace_length);
    assert_true(cpu->trace_length >= J);
    assert_int_equal(cpu->info.outcome, naive->info.outcome);
    for (int64_t i = 0; i < cpu->trace_length; i++) {
        const tl_trace_row *a = &cpu->trace[i], *b = &naive->trace[i];
        double size = isnan(a->C) ? fabs(a->L) : fabs(a->C);
        assert_int_equal(a->stage, b->stage);
        assert_int_equal(a->iteration, b->iteration);
        assert_same(goals[goal], i, a->C, b->C, size);
        assert_same(goals[goal], i, a->L, b->L, size);
        assert_same(goals[goal], i, a->I, b->I, size);
        if (!isnan(a->gradient) || !isnan(b->gradient))
            assert_near(a->gradient, b->gradient, 1e-6 * (1.0 + fabs(b->gradient)));
    }
    double size = fabs(cpu->info.C);
    assert_same(goals[goal], J, cpu->info.C, naive->info.C, size);
    assert_same(goals[goal], J, cpu->info.L, naive->info.L, size);
    assert_same(goals[goal], J, cpu->info.I, naive->info.I, size);
    assert_near(cpu->info.gradient_norm, naive->info.gradient_norm, 1e-6);
    tl_result_free(cpu);
    tl_result_free(naive);
}

/* Rounding differs by 1e-15 from the first iteration on, and the difference can grow. With the
 * paper's solvers the traces stay within 1e-9 for over 200 iterations, with the fast TL-NMF for
 * 140, NMF for 190. The fast JD reaches its minimum after 60 iterations, where rounding decides
 * when a line search fails. The numbers below are well below these limits. */
static void compare_all(fit p)
{
    compare(&p, TL_GOAL_TL, TL_ALGORITHM_PAPER, 100);
    compare(&p, TL_GOAL_JD_NMF, TL_ALGORITHM_PAPER, 100);
    compare(&p, TL_GOAL_NMF, TL_ALGORITHM_PAPER, 100);
    compare(&p, TL_GOAL_TL, TL_ALGORITHM_FAST, 70);
    compare(&p, TL_GOAL_JD_NMF, TL_ALGORITHM_FAST, 40);
    compare(&p, TL_GOAL_NMF, TL_ALGORITHM_FAST, 70);
    free_fit(&p);
}

static void gcm_traces_are_the_same(void **state)
{
    (void)state;
    compare_all(fit_of_gcm(10));
}

static void noise_traces_are_the_same(void **state)
{
    (void)state;
    compare_all(noise());
}

/* ---- an engine that fails -------------------------------------------------------------------- */

/* The CPU engine, which fails like a lost device after some sweeps. */
static int sweeps_left;

static double sweep_once_more(tl_engine *e, unsigned of, double floor, double least)
{
    if (--sweeps_left == 0) {
        e->fault = TLNMF_ERR_NUMERIC;
        e->why = "the device was lost";
    }
    return tl_engine_cpu.sweep(e, of, floor, least);
}

static tl_engine_ops failing;

static tlnmf_error create_failing(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    TRY(tl_engine_cpu.create(ctx, spec, out));
    (*out)->ops = &failing;
    return TLNMF_OK;
}

static void an_engine_failure_ends_the_search(void **state)
{
    (void)state;
    fit p = noise();
    failing = tl_engine_cpu;
    failing.name = "lost";
    failing.create = create_failing;
    failing.sweep = sweep_once_more;
    p.opt.starts = 2;
    p.opt.threads = 1; /* the counter of sweeps has no lock */
    p.opt.hops = 2;
    tl_search_task task = {
        .goal = TL_GOAL_TL, .data = p.data, .opt = &p.opt, .eps = p.eps, .engine = &failing};
    const int after[] = {3, 18}; /* in the first 15 sweeps; in the sweeps after a hop */
    for (int i = 0; i < 2; i++) {
        tl_result *result;
        sweeps_left = after[i];
        assert_int_equal(tl_search(p.ctx, &task, &result), TLNMF_ERR_NUMERIC);
        assert_null(result);
        assert_non_null(strstr(tlnmf_message(p.ctx), "the engine lost: the device was lost"));
    }
    free_fit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gcm_traces_are_the_same),
        cmocka_unit_test(noise_traces_are_the_same),
        cmocka_unit_test(an_engine_failure_ends_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
