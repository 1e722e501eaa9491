/* Jacobi sweeps (14) in the order of the naive engine.
 *
 * Rows form blocks of eight. The naive engine takes pairs of blocks sequentially: (0, 0), (0, 1), ..,
 * (1, 1), (1, 2), .. Pairs of blocks that share no row may run at the same time, and (A, B)
 * needs only (A, B - 1) and (A - 1, B) to be done: all pairs with A + B = step run at once. A pair
 * of blocks is a thread block with its columns in shared memory; eight warps rotate eight disjoint
 * pairs of rows. Longer rows need a cluster of thread blocks (kernels_columns.cu). Rows that do not
 * fit a cluster stay in device memory, and a cluster rotates one pair of them. */
#include "cuda/kernels_sweep.cuh"

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

__device__ void turn(int length, double c, double s, double *a, double *b)
{
    for (int i = threadIdx.x % LANES; i < length; i += LANES) {
        double x = a[i], y = b[i];
        a[i] = c * x + s * y;
        b[i] = c * y - s * x;
    }
}

/* One pair of blocks: all its rounds. */
__global__ void __launch_bounds__(THREADS) sweep_blocks(tl_field f, tl_gpu_sweep s, int64_t step)
{
    extern __shared__ double shared[];
    const int64_t side = (f.M + BLOCK - 1) / BLOCK;
    const int64_t A = max((int64_t)0, step - side + 1) + blockIdx.x, B = step - A;
    const int width = (int)f.T, height = (int)f.M;
    double *X = shared, *U = X + PAIR_ROWS * width, *Phi = U + PAIR_ROWS * width, *X_there = (double *)s.X;
    const double *U_there = (const double *)s.U;
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    for (int r = warp; r < PAIR_ROWS; r += WARPS) {
        int64_t m = row_of(A, B, f.M, r);
        if (m == f.M)
            continue;
        for (int i = lane; i < width; i += LANES) {
            X[r * width + i] = X_there[m * f.T + i];
            U[r * width + i] = U_there[m * f.N + (f.one_each ? i : f.frame[i])];
        }
        for (int i = lane; i < height; i += LANES)
            Phi[r * height + i] = s.Phi[m * f.M + i];
    }
    __syncthreads();
    double gain = 0.0;
    for (int round = 0; round < BLOCK; round++) {
        int a = 0, b = 0;
        bool pairs = rows_in_round(A == B, round, warp, &a, &b) &&
                     row_of(A, B, f.M, a) < f.M && row_of(A, B, f.M, b) < f.M;
        double p = 0.0, D = 0.0;
        for (int i = lane; pairs && i < width; i += LANES) {
            double xa = X[a * width + i], xb = X[b * width + i];
            double d = U[a * width + i] - U[b * width + i];
            p += d * (xa - xb) * (xa + xb);
            D += d * xa * xb;
        }
        p = warp_sum(p);
        D = warp_sum(D);
        double c, sine;
        double won = pairs ? solve_angle(p, D, s.least, &c, &sine) : 0.0;
        if (won > 0.0) {
            gain += won;
            turn(width, c, sine, X + a * width, X + b * width);
            turn(height, c, sine, Phi + a * height, Phi + b * height);
        }
        __syncthreads();
    }
    for (int r = warp; r < PAIR_ROWS; r += WARPS) {
        int64_t m = row_of(A, B, f.M, r);
        if (m == f.M)
            continue;
        for (int i = lane; i < width; i += LANES)
            X_there[m * f.T + i] = X[r * width + i];
        for (int i = lane; i < height; i += LANES)
            s.Phi[m * f.M + i] = Phi[r * height + i];
    }
    if (lane == 0)
        s.gains[(A * side + B) * WARPS + warp] = gain;
}

/* One pair of rows in device memory, a cluster of blocks for each: one round of all pairs of blocks
 * of a step. Or a part of it: the sums p and D, or the rotations by given sums. */
enum Part { WHOLE, SUMS, TURNS };
template <Part PART>
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
    double *xa = (double *)s.X + ma * f.T, *xb = (double *)s.X + mb * f.T;
    double *pa = s.Phi + ma * f.M, *pb = s.Phi + mb * f.M;
    const double *ua = (const double *)s.U + ma * f.N, *ub = (const double *)s.U + mb * f.N;
    const int64_t first = cluster.rank * THREADS + threadIdx.x, next = cluster.size * THREADS;
    double p = 0.0, D = 0.0;
    if (PART == TURNS) {
        p = s.pairs[2 * pair];
        D = s.pairs[2 * pair + 1];
    } else {
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
        sync_cluster(cluster); /* all have read the sums */
    }
    if (PART == SUMS) {
        if (first == 0) {
            s.pairs[2 * pair] = p;
            s.pairs[2 * pair + 1] = D;
        }
        return;
    }
    double c, sine, gain = solve_angle(p, D, s.least, &c, &sine);
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

int64_t tl_gpu_gains(int64_t M)
{
    int64_t side = (M + BLOCK - 1) / BLOCK;
    return side * side * WARPS;
}

int64_t tl_gpu_pair_sums(int64_t M)
{
    int64_t side = (M + BLOCK - 1) / BLOCK;
    return 2 * WARPS * (side / 2 + 1);
}

int64_t tl_gpu_steps(int64_t M)
{
    return 2 * ((M + BLOCK - 1) / BLOCK) - 1;
}

static int team_of(const tl_gpu *gpu)
{
    return gpu->has_clusters ? 8 : 1;
}

int64_t tl_gpu_sweep_sums(const tl_gpu *gpu, const tl_field *f, const tl_gpu_sweep *s, int64_t step,
                          int round)
{
    int64_t pairs = pairs_in((f->M + BLOCK - 1) / BLOCK, step) * WARPS;
    cudaMemsetAsync(s->pairs, 0, (size_t)(2 * pairs) * sizeof(double), gpu->stream);
    launch(gpu, sweep_rows<SUMS>, pairs, team_of(gpu), THREADS, 0, *f, *s, step, round);
    return 2 * pairs;
}

void tl_gpu_sweep_turns(const tl_gpu *gpu, const tl_field *f, const tl_gpu_sweep *s, int64_t step,
                        int round)
{
    int64_t pairs = pairs_in((f->M + BLOCK - 1) / BLOCK, step) * WARPS;
    launch(gpu, sweep_rows<TURNS>, pairs, team_of(gpu), THREADS, 0, *f, *s, step, round);
}

void tl_gpu_sweep_all(const tl_gpu *gpu, const tl_field *f, const tl_gpu_sweep *s)
{
    int64_t side = (f->M + BLOCK - 1) / BLOCK;
    size_t bytes = (size_t)(PAIR_ROWS * (2 * f->T + f->M)) * sizeof(double);
    bool is_short = bytes <= (size_t)gpu->shared && !s->single;
    bool is_long = !is_short && !tl_gpu_has_columns(gpu, f);
    if (is_short)
        cudaFuncSetAttribute(sweep_blocks, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             gpu->shared);
    else if (!is_long)
        tl_gpu_sweep_columns(gpu, f, s);
    for (int64_t step = s->first; step < s->end; step++) {
        if (is_short)
            launch(gpu, sweep_blocks, pairs_in(side, step), 1, THREADS, bytes, *f, *s, step);
        for (int round = 0; is_long && round < BLOCK; round++)
            launch(gpu, sweep_rows<WHOLE>, pairs_in(side, step) * WARPS, team_of(gpu), THREADS, 0,
                   *f, *s, step, round);
    }
}
