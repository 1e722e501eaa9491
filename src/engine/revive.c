/* Enlarges entries of W and H that a descent has driven too close to zero. */
#include "engine/cpu.h"

#include <math.h>

/* One factor: its entries x, their square roots and gradient, the expected curvature of C, and the
 * unit of the roots. */
typedef struct factor {
    int64_t count;
    double *x, *out;
    const double *root, *gradient, *expected;
    double unit;
} factor;

/* At P = 0 the gradient vanishes even where W should grow: dC/dP = 2 P dC/dW. An entry that is
 * close to 0 while dC/dW is negative is set to `part` of half a Newton step. Exact zeros are the
 * caller's and stay. Returns the number of entries changed. */
static int64_t revive_entries(const factor *f, double part)
{
    int64_t revived = 0;
    double unit = f->unit;
    for (int64_t i = 0; i < f->count; i++) {
        f->out[i] = f->x[i];
        if (f->root[i] == 0.0 || !(f->expected[i] > 0.0))
            continue;
        double slope = f->gradient[i] / (2.0 * unit * f->root[i]); /* dC/dx */
        double better = -0.5 * part * (slope * unit * unit) / f->expected[i] * unit * unit;
        if (better > 10.0 * f->x[i]) {
            f->out[i] = better;
            revived++;
        }
    }
    return revived;
}

/* Tries ever smaller parts until C falls by more than `least`. False, with W and H unchanged, if it
 * never does. */
static bool revive_factor(tl_cpu *self, const factor *f, double least)
{
    bool is_W = f->x == self->W;
    double part = 1.0;
    tl_cpu_weights(self, TL_C, self->is.eps);
    double C = tl_cpu_C(self);
    for (int i = 0; i < 5; i++, part *= 0.25) {
        double revived = (double)revive_entries(f, part);
        if ((is_W ? revived : tl_sums_of(self->sums, revived)) == 0.0)
            return false;
        double now = tl_coordinates_C(self, is_W ? f->out : self->W, is_W ? self->H : f->out);
        if (now < C && !(fabs(C - now) < least)) {
            tl_copy(f->x, f->out, f->count);
            return true;
        }
    }
    return false;
}

bool tl_cpu_revive(tl_engine *e, double least)
{
    tl_cpu *self = (tl_cpu *)e;
    tl_coordinates *x = &self->x;
    const double *gradient = x->gradient + x->triangle;
    if (!(x->over & (TL_W | TL_H)))
        return false;
    tl_coordinates_curvature(self, x->scratch);
    tl_sums_add(self->sums, x->scratch, x->in_W);
    factor W = {x->in_W, self->W, x->W_new, x->P, gradient, x->scratch, 1.0};
    factor H = {x->in_H, self->H, x->H_new, x->Q, gradient + x->in_W, x->scratch + x->in_W,
                x->unit};
    /* a machine without frames has no entry of H, but makes the same sums */
    return (x->over & TL_W && revive_factor(self, &W, least)) ||
           (x->over & TL_H && revive_factor(self, &H, least));
}
