/* Shared by the kernels of Jacobi sweeps: blocks of rows, angles, clusters of thread blocks. */
#ifndef TLNMF_CUDA_KERNELS_SWEEP_CUH
#define TLNMF_CUDA_KERNELS_SWEEP_CUH

#include "cuda/kernels_reduce.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int BLOCK = TL_GPU_BLOCK, PAIR_ROWS = 2 * BLOCK, WARPS = BLOCK, LANES = 32;

/* The best angle from p and D of (14), as the cpu engine computes it. Returns the gain, or 0. */
__device__ inline double solve_angle(double p, double D, double least, double *c, double *s)
{
    /* roots and quotients from 1 / sqrt: a division of doubles is a long routine */
    double square = 0.25 * p * p + D * D, inverse = rsqrt(square), r = square * inverse;
    double gain = 0.5 * p + r;
    if (!(gain > least && gain > 1e-16 * r)) { /* r is NaN if p and D are 0 */
        *c = 1.0;
        *s = 0.0;
        return 0.0;
    }
    double cos2 = -0.5 * p * inverse, sin2 = -D * inverse, half = 0.5 * (1.0 + fabs(cos2));
    double under = rsqrt(half), large = half * under, small = 0.5 * fabs(sin2) * under;
    *c = cos2 >= 0.0 ? large : small;
    *s = copysign(cos2 >= 0.0 ? small : large, sin2);
    return gain;
}

__device__ inline double warp_sum(double x)
{
    for (int o = LANES / 2; o > 0; o /= 2)
        x += __shfl_xor_sync(~0u, x, o);
    return x;
}

/* Blocks of a cluster: how many, and which is this. */
struct Cluster {
    int rank, size;
};

__device__ inline Cluster this_cluster()
{
#if __CUDA_ARCH__ >= 900
    cg::cluster_group cluster = cg::this_cluster();
    return Cluster{(int)cluster.block_rank(), (int)cluster.num_blocks()};
#else
    return Cluster{0, 1};
#endif
}

__device__ inline void sync_cluster(Cluster c)
{
#if __CUDA_ARCH__ >= 900
    if (c.size > 1) {
        cg::this_cluster().sync();
        return;
    }
#endif
    __syncthreads();
}

/* The address of x in the shared memory of block `rank` of the cluster. */
__device__ inline double *of_rank(Cluster c, double *x, int rank)
{
#if __CUDA_ARCH__ >= 900
    if (c.size > 1)
        return cg::this_cluster().map_shared_rank(x, rank);
#endif
    return x;
}

/* The rows of two blocks: row r of the pair is row m of the matrix; M if there is no such row. */
__device__ inline int64_t row_of(int64_t A, int64_t B, int64_t M, int r)
{
    int64_t m = r < BLOCK ? A * BLOCK + r : B * BLOCK + r - BLOCK;
    return m < M && !(A == B && r >= BLOCK) ? m : M;
}

/* Pairs of blocks that run in a step. */
inline int64_t pairs_in(int64_t side, int64_t step)
{
    int64_t first = step - side + 1 > 0 ? step - side + 1 : 0;
    return step / 2 - first + 1;
}

inline int64_t share(int64_t count, int blocks)
{
    return (count + blocks - 1) / blocks;
}

/* Seven parameters: what is launched, and with how many blocks in a cluster. */
template <class Kernel, class... Rest>
inline void launch(const tl_gpu *gpu, Kernel kernel, int64_t clusters, int size, int threads,
                   size_t bytes, Rest... rest)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = (unsigned)size;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(clusters * size));
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = bytes;
    config.stream = gpu->stream;
    config.attrs = &attribute;
    config.numAttrs = size > 1 ? 1 : 0;
    cudaLaunchKernelEx(&config, kernel, rest...);
}

/* Sweeps with columns in registers (kernels_columns.cu), if tl_gpu_has_columns(). */
void tl_gpu_sweep_columns(const tl_gpu *gpu, const tl_field *f, const tl_gpu_sweep *s);

#endif
