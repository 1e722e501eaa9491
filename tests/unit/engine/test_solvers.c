/* Whole solvers on the engine of plain loops: the same traces as on the cpu engine. */
#include "unit/engine/fits.h"

/* White noise, 12 x 9, one realisation. */
static fit noise(void)
{
    enum { M = 12, N = 9, K = 3 };
    fit p = {.ctx = new_ctx(), .eps = 0.01};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 12, 9);
    double *Y = new_normals(&rng, M * N);
    p.data = data_of(p.ctx, Y, 1, M, N);
    free(Y);
    p.opt = fit_settings(K);
    return p;
}

/* What is reported at the end, too. */
static void compare_measures(fit *p, tl_goal goal)
{
    tl_result *cpu = run(p, goal, NULL), *naive = run(p, goal, &tl_engine_naive);
    double size = fabs(cpu->info.C);
    assert_int_equal(cpu->info.iterations, naive->info.iterations);
    assert_same("L", -1, cpu->info.L, naive->info.L, size);
    assert_same("I", -1, cpu->info.I, naive->info.I, size);
    assert_near(cpu->info.gradient_norm, naive->info.gradient_norm, 1e-6);
    tl_result_free(cpu);
    tl_result_free(naive);
}

static void measures_are_the_same(void **state)
{
    (void)state;
    fit p[] = {gcm(10), noise()};
    for (int i = 0; i < 2; i++) {
        p[i].opt.J = 40;
        p[i].opt.tol = p[i].opt.grad_tol = 0.0;
        p[i].opt.hops = 0;
        for (int goal = TL_GOAL_TL; goal <= TL_GOAL_NMF; goal++)
            compare_measures(&p[i], (tl_goal)goal);
        destroy(&p[i]);
    }
}

static void gcm_traces_are_the_same(void **state)
{
    (void)state;
    compare_all(gcm(10), &tl_engine_naive);
}

static void noise_traces_are_the_same(void **state)
{
    (void)state;
    compare_all(noise(), &tl_engine_naive);
}

/* ---- an engine that fails -------------------------------------------------------------------- */

/* The cpu engine on a device that is lost after some sweeps. */
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

static void a_fault_of_the_engine_ends_the_search(void **state)
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
    const int after[] = {3, 18}; /* in the first 15 sweeps; in those after a hop */
    for (int i = 0; i < 2; i++) {
        tl_result *result;
        sweeps_left = after[i];
        assert_int_equal(tl_search(p.ctx, &task, &result), TLNMF_ERR_NUMERIC);
        assert_null(result);
        assert_non_null(strstr(tlnmf_message(p.ctx), "the engine lost: the device was lost"));
    }
    destroy(&p);
}

static void models_that_no_engine_knows_are_refused(void **state)
{
    (void)state;
    fit p = noise();
    const tl_engine_ops *const engines[] = {&tl_engine_cpu, &tl_engine_mixed, &tl_engine_naive};
    for (int i = 0; i < 3; i++) {
        tl_model model = {.data = p.data, .K = 2, .eps = 1.0, .ties = (tl_ties)1};
        tl_engine *e = NULL;
        assert_int_equal(engines[i]->create(p.ctx, &(tl_engine_spec){.model = &model}, &e),
                         TLNMF_ERR_OPTION);
    }
    destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gcm_traces_are_the_same),
        cmocka_unit_test(noise_traces_are_the_same),
        cmocka_unit_test(measures_are_the_same),
        cmocka_unit_test(a_fault_of_the_engine_ends_the_search),
        cmocka_unit_test(models_that_no_engine_knows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
