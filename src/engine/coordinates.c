/* Coordinates of a descent over any of Phi, sqrt W, sqrt H: gradient, metric, steps. */
#include "engine/cpu.h"

#include <math.h>

void tl_coordinates_slots(tl_coordinates *x, const tl_engine_spec *spec,
                          tl_slot slots[TL_COORDINATES_SLOTS])
{
    enum { OWN = TL_COORDINATES_SLOTS - TL_LBFGS_SLOTS, MOST = 2 * TL_PRODUCTS_MOST };
    x->moves = spec->moves;
    const tlnmf_data *data = spec->model->data;
    int64_t M = data->M, N = data->N, K = spec->model->K;
    bool factors = spec->moves & (TL_W | TL_H);
    int64_t MK = factors ? M * K : 0, KN = factors ? K * N : 0;
    const tl_counts n = tl_counts_of(spec->moves, M, N, K);
    int64_t fused = spec->frames_comm != NULL ? n.Phi + M + 2 * n.W + MOST : 0;
    const tl_slot own[OWN] = {TL_SLOT(x->gradient, n.all), TL_SLOT(x->direction, n.all),
                              TL_SLOT(x->metric, n.all),   TL_SLOT(x->P, n.W),
                              TL_SLOT(x->Q, n.H),          TL_SLOT(x->W_new, MK),
                              TL_SLOT(x->H_new, KN),       TL_SLOT(x->scratch, n.W + n.H),
                              TL_SLOT(x->fused, fused)};
    memcpy(slots, own, sizeof own);
    tl_lbfgs_slots(&x->lbfgs, n.all, slots + OWN);
}

/* Elementwise work is divided into pieces of this many numbers, some 10 us. */
enum { PIECE = 16384 };

/* ---- gradient -------------------------------------------------------------------------------- */

/* Rows of an M x M matrix, and the packed lower triangle that is made from them. */
typedef struct packing {
    const tl_cpu *self;
    double *out;
} packing;

/* Rows are divided so that a tile of the transpose stays in cache. */
static void pack_rows(tl_cpu *self, tl_piece rows, double *out)
{
    enum { TILE = 16 };
    tl_share(self->is.M, tl_max(TILE, PIECE / self->is.M / TILE * TILE), rows,
             &(packing){self, out});
}

/* Along e_ab the derivative is <E, G> = G_ab - G_ba. */
static void pack_gradient(int64_t first, int64_t last, void *arg)
{
    const packing *p = arg;
    int64_t M = p->self->is.M;
    const double *G = p->self->G;
    for (int64_t b = 0; b < last; b++) /* by columns: a row of G' is read once */
        for (int64_t a = tl_max(first, b + 1); a < last; a++)
            p->out[a * (a - 1) / 2 + b] = G[a * M + b] - G[b * M + a];
}

/* Over the local frames. */
static void gradient_of_Phi(tl_cpu *self, double *out)
{
    tl_gradient(self->data, self->in, self->X, self->U, self->UX, self->G);
    pack_rows(self, pack_gradient, out);
}

static void multiply_piece(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    for (int64_t i = first; i < last; i++)
        e->out[i] *= e->x[i];
}

static void multiply_by(int64_t count, const double *x, double *out)
{
    tl_share(count, PIECE, multiply_piece, &(tl_elements){.x = x, .out = out});
}

/* D = U - (V + eps) U^2 (U^2 / B where entries have weights B), in the memory of U. */
TL_HOT static void slope_piece(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    const double *V = e->x, *B = e->y, eps = e->a;
    double *D = e->out;
    if (B != NULL)
        for (int64_t i = first; i < last; i++)
            D[i] = B[i] > 0.0 ? D[i] - (V[i] + eps) * D[i] * (D[i] / B[i]) : 0.0;
    else
        for (int64_t i = first; i < last; i++)
            D[i] -= (V[i] + eps) * D[i] * D[i];
}

static void slopes(tl_cpu *self)
{
    self->U_is = TL_U_NOTHING;
    tl_share(self->is.M * self->is.N, PIECE, slope_piece,
             &(tl_elements){.x = self->V, .y = self->data->B, .a = self->is.eps, .out = self->U});
}

/* dC/dVhat = D, so dC/dP = 2 P .* (D H') and dC/dQ = 2 Q .* (W' D). Over the local frames. D
 * overwrites U. */
static void gradient_of_factors(tl_cpu *self, double *out)
{
    const tl_coordinates *x = &self->x;
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    const double *D = self->U;
    slopes(self);
    if (x->n.W > 0) {
        tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, K, N, 2.0, D, N, self->H, N, 0.0, out, K);
        multiply_by(x->n.W, x->P, out);
    }
    out += x->n.W;
    if (x->n.H > 0) {
        tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, M, 2.0 * x->unit, self->W, K, D, N, 0.0, out, N);
        multiply_by(x->n.H, x->Q, out);
    }
}

static void local_gradient(tl_cpu *self, double *out)
{
    const tl_coordinates *x = &self->x;
    tl_cpu_weights(self, x->over == TL_PHI ? TL_L : TL_C, self->is.eps);
    if (x->n.Phi > 0)
        gradient_of_Phi(self, out);
    if (x->n.W + x->n.H > 0)
        gradient_of_factors(self, out + x->n.Phi);
}

static void global_gradient(tl_cpu *self, double *out)
{
    local_gradient(self, out);
    tl_comm_add(self->frames_comm, out, self->x.n.Phi + self->x.n.W);
}

void tl_coordinates_learn(tl_cpu *self, const double *before)
{
    tl_coordinates *x = &self->x;
    int64_t everywhere = x->n.Phi + x->n.W;
    if (self->frames_comm == NULL) {
        global_gradient(self, x->gradient);
        tl_lbfgs_learn(&x->lbfgs, before, x->gradient, x->metric);
        return;
    }
    local_gradient(self, x->gradient);
    tl_lbfgs_change(&x->lbfgs, everywhere, x->n.all, before, x->gradient);
    x->products.pending = true;
    tl_products_of own = {&x->lbfgs, x->gradient, x->metric, everywhere, x->n.all};
    tl_copy(x->fused, x->gradient, everywhere);
    int count = tl_products_pack(&x->products, &own, TL_PACK_PAIR, x->fused + everywhere);
    tl_comm_add(self->frames_comm, x->fused, everywhere + count);
    tl_copy(x->gradient, x->fused, everywhere);
    tl_lbfgs_change(&x->lbfgs, 0, everywhere, before, x->gradient);
    tl_copy(x->products.of_H[TL_PACK_PAIR], x->fused + everywhere, count);
    x->stale = false;
}

/* ---- metric ---------------------------------------------------------------------------------- */

/* A coordinate without curvature (a silent row, a zero component) may have any metric: 1. */
static double positive(double x)
{
    return x > 0.0 ? x : 1.0;
}

static void pack_cross_terms(int64_t first, int64_t last, void *arg)
{
    const packing *p = arg;
    int64_t M = p->self->is.M;
    const double *Gamma = p->self->Gamma;
    for (int64_t b = 0; b < last; b++)
        for (int64_t a = tl_max(first, b + 1); a < last; a++)
            p->out[a * (a - 1) / 2 + b] = Gamma[a * M + b] + Gamma[b * M + a];
}

/* Gamma_ab + Gamma_ba, where the metric goes; the diagonal stays in Gamma. Over the local frames.
 */
static void cross_terms(tl_cpu *self, double *cross)
{
    tl_cpu_gamma(self);
    pack_rows(self, pack_cross_terms, cross);
}

/* (13), the second derivative along e_ab at fixed weights, floored where it is small or negative;
 * `out` holds the cross terms. */
static void pack_metric(int64_t first, int64_t last, void *arg)
{
    const packing *p = arg;
    int64_t M = p->self->is.M;
    const double *Gamma = p->self->Gamma;
    for (int64_t a = first; a < last; a++)
        for (int64_t b = 0; b < a; b++) {
            double *out = p->out + a * (a - 1) / 2 + b, cross = *out;
            double exact = cross - Gamma[a * M + a] - Gamma[b * M + b];
            *out = positive(fmax(exact, 0.1 * cross));
        }
}

static void square_piece(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    for (int64_t i = first; i < last; i++)
        e->out[i] = (e->a * e->x[i]) * (e->a * e->x[i]);
}

static void square(int64_t count, double scale, const double *x, double *out)
{
    tl_share(count, PIECE, square_piece, &(tl_elements){.x = x, .a = scale, .out = out});
}

/* U^2 (H^2)' and (W^2)' U^2, with H and 1/U in units of unit^2, since their own squares may
 * overflow. U^2 overwrites U; the squares of W and H are in W_new and H_new. Over the local
 * frames. */
static void curvature(tl_cpu *self, double *out)
{
    const tl_coordinates *x = &self->x;
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    double *U2 = self->U, *W2 = x->W_new, *H2 = x->H_new, unit = x->unit * x->unit;
    tl_cpu_weights(self, TL_C, self->is.eps);
    square(M * N, unit, self->U, U2);
    if (self->data->B != NULL)
        tl_weighted_once(M * N, self->data->B, U2);
    self->U_is = TL_U_NOTHING;
    if (x->n.W > 0) {
        square(K * N, 1.0 / unit, self->H, H2);
        tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, K, N, 1.0, U2, N, H2, N, 0.0, out, K);
    }
    if (x->n.H > 0) {
        square(M * K, 1.0, self->W, W2);
        tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, M, 1.0, W2, K, U2, N, 0.0, out + x->n.W, N);
    }
}

/* The parts of the metric of W and H, over the local frames: 0.3 of the metric of multiplicative
 * updates (4 U H' and 4 W' U) in scratch, the expected curvature in `out`. */
static void curvature_terms(tl_cpu *self, double *out)
{
    const tl_coordinates *x = &self->x;
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    const double of_updates = 4.0 * 0.3;
    double *mu = x->scratch, *mu_H = mu + x->n.W, unit = x->unit * x->unit;
    if (x->n.W > 0)
        tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, K, N, of_updates, self->U, N, self->H, N, 0.0, mu, K);
    if (x->n.H > 0)
        tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, M, of_updates * unit, self->W, K, self->U, N, 0.0,
                mu_H, N);
    curvature(self, out);
}

/* The metric is the larger of the expected Hessian, 4 W .* (U^2 (H^2)'), and 0.3 of 4 U H', the
 * metric of multiplicative updates, which is in scratch. `out` holds U^2 (H^2)'. The same for H,
 * whose coordinate is Q / unit. */
static void metric_of_W(const tl_cpu *self, double *out)
{
    const double *mu = self->x.scratch;
    for (int64_t i = 0; i < self->x.n.W; i++)
        out[i] = positive(fmax(4.0 * self->W[i] * out[i], mu[i]));
}

static void metric_of_H(const tl_cpu *self, double *out)
{
    const double *mu = self->x.scratch + self->x.n.W, unit = self->x.unit * self->x.unit;
    for (int64_t i = 0; i < self->x.n.H; i++)
        out[i] = positive(fmax(4.0 * (self->H[i] / unit) * out[i], mu[i]));
}

/* One sum: the parts of the metric of Phi and W, and the products of H with the new metric. */
static void share_metric(tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    int64_t M = x->n.Phi > 0 ? self->is.M : 0, everywhere = x->n.Phi + x->n.W;
    double *diagonal = x->fused + everywhere, *mu = diagonal + M, *of_H = mu + x->n.W;
    tl_products_of own = {&x->lbfgs, x->gradient, x->metric, everywhere, x->n.all};
    tl_copy(x->fused, x->metric, everywhere);
    for (int64_t m = 0; m < M; m++)
        diagonal[m] = self->Gamma[m * M + m];
    tl_copy(mu, x->scratch, x->n.W);
    int count = tl_products_pack(&x->products, &own, TL_PACK_METRIC, of_H);
    tl_comm_add(self->frames_comm, x->fused, everywhere + M + x->n.W + count);
    tl_copy(x->metric, x->fused, everywhere);
    for (int64_t m = 0; m < M; m++)
        self->Gamma[m * M + m] = diagonal[m];
    tl_copy(x->scratch, mu, x->n.W);
    tl_copy(x->products.of_H[TL_PACK_METRIC], of_H, count);
}

/* The metric: positive, and close to the diagonal of the Hessian. */
static void renew_metric(tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    double *of_W = x->metric + x->n.Phi, *of_H = of_W + x->n.W;
    tl_cpu_weights(self, x->over == TL_PHI ? TL_L : TL_C, self->is.eps);
    if (x->n.Phi > 0)
        cross_terms(self, x->metric);
    if (x->n.W + x->n.H > 0)
        curvature_terms(self, of_W);
    metric_of_H(self, of_H);
    if (self->frames_comm != NULL)
        share_metric(self);
    if (x->n.Phi > 0)
        pack_rows(self, pack_metric, x->metric);
    metric_of_W(self, of_W);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Completes the products after a new gradient or metric. The first process sends the part of Phi
 * and W. Then the latest pair is stored, unless its curvature is lost in rounding. */
static void settle(tl_cpu *self, bool renew)
{
    tl_coordinates *x = &self->x;
    tl_products *p = &x->products;
    int64_t everywhere = self->frames_comm->rank == 0 ? x->n.Phi + x->n.W : 0;
    tl_products_of rest = {&x->lbfgs, x->gradient, x->metric, 0, everywhere};
    double parts[2 * TL_PRODUCTS_MOST];
    int of_pair = p->pending ? tl_products_pack(p, &rest, TL_PACK_PAIR, parts) : 0, of_metric = 0;
    if (renew) {
        renew_metric(self);
    } else if (x->stale) {
        tl_products_of own = {&x->lbfgs, x->gradient, x->metric, x->n.Phi + x->n.W, x->n.all};
        int count = tl_products_pack(p, &own, TL_PACK_METRIC, p->of_H[TL_PACK_METRIC]);
        tl_comm_add(self->frames_comm, p->of_H[TL_PACK_METRIC], count);
    }
    if (renew || x->stale)
        of_metric = tl_products_pack(p, &rest, TL_PACK_METRIC, parts + of_pair);
    tl_comm_send(self->frames_comm, parts, of_pair + of_metric, 0);
    bool curved = false;
    if (p->pending) {
        int k = x->lbfgs.next;
        tl_products_set(p, &x->lbfgs, TL_PACK_PAIR, parts);
        curved = tl_lbfgs_is_curved(p->ss, p->YY[k][k], p->SY[k][k]);
    }
    if (of_metric > 0)
        tl_products_set(p, &x->lbfgs, TL_PACK_METRIC, parts + of_pair);
    if (curved)
        tl_lbfgs_keep(&x->lbfgs);
    p->pending = x->stale = false;
}

double tl_coordinates_direction(tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    if (self->frames_comm == NULL)
        return tl_lbfgs_direction(&x->lbfgs, x->gradient, x->metric, x->direction);
    if (x->products.pending || x->stale)
        settle(self, false);
    return tl_products_direction(&x->products, &x->lbfgs, x->gradient, x->metric, x->direction);
}

/* Part of g' D^-1 g. */
TL_HOT static double norm_piece(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    const double *gradient = e->x, *metric = e->y;
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = first; i < last; i++)
        sum += gradient[i] * gradient[i] / metric[i];
    return sum;
}

double tl_cpu_norm(tl_engine *e, bool renew)
{
    tl_cpu *self = (tl_cpu *)e;
    const tl_coordinates *x = &self->x;
    if (self->frames_comm != NULL) {
        settle(self, renew);
        return sqrt(x->products.gg / ((double)e->M * e->frames));
    }
    if (renew)
        renew_metric(self);
    double sum =
        tl_share_sum(x->n.all, PIECE, norm_piece, &(tl_elements){.x = x->gradient, .y = x->metric});
    return sqrt(sum / ((double)e->M * e->frames));
}

/* ---- the point ------------------------------------------------------------------------------- */

/* Sets the sizes of a descent over these parts; L-BFGS drops its pairs. */
static void choose(tl_cpu *self, unsigned over)
{
    tl_coordinates *x = &self->x;
    x->over = over;
    x->n = tl_counts_of(over, self->is.M, self->is.N, self->is.K);
    tl_lbfgs_begin(&x->lbfgs, x->n.all);
    x->products.pending = false;
    x->stale = true; /* until tl_cpu_norm() or tl_coordinates_direction() */
}

/* The largest entry of Q, over all frames. */
static void choose_unit(tl_cpu *self)
{
    double unit = 0.0;
    for (int64_t i = 0; i < self->is.K * self->is.N; i++)
        unit = fmax(unit, sqrt(self->H[i]));
    self->x.unit = positive(tl_comm_max(self->frames_comm, unit));
}

double tl_cpu_begin(tl_engine *e, unsigned over)
{
    tl_cpu *self = (tl_cpu *)e;
    tl_coordinates *x = &self->x;
    choose(self, over);
    tl_cpu_weights(self, over == TL_PHI ? TL_L : TL_C, e->eps);
    double value = over == TL_PHI ? tl_cpu_L(self) : tl_cpu_C(self);
    for (int64_t i = 0; i < x->n.W; i++)
        x->P[i] = sqrt(self->W[i]);
    for (int64_t i = 0; i < x->n.H; i++)
        x->Q[i] = sqrt(self->H[i]);
    if (over != TL_PHI)
        choose_unit(self);
    global_gradient(self, x->gradient);
    return value;
}

/* ---- a step ---------------------------------------------------------------------------------- */

void tl_coordinates_aim(tl_cpu *self)
{
    if (self->x.n.Phi == 0)
        return;
    tl_skew_unpack(self->is.M, self->x.direction, self->E);
    tl_skew_prepare(&self->skew, self->E);
}

static void move_piece(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    for (int64_t i = first; i < last; i++)
        e->out[i] = (e->x[i] + e->a * e->y[i]) * (e->x[i] + e->a * e->y[i]);
}

/* out = (x + a d)^2 */
static void move(int64_t count, const double *x, double a, const double *d, double *out)
{
    tl_share(count, PIECE, move_piece, &(tl_elements){.x = x, .y = d, .a = a, .out = out});
}

static double largest(int64_t count, const double *x)
{
    double most = 0.0;
    for (int64_t i = 0; i < count; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* Whether W H cannot overflow. If it did, the sum of logarithms would not show it. */
static bool is_within_range(const tl_cpu *self, const double *W, const double *H)
{
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    return (double)K * largest(M * K, W) * largest(K * N, H) <= 1e300;
}

/* C at these factors; infinite if W H may overflow. Overwrites U. */
static double C_at(tl_cpu *self, const double *W, const double *H)
{
    tl_cpu_weigh(self, W, H, self->is.eps);
    self->U_is = TL_U_NOTHING; /* U holds the weights of the step, not of the point */
    if (!is_within_range(self, W, H))
        self->U[0] = INFINITY; /* then C, the sum over all processes, is also infinite */
    return tl_cpu_C(self);
}

double tl_coordinates_value(tl_cpu *self, double a)
{
    tl_coordinates *x = &self->x;
    if (x->n.Phi > 0)
        tl_cpu_turn(self, TL_EXP, a);
    if (x->over == TL_PHI)
        return tl_cpu_L(self);
    const double *d = x->direction + x->n.Phi;
    move(x->n.W, x->P, a, d, x->W_new);
    move(x->n.H, x->Q, a * x->unit, d + x->n.W, x->H_new);
    return C_at(self, x->n.W > 0 ? x->W_new : self->W, x->n.H > 0 ? x->H_new : self->H);
}

static void advance(int64_t count, double a, const double *d, double *x)
{
    for (int64_t i = 0; i < count; i++)
        x[i] += a * d[i];
}

void tl_coordinates_accept(tl_cpu *self, double a)
{
    tl_coordinates *x = &self->x;
    const double *d = x->direction + x->n.Phi;
    if (x->n.Phi > 0)
        tl_cpu_swap(self);
    advance(x->n.W, a, d, x->P);
    advance(x->n.H, a * x->unit, d + x->n.W, x->Q);
    tl_copy(self->W, x->W_new, x->n.W);
    tl_copy(self->H, x->H_new, x->n.H);
    if (x->over != TL_PHI) { /* U holds the weights of the step, now the point */
        self->U_is = TL_U_WEIGHTS_C;
        self->U_floor = self->is.eps;
    }
}

void tl_coordinates_restore(tl_cpu *self)
{
    if (self->x.n.Phi > 0)
        tl_cpu_refresh(self);
    self->U_is = TL_U_NOTHING;
}

/* ---- entries that came too close to zero ------------------------------------------------------
 */

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
        if ((is_W ? revived : tl_comm_of(self->frames_comm, revived)) == 0.0)
            return false;
        double now = C_at(self, is_W ? f->out : self->W, is_W ? self->H : f->out);
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
    const double *gradient = x->gradient + x->n.Phi;
    if (!(x->over & (TL_W | TL_H)))
        return false;
    curvature(self, x->scratch);
    tl_comm_add(self->frames_comm, x->scratch, x->n.W);
    factor W = {x->n.W, self->W, x->W_new, x->P, gradient, x->scratch, 1.0};
    factor H = {x->n.H, self->H, x->H_new, x->Q, gradient + x->n.W, x->scratch + x->n.W, x->unit};
    /* a process without frames has no entry of H, but makes the same sums */
    return (x->over & TL_W && revive_factor(self, &W, least)) ||
           (x->over & TL_H && revive_factor(self, &H, least));
}
