/* The library of the CUDA engine: its one entry, devices, create and free. */
#include "cuda/cuda.h"
#include "cuda/updates.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- arrays ---------------------------------------------------------------------------------- */

enum {
    OWN = 34 + TL_CUDA_KEPT,
    DESCENT = 22,
    SINGLE = 5,
    DEVICE_SLOTS = OWN + DESCENT + SINGLE,
    HOST_SLOTS = 7 + TL_SKEW_SLOTS,
    ALIGN = 256,
    WORKSPACE = 1 << 25 /* what NVIDIA advises for cuBLAS on Hopper */
};

/* Starts that run at a time, each on a stream of its own: more of them only compete for launches
 * (docs/benchmarks.md). */
enum { AT_ONCE = 16 };

/* Largest number of entries of UX, beyond which the gradient is computed in slices of columns. */
static const int64_t SLICE_ENTRIES = (int64_t)1 << 29;

/* Share of the free memory that an engine may take: some is left for cuBLAS. A plain choice. */
#define MOST_OF_IT 0.95

/* Pairs of L-BFGS: as in the cpu engine's lbfgs.c, so that both take the same steps. */
enum { FEW = 5, LARGE = 1 << 16 };

static int64_t size_of_descent(const tl_engine_spec *spec)
{
    int64_t M = spec->model->data->M, N = spec->model->data->N, K = spec->model->K;
    return (spec->moves & TL_PHI ? M * (M - 1) / 2 : 0) + (spec->moves & TL_W ? M * K : 0) +
           (spec->moves & TL_H ? K * N : 0);
}

static void descent_slots(tl_cuda_descent *x, const tl_engine_spec *spec, tl_slot slots[DESCENT])
{
    int64_t M = spec->model->data->M, N = spec->model->data->N, K = spec->model->K;
    bool factors = spec->moves & (TL_W | TL_H);
    int64_t MK = factors ? M * K : 0, KN = factors ? K * N : 0, size = size_of_descent(spec);
    int64_t once = spec->newton ? 1 : 0;
    x->single = size >= LARGE;
    x->memory = x->single ? FEW : TL_GPU_PAIRS;
    size_t real = x->single ? sizeof(float) : sizeof(double);
    const tl_slot own[DESCENT] = {TL_SLOT(x->gradient, size),
                                  TL_SLOT(x->before, size),
                                  TL_SLOT(x->direction, size),
                                  TL_SLOT(x->metric, size),
                                  TL_SLOT(x->P, MK),
                                  TL_SLOT(x->Q, KN),
                                  TL_SLOT(x->P_new, MK),
                                  TL_SLOT(x->Q_new, KN),
                                  TL_SLOT(x->W_new, MK),
                                  TL_SLOT(x->H_new, KN),
                                  TL_SLOT(x->scratch, MK + KN),
                                  {&x->s, x->memory * size, real},
                                  {&x->y, x->memory * size, real},
                                  TL_SLOT(x->coefficients, (int64_t)2 * TL_GPU_PAIRS),
                                  TL_SLOT(x->step, once * size),
                                  TL_SLOT(x->residual, once * size),
                                  TL_SLOT(x->d, once * size),
                                  TL_SLOT(x->Hd, once * size),
                                  TL_SLOT(x->cg_P, once * MK),
                                  TL_SLOT(x->cg_Q, once * KN),
                                  TL_SLOT(x->cg_W, once * MK),
                                  TL_SLOT(x->cg_H, once * KN)};
    memcpy(slots, own, sizeof own);
}

/* Frames and columns that are on the device at a time: all, or those of a panel. */
typedef struct room {
    int64_t N, T;
} room;

static room room_of(const tl_engine_spec *spec)
{
    const tlnmf_data *data = spec->model->data;
    if (spec->panel == 0)
        return (room){data->N, data->T};
    return (room){tl_min(spec->panel, data->N), tl_cuda_widest(data, spec->panel)};
}

/* What the mixed engine has besides. */
static void single_slots(tl_cuda_single *x, const tl_engine_spec *spec, bool mixed,
                         tl_slot slots[SINGLE])
{
    room r = room_of(spec);
    int64_t M = spec->model->data->M;
    int64_t count = mixed ? tl_cuda_single_size(M, tl_max(M, tl_max(r.N, r.T))) : 0;
    const tl_slot own[SINGLE] = {TL_SLOT(x->A_high, count), TL_SLOT(x->A_low, count),
                                 TL_SLOT(x->B_high, count), TL_SLOT(x->B_low, count),
                                 TL_SLOT(x->out, count)};
    memcpy(slots, own, sizeof own);
}

static void device_slots(tl_cuda *self, const tl_engine_spec *spec, bool mixed,
                         tl_slot table[DEVICE_SLOTS])
{
    const tlnmf_data *data = spec->model->data;
    const room r = room_of(spec);
    const int64_t M = data->M, N = r.N, K = spec->model->K, T = r.T;
    const int64_t streams = spec->panel > 0 ? 1 : 0, in_B = data->B != NULL ? M * N : 0;
    tl_cuda_panels *x = &self->panels;
    self->slice = tl_max(1, tl_min(T, SLICE_ENTRIES / M));
    x->frames = tl_max(N, 1);
    x->count = tl_max((data->N + x->frames - 1) / x->frames, 1);
    const tl_slot own[OWN] = {TL_SLOT(x->R[0], M * T),
                              TL_SLOT(x->R[1], streams * M * T),
                              TL_SLOT(x->B[0], in_B),
                              TL_SLOT(x->B[1], streams * in_B),
                              TL_SLOT(x->sample.U, streams * M * N),
                              TL_SLOT(x->sample.offset, streams * (N + 1)),
                              TL_SLOT(x->sample.frame, streams * T),
                              TL_SLOT(x->sample.column_in, streams * T),
                              TL_SLOT(x->sample.frame_in, streams * N),
                              TL_SLOT(self->offset, data->N + x->count),
                              TL_SLOT(self->frame, data->T),
                              TL_SLOT(self->Phi, M * M),
                              TL_SLOT(self->Phi_new, M * M),
                              TL_SLOT(self->W, M * K),
                              TL_SLOT(self->H, K * data->N),
                              TL_SLOT(self->X, M * tl_max(N, T)), /* X and UX change places */
                              TL_SLOT(self->V, M * N),
                              TL_SLOT(self->U, M * N), /* it and UX are the two matrices of a
                                                          batch, as are den and num */
                              TL_SLOT(self->UX, M * tl_max(N, self->slice)),
                              TL_SLOT(self->G, M * M),
                              TL_SLOT(self->Gamma, M * M),
                              TL_SLOT(self->E, M * M),
                              TL_SLOT(self->E2, M * M),
                              TL_SLOT(self->kept[0], spec->moves & TL_PHI ? M * M : 0),
                              TL_SLOT(self->kept[1], spec->moves & TL_PHI ? M * M : 0),
                              TL_SLOT(self->gains, tl_gpu_gains(M)),
                              TL_SLOT(self->floors, M),
                              TL_SLOT(self->den, K * tl_max(M, N)),
                              TL_SLOT(self->num, K * tl_max(M, N)),
                              TL_SLOT(self->W_den, M * K),
                              TL_SLOT(self->W_num, M * K),
                              TL_SLOT(self->part, tl_max(M, 4)),
                              TL_SLOT(self->column, K),
                              {&self->workspace, WORKSPACE, 1},
                              TL_SLOT(self->gpu.partial, TL_GPU_PARTIALS),
                              TL_SLOT(self->gpu.ticket, 1)};
    memcpy(table, own, sizeof own);
    descent_slots(&self->x, spec, table + OWN);
    single_slots(&self->single, spec, mixed, table + OWN + DESCENT);
}

static size_t slot_bytes(const tl_slot *slot)
{
    return ((size_t)slot->count * slot->size + ALIGN - 1) / ALIGN * ALIGN;
}

static double device_bytes(const tl_engine_spec *spec, bool mixed)
{
    tl_cuda self;
    tl_slot table[DEVICE_SLOTS];
    double bytes = 0.0;
    device_slots(&self, spec, mixed, table);
    for (int i = 0; i < DEVICE_SLOTS; i++)
        bytes += (double)slot_bytes(&table[i]);
    return bytes;
}

static int64_t fitting_panel(const tl_engine_spec *spec, bool mixed, double free)
{
    tl_engine_spec one = *spec;
    int64_t N = spec->model->data->N;
    for (int64_t count = 1; count <= N; count += tl_max(count / 8, 1)) {
        one.panel = (N + count - 1) / count;
        if (device_bytes(&one, mixed) <= MOST_OF_IT * free)
            return one.panel;
    }
    one.panel = 1;
    return N > 0 && device_bytes(&one, mixed) <= MOST_OF_IT * free ? 1 : 0;
}

static void host_slots(tl_cuda *self, const tl_engine_spec *spec, tl_slot table[HOST_SLOTS])
{
    int64_t M = spec->model->data->M, N = spec->model->data->N, K = spec->model->K;
    tl_point *p = &self->point;
    const tl_slot own[] = {TL_SLOT(p->Phi, M * M),   TL_SLOT(p->W, M * K),
                           TL_SLOT(p->H, K * N),     TL_SLOT(p->E, M * M),
                           TL_SLOT(p->Q, M * M),     TL_SLOT(p->lent.a, M * M),
                           TL_SLOT(p->lent.b, M * M)};
    memcpy(table, own, sizeof own);
    tl_skew_slots(&self->skew, M, table + sizeof own / sizeof *own);
}

static size_t bytes(const tl_engine_spec *spec)
{
    tl_cuda self;
    tl_slot table[HOST_SLOTS];
    host_slots(&self, spec, table);
    return sizeof self + TL_ARENA_BYTES(table);
}

/* ---- create and free ------------------------------------------------------------------------- */

static void destroy(tl_engine *e)
{
    tl_cuda *self = (tl_cuda *)e;
    tl_hooks hooks = self->hooks;
    tl_cuda_close_panels(self);
    if (self->blas != NULL)
        cublasDestroy(self->blas);
    if (self->gpu.stream != NULL)
        cudaStreamDestroy(self->gpu.stream);
    cudaFree(self->device_block);
    cudaFreeHost(self->seen);
    cudaGetLastError(); /* what a lost device answers is known already */
    tl_release(&hooks, self->point_block);
    tl_release(&hooks, self);
}

/* Takes one block of device memory for all arrays. */
static tlnmf_error take_memory(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_cuda *self)
{
    tl_slot table[DEVICE_SLOTS];
    size_t free = 0, all = 0, at = 0;
    bool mixed = self->is.ops->precision != NULL;
    double needed = device_bytes(spec, mixed);
    device_slots(self, spec, mixed, table);
    cudaError_t error = cudaMemGetInfo(&free, &all);
    if (error != cudaSuccess)
        return tl_fail(ctx, TLNMF_ERR_NUMERIC, "device gpu: %s", cudaGetErrorString(error));
    if (needed > (double)free || cudaMalloc(&self->device_block, (size_t)needed) != cudaSuccess) {
        cudaGetLastError();
        return tl_fail(ctx, TLNMF_ERR_MEMORY,
                       "device gpu: a start needs %.2f GB of the GPU's memory, %.2f GB are free",
                       1e-9 * needed, 1e-9 * (double)free);
    }
    for (int i = 0; i < DEVICE_SLOTS; i++) {
        void *address = table[i].count > 0 ? (char *)self->device_block + at : NULL;
        memcpy(table[i].slot, &address, sizeof address);
        at += slot_bytes(&table[i]);
    }
    error = cudaMemset(self->device_block, 0, (size_t)needed);
    return error == cudaSuccess
               ? TLNMF_OK
               : tl_fail(ctx, TLNMF_ERR_NUMERIC, "device gpu: %s", cudaGetErrorString(error));
}

tlnmf_error tl_cuda_send_all(tlnmf_ctx *ctx, size_t count, const tl_cuda_sent *sent)
{
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < count && error == cudaSuccess; i++)
        if (sent[i].bytes > 0)
            error = cudaMemcpy(sent[i].to, sent[i].from, sent[i].bytes, cudaMemcpyHostToDevice);
    return error == cudaSuccess
               ? TLNMF_OK
               : tl_fail(ctx, TLNMF_ERR_NUMERIC, "device gpu: %s", cudaGetErrorString(error));
}

/* Where the columns of frames begin and which frame each is of, both counted from the first of the
 * panel. */
static void number_columns(const tlnmf_data *data, const tl_cuda_panels *x, int64_t *offset,
                           int *frame)
{
    for (int64_t p = 0; p < x->count; p++) {
        int64_t first = p * x->frames, end = tl_min(first + x->frames, data->N);
        for (int64_t n = first; n <= end; n++)
            *offset++ = data->offset[n] - data->offset[first];
        for (int64_t n = first; n < end; n++)
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                frame[t] = (int)(n - first);
    }
}

/* What stays on the device: of R and B, all or nothing. */
static tlnmf_error send_data(tlnmf_ctx *ctx, const tlnmf_data *data, bool streams, tl_cuda *self)
{
    int64_t *offset, offsets = data->N + self->panels.count;
    int *frame;
    void *block;
    tl_slot table[] = {TL_SLOT(offset, offsets), TL_SLOT(frame, tl_max(data->T, 1))};
    TRY(TL_ARENA(ctx, "the frames of columns", table, &block));
    number_columns(data, &self->panels, offset, frame);
    size_t in_R = (size_t)(data->M * data->T) * sizeof(double),
           in_B = (size_t)(data->M * data->N) * sizeof(double);
    const tl_cuda_sent sent[] = {
        {self->R, data->R, streams ? 0 : in_R},
        {self->panels.B[0], data->B, streams || data->B == NULL ? 0 : in_B},
        {self->offset, offset, (size_t)offsets * sizeof *offset},
        {self->frame, frame, (size_t)data->T * sizeof *frame}};
    tlnmf_error error = tl_cuda_send_all(ctx, sizeof sent / sizeof *sent, sent);
    tl_release(&ctx->hooks, block);
    return error;
}

/* Stream, cuBLAS, and what kernels want to know of the device. */
static bool open_device(tl_cuda *self)
{
    int device = 0, major = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&self->gpu.processors, cudaDevAttrMultiProcessorCount, device) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&self->gpu.shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                               device) != cudaSuccess ||
        cudaStreamCreateWithFlags(&self->gpu.stream, cudaStreamNonBlocking) != cudaSuccess ||
        cudaHostAlloc((void **)&self->seen, TL_SEEN_COUNT * sizeof(double), cudaHostAllocMapped) !=
            cudaSuccess ||
        cudaHostGetDevicePointer((void **)&self->seen_there, self->seen, 0) != cudaSuccess)
        return false;
    self->gpu.has_clusters = major >= 9;
    return cublasCreate(&self->blas) == CUBLAS_STATUS_SUCCESS &&
           cublasSetStream(self->blas, self->gpu.stream) == CUBLAS_STATUS_SUCCESS &&
           cublasSetWorkspace(self->blas, self->workspace, WORKSPACE) == CUBLAS_STATUS_SUCCESS;
}

static tlnmf_error prepare(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_cuda *self)
{
    const tlnmf_data *data = spec->model->data;
    tl_slot table[HOST_SLOTS];
    host_slots(self, spec, table);
    TRY(TL_ARENA(ctx, "a start's arrays", table, &self->point_block));
    self->point.M = data->M;
    self->point.N = data->N;
    self->point.K = spec->model->K;
    self->point.skew = &self->skew;
    self->point.orthogonalise = tl_cuda_orthogonalise_point;
    self->point.orthogonalise_user = self;
    TRY(take_memory(ctx, spec, self));
    self->R = self->panels.R[0];
    if (!open_device(self))
        return tl_fail(ctx, TLNMF_ERR_NUMERIC, "device gpu: it cannot be opened: %s",
                       cudaGetErrorString(cudaGetLastError()));
    self->f = (tl_field){.M = data->M,
                         .N = data->N,
                         .T = data->T,
                         .K = spec->model->K,
                         .offset = self->offset,
                         .frame = self->frame,
                         .B = self->panels.B[0],
                         .one_each = data->one_each,
                         .eps = spec->model->eps};
    TRY(send_data(ctx, data, spec->panel > 0, self));
    room r = room_of(spec);
    return spec->panel > 0
               ? tl_cuda_open_panels(ctx, data, tl_min(r.T, tl_max(r.N, self->slice)), self)
               : TLNMF_OK;
}

/* Frames of a panel of an engine that has panels: as asked for, or as the memory allows. Where
 * there is no memory for any, one: it is refused with figures. */
static int64_t panel_of(const tl_engine_spec *spec, bool mixed)
{
    size_t free = 0, all = 0;
    if (spec->panel > 0 || cudaMemGetInfo(&free, &all) != cudaSuccess)
        return tl_max(spec->panel, 1);
    return tl_max(fitting_panel(spec, mixed, (double)free), 1);
}

/* `panel`: frames in one; 0: all columns stay on the device. */
static tlnmf_error create_as(tlnmf_ctx *ctx, const tl_engine_spec *spec, const tl_engine_ops *ops,
                             int64_t panel, tl_engine **out)
{
    const tl_model *model = spec->model;
    tl_engine_spec own = *spec;
    own.panel = panel;
    tl_cuda *self;
    void *block;
    tl_slot table[] = {TL_SLOT(self, 1)};
    *out = NULL;
    TRY(tl_engine_check(ctx, model));
    if (spec->sums != NULL)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "device gpu: frames cannot be spread over machines");
    TRY(TL_ARENA(ctx, "an engine", table, &block));
    self->is = (tl_engine){.ops = ops,
                           .M = model->data->M,
                           .N = model->data->N,
                           .K = model->K,
                           .frames = (double)model->data->N,
                           .mean_power = model->data->mean_power,
                           .eps = model->eps};
    self->gamma = model->gamma;
    self->hooks = ctx->hooks;
    tlnmf_error error = prepare(ctx, &own, self);
    if (error == TLNMF_OK)
        *out = &self->is;
    else
        destroy(&self->is);
    return error;
}

static tlnmf_error create(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out);
static tlnmf_error create_mixed(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out);
static tlnmf_error create_panels(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out);
static tlnmf_error create_panels_mixed(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out);

#define SHARED_OPS                                                                        \
    .bytes = bytes, .free = destroy, .fill = tl_cuda_fill, .store = tl_cuda_store,        \
    .project = tl_cuda_project, .inspect = tl_cuda_inspect, .values = tl_cuda_values,     \
    .gradient = tl_cuda_gradient, .update = tl_cuda_update, .sweep = tl_cuda_sweep,       \
    .aim = tl_cuda_aim, .try = tl_cuda_try, .slope = tl_cuda_slope, .take = tl_cuda_take, \
    .begin = tl_cuda_begin, .norm = tl_cuda_norm, .revive = tl_cuda_revive, .cg = tl_cuda_cg

static const tl_engine_ops engine = {
    .name = "gpu", .at_once = AT_ONCE, .create = create, SHARED_OPS};
static const tl_engine_ops mixed_engine = {.name = "gpu mixed",
                                           .at_once = AT_ONCE,
                                           .create = create_mixed,
                                           .precision = tl_cuda_precision,
                                           SHARED_OPS};
/* One at a time, with all of the memory. */
static const tl_engine_ops panels_engine = {
    .name = "gpu panels", .at_once = 1, .create = create_panels, SHARED_OPS};
static const tl_engine_ops panels_mixed_engine = {.name = "gpu panels mixed",
                                                  .at_once = 1,
                                                  .create = create_panels_mixed,
                                                  .precision = tl_cuda_precision,
                                                  SHARED_OPS};

static tlnmf_error create(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    return create_as(ctx, spec, &engine, 0, out);
}

static tlnmf_error create_mixed(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    return create_as(ctx, spec, &mixed_engine, 0, out);
}

static tlnmf_error create_panels(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    return create_as(ctx, spec, &panels_engine, panel_of(spec, false), out);
}

static tlnmf_error create_panels_mixed(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    return create_as(ctx, spec, &panels_mixed_engine, panel_of(spec, true), out);
}

/* ---- the library ----------------------------------------------------------------------------- */

/* False, with the reason, where the driver is missing or too old. */
static bool has_driver(char why[TL_DEVICE_TEXT])
{
    int version = 0, needed = CUDART_VERSION / 1000;
    cudaError_t error = cudaDriverGetVersion(&version);
    if (error == cudaSuccess && version / 1000 >= needed)
        return true;
    if (error != cudaSuccess || version == 0)
        snprintf(why, TL_DEVICE_TEXT, "there is no NVIDIA driver");
    else
        snprintf(why, TL_DEVICE_TEXT, "the NVIDIA driver is for CUDA %d, %d is needed",
                 version / 1000, needed);
    return false;
}

static bool find(tl_device *device, char why[TL_DEVICE_TEXT])
{
    struct cudaDeviceProp properties;
    size_t free = 0, all = 0;
    int count = 0;
    if (!has_driver(why))
        return false;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0)
        error = cudaErrorNoDevice;
    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(&properties, 0);
    if (error == cudaSuccess && properties.major < 8) {
        snprintf(why, TL_DEVICE_TEXT, "compute capability %d.%d: 8.0 is needed", properties.major,
                 properties.minor);
        return false;
    }
    if (error == cudaSuccess)
        error = cudaMemGetInfo(&free, &all);
    if (error != cudaSuccess) {
        cudaGetLastError();
        snprintf(why, TL_DEVICE_TEXT, "%s", cudaGetErrorString(error));
        return false;
    }
    snprintf(device->name, sizeof device->name, "%s", properties.name);
    device->memory = (double)all;
    device->free = (double)free;
    return true;
}

static double flops_of(const tl_engine *e)
{
    return ((const tl_cuda *)e)->flops;
}

__attribute__((visibility("default"))) const tl_device_library *tlnmf_device_library(void);

const tl_device_library *tlnmf_device_library(void)
{
    static const tl_device_library library = {.version = TLNMF_VERSION,
                                              .engine = &engine,
                                              .mixed = &mixed_engine,
                                              .panels = &panels_engine,
                                              .panels_mixed = &panels_mixed_engine,
                                              .find = find,
                                              .bytes = device_bytes,
                                              .most_of_it = MOST_OF_IT,
                                              .fitting_panel = fitting_panel,
                                              .flops = flops_of,
                                              .updates = &tl_cuda_updates};
    return &library;
}
