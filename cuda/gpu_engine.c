/* The library of the CUDA engine: its one entry, devices, create and free. */
#include "cuda/gpu.h"
#include "cuda/gpu_updates.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- arrays ---------------------------------------------------------------------------------- */

enum {
    OWN = 28 + TL_CUDA_KEPT,
    DESCENT = 14,
    SINGLE = 5,
    DEVICE_SLOTS = OWN + DESCENT + SINGLE,
    HOST_SLOTS = 8 + TL_SKEW_SLOTS,
    WORKSPACE = 1 << 25 /* the size that NVIDIA recommends for cuBLAS on Hopper */
};

/* Starts that run concurrently, each on its own stream: more of them only compete for launches
 * (docs/measurements/gpu.md). */
enum { AT_ONCE = 16 };

/* Largest number of entries of UX, beyond which the gradient is computed in slices of columns. */
static const int64_t SLICE_ENTRIES = (int64_t)1 << 29;

/* Share of the free memory that an engine may take: cuBLAS needs the rest. Chosen arbitrarily. */
#define MOST_OF_IT 0.95

/* Pairs of L-BFGS: as in the cpu engine's lbfgs.c, so that both take the same steps. */
enum { FEW = 5, LARGE = 1 << 16 };

static void descent_slots(tl_cuda_descent *x, const tl_engine_spec *spec, tl_slot slots[DESCENT])
{
    int64_t M = spec->model->data->M, N = spec->model->data->N, K = spec->model->K;
    bool factors = spec->moves & (TL_W | TL_H);
    int64_t MK = factors ? M * K : 0, KN = factors ? K * N : 0;
    int64_t size = tl_counts_of(spec->moves, M, N, K).all;
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
                                  TL_SLOT(x->coefficients, (int64_t)2 * TL_GPU_PAIRS)};
    memcpy(slots, own, sizeof own);
}

/* The additional arrays of the mixed engine. */
static void single_slots(tl_cuda_single *x, const tl_engine_spec *spec, bool mixed,
                         tl_slot slots[SINGLE])
{
    const tlnmf_data *data = spec->model->data;
    int64_t M = data->M;
    int64_t count = mixed ? tl_cuda_single_size(M, tl_max(M, tl_max(data->N, data->T))) : 0;
    const tl_slot own[SINGLE] = {TL_SLOT(x->A_high, count), TL_SLOT(x->A_low, count),
                                 TL_SLOT(x->B_high, count), TL_SLOT(x->B_low, count),
                                 TL_SLOT(x->out, count)};
    memcpy(slots, own, sizeof own);
}

static void device_slots(tl_cuda *self, const tl_engine_spec *spec, bool mixed,
                         tl_slot table[DEVICE_SLOTS])
{
    const tlnmf_data *data = spec->model->data;
    const int64_t M = data->M, N = data->N, K = spec->model->K, T = data->T;
    const bool distributed = spec->frames_comm != NULL;
    self->slice = tl_max(1, tl_min(T, SLICE_ENTRIES / M));
    const tl_slot own[OWN] = {TL_SLOT(self->R, M * T),
                              TL_SLOT(self->B, data->B != NULL ? M * N : 0),
                              TL_SLOT(self->offset, N + 1),
                              TL_SLOT(self->frame, T),
                              TL_SLOT(self->Phi, M * M),
                              TL_SLOT(self->Phi_new, M * M),
                              TL_SLOT(self->W, M * K),
                              TL_SLOT(self->H, K * N),
                              TL_SLOT(self->X, M * tl_max(N, T)), /* X and UX are swapped */
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
                              TL_SLOT(self->dots, distributed ? TL_GPU_DOTS : 0),
                              TL_SLOT(self->pairs, distributed ? tl_gpu_pair_sums(M) : 0),
                              TL_SLOT(self->column, K),
                              {&self->workspace, WORKSPACE, 1},
                              TL_SLOT(self->gpu.partial, TL_GPU_PARTIALS),
                              TL_SLOT(self->gpu.ticket, 1)};
    memcpy(table, own, sizeof own);
    descent_slots(&self->x, spec, table + OWN);
    single_slots(&self->single, spec, mixed, table + OWN + DESCENT);
}

static size_t bytes_of(const tl_slot *slot)
{
    return ((size_t)slot->count * slot->size + TL_CUDA_ALIGN - 1) / TL_CUDA_ALIGN * TL_CUDA_ALIGN;
}

double tl_cuda_slot_bytes(const tl_slot *table, int rows)
{
    double sum = 0.0;
    for (int i = 0; i < rows; i++)
        sum += (double)bytes_of(&table[i]);
    return sum;
}

void tl_cuda_place(const tl_slot *table, int rows, void *block)
{
    size_t at = 0;
    for (int i = 0; i < rows; i++) {
        void *address = table[i].count > 0 ? (char *)block + at : NULL;
        memcpy(table[i].slot, &address, sizeof address);
        at += bytes_of(&table[i]);
    }
}

static double device_bytes(const tl_engine_spec *spec, bool mixed)
{
    tl_cuda self;
    tl_slot table[DEVICE_SLOTS];
    device_slots(&self, spec, mixed, table);
    return tl_cuda_slot_bytes(table, DEVICE_SLOTS);
}

/* Numbers that are summed over processes besides M x M and M x K arrays. */
static int64_t exchanged_least(int64_t M)
{
    return tl_max(tl_gpu_pair_sums(M), TL_GPU_DOTS);
}

static void host_slots(tl_cuda *self, const tl_engine_spec *spec, tl_slot table[HOST_SLOTS])
{
    int64_t M = spec->model->data->M, N = spec->model->data->N, K = spec->model->K;
    int64_t exchanged = spec->frames_comm != NULL ? tl_max(M * (M + K), exchanged_least(M)) + 2 : 0;
    tl_point *p = &self->point;
    const tl_slot own[] = {TL_SLOT(p->Phi, M * M),    TL_SLOT(p->W, M * K),
                           TL_SLOT(p->H, K * N),      TL_SLOT(p->E, M * M),
                           TL_SLOT(p->Q, M * M),      TL_SLOT(p->lent.a, M * M),
                           TL_SLOT(p->lent.b, M * M), TL_SLOT(self->exchanged, exchanged)};
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

/* ---- devices ------------------------------------------------------------------------------- */

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

static bool find(int32_t gpu, tl_device *device, char why[TL_DEVICE_TEXT])
{
    struct cudaDeviceProp properties;
    size_t free = 0, all = 0;
    int count = 0;
    if (!has_driver(why))
        return false;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0)
        error = cudaErrorNoDevice;
    if (error == cudaSuccess) {
        device->number = gpu % count;
        error = cudaSetDevice(device->number);
    }
    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(&properties, device->number);
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

tlnmf_error tl_cuda_choose_device(tlnmf_ctx *ctx, int *device)
{
    tl_device found;
    char why[TL_DEVICE_TEXT];
    if (!find(ctx->gpu, &found, why))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "device gpu: %s", why);
    *device = found.number;
    return TLNMF_OK;
}

/* ---- create and free ------------------------------------------------------------------------- */

static void destroy(tl_engine *e)
{
    tl_cuda *self = tl_cuda_of(e);
    tl_hooks hooks = self->hooks;
    if (self->blas != NULL)
        cublasDestroy(self->blas);
    if (self->gpu.stream != NULL)
        cudaStreamDestroy(self->gpu.stream);
    cudaFree(self->device_block);
    cudaFreeHost(self->scalars);
    cudaGetLastError(); /* clears the error of a lost device, which has been reported */
    tl_release(&hooks, self->point_block);
    tl_release(&hooks, self);
}

/* Takes one block of device memory for all arrays. */
static tlnmf_error take_memory(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_cuda *self)
{
    tl_slot table[DEVICE_SLOTS];
    size_t free = 0, all = 0;
    bool mixed = self->is.ops->precision != NULL;
    double needed = device_bytes(spec, mixed);
    device_slots(self, spec, mixed, table);
    cudaError_t error = cudaMemGetInfo(&free, &all);
    if (error != cudaSuccess)
        return tl_fail(ctx, TLNMF_ERR_NUMERIC, "device gpu: %s", cudaGetErrorString(error));
    if (needed > (double)free || cudaMalloc(&self->device_block, (size_t)needed) != cudaSuccess) {
        cudaGetLastError();
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "device gpu: " TL_DEVICE_NEEDS, 1e-9 * needed,
                       1e-9 * (double)free, 1e-9 * (double)all);
    }
    tl_cuda_place(table, DEVICE_SLOTS, self->device_block);
    error = cudaMemset(self->device_block, 0, (size_t)needed);
    return error == cudaSuccess
               ? TLNMF_OK
               : tl_fail(ctx, TLNMF_ERR_NUMERIC, "device gpu: %s", cudaGetErrorString(error));
}

/* Copies the data to the device. */
static tlnmf_error send_data(tlnmf_ctx *ctx, const tlnmf_data *data, tl_cuda *self)
{
    int *frame;
    void *block;
    tl_slot table[] = {TL_SLOT(frame, tl_max(data->T, 1))};
    TRY(TL_ARENA(ctx, "the frames of columns", table, &block));
    for (int64_t n = 0; n < data->N; n++)
        for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
            frame[t] = (int)n;
    const struct {
        void *to;
        const void *from;
        int64_t count;
        size_t size;
    } sent[] = {{self->R, data->R, data->M * data->T, sizeof *data->R},
                {self->B, data->B, data->B != NULL ? data->M * data->N : 0, sizeof *data->B},
                {self->offset, data->offset, data->N + 1, sizeof *data->offset},
                {self->frame, frame, data->T, sizeof *frame}};
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < sizeof sent / sizeof *sent && error == cudaSuccess; i++)
        if (sent[i].count > 0)
            error = cudaMemcpy(sent[i].to, sent[i].from, (size_t)sent[i].count * sent[i].size,
                               cudaMemcpyHostToDevice);
    tl_release(&ctx->hooks, block);
    return error == cudaSuccess
               ? TLNMF_OK
               : tl_fail(ctx, TLNMF_ERR_NUMERIC, "device gpu: %s", cudaGetErrorString(error));
}

/* Opens the stream and cuBLAS, and reads the device's properties that kernels need. */
static bool open_device(tl_cuda *self)
{
    int device = self->device, major = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&self->gpu.processors, cudaDevAttrMultiProcessorCount, device) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&self->gpu.shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                               device) != cudaSuccess ||
        cudaStreamCreateWithFlags(&self->gpu.stream, cudaStreamNonBlocking) != cudaSuccess ||
        cudaHostAlloc((void **)&self->scalars, TL_SCALAR_COUNT * sizeof(double),
                      cudaHostAllocMapped) != cudaSuccess ||
        cudaHostGetDevicePointer((void **)&self->scalars_device, self->scalars, 0) != cudaSuccess)
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
    if (!open_device(self))
        return tl_fail(ctx, TLNMF_ERR_NUMERIC, "device gpu: it cannot be opened: %s",
                       cudaGetErrorString(cudaGetLastError()));
    self->f = (tl_field){.M = data->M,
                         .N = data->N,
                         .T = data->T,
                         .K = spec->model->K,
                         .offset = self->offset,
                         .frame = self->frame,
                         .B = self->B,
                         .one_each = data->one_each,
                         .eps = spec->model->eps};
    return send_data(ctx, data, self);
}

static tlnmf_error create_as(tlnmf_ctx *ctx, const tl_engine_spec *spec, const tl_engine_ops *ops,
                             tl_engine **out)
{
    const tl_model *model = spec->model;
    tl_cuda *self;
    void *block;
    tl_slot table[] = {TL_SLOT(self, 1)};
    *out = NULL;
    TRY(TL_ARENA(ctx, "an engine", table, &block));
    self->is = (tl_engine){.ops = ops,
                           .M = model->data->M,
                           .N = model->data->N,
                           .K = model->K,
                           .frames = (double)model->data->all,
                           .mean_power = model->data->mean_power,
                           .eps = model->eps};
    self->gamma = model->gamma;
    self->frames_comm = spec->frames_comm;
    self->hooks = ctx->hooks;
    tlnmf_error error = tl_cuda_choose_device(ctx, &self->device);
    if (error == TLNMF_OK)
        error = prepare(ctx, spec, self);
    if (error == TLNMF_OK)
        *out = &self->is;
    else
        destroy(&self->is);
    return error;
}

static tlnmf_error create(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out);
static tlnmf_error create_mixed(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out);

#define SHARED_OPS                                                                        \
    .bytes = bytes, .free = destroy, .fill = tl_cuda_fill, .store = tl_cuda_store,        \
    .project = tl_cuda_project, .inspect = tl_cuda_inspect, .values = tl_cuda_values,     \
    .gradient = tl_cuda_gradient, .update = tl_cuda_update, .sweep = tl_cuda_sweep,       \
    .aim = tl_cuda_aim, .try = tl_cuda_try, .slope = tl_cuda_slope, .take = tl_cuda_take, \
    .begin = tl_cuda_begin, .norm = tl_cuda_norm, .revive = tl_cuda_revive

static const tl_engine_ops engine = {
    .name = "gpu", .at_once = AT_ONCE, .create = create, SHARED_OPS};
static const tl_engine_ops mixed_engine = {.name = "gpu mixed",
                                           .at_once = AT_ONCE,
                                           .create = create_mixed,
                                           .precision = tl_cuda_precision,
                                           SHARED_OPS};
static tlnmf_error create(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    return create_as(ctx, spec, &engine, out);
}

static tlnmf_error create_mixed(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    return create_as(ctx, spec, &mixed_engine, out);
}

/* ---- the library ----------------------------------------------------------------------------- */

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
                                              .find = find,
                                              .bytes = device_bytes,
                                              .most_of_it = MOST_OF_IT,
                                              .flops = flops_of,
                                              .updates = &tl_cuda_updates};
    return &library;
}
