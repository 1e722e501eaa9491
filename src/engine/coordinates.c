/* Coordinates of a descent over any of Phi, sqrt W, sqrt H: gradient, metric, steps. */
#include "engine/cpu.h"
#include "model/weighted.h"

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
    int64_t in_W = spec->moves & TL_W ? M * K : 0, in_H = spec->moves & TL_H ? K * N : 0;
    int64_t triangle = spec->moves & TL_PHI ? M * (M - 1) / 2 : 0;
    int64_t size = triangle + in_W + in_H;
    int64_t fused = spec->sums != NULL ? triangle + M + 2 * in_W + MOST : 0;
    int64_t once = spec->newton ? 1 : 0; /* 1: allocate what conjugate gradients need */
    const tl_slot own[OWN] = {TL_SLOT(x->gradient, size),
                              TL_SLOT(x->direction, size),
                              TL_SLOT(x->metric, size),
                              TL_SLOT(x->P, in_W),
                              TL_SLOT(x->Q, in_H),
                              TL_SLOT(x->W_new, MK),
                              TL_SLOT(x->H_new, KN),
                              TL_SLOT(x->scratch, in_W + in_H),
                              TL_SLOT(x->fused, fused),
                              TL_SLOT(x->cg.step, once * size),
                              TL_SLOT(x->cg.residual, once * size),
                              TL_SLOT(x->cg.d, once * size),
                              TL_SLOT(x->cg.Hd, once * size),
                              TL_SLOT(x->cg.P, once * in_W),
                              TL_SLOT(x->cg.Q, once * in_H),
                              TL_SLOT(x->cg.W, once * in_W),
                              TL_SLOT(x->cg.H, once * in_H)};
    memcpy(slots, own, sizeof own);
    tl_lbfgs_slots(&x->lbfgs, size, slots + OWN);
}

/* Elementwise work is shared out in pieces of this many numbers, some 10 us. */
enum { PIECE = 16384 };

/* ---- gradient -------------------------------------------------------------------------------- */

/* Rows of an M x M matrix, and the packed lower triangle that is made from them. */
typedef struct packing {
    const tl_cpu *self;
    double *out;
} packing;

/* Rows are shared out so that a tile of the transpose stays in cache. */
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

/* This and the next are over the local frames. */
static void gradient_of_Phi(tl_cpu *self, double *out)
{
    tl_gradient(self->data, self->in, self->X, self->U, self->UX, self->G);
    pack_rows(self, pack_gradient, out);
}

typedef struct elements {
    const double *x, *y;
    double a, *out;
} elements;

static void multiply_piece(int64_t first, int64_t last, void *arg)
{
    const elements *e = arg;
    for (int64_t i = first; i < last; i++)
        e->out[i] *= e->x[i];
}

static void multiply_by(int64_t count, const double *x, double *out)
{
    tl_share(count, PIECE, multiply_piece, &(elements){.x = x, .out = out});
}

/* D = U - (V + eps) U^2 (U^2 / B where entries have weights B), in the memory of U. */
TL_HOT static void slope_piece(int64_t first, int64_t last, void *arg)
{
    const elements *e = arg;
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
             &(elements){self->V, self->data->B, self->is.eps, self->U});
}

/* dC/dVhat = D, so dC/dP = 2 P .* (D H') and dC/dQ = 2 Q .* (W' D). D
 * overwrites U. */
static void gradient_of_factors(tl_cpu *self, double *out)
{
    const tl_coordinates *x = &self->x;
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    const double *D = self->U;
    slopes(self);
    if (x->in_W > 0) {
        tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, K, N, 2.0, D, N, self->H, N, 0.0, out, K);
        multiply_by(x->in_W, x->P, out);
    }
    out += x->in_W;
    if (x->in_H > 0) {
        tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, M, 2.0 * x->unit, self->W, K, D, N, 0.0, out, N);
        multiply_by(x->in_H, x->Q, out);
    }
}

static void local_gradient(tl_cpu *self, double *out)
{
    const tl_coordinates *x = &self->x;
    tl_cpu_weights(self, x->over == TL_PHI ? TL_L : TL_C, self->is.eps);
    if (x->triangle > 0)
        gradient_of_Phi(self, out);
    if (x->in_W + x->in_H > 0)
        gradient_of_factors(self, out + x->triangle);
}

void tl_coordinates_gradient(tl_cpu *self, double *out)
{
    local_gradient(self, out);
    tl_sums_add(self->sums, out, self->x.triangle + self->x.in_W);
}

void tl_coordinates_learn(tl_cpu *self, const double *before)
{
    tl_coordinates *x = &self->x;
    int64_t everywhere = x->triangle + x->in_W;
    if (self->sums == NULL) {
        tl_coordinates_gradient(self, x->gradient);
        tl_lbfgs_learn(&x->lbfgs, before, x->gradient, x->metric);
        return;
    }
    local_gradient(self, x->gradient);
    tl_lbfgs_change(&x->lbfgs, everywhere, x->size, before, x->gradient);
    x->products.pending = true;
    tl_products_of own = {&x->lbfgs, x->gradient, x->metric, everywhere, x->size};
    tl_copy(x->fused, x->gradient, everywhere);
    int count = tl_products_pack(&x->products, &own, TL_PACK_PAIR, x->fused + everywhere);
    tl_sums_call(self->sums, x->fused, everywhere + count);
    tl_copy(x->gradient, x->fused, everywhere);
    tl_lbfgs_change(&x->lbfgs, 0, everywhere, before, x->gradient);
    tl_copy(x->products.of_H[TL_PACK_PAIR], x->fused + everywhere, count);
    x->stale = false;
}

/* ---- metric ---------------------------------------------------------------------------------- */

/* A coordinate without curvature (silent rows, a zero component) may have any metric. */
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
    const elements *e = arg;
    for (int64_t i = first; i < last; i++)
        e->out[i] = (e->a * e->x[i]) * (e->a * e->x[i]);
}

static void square(int64_t count, double scale, const double *x, double *out)
{
    tl_share(count, PIECE, square_piece, &(elements){.x = x, .a = scale, .out = out});
}

/* U^2 (H^2)' and (W^2)' U^2, with H and 1/U in units of unit^2, since their own squares may
 * overflow. U^2 overwrites U; the squares of W and H are in W_new and H_new. Over the local
 * frames. */
void tl_coordinates_curvature(tl_cpu *self, double *out)
{
    const tl_coordinates *x = &self->x;
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    double *U2 = self->U, *W2 = x->W_new, *H2 = x->H_new, unit = x->unit * x->unit;
    tl_cpu_weights(self, TL_C, self->is.eps);
    square(M * N, unit, self->U, U2);
    if (self->data->B != NULL)
        tl_weighted_once(M * N, self->data->B, U2);
    self->U_is = TL_U_NOTHING;
    if (x->in_W > 0) {
        square(K * N, 1.0 / unit, self->H, H2);
        tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, K, N, 1.0, U2, N, H2, N, 0.0, out, K);
    }
    if (x->in_H > 0) {
        square(M * K, 1.0, self->W, W2);
        tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, M, 1.0, W2, K, U2, N, 0.0, out + x->in_W, N);
    }
}

/* U H' and U' W beside the expected curvature: the parts of metric_of_factors. Over the local
 * frames. */
static void curvature_terms(tl_cpu *self, double *out)
{
    const tl_coordinates *x = &self->x;
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    double *mu = x->scratch, *mu_H = mu + x->in_W, unit = x->unit * x->unit;
    if (x->in_W > 0)
        tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, K, N, 1.2, self->U, N, self->H, N, 0.0, mu, K);
    if (x->in_H > 0)
        tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, M, 1.2 * unit, self->W, K, self->U, N, 0.0, mu_H, N);
    tl_coordinates_curvature(self, out);
}

/* The larger of the expected Hessian, 4 W .* (U^2 (H^2)'), and 0.3 of 4 U H', the metric of
 * multiplicative updates; the same for H, whose coordinate is Q / unit. `out` holds U^2 (H^2)'. */
static void metric_of_W(const tl_cpu *self, double *out)
{
    const double *mu = self->x.scratch;
    for (int64_t i = 0; i < self->x.in_W; i++)
        out[i] = positive(fmax(4.0 * self->W[i] * out[i], mu[i]));
}

static void metric_of_H(const tl_cpu *self, double *out)
{
    const double *mu = self->x.scratch + self->x.in_W, unit = self->x.unit * self->x.unit;
    for (int64_t i = 0; i < self->x.in_H; i++)
        out[i] = positive(fmax(4.0 * (self->H[i] / unit) * out[i], mu[i]));
}

/* One sum: the parts of the metric of Phi and W, and the products of H with the new metric. */
static void share_metric(tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    int64_t M = x->triangle > 0 ? self->is.M : 0, everywhere = x->triangle + x->in_W;
    double *diagonal = x->fused + everywhere, *mu = diagonal + M, *of_H = mu + x->in_W;
    tl_products_of own = {&x->lbfgs, x->gradient, x->metric, everywhere, x->size};
    tl_copy(x->fused, x->metric, everywhere);
    for (int64_t m = 0; m < M; m++)
        diagonal[m] = self->Gamma[m * M + m];
    tl_copy(mu, x->scratch, x->in_W);
    int count = tl_products_pack(&x->products, &own, TL_PACK_METRIC, of_H);
    tl_sums_call(self->sums, x->fused, everywhere + M + x->in_W + count);
    tl_copy(x->metric, x->fused, everywhere);
    for (int64_t m = 0; m < M; m++)
        self->Gamma[m * M + m] = diagonal[m];
    tl_copy(x->scratch, mu, x->in_W);
    tl_copy(x->products.of_H[TL_PACK_METRIC], of_H, count);
}

/* The metric: positive, and close to the diagonal of the Hessian. */
static void renew_metric(tl_cpu *self)
{
    tl_coordinates *x = &self->x;
    double *of_W = x->metric + x->triangle, *of_H = of_W + x->in_W;
    tl_cpu_weights(self, x->over == TL_PHI ? TL_L : TL_C, self->is.eps);
    if (x->triangle > 0)
        cross_terms(self, x->metric);
    if (x->in_W + x->in_H > 0)
        curvature_terms(self, of_W);
    metric_of_H(self, of_H);
    if (self->sums != NULL)
        share_metric(self);
    if (x->triangle > 0)
        pack_rows(self, pack_metric, x->metric);
    metric_of_W(self, of_W);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Completes the products after a new gradient or metric: the first machine sends the part of Phi
 * and W. Then the latest pair counts, unless its curvature is lost in rounding. */
static void settle(tl_cpu *self, bool renew)
{
    tl_coordinates *x = &self->x;
    tl_products *p = &x->products;
    int64_t everywhere = self->sums->rank == 0 ? x->triangle + x->in_W : 0;
    tl_products_of rest = {&x->lbfgs, x->gradient, x->metric, 0, everywhere};
    double parts[2 * TL_PRODUCTS_MOST];
    int of_pair = p->pending ? tl_products_pack(p, &rest, TL_PACK_PAIR, parts) : 0, of_metric = 0;
    if (renew) {
        renew_metric(self);
    } else if (x->stale) {
        tl_products_of own = {&x->lbfgs, x->gradient, x->metric, x->triangle + x->in_W, x->size};
        int count = tl_products_pack(p, &own, TL_PACK_METRIC, p->of_H[TL_PACK_METRIC]);
        tl_sums_call(self->sums, p->of_H[TL_PACK_METRIC], count);
    }
    if (renew || x->stale)
        of_metric = tl_products_pack(p, &rest, TL_PACK_METRIC, parts + of_pair);
    tl_sums_send(self->sums, parts, of_pair + of_metric, 0);
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
    if (self->sums == NULL)
        return tl_lbfgs_direction(&x->lbfgs, x->gradient, x->metric, x->direction);
    if (x->products.pending || x->stale)
        settle(self, false);
    return tl_products_direction(&x->products, &x->lbfgs, x->gradient, x->metric, x->direction);
}

/* Part of g' D^-1 g. */
TL_HOT static double norm_piece(int64_t first, int64_t last, void *arg)
{
    const elements *e = arg;
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
    if (self->sums != NULL) {
        settle(self, renew);
        return sqrt(x->products.gg / ((double)e->M * e->frames));
    }
    if (renew)
        renew_metric(self);
    double sum =
        tl_share_sum(x->size, PIECE, norm_piece, &(elements){.x = x->gradient, .y = x->metric});
    return sqrt(sum / ((double)e->M * e->frames));
}

/* ---- the point ------------------------------------------------------------------------------- */

void tl_coordinates_choose(tl_cpu *self, unsigned over)
{
    tl_coordinates *x = &self->x;
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    x->over = over;
    x->triangle = over & TL_PHI ? M * (M - 1) / 2 : 0;
    x->in_W = over & TL_W ? M * K : 0;
    x->in_H = over & TL_H ? K * N : 0;
    x->size = x->triangle + x->in_W + x->in_H;
    tl_lbfgs_begin(&x->lbfgs, x->size);
    x->products.pending = false;
    x->stale = true; /* until the norm of the gradient is asked for */
}

/* The largest entry of Q, over all frames. */
static void choose_unit(tl_cpu *self)
{
    double unit = 0.0;
    for (int64_t i = 0; i < self->is.K * self->is.N; i++)
        unit = fmax(unit, sqrt(self->H[i]));
    self->x.unit = positive(tl_sums_max(self->sums, unit));
}

double tl_cpu_begin(tl_engine *e, unsigned over)
{
    tl_cpu *self = (tl_cpu *)e;
    tl_coordinates *x = &self->x;
    tl_coordinates_choose(self, over);
    tl_cpu_weights(self, over == TL_PHI ? TL_L : TL_C, e->eps);
    double value = over == TL_PHI ? tl_cpu_L(self) : tl_cpu_C(self);
    for (int64_t i = 0; i < x->in_W; i++)
        x->P[i] = sqrt(self->W[i]);
    for (int64_t i = 0; i < x->in_H; i++)
        x->Q[i] = sqrt(self->H[i]);
    if (over != TL_PHI)
        choose_unit(self);
    tl_coordinates_gradient(self, x->gradient);
    return value;
}

/* ---- a step ---------------------------------------------------------------------------------- */

void tl_coordinates_aim(tl_cpu *self)
{
    if (self->x.triangle == 0)
        return;
    tl_skew_unpack(self->is.M, self->x.direction, self->E);
    tl_skew_prepare(&self->skew, self->E);
}

/* out = (x + a y)^2 */
static void move_piece(int64_t first, int64_t last, void *arg)
{
    const elements *e = arg;
    for (int64_t i = first; i < last; i++)
        e->out[i] = (e->x[i] + e->a * e->y[i]) * (e->x[i] + e->a * e->y[i]);
}

/* out = (x + a d)^2 */
static void move(int64_t count, const double *x, double a, const double *d, double *out)
{
    tl_share(count, PIECE, move_piece, &(elements){x, d, a, out});
}

static double largest(int64_t count, const double *x)
{
    double most = 0.0;
    for (int64_t i = 0; i < count; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* Beyond 1e300, W H may overflow; the sum of logarithms would not show it. */
static bool is_within_range(const tl_cpu *self, const double *W, const double *H)
{
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    return (double)K * largest(M * K, W) * largest(K * N, H) <= 1e300;
}

double tl_coordinates_C(tl_cpu *self, const double *W, const double *H)
{
    tl_cpu_weigh(self, W, H, self->is.eps);
    self->U_is = TL_U_NOTHING; /* U holds the weights of the step, not of the point */
    if (!is_within_range(self, W, H))
        self->U[0] = INFINITY; /* C, the sum over all machines, is then infinite, too */
    return tl_cpu_C(self);
}

double tl_coordinates_value(tl_cpu *self, double a)
{
    tl_coordinates *x = &self->x;
    if (x->triangle > 0)
        tl_cpu_turn(self, TL_EXP, a);
    if (x->over == TL_PHI)
        return tl_cpu_L(self);
    const double *d = x->direction + x->triangle;
    move(x->in_W, x->P, a, d, x->W_new);
    move(x->in_H, x->Q, a * x->unit, d + x->in_W, x->H_new);
    return tl_coordinates_C(self, x->in_W > 0 ? x->W_new : self->W,
                            x->in_H > 0 ? x->H_new : self->H);
}

static void advance(int64_t count, double a, const double *d, double *x)
{
    for (int64_t i = 0; i < count; i++)
        x[i] += a * d[i];
}

void tl_coordinates_accept(tl_cpu *self, double a)
{
    tl_coordinates *x = &self->x;
    const double *d = x->direction + x->triangle;
    if (x->triangle > 0)
        tl_cpu_swap(self);
    advance(x->in_W, a, d, x->P);
    advance(x->in_H, a * x->unit, d + x->in_W, x->Q);
    tl_copy(self->W, x->W_new, x->in_W);
    tl_copy(self->H, x->H_new, x->in_H);
    if (x->over != TL_PHI) { /* U holds the weights of the step, now the point */
        self->U_is = TL_U_WEIGHTS_C;
        self->U_floor = self->is.eps;
    }
}

void tl_coordinates_restore(tl_cpu *self)
{
    if (self->x.triangle > 0)
        tl_cpu_refresh(self);
    self->U_is = TL_U_NOTHING;
}
