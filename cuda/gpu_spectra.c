/* Fourier transforms of blocks of frames on the GPU, by products with the matrix of the DFT: at
 * these lengths they take less time than the copies of the frames. */
#include "cuda/gpu_updates.h"

/* The longest frame: its matrix takes 2 GB. */
enum { LONGEST = 16384, BUFFERS = 4 };

struct tl_spectrum {
    tl_cuda_updater *of;
    int64_t M, columns;
    const double *Phi;
    double *Y, *X, *part, *V; /* M x columns; V: (M / 2 + 1) x columns, also masks */
    void *block;
    tl_hooks hooks;
};

/* ---- the matrix ------------------------------------------------------------------------------ */

/* Under the lock. NULL if there is no memory or no place for it. */
static double *new_matrix(tl_cuda_updater *self, const tl_cuda_lane *l, int64_t M)
{
    int at = 0;
    while (at < TL_CUDA_LENGTHS && self->length[at].Phi != NULL && self->length[at].M != M)
        at++;
    if (at == TL_CUDA_LENGTHS)
        return NULL;
    if (self->length[at].Phi != NULL)
        return self->length[at].Phi;
    void *Phi = NULL;
    tl_gpu gpu = {.stream = l->stream, .processors = self->processors};
    if (cudaMalloc(&Phi, (size_t)(M * M) * sizeof(double)) != cudaSuccess) {
        cudaGetLastError();
        return NULL;
    }
    tl_gpu_dft_matrix(&gpu, M, Phi);
    if (cudaGetLastError() != cudaSuccess || cudaStreamSynchronize(l->stream) != cudaSuccess) {
        cudaFree(Phi);
        return NULL;
    }
    self->length[at].M = M;
    self->length[at].Phi = Phi;
    return Phi;
}

static tlnmf_error find_matrix(tlnmf_ctx *ctx, tl_cuda_updater *self, int64_t M, double **Phi)
{
    tl_cuda_lane *l;
    TRY(tl_cuda_take_lane(ctx, self, &l));
    pthread_mutex_lock(&self->lock);
    *Phi = new_matrix(self, l, M);
    pthread_mutex_unlock(&self->lock);
    tl_cuda_give_lane(self, l);
    return TLNMF_OK;
}

/* ---- open and close -------------------------------------------------------------------------- */

tlnmf_error tl_cuda_open_spectrum(tlnmf_ctx *ctx, tl_updater *base, int64_t M, int64_t columns,
                                  tl_spectrum **out)
{
    tl_cuda_updater *self = (tl_cuda_updater *)base;
    tl_spectrum *s;
    void *block;
    double *Phi = NULL;
    tl_slot table[] = {TL_SLOT(s, 1)};
    int64_t frames = M * columns;
    *out = NULL;
    if (M > LONGEST)
        return TLNMF_OK;
    TRY(find_matrix(ctx, self, M, &Phi));
    if (Phi == NULL)
        return TLNMF_OK;
    TRY(TL_ARENA(ctx, "spectra on the GPU", table, &block));
    *s = (tl_spectrum){.of = self, .M = M, .columns = columns, .Phi = Phi, .hooks = ctx->hooks};
    if (cudaMalloc(&s->block, (size_t)(BUFFERS * frames) * sizeof(double)) != cudaSuccess) {
        cudaGetLastError();
        tl_cuda_close_spectrum(s);
        return TLNMF_OK;
    }
    s->Y = s->block;
    s->X = s->Y + frames;
    s->part = s->X + frames;
    s->V = s->part + frames; /* M / 2 + 1 rows are at most M */
    *out = s;
    return TLNMF_OK;
}

void tl_cuda_close_spectrum(tl_spectrum *s)
{
    if (s == NULL)
        return;
    tl_hooks hooks = s->hooks;
    cudaSetDevice(s->of->device);
    cudaFree(s->block);
    tl_release(&hooks, s);
}

/* ---- both directions ------------------------------------------------------------------------- */

/* One transform of a block, in a lane. */
typedef struct passage {
    tl_spectrum *s;
    const tl_spectral *b;
    tl_gpu gpu;
    cublasHandle_t blas;
    cublasStatus_t status;
} passage;

/* out = Phi x, or Phi' x. In Fortran's order: out' = x' Phi' (Phi). */
static void transform(passage *p, bool back, const double *x, double *out)
{
    const double one = 1.0, zero = 0.0;
    int M = (int)p->s->M, columns = (int)(p->b->count * p->b->per_frame);
    p->status = cublasDgemm(p->blas, CUBLAS_OP_N, back ? CUBLAS_OP_T : CUBLAS_OP_N, columns, M, M,
                            &one, x, columns, p->s->Phi, M, &zero, out, columns);
}

static cudaError_t copy(const passage *p, void *to, const void *from, int64_t count, bool back)
{
    return cudaMemcpyAsync(to, from, (size_t)count * sizeof(double),
                           back ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, p->gpu.stream);
}

/* Y to its power V, or a mask to Y. */
static cudaError_t go(passage *p, bool back)
{
    const tl_spectrum *s = p->s;
    const tl_gpu_frames f = {s->M, p->b->count, p->b->per_frame};
    const int64_t in_Y = s->M * f.count * f.per_frame, in_V = (s->M / 2 + 1) * f.count;
    cudaError_t error = copy(p, back ? s->V : s->Y, p->b->in, back ? in_V : in_Y, false);
    if (error != cudaSuccess)
        return error;
    if (back) {
        tl_gpu_mask_columns(&p->gpu, &f, s->V, s->X, s->part);
        transform(p, true, s->part, s->Y);
    } else {
        transform(p, false, s->Y, s->X);
        tl_gpu_spectral_power(&p->gpu, &f, s->X, s->V);
    }
    error = cudaGetLastError();
    return error != cudaSuccess ? error
                                : copy(p, p->b->out, back ? s->Y : s->V, back ? in_Y : in_V, true);
}

static tlnmf_error pass(tlnmf_ctx *ctx, tl_spectrum *s, const tl_spectral *b, bool back)
{
    tl_cuda_lane *l;
    long long columns = b->count * b->per_frame, most = s->columns;
    if (columns > most)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT,
                       "device gpu: the block has %lld columns, but at most %lld fit", columns,
                       most);
    TRY(tl_cuda_take_lane(ctx, s->of, &l));
    passage p = {.s = s,
                 .b = b,
                 .gpu = {.stream = l->stream, .processors = s->of->processors},
                 .blas = l->blas,
                 .status = CUBLAS_STATUS_SUCCESS};
    cudaError_t error = go(&p, back), end = cudaStreamSynchronize(l->stream);
    tlnmf_error answer = tl_cuda_answer(ctx, error != cudaSuccess ? error : end, p.status);
    tl_cuda_give_lane(s->of, l);
    return answer;
}

tlnmf_error tl_cuda_analyse(tlnmf_ctx *ctx, tl_spectrum *s, const tl_spectral *b)
{
    return pass(ctx, s, b, false);
}

tlnmf_error tl_cuda_mask(tlnmf_ctx *ctx, tl_spectrum *s, const tl_spectral *b)
{
    return pass(ctx, s, b, true);
}
