/* Descents: the loop, a step of L-BFGS, the tests that end it. */
#include "solve/descent.h"
#include "solve/newton.h"
#include "solve/solver.h"

#include <math.h>

/* The metric is recomputed every RENEW iterations: it changes slowly, and Gamma costs a product. */
enum { RENEW = 5, CALM = 3, HALVINGS = 30, MOST_REVIVALS = 5 };

tl_descent tl_descent_of(const tl_engine *e, const tl_settings *opt, unsigned over, int64_t last)
{
    /* The change of the objective is compared with ten nats per entry of V, its typical size. Its
     * own value would depend on the units of the data. */
    return (tl_descent){.over = over,
                        .last = last,
                        .grad_tol = opt->grad_tol,
                        .least = 10.0 * opt->tol * (double)e->M * e->frames,
                        .calm = CALM,
                        .halvings = HALVINGS,
                        .must_fall = true};
}

static bool has_settled(const tl_descent *how, double before, double now)
{
    return fabs(before - now) < how->least + how->relative * fabs(now);
}

/* Halves the step until the objective falls enough (Armijo). Returns 0 if it never does. */
static double backtrack(tl_engine *e, const tl_descent *how, tl_aim aim, double *value)
{
    double a = aim.first;
    for (int i = 0; i < how->halvings; i++, a *= 0.5) {
        double now = tl_engine_try(e, a);
        if (now <= *value + 1e-4 * a * aim.slope && (now < *value || !how->must_fall)) {
            *value = now;
            return a;
        }
    }
    return 0.0;
}

/* One step of L-BFGS; if that fails, one along the gradient in the metric. False, with the point
 * unchanged, if both fail. */
static bool step(tl_engine *e, const tl_descent *how, double *value, double *a)
{
    tl_aim aim = tl_engine_aim(e, TL_LBFGS);
    *a = aim.slope < 0.0 ? backtrack(e, how, aim, value) : 0.0;
    if (*a == 0.0 && aim.pairs > 0) {
        aim = tl_engine_aim(e, TL_GRADIENT);
        *a = aim.slope < 0.0 ? backtrack(e, how, aim, value) : 0.0;
    }
    tl_engine_take(e, *a);
    return *a > 0.0;
}

static tl_stage stage_of(unsigned over)
{
    if (over == TL_PHI)
        return TL_STAGE_JD;
    return over & TL_PHI ? TL_STAGE_TL : TL_STAGE_NMF;
}

static void record(tl_engine *e, const tl_descent *how, tl_run *run, double value, double a)
{
    tl_iteration row = {stage_of(how->over), run->iterations, NAN, NAN, NAN, a, NAN};
    if (how->over & TL_PHI)
        row.gradient = tl_traced_gradient(e, run, how->over == TL_PHI ? TL_L : TL_C);
    if (how->over == TL_PHI) {
        row.L = value;
    } else {
        row.C = value;
        if (run->trace_capacity > 0) {
            tl_values v = tl_engine_values(e, TL_L | TL_I);
            row.L = v.L;
            row.I = v.I;
        }
    }
    tl_run_record(run, &row, how->last);
}

/* A Newton step, if asked for and if the minimum is close enough. */
static bool newton_step(tl_engine *e, tl_newton *newton, tl_run *run, double norm, double *value,
                        double *a)
{
    const double near = 1e-3;
    if (!run->newton || !(norm <= near))
        return false;
    tl_engine_norm(e, true);
    return tl_newton_step(e, newton, run, value, a);
}

static double descend(tl_engine *e, const tl_descent *how, tl_run *run)
{
    double value = tl_engine_begin(e, how->over), a;
    tl_newton newton = {.stage = stage_of(how->over)};
    int calm = 0;
    run->outcome = TLNMF_ITERATIONS;
    for (int i = 0; run->iterations < how->last; i++) {
        double norm = tl_engine_norm(e, i % RENEW == 0), before = value;
        if (norm <= how->grad_tol) {
            run->outcome = TLNMF_STATIONARY;
            break;
        }
        if (!newton_step(e, &newton, run, norm, &value, &a) && !step(e, how, &value, &a)) {
            run->outcome = TLNMF_LINE_SEARCH;
            break;
        }
        run->iterations++;
        record(e, how, run, value, a);
        if (tl_run_interrupted(run, newton.stage))
            break;
        calm = has_settled(how, before, value) ? calm + 1 : 0;
        if (calm == how->calm) {
            run->outcome = TLNMF_CONVERGED;
            break;
        }
    }
    return value;
}

static bool was_stopped(const tl_run *run)
{
    return run->outcome == TLNMF_CANCELLED || run->outcome == TLNMF_TIME;
}

double tl_descend(tl_engine *e, const tl_descent *how, tl_run *run)
{
    double since = tl_wall_seconds(), value = descend(e, how, run);
    for (int i = 0; i < MOST_REVIVALS && run->iterations < how->last && !was_stopped(run) &&
                    tl_engine_revive(e, how->least);
         i++)
        value = descend(e, how, run);
    if (how->over & TL_W)
        tl_engine_project(e, TL_W); /* (9) */
    double spent = tl_wall_seconds() - since;
    if (how->over & TL_PHI)
        run->transform_seconds += spent;
    else
        run->nmf_seconds += spent;
    return value;
}
