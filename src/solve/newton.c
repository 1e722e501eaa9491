#include "solve/newton.h"
#include "solve/joint.h"

#include <math.h>

void tl_newton_slots(tl_newton *newton, int64_t size, int64_t MK, int64_t KN,
                     tl_slot slots[TL_NEWTON_SLOTS])
{
    const tl_slot parts[] = {TL_SLOT(newton->step, size), TL_SLOT(newton->residual, size),
                             TL_SLOT(newton->d, size),    TL_SLOT(newton->Hd, size),
                             TL_SLOT(newton->P, MK),      TL_SLOT(newton->Q, KN),
                             TL_SLOT(newton->W, MK),      TL_SLOT(newton->H, KN)};
    memcpy(slots, parts, sizeof parts);
    newton->radius = 0.0;
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* a' D b, and below a' D^-1 b */
static double metric_dot(int64_t n, const double *D, const double *a, const double *b)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * D[i] * b[i];
    return sum;
}

static double inverse_dot(int64_t n, const double *D, const double *a, const double *b)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i] / D[i];
    return sum;
}

static void add(int64_t n, double c, const double *a, double *b)
{
    for (int64_t i = 0; i < n; i++)
        b[i] += c * a[i];
}

static void keep_point(const tl_model *model, const tl_joint *joint, tl_newton *newton)
{
    int64_t MK = model->M * model->K, KN = model->K * model->N;
    tl_copy(newton->P, joint->P, MK);
    tl_copy(newton->Q, joint->Q, KN);
    tl_copy(newton->W, model->W, MK);
    tl_copy(newton->H, model->H, KN);
}

/* Back to the point kept; X, V and U stay those of the step. */
static void return_to_point(tl_model *model, tl_joint *joint, const tl_newton *newton)
{
    int64_t MK = model->M * model->K, KN = model->K * model->N;
    if (joint->triangle > 0)
        tl_model_accept(model); /* the step before is the one that was left */
    tl_copy(joint->P, newton->P, MK);
    tl_copy(joint->Q, newton->Q, KN);
    tl_copy(model->W, newton->W, MK);
    tl_copy(model->H, newton->H, KN);
}

/* Hd = (g(x + h d) - g(x)) / h. Coordinates are about 1 in size. */
static void hessian_times(tl_model *model, tl_joint *joint, tl_newton *newton)
{
    int64_t n = joint->size;
    double *before = joint->gradient;
    double h = 1e-7 * sqrt((double)n / dot(n, newton->d, newton->d));
    tl_copy(joint->direction, newton->d, n);
    tl_joint_aim(model, joint);
    tl_joint_value(model, joint, h);
    tl_joint_accept(model, joint, h);
    joint->gradient = newton->Hd;
    tl_joint_gradient(model, joint);
    joint->gradient = before;
    return_to_point(model, joint, newton);
    for (int64_t i = 0; i < n; i++)
        newton->Hd[i] = (newton->Hd[i] - before[i]) / h;
}

/* How far from `step` along d the edge of the region is: |step + t d|_D = radius. */
static double to_the_edge(int64_t n, const double *D, const tl_newton *newton)
{
    double dd = metric_dot(n, D, newton->d, newton->d);
    double sd = metric_dot(n, D, newton->step, newton->d);
    double ss = metric_dot(n, D, newton->step, newton->step);
    double root = sqrt(fmax(sd * sd + dd * (newton->radius * newton->radius - ss), 0.0));
    return (root - sd) / dd;
}

/* Asked often, since a step may take seconds. */
static bool stopped(const tl_joint *joint, tl_run *run)
{
    return tl_run_interrupted(run, joint->over == TL_JOINT_PHI ? TL_STAGE_JD : TL_STAGE_TL);
}

/* Steihaug's conjugate gradients: `step` lowers g's + s'Hs/2 inside the region. Returns by how much
 * the model says that the objective falls (negative). */
static double solve_model(tl_model *model, tl_joint *joint, tl_newton *newton, tl_run *run)
{
    enum { MOST = 200 };
    int64_t n = joint->size;
    const double *D = joint->metric;
    double rr = inverse_dot(n, D, joint->gradient, joint->gradient), fall = 0.0;
    double enough = fmin(0.25, sqrt(sqrt(rr / (double)(model->M * model->N)))) * sqrt(rr);
    tl_copy(newton->residual, joint->gradient, n);
    for (int64_t i = 0; i < n; i++) {
        newton->step[i] = 0.0;
        newton->d[i] = -joint->gradient[i] / D[i];
    }
    for (int it = 0; it < MOST && sqrt(rr) > enough && !stopped(joint, run); it++) {
        hessian_times(model, joint, newton);
        double curvature = dot(n, newton->d, newton->Hd),
               along = dot(n, newton->residual, newton->d);
        double edge = to_the_edge(n, D, newton);
        double a = curvature > 0.0 ? fmin(rr / curvature, edge) : edge;
        fall += a * along + 0.5 * a * a * curvature;
        add(n, a, newton->d, newton->step);
        add(n, a, newton->Hd, newton->residual);
        if (a == edge)
            break;
        double next = inverse_dot(n, D, newton->residual, newton->residual);
        for (int64_t i = 0; i < n; i++)
            newton->d[i] = -newton->residual[i] / D[i] + next / rr * newton->d[i];
        rr = next;
    }
    return fall;
}

/* Tries the step; true and the new value if the objective falls. The region grows or shrinks by how
 * well the model foretold it. */
static bool try_step(tl_model *model, tl_joint *joint, tl_newton *newton, double fall,
                     double *value, double *length)
{
    int64_t n = joint->size;
    tl_copy(joint->direction, newton->step, n);
    tl_joint_aim(model, joint);
    double now = tl_joint_value(model, joint, 1.0);
    double ratio = fall < 0.0 ? (now - *value) / fall : 0.0;
    *length = sqrt(metric_dot(n, joint->metric, newton->step, newton->step));
    if (!(ratio > 0.25))
        newton->radius = 0.25 * *length;
    else if (ratio > 0.75 && *length > 0.9 * newton->radius)
        newton->radius *= 2.0;
    if (!(ratio > 1e-4 && now < *value))
        return false;
    *value = now;
    tl_joint_accept(model, joint, 1.0);
    tl_joint_gradient(model, joint);
    return true;
}

bool tl_newton_step(tl_model *model, tl_joint *joint, tl_run *run, double *value, double *length)
{
    enum { MOST = 5 };
    tl_newton *newton = &joint->newton;
    int64_t n = joint->size;
    double whole = sqrt(inverse_dot(n, joint->metric, joint->gradient, joint->gradient));
    keep_point(model, joint, newton);
    if (newton->radius == 0.0)
        newton->radius = 10.0 * whole;
    for (int i = 0; i < MOST && newton->radius > 0.0; i++) {
        double fall = solve_model(model, joint, newton, run);
        if (stopped(joint, run))
            break;
        if (try_step(model, joint, newton, fall, value, length))
            return true;
    }
    newton->radius = 0.0;
    tl_joint_restore(model, joint);
    return false;
}
