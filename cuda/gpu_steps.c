/* Directions and steps along them. */
#include "cuda/gpu.h"

#include <math.h>

/* ---- quasi-Newton directions ----------------------------------------------------------------- */

/* (10) over all frames. */
static void sum_G_and_gamma(tl_cuda *self)
{
    tl_cuda_G(self);
    tl_cuda_gamma(self);
    tl_cuda_sum_array(self, self->G, self->is.M * self->is.M);
    tl_cuda_sum_array(self, self->Gamma, self->is.M * self->is.M);
}

static tl_aim aim_C(tl_cuda *self)
{
    tl_cuda_weights(self, TL_C, self->is.eps);
    sum_G_and_gamma(self);
    tl_cuda_objectives(self, 3, NULL);
    tl_gpu_quasi_newton(&self->gpu, self->is.M,
                        &(tl_gpu_newton){.G = self->G, .Gamma = self->Gamma, .scale = 1.0}, self->E,
                        self->scalars_device + TL_SCALAR_SLOPE);
    tl_cuda_prepare(self);
    if (!tl_cuda_sum_scalars(self, TL_SCALAR_SUMS, 2))
        return (tl_aim){.slope = 0.0};
    tl_cuda_prepared(self);
    self->logs = self->scalars[TL_SCALAR_SUMS + 1];
    return (tl_aim){.slope = self->scalars[TL_SCALAR_SLOPE],
                    .value = self->scalars[TL_SCALAR_SUMS] + self->logs};
}

/* Gamma of JD uses V + eps, that of TL-NMF uses V: `floors` are 2 eps sum_n U_an. */
static tl_aim aim_L(tl_cuda *self)
{
    double *scalars = self->scalars_device, eps = self->is.eps;
    tl_cuda_weights(self, TL_L, eps);
    sum_G_and_gamma(self);
    tl_gpu_row_sums(&self->gpu, self->is.M, self->f.N, 2.0 * eps, self->U, self->floors);
    tl_cuda_sum_array(self, self->floors, self->is.M);
    tl_gpu_antisymmetric(&self->gpu, self->is.M, self->G, NULL, scalars + TL_SCALAR_NORM);
    tl_gpu_quasi_newton(&self->gpu, self->is.M,
                        &(tl_gpu_newton){.G = self->G,
                                         .Gamma = self->Gamma,
                                         .floors = self->floors,
                                         .scale = 0.5 / self->is.frames,
                                         .shift = 1.0,
                                         .least = 1e-9},
                        self->E, scalars + TL_SCALAR_SLOPE);
    tl_cuda_prepare(self);
    if (!tl_cuda_wait(self))
        return (tl_aim){.norm = 0.0};
    tl_cuda_prepared(self);
    return (tl_aim){.slope = self->scalars[TL_SCALAR_SLOPE],
                    .norm = sqrt(self->scalars[TL_SCALAR_NORM]) / (2.0 * self->is.frames)};
}

/* ---- directions of a descent ----------------------------------------------------------------- */

static tl_aim aim_lbfgs(tl_cuda *self)
{
    tl_cuda_descent *x = &self->x;
    if (x->pending)
        tl_cuda_wait(self);
    if (!tl_cuda_direction(self))
        return (tl_aim){.slope = 0.0};
    tl_aim aim = {.slope = self->scalars[TL_SCALAR_SLOPE], .first = 1.0, .pairs = x->count};
    if (x->n.Phi > 0) {
        tl_cuda_prepared(self);
        aim.first = fmin(1.0, 1.0 / self->norm);
    }
    return aim;
}

tl_aim tl_cuda_aim(tl_engine *e, tl_direction how)
{
    static tl_aim (*const aims[])(tl_cuda *) = {[TL_QUASI_NEWTON_C] = aim_C,
                                                [TL_QUASI_NEWTON_L] = aim_L,
                                                [TL_LBFGS] = aim_lbfgs,
                                                [TL_GRADIENT] = aim_lbfgs};
    tl_cuda *self = tl_cuda_of(e);
    self->how = how;
    if (how == TL_GRADIENT) /* no pairs: the gradient in the metric */
        self->x.count = self->x.next = 0;
    return aims[how](self);
}

/* ---- steps ----------------------------------------------------------------------------------- */

double tl_cuda_try(tl_engine *e, double a)
{
    tl_cuda *self = tl_cuda_of(e);
    bool on_C = self->how == TL_QUASI_NEWTON_C;
    if (!on_C && self->how != TL_QUASI_NEWTON_L)
        return tl_cuda_value_at(self, a);
    tl_cuda_turn(self, on_C ? TL_EXP : TL_POLAR, a);
    if (on_C)
        tl_cuda_weights(self, TL_C, e->eps);
    tl_cuda_objectives(self, on_C ? 1 : 4, self->X);
    if (!tl_cuda_sum_scalars(self, TL_SCALAR_SUMS, 4))
        return NAN;
    const double *sums = self->scalars + TL_SCALAR_SUMS;
    return on_C ? sums[0] + self->logs : sums[2];
}

/* <E, G> at the last step tried. */
double tl_cuda_slope(tl_engine *e)
{
    tl_cuda *self = tl_cuda_of(e);
    tl_cuda_weights(self, TL_C, e->eps);
    tl_cuda_G(self);
    tl_cuda_sum_array(self, self->G, e->M * e->M);
    tl_gpu_dot(&self->gpu, e->M * e->M, self->E, self->G, NULL,
               self->scalars_device + TL_SCALAR_ONE);
    return tl_cuda_wait(self) ? self->scalars[TL_SCALAR_ONE] : NAN;
}

static void take_step(tl_cuda *self, double a)
{
    tl_cuda_descent *x = &self->x;
    tl_cuda_accept(self);
    tl_cuda_swap(&x->gradient, &x->before);
    tl_cuda_gradient_at(self, x->gradient);
    tl_cuda_learn(self, a);
}

void tl_cuda_take(tl_engine *e, double a)
{
    tl_cuda *self = tl_cuda_of(e);
    bool descends = self->how != TL_QUASI_NEWTON_C && self->how != TL_QUASI_NEWTON_L;
    if (descends && a > 0.0)
        take_step(self, a);
    else if (descends)
        tl_cuda_restore(self);
    else if (a > 0.0)
        tl_cuda_swap(&self->Phi, &self->Phi_new);
    else
        tl_cuda_refresh(self);
}
