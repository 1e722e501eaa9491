/* What a separation has on the GPU: lanes, updates (updates.c) and spectra (spectra.c). */
#ifndef TLNMF_CUDA_UPDATES_H
#define TLNMF_CUDA_UPDATES_H

#include "cuda/kernels.h"
#include "engine/updates.h"

#include <cublas_v2.h>
#include <pthread.h>

/* TL_CUDA_LANES: more runs at a time only compete for launches and copies. TL_CUDA_LENGTHS: a
 * separation has frames of three lengths at most. Plain choices. */
enum { TL_CUDA_LANES = 6, TL_CUDA_LENGTHS = 4 };

/* A stream, a handle of cuBLAS, and memory that grows to what its largest run of updates needs. */
typedef struct tl_cuda_lane {
    bool busy;
    cudaStream_t stream;
    cublasHandle_t blas;
    void *block;
    size_t capacity;
} tl_cuda_lane;

typedef struct tl_cuda_updater {
    tl_updater is; /* first */
    int processors;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    tl_cuda_lane lane[TL_CUDA_LANES];
    struct {
        int64_t M;
        double *Phi; /* M x M, of the DFT */
    } length[TL_CUDA_LENGTHS];
    tl_hooks hooks;
} tl_cuda_updater;

/* A lane that is open, to give back; NULL, with the error, if it does not open. */
tlnmf_error tl_cuda_take_lane(tlnmf_ctx *ctx, tl_cuda_updater *self, tl_cuda_lane **out);
void tl_cuda_give_lane(tl_cuda_updater *self, tl_cuda_lane *lane);
/* The error of a call of CUDA, and then of one of cuBLAS, as error and message. */
tlnmf_error tl_cuda_answer(tlnmf_ctx *ctx, cudaError_t error, cublasStatus_t status);

tlnmf_error tl_cuda_open_spectrum(tlnmf_ctx *ctx, tl_updater *base, int64_t M, int64_t columns,
                                  tl_spectrum **out);
void tl_cuda_close_spectrum(tl_spectrum *s);
tlnmf_error tl_cuda_analyse(tlnmf_ctx *ctx, tl_spectrum *s, const tl_spectral *b);
tlnmf_error tl_cuda_mask(tlnmf_ctx *ctx, tl_spectrum *s, const tl_spectral *b);

extern const tl_updater_ops tl_cuda_updates;

#endif
