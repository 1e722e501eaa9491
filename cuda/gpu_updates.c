/* Updates of W and H by products on the GPU, and the lanes in which they and spectra run. */
#include "cuda/gpu_updates.h"

/* ---- arrays of a run ------------------------------------------------------------------------- */

typedef struct run_arrays {
    double *V, *W, *H;
    double *U;   /* and, `apart` further on, A = (V + eps) U^2 */
    double *den; /* and, `sums` further on, the numerators */
    double *column;
    bool *free;
    int64_t apart, sums;
} run_arrays;

enum { SLOTS = 7 };

/* The second of two matrices begins as aligned as the first. */
static int64_t padded(int64_t count)
{
    int64_t words = TL_CUDA_ALIGN / (int64_t)sizeof(double);
    return (count + words - 1) / words * words;
}

static void slots_of(const tl_updates *u, run_arrays *a, tl_slot slots[SLOTS])
{
    int64_t in_W = u->rows * u->K, in_H = u->K * u->N;
    a->apart = padded(u->rows * u->N);
    a->sums = padded(u->moves_W ? tl_max(in_W, in_H) : in_H);
    const tl_slot table[SLOTS] = {TL_SLOT(a->V, u->rows * u->N), TL_SLOT(a->W, in_W),
                                  TL_SLOT(a->H, in_H),           TL_SLOT(a->U, 2 * a->apart),
                                  TL_SLOT(a->den, 2 * a->sums),  TL_SLOT(a->column, u->K),
                                  TL_SLOT(a->free, u->K)};
    memcpy(slots, table, sizeof table);
}

static double bytes(const tl_updates *u)
{
    run_arrays a;
    tl_slot slots[SLOTS];
    slots_of(u, &a, slots);
    return tl_cuda_slot_bytes(slots, SLOTS);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

tlnmf_error tl_cuda_answer(tlnmf_ctx *ctx, cudaError_t error, cublasStatus_t status)
{
    if (error != cudaSuccess) {
        cudaGetLastError(); /* so that later calls do not report it */
        return tl_fail(ctx,
                       error == cudaErrorMemoryAllocation ? TLNMF_ERR_MEMORY : TLNMF_ERR_NUMERIC,
                       "device gpu: %s", cudaGetErrorString(error));
    }
    if (status != CUBLAS_STATUS_SUCCESS)
        return tl_fail(ctx, TLNMF_ERR_NUMERIC, "device gpu: cuBLAS: %s",
                       cublasGetStatusString(status));
    return TLNMF_OK;
}

static tl_cuda_lane *wait_for_lane(tl_cuda_updater *self)
{
    tl_cuda_lane *found = NULL;
    pthread_mutex_lock(&self->lock);
    while (found == NULL) {
        for (int i = 0; i < TL_CUDA_LANES && found == NULL; i++)
            if (!self->lane[i].busy)
                found = &self->lane[i];
        if (found == NULL)
            pthread_cond_wait(&self->freed, &self->lock);
    }
    found->busy = true;
    pthread_mutex_unlock(&self->lock);
    return found;
}

void tl_cuda_give_lane(tl_cuda_updater *self, tl_cuda_lane *lane)
{
    pthread_mutex_lock(&self->lock);
    lane->busy = false;
    pthread_cond_signal(&self->freed);
    pthread_mutex_unlock(&self->lock);
}

tlnmf_error tl_cuda_take_lane(tlnmf_ctx *ctx, tl_cuda_updater *self, tl_cuda_lane **out)
{
    tl_cuda_lane *l = wait_for_lane(self);
    cudaError_t error = cudaSetDevice(self->device);
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (error == cudaSuccess && l->stream == NULL)
        error = cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking);
    if (error == cudaSuccess && l->blas == NULL) {
        status = cublasCreate(&l->blas);
        if (status == CUBLAS_STATUS_SUCCESS)
            status = cublasSetStream(l->blas, l->stream);
    }
    tlnmf_error answer = tl_cuda_answer(ctx, error, status);
    *out = l;
    if (answer != TLNMF_OK) {
        tl_cuda_give_lane(self, l);
        *out = NULL;
    }
    return answer;
}

/* Memory for the run. */
static tlnmf_error prepare(tlnmf_ctx *ctx, tl_cuda_lane *l, const tl_updates *u, run_arrays *a)
{
    tl_slot slots[SLOTS];
    size_t needed = (size_t)bytes(u);
    if (l->capacity < needed) {
        cudaFree(l->block);
        l->block = NULL;
        l->capacity = 0;
        TRY(tl_cuda_answer(ctx, cudaMalloc(&l->block, needed), CUBLAS_STATUS_SUCCESS));
        l->capacity = needed;
    }
    slots_of(u, a, slots);
    tl_cuda_place(slots, SLOTS, l->block);
    return TLNMF_OK;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* A run; `status` is the first failure of cuBLAS. */
typedef struct run {
    const tl_updates *u;
    const run_arrays *a;
    tl_gpu gpu;
    cublasHandle_t blas;
    cublasStatus_t status;
} run;

static void note_status(run *r, cublasStatus_t status)
{
    if (r->status == CUBLAS_STATUS_SUCCESS)
        r->status = status;
}

/* U = W H. cuBLAS is in Fortran order: U' = H' W'. */
static void multiply(run *r)
{
    const double one = 1.0, zero = 0.0;
    int rows = (int)r->u->rows, N = (int)r->u->N, K = (int)r->u->K;
    note_status(r, cublasDgemm(r->blas, CUBLAS_OP_N, CUBLAS_OP_N, N, rows, K, &one, r->a->H, N,
                               r->a->W, K, &zero, r->a->U, N));
}

/* U = 1 / (W H + eps) and, for updates, A. */
static void weigh(run *r, bool updates)
{
    int64_t count = r->u->rows * r->u->N;
    multiply(r);
    tl_gpu_invert(&r->gpu, count, r->u->eps, r->a->V, r->a->U,
                  updates ? r->a->U + r->a->apart : NULL);
}

/* den = W' U and num = W' A (K x N), then (7). */
static void update_H(run *r)
{
    const double one = 1.0, zero = 0.0;
    int rows = (int)r->u->rows, N = (int)r->u->N, K = (int)r->u->K;
    weigh(r, true);
    note_status(r, cublasDgemmStridedBatched(r->blas, CUBLAS_OP_N, CUBLAS_OP_T, N, K, rows, &one,
                                             r->a->U, N, r->a->apart, r->a->W, K, 0, &zero,
                                             r->a->den, N, r->a->sums, 2));
    tl_gpu_scale(&r->gpu, r->u->K * r->u->N, r->a->H, 1.0, r->a->den + r->a->sums, r->a->den);
}

/* den = U H' and num = A H' (rows x K), then (8) and (9) of the columns that move. */
static void update_W(run *r)
{
    const double one = 1.0, zero = 0.0;
    int rows = (int)r->u->rows, N = (int)r->u->N, K = (int)r->u->K;
    const tl_gpu_columns columns = {.rows = r->u->rows,
                                    .N = r->u->N,
                                    .K = r->u->K,
                                    .free = r->u->free != NULL ? r->a->free : NULL};
    weigh(r, true);
    note_status(r, cublasDgemmStridedBatched(r->blas, CUBLAS_OP_T, CUBLAS_OP_N, K, rows, N, &one,
                                             r->a->H, N, 0, r->a->U, N, r->a->apart, &zero,
                                             r->a->den, K, r->a->sums, 2));
    tl_gpu_scale_columns(&r->gpu, &columns, r->a->den + r->a->sums, r->a->den, r->a->W);
    tl_gpu_normalise_columns(&r->gpu, &columns, r->a->W, r->a->H, r->a->column);
}

static bool any_moves(const tl_updates *u)
{
    bool any = u->free == NULL;
    for (int64_t k = 0; !any && k < u->K; k++)
        any = u->free[k];
    return u->moves_W && any;
}

static void update_all(run *r)
{
    const tl_updates *u = r->u;
    bool moves = any_moves(u);
    for (int64_t i = 0; i < u->count && !(u->stops != NULL && u->stops(u->user)); i++) {
        update_H(r);
        if (moves)
            update_W(r);
    }
    if (u->U != NULL)
        weigh(r, false);
}

static cudaError_t copy(const run *r, void *to, const void *from, size_t size, bool back)
{
    return cudaMemcpyAsync(to, from, size, back ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice,
                           r->gpu.stream);
}

static cudaError_t send(const run *r)
{
    const tl_updates *u = r->u;
    const run_arrays *a = r->a;
    size_t real = sizeof(double);
    cudaError_t error = copy(r, a->V, u->V, (size_t)(u->rows * u->N) * real, false);
    if (error == cudaSuccess)
        error = copy(r, a->W, u->W, (size_t)(u->rows * u->K) * real, false);
    if (error == cudaSuccess)
        error = copy(r, a->H, u->H, (size_t)(u->K * u->N) * real, false);
    if (error == cudaSuccess && u->free != NULL)
        error = copy(r, a->free, u->free, (size_t)u->K * sizeof *u->free, false);
    return error;
}

static cudaError_t receive(const run *r)
{
    const tl_updates *u = r->u;
    const run_arrays *a = r->a;
    size_t real = sizeof(double);
    cudaError_t error = copy(r, u->H, a->H, (size_t)(u->K * u->N) * real, true);
    if (error == cudaSuccess && u->moves_W)
        error = copy(r, u->W, a->W, (size_t)(u->rows * u->K) * real, true);
    if (error == cudaSuccess && u->U != NULL)
        error = copy(r, u->U, a->U, (size_t)(u->rows * u->N) * real, true);
    return error;
}

static tlnmf_error run_on(tlnmf_ctx *ctx, const tl_cuda_updater *self, tl_cuda_lane *l,
                          const tl_updates *u)
{
    run_arrays a;
    TRY(prepare(ctx, l, u, &a));
    run r = {.u = u,
             .a = &a,
             .gpu = {.stream = l->stream, .processors = self->processors},
             .blas = l->blas,
             .status = CUBLAS_STATUS_SUCCESS};
    cudaError_t error = send(&r);
    if (error == cudaSuccess) {
        update_all(&r);
        error = cudaGetLastError(); /* of launches */
    }
    if (error == cudaSuccess)
        error = receive(&r);
    cudaError_t end = cudaStreamSynchronize(l->stream); /* also after a failure */
    return tl_cuda_answer(ctx, error != cudaSuccess ? error : end, r.status);
}

static tlnmf_error run_updates(tlnmf_ctx *ctx, tl_updater *base, const tl_updates *u)
{
    tl_cuda_updater *self = (tl_cuda_updater *)base;
    tl_cuda_lane *l;
    if (u->rows == 0 || u->N == 0 || u->K == 0)
        return TLNMF_OK;
    TRY(tl_cuda_take_lane(ctx, self, &l));
    tlnmf_error error = run_on(ctx, self, l, u);
    tl_cuda_give_lane(self, l);
    return error;
}

/* ---- open and close -------------------------------------------------------------------------- */

static void close_updater(tl_updater *base)
{
    tl_cuda_updater *self = (tl_cuda_updater *)base;
    if (self == NULL)
        return;
    cudaSetDevice(self->device);
    for (int i = 0; i < TL_CUDA_LANES; i++) {
        if (self->lane[i].blas != NULL)
            cublasDestroy(self->lane[i].blas);
        if (self->lane[i].stream != NULL)
            cudaStreamDestroy(self->lane[i].stream);
        cudaFree(self->lane[i].block);
    }
    for (int i = 0; i < TL_CUDA_LENGTHS; i++)
        cudaFree(self->length[i].Phi);
    cudaGetLastError(); /* clears the error of a lost device, which has been reported */
    pthread_cond_destroy(&self->freed);
    pthread_mutex_destroy(&self->lock);
    tl_hooks hooks = self->hooks;
    tl_release(&hooks, self);
}

static tlnmf_error open_updater(tlnmf_ctx *ctx, tl_updater **out)
{
    tl_cuda_updater *self;
    void *block;
    int device, processors = 0;
    tl_slot table[] = {TL_SLOT(self, 1)};
    *out = NULL;
    TRY(tl_cuda_choose_device(ctx, &device));
    cudaError_t error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    TRY(tl_cuda_answer(ctx, error, CUBLAS_STATUS_SUCCESS));
    TRY(TL_ARENA(ctx, "the updates on the GPU", table, &block));
    self->is.ops = &tl_cuda_updates;
    self->device = device;
    self->processors = processors;
    self->hooks = ctx->hooks;
    pthread_mutex_init(&self->lock, NULL); /* neither call can fail on Linux */
    pthread_cond_init(&self->freed, NULL);
    *out = &self->is;
    return TLNMF_OK;
}

const tl_updater_ops tl_cuda_updates = {.name = "gpu",
                                        .at_once = TL_CUDA_LANES,
                                        .open = open_updater,
                                        .close = close_updater,
                                        .run = run_updates,
                                        .bytes = bytes,
                                        .open_spectrum = tl_cuda_open_spectrum,
                                        .close_spectrum = tl_cuda_close_spectrum,
                                        .analyse = tl_cuda_analyse,
                                        .mask = tl_cuda_mask};
