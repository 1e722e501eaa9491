/* Directions and steps along them: the paper's quasi-Newton steps, and the steps of a descent. */
#include "engine/cpu.h"

#include <math.h>

void tl_cpu_turn(tl_cpu *self, tl_retraction how, double a)
{
    tl_skew_turn(&self->skew, how, a, self->Phi, tl_cpu_lend(self), self->G, self->Phi_new);
    tl_coefficients(self->data, self->in, self->Phi_new, self->X, self->V);
    tl_cpu_V_changed(self);
}

void tl_cpu_swap(tl_cpu *self)
{
    double *Phi_new = self->Phi_new;
    self->Phi_new = self->Phi;
    self->Phi = Phi_new;
}

/* ---- quasi-Newton directions ----------------------------------------------------------------- */

/* Gamma of JD uses V + eps, that of TL-NMF uses V: adds 2 eps sum_n U_an to row a. */
static void add_floor(tl_cpu *self)
{
    int64_t M = self->is.M, N = self->is.N;
    for (int64_t a = 0; a < M; a++) {
        double sum = 0.0;
        for (int64_t n = 0; n < N; n++)
            sum += self->U[a * N + n];
        for (int64_t b = 0; b < M; b++)
            self->Gamma[a * M + b] += 2.0 * self->is.eps * sum;
    }
}

/* (11) and (12): E = -Ganti ./ (Gsym - shift), from G and Gamma times `scale`; 0 where the
 * denominator is at most `least`. Returns <E, G>, the slope of the objective along E. */
static double quasi_newton(tl_cpu *self, double scale, double shift, double least)
{
    int64_t M = self->is.M;
    const double *G = self->G, *Gamma = self->Gamma;
    double slope = 0.0;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < a; b++) {
            double G_anti = 0.5 * scale * (G[a * M + b] - G[b * M + a]);
            double G_sym = 0.5 * scale * (Gamma[a * M + b] + Gamma[b * M + a]) - shift;
            double e = G_sym > least ? -G_anti / G_sym : 0.0;
            self->E[a * M + b] = e;
            slope += 2.0 * e * G_anti;
        }
    tl_skew_complete(M, self->E);
    return slope;
}

static tl_aim aim_C(tl_cpu *self)
{
    int64_t count = self->is.M * self->is.N;
    tl_cpu_weights(self, TL_C, self->is.eps);
    tl_cpu_G(self);
    tl_cpu_gamma(self);
    tl_comm_add(self->frames_comm, self->Gamma, self->is.M * self->is.M);
    tl_aim aim = {.slope = quasi_newton(self, 1.0, 0.0, 0.0)};
    if (aim.slope == 0.0) /* E = 0 */
        return aim;
    tl_skew_prepare(&self->skew, self->E);
    double sums[2] = {tl_sum_product(count, self->V, self->is.eps, self->U), tl_cpu_logs(self)};
    tl_comm_few(self->frames_comm, sums, 2);
    self->logs = sums[1];
    aim.value = sums[0] + self->logs;
    return aim;
}

static tl_aim aim_L(tl_cpu *self)
{
    tl_aim aim = {.norm = tl_cpu_gradient(&self->is, TL_L, NULL)};
    tl_cpu_gamma(self);
    add_floor(self);
    tl_comm_add(self->frames_comm, self->Gamma, self->is.M * self->is.M);
    aim.slope = quasi_newton(self, 0.5 / self->is.frames, 1.0, 1e-9);
    tl_skew_prepare(&self->skew, self->E);
    return aim;
}

/* ---- directions of a descent ----------------------------------------------------------------- */

static tl_aim aim_lbfgs(tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    tl_aim aim = {.slope = tl_coordinates_direction(self), .first = 1.0};
    aim.pairs = x->lbfgs.count;
    tl_coordinates_aim(self);
    if (x->n.Phi > 0)
        aim.first = fmin(1.0, 1.0 / self->skew.norm);
    return aim;
}

tl_aim tl_cpu_aim(tl_engine *e, tl_direction how)
{
    tl_cpu *self = (tl_cpu *)e;
    self->how = how;
    switch (how) {
    case TL_QUASI_NEWTON_C:
        return aim_C(self);
    case TL_QUASI_NEWTON_L:
        return aim_L(self);
    case TL_GRADIENT:
        tl_lbfgs_begin(&self->x.lbfgs, self->x.n.all);
        return aim_lbfgs(self);
    default:
        return aim_lbfgs(self);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

double tl_cpu_try(tl_engine *e, double a)
{
    tl_cpu *self = (tl_cpu *)e;
    switch (self->how) {
    case TL_QUASI_NEWTON_C:
        tl_cpu_turn(self, TL_EXP, a);
        return tl_comm_of(self->frames_comm,
                          tl_sum_product(e->M * e->N, self->V, e->eps, self->U)) +
               self->logs;
    case TL_QUASI_NEWTON_L:
        tl_cpu_turn(self, TL_POLAR, a);
        return tl_cpu_L(self);
    default:
        return tl_coordinates_value(self, a);
    }
}

/* <E, G> at the last step tried. */
double tl_cpu_slope(tl_engine *e)
{
    tl_cpu *self = (tl_cpu *)e;
    tl_cpu_G(self);
    return tl_sum_product(e->M * e->M, self->E, 0.0, self->G);
}

/* Accepts a step of a descent: computes the gradient there, from which L-BFGS learns. */
static void take_step(tl_cpu *self, double a)
{
    tl_coordinates *x = &self->x;
    double *before = x->gradient;
    tl_coordinates_accept(self, a);
    tl_lbfgs_step(&x->lbfgs, a, x->direction);
    x->gradient = x->direction; /* which is no longer needed */
    x->direction = before;
    tl_coordinates_learn(self, before);
}

void tl_cpu_take(tl_engine *e, double a)
{
    tl_cpu *self = (tl_cpu *)e;
    bool descends = self->how != TL_QUASI_NEWTON_C && self->how != TL_QUASI_NEWTON_L;
    if (descends && a > 0.0)
        take_step(self, a);
    else if (descends)
        tl_coordinates_restore(self);
    else if (a > 0.0)
        tl_cpu_swap(self);
    else
        tl_cpu_refresh(self);
}

/* A coordinate's derivative is G_ab - G_ba, twice the entry of Ganti. */
double tl_cpu_known_gradient(const tl_engine *e)
{
    const tl_coordinates *x = &((const tl_cpu *)e)->x;
    double sum = 0.0;
    for (int64_t i = 0; i < x->n.Phi; i++)
        sum += 2.0 * (0.5 * x->gradient[i]) * (0.5 * x->gradient[i]);
    return sqrt(sum) / (2.0 * e->frames);
}
