/* Jacobi sweeps (14) in the order of the naive engine.
 *
 * Rows form blocks of eight. The naive engine takes pairs of blocks one after the other: (0, 0), (0,
 * 1), .., (1, 1), (1, 2), .. Pairs of blocks that share no row may run at the same time, and (A, B)
 * needs only (A, B - 1) and (A - 1, B) to be done: all pairs with A + B = step run at once. A pair
 * of blocks is a cluster of thread blocks, each with some of the columns in shared memory; eight
 * warps rotate eight disjoint pairs of rows. Where the columns do not fit, a thread block rotates one
 * pair of rows in device memory. */
#include "cuda/reduce.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int BLOCK = TL_GPU_BLOCK, PAIR_ROWS = 2 * BLOCK, WARPS = BLOCK, LANES = 32;

/* The two rows, from 0 to 15, of warp `w` in a round: pairs inside a block by the circle method, or
 * between two blocks, row i against row i + round. False: none. */
__device__ bool rows_in_round(bool within, int round, int w, int *a, int *b)
{
    if (!within) {
        *a = w;
        *b = BLOCK + (w + round) % BLOCK;
        return true;
    }
    if (w >= BLOCK / 2 || round >= BLOCK - 1)
        return false;
    int j = w == 0 ? BLOCK - 1 : (round + BLOCK - 1 - w) % (BLOCK - 1);
    int k = (round + w) % (BLOCK - 1);
    *a = min(j, k);
    *b = max(j, k);
    return true;
}

/* The best angle from p and D of (14), as the cpu engine computes it. Returns the gain, or 0. */
__device__ double solve_angle(double p, double D, double least, double *c, double *s)
{
    double r = sqrt(0.25 * p * p + D * D), gain = 0.5 * p + r;
    if (!(gain > least && gain > 1e-16 * r)) {
        *c = 1.0;
        *s = 0.0;
        return 0.0;
    }
    double cos2 = -0.5 * p / r, sin2 = -D / r;
    double large = sqrt(0.5 * (1.0 + fabs(cos2))), small = 0.5 * fabs(sin2) / large;
    *c = cos2 >= 0.0 ? large : small;
    *s = copysign(cos2 >= 0.0 ? small : large, sin2);
    return gain;
}

__device__ double warp_sum(double x)
{
    for (int o = LANES / 2; o > 0; o /= 2)
        x += __shfl_xor_sync(~0u, x, o);
    return x;
}

/* Blocks of a cluster: how many, and which is this. */
struct Cluster {
    int rank, size;
};

__device__ Cluster this_cluster()
{
#if __CUDA_ARCH__ >= 900
    cg::cluster_group cluster = cg::this_cluster();
    return Cluster{(int)cluster.block_rank(), (int)cluster.num_blocks()};
#else
    return Cluster{0, 1};
#endif
}

__device__ void sync_cluster(Cluster c)
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
__device__ const double *of_rank(Cluster c, double *x, int rank)
{
#if __CUDA_ARCH__ >= 900
    if (c.size > 1)
        return cg::this_cluster().map_shared_rank(x, rank);
#endif
    return x;
}

/* The rows of two blocks: row r of the pair is row m of the matrix; M: there is none. */
__device__ int64_t row_of(int64_t A, int64_t B, int64_t M, int r)
{
    int64_t m = r < BLOCK ? A * BLOCK + r : B * BLOCK + r - BLOCK;
    return m < M && !(A == B && r >= BLOCK) ? m : M;
}

__device__ void turn(int length, double c, double s, double *a, double *b)
{
    for (int i = threadIdx.x % LANES; i < length; i += LANES) {
        double x = a[i], y = b[i];
        a[i] = c * x + s * y;
        b[i] = c * y - s * x;
    }
}

/* One pair of blocks: all its rounds. `wide` columns of X and U, `tall` columns of Phi for each
 * block of the cluster. */
__global__ void __launch_bounds__(THREADS)
    sweep_blocks(tl_field f, tl_gpu_sweep s, int64_t step, int wide, int tall)
{
    extern __shared__ double shared[];
    __shared__ double sums[2][2 * WARPS];
    const Cluster cluster = this_cluster();
    const int64_t side = (f.M + BLOCK - 1) / BLOCK;
    const int64_t A = max((int64_t)0, step - side + 1) + blockIdx.x / cluster.size, B = step - A;
    const int64_t t0 = (int64_t)cluster.rank * wide, c0 = (int64_t)cluster.rank * tall;
    const int width = (int)max((int64_t)0, min((int64_t)wide, f.T - t0));
    const int height = (int)max((int64_t)0, min((int64_t)tall, f.M - c0));
    double *X = shared, *U = X + PAIR_ROWS * wide, *Phi = U + PAIR_ROWS * wide;
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    for (int r = warp; r < PAIR_ROWS; r += WARPS) {
        int64_t m = row_of(A, B, f.M, r);
        if (m == f.M)
            continue;
        for (int i = lane; i < width; i += LANES) {
            X[r * wide + i] = s.X[m * f.T + t0 + i];
            U[r * wide + i] = s.U[m * f.N + (f.one_each ? t0 + i : f.frame[t0 + i])];
        }
        for (int i = lane; i < height; i += LANES)
            Phi[r * tall + i] = s.Phi[m * f.M + c0 + i];
    }
    __syncthreads();
    double gain = 0.0;
    for (int round = 0; round < BLOCK; round++) {
        int a = 0, b = 0;
        bool pairs = rows_in_round(A == B, round, warp, &a, &b) &&
                     row_of(A, B, f.M, a) < f.M && row_of(A, B, f.M, b) < f.M;
        double p = 0.0, D = 0.0;
        for (int i = lane; pairs && i < width; i += LANES) {
            double xa = X[a * wide + i], xb = X[b * wide + i];
            double d = U[a * wide + i] - U[b * wide + i];
            p += d * (xa - xb) * (xa + xb);
            D += d * xa * xb;
        }
        p = warp_sum(p);
        D = warp_sum(D);
        double *mine = sums[round % 2] + 2 * warp;
        if (lane == 0) {
            mine[0] = p;
            mine[1] = D;
        }
        sync_cluster(cluster); /* sums of the round before last are read by now */
        if (cluster.size > 1) { /* a lane reads the sums of one block */
            const double *theirs = of_rank(cluster, mine, min(lane, cluster.size - 1));
            p = warp_sum(lane < cluster.size ? theirs[0] : 0.0);
            D = warp_sum(lane < cluster.size ? theirs[1] : 0.0);
        }
        double c, sine;
        double won = pairs ? solve_angle(p, D, s.least, &c, &sine) : 0.0;
        if (won > 0.0) {
            gain += won;
            turn(width, c, sine, X + a * wide, X + b * wide);
            turn(height, c, sine, Phi + a * tall, Phi + b * tall);
        }
        __syncthreads();
    }
    for (int r = warp; r < PAIR_ROWS; r += WARPS) {
        int64_t m = row_of(A, B, f.M, r);
        if (m == f.M)
            continue;
        for (int i = lane; i < width; i += LANES)
            s.X[m * f.T + t0 + i] = X[r * wide + i];
        for (int i = lane; i < height; i += LANES)
            s.Phi[m * f.M + c0 + i] = Phi[r * tall + i];
    }
    if (lane == 0 && cluster.rank == 0)
        s.gains[(A * side + B) * WARPS + warp] = gain;
    sync_cluster(cluster); /* no block may end while others read its sums */
}

/* One pair of rows in device memory, a cluster of blocks for each: one round of all pairs of blocks
 * of a step. */
__global__ void __launch_bounds__(THREADS)
    sweep_rows(tl_field f, tl_gpu_sweep s, int64_t step, int round)
{
    using Block = cub::BlockReduce<double, THREADS>;
    __shared__ typename Block::TempStorage scratch[2];
    __shared__ double sums[2];
    const Cluster cluster = this_cluster();
    const int64_t side = (f.M + BLOCK - 1) / BLOCK, pair = blockIdx.x / cluster.size;
    const int64_t A = max((int64_t)0, step - side + 1) + pair / WARPS, B = step - A;
    int a, b;
    if (!rows_in_round(A == B, round, (int)(pair % WARPS), &a, &b))
        return; /* all blocks of the cluster do */
    const int64_t ma = row_of(A, B, f.M, a), mb = row_of(A, B, f.M, b);
    if (ma == f.M || mb == f.M)
        return;
    double *xa = s.X + ma * f.T, *xb = s.X + mb * f.T;
    double *pa = s.Phi + ma * f.M, *pb = s.Phi + mb * f.M;
    const double *ua = s.U + ma * f.N, *ub = s.U + mb * f.N;
    const int64_t first = cluster.rank * THREADS + threadIdx.x, next = cluster.size * THREADS;
    double p = 0.0, D = 0.0;
#pragma unroll 4
    for (int64_t t = first; t < f.T; t += next) {
        int64_t n = f.one_each ? t : f.frame[t];
        double d = ua[n] - ub[n], x = xa[t], y = xb[t];
        p += d * (x - y) * (x + y);
        D += d * x * y;
    }
    p = Block(scratch[0]).Sum(p);
    D = Block(scratch[1]).Sum(D);
    if (threadIdx.x == 0) {
        sums[0] = p;
        sums[1] = D;
    }
    sync_cluster(cluster);
    p = D = 0.0;
    for (int rank = 0; rank < cluster.size; rank++) {
        const double *theirs = of_rank(cluster, sums, rank);
        p += theirs[0];
        D += theirs[1];
    }
    double c, sine, gain = solve_angle(p, D, s.least, &c, &sine);
    sync_cluster(cluster); /* all have read the sums */
    if (first == 0)
        s.gains[(A * side + B) * WARPS + pair % WARPS] += gain;
    if (sine == 0.0)
        return;
#pragma unroll 4
    for (int64_t t = first; t < f.T; t += next) {
        double x = xa[t], y = xb[t];
        xa[t] = c * x + sine * y;
        xb[t] = c * y - sine * x;
    }
    for (int64_t i = first; i < f.M; i += next) {
        double x = pa[i], y = pb[i];
        pa[i] = c * x + sine * y;
        pb[i] = c * y - sine * x;
    }
}

/* Pairs of blocks that run in a step. */
static int64_t pairs_in(int64_t side, int64_t step)
{
    int64_t first = step - side + 1 > 0 ? step - side + 1 : 0;
    return step / 2 - first + 1;
}

int64_t tl_gpu_gains(int64_t M)
{
    int64_t side = (M + BLOCK - 1) / BLOCK;
    return side * side * WARPS;
}

static int64_t share(int64_t count, int blocks)
{
    return (count + blocks - 1) / blocks;
}

static size_t shared_bytes(const tl_field *f, int blocks)
{
    return (size_t)(PAIR_ROWS * (2 * share(f->T, blocks) + share(f->M, blocks))) * sizeof(double);
}

/* Blocks of a cluster: the fewest of which two run on a multiprocessor, or else one; 0: too many
 * columns. */
static int cluster_size(const tl_gpu *gpu, const tl_field *f)
{
    int most = gpu->has_clusters ? 16 : 1;
    for (int parts = 2; parts >= 1; parts--)
        for (int blocks = 1; blocks <= most; blocks *= 2)
            if (shared_bytes(f, blocks) + 2048 <= (size_t)(gpu->shared / parts))
                return blocks;
    return 0;
}

/* Seven parameters: what is launched, and with how many blocks in a cluster. */
template <class Kernel, class... Rest>
static void launch(const tl_gpu *gpu, Kernel kernel, int64_t clusters, int size, int threads,
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

void tl_gpu_sweep_all(const tl_gpu *gpu, const tl_field *f, const tl_gpu_sweep *s, double *sums)
{
    int64_t side = (f->M + BLOCK - 1) / BLOCK;
    int blocks = cluster_size(gpu, f), team = gpu->has_clusters ? 8 : 1;
    size_t bytes = blocks > 0 ? shared_bytes(f, blocks) : 0;
    cudaMemsetAsync(s->gains, 0, (size_t)tl_gpu_gains(f->M) * sizeof(double), gpu->stream);
    if (blocks > 0)
        cudaFuncSetAttribute(sweep_blocks, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             gpu->shared - 2048);
    if (blocks > 8)
        cudaFuncSetAttribute(sweep_blocks, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    for (int64_t step = 0; step < 2 * side - 1; step++) {
        if (blocks > 0)
            launch(gpu, sweep_blocks, pairs_in(side, step), blocks, THREADS, bytes, *f, *s, step,
                   (int)share(f->T, blocks), (int)share(f->M, blocks));
        for (int round = 0; blocks == 0 && round < BLOCK; round++)
            launch(gpu, sweep_rows, pairs_in(side, step) * WARPS, team, THREADS, 0, *f, *s, step,
                   round);
    }
    tl_gpu_total(gpu, tl_gpu_gains(f->M), s->gains, sums);
}
