/* The naive engine: slow and obvious plain loops, which tests compare the other engines with. */
#include "reference/naive_engine.h"

#include <math.h>

/* ---- create and free ------------------------------------------------------------------------- */

enum { POINT = 7, OWN = 14, SLOTS = 2 * POINT + OWN + TL_SKEW_SLOTS + 2 * TL_NAIVE_PAIRS };

static void point_slots(tl_naive_point *p, const tlnmf_data *data, int64_t K, tl_slot slots[POINT])
{
    int64_t M = data->M, N = data->N;
    const tl_slot parts[POINT] = {TL_SLOT(p->Phi, M * M), TL_SLOT(p->W, M * K),
                                  TL_SLOT(p->H, K * N),   TL_SLOT(p->X, M * data->T),
                                  TL_SLOT(p->V, M * N),   TL_SLOT(p->P, M * K),
                                  TL_SLOT(p->Q, K * N)};
    memcpy(slots, parts, sizeof parts);
}

static void lay_out(tl_naive *self, const tl_engine_spec *spec, tl_slot *table)
{
    const tlnmf_data *data = spec->model->data;
    int64_t M = data->M, N = data->N, K = spec->model->K;
    int64_t size = M * (M - 1) / 2 + M * K + K * N;
    const tl_slot own[OWN] = {TL_SLOT(self->U, M * N),       TL_SLOT(self->U_columns, M * data->T),
                              TL_SLOT(self->G, M * M),       TL_SLOT(self->Gamma, M * M),
                              TL_SLOT(self->E, M * M),       TL_SLOT(self->Q, M * M),
                              TL_SLOT(self->A, M * M),       TL_SLOT(self->B, M * M),
                              TL_SLOT(self->lent.a, M * M),  TL_SLOT(self->lent.b, M * M),
                              TL_SLOT(self->gradient, size), TL_SLOT(self->direction, size),
                              TL_SLOT(self->metric, size),   TL_SLOT(self->new_gradient, size)};
    point_slots(&self->at, data, K, table);
    table += POINT;
    point_slots(&self->step, data, K, table);
    table += POINT;
    memcpy(table, own, sizeof own);
    tl_skew_slots(&self->skew, M, table + OWN);
    table += OWN + TL_SKEW_SLOTS;
    for (int i = 0; i < TL_NAIVE_PAIRS; i++) {
        *table++ = (tl_slot)TL_SLOT(self->s[i], size);
        *table++ = (tl_slot)TL_SLOT(self->y[i], size);
    }
}

static size_t bytes(const tl_engine_spec *spec)
{
    tl_naive self;
    tl_slot table[SLOTS];
    lay_out(&self, spec, table);
    return sizeof self + TL_ARENA_BYTES(table);
}

static tlnmf_error create(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    const tl_model *model = spec->model;
    tl_naive *self, shell = {.is = {.ops = &tl_engine_naive,
                                    .M = model->data->M,
                                    .N = model->data->N,
                                    .K = model->K,
                                    .frames = (double)model->data->N,
                                    .mean_power = model->data->mean_power,
                                    .eps = model->eps},
                             .data = model->data,
                             .gamma = model->gamma,
                             .hooks = ctx->hooks};
    tl_slot table[SLOTS + 1] = {TL_SLOT(self, 1)};
    lay_out(&shell, spec, table + 1);
    *out = NULL;
    if (spec->frames_comm != NULL)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "the naive engine works on one process only");
    TRY(TL_ARENA(ctx, "the naive engine", table, &shell.block));
    *self = shell;
    *out = &self->is;
    return TLNMF_OK;
}

static void destroy(tl_engine *e)
{
    tl_hooks hooks = ((tl_naive *)e)->hooks;
    tl_release(&hooks, ((tl_naive *)e)->block);
}

/* ---- the point and what follows from it ------------------------------------------------------ */

void tl_naive_follow(const tl_naive *self, const tl_naive_point *p)
{
    const tlnmf_data *data = self->data;
    int64_t M = data->M, N = data->N, T = data->T;
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            p->V[m * N + n] = 0.0;
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++) {
                double x = 0.0;
                for (int64_t i = 0; i < M; i++)
                    x += p->Phi[m * M + i] * data->R[i * T + t];
                p->X[m * T + t] = x;
                p->V[m * N + n] += x * x;
            }
        }
}

void tl_naive_copy(const tl_naive *self, const tl_naive_point *from, tl_naive_point *to)
{
    int64_t M = self->is.M, N = self->is.N, K = self->is.K, T = self->data->T;
    tl_copy(to->Phi, from->Phi, M * M);
    tl_copy(to->W, from->W, M * K);
    tl_copy(to->H, from->H, K * N);
    tl_copy(to->X, from->X, M * T);
    tl_copy(to->V, from->V, M * N);
    tl_copy(to->P, from->P, M * K);
    tl_copy(to->Q, from->Q, K * N);
}

double tl_naive_weight(const tl_naive *self, int64_t i)
{
    return self->data->B != NULL ? self->data->B[i] : 1.0;
}

/* (2), (3) or (4) of one entry, from its power and what approximates it. */
static double entry(unsigned of, double v, double vhat)
{
    if (of == TL_L)
        return 1.0 + log(v);
    return of == TL_C ? v / vhat + log(vhat) : v / vhat - log(v / vhat) - 1.0;
}

double tl_naive_value(const tl_naive *self, unsigned of, const tl_naive_point *p)
{
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    double sum = 0.0;
    for (int64_t i = 0; i < M * N; i++) {
        double vhat = self->is.eps;
        for (int64_t k = 0; k < K; k++)
            vhat += p->W[i / N * K + k] * p->H[k * N + i % N];
        sum += tl_naive_weight(self, i) * entry(of, p->V[i] + self->is.eps, vhat);
    }
    return sum;
}

void tl_naive_weigh(tl_naive *self, unsigned of, double floor, const tl_naive_point *p)
{
    int64_t M = self->is.M, N = self->is.N;
    if (of == TL_C) {
        tl_naive_weights(M, N, self->is.K, p->W, p->H, floor, self->U);
        for (int64_t i = 0; i < M * N; i++)
            self->U[i] *= tl_naive_weight(self, i);
        return;
    }
    for (int64_t i = 0; i < M * N; i++)
        self->U[i] = tl_naive_weight(self, i) / (p->V[i] + floor);
}

void tl_naive_G(tl_naive *self, const tl_naive_point *p)
{
    const tlnmf_data *data = self->data;
    int64_t M = data->M, N = data->N, T = data->T;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < M; b++) {
            double sum = 0.0;
            for (int64_t n = 0; n < N; n++)
                for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                    sum += self->U[a * N + n] * p->X[a * T + t] * p->X[b * T + t];
            self->G[a * M + b] = 2.0 * sum;
        }
}

static tlnmf_error fill(tl_engine *e, unsigned parts, tl_fill filler, void *user)
{
    tl_naive *self = (tl_naive *)e;
    tl_point point = {.M = e->M,
                      .N = e->N,
                      .K = e->K,
                      .Phi = self->at.Phi,
                      .W = self->at.W,
                      .H = self->at.H,
                      .E = self->E,
                      .Q = self->Q,
                      .skew = &self->skew,
                      .lent = self->lent};
    (void)parts;
    TRY(filler(&point, user));
    tl_naive_follow(self, &self->at);
    return TLNMF_OK;
}

static void store(const tl_engine *e, double *Phi, double *W, double *H)
{
    const tl_naive_point *at = &((const tl_naive *)e)->at;
    if (Phi != NULL)
        tl_copy(Phi, at->Phi, e->M * e->M);
    if (W != NULL)
        tl_copy(W, at->W, e->M * e->K);
    if (H != NULL)
        tl_copy(H, at->H, e->K * e->N);
}

/* A = Phi' Phi, or Phi Phi'. */
static void products_of_rows(const tl_naive *self, bool columns, double *A)
{
    int64_t M = self->is.M;
    const double *Phi = self->at.Phi;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < M; b++) {
            A[a * M + b] = 0.0;
            for (int64_t i = 0; i < M; i++)
                A[a * M + b] +=
                    columns ? Phi[i * M + a] * Phi[i * M + b] : Phi[a * M + i] * Phi[b * M + i];
        }
}

/* Newton-Schulz, Phi <- Phi (3 I - Phi' Phi) / 2, converges to the nearest orthogonal matrix. */
static void orthogonalise(tl_naive *self)
{
    enum { ENOUGH = 20 }; /* each step doubles the digits: 5 reach rounding from errors of 0.1 */
    int64_t M = self->is.M;
    for (int i = 0; i < ENOUGH; i++) {
        products_of_rows(self, true, self->A);
        for (int64_t j = 0; j < M * M; j++)
            self->A[j] = (j % (M + 1) == 0 ? 1.5 : 0.0) - 0.5 * self->A[j];
        tl_naive_multiply(M, self->at.Phi, self->A, self->B);
        tl_copy(self->at.Phi, self->B, M * M);
    }
}

static void project(tl_engine *e, unsigned parts)
{
    tl_naive *self = (tl_naive *)e;
    if (parts & TL_PHI)
        orthogonalise(self);
    if (parts & TL_W)
        tl_naive_normalise(e->M, e->N, e->K, self->at.W, self->at.H);
    tl_naive_follow(self, &self->at);
}

static bool all_finite(int64_t count, const double *x)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static void look(tl_naive *self, tl_inspection *found)
{
    int64_t M = self->is.M, N = self->is.N;
    const double *B = self->data->B;
    double below = 0.0, count = 0.0;
    found->power_below = 0.0;
    for (int64_t m = 0; m < M; m++) {
        double energy = 0.0;
        for (int64_t n = 0; n < N; n++) {
            double v = self->at.V[m * N + n], counts = B == NULL || B[m * N + n] > 0.0 ? 1.0 : 0.0;
            energy += v;
            count += counts;
            below += v < self->is.eps ? counts : 0.0;
            found->power_below += v < self->is.eps ? counts * v : 0.0;
        }
        if (found->energy != NULL)
            found->energy[m] = energy;
    }
    found->below_floor = count > 0.0 ? below / count : 0.0;
    products_of_rows(self, false, self->A);
    found->orthogonality = 0.0;
    for (int64_t i = 0; i < M * M; i++)
        found->orthogonality =
            fmax(found->orthogonality, fabs(self->A[i] - (i % (M + 1) == 0 ? 1.0 : 0.0)));
}

static bool inspect(tl_engine *e, tl_inspection *found)
{
    tl_naive *self = (tl_naive *)e;
    int64_t M = e->M, N = e->N, K = e->K;
    if (found != NULL)
        look(self, found);
    return all_finite(M * N, self->at.V) && all_finite(M * K, self->at.W) &&
           all_finite(K * N, self->at.H);
}

/* ---- at the point, and phases ---------------------------------------------------------------- */

static tl_values values(tl_engine *e, unsigned which)
{
    tl_naive *self = (tl_naive *)e;
    return (tl_values){.C = which & TL_C && e->K > 0 ? tl_naive_value(self, TL_C, &self->at) : NAN,
                       .L = which & TL_L ? tl_naive_value(self, TL_L, &self->at) : NAN,
                       .I = which & TL_I && e->K > 0 ? tl_naive_value(self, TL_I, &self->at) : NAN};
}

static double gradient(tl_engine *e, unsigned of, double *Ganti)
{
    tl_naive *self = (tl_naive *)e;
    int64_t M = e->M;
    double sum = 0.0;
    tl_naive_weigh(self, of, e->eps, &self->at);
    tl_naive_G(self, &self->at);
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < M; b++) {
            double anti = 0.5 * (self->G[a * M + b] - self->G[b * M + a]);
            sum += anti * anti;
            if (Ganti != NULL)
                Ganti[a * M + b] = anti;
        }
    return sqrt(sum) / (2.0 * e->frames);
}

static void update(tl_engine *e, unsigned parts, int64_t count)
{
    const tl_naive *self = (const tl_naive *)e;
    tl_naive_nmf f = {e->M,       e->N,       e->K,       self->gamma,  e->eps,
                      self->at.V, self->at.W, self->at.H, self->data->B};
    for (int64_t i = 0; i < count; i++) {
        if (parts & TL_W)
            tl_naive_update(&f);
        else
            tl_naive_update_H(&f);
    }
}

/* (14) for rows a and b. Returns the gain, or 0 if it is not worth a rotation. */
static double turn_pair(tl_naive *self, int64_t a, int64_t b, double least)
{
    int64_t M = self->is.M, T = self->data->T;
    double *X = self->at.X, *Phi = self->at.Phi, *U = self->U_columns, gain;
    double angle =
        tl_naive_angle(&(tl_naive_pair){T, X + a * T, X + b * T, U + a * T, U + b * T}, &gain);
    if (!(gain > fmax(least, 1e-8 * self->is.frames)))
        return 0.0;
    tl_naive_turn(T, angle, X + a * T, X + b * T);
    tl_naive_turn(M, angle, Phi + a * M, Phi + b * M);
    return gain;
}

/* The result of a sweep depends on the order of pairs, so all engines use the same: rows in blocks
 * of eight; the pairs inside a block by the circle method, then those with each later block, row i
 * against row i + shift. */
static double turn_all(tl_naive *self, double least)
{
    enum { BLOCK = 8 };
    int64_t M = self->is.M;
    double gain = 0.0;
    for (int64_t a0 = 0; a0 < M; a0 += BLOCK) {
        for (int64_t round = 0; round < BLOCK - 1; round++)
            for (int64_t i = 0; i < BLOCK / 2; i++) {
                int64_t j = i == 0 ? BLOCK - 1 : (round + BLOCK - 1 - i) % (BLOCK - 1);
                int64_t k = (round + i) % (BLOCK - 1), a = a0 + tl_min(j, k), b = a0 + tl_max(j, k);
                if (b < M)
                    gain += turn_pair(self, a, b, least);
            }
        for (int64_t b0 = a0 + BLOCK; b0 < M; b0 += BLOCK)
            for (int64_t shift = 0; shift < BLOCK; shift++)
                for (int64_t i = 0; i < BLOCK; i++)
                    if (b0 + (i + shift) % BLOCK < M)
                        gain += turn_pair(self, a0 + i, b0 + (i + shift) % BLOCK, least);
    }
    return gain;
}

static double sweep(tl_engine *e, unsigned of, double floor, double least)
{
    tl_naive *self = (tl_naive *)e;
    const tlnmf_data *data = self->data;
    tl_naive_weigh(self, of, floor, &self->at);
    for (int64_t m = 0; m < e->M; m++)
        for (int64_t n = 0; n < e->N; n++)
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                self->U_columns[m * data->T + t] = self->U[m * e->N + n];
    double gain = turn_all(self, least);
    tl_naive_follow(self, &self->at);
    return gain;
}

/* ---- quasi-Newton lines ---------------------------------------------------------------------- */

/* (11), or (12) on L: there G and Gamma are divided by 2N, and Gamma has V + eps. */
static tl_aim quasi_newton(tl_naive *self, bool on_L)
{
    int64_t M = self->is.M, N = self->is.N;
    double scale = on_L ? 0.5 / self->is.frames : 1.0, least = on_L ? 1e-9 : 0.0;
    tl_aim aim = {.norm = gradient(&self->is, on_L ? TL_L : TL_C, NULL)};
    tl_naive_gamma(M, N, self->U, self->at.V, self->Gamma);
    for (int64_t a = 0; on_L && a < M; a++)
        for (int64_t b = 0; b < M; b++)
            for (int64_t n = 0; n < N; n++)
                self->Gamma[a * M + b] += 2.0 * self->U[a * N + n] * self->is.eps;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < M; b++) {
            double anti = 0.5 * scale * (self->G[a * M + b] - self->G[b * M + a]);
            double sym = 0.5 * scale * (self->Gamma[a * M + b] + self->Gamma[b * M + a]) -
                         (on_L ? 1.0 : 0.0);
            self->E[a * M + b] = a != b && sym > least ? -anti / sym : 0.0;
            aim.slope += self->E[a * M + b] * anti;
        }
    if (!on_L)
        aim.value = tl_naive_value(self, TL_C, &self->at);
    return aim;
}

static tl_aim aim(tl_engine *e, tl_direction how)
{
    tl_naive *self = (tl_naive *)e;
    self->how = how;
    if (how == TL_QUASI_NEWTON_C || how == TL_QUASI_NEWTON_L)
        return quasi_newton(self, how == TL_QUASI_NEWTON_L);
    return tl_naive_aim(e, how);
}

static double try_step(tl_engine *e, double a)
{
    tl_naive *self = (tl_naive *)e;
    int64_t M = e->M;
    bool on_L = self->how == TL_QUASI_NEWTON_L;
    if (!on_L && self->how != TL_QUASI_NEWTON_C)
        return tl_naive_try(e, a);
    tl_naive_copy(self, &self->at, &self->step);
    for (int64_t i = 0; i < M * M; i++)
        self->A[i] = a * self->E[i];
    if (on_L)
        tl_naive_polar(M, self->A, self->Q, self->B);
    else
        tl_naive_exp(M, self->A, self->Q, self->B);
    tl_naive_multiply(M, self->Q, self->at.Phi, self->step.Phi);
    tl_naive_follow(self, &self->step);
    return tl_naive_value(self, on_L ? TL_L : TL_C, &self->step);
}

static double slope(tl_engine *e)
{
    tl_naive *self = (tl_naive *)e;
    double sum = 0.0;
    tl_naive_weigh(self, TL_C, e->eps, &self->step);
    tl_naive_G(self, &self->step);
    for (int64_t i = 0; i < e->M * e->M; i++)
        sum += self->E[i] * self->G[i];
    return sum;
}

static void take(tl_engine *e, double a)
{
    tl_naive *self = (tl_naive *)e;
    if (a == 0.0) /* the point has not moved */
        return;
    if (self->how == TL_QUASI_NEWTON_C || self->how == TL_QUASI_NEWTON_L)
        tl_naive_copy(self, &self->step, &self->at);
    else
        tl_naive_take(e, a);
}

const tl_engine_ops tl_engine_naive = {
    .name = "naive",
    .create = create,
    .bytes = bytes,
    .free = destroy,
    .fill = fill,
    .store = store,
    .project = project,
    .inspect = inspect,
    .values = values,
    .gradient = gradient,
    .update = update,
    .sweep = sweep,
    .aim = aim,
    .try = try_step,
    .slope = slope,
    .take = take,
    .begin = tl_naive_begin,
    .norm = tl_naive_norm,
    .revive = tl_naive_revive,
};
