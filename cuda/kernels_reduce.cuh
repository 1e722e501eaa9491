/* Sums over a whole grid in one launch: every block adds its part, the block that finishes last adds
 * the parts in the order of the blocks, so that the result has the same bits in every run. */
#ifndef TLNMF_CUDA_KERNELS_REDUCE_CUH
#define TLNMF_CUDA_KERNELS_REDUCE_CUH

#include "cuda/gpu_kernels.h"

#include <cub/block/block_reduce.cuh>

constexpr int THREADS = 256;

struct Larger {
    __device__ double operator()(double a, double b) const
    {
        return a > b ? a : b;
    }
};
struct Sum {
    __device__ double operator()(double a, double b) const
    {
        return a + b;
    }
};

/* Scratch of a launch's sums. */
struct Parts {
    double *partial;
    unsigned *ticket;
};

inline Parts parts_of(const tl_gpu *gpu)
{
    return Parts{gpu->partial, gpu->ticket};
}

/* Called by all THREADS threads of all blocks. True in thread 0 of the last block: x then holds the
 * totals. */
template <int COUNT, class Op> __device__ bool reduce_grid(double (&x)[COUNT], Parts parts, Op op)
{
    using Block = cub::BlockReduce<double, THREADS>;
    __shared__ typename Block::TempStorage scratch;
    __shared__ bool last;
    for (int i = 0; i < COUNT; i++) {
        double sum = Block(scratch).Reduce(x[i], op);
        if (threadIdx.x == 0)
            parts.partial[(size_t)blockIdx.x * COUNT + i] = sum;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(parts.ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return false;
    __threadfence();
    for (int i = 0; i < COUNT; i++) {
        double sum = 0.0;
        for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS)
            sum = op(sum, __ldcg(&parts.partial[(size_t)b * COUNT + i]));
        x[i] = Block(scratch).Reduce(sum, op);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *parts.ticket = 0;
    return threadIdx.x == 0;
}

/* Number of blocks for `count` entries: at most the number that the device runs concurrently. */
inline unsigned blocks_for(const tl_gpu *gpu, int64_t count)
{
    int64_t wanted = (count + THREADS - 1) / THREADS, most = (int64_t)gpu->processors * 8;
    return (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

#define FOR_EACH(i, count)                                                        \
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < (count); \
         i += (int64_t)gridDim.x * blockDim.x)

#endif
