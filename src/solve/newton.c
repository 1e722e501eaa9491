/* Trust-region Newton steps: solve the quadratic model, try the step, adapt the region. */
#include "solve/newton.h"

#include <math.h>

/* Conjugate gradients until the residual is small enough for superlinear convergence, or the edge
 * of the region is reached. Returns the change of the objective that the model predicts (negative).
 * Each iteration tests for interruptions, since a step may take seconds. */
static double solve_model(tl_engine *e, const tl_newton *newton, tl_run *run)
{
    enum { MOST = 200 }; /* this and the constants below: docs/benchmarks.md, "Constants" */
    tl_cg cg = tl_engine_cg(e, true, newton->radius);
    double fall = 0.0;
    double enough = fmin(0.25, sqrt(sqrt(cg.rr / ((double)e->M * e->frames)))) * sqrt(cg.rr);
    for (int i = 0; i < MOST && !cg.at_edge && sqrt(cg.rr) > enough &&
                    !tl_run_interrupted(e, run, newton->stage);
         i++) {
        cg = tl_engine_cg(e, false, newton->radius);
        fall += cg.fall;
    }
    return fall;
}

/* Tries the step. True, with the new value, if the objective falls. The region grows or shrinks
 * with the quality of the model's prediction, by the thresholds of textbooks (Nocedal and Wright,
 * Numerical Optimization, Algorithm 4.1). */
static bool try_step(tl_engine *e, tl_newton *newton, double fall, double *value, double *length)
{
    *length = tl_engine_aim(e, TL_NEWTON).norm;
    double now = tl_engine_try(e, 1.0);
    double ratio = fall < 0.0 ? (now - *value) / fall : 0.0;
    if (!(ratio > 0.25))
        newton->radius = 0.25 * *length;
    else if (ratio > 0.75 && *length > 0.9 * newton->radius)
        newton->radius *= 2.0;
    if (!(ratio > 1e-4 && now < *value))
        return false;
    *value = now;
    tl_engine_take(e, 1.0);
    return true;
}

bool tl_newton_step(tl_engine *e, tl_newton *newton, tl_run *run, double *value, double *length)
{
    enum { MOST = 5 };
    if (newton->radius ==
        0.0) /* ten times the gradient in the metric: long enough to hinder none */
        newton->radius = 10.0 * sqrt(tl_engine_cg(e, true, 0.0).rr);
    for (int i = 0; i < MOST && newton->radius > 0.0; i++) {
        double fall = solve_model(e, newton, run);
        if (tl_run_interrupted(e, run, newton->stage))
            break;
        if (try_step(e, newton, fall, value, length))
            return true;
    }
    newton->radius = 0.0;
    tl_engine_take(e, 0.0);
    return false;
}
