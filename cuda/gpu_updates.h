/* Separation on the GPU: lanes and updates (gpu_updates.c), spectra (gpu_spectra.c). */
#ifndef TLNMF_CUDA_GPU_UPDATES_H
#define TLNMF_CUDA_GPU_UPDATES_H

#include "cuda/gpu_kernels.h"
#include "engine/updates.h"

#include <cublas_v2.h>
#include <pthread.h>

/* TL_CUDA_LANES: more concurrent runs only compete for launches and copies. TL_CUDA_LENGTHS: a
 * separation has frames of at most three lengths. Both are chosen arbitrarily. */
enum { TL_CUDA_LANES = 6, TL_CUDA_LENGTHS = 4 };

/* A stream, a handle of cuBLAS, and memory that grows to the size of the largest run of updates. */
typedef struct tl_cuda_lane {
    bool busy;
    cudaStream_t stream;
    cublasHandle_t blas;
    void *block;
    size_t capacity;
} tl_cuda_lane;

typedef struct tl_cuda_updater {
    tl_updater is; /* first */
    int device, processors;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    tl_cuda_lane lane[TL_CUDA_LANES];
    struct {
        int64_t M;
        double *Phi; /* M x M, of the DFT */
    } length[TL_CUDA_LENGTHS];
    tl_hooks hooks;
} tl_cuda_updater;

/* From gpu_engine.c. The first selects the GPU of the context for the calling thread. The others
 * return the bytes that the arrays of a size table take, and set their addresses in a block of
 * that size. */
tlnmf_error tl_cuda_choose_device(tlnmf_ctx *ctx, int *device);
enum { TL_CUDA_ALIGN = 256 };
double tl_cuda_slot_bytes(const tl_slot *table, int rows);
void tl_cuda_place(const tl_slot *table, int rows, void *block);
/* Takes a lane, which the caller gives back; NULL, with the error, if none can be opened. */
tlnmf_error tl_cuda_take_lane(tlnmf_ctx *ctx, tl_cuda_updater *self, tl_cuda_lane **out);
void tl_cuda_give_lane(tl_cuda_updater *self, tl_cuda_lane *lane);
/* Converts the error of a CUDA call, or else of a cuBLAS call, to an error and a message. */
tlnmf_error tl_cuda_answer(tlnmf_ctx *ctx, cudaError_t error, cublasStatus_t status);

tlnmf_error tl_cuda_open_spectrum(tlnmf_ctx *ctx, tl_updater *base, int64_t M, int64_t columns,
                                  tl_spectrum **out);
void tl_cuda_close_spectrum(tl_spectrum *s);
tlnmf_error tl_cuda_analyse(tlnmf_ctx *ctx, tl_spectrum *s, const tl_spectral *b);
tlnmf_error tl_cuda_mask(tlnmf_ctx *ctx, tl_spectrum *s, const tl_spectral *b);

extern const tl_updater_ops tl_cuda_updates;

#endif
