/* The state of the cpu engine between two operations of a solver, as bytes: what it cannot
 * recompute to the last bit. X is rotated by sweeps, so it is not Phi R; U is. What lives only
 * between a direction and its step is left out. */
#include "engine/cpu.h"

static void pass_pairs(tl_lbfgs *lbfgs, tl_bytes *b)
{
    int64_t used = lbfgs->count * lbfgs->size;
    tl_bytes_doubles(b, lbfgs->rho, TL_LBFGS_MOST);
    if (lbfgs->s != NULL) {
        tl_bytes_doubles(b, lbfgs->s, used);
        tl_bytes_doubles(b, lbfgs->y, used);
    } else if (lbfgs->s_single != NULL) {
        tl_bytes_pass(b, lbfgs->s_single, (size_t)used * sizeof *lbfgs->s_single);
        tl_bytes_pass(b, lbfgs->y_single, (size_t)used * sizeof *lbfgs->y_single);
    }
}

static void pass_cg(tl_coordinates *x, tl_bytes *b)
{
    tl_cpu_cg *cg = &x->cg;
    if (cg->step == NULL)
        return;
    tl_bytes_doubles(b, &cg->rr, 1);
    tl_bytes_doubles(b, cg->step, x->size);
    tl_bytes_doubles(b, cg->residual, x->size);
    tl_bytes_doubles(b, cg->d, x->size);
    tl_bytes_doubles(b, cg->P, x->in_W);
    tl_bytes_doubles(b, cg->Q, x->in_H);
    tl_bytes_doubles(b, cg->W, x->in_W);
    tl_bytes_doubles(b, cg->H, x->in_H);
}

/* The parts that the descent moves and how many pairs L-BFGS has: they decide the sizes of all that
 * follows. */
static void pass_sizes(tl_cpu *self, tl_bytes *b)
{
    tl_coordinates *x = &self->x;
    int64_t over = x->over, count = x->lbfgs.count, next = x->lbfgs.next;
    tl_bytes_integer(b, &over);
    tl_bytes_integer(b, &count);
    tl_bytes_integer(b, &next);
    if (b->mode != TL_BYTES_READ)
        return;
    int memory = x->lbfgs.memory;
    bool valid = over >= 0 && (over & ~(int64_t)x->moves) == 0 && count >= 0 && count <= memory &&
                 next >= 0 && next < memory && (count == memory || next == count);
    b->bad = b->bad || !valid;
    if (b->bad)
        return;
    tl_coordinates_choose(self, (unsigned)over);
    x->lbfgs.count = (int)count;
    x->lbfgs.next = (int)next;
}

void tl_cpu_state(tl_engine *e, tl_bytes *b)
{
    tl_cpu *self = (tl_cpu *)e;
    tl_coordinates *x = &self->x;
    pass_sizes(self, b);
    if (b->bad)
        return;
    tl_bytes_doubles(b, self->Phi, e->M * e->M);
    tl_bytes_doubles(b, self->W, e->M * e->K);
    tl_bytes_doubles(b, self->H, e->K * e->N);
    tl_bytes_doubles(b, self->X, e->M * self->data->T);
    tl_bytes_doubles(b, self->V, e->M * e->N);
    tl_bytes_doubles(b, &x->unit, 1);
    tl_bytes_doubles(b, x->gradient, x->size);
    tl_bytes_doubles(b, x->metric, x->size);
    tl_bytes_doubles(b, x->P, x->in_W);
    tl_bytes_doubles(b, x->Q, x->in_H);
    pass_pairs(&x->lbfgs, b);
    pass_cg(x, b);
    if (b->mode == TL_BYTES_READ)
        self->U_is = TL_U_NOTHING;
}
