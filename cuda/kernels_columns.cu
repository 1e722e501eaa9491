/* Jacobi sweeps (14) of long rows: the order of kernels_sweep.cu, with columns in registers.
 *
 * A pair of blocks is 16 rows. A thread holds all 16 rows of some of its columns: X in registers, U
 * in shared memory. A cluster of thread blocks holds all columns. A round rotates eight disjoint
 * pairs of rows in three steps: threads add up p and D of all pairs; the last warp of each thread
 * block exchanges these sums with the other blocks and computes the angles; threads rotate. The
 * last warp also rotates Q, which starts as I and is applied to the rows of Phi at the end. */
#include "cuda/kernels_sweep.cuh"

#include <cuda_pipeline.h>

constexpr int MOST_WARPS = 11, MOST_SPAN = MOST_WARPS * LANES, MOST_THREADS = MOST_SPAN + LANES;
constexpr int SUMS = 2 * BLOCK, MOST_RANKS = 16;

/* Data that the warps of a block exchange, and the blocks of a cluster. */
struct Exchange {
    double warps[MOST_WARPS][SUMS];
    double ranks[2][MOST_RANKS][SUMS]; /* of this round and of the next */
    double turns[BLOCK][2];            /* c and s of the pairs */
    alignas(16) double Q[PAIR_ROWS][PAIR_ROWS];
};

/* A pair of blocks of rows. */
struct Place {
    int64_t A, B, M;
};

template <class Real> struct Task {
    const Real *U;
    Real *X;
    double *Phi, *gains, least;
    int wide, tall; /* columns of X and of Phi for each block of a cluster */
};

/* Rows change their places from round to round, so that the places of a pair stay fixed. Between
 * two blocks, the rows of the second block move by one place; within a block, seven of the eight
 * rows do (the circle method). After the last round all rows are back. */
template <bool WITHIN> struct Order {
    static constexpr int ROUNDS = WITHIN ? BLOCK - 1 : BLOCK, PAIRS = WITHIN ? BLOCK / 2 : BLOCK;
    static constexpr __host__ __device__ int first(int w)
    {
        return WITHIN ? BLOCK - 1 - w : w;
    }
    static constexpr __host__ __device__ int second(int w)
    {
        return WITHIN ? w : BLOCK + w;
    }
    /* The row at a place. */
    static __device__ int row(int place, int round)
    {
        if (WITHIN)
            return place < BLOCK - 1 ? (place + round) % (BLOCK - 1) : place;
        return place < BLOCK ? place : BLOCK + (place + round) % BLOCK;
    }
    /* Whether the row at the first place is the later one of the pair: D and s then change sign. */
    static __device__ bool is_turned(int w, int round)
    {
        return WITHIN && row(first(w), round) > row(second(w), round);
    }
};

/* ---- a thread's columns ---------------------------------------------------------------------- */

/* Lanes with `bit` keep b, the others keep a; each adds its neighbour's copy to it. */
template <class Real> __device__ Real merge(Real a, Real b, int bit)
{
    bool upper = (threadIdx.x & bit) != 0;
    Real given = __shfl_xor_sync(~0u, upper ? a : b, bit);
    return (upper ? b : a) + given;
}

template <class Real, int COLUMNS> struct Columns {
    Real x[PAIR_ROWS][COLUMNS];
    Real *u; /* of this thread: entry j of row r is u[(r COLUMNS + j) span] */
    int span;

    template <bool WITHIN, int W> __device__ __forceinline__ Real pair_sum(int round) const
    {
        using order = Order<WITHIN>;
        Real p = 0, D = 0, more_p = 0, more_D = 0; /* two sums each: the next need not wait */
        if constexpr (W < order::PAIRS) {
            constexpr int first = order::first(W), second = order::second(W);
            const Real *ua = u + order::row(first, round) * COLUMNS * span;
            const Real *ub = u + order::row(second, round) * COLUMNS * span;
#pragma unroll
            for (int j = 0; j < COLUMNS; j += 2) {
                Real d = ua[j * span] - ub[j * span], a = x[first][j], b = x[second][j];
                p += d * (a - b) * (a + b);
                D += d * a * b;
                Real e = ua[(j + 1) * span] - ub[(j + 1) * span];
                Real y = x[first][j + 1], z = x[second][j + 1];
                more_p += e * (y - z) * (y + z);
                more_D += e * y * z;
            }
            p += more_p;
            D += more_D;
            if (order::is_turned(W, round))
                D = (Real)0 - D;
        }
        return merge(p, D, 2);
    }

    /* Sums over the warp of the pairs from W on, 2^(LEVEL - 1) of them: lane l ends with number l/2
     * of p, D, p, D, .. */
    template <bool WITHIN, int LEVEL, int W> __device__ __forceinline__ Real sums(int round) const
    {
        if constexpr (LEVEL == 1) {
            return pair_sum<WITHIN, W>(round);
        } else {
            Real low = sums<WITHIN, LEVEL - 1, W>(round);
            Real high = sums<WITHIN, LEVEL - 1, W + (1 << (LEVEL - 2))>(round);
            return merge(low, high, 1 << LEVEL);
        }
    }

    template <bool WITHIN> __device__ __forceinline__ void turn(const Exchange &e, int round)
    {
        using order = Order<WITHIN>;
#pragma unroll
        for (int w = 0; w < order::PAIRS; w++) {
            Real c = (Real)e.turns[w][0], s = (Real)e.turns[w][1];
            if (s == (Real)0)
                continue;
            if (order::is_turned(w, round))
                s = -s;
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) {
                Real a = x[order::first(w)][j], b = x[order::second(w)][j];
                x[order::first(w)][j] = c * a + s * b;
                x[order::second(w)][j] = c * b - s * a;
            }
        }
    }

    template <bool WITHIN> __device__ __forceinline__ void move_on()
    {
        constexpr int from = WITHIN ? 0 : BLOCK, count = WITHIN ? BLOCK - 1 : BLOCK;
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            Real first = x[from][j];
#pragma unroll
            for (int i = 0; i < count - 1; i++)
                x[from + i][j] = x[from + i + 1][j];
            x[from + count - 1][j] = first;
        }
    }
};

/* ---- the last warp --------------------------------------------------------------------------- */

/* Adds the sums of the block's warps and gives them to all blocks. */
__device__ void give_sums(Exchange &e, Cluster cluster, int round)
{
    int lane = threadIdx.x % LANES, i = lane % SUMS, warps = blockDim.x / LANES - 1;
    double sum = 0.0;
    for (int w = 0; w < warps; w++)
        sum += e.warps[w][i];
    for (int rank = lane / SUMS; rank < cluster.size; rank += LANES / SUMS)
        *of_rank(cluster, &e.ranks[round % 2][cluster.rank][i], rank) = sum;
}

/* Lane w finds the angle of pair w, if there are two such rows. Returns its gain. */
template <bool WITHIN>
__device__ double find_turns(Exchange &e, Cluster cluster, Place at, double least, int round)
{
    using order = Order<WITHIN>;
    int lane = threadIdx.x % LANES, w = lane % BLOCK;
    int64_t a = row_of(at.A, at.B, at.M, order::row(order::first(w % order::PAIRS), round));
    int64_t b = row_of(at.A, at.B, at.M, order::row(order::second(w % order::PAIRS), round));
    double sum = 0.0, c = 1.0, s = 0.0, gain = 0.0;
    for (int rank = 0; rank < cluster.size; rank++)
        sum += e.ranks[round % 2][rank][lane % SUMS];
    double p = __shfl_sync(~0u, sum, 2 * w), D = __shfl_sync(~0u, sum, 2 * w + 1);
    if (w < order::PAIRS && a < at.M && b < at.M)
        gain = solve_angle(p, D, least, &c, &s);
    if (lane < BLOCK) {
        e.turns[w][0] = c;
        e.turns[w][1] = s;
    }
    __syncwarp();
    return lane < BLOCK ? gain : 0.0;
}

/* A lane has a column of Q. */
template <bool WITHIN> __device__ void turn_Q(Exchange &e, int round)
{
    using order = Order<WITHIN>;
    int lane = threadIdx.x % LANES;
    if (lane >= PAIR_ROWS)
        return;
#pragma unroll
    for (int w = 0; w < order::PAIRS; w++) {
        double c = e.turns[w][0], s = order::is_turned(w, round) ? -e.turns[w][1] : e.turns[w][1];
        double *a = &e.Q[order::row(order::first(w), round)][lane];
        double *b = &e.Q[order::row(order::second(w), round)][lane];
        double x = *a, y = *b;
        *a = c * x + s * y;
        *b = c * y - s * x;
    }
}

/* ---- a pair of blocks ------------------------------------------------------------------------ */

template <bool WITHIN, class Real, int COLUMNS>
__device__ __forceinline__ double all_rounds(Columns<Real, COLUMNS> &columns, Exchange &e,
                                             Cluster cluster, Place at, double least)
{
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const bool is_last = warp == (int)blockDim.x / LANES - 1;
    double gain = 0.0;
#pragma unroll 1
    for (int round = 0; round < Order<WITHIN>::ROUNDS; round++) {
        if (!is_last) {
            Real sum = columns.template sums<WITHIN, 4, 0>(round);
            sum += __shfl_xor_sync(~0u, sum, 1);
            if (lane % 2 == 0)
                e.warps[warp][lane / 2] = (double)sum;
        }
        __syncthreads();
        if (is_last)
            give_sums(e, cluster, round);
        sync_cluster(cluster);
        if (is_last)
            gain += find_turns<WITHIN>(e, cluster, at, least, round);
        __syncthreads();
        if (is_last) {
            turn_Q<WITHIN>(e, round);
        } else {
            columns.template turn<WITHIN>(e, round);
            columns.template move_on<WITHIN>();
        }
    }
    return gain;
}

/* Rows of Phi times Q, some columns in each block of the cluster. */
__device__ void turn_Phi(double *Phi, const Exchange &e, Place at, int64_t first, int64_t end)
{
    for (int64_t i = first + threadIdx.x; i < end; i += blockDim.x) {
        double x[PAIR_ROWS];
#pragma unroll
        for (int r = 0; r < PAIR_ROWS; r++) {
            int64_t m = row_of(at.A, at.B, at.M, r);
            x[r] = m < at.M ? Phi[m * at.M + i] : 0.0;
        }
#pragma unroll 1 /* else all of Q would be kept in registers */
        for (int r = 0; r < PAIR_ROWS; r++) {
            int64_t m = row_of(at.A, at.B, at.M, r);
            const double2 *Q = (const double2 *)e.Q[r];
            double even = 0.0, odd = 0.0;
#pragma unroll
            for (int j = 0; j < PAIR_ROWS / 2; j++) {
                double2 q = Q[j];
                even += q.x * x[2 * j];
                odd += q.y * x[2 * j + 1];
            }
            if (m < at.M)
                Phi[m * at.M + i] = even + odd;
        }
    }
}

/* Calls visit(r, j, m, t, there) for each row r and column j of a thread: entry (m, t) of X. */
template <int COLUMNS, class Visit>
__device__ void each_entry(Place at, int64_t t0, int64_t end, int span, Visit visit)
{
#pragma unroll
    for (int r = 0; r < PAIR_ROWS; r++) {
        const int64_t m = row_of(at.A, at.B, at.M, r);
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            const int64_t t = t0 + j * span + threadIdx.x;
            visit(r, j, m, t, m < at.M && t < end);
        }
    }
}

template <class Real, int COLUMNS>
__global__ void __launch_bounds__(MOST_THREADS, 1)
    sweep_columns(tl_field f, Task<Real> s, int64_t step)
{
    extern __shared__ double shared[];
    __shared__ Exchange e;
    const Cluster cluster = this_cluster();
    const int64_t side = (f.M + BLOCK - 1) / BLOCK;
    const int64_t A = max((int64_t)0, step - side + 1) + blockIdx.x / cluster.size, B = step - A;
    const Place at{A, B, f.M};
    const int64_t t0 = (int64_t)cluster.rank * s.wide, end = min(f.T, t0 + s.wide);
    const int span = blockDim.x - LANES, lane = threadIdx.x - span;
    Columns<Real, COLUMNS> columns;
    columns.span = span;
    columns.u = (Real *)shared + threadIdx.x;
    if (lane < 0) {
        each_entry<COLUMNS>(at, t0, end, span, [&](int r, int j, int64_t m, int64_t t, bool there) {
            Real *u = columns.u + (r * COLUMNS + j) * span;
            columns.x[r][j] = there ? s.X[m * f.T + t] : (Real)0;
            if (there)
                __pipeline_memcpy_async(u, s.U + m * f.N + (f.one_each ? t : f.frame[t]),
                                        sizeof(Real));
            else
                *u = 0;
        });
        __pipeline_commit();
        __pipeline_wait_prior(0); /* a thread reads only its own U: no barrier is needed */
    } else if (lane < PAIR_ROWS) {
        for (int r = 0; r < PAIR_ROWS; r++)
            e.Q[r][lane] = r == lane ? 1.0 : 0.0;
    }
    sync_cluster(cluster); /* all blocks run: sums can be given to them */
    double gain = A == B ? all_rounds<true>(columns, e, cluster, at, s.least)
                         : all_rounds<false>(columns, e, cluster, at, s.least);
    if (lane < 0) {
        each_entry<COLUMNS>(at, t0, end, span, [&](int r, int j, int64_t m, int64_t t, bool there) {
            if (there)
                s.X[m * f.T + t] = columns.x[r][j];
        });
    } else if (cluster.rank == 0 && lane < WARPS) {
        s.gains[(A * side + B) * WARPS + lane] = gain;
    }
    __syncthreads();
    const int64_t c0 = (int64_t)cluster.rank * s.tall;
    turn_Phi(s.Phi, e, at, c0, min(f.M, c0 + s.tall));
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Blocks of a cluster, and columns of a thread; size 0: the rows are too long. */
struct Shape {
    int size, columns;
};

/* With five warps of columns two blocks run on a multiprocessor: while one waits for sums or for
 * memory, the other may compute. Rows too long for that use the largest number of warps. */
constexpr int MOST_COLUMNS = 4, SPAN = 5 * LANES;

static Shape shape_of(const tl_gpu *gpu, const tl_field *f)
{
    int64_t side = (f->M + BLOCK - 1) / BLOCK, pairs = side / 4 > 1 ? side / 4 : 1;
    Shape shape = {1, MOST_COLUMNS};
    /* a step has `pairs` clusters in the mean: they should fill the device */
    while (shape.size < 8 && 2 * shape.size * pairs <= gpu->processors &&
           share(f->T, 2 * shape.size) >= 128)
        shape.size *= 2;
    while (shape.size < MOST_RANKS && share(f->T, shape.size) > MOST_COLUMNS * SPAN)
        shape.size *= 2;
    if (share(f->T, shape.size) > MOST_COLUMNS * MOST_SPAN)
        return Shape{0, 0};
    /* one block on a multiprocessor: more warps with fewer columns each */
    if (shape.size * pairs <= gpu->processors && share(f->T, shape.size) <= 2 * MOST_SPAN)
        shape.columns = 2;
    return shape;
}

template <class Real, int COLUMNS>
static void run_columns(const tl_gpu *gpu, const tl_field *f, const tl_gpu_sweep *s, int size)
{
    int64_t side = (f->M + BLOCK - 1) / BLOCK, wide = share(f->T, size);
    int span = (int)(share(wide, COLUMNS) + LANES - 1) / LANES * LANES;
    size_t bytes = (size_t)(PAIR_ROWS * COLUMNS * span) * sizeof(Real);
    auto kernel = sweep_columns<Real, COLUMNS>;
    const Task<Real> task = {(const Real *)s->U, (Real *)s->X,          s->Phi, s->gains, s->least,
                             (int)wide,          (int)share(f->M, size)};
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (size > 8)
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    for (int64_t step = s->first; step < s->end; step++)
        launch(gpu, kernel, pairs_in(side, step), size, span + LANES, bytes, *f, task, step);
}

bool tl_gpu_has_columns(const tl_gpu *gpu, const tl_field *f)
{
    return gpu->has_clusters && f->T > 0 && shape_of(gpu, f).size > 0;
}

void tl_gpu_sweep_columns(const tl_gpu *gpu, const tl_field *f, const tl_gpu_sweep *s)
{
    Shape shape = shape_of(gpu, f);
    if (s->single && shape.columns == 4)
        run_columns<float, 4>(gpu, f, s, shape.size);
    else if (s->single)
        run_columns<float, 2>(gpu, f, s, shape.size);
    else if (shape.columns == 4)
        run_columns<double, 4>(gpu, f, s, shape.size);
    else
        run_columns<double, 2>(gpu, f, s, shape.size);
}
