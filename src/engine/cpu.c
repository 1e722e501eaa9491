/* The engine on the CPU: its arrays, the point, the phases. The mixed engine also computes products
 * and sweeps in single precision while a solver allows it. Sums, C, L and I are always in double,
 * and so is the end of a run. */
#include "engine/cpu.h"

#include <math.h>

/* ---- create and free ------------------------------------------------------------------------- */

/* Scratch that the gradient and sweeps share. */
static int64_t scratch_size(const tl_engine_spec *spec)
{
    const tlnmf_data *data = spec->model->data;
    return tl_max(tl_gradient_scratch(data),
                  tl_sweep_scratch(data, spec->frames_comm, spec->threads));
}

enum { OWN_SLOTS = 12, SLOTS = OWN_SLOTS + TL_SKEW_SLOTS + TL_MU_SLOTS + TL_COORDINATES_SLOTS };

/* The size of sums_W. */
static int64_t factor_sums(const tl_engine_spec *spec)
{
    const tlnmf_data *data = spec->model->data;
    if (data->B != NULL)
        return 2 * spec->model->K * tl_max(data->M, data->N);
    return spec->frames_comm != NULL ? 2 * spec->model->K * data->M : 0;
}

static void lay_out(tl_cpu *self, const tl_engine_spec *spec, tl_slot table[SLOTS])
{
    const tlnmf_data *data = spec->model->data;
    int64_t M = data->M, N = data->N, K = spec->model->K, T = data->T;
    const tl_slot own[OWN_SLOTS] = {TL_SLOT(self->Phi, M * M),
                                    TL_SLOT(self->W, M * K),
                                    TL_SLOT(self->H, K * N),
                                    TL_SLOT(self->Phi_new, M * M),
                                    TL_SLOT(self->X, M * T),
                                    TL_SLOT(self->V, M * N),
                                    TL_SLOT(self->U, M * N),
                                    TL_SLOT(self->G, M * M),
                                    TL_SLOT(self->E, M * M),
                                    TL_SLOT(self->Gamma, M * M),
                                    TL_SLOT(self->UX, scratch_size(spec)),
                                    TL_SLOT(self->sums_W, factor_sums(spec))};
    memcpy(table, own, sizeof own);
    tl_skew_slots(&self->skew, M, table + OWN_SLOTS);
    tl_mu_slots(&self->mu, M, N, K, table + OWN_SLOTS + TL_SKEW_SLOTS);
    tl_coordinates_slots(&self->x, spec, table + OWN_SLOTS + TL_SKEW_SLOTS + TL_MU_SLOTS);
}

static size_t bytes(const tl_engine_spec *spec)
{
    tl_cpu self;
    tl_slot table[SLOTS];
    lay_out(&self, spec, table);
    return sizeof self + TL_ARENA_BYTES(table);
}

/* The longest inner dimension of a product in single precision: Phi R, (10), or a panel of the
 * gradient. */
static int64_t inner(const tlnmf_data *data)
{
    return tl_max(tl_max(data->M, data->N), tl_gradient_scratch(data) / data->M);
}

static size_t mixed_bytes(const tl_engine_spec *spec)
{
    const tlnmf_data *data = spec->model->data;
    tl_rounded rows;
    tl_slot table[TL_ROUNDED_SLOTS];
    tl_rounded_slots(&rows, data, spec->frames_comm, spec->threads, table);
    return bytes(spec) + TL_ARENA_BYTES(table) + tl_single_bytes(data->M, inner(data));
}

static void destroy(tl_engine *e)
{
    tl_cpu *self = (tl_cpu *)e;
    tl_hooks hooks = self->hooks;
    tl_release(&hooks, self->single.block);
    tl_release(&hooks, self->rows_block);
    tl_release(&hooks, self->block);
    tl_release(&hooks, self);
}

/* Allocates the arrays. */
static tlnmf_error prepare(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_cpu *self)
{
    const tlnmf_data *data = spec->model->data;
    tl_slot table[SLOTS], rounded[TL_ROUNDED_SLOTS];
    lay_out(self, spec, table);
    TRY(TL_ARENA(ctx, "a start's arrays", table, &self->block));
    if (self->is.ops != &tl_engine_mixed)
        return TLNMF_OK;
    tl_rounded_slots(&self->rows, data, spec->frames_comm, spec->threads, rounded);
    TRY(TL_ARENA(ctx, "sweeps in single precision", rounded, &self->rows_block));
    return tl_single_create(ctx, data->M, inner(data), &self->single);
}

static tlnmf_error create_as(tlnmf_ctx *ctx, const tl_engine_spec *spec, const tl_engine_ops *ops,
                             tl_engine **out)
{
    const tl_model *model = spec->model;
    tl_cpu *self;
    void *block;
    tl_slot table[] = {TL_SLOT(self, 1)};
    *out = NULL;
    TRY(TL_ARENA(ctx, "an engine", table, &block));
    *self = (tl_cpu){.is = {.ops = ops,
                            .M = model->data->M,
                            .N = model->data->N,
                            .K = model->K,
                            .frames = (double)model->data->all,
                            .mean_power = model->data->mean_power,
                            .eps = model->eps},
                     .data = model->data,
                     .frames_comm = spec->frames_comm,
                     .threads = spec->threads,
                     .in = &tl_double,
                     .mu = {.gamma = model->gamma},
                     .hooks = ctx->hooks};
    tlnmf_error error = prepare(ctx, spec, self);
    if (error == TLNMF_OK)
        *out = &self->is;
    else
        destroy(&self->is);
    return error;
}

static tlnmf_error create(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    return create_as(ctx, spec, &tl_engine_cpu, out);
}

static tlnmf_error create_mixed(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    return create_as(ctx, spec, &tl_engine_mixed, out);
}

/* ---- which arrays are up to date ------------------------------------------------------------- */

void tl_cpu_V_changed(tl_cpu *self)
{
    if (self->U_is != TL_U_WEIGHTS_C)
        self->U_is = TL_U_NOTHING;
}

static void factors_changed(tl_cpu *self)
{
    if (self->U_is == TL_U_WEIGHTS_C)
        self->U_is = TL_U_NOTHING;
}

void tl_cpu_refresh(tl_cpu *self)
{
    tl_coefficients(self->data, &tl_double, self->Phi, self->X, self->V);
    tl_cpu_V_changed(self);
}

static void weights_L(tl_cpu *self, double floor)
{
    int64_t count = self->is.M * self->is.N;
    tl_inverse(count, self->V, floor, self->U);
    if (self->data->B != NULL)
        tl_weighted_apply(count, self->data->B, self->U);
}

void tl_cpu_weigh(tl_cpu *self, const double *W, const double *H, double floor)
{
    int64_t M = self->is.M, N = self->is.N;
    tl_weights(M, N, self->is.K, W, H, floor, self->U);
    if (self->data->B != NULL)
        tl_weighted_apply(M * N, self->data->B, self->U);
}

void tl_cpu_weights(tl_cpu *self, unsigned of, double floor)
{
    tl_cpu_U wanted = of == TL_C ? TL_U_WEIGHTS_C : TL_U_WEIGHTS_L;
    if (self->U_is == wanted && self->U_floor == floor)
        return;
    if (of == TL_C)
        tl_cpu_weigh(self, self->W, self->H, floor);
    else
        weights_L(self, floor);
    self->U_is = wanted;
    self->U_floor = floor;
}

/* ---- the point ------------------------------------------------------------------------------- */

tl_lent tl_cpu_lend(tl_cpu *self)
{
    return (tl_lent){self->Phi_new, self->Gamma};
}

static tlnmf_error fill_point(tl_engine *e, unsigned parts, tl_fill fill, void *user)
{
    tl_cpu *self = (tl_cpu *)e;
    tl_point point = {.M = e->M,
                      .N = e->N,
                      .K = e->K,
                      .Phi = self->Phi,
                      .W = self->W,
                      .H = self->H,
                      .E = self->E,
                      .Q = self->G,
                      .skew = &self->skew,
                      .lent = tl_cpu_lend(self)};
    TRY(fill(&point, user));
    factors_changed(self);
    if (parts & TL_W)
        tl_comm_broadcast(self->frames_comm, self->W, e->M * e->K);
    if (parts & TL_PHI) {
        tl_comm_broadcast(self->frames_comm, self->Phi, e->M * e->M);
        tl_cpu_refresh(self);
    }
    return TLNMF_OK;
}

static void store(const tl_engine *e, double *Phi, double *W, double *H)
{
    const tl_cpu *self = (const tl_cpu *)e;
    if (Phi != NULL)
        tl_copy(Phi, self->Phi, e->M * e->M);
    if (W != NULL)
        tl_copy(W, self->W, e->M * e->K);
    if (H != NULL)
        tl_copy(H, self->H, e->K * e->N);
}

static void project(tl_engine *e, unsigned parts)
{
    tl_cpu *self = (tl_cpu *)e;
    if (parts & TL_W) {
        tl_normalise(e->M, e->N, e->K, self->W, self->H);
        factors_changed(self);
    }
    if (parts & TL_PHI) {
        tl_orthogonalise(&self->skew, tl_cpu_lend(self), self->Phi);
        tl_cpu_refresh(self);
    }
}

static double sum_of(int64_t count, const double *x)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i];
    return sum;
}

static double sum_piece(int64_t first, int64_t last, void *x)
{
    return sum_of(last - first, (const double *)x + first);
}

/* The number of entries with a weight above 0. */
static double count_piece(int64_t first, int64_t last, void *arg)
{
    const double *B = ((const tl_cpu *)arg)->data->B;
    int64_t count = 0;
    for (int64_t i = first; i < last; i++)
        count += B == NULL || B[i] > 0.0;
    return (double)count;
}

/* The number of these that are below the floor. */
static double below_piece(int64_t first, int64_t last, void *arg)
{
    const tl_cpu *self = arg;
    const double *B = self->data->B;
    int64_t below = 0;
    for (int64_t i = first; i < last; i++)
        below += self->V[i] < self->is.eps && (B == NULL || B[i] > 0.0);
    return (double)below;
}

/* Their sum. */
static double power_piece(int64_t first, int64_t last, void *arg)
{
    const tl_cpu *self = arg;
    const double *B = self->data->B;
    double sum = 0.0;
    for (int64_t i = first; i < last; i++)
        sum += self->V[i] < self->is.eps && (B == NULL || B[i] > 0.0) ? self->V[i] : 0.0;
    return sum;
}

enum { INSPECTED = 8192 }; /* entries of a piece, some 10 us */

static void look(tl_cpu *self, tl_inspection *found)
{
    int64_t M = self->is.M, N = self->is.N;
    double counts[] = {tl_share_sum(M * N, INSPECTED, below_piece, self),
                       tl_share_sum(M * N, INSPECTED, count_piece, self),
                       tl_share_sum(M * N, INSPECTED, power_piece, self)};
    tl_comm_add(self->frames_comm, counts, 3);
    found->power_below = counts[2];
    found->below_floor = counts[1] > 0.0 ? counts[0] / counts[1] : 0.0;
    found->orthogonality = tl_orthogonality(M, self->Phi, self->Gamma);
    if (found->energy == NULL)
        return;
    for (int64_t m = 0; m < M; m++)
        found->energy[m] = sum_of(N, self->V + m * N);
    tl_comm_add(self->frames_comm, found->energy, M);
}

static bool inspect(tl_engine *e, tl_inspection *found)
{
    tl_cpu *self = (tl_cpu *)e;
    if (found != NULL)
        look(self, found);
    /* NaN and Inf show in these sums, but not in the fast sums of logarithms. */
    double sums = tl_share_sum(e->M * e->N, INSPECTED, sum_piece, self->V) +
                  sum_of(e->M * e->K, self->W) + sum_of(e->K * e->N, self->H);
    return isfinite(tl_comm_of(self->frames_comm, sums));
}

/* ---- objectives and gradient ----------------------------------------------------------------- */

double tl_cpu_logs(const tl_cpu *self)
{
    int64_t count = self->is.M * self->is.N; /* log(Vhat + eps) = -log U */
    if (self->data->B != NULL)
        return tl_weighted_logs(count, self->data->B, self->U);
    return -tl_sum_log(count, self->U, 0.0);
}

static double local_C(const tl_cpu *self)
{
    int64_t count = self->is.M * self->is.N;
    return tl_sum_product(count, self->V, self->is.eps, self->U) + tl_cpu_logs(self);
}

static double local_L(const tl_cpu *self)
{
    int64_t count = self->is.M * self->is.N;
    if (self->data->B != NULL)
        return tl_weighted_L(count, self->data->B, self->V, self->is.eps);
    return (double)count + tl_sum_log(count, self->V, self->is.eps);
}

static double local_I(const tl_cpu *self)
{
    int64_t count = self->is.M * self->is.N;
    if (self->data->B != NULL)
        return tl_weighted_I(count, self->data->B, self->V, self->is.eps, self->U);
    return tl_divergence(count, self->V, self->is.eps, self->U);
}

double tl_cpu_C(const tl_cpu *self)
{
    return tl_comm_of(self->frames_comm, local_C(self));
}

double tl_cpu_L(const tl_cpu *self)
{
    return tl_comm_of(self->frames_comm, local_L(self));
}

static tl_values values(tl_engine *e, unsigned which)
{
    tl_cpu *self = (tl_cpu *)e;
    double x[3] = {NAN, NAN, NAN};
    if (which & TL_L)
        x[1] = local_L(self);
    if (e->K > 0 && which & (TL_C | TL_I)) {
        tl_cpu_weights(self, TL_C, e->eps);
        if (which & TL_C)
            x[0] = local_C(self);
        if (which & TL_I)
            x[2] = local_I(self);
    }
    tl_comm_few(self->frames_comm, x, 3);
    return (tl_values){x[0], x[1], x[2]};
}

void tl_cpu_G(tl_cpu *self)
{
    tl_gradient(self->data, self->in, self->X, self->U, self->UX, self->G);
    tl_comm_add(self->frames_comm, self->G, self->is.M * self->is.M);
}

void tl_cpu_gamma(tl_cpu *self)
{
    tl_gamma(self->in, self->is.M, self->is.N, self->U, self->V, self->Gamma);
}

double tl_cpu_gradient(tl_engine *e, unsigned of, double *Ganti)
{
    tl_cpu *self = (tl_cpu *)e;
    int64_t M = e->M;
    tl_cpu_weights(self, of, e->eps);
    tl_cpu_G(self);
    double sum = 0.0;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < a; b++) {
            double anti = 0.5 * (self->G[a * M + b] - self->G[b * M + a]);
            sum += 2.0 * anti * anti;
        }
    for (int64_t a = 0; Ganti != NULL && a < M; a++)
        for (int64_t b = 0; b < M; b++)
            Ganti[a * M + b] = 0.5 * (self->G[a * M + b] - self->G[b * M + a]);
    return sqrt(sum) / (2.0 * e->frames);
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* (8) and (9), with sums over processes. */
static void update_W(tl_cpu *self)
{
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    double *num = self->sums_W, *den = self->sums_W + K * M;
    tl_mu_sums_W(&self->mu, self->is.eps, self->W, self->H, num, den);
    tl_comm_add(self->frames_comm, self->sums_W, 2 * K * M);
    tl_mu_scale_W(&self->mu, num, den, self->W);
    tl_normalise(M, N, K, self->W, self->H);
}

/* The sums of (7) (K x N), or of (8) (K x M), if entries have weights: first the denominators, from
 * U, then the numerators. U is lost. */
static void weighted_sums(tl_cpu *self, bool of_W, double *num, double *den)
{
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    tl_cpu_weights(self, TL_C, self->is.eps);
    for (int part = 0; part < 2; part++) {
        double *out = part == 0 ? den : num;
        if (part == 1)
            tl_weighted_pull(M * N, self->data->B, self->V, self->is.eps, self->U);
        if (of_W)
            tl_gemm(TL_PLAIN, TL_TRANSPOSED, K, M, N, 1.0, self->H, N, self->U, N, 0.0, out, M);
        else
            tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, M, 1.0, self->W, K, self->U, N, 0.0, out, N);
    }
    self->U_is = TL_U_NOTHING;
}

/* (7)-(9) if entries have weights; mu.c says which updates are used when. */
static void weighted_update(tl_cpu *self, unsigned parts)
{
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    double *num = self->sums_W, *den = self->sums_W + K * tl_max(M, N);
    weighted_sums(self, false, num, den);
    tl_mu_scale_H(&self->mu, num, den, self->H);
    if (!(parts & TL_W))
        return;
    weighted_sums(self, true, num, den);
    tl_comm_add(self->frames_comm, num, K * M);
    tl_comm_add(self->frames_comm, den, K * M);
    tl_mu_scale_W(&self->mu, num, den, self->W);
    tl_normalise(M, N, K, self->W, self->H);
}

/* Stores V' in the memory of U, unless it is there from updates before. (7) alone does not need
 * it. */
static void begin_updates(tl_cpu *self, unsigned parts)
{
    if (!(parts & TL_W)) {
        tl_mu_begin(&self->mu, self->V, NULL);
        self->U_is = TL_U_NOTHING;
    } else if (self->U_is != TL_U_V_TURNED) {
        tl_mu_begin(&self->mu, self->V, self->U);
        self->U_is = TL_U_V_TURNED;
    }
}

static void update(tl_engine *e, unsigned parts, int64_t count)
{
    tl_cpu *self = (tl_cpu *)e;
    for (int64_t i = 0; self->data->B != NULL && i < count && !tl_poll(e->monitor); i++)
        weighted_update(self, parts);
    if (self->data->B != NULL)
        return;
    begin_updates(self, parts);
    for (int64_t i = 0; i < count && !tl_poll(e->monitor); i++) {
        if (parts & TL_W && self->frames_comm == NULL) {
            tl_mu_update(&self->mu, e->eps, self->W, self->H);
            continue;
        }
        tl_mu_update_H(&self->mu, e->eps, self->W, self->H);
        if (parts & TL_W)
            update_W(self);
    }
}

static double sweep(tl_engine *e, unsigned of, double floor, double least)
{
    tl_cpu *self = (tl_cpu *)e;
    tl_cpu_weights(self, of, floor);
    const tl_sweep s = {.data = self->data,
                        .U = self->U,
                        .X = self->X,
                        .Phi = self->Phi,
                        .scratch = self->UX,
                        .threads = self->threads,
                        .least = least,
                        .frames = e->frames,
                        .frames_comm = self->frames_comm,
                        .monitor = e->monitor};
    double gain = self->rough ? tl_sweep_single(&s, &self->rows) : tl_sweep_double(&s);
    tl_power(self->data, self->X, self->V);
    tl_cpu_V_changed(self);
    return gain;
}

static bool precision(tl_engine *e, bool rough)
{
    tl_cpu *self = (tl_cpu *)e;
    bool back = self->rough && !rough;
    self->rough = rough;
    self->in = self->skew.arithmetic = rough ? &self->single.arithmetic : &tl_double;
    if (back)
        project(e, TL_PHI);
    return rough;
}

#define SHARED_OPS                                                                               \
    .free = destroy, .fill = fill_point, .store = store, .project = project, .inspect = inspect, \
    .values = values, .gradient = tl_cpu_gradient, .update = update, .sweep = sweep,             \
    .aim = tl_cpu_aim, .try = tl_cpu_try, .slope = tl_cpu_slope, .take = tl_cpu_take,            \
    .begin = tl_cpu_begin, .known_gradient = tl_cpu_known_gradient, .norm = tl_cpu_norm,         \
    .revive = tl_cpu_revive

const tl_engine_ops tl_engine_cpu = {.name = "cpu", .create = create, .bytes = bytes, SHARED_OPS};

const tl_engine_ops tl_engine_mixed = {.name = "cpu mixed",
                                       .create = create_mixed,
                                       .bytes = mixed_bytes,
                                       .precision = precision,
                                       SHARED_OPS};
