/* Descents over some of Phi, W, H: L-BFGS, the revival of zeros, and the point after a failed
 * search. */
#include "unit/solve/fast_problem.h"

/* The end of a run is a minimum: changing any entry of W or H or any angle of Phi does not lower C.
 */
static void the_joint_solver_ends_at_a_minimum(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        problem p;
        create(&p, seed, 20, 6, 25, 2);
        p.opt.tol = 0.0;
        p.opt.grad_tol = 1e-9;
        descend(&p, TL_ALL, 5000);
        look(&p);
        double C = C_of(&p), *parts[] = {p.W, p.H};
        int64_t counts[] = {p.M * p.K, p.K * p.N};
        for (int part = 0; part < 2; part++)
            for (int64_t i = 0; i < counts[part]; i++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    double keep = parts[part][i], size = 1e-4 * largest(counts[part], parts[part]);
                    parts[part][i] = fmax(0.0, keep + sign * size);
                    tl_engine_load(p.e, NULL, p.W, p.H);
                    assert_true(C_of(&p) >= C - 1e-7 * fabs(C));
                    parts[part][i] = keep;
                }
        for (int64_t a = 0; a < p.M; a++)
            for (int64_t b = 0; b < a; b++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    double c = cos(1e-3), s = sign * sin(1e-3), *Phi = new_doubles(p.M * p.M);
                    memcpy(Phi, p.Phi, (size_t)(p.M * p.M) * sizeof *Phi);
                    for (int64_t m = 0; m < p.M; m++) {
                        Phi[a * p.M + m] = c * p.Phi[a * p.M + m] + s * p.Phi[b * p.M + m];
                        Phi[b * p.M + m] = c * p.Phi[b * p.M + m] - s * p.Phi[a * p.M + m];
                    }
                    tl_engine_load(p.e, Phi, p.W, p.H);
                    assert_true(C_of(&p) >= C - 1e-7 * fabs(C));
                    free(Phi);
                }
        destroy(&p);
    }
}

/* An entry of W close to zero that should be large grows again; an exact zero stays. */
static void small_entries_are_revived_but_zeros_are_not(void **state)
{
    (void)state;
    problem p;
    create(&p, 3, 20, 6, 25, 2);
    descend(&p, TL_W | TL_H, 2000);
    double C = C_of(&p);
    int64_t big = 0;
    look(&p);
    for (int64_t i = 0; i < p.M * p.K; i++)
        if (p.W[i] > p.W[big])
            big = i;
    p.W[big] = 1e-30;
    tl_engine_load(p.e, NULL, p.W, NULL);
    descend(&p, TL_W | TL_H, 2000);
    assert_near(C_of(&p), C, 1e-6 * fabs(C));
    look(&p);
    p.W[big] = 0.0;
    tl_engine_load(p.e, NULL, p.W, NULL);
    descend(&p, TL_W | TL_H, 2000);
    look(&p);
    assert_true(p.W[big] == 0.0);
    destroy(&p);
}

/* The values of the point are the same after Phi, W and H are loaded again. */
static void assert_in_step(problem *p)
{
    tl_values before = tl_engine_values(p->e, TL_C | TL_L | TL_I);
    look(p);
    tl_engine_load(p->e, p->Phi, p->W, p->H);
    tl_values after = tl_engine_values(p->e, TL_C | TL_L | TL_I);
    assert_near(before.C, after.C, 1e-11 * fabs(after.C));
    assert_near(before.L, after.L, 1e-11 * fabs(after.L));
    assert_near(before.I, after.I, 1e-11 * fabs(after.C));
}

/* If no step is found, V is still that of the current point. */
static void failed_searches_restore_the_point(void **state)
{
    (void)state;
    static const unsigned parts[] = {TL_ALL, TL_PHI, TL_W | TL_H, TL_H};
    for (int what = 0; what < 6; what++) {
        problem p;
        create(&p, 3, 6, 7, 15, 2);
        p.opt.tol = p.opt.grad_tol = 0.0;
        p.opt.J = 100000;
        p.opt.halvings = 1;
        tl_run run = {.opt = &p.opt, .monitor = p.ctx->monitor};
        if (what < 4)
            run.outcome = descend(&p, parts[what], p.opt.J);
        else if (what == 4)
            tl_paper_jd(p.e, &run);
        else
            tl_paper_tl(p.e, &run);
        assert_int_equal(run.outcome, TLNMF_OUTCOME_LINE_SEARCH);
        assert_in_step(&p);
        destroy(&p);
    }
}

/* From the Phi and W of a finished fit and any H, a descent over H returns to the H of the fit. */
static void activations_are_found_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 4; seed++) {
        problem p;
        create(&p, seed, 20, 8, 30, 3);
        p.opt.tol = 0.0;
        p.opt.grad_tol = 1e-10;
        p.opt.J = 20000;
        tl_run run = {.opt = &p.opt, .monitor = p.ctx->monitor, .roams = true};
        tl_fast_tl(p.e, &run);
        look(&p);
        double C = C_of(&p), scale = largest(p.K * p.N, p.H);
        double *H = new_doubles(p.K * p.N), *W = new_doubles(p.M * p.K);
        for (int64_t i = 0; i < p.K * p.N; i++)
            H[i] = 0.5 * scale * (1.0 + (double)(i % 3));
        tl_engine_load(p.e, NULL, NULL, H);
        run = (tl_run){.opt = &p.opt, .monitor = p.ctx->monitor};
        tl_fast_activations(p.e, &run);
        tl_engine_store(p.e, NULL, W, H);
        assert_true(run.outcome == TLNMF_OUTCOME_STATIONARY ||
                    run.outcome == TLNMF_OUTCOME_LINE_SEARCH);
        assert_near(largest_difference(p.M * p.K, W, p.W), 0.0, 0.0); /* unchanged */
        assert_near(C_of(&p), C, 1e-9 * fabs(C));
        assert_near(largest_difference(p.K * p.N, H, p.H), 0.0, 1e-4 * scale);
        free(H);
        free(W);
        destroy(&p);
    }
}

/* ---- an engine that only counts ----------------------------------------------------------------
 */

/* Steps over 0.6 are refused; shorter ones lower the value by their length. */
typedef struct counting {
    tl_engine is; /* first */
    double value;
    int sweeps, tries;
} counting;

static void count_update(tl_engine *e, unsigned parts, int64_t count)
{
    (void)e, (void)parts, (void)count;
}

static double count_sweep(tl_engine *e, unsigned of, double floor, double least)
{
    (void)of, (void)floor, (void)least;
    ((counting *)e)->sweeps++;
    return 0.0;
}

static tl_values count_values(tl_engine *e, unsigned which)
{
    (void)which;
    return (tl_values){.C = ((counting *)e)->value};
}

static double count_begin(tl_engine *e, unsigned over)
{
    (void)over;
    return ((counting *)e)->value;
}

static double count_norm(tl_engine *e, bool renew)
{
    (void)e, (void)renew;
    return 1.0;
}

static tl_aim count_aim(tl_engine *e, tl_direction how)
{
    (void)e, (void)how;
    return (tl_aim){.slope = -1.0, .first = 1.0};
}

static double count_try(tl_engine *e, double a)
{
    counting *self = (counting *)e;
    self->tries++;
    return self->value + (a > 0.6 ? 1.0 : -a);
}

static void count_take(tl_engine *e, double a)
{
    ((counting *)e)->value -= a;
}

static bool count_revive(tl_engine *e, double least)
{
    (void)e, (void)least;
    return false;
}

static void count_project(tl_engine *e, unsigned parts)
{
    (void)e, (void)parts;
}

/* With many rows a run has three sweeps. After a refused step, first steps are shorter until three
 * iterations have had no refusal: five steps are tried in four iterations instead of eight. */
static void many_rows_mean_few_sweeps_and_refusals(void **state)
{
    (void)state;
    enum { J = 35 };
    const tl_engine_ops ops = {.update = count_update,
                               .sweep = count_sweep,
                               .values = count_values,
                               .begin = count_begin,
                               .norm = count_norm,
                               .aim = count_aim,
                               .try = count_try,
                               .take = count_take,
                               .revive = count_revive,
                               .project = count_project};
    const tl_settings opt = {.J = J};
    const struct {
        int64_t M;
        int sweeps, tries;
    } cases[] = {{1023, 15, 2 * (J - 15)}, {1024, 3, 5 * (J - 3) / 4}};
    for (int i = 0; i < 2; i++) {
        counting e = {.is = {.ops = &ops, .M = cases[i].M, .N = 1, .K = 1, .frames = 1.0}};
        tl_run run = {.opt = &opt};
        tl_fast_tl(&e.is, &run);
        assert_int_equal(run.iterations, J);
        assert_int_equal(e.sweeps, cases[i].sweeps);
        assert_int_equal(e.tries, cases[i].tries);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_joint_solver_ends_at_a_minimum),
        cmocka_unit_test(small_entries_are_revived_but_zeros_are_not),
        cmocka_unit_test(failed_searches_restore_the_point),
        cmocka_unit_test(activations_are_found_again),
        cmocka_unit_test(many_rows_mean_few_sweeps_and_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
