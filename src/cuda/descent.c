/* Descents over any of Phi, sqrt W, sqrt H: coordinates, gradient, metric, steps, L-BFGS. The
 * formulas are those of the cpu engine (coordinates.c, lbfgs.c). */
#include "cuda/cuda.h"

#include <math.h>

static bool over_L(const tl_cuda *self)
{
    return self->x.over == TL_PHI;
}

static unsigned objective(const tl_cuda *self)
{
    return over_L(self) ? TL_L : TL_C;
}

/* Products of an M x N array with H' (M x K), and of W' with it (K x N): of panel p, those with H'
 * added to the panels before. */
static void times_H(tl_cuda *self, int64_t p, double alpha, const double *A, const double *H,
                    double *out)
{
    int64_t M = self->is.M, N = self->f.N, K = self->is.K;
    tl_cuda_multiply(self, &(tl_cuda_product){.opB = TL_TRANSPOSED,
                                              .m = M,
                                              .n = K,
                                              .k = N,
                                              .alpha = alpha,
                                              .A = A,
                                              .lda = N,
                                              .B = H + self->panels.first,
                                              .ldb = self->is.N,
                                              .beta = p > 0 ? 1.0 : 0.0,
                                              .C = out,
                                              .ldc = K});
}

static void W_times(tl_cuda *self, double alpha, const double *W, const double *A, double *out)
{
    int64_t M = self->is.M, N = self->f.N, K = self->is.K;
    tl_cuda_multiply(self, &(tl_cuda_product){.opA = TL_TRANSPOSED,
                                              .m = K,
                                              .n = N,
                                              .k = M,
                                              .alpha = alpha,
                                              .A = W,
                                              .lda = K,
                                              .B = A,
                                              .ldb = N,
                                              .C = out + self->panels.first,
                                              .ldc = self->is.N});
}

/* ---- gradient -------------------------------------------------------------------------------- */

static void slopes_of_factors(tl_cuda *self, int64_t p, double *out)
{
    const tl_cuda_descent *x = &self->x;
    double *D = self->UX;
    tl_gpu_slopes(&self->gpu, tl_cuda_field(self), self->V, self->U, D);
    if (x->in_W > 0)
        times_H(self, p, 2.0, D, self->H, out);
    if (x->in_H > 0)
        W_times(self, 2.0 * x->unit, self->W, D, out + x->in_W);
}

void tl_cuda_gradient_at(tl_cuda *self, double *out)
{
    const tl_cuda_descent *x = &self->x;
    bool factors = x->in_W + x->in_H > 0;
    double *of_W = out + x->triangle;
    for (int64_t p = 0; tl_cuda_bring(self, p); p++) {
        tl_cuda_weights(self, objective(self), self->is.eps);
        if (x->triangle > 0)
            tl_cuda_G(self, p);
        if (factors)
            slopes_of_factors(self, p, of_W);
    }
    if (x->triangle > 0)
        tl_gpu_pack(&self->gpu, self->is.M, self->G, out);
    if (factors)
        tl_gpu_multiply(&self->gpu, (const int64_t[]){x->in_W, x->in_H},
                        (const double *const[]){x->P, x->Q},
                        (double *const[]){of_W, of_W + x->in_W});
}

/* ---- metric ---------------------------------------------------------------------------------- */

/* W^2 and H^2, for curvature_in(). */
static void square_factors(tl_cuda *self)
{
    const tl_cuda_descent *x = &self->x;
    if (x->in_W > 0)
        tl_gpu_square(&self->gpu, self->is.K * self->is.N, 1.0 / (x->unit * x->unit), self->H,
                      x->H_new);
    if (x->in_H > 0)
        tl_gpu_square(&self->gpu, self->is.M * self->is.K, 1.0, self->W, x->W_new);
}

/* U^2 (H^2)' and (W^2)' U^2 in units of unit^2: see the cpu engine. U^2 is in UX. */
static void curvature_in(tl_cuda *self, int64_t p, double *out)
{
    const tl_cuda_descent *x = &self->x;
    int64_t count = self->is.M * self->f.N;
    double *U2 = self->UX;
    tl_gpu_square(&self->gpu, count, x->unit * x->unit, self->U, U2);
    if (self->f.B != NULL)
        tl_gpu_once(&self->gpu, count, self->f.B, U2);
    if (x->in_W > 0)
        times_H(self, p, 1.0, U2, x->H_new, out);
    if (x->in_H > 0)
        W_times(self, 1.0, x->W_new, U2, out + x->in_W);
}

void tl_cuda_curvature(tl_cuda *self, double *out)
{
    square_factors(self);
    for (int64_t p = 0; tl_cuda_bring(self, p); p++) {
        tl_cuda_weights(self, TL_C, self->is.eps);
        curvature_in(self, p, out);
    }
}

/* What the metric of W and H is made of: mu in scratch, the curvature in `out`. */
static void terms_of_factors(tl_cuda *self, int64_t p, double *out)
{
    const tl_cuda_descent *x = &self->x;
    double *mu = x->scratch, unit = x->unit * x->unit;
    if (x->in_W > 0)
        times_H(self, p, 1.2, self->U, self->H, mu);
    if (x->in_H > 0)
        W_times(self, 1.2 * unit, self->W, self->U, mu + x->in_W);
    curvature_in(self, p, out);
}

static void renew_metric(tl_cuda *self)
{
    const tl_cuda_descent *x = &self->x;
    bool factors = x->in_W + x->in_H > 0;
    double *mu = x->scratch, *of_W = x->metric + x->triangle, unit = x->unit * x->unit;
    square_factors(self);
    for (int64_t p = 0; tl_cuda_bring(self, p); p++) {
        tl_cuda_weights(self, objective(self), self->is.eps);
        if (x->triangle > 0)
            tl_cuda_gamma(self, p);
        if (factors)
            terms_of_factors(self, p, of_W);
    }
    if (x->triangle > 0)
        tl_gpu_metric(&self->gpu, self->is.M, self->Gamma, x->metric);
    if (x->in_W > 0)
        tl_gpu_larger(&self->gpu, x->in_W, 4.0, self->W, mu, of_W);
    if (x->in_H > 0)
        tl_gpu_larger(&self->gpu, x->in_H, 4.0 / unit, self->H, mu + x->in_W, of_W + x->in_W);
}

double tl_cuda_norm(tl_engine *e, bool renew)
{
    tl_cuda *self = (tl_cuda *)e;
    const tl_cuda_descent *x = &self->x;
    bool learnt = x->pending && !renew; /* g' D^-1 g comes with the pair */
    if (renew)
        renew_metric(self);
    if (!learnt)
        tl_gpu_dot_over(&self->gpu, x->size, x->gradient, x->gradient, x->metric,
                        self->seen_there + TL_SEEN_NORM);
    if (!tl_cuda_wait(self))
        return NAN;
    double sum = self->seen[learnt ? TL_SEEN_LEARN + 3 : TL_SEEN_NORM];
    return sqrt(sum / ((double)e->M * e->frames));
}

/* ---- the point ------------------------------------------------------------------------------- */

static void choose(tl_cuda *self, unsigned over)
{
    tl_cuda_descent *x = &self->x;
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    x->over = over;
    x->triangle = over & TL_PHI ? M * (M - 1) / 2 : 0;
    x->in_W = over & TL_W ? M * K : 0;
    x->in_H = over & TL_H ? K * N : 0;
    x->size = x->triangle + x->in_W + x->in_H;
    x->count = x->next = 0;
    x->pending = false;
}

double tl_cuda_begin(tl_engine *e, unsigned over)
{
    tl_cuda *self = (tl_cuda *)e;
    tl_cuda_descent *x = &self->x;
    choose(self, over);
    for (int64_t p = 0; tl_cuda_bring(self, p); p++) {
        tl_cuda_weights(self, objective(self), e->eps);
        tl_cuda_objectives(self, p, over_L(self) ? 4 : 3, NULL);
    }
    if (!over_L(self))
        tl_gpu_largest(&self->gpu, e->K * e->N, self->H, self->seen_there + TL_SEEN_OTHER);
    if (x->in_W > 0)
        tl_gpu_root(&self->gpu, x->in_W, self->W, x->P);
    if (x->in_H > 0)
        tl_gpu_root(&self->gpu, x->in_H, self->H, x->Q);
    if (!tl_cuda_wait(self))
        return NAN;
    const double *sums = self->seen + TL_SEEN_SUMS;
    double value = over_L(self) ? sums[2] : sums[0] + sums[1];
    if (!over_L(self)) {
        double unit = sqrt(self->seen[TL_SEEN_OTHER]);
        x->unit = unit > 0.0 ? unit : 1.0;
    }
    tl_cuda_gradient_at(self, x->gradient);
    return value;
}

/* ---- steps ----------------------------------------------------------------------------------- */

void tl_cuda_aim_along(tl_cuda *self)
{
    if (self->x.triangle == 0)
        return;
    tl_gpu_unpack(&self->gpu, self->is.M, self->x.direction, self->E);
    tl_cuda_prepare(self);
}

double tl_cuda_C_at(tl_cuda *self, const double *W, const double *H, const double *X)
{
    double *seen = self->seen_there + TL_SEEN_SUMS;
    for (int64_t p = 0; tl_cuda_bring(self, p); p++) {
        tl_cuda_weigh(
            self, tl_cuda_field(self),
            (tl_gpu_weigh){.W = W, .H = H, .X = X, .sums = tl_cuda_sums_of(self, p, seen)});
        tl_cuda_add_sums(self, p, 2, seen);
    }
    self->U_is = TL_CUDA_U_NOTHING; /* U holds these weights, not those of the point */
    return tl_cuda_wait(self) ? self->seen[TL_SEEN_SUMS] + self->seen[TL_SEEN_SUMS + 1] : NAN;
}

double tl_cuda_value_at(tl_cuda *self, double a)
{
    tl_cuda_descent *x = &self->x;
    const double *d = x->direction + x->triangle;
    self->turned_X = x->triangle > 0 && tl_cuda_turns_X(self);
    const double *X = self->turned_X ? self->UX : self->X;
    if (self->turned_X)
        tl_cuda_turn_X(self, a);
    else if (x->triangle > 0)
        tl_cuda_turn(self, TL_EXP, a);
    if (over_L(self)) {
        for (int64_t p = 0; tl_cuda_bring(self, p); p++)
            tl_cuda_objectives(self, p, 4, X);
        return tl_cuda_wait(self) ? self->seen[TL_SEEN_SUMS + 2] : NAN;
    }
    const tl_gpu_moving factors[2] = {
        {x->in_W, a, x->P, d, x->P_new, x->W_new},
        {x->in_H, a * x->unit, x->Q, d + x->in_W, x->Q_new, x->H_new}};
    tl_gpu_move(&self->gpu, factors);
    return tl_cuda_C_at(self, x->in_W > 0 ? x->W_new : self->W, x->in_H > 0 ? x->H_new : self->H,
                        x->triangle > 0 ? X : NULL);
}

void tl_cuda_accept(tl_cuda *self)
{
    tl_cuda_descent *x = &self->x;
    if (self->turned_X)
        tl_cuda_turned(self);
    else if (x->triangle > 0)
        tl_cuda_swap(&self->Phi, &self->Phi_new);
    self->panels.at_new = false;
    if (x->in_W > 0) {
        tl_cuda_swap(&x->P, &x->P_new);
        tl_cuda_swap(&self->W, &x->W_new);
    }
    if (x->in_H > 0) {
        tl_cuda_swap(&x->Q, &x->Q_new);
        tl_cuda_swap(&self->H, &x->H_new);
    }
    if (!over_L(self)) /* the weights of the step are now those of the point */
        tl_cuda_U_holds(self, TL_CUDA_U_WEIGHTS_C, self->is.eps);
}

void tl_cuda_restore(tl_cuda *self)
{
    if (self->x.triangle > 0 && tl_cuda_turns_X(self))
        tl_gpu_power(&self->gpu, tl_cuda_field(self), self->X, self->V);
    else if (self->x.triangle > 0)
        tl_cuda_refresh(self);
    self->U_is = TL_CUDA_U_NOTHING;
}

/* ---- L-BFGS ---------------------------------------------------------------------------------- */

tl_gpu_pairs tl_cuda_pairs(const tl_cuda *self)
{
    const tl_cuda_descent *x = &self->x;
    tl_gpu_pairs pairs = {.size = x->size,
                          .single = x->single,
                          .count = x->count,
                          .s = x->s,
                          .y = x->y,
                          .gradient = x->gradient,
                          .metric = x->metric,
                          .coefficients = x->coefficients};
    for (int age = 0; age < x->count; age++)
        pairs.place[age] = (x->next - 1 - age + 2 * x->memory) % x->memory;
    return pairs;
}

/* Whether the pair counts depends on its sums, which the next wait brings. */
void tl_cuda_learn(tl_cuda *self, double a)
{
    tl_cuda_descent *x = &self->x;
    tl_gpu_pairs pairs = tl_cuda_pairs(self);
    tl_gpu_learn(&self->gpu, &pairs, x->next, a, x->direction, x->before,
                 self->seen_there + TL_SEEN_LEARN);
    x->pending = true;
}

void tl_cuda_settle(tl_cuda *self)
{
    tl_cuda_descent *x = &self->x;
    const double *sums = self->seen + TL_SEEN_LEARN; /* s' D s, y' D^-1 y, s' y */
    if (!x->pending)
        return;
    x->pending = false;
    if (!(sums[2] > 1e-14 * sqrt(sums[0] * sums[1])))
        return;
    x->next = (x->next + 1) % x->memory;
    x->count = x->count < x->memory ? x->count + 1 : x->count;
}
