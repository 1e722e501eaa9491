/* Conjugate gradients in the metric of a descent (Nocedal and Wright, 7.1) within a trust region
 * (Steihaug). Products with the Hessian are differences of gradients. */
#include "engine/cpu.h"

#include <math.h>

/* Sums over this machine's coordinates. */
static double dot(const tl_cpu *self, const double *a, const double *b)
{
    const tl_coordinates *x = &self->x;
    double sum = 0.0;
    for (int64_t i = tl_sums_skips(self->sums, x->triangle + x->in_W); i < x->size; i++)
        sum += a[i] * b[i];
    return sum;
}

/* a' D b, and below a' D^-1 b */
static double metric_dot(const tl_cpu *self, const double *a, const double *b)
{
    const tl_coordinates *x = &self->x;
    double sum = 0.0;
    for (int64_t i = tl_sums_skips(self->sums, x->triangle + x->in_W); i < x->size; i++)
        sum += a[i] * x->metric[i] * b[i];
    return sum;
}

static double inverse_dot(const tl_cpu *self, const double *a, const double *b)
{
    const tl_coordinates *x = &self->x;
    double sum = 0.0;
    for (int64_t i = tl_sums_skips(self->sums, x->triangle + x->in_W); i < x->size; i++)
        sum += a[i] * b[i] / x->metric[i];
    return sum;
}

static void add(int64_t n, double c, const double *a, double *b)
{
    for (int64_t i = 0; i < n; i++)
        b[i] += c * a[i];
}

static void keep_point(tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    tl_copy(x->cg.P, x->P, x->in_W);
    tl_copy(x->cg.Q, x->Q, x->in_H);
    tl_copy(x->cg.W, self->W, x->in_W);
    tl_copy(x->cg.H, self->H, x->in_H);
}

/* Back to the point kept; X, V and U stay those of the step. */
static void return_to_point(tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    if (x->triangle > 0)
        tl_cpu_swap(self); /* Phi_new is the Phi of the point */
    tl_copy(x->P, x->cg.P, x->in_W);
    tl_copy(x->Q, x->cg.Q, x->in_H);
    tl_copy(self->W, x->cg.W, x->in_W);
    tl_copy(self->H, x->cg.H, x->in_H);
    self->U_is = TL_U_NOTHING;
}

/* Hd = (g(x + h d) - g(x)) / h. Coordinates are about 1 in size. */
static void hessian_times(tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    double sums[2] = {dot(self, x->cg.d, x->cg.d),
                      (double)(x->size - tl_sums_skips(self->sums, x->triangle + x->in_W))};
    tl_sums_add(self->sums, sums, 2);
    double h = 1e-7 * sqrt(sums[1] / sums[0]);
    tl_copy(x->direction, x->cg.d, x->size);
    tl_coordinates_aim(self);
    tl_coordinates_value(self, h);
    tl_coordinates_accept(self, h);
    tl_coordinates_gradient(self, x->cg.Hd);
    return_to_point(self);
    for (int64_t i = 0; i < x->size; i++)
        x->cg.Hd[i] = (x->cg.Hd[i] - x->gradient[i]) / h;
}

static tl_cg begin(tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    tl_cpu_cg *cg = &x->cg;
    keep_point(self);
    cg->rr = tl_sums_of(self->sums, inverse_dot(self, x->gradient, x->gradient));
    tl_copy(cg->residual, x->gradient, x->size);
    for (int64_t i = 0; i < x->size; i++) {
        cg->step[i] = 0.0;
        cg->d[i] = -x->gradient[i] / x->metric[i];
    }
    return (tl_cg){.rr = cg->rr};
}

/* The t at which `step` + t d reaches the edge of the region: |step + t d|_D = radius. */
static double to_the_edge(double dd, double sd, double ss, double radius)
{
    double root = sqrt(fmax(sd * sd + dd * (radius * radius - ss), 0.0));
    return (root - sd) / dd;
}

tl_cg tl_cpu_cg_iteration(tl_engine *e, bool begins, double radius)
{
    tl_cpu *self = (tl_cpu *)e;
    if (begins)
        return begin(self);
    tl_coordinates *x = &self->x;
    tl_cpu_cg *cg = &x->cg;
    int64_t n = x->size;
    hessian_times(self);
    double sums[5] = {dot(self, cg->d, cg->Hd), dot(self, cg->residual, cg->d),
                      metric_dot(self, cg->d, cg->d), metric_dot(self, cg->step, cg->d),
                      metric_dot(self, cg->step, cg->step)};
    tl_sums_add(self->sums, sums, 5);
    double curvature = sums[0], along = sums[1];
    double edge = to_the_edge(sums[2], sums[3], sums[4], radius);
    double a = curvature > 0.0 ? fmin(cg->rr / curvature, edge) : edge;
    tl_cg did = {.fall = a * along + 0.5 * a * a * curvature, .at_edge = a == edge};
    add(n, a, cg->d, cg->step);
    add(n, a, cg->Hd, cg->residual);
    if (did.at_edge)
        return did;
    double next = tl_sums_of(self->sums, inverse_dot(self, cg->residual, cg->residual));
    for (int64_t i = 0; i < n; i++)
        cg->d[i] = -cg->residual[i] / x->metric[i] + next / cg->rr * cg->d[i];
    did.rr = cg->rr = next;
    return did;
}
