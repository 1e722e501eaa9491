/* Descents over any of Phi, sqrt W, sqrt H: coordinates, gradient, metric, steps, L-BFGS. The
 * formulas are those of the cpu engine (coordinates.c, lbfgs.c). */
#include "cuda/gpu.h"

#include <math.h>

static bool over_L(const tl_cuda *self)
{
    return self->x.over == TL_PHI;
}

static unsigned objective(const tl_cuda *self)
{
    return over_L(self) ? TL_L : TL_C;
}

/* W' times an M x N array (K x N), over the local frames. */
static void W_times(tl_cuda *self, double alpha, const double *W, const double *A, double *out)
{
    int64_t M = self->is.M, N = self->f.N, K = self->is.K;
    tl_cuda_multiply(self, &(tl_cuda_product){TL_TRANSPOSED, TL_PLAIN, K, N, M, alpha, W, A, 0.0,
                                              out, .passes = 0});
}

/* ---- gradient -------------------------------------------------------------------------------- */

static void slopes_of_factors(tl_cuda *self, double *out)
{
    const tl_cuda_descent *x = &self->x;
    double *D = self->UX;
    tl_gpu_slopes(&self->gpu, tl_cuda_field(self), self->V, self->U, D);
    if (x->n.W > 0)
        tl_cuda_times_H(self, 2.0, D, self->H, out);
    if (x->n.H > 0)
        W_times(self, 2.0 * x->unit, self->W, D, out + x->n.W);
}

void tl_cuda_gradient_at(tl_cuda *self, double *out)
{
    const tl_cuda_descent *x = &self->x;
    bool factors = x->n.W + x->n.H > 0;
    double *of_W = out + x->n.Phi;
    tl_cuda_weights(self, objective(self), self->is.eps);
    if (x->n.Phi > 0)
        tl_cuda_G(self);
    if (factors)
        slopes_of_factors(self, of_W);
    if (x->n.Phi > 0)
        tl_gpu_pack(&self->gpu, self->is.M, self->G, false, out);
    if (factors)
        tl_gpu_multiply(&self->gpu, (const int64_t[]){x->n.W, x->n.H},
                        (const double *const[]){x->P, x->Q},
                        (double *const[]){of_W, of_W + x->n.W});
    tl_cuda_sum_array(self, out, x->n.Phi + x->n.W);
}

/* ---- metric ---------------------------------------------------------------------------------- */

/* W^2 and H^2, for curvature_in(). */
static void square_factors(tl_cuda *self)
{
    const tl_cuda_descent *x = &self->x;
    if (x->n.W > 0)
        tl_gpu_square(&self->gpu, self->is.K * self->is.N, 1.0 / (x->unit * x->unit), self->H, NULL,
                      x->H_new);
    if (x->n.H > 0)
        tl_gpu_square(&self->gpu, self->is.M * self->is.K, 1.0, self->W, NULL, x->W_new);
}

/* U^2 (H^2)' and (W^2)' U^2 in units of unit^2: see the cpu engine. U^2 is in UX. */
static void curvature_in(tl_cuda *self, double *out)
{
    const tl_cuda_descent *x = &self->x;
    int64_t count = self->is.M * self->f.N;
    double *U2 = self->UX;
    tl_gpu_square(&self->gpu, count, x->unit * x->unit, self->U, self->f.B, U2);
    if (x->n.W > 0)
        tl_cuda_times_H(self, 1.0, U2, x->H_new, out);
    if (x->n.H > 0)
        W_times(self, 1.0, x->W_new, U2, out + x->n.W);
}

static void curvature(tl_cuda *self, double *out)
{
    square_factors(self);
    tl_cuda_weights(self, TL_C, self->is.eps);
    curvature_in(self, out);
    tl_cuda_sum_array(self, out, self->x.n.W);
}

/* The parts of the metric of W and H, as in coordinates.c: 0.3 of the metric of multiplicative
 * updates (4 U H' and 4 W' U) in scratch, the curvature in `out`. */
static void terms_of_factors(tl_cuda *self, double *out)
{
    const tl_cuda_descent *x = &self->x;
    const double of_updates = 4.0 * 0.3;
    double *mu = x->scratch, unit = x->unit * x->unit;
    if (x->n.W > 0)
        tl_cuda_times_H(self, of_updates, self->U, self->H, mu);
    if (x->n.H > 0)
        W_times(self, of_updates * unit, self->W, self->U, mu + x->n.W);
    curvature_in(self, out);
    tl_cuda_sum_array(self, mu, x->n.W);
    tl_cuda_sum_array(self, out, x->n.W);
}

static void renew_metric(tl_cuda *self)
{
    const tl_cuda_descent *x = &self->x;
    bool factors = x->n.W + x->n.H > 0;
    double *mu = x->scratch, *of_W = x->metric + x->n.Phi, unit = x->unit * x->unit;
    square_factors(self);
    tl_cuda_weights(self, objective(self), self->is.eps);
    if (x->n.Phi > 0) {
        tl_cuda_gamma(self);
        tl_cuda_sum_array(self, self->Gamma, self->is.M * self->is.M);
    }
    if (factors)
        terms_of_factors(self, of_W);
    if (x->n.Phi > 0)
        tl_gpu_pack(&self->gpu, self->is.M, self->Gamma, true, x->metric);
    if (x->n.W > 0)
        tl_gpu_larger(&self->gpu, x->n.W, 4.0, self->W, mu, of_W);
    if (x->n.H > 0)
        tl_gpu_larger(&self->gpu, x->n.H, 4.0 / unit, self->H, mu + x->n.W, of_W + x->n.W);
}

double tl_cuda_norm(tl_engine *e, bool renew)
{
    tl_cuda *self = tl_cuda_of(e);
    const tl_cuda_descent *x = &self->x;
    bool learnt = x->pending && !renew; /* g' D^-1 g is computed with the pair */
    if (renew)
        renew_metric(self);
    int64_t skipped = tl_comm_skips(self->frames_comm, x->n.Phi + x->n.W);
    if (!learnt)
        tl_gpu_dot(&self->gpu, x->n.all - skipped, x->gradient + skipped, x->gradient + skipped,
                   x->metric + skipped, self->scalars_device + TL_SCALAR_NORM);
    if (!(learnt ? tl_cuda_wait(self) : tl_cuda_sum_scalars(self, TL_SCALAR_NORM, 1)))
        return NAN;
    double sum = self->scalars[learnt ? TL_SCALAR_LEARN + 3 : TL_SCALAR_NORM];
    return sqrt(sum / ((double)e->M * e->frames));
}

/* ---- the point ------------------------------------------------------------------------------- */

static void choose(tl_cuda *self, unsigned over)
{
    tl_cuda_descent *x = &self->x;
    x->over = over;
    x->n = tl_counts_of(over, self->is.M, self->is.N, self->is.K);
    x->count = x->next = 0;
    x->pending = false;
}

double tl_cuda_begin(tl_engine *e, unsigned over)
{
    tl_cuda *self = tl_cuda_of(e);
    tl_cuda_descent *x = &self->x;
    choose(self, over);
    tl_cuda_weights(self, objective(self), e->eps);
    tl_cuda_objectives(self, over_L(self) ? 4 : 3, NULL);
    if (!over_L(self))
        tl_gpu_largest(&self->gpu, e->K * e->N, self->H, self->scalars_device + TL_SCALAR_ONE);
    if (x->n.W > 0)
        tl_gpu_root(&self->gpu, x->n.W, self->W, x->P);
    if (x->n.H > 0)
        tl_gpu_root(&self->gpu, x->n.H, self->H, x->Q);
    if (!tl_cuda_sum_scalars(self, TL_SCALAR_SUMS, 4))
        return NAN;
    const double *sums = self->scalars + TL_SCALAR_SUMS;
    double value = over_L(self) ? sums[2] : sums[0] + sums[1];
    if (!over_L(self)) {
        double unit = sqrt(tl_comm_max(self->frames_comm, self->scalars[TL_SCALAR_ONE]));
        x->unit = unit > 0.0 ? unit : 1.0;
    }
    tl_cuda_gradient_at(self, x->gradient);
    return value;
}

/* ---- steps ----------------------------------------------------------------------------------- */

void tl_cuda_aim_along(tl_cuda *self)
{
    if (self->x.n.Phi == 0)
        return;
    tl_gpu_unpack(&self->gpu, self->is.M, self->x.direction, self->E);
    tl_cuda_prepare(self);
}

double tl_cuda_C_at(tl_cuda *self, const double *W, const double *H, const double *X)
{
    tl_cuda_weigh(
        self, tl_cuda_field(self),
        (tl_gpu_weigh){.W = W, .H = H, .X = X, .sums = self->scalars_device + TL_SCALAR_SUMS});
    self->U_is = TL_CUDA_U_NOTHING; /* U holds these weights, not those of the point */
    return tl_cuda_sum_scalars(self, TL_SCALAR_SUMS, 2)
               ? self->scalars[TL_SCALAR_SUMS] + self->scalars[TL_SCALAR_SUMS + 1]
               : NAN;
}

double tl_cuda_value_at(tl_cuda *self, double a)
{
    tl_cuda_descent *x = &self->x;
    const double *d = x->direction + x->n.Phi;
    self->turned_X = x->n.Phi > 0 && tl_cuda_turns_X(self);
    const double *X = self->turned_X ? self->UX : self->X;
    if (self->turned_X)
        tl_cuda_turn_X(self, a);
    else if (x->n.Phi > 0)
        tl_cuda_turn(self, TL_EXP, a);
    if (over_L(self)) {
        tl_cuda_objectives(self, 4, X);
        return tl_cuda_sum_scalars(self, TL_SCALAR_SUMS, 4) ? self->scalars[TL_SCALAR_SUMS + 2]
                                                            : NAN;
    }
    const tl_gpu_moving factors[2] = {{x->n.W, a, x->P, d, x->P_new, x->W_new},
                                      {x->n.H, a * x->unit, x->Q, d + x->n.W, x->Q_new, x->H_new}};
    tl_gpu_move(&self->gpu, factors);
    return tl_cuda_C_at(self, x->n.W > 0 ? x->W_new : self->W, x->n.H > 0 ? x->H_new : self->H,
                        x->n.Phi > 0 ? X : NULL);
}

void tl_cuda_accept(tl_cuda *self)
{
    tl_cuda_descent *x = &self->x;
    if (self->turned_X)
        tl_cuda_turned(self);
    else if (x->n.Phi > 0)
        tl_cuda_swap(&self->Phi, &self->Phi_new);
    if (x->n.W > 0) {
        tl_cuda_swap(&x->P, &x->P_new);
        tl_cuda_swap(&self->W, &x->W_new);
    }
    if (x->n.H > 0) {
        tl_cuda_swap(&x->Q, &x->Q_new);
        tl_cuda_swap(&self->H, &x->H_new);
    }
    if (!over_L(self)) /* the weights of the step are now those of the point */
        tl_cuda_U_holds(self, TL_CUDA_U_WEIGHTS_C, self->is.eps);
}

void tl_cuda_restore(tl_cuda *self)
{
    if (self->x.n.Phi > 0 && tl_cuda_turns_X(self))
        tl_gpu_power(&self->gpu, tl_cuda_field(self), self->X, self->V);
    else if (self->x.n.Phi > 0)
        tl_cuda_refresh(self);
    self->U_is = TL_CUDA_U_NOTHING;
}

/* ---- L-BFGS ---------------------------------------------------------------------------------- */

tl_gpu_pairs tl_cuda_pairs(const tl_cuda *self)
{
    const tl_cuda_descent *x = &self->x;
    tl_gpu_pairs pairs = {.size = x->n.all,
                          .single = x->single,
                          .count = x->count,
                          .skipped = tl_comm_skips(self->frames_comm, x->n.Phi + x->n.W),
                          .s = x->s,
                          .y = x->y,
                          .gradient = x->gradient,
                          .metric = x->metric,
                          .coefficients = x->coefficients,
                          .dots = self->dots};
    for (int age = 0; age < x->count; age++)
        pairs.place[age] = (x->next - 1 - age + 2 * x->memory) % x->memory;
    return pairs;
}

/* Whether the pair counts depends on its sums, which are known after the next wait. */
void tl_cuda_learn(tl_cuda *self, double a)
{
    tl_cuda_descent *x = &self->x;
    tl_gpu_pairs pairs = tl_cuda_pairs(self);
    tl_gpu_learn(&self->gpu, &pairs, x->next, a, x->direction, x->before,
                 self->scalars_device + TL_SCALAR_LEARN);
    x->pending = true;
}

void tl_cuda_settle(tl_cuda *self)
{
    tl_cuda_descent *x = &self->x;
    const double *sums = self->scalars + TL_SCALAR_LEARN; /* s' D s, y' D^-1 y, s' y */
    if (!x->pending)
        return;
    x->pending = false;
    if (!tl_cuda_sum_scalars(self, TL_SCALAR_LEARN, 4))
        return;
    if (!(sums[2] > 1e-14 * sqrt(sums[0] * sums[1])))
        return;
    x->next = (x->next + 1) % x->memory;
    x->count = x->count < x->memory ? x->count + 1 : x->count;
}

/* ---- entries that came too close to zero ------------------------------------------------------
 */

/* Tries ever smaller parts until C falls by more than `least`. False, with W and H unchanged, if it
 * never does. */
static bool revive_factor(tl_cuda *self, bool is_W, tl_gpu_revive *r, double least)
{
    double *out = is_W ? self->x.W_new : self->x.H_new,
           C = tl_cuda_C_at(self, self->W, self->H, NULL);
    for (int i = 0; i < 5; i++, r->part *= 0.25) {
        tl_gpu_revive_all(&self->gpu, r, out, self->scalars_device + TL_SCALAR_ONE);
        /* all processes have the same W */
        if (!(is_W ? tl_cuda_wait(self) : tl_cuda_sum_scalars(self, TL_SCALAR_ONE, 1)) ||
            self->scalars[TL_SCALAR_ONE] == 0.0)
            return false;
        double now = tl_cuda_C_at(self, is_W ? out : self->W, is_W ? self->H : out, NULL);
        if (now < C && !(fabs(C - now) < least)) {
            tl_cuda_copy(self, is_W ? self->W : self->H, out, r->count);
            return true;
        }
    }
    return false;
}

bool tl_cuda_revive(tl_engine *e, double least)
{
    tl_cuda *self = tl_cuda_of(e);
    const tl_cuda_descent *x = &self->x;
    const double *gradient = x->gradient + x->n.Phi;
    if (!(x->over & (TL_W | TL_H)))
        return false;
    curvature(self, x->scratch);
    tl_gpu_revive W = {x->n.W, self->W, x->P, gradient, x->scratch, 1.0, 1.0};
    tl_gpu_revive H = {x->n.H, self->H, x->Q, gradient + x->n.W, x->scratch + x->n.W, x->unit, 1.0};
    /* a process without frames has no entry of H, but makes the same sums */
    return (x->over & TL_W && revive_factor(self, true, &W, least)) ||
           (x->over & TL_H && revive_factor(self, false, &H, least));
}
