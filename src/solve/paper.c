/* The paper's solvers, Algorithms 1 to 3, to the letter. */
#include "solve/linesearch.h"
#include "solve/solver.h"

#include <math.h>

/* ---- TL-NMF ---------------------------------------------------------------------------------- */

/* C along exp(aE) Phi at fixed W, H. */
static double C_along(void *self, double a)
{
    return tl_engine_try(self, a);
}

static double slope_along(void *self, double a)
{
    (void)a;
    return tl_engine_slope(self);
}

static bool stops_along(void *self)
{
    return tl_poll(((tl_engine *)self)->monitor);
}

/* One quasi-Newton step on C over Phi (10), (11). False if the line search finds none along a
 * descent direction. */
static bool step_C(tl_engine *e, double *step)
{
    tl_aim aim = tl_engine_aim(e, TL_QUASI_NEWTON_C);
    if (aim.slope == 0.0) { /* E = 0: Phi does not move, but W and H may */
        *step = 0.0;
        return true;
    }
    bool found =
        tl_wolfe(&(tl_line){C_along, slope_along, e, stops_along}, aim.value, aim.slope, step);
    tl_engine_take(e, found ? *step : 0.0);
    return found;
}

static bool updates(tl_engine *e, tl_run *run)
{
    double since = tl_wall_seconds();
    bool go_on = true;
    for (int64_t i = 0; i < run->opt->J_nmf && go_on; i++) {
        tl_engine_update(e, TL_W | TL_H, 1);
        go_on = !tl_run_interrupted(e, run);
    }
    run->nmf_seconds += tl_wall_seconds() - since;
    return go_on;
}

/* J_tl transform steps on C. False, with the outcome set, if the run must end. */
static bool transform_C(tl_engine *e, tl_run *run, double *step)
{
    double since = tl_wall_seconds();
    bool go_on = true;
    for (int64_t i = 0; i < run->opt->J_tl && go_on; i++) {
        go_on = step_C(e, step);
        if (!go_on && !tl_run_stopped(e, run))
            run->outcome = TLNMF_OUTCOME_LINE_SEARCH;
        else if (go_on)
            go_on = !tl_run_interrupted(e, run);
    }
    run->transform_seconds += tl_wall_seconds() - since;
    return go_on;
}

void tl_paper_tl(tl_engine *e, tl_run *run)
{
    int64_t J = run->opt->J;
    double C = tl_engine_values(e, TL_C).C;
    tl_run_begin(run, TL_STAGE_TL, J);
    run->outcome = TLNMF_OUTCOME_ITERATIONS;
    for (int64_t j = run->iterations + 1; j <= J; j++) {
        double before = C, step = NAN;
        if (!updates(e, run)) /* (7)-(9)     */
            break;
        bool go_on = transform_C(e, run, &step); /* (10), (11)  */
        tl_values v = tl_engine_values(e, run->trace_capacity > 0 ? TL_C | TL_L | TL_I : TL_C);
        C = v.C;
        run->iterations = j;
        double norm = tl_traced_gradient(e, run, TL_C);
        tl_run_record(
            run, (tl_trace_row){TL_STAGE_TL, j, C, v.L, v.I, step, norm, .start = run->start}, J);
        if (!go_on || tl_run_interrupted(e, run))
            break;
        if (tl_run_settled(run, before, C)) {
            run->outcome = TLNMF_OUTCOME_CONVERGED;
            break;
        }
    }
}

/* ---- JD -------------------------------------------------------------------------------------- */

/* Halves the step from 1 until L falls below its value; false if it never does. */
static bool halve(tl_engine *e, int64_t most, double *L, double *step)
{
    *step = 1.0;
    for (int64_t i = 0; i < most; i++, *step *= 0.5) {
        double L_new = tl_engine_try(e, *step);
        if (L_new < *L) {
            *L = L_new;
            tl_engine_take(e, *step);
            return true;
        }
        if (tl_poll(e->monitor))
            break;
    }
    tl_engine_take(e, 0.0);
    return false;
}

/* One quasi-Newton step on L over Phi (10), (12). False, with the outcome set, if no step is found.
 */
static bool step_L(tl_engine *e, tl_run *run, double *L, double *step)
{
    if (tl_engine_aim(e, TL_QUASI_NEWTON_L).norm <= run->opt->grad_tol) {
        run->outcome = TLNMF_OUTCOME_STATIONARY;
        return false;
    }
    if (!halve(e, run->opt->halvings, L, step)) {
        if (!tl_run_stopped(e, run))
            run->outcome = TLNMF_OUTCOME_LINE_SEARCH;
        return false;
    }
    return true;
}

void tl_paper_jd(tl_engine *e, tl_run *run)
{
    double since = tl_wall_seconds(), L = tl_engine_values(e, TL_L).L, step = NAN;
    int64_t steps = run->opt->J * run->opt->J_tl;
    tl_run_begin(run, TL_STAGE_JD, steps);
    run->outcome = TLNMF_OUTCOME_ITERATIONS;
    for (int64_t j = run->iterations + 1; j <= steps && step_L(e, run, &L, &step); j++) {
        run->iterations = j;
        double norm = tl_traced_gradient(e, run, TL_L);
        tl_run_record(run,
                      (tl_trace_row){TL_STAGE_JD, j, NAN, L, NAN, step, norm, .start = run->start},
                      steps);
        if (tl_run_interrupted(e, run))
            break;
    }
    run->transform_seconds += tl_wall_seconds() - since;
}

/* ---- NMF ------------------------------------------------------------------------------------- */

void tl_paper_nmf(tl_engine *e, tl_run *run)
{
    int64_t J = run->opt->J;
    double L = tl_engine_values(e, TL_L).L, C = INFINITY;
    tl_run_begin(run, TL_STAGE_NMF, J);
    for (int64_t j = run->iterations + 1; j <= J; j++) {
        double before = C;
        bool go_on = updates(e, run); /* (7)-(9) */
        tl_values v = tl_engine_values(e, TL_C | TL_I);
        C = v.C;
        run->iterations = j;
        tl_run_record(run,
                      (tl_trace_row){TL_STAGE_NMF, j, C, L, v.I, NAN, NAN, .start = run->start}, J);
        if (!go_on)
            break;
        bool settled = j > 1 && tl_run_settled(run, before, C);
        run->outcome = settled ? TLNMF_OUTCOME_CONVERGED : TLNMF_OUTCOME_ITERATIONS;
        if (settled && !run->to_the_end)
            break;
    }
}

const tl_solver tl_paper = {tl_paper_tl, tl_paper_jd, tl_paper_nmf};
