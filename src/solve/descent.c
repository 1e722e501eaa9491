#include "solve/descent.h"
#include "solve/newton.h"

#include <math.h>
#include <string.h>

/* The metric is renewed every so often: it changes slowly, and Gamma costs a product. The objective
 * has settled when it changed by less than tol CALM times running. */
enum { RENEW = 5, CALM = 3, MOST_HALVINGS = 30, MOST_REVIVALS = 5 };

/* Whether the objective has changed by less than tol. Its natural size is some ten nats an entry of
 * V: its own value would do as a measure, but that depends on the units of the data. */
static bool has_settled(const tl_model *model, const tl_run *run, double before, double now)
{
    return fabs(before - now) < 10.0 * run->opt->tol * (double)model->M * (double)model->N;
}

/* sqrt(g' D^-1 g / MN) */
static double scaled_norm(const tl_model *model, const tl_joint *joint)
{
    double sum = 0.0;
    for (int64_t i = 0; i < joint->size; i++)
        sum += joint->gradient[i] * joint->gradient[i] / joint->metric[i];
    return sqrt(sum / ((double)model->M * (double)model->N));
}

/* ---- a step of L-BFGS -------------------------------------------------------------------------
 */

/* Halves the step until the objective falls enough (Armijo); 0 if it never does. The first one
 * turns no plane by more than a radian. */
static double backtrack(tl_model *model, tl_joint *joint, double slope, double *value)
{
    double a = joint->triangle > 0 ? fmin(1.0, 1.0 / model->skew.norm) : 1.0;
    for (int i = 0; i < MOST_HALVINGS; i++, a *= 0.5) {
        double now = tl_joint_value(model, joint, a);
        if (now <= *value + 1e-4 * a * slope && now < *value) {
            *value = now;
            return a;
        }
    }
    return 0.0;
}

/* One step; false when even the plain preconditioned gradient leads nowhere. */
static bool step(tl_model *model, tl_joint *joint, double *value, double *a)
{
    for (;;) {
        double slope =
            tl_lbfgs_direction(&joint->lbfgs, joint->gradient, joint->metric, joint->direction);
        tl_joint_aim(model, joint);
        *a = slope < 0.0 ? backtrack(model, joint, slope, value) : 0.0;
        if (*a > 0.0)
            break;
        if (joint->lbfgs.count == 0) {
            tl_joint_restore(model, joint);
            return false;
        }
        tl_lbfgs_forget(&joint->lbfgs);
    }
    tl_joint_accept(model, joint, *a);
    tl_lbfgs_step(&joint->lbfgs, *a, joint->direction);
    double *before = joint->gradient;
    joint->gradient = joint->direction; /* its room */
    joint->direction = before;
    tl_joint_gradient(model, joint);
    tl_lbfgs_learn(&joint->lbfgs, before, joint->gradient, joint->metric);
    return true;
}

/* ---- zeros ----------------------------------------------------------------------------------- */

/* P = 0 has no gradient even where W would like to grow: dC/dP = 2 P dC/dW. Entries that have come
 * close to 0 while dC/dW is negative are set to `part` of half a Newton step. Exact zeros are the
 * caller's and stay. Returns how many there are. */
static int64_t revive_entries(int64_t count, const double *gradient, const double *expected,
                              const double *x, const double *root, double unit, double part,
                              double *out)
{
    int64_t revived = 0;
    for (int64_t i = 0; i < count; i++) {
        out[i] = x[i];
        if (root[i] == 0.0 || !(expected[i] > 0.0))
            continue;
        double slope = gradient[i] / (2.0 * unit * root[i]); /* dC/dx */
        double better = -0.5 * part * (slope * unit * unit) / expected[i] * unit * unit;
        if (better > 10.0 * x[i]) {
            out[i] = better;
            revived++;
        }
    }
    return revived;
}

/* One factor at a time, less and less of it until C falls by more than tol; false, with W and
 * H as they were, if it does not. `expected` holds the expected curvature of W and of H. */
static bool revive_factor(tl_model *model, tl_joint *joint, const tl_run *run, bool is_W)
{
    int64_t M = model->M, N = model->N, K = model->K, count = is_W ? M * K : K * N;
    int64_t first = is_W ? 0 : M * K;
    double *x = is_W ? model->W : model->H, *out = is_W ? joint->W_new : joint->H_new;
    const double *root = is_W ? joint->P : joint->Q;
    const double *g = joint->gradient + joint->triangle + first, *expected = joint->mu + first;
    tl_model_weights_C(model);
    double C = tl_model_C(model), part = 1.0;
    for (int i = 0; i < 5; i++, part *= 0.25) {
        if (revive_entries(count, g, expected, x, root, is_W ? 1.0 : joint->unit, part, out) == 0)
            return false;
        tl_weights(M, N, K, is_W ? out : model->W, is_W ? model->H : out, model->eps, model->U);
        double now = tl_model_C(model);
        if (now < C && !has_settled(model, run, C, now)) {
            memcpy(x, out, (size_t)count * sizeof *x);
            return true;
        }
    }
    return false;
}

/* True if something was revived, to the good: W or H is then the new one, and C lower. */
static bool revive(tl_model *model, tl_joint *joint, const tl_run *run)
{
    if (joint->over == TL_JOINT_PHI)
        return false;
    tl_joint_curvature(model, joint, joint->mu);
    return revive_factor(model, joint, run, true) || revive_factor(model, joint, run, false);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static const tl_stage stages[] = {TL_STAGE_TL, TL_STAGE_JD, TL_STAGE_NMF};

static void record(tl_model *model, const tl_joint *joint, tl_run *run, int64_t last, double value,
                   double a)
{
    tl_trace_row row = {stages[joint->over], run->iterations, NAN, NAN, NAN, a};
    if (joint->over == TL_JOINT_PHI) {
        row.L = value;
    } else {
        row.C = value;
        if (run->trace_room > 0) {
            row.L = tl_model_L(model);
            row.I = tl_model_I(model);
        }
    }
    tl_run_record(run, &row, last);
}

/* Whether Newton's steps are asked for, and close enough to a minimum to be good. */
static bool is_near(const tl_model *model, const tl_joint *joint, const tl_run *run)
{
    const double near = 1e-3;
    return run->newton && scaled_norm(model, joint) <= near;
}

static bool newton_step(tl_model *model, tl_joint *joint, tl_run *run, double *value, double *a)
{
    tl_joint_metric(model, joint);
    if (!tl_newton_step(model, joint, run, value, a))
        return false;
    tl_lbfgs_forget(&joint->lbfgs);
    return true;
}

static void descend(tl_model *model, tl_joint *joint, tl_run *run, int64_t last)
{
    double value = tl_joint_begin(model, joint), a;
    int calm = 0;
    tl_lbfgs_forget(&joint->lbfgs);
    joint->newton.radius = 0.0;
    tl_joint_gradient(model, joint);
    run->outcome = TLNMF_ITERATIONS;
    for (int i = 0; run->iterations < last; i++) {
        if (i % RENEW == 0)
            tl_joint_metric(model, joint);
        if (scaled_norm(model, joint) <= run->opt->grad_tol) {
            run->outcome = TLNMF_STATIONARY;
            break;
        }
        double before = value;
        bool moved = is_near(model, joint, run) && newton_step(model, joint, run, &value, &a);
        if (!moved && !step(model, joint, &value, &a)) {
            run->outcome = TLNMF_LINE_SEARCH;
            break;
        }
        run->iterations++;
        record(model, joint, run, last, value, a);
        if (tl_run_interrupted(run, stages[joint->over]))
            break;
        calm = has_settled(model, run, before, value) ? calm + 1 : 0;
        if (calm == CALM) {
            run->outcome = TLNMF_CONVERGED;
            break;
        }
    }
}

static bool was_stopped(const tl_run *run)
{
    return run->outcome == TLNMF_CANCELLED || run->outcome == TLNMF_TIME;
}

void tl_descend(tl_model *model, tl_joint *joint, tl_joint_over over, tl_run *run, int64_t last)
{
    double since = tl_wall_seconds();
    tl_joint_choose(joint, model, over);
    descend(model, joint, run, last);
    for (int i = 0; i < MOST_REVIVALS && run->iterations < last && !was_stopped(run) &&
                    revive(model, joint, run);
         i++)
        descend(model, joint, run, last);
    if (joint->entries > 0)
        tl_normalise(model->M, model->N, model->K, model->W, model->H);
    double spent = tl_wall_seconds() - since;
    if (joint->over == TL_JOINT_FACTORS)
        run->nmf_seconds += spent;
    else
        run->transform_seconds += spent;
}
