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

/* TEAM warps rotate a pair of rows; each lane keeps its MOST columns of them in registers between the
 * sums and the rotation. */
constexpr int TEAM = 4, BLOCK_THREADS = WARPS * TEAM * LANES, MOST = 8,
              MOST_WIDTH = MOST * TEAM * LANES;

/* p and D of (14) over this block's columns, added by the lanes of a warp. */
__device__ void pair_sums(int width, const double *ua, const double *ub, const double *xa,
                          const double *xb, double (&x)[MOST], double (&y)[MOST], double *p,
                          double *D)
{
    const int first = threadIdx.x % (TEAM * LANES);
    double sum_p = 0.0, sum_D = 0.0;
#pragma unroll
    for (int j = 0; j < MOST; j++) {
        int i = first + j * TEAM * LANES;
        x[j] = y[j] = 0.0;
        if (i < width) {
            x[j] = xa[i];
            y[j] = xb[i];
            double d = ua[i] - ub[i];
            sum_p += d * (x[j] - y[j]) * (x[j] + y[j]);
            sum_D += d * x[j] * y[j];
        }
    }
    *p = warp_sum(sum_p);
    *D = warp_sum(sum_D);
}

__device__ void turn_kept(int width, double c, double s, const double (&x)[MOST],
                          const double (&y)[MOST], double *xa, double *xb)
{
    const int first = threadIdx.x % (TEAM * LANES);
#pragma unroll
    for (int j = 0; j < MOST; j++) {
        int i = first + j * TEAM * LANES;
        if (i < width) {
            xa[i] = c * x[j] + s * y[j];
            xb[i] = c * y[j] - s * x[j];
        }
    }
}

__device__ void turn(int length, double c, double s, double *a, double *b)
{
    for (int i = threadIdx.x % (TEAM * LANES); i < length; i += TEAM * LANES) {
        double x = a[i], y = b[i];
        a[i] = c * x + s * y;
        b[i] = c * y - s * x;
    }
}

/* The columns of one pair of blocks that a thread block holds. */
struct Held {
    int64_t A, B, t0, c0; /* blocks of rows, first column of X and of Phi */
    int wide, tall;       /* rows are so far apart in shared memory */
    int width, height;    /* columns of X and U, and of Phi */
    double *X, *U, *Phi;
};

__device__ void load(const tl_field &f, const tl_gpu_sweep &s, const Held &h)
{
    for (int r = threadIdx.x / LANES; r < PAIR_ROWS; r += WARPS * TEAM) {
        int64_t m = row_of(h.A, h.B, f.M, r);
        if (m == f.M)
            continue;
#pragma unroll 4
        for (int i = threadIdx.x % LANES; i < h.width; i += LANES) {
            h.X[r * h.wide + i] = s.X[m * f.T + h.t0 + i];
            h.U[r * h.wide + i] = s.U[m * f.N + (f.one_each ? h.t0 + i : f.frame[h.t0 + i])];
        }
#pragma unroll 4
        for (int i = threadIdx.x % LANES; i < h.height; i += LANES)
            h.Phi[r * h.tall + i] = s.Phi[m * f.M + h.c0 + i];
    }
}

__device__ void store(const tl_field &f, const tl_gpu_sweep &s, const Held &h)
{
    for (int r = threadIdx.x / LANES; r < PAIR_ROWS; r += WARPS * TEAM) {
        int64_t m = row_of(h.A, h.B, f.M, r);
        if (m == f.M)
            continue;
        for (int i = threadIdx.x % LANES; i < h.width; i += LANES)
            s.X[m * f.T + h.t0 + i] = h.X[r * h.wide + i];
        for (int i = threadIdx.x % LANES; i < h.height; i += LANES)
            s.Phi[m * f.M + h.c0 + i] = h.Phi[r * h.tall + i];
    }
}

/* Whether team `team` has a pair in this round, and which. */
__device__ bool has_pair(int64_t M, const Held &h, int round, int team, int *a, int *b)
{
    return rows_in_round(h.A == h.B, round, team, a, b) && row_of(h.A, h.B, M, *a) < M &&
           row_of(h.A, h.B, M, *b) < M;
}

/* The angles (c, s) of all pairs of a round, by one warp: TEAM lanes for each pair, which add the
 * sums of all warps of its team in all blocks of the cluster. Returns the gain of the lane's pair. */
__device__ double solve_round(int64_t M, const Held &h, int round, Cluster cluster, double *sums,
                              double least, double *angles)
{
    const int pair = threadIdx.x / TEAM, part = threadIdx.x % TEAM;
    double p = 0.0, D = 0.0, c = 1.0, s = 0.0, gain = 0.0;
    for (int rank = 0; rank < cluster.size; rank++) {
        const double *theirs = of_rank(cluster, sums + 2 * (pair * TEAM + part), rank);
        p += theirs[0];
        D += theirs[1];
    }
    for (int o = TEAM / 2; o > 0; o /= 2) {
        p += __shfl_xor_sync(~0u, p, o);
        D += __shfl_xor_sync(~0u, D, o);
    }
    int a, b;
    if (has_pair(M, h, round, pair, &a, &b))
        gain = solve_angle(p, D, least, &c, &s);
    if (part == 0) {
        angles[2 * pair] = c;
        angles[2 * pair + 1] = s;
    }
    return gain;
}

/* One pair of blocks: all its rounds. `wide` columns of X and U, `tall` columns of Phi for each
 * block of the cluster. */
__global__ void __launch_bounds__(BLOCK_THREADS)
    sweep_blocks(tl_field f, tl_gpu_sweep s, int64_t step, int wide, int tall)
{
    extern __shared__ double shared[];
    __shared__ double sums[2][WARPS][TEAM][2], angles[2 * WARPS];
    static_assert(WARPS * TEAM == LANES, "one warp has all sums of a block");
    const Cluster cluster = this_cluster();
    const int64_t side = (f.M + BLOCK - 1) / BLOCK;
    Held h = {.A = max((int64_t)0, step - side + 1) + blockIdx.x / cluster.size};
    h.B = step - h.A;
    h.t0 = (int64_t)cluster.rank * wide;
    h.c0 = (int64_t)cluster.rank * tall;
    h.wide = wide;
    h.tall = tall;
    h.width = (int)max((int64_t)0, min((int64_t)wide, f.T - h.t0));
    h.height = (int)max((int64_t)0, min((int64_t)tall, f.M - h.c0));
    h.X = shared;
    h.U = h.X + PAIR_ROWS * wide;
    h.Phi = h.U + PAIR_ROWS * wide;
    const int team = threadIdx.x / (TEAM * LANES), member = threadIdx.x / LANES % TEAM;
    load(f, s, h);
    __syncthreads();
    double gain = 0.0;
    for (int round = 0; round < BLOCK; round++) {
        int a = 0, b = 0;
        bool pairs = has_pair(f.M, h, round, team, &a, &b);
        double *xa = h.X + a * wide, *xb = h.X + b * wide, x[MOST], y[MOST], p, D;
        pair_sums(pairs ? h.width : 0, h.U + a * wide, h.U + b * wide, xa, xb, x, y, &p, &D);
        if (threadIdx.x % LANES == 0) {
            sums[round % 2][team][member][0] = p;
            sums[round % 2][team][member][1] = D;
        }
        sync_cluster(cluster); /* sums of the round before last are read by now */
        if (threadIdx.x < LANES)
            gain += solve_round(f.M, h, round, cluster, &sums[round % 2][0][0][0], s.least, angles);
        __syncthreads();
        double c = angles[2 * team], sine = angles[2 * team + 1];
        if (pairs && sine != 0.0) {
            turn_kept(h.width, c, sine, x, y, xa, xb);
            turn(h.height, c, sine, h.Phi + a * tall, h.Phi + b * tall);
        }
        __syncthreads();
    }
    store(f, s, h);
    if (threadIdx.x < LANES && threadIdx.x % TEAM == 0 && cluster.rank == 0)
        s.gains[(h.A * side + h.B) * WARPS + threadIdx.x / TEAM] = gain;
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
            if (shared_bytes(f, blocks) + 2048 <= (size_t)(gpu->shared / parts) &&
                share(f->T, blocks) <= MOST_WIDTH)
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
        cudaFuncSetAttribute(sweep_blocks, cudaFuncAttributeMaxDynamicSharedMemorySize, gpu->shared - 2048);
    if (blocks > 8)
        cudaFuncSetAttribute(sweep_blocks, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    for (int64_t step = 0; step < 2 * side - 1; step++) {
        if (blocks > 0)
            launch(gpu, sweep_blocks, pairs_in(side, step), blocks, BLOCK_THREADS, bytes, *f, *s,
                   step, (int)share(f->T, blocks), (int)share(f->M, blocks));
        for (int round = 0; blocks == 0 && round < BLOCK; round++)
            launch(gpu, sweep_rows, pairs_in(side, step) * WARPS, team, THREADS, 0, *f, *s, step,
                   round);
    }
    tl_gpu_total(gpu, tl_gpu_gains(f->M), s->gains, sums);
}
