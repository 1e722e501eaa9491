/* What the end of a descent needs: entries that are revived, conjugate gradients. The formulas are
 * those of the cpu engine (revive.c, cg.c). */
#include "cuda/cuda.h"

#include <math.h>

/* ---- entries close to zero ------------------------------------------------------------------- */

/* Tries ever smaller parts until C falls by more than `least`. False, with W and H unchanged, if it
 * never does. */
static bool revive_factor(tl_cuda *self, bool is_W, tl_gpu_revive *r, double least)
{
    double *out = is_W ? self->x.W_new : self->x.H_new,
           C = tl_cuda_C_at(self, self->W, self->H, NULL);
    for (int i = 0; i < 5; i++, r->part *= 0.25) {
        tl_gpu_revive_all(&self->gpu, r, out, self->seen_there + TL_SEEN_OTHER);
        if (!tl_cuda_wait(self) || self->seen[TL_SEEN_OTHER] == 0.0)
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
    tl_cuda *self = (tl_cuda *)e;
    const tl_cuda_descent *x = &self->x;
    const double *gradient = x->gradient + x->triangle;
    if (x->in_W + x->in_H == 0)
        return false;
    tl_cuda_curvature(self, x->scratch);
    tl_gpu_revive W = {x->in_W, self->W, x->P, gradient, x->scratch, 1.0, 1.0};
    tl_gpu_revive H = {x->in_H, self->H, x->Q, gradient + x->in_W, x->scratch + x->in_W,
                       x->unit, 1.0};
    return (x->in_W > 0 && revive_factor(self, true, &W, least)) ||
           (x->in_H > 0 && revive_factor(self, false, &H, least));
}

/* ---- conjugate gradients --------------------------------------------------------------------- */

static void keep_point(tl_cuda *self)
{
    tl_cuda_descent *x = &self->x;
    tl_cuda_copy(self, x->cg_P, x->P, x->in_W);
    tl_cuda_copy(self, x->cg_Q, x->Q, x->in_H);
    tl_cuda_copy(self, x->cg_W, self->W, x->in_W);
    tl_cuda_copy(self, x->cg_H, self->H, x->in_H);
}

static void return_to_point(tl_cuda *self)
{
    tl_cuda_descent *x = &self->x;
    if (x->triangle > 0) /* Phi_new is the Phi of the point */
        tl_cuda_swap(&self->Phi, &self->Phi_new);
    tl_cuda_copy(self, x->P, x->cg_P, x->in_W);
    tl_cuda_copy(self, x->Q, x->cg_Q, x->in_H);
    tl_cuda_copy(self, self->W, x->cg_W, x->in_W);
    tl_cuda_copy(self, self->H, x->cg_H, x->in_H);
    self->U_is = TL_CUDA_U_NOTHING;
}

/* Hd = (g(x + h d) - g(x)) / h. False if something has failed. */
static bool hessian_times(tl_cuda *self)
{
    tl_cuda_descent *x = &self->x;
    tl_gpu_dot(&self->gpu, x->size, x->d, x->d, NULL, self->seen_there + TL_SEEN_OTHER);
    tl_cuda_copy(self, x->direction, x->d, x->size);
    tl_cuda_aim_along(self);
    if (!tl_cuda_wait(self))
        return false;
    tl_cuda_prepared(self);
    double h = 1e-7 * sqrt((double)x->size / self->seen[TL_SEEN_OTHER]);
    tl_cuda_value_at(self, h);
    tl_cuda_accept(self);
    tl_cuda_gradient_at(self, x->Hd);
    return_to_point(self);
    tl_gpu_sum_of(&self->gpu, x->size,
                  &(tl_gpu_sum){.x = x->Hd, .y = x->gradient, .c = 1.0 / h, .d = -1.0 / h}, x->Hd);
    return true;
}

static tl_cg begin(tl_cuda *self)
{
    tl_cuda_descent *x = &self->x;
    keep_point(self);
    tl_cuda_copy(self, x->residual, x->gradient, x->size);
    tl_gpu_sum_of(&self->gpu, x->size, &(tl_gpu_sum){.x = x->gradient}, x->step);
    tl_gpu_sum_of(&self->gpu, x->size, &(tl_gpu_sum){.x = x->gradient, .z = x->metric, .c = -1.0},
                  x->d);
    tl_gpu_dot_over(&self->gpu, x->size, x->gradient, x->gradient, x->metric,
                    self->seen_there + TL_SEEN_OTHER);
    x->rr = tl_cuda_wait(self) ? self->seen[TL_SEEN_OTHER] : 0.0;
    return (tl_cg){.rr = x->rr};
}

tl_cg tl_cuda_cg(tl_engine *e, bool begins, double radius)
{
    tl_cuda *self = (tl_cuda *)e;
    tl_cuda_descent *x = &self->x;
    const tl_cg failed = {.at_edge = true};
    int64_t n = x->size;
    double *seen = self->seen_there + TL_SEEN_CG;
    self->how = TL_NEWTON;
    if (begins)
        return begin(self);
    if (!hessian_times(self))
        return failed;
    tl_gpu_dot(&self->gpu, n, x->d, x->Hd, NULL, seen);
    tl_gpu_dot(&self->gpu, n, x->residual, x->d, NULL, seen + 1);
    tl_gpu_dot(&self->gpu, n, x->d, x->d, x->metric, seen + 2);
    tl_gpu_dot(&self->gpu, n, x->step, x->d, x->metric, seen + 3);
    tl_gpu_dot(&self->gpu, n, x->step, x->step, x->metric, seen + 4);
    if (!tl_cuda_wait(self))
        return failed;
    const double *sums = self->seen + TL_SEEN_CG;
    double curvature = sums[0], dd = sums[2], sd = sums[3], ss = sums[4];
    double edge = (sqrt(fmax(sd * sd + dd * (radius * radius - ss), 0.0)) - sd) / dd;
    double a = curvature > 0.0 ? fmin(x->rr / curvature, edge) : edge;
    tl_cg did = {.fall = a * sums[1] + 0.5 * a * a * curvature, .at_edge = a == edge};
    tl_gpu_add(&self->gpu, n, a, x->d, x->step);
    tl_gpu_add(&self->gpu, n, a, x->Hd, x->residual);
    if (did.at_edge)
        return did;
    tl_gpu_dot_over(&self->gpu, n, x->residual, x->residual, x->metric,
                    self->seen_there + TL_SEEN_OTHER);
    if (!tl_cuda_wait(self))
        return failed;
    double next = self->seen[TL_SEEN_OTHER];
    tl_gpu_sum_of(&self->gpu, n, &(tl_gpu_sum){.x = x->residual, .z = x->metric, .c = -1.0},
                  x->direction);
    tl_gpu_sum_of(&self->gpu, n,
                  &(tl_gpu_sum){.x = x->direction, .y = x->d, .c = 1.0, .d = next / x->rr}, x->d);
    did.rr = x->rr = next;
    return did;
}
