/* The state of the cpu engine between two operations of a solver, as bytes: what it cannot
 * recompute to the last bit. X is rotated by sweeps, so it is not Phi R; U is. What lives only
 * between a direction and its step is left out.
 *
 * Where frames are on several machines the bytes are those of all frames, so that other machines
 * can go on, and X is Phi R again: large, and bits are the same at no other number of machines. */
#include "base/columns.h"
#include "engine/cpu.h"

/* Bytes, and where the frames are. */
typedef struct passing {
    tl_bytes *b;
    tl_columns frames;
    int64_t K; /* rows of H that the descent moves */
} passing;

static void pass_of_H(const passing *p, int64_t K, double *x)
{
    tl_columns_pass(&p->frames, p->b, x, K);
}

/* Coordinates: those that all machines have, then those of H. */
static void pass_vector(const passing *p, const tl_coordinates *x, double *v)
{
    int64_t everywhere = x->triangle + x->in_W;
    tl_bytes_doubles(p->b, v, everywhere);
    pass_of_H(p, p->K, v + everywhere);
}

static void pass_single(const passing *p, const tl_coordinates *x, float *v)
{
    int64_t everywhere = x->triangle + x->in_W;
    tl_bytes_pass(p->b, v, (size_t)everywhere * sizeof *v);
    tl_columns_pass_single(&p->frames, p->b, v + everywhere, p->K);
}

static void pass_pairs(const passing *p, tl_coordinates *x)
{
    tl_lbfgs *lbfgs = &x->lbfgs;
    tl_bytes_doubles(p->b, lbfgs->rho, TL_LBFGS_MOST);
    for (int i = 0; i < 2 * lbfgs->count; i++) {
        int64_t at = i % lbfgs->count * lbfgs->size;
        if (lbfgs->s != NULL)
            pass_vector(p, x, (i < lbfgs->count ? lbfgs->s : lbfgs->y) + at);
        else if (lbfgs->s_single != NULL)
            pass_single(p, x, (i < lbfgs->count ? lbfgs->s_single : lbfgs->y_single) + at);
    }
}

static void pass_cg(const passing *p, tl_coordinates *x)
{
    tl_cpu_cg *cg = &x->cg;
    if (cg->step == NULL)
        return;
    tl_bytes_doubles(p->b, &cg->rr, 1);
    pass_vector(p, x, cg->step);
    pass_vector(p, x, cg->residual);
    pass_vector(p, x, cg->d);
    tl_bytes_doubles(p->b, cg->P, x->in_W);
    pass_of_H(p, p->K, cg->Q);
    tl_bytes_doubles(p->b, cg->W, x->in_W);
    pass_of_H(p, p->K, cg->H);
}

/* Products of pairs are the same on all machines. A machine alone needs their inverses only. */
static void pass_products(const passing *p, tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    if (p->frames.sums == NULL)
        return;
    int64_t stale = x->stale;
    tl_bytes_integer(p->b, &stale);
    tl_bytes_pass(p->b, &x->products, sizeof x->products);
    x->stale = stale != 0;
}

/* The pair of the last step becomes one of the others, so that there is nothing beside them. */
static void settle_pairs(const passing *p, tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    if (p->frames.sums == NULL || p->b->mode == TL_BYTES_READ)
        return;
    if (x->products.pending)
        tl_coordinates_settle(self, false);
    for (int i = 0; i < x->lbfgs.count; i++)
        x->lbfgs.rho[i] = 1.0 / x->products.SY[i][i];
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

static void pass_coefficients(const passing *p, tl_cpu *self)
{
    const tl_engine *e = &self->is;
    if (p->frames.sums == NULL) {
        tl_bytes_doubles(p->b, self->X, e->M * self->data->T);
        tl_bytes_doubles(p->b, self->V, e->M * e->N);
    } else if (p->b->mode == TL_BYTES_READ && !p->b->bad) {
        tl_coefficients(self->data, self->in, self->Phi, self->X, self->V);
    }
}

void tl_cpu_state(tl_engine *e, tl_bytes *b)
{
    tl_cpu *self = (tl_cpu *)e;
    tl_coordinates *x = &self->x;
    const tlnmf_data *data = self->data;
    passing p = {b, {self->sums, data->N, data->first, data->all}, 0};
    settle_pairs(&p, self);
    pass_sizes(self, b);
    if (b->bad)
        return;
    p.K = x->over & TL_H ? e->K : 0;
    tl_bytes_doubles(b, self->Phi, e->M * e->M);
    tl_bytes_doubles(b, self->W, e->M * e->K);
    pass_of_H(&p, e->K, self->H);
    pass_coefficients(&p, self);
    tl_bytes_doubles(b, &x->unit, 1);
    pass_vector(&p, x, x->gradient);
    pass_vector(&p, x, x->metric);
    tl_bytes_doubles(b, x->P, x->in_W);
    pass_of_H(&p, p.K, x->Q);
    pass_pairs(&p, x);
    pass_products(&p, self);
    pass_cg(&p, x);
    if (b->mode == TL_BYTES_READ)
        self->U_is = TL_U_NOTHING;
}
