/* Descents over Phi, W and H together: L-BFGS, the revival of zeros, Newton's steps, and what a
 * search that fails leaves. */
#include "unit/solve/fast_problem.h"

/* A convex quadratic with a wide spectrum: L-BFGS with exact steps ends at its minimum. */
static void lbfgs_solves_a_quadratic(void **state)
{
    (void)state;
    enum { n = 40 };
    tlnmf_ctx *ctx = new_ctx();
    tl_lbfgs lbfgs;
    tl_slot table[TL_LBFGS_SLOTS];
    void *block;
    tl_lbfgs_slots(&lbfgs, n, table);
    assert_ok(ctx, TL_ARENA(ctx, "a test", table, &block));
    double x[n], g[n], before[n], d[n], metric[n];
    for (int i = 0; i < n; i++) {
        x[i] = 1.0 + 0.1 * i;
        metric[i] = 1.0;
        g[i] = pow(10.0, 3.0 * i / (n - 1)) * x[i];
    }
    for (int it = 0; it < 200; it++) {
        double slope = tl_lbfgs_direction(&lbfgs, g, metric, d), curvature = 0.0;
        assert_true(slope <= 0.0);
        for (int i = 0; i < n; i++)
            curvature += pow(10.0, 3.0 * i / (n - 1)) * d[i] * d[i];
        if (curvature == 0.0)
            break;
        double a = -slope / curvature;
        for (int i = 0; i < n; i++) {
            before[i] = g[i];
            x[i] += a * d[i];
            g[i] = pow(10.0, 3.0 * i / (n - 1)) * x[i];
        }
        tl_lbfgs_step(&lbfgs, a, d);
        tl_lbfgs_learn(&lbfgs, before, g, metric);
    }
    assert_near(largest(n, x), 0.0, 1e-9);
    tl_release(&ctx->hooks, block);
    tlnmf_ctx_free(ctx);
}

/* The end of a run is stationary in every sense: no entry of W, H or angle of Phi can be moved to
 * gain. */
static void the_joint_solver_ends_at_a_minimum(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        problem p;
        create(&p, seed, 20, 6, 25, 2);
        tl_joint joint;
        assert_ok(p.ctx, tl_joint_create(p.ctx, &p.model, (tl_joint_for){true, true}, &joint));
        p.opt.tol = 0.0;
        p.opt.grad_tol = 1e-9;
        tl_run run = {.opt = &p.opt, .monitor = &p.monitor};
        tl_descend(&p.model, &joint, TL_JOINT_ALL, &run, 5000);
        double C = tl_model_values(&p.model).C;
        double *parts[] = {p.model.W, p.model.H};
        int64_t counts[] = {p.M * p.K, p.K * p.N};
        for (int part = 0; part < 2; part++)
            for (int64_t i = 0; i < counts[part]; i++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    double keep = parts[part][i], size = 1e-4 * largest(counts[part], parts[part]);
                    parts[part][i] = fmax(0.0, keep + sign * size);
                    assert_true(tl_model_values(&p.model).C >= C - 1e-7 * fabs(C));
                    parts[part][i] = keep;
                }
        tl_joint_free(&joint);
        destroy(&p);
    }
}

/* An entry of W next to zero that ought to be large comes back; an exact zero stays. */
static void zeros_come_back_unless_they_are_exact(void **state)
{
    (void)state;
    problem p;
    create(&p, 3, 20, 6, 25, 2);
    tl_joint joint;
    assert_ok(p.ctx, tl_joint_create(p.ctx, &p.model, (tl_joint_for){false, true}, &joint));
    tl_run run = {.opt = &p.opt, .monitor = &p.monitor};
    tl_descend(&p.model, &joint, TL_JOINT_FACTORS, &run, 2000);
    double C = tl_model_values(&p.model).C;
    int64_t big = 0;
    for (int64_t i = 0; i < p.M * p.K; i++)
        if (p.model.W[i] > p.model.W[big])
            big = i;
    p.model.W[big] = 1e-30;
    run = (tl_run){.opt = &p.opt, .monitor = &p.monitor};
    tl_descend(&p.model, &joint, TL_JOINT_FACTORS, &run, 2000);
    assert_near(tl_model_values(&p.model).C, C, 1e-6 * fabs(C));
    p.model.W[big] = 0.0;
    run = (tl_run){.opt = &p.opt, .monitor = &p.monitor};
    tl_descend(&p.model, &joint, TL_JOINT_FACTORS, &run, 2000);
    assert_true(p.model.W[big] == 0.0);
    tl_joint_free(&joint);
    destroy(&p);
}

/* Newton's steps end where the gradient is rounding, and lower than L-BFGS does, if by little. */
static void newton_finds_the_last_digits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 4; seed++) {
        problem p;
        create(&p, seed, 20, 8, 30, 3);
        p.opt.starts = 2;
        p.opt.hops = 0;
        p.opt.method = TL_METHOD_TL;
        p.opt.threads = 1;
        tl_info info[2];
        for (int newton = 0; newton < 2; newton++) {
            tl_result *result;
            p.opt.newton = newton;
            p.opt.tol = newton ? 0.0 : 1e-12;
            p.opt.grad_tol = newton ? 1e-11 : 1e-7;
            p.opt.J = 3000;
            assert_ok(p.ctx, tl_fit(p.ctx, p.data, &p.opt, NULL, NULL, NULL, &result));
            tl_result_describe(result, &info[newton]);
            tl_result_free(result);
        }
        assert_true(info[1].C <= info[0].C + 1e-12 * fabs(info[0].C));
        assert_near(info[1].C, info[0].C, 1e-4);
        assert_true(info[1].outcome == TLNMF_STATIONARY || info[1].outcome == TLNMF_LINE_SEARCH);
        assert_true(info[1].gradient_norm < 1e-8);
        destroy(&p);
    }
}

/* X and V are those of Phi, and U of what the run was over: as if computed afresh. */
static void assert_in_step(problem *p, bool over_L)
{
    int64_t MT = p->M * p->model.T, MN = p->M * p->N;
    double *X = new_doubles(MT), *U = new_doubles(MN);
    memcpy(X, p->model.X, (size_t)MT * sizeof *X);
    memcpy(U, p->model.U, (size_t)MN * sizeof *U);
    tl_model_refresh(&p->model);
    if (over_L)
        tl_model_weights_L(&p->model);
    else
        tl_model_weights_C(&p->model);
    assert_near(largest_difference(MT, X, p->model.X), 0.0, 1e-11 * largest(MT, X));
    assert_near(largest_difference(MN, U, p->model.U), 0.0, 1e-9 * largest(MN, U));
    free(X);
    free(U);
}

/* From anywhere, over any coordinates: each step lowers the objective, and leaves X, V and U in
 * step with the point. */
static void newton_steps_only_descend(void **state)
{
    (void)state;
    problem p;
    create(&p, 9, 15, 6, 20, 2);
    tl_joint joint;
    assert_ok(p.ctx, tl_joint_create(p.ctx, &p.model, (tl_joint_for){true, true}, &joint));
    tl_run run = {.opt = &p.opt, .monitor = &p.monitor};
    for (int over = TL_JOINT_ALL; over <= TL_JOINT_FACTORS; over++) {
        tl_joint_choose(&joint, &p.model, (tl_joint_over)over);
        double value = tl_joint_begin(&p.model, &joint), length;
        joint.newton.radius = 0.0;
        int steps = 0;
        for (; steps < 5; steps++) {
            double before = value;
            tl_joint_gradient(&p.model, &joint);
            tl_joint_metric(&p.model, &joint);
            if (!tl_newton_step(&p.model, &joint, &run, &value, &length))
                break;
            assert_true(value < before);
            assert_in_step(&p, over == TL_JOINT_PHI);
            assert_near(over == TL_JOINT_PHI ? tl_model_L(&p.model) : tl_model_C(&p.model), value,
                        1e-10 * fabs(value));
        }
        assert_int_equal(steps, 5);
        /* Uphill there is none: everything stays as it was. */
        for (int64_t i = 0; i < joint.size; i++)
            joint.gradient[i] = -joint.gradient[i];
        double before = value;
        assert_false(tl_newton_step(&p.model, &joint, &run, &value, &length));
        assert_true(value == before);
        assert_in_step(&p, over == TL_JOINT_PHI);
    }
    tl_joint_free(&joint);
    destroy(&p);
}

/* Where no step leads further, a run leaves V of the point that it is at. */
static void failed_searches_leave_no_trace(void **state)
{
    (void)state;
    for (int what = 0; what < 5; what++) {
        problem p;
        create(&p, 3, 6, 7, 15, 2);
        p.opt.tol = p.opt.grad_tol = 0.0;
        p.opt.J = 100000;
        p.opt.halvings = 1;
        tl_joint joint;
        assert_ok(p.ctx, tl_joint_create(p.ctx, &p.model, (tl_joint_for){true, false}, &joint));
        tl_run run = {.opt = &p.opt, .monitor = &p.monitor};
        if (what < 3)
            tl_descend(&p.model, &joint, (tl_joint_over)what, &run, p.opt.J);
        else if (what == 3)
            tl_paper_jd(&p.model, &run);
        else
            tl_paper_tl(&p.model, &run);
        assert_int_equal(run.outcome, TLNMF_LINE_SEARCH);
        double *V = new_doubles(p.M * p.N);
        memcpy(V, p.model.V, (size_t)(p.M * p.N) * sizeof *V);
        tl_model_refresh(&p.model);
        assert_near(largest_difference(p.M * p.N, V, p.model.V), 0.0,
                    1e-11 * largest(p.M * p.N, V));
        free(V);
        tl_joint_free(&joint);
        destroy(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lbfgs_solves_a_quadratic),
        cmocka_unit_test(the_joint_solver_ends_at_a_minimum),
        cmocka_unit_test(zeros_come_back_unless_they_are_exact),
        cmocka_unit_test(newton_finds_the_last_digits),
        cmocka_unit_test(newton_steps_only_descend),
        cmocka_unit_test(failed_searches_leave_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
