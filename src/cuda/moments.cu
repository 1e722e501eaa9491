/* Jacobi sweeps (14) of many rows: the order of sweep.cu, by second moments.
 *
 * A pair of blocks is 16 rows. Their rotations depend on X through S_a = sum_t U_at x_t x_t' alone,
 * sixteen matrices of 16 x 16, which turn with the rows. One kernel computes the moments of all
 * pairs of a step on the tensor cores, a slice of columns in each thread block; a second runs all
 * rounds on them; a third turns the rows of X and Phi by the product of the rotations. No thread
 * block waits for another, and rows may have any length. */
#include "cuda/mma.cuh"
#include "cuda/sweep.cuh"

/* Of each S_a the lower triangle, in tiles of 8 x 8: (0, 0), (1, 0), (1, 1). */
constexpr int TILE = 8, TILES = 3, TILE_SIZE = TILE * TILE, HALF = PAIR_ROWS / 2;
constexpr int MOMENTS = PAIR_ROWS * TILES * TILE_SIZE, TURNS = PAIR_ROWS * PAIR_ROWS + 1;

/* A warp adds the moments of half of the weights over every other four columns of the slice. */
constexpr int CHUNK = 4, SHARES = 2, MOMENT_WARPS = 2 * SHARES,
              MOMENT_THREADS = MOMENT_WARPS * LANES;

/* Thread blocks of a step: enough to fill the device several times; slices of at least 64 columns.
 */
constexpr int64_t BLOCKS = 1024, LEAST_COLUMNS = 64;

/* The pair of blocks of rows. */
struct Pair {
    int64_t A, B, M;
};

__device__ inline Pair pair_of(const tl_field &f, int64_t step, int64_t index)
{
    const int64_t side = (f.M + BLOCK - 1) / BLOCK;
    const int64_t A = max((int64_t)0, step - side + 1) + index;
    return Pair{A, step - A, f.M};
}

/* ---- moments --------------------------------------------------------------------------------- */

/* What a lane has of four columns: two rows of X and one of the weights. */
struct Entries {
    double x[2], u;
};

struct Rows {
    const double *x[2], *u; /* NULL: there is no such row */
};

__device__ inline Entries load(const tl_field &f, const Rows &rows, int64_t t, int64_t end)
{
    Entries e = {{0.0, 0.0}, 0.0};
    if (t >= end)
        return e;
    for (int i = 0; i < 2; i++)
        if (rows.x[i] != nullptr)
            e.x[i] = rows.x[i][t];
    if (rows.u != nullptr)
        e.u = rows.u[f.one_each ? t : f.frame[t]];
    return e;
}

__device__ inline void add_moments(const Entries &e, double (&sums)[HALF][TILES][2])
{
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int a = 0; a < HALF; a++) {
        double u = __shfl_sync(~0u, e.u, a * CHUNK + lane % CHUNK);
        double low = u * e.x[0], high = u * e.x[1];
        multiply_tiles(sums[a][0], low, e.x[0]);
        multiply_tiles(sums[a][1], high, e.x[0]);
        multiply_tiles(sums[a][2], high, e.x[1]);
    }
}

__global__ void __launch_bounds__(MOMENT_THREADS)
    moments(tl_field f, tl_gpu_sweep s, int64_t step, int slices, int64_t wide)
{
    __shared__ double shared[2][HALF][TILES][TILE_SIZE];
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int half = warp % 2, share = warp / 2;
    const Pair at = pair_of(f, step, blockIdx.x / slices);
    const int64_t t0 = blockIdx.x % slices * wide, end = min(f.T, t0 + wide);
    Rows rows = {{nullptr, nullptr}, nullptr};
    for (int i = 0; i < 2; i++) {
        int64_t m = row_of(at.A, at.B, at.M, i * TILE + lane / CHUNK);
        if (m < f.M)
            rows.x[i] = (const double *)s.X + m * f.T;
    }
    int64_t weighs = row_of(at.A, at.B, at.M, half * HALF + lane / CHUNK);
    if (weighs < f.M)
        rows.u = (const double *)s.U + weighs * f.N;
    double sums[HALF][TILES][2] = {};
    const int64_t next = SHARES * CHUNK;
    int64_t t = t0 + share * CHUNK + lane % CHUNK, rounds = (end - t0 + next - 1) / next;
    Entries now = load(f, rows, t, end);
    for (int64_t i = 0; i < rounds; i++) {
        t += next;
        Entries then = load(f, rows, t, end); /* on its way while these are added */
        add_moments(now, sums);
        now = then;
    }
    const int entry = lane / CHUNK * TILE + 2 * (lane % CHUNK);
    for (int turn = SHARES - 1; turn >= 0;
         turn--) { /* the last share first, the others add to it */
        if (share == turn)
            for (int a = 0; a < HALF; a++)
                for (int k = 0; k < TILES; k++)
                    for (int i = 0; i < 2; i++) {
                        double *to = &shared[half][a][k][entry + i];
                        *to = turn == SHARES - 1 ? sums[a][k][i] : *to + sums[a][k][i];
                    }
        __syncthreads();
    }
    double *out = s.moments + (int64_t)blockIdx.x * MOMENTS;
    const double *from = &shared[0][0][0][0];
    for (int i = threadIdx.x; i < MOMENTS; i += MOMENT_THREADS)
        out[i] = from[i];
}

/* ---- rounds ---------------------------------------------------------------------------------- */

struct Moments {
    double S[PAIR_ROWS][PAIR_ROWS][PAIR_ROWS + 1]; /* S[a][i][j]; the last column is padding */
    double Q[PAIR_ROWS][PAIR_ROWS];
    double c[BLOCK], s[BLOCK];
    int a[BLOCK], b[BLOCK];
};

/* Adds the slices, and completes the triangles. */
__device__ void gather(const double *slices, int count, Moments &m)
{
    for (int i = threadIdx.x; i < MOMENTS; i += THREADS) {
        double sum = 0.0;
        for (int j = 0; j < count; j++)
            sum += slices[(int64_t)j * MOMENTS + i];
        int a = i / (TILES * TILE_SIZE), tile = i / TILE_SIZE % TILES;
        int row = i % TILE_SIZE / TILE + (tile > 0 ? TILE : 0);
        int column = i % TILE + (tile > 1 ? TILE : 0);
        m.S[a][row][column] = sum;
        if (tile == 1)
            m.S[a][column][row] = sum;
    }
    for (int i = threadIdx.x; i < PAIR_ROWS * PAIR_ROWS; i += THREADS)
        m.Q[i / PAIR_ROWS][i % PAIR_ROWS] = i / PAIR_ROWS == i % PAIR_ROWS ? 1.0 : 0.0;
}

/* Thread w finds the angle of pair w of a round. Returns its gain. */
__device__ double find_turn(Moments &m, Pair at, int round, int w, double least)
{
    int a = 0, b = 0;
    double c = 1.0, s = 0.0, gain = 0.0;
    if (rows_in_round(at.A == at.B, round, w, &a, &b) && row_of(at.A, at.B, at.M, a) < at.M &&
        row_of(at.A, at.B, at.M, b) < at.M) {
        double p = (m.S[a][a][a] - m.S[b][a][a]) - (m.S[a][b][b] - m.S[b][b][b]);
        gain = solve_angle(p, m.S[a][a][b] - m.S[b][a][b], least, &c, &s);
    }
    m.a[w] = a;
    m.b[w] = b;
    m.c[w] = c;
    m.s[w] = s;
    return gain;
}

__device__ inline void turn_two(double c, double s, double *a, double *b)
{
    double x = *a, y = *b;
    *a = c * x + s * y;
    *b = c * y - s * x;
}

/* The rows of all matrices and of Q; or the columns of all matrices. */
__device__ void turn_moments(Moments &m, bool rows)
{
    const int per_pair = PAIR_ROWS * PAIR_ROWS, all = BLOCK * per_pair;
    for (int i = threadIdx.x; i < all; i += THREADS) {
        int w = i / per_pair, k = i / PAIR_ROWS % PAIR_ROWS, j = i % PAIR_ROWS;
        if (m.s[w] == 0.0)
            continue;
        if (rows)
            turn_two(m.c[w], m.s[w], &m.S[k][m.a[w]][j], &m.S[k][m.b[w]][j]);
        else
            turn_two(m.c[w], m.s[w], &m.S[k][j][m.a[w]], &m.S[k][j][m.b[w]]);
        if (rows && k == 0)
            turn_two(m.c[w], m.s[w], &m.Q[m.a[w]][j], &m.Q[m.b[w]][j]);
    }
}

/* Leaves Q and whether it turns anything. */
__global__ void __launch_bounds__(THREADS)
    all_rounds(tl_field f, tl_gpu_sweep s, int64_t step, int slices)
{
    __shared__ Moments m;
    const Pair at = pair_of(f, step, blockIdx.x);
    const int64_t side = (f.M + BLOCK - 1) / BLOCK;
    gather(s.moments + (int64_t)blockIdx.x * slices * MOMENTS, slices, m);
    __syncthreads();
    double gain = 0.0;
    for (int round = 0; round < BLOCK; round++) {
        if (threadIdx.x < BLOCK)
            gain += find_turn(m, at, round, (int)threadIdx.x, s.least);
        __syncthreads();
        turn_moments(m, true);
        __syncthreads();
        turn_moments(m, false);
        __syncthreads();
    }
    if (threadIdx.x < BLOCK)
        s.gains[(at.A * side + at.B) * WARPS + threadIdx.x] = gain;
    double *turns = s.turns + (int64_t)blockIdx.x * TURNS;
    for (int i = threadIdx.x; i < TURNS - 1; i += THREADS)
        turns[i] = m.Q[i / PAIR_ROWS][i % PAIR_ROWS];
    if (threadIdx.x == 0) {
        double changed = 0.0;
        for (int r = 0; r < PAIR_ROWS; r++)
            changed += fabs(m.Q[r][r] - 1.0);
        turns[TURNS - 1] = changed;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A thread turns two columns of X or of Phi. */
__global__ void __launch_bounds__(THREADS)
    turn_rows(tl_field f, tl_gpu_sweep s, int64_t step, int pieces)
{
    __shared__ double Q[PAIR_ROWS][PAIR_ROWS];
    const Pair at = pair_of(f, step, blockIdx.x / pieces);
    const double *turns = s.turns + (int64_t)(blockIdx.x / pieces) * TURNS;
    if (turns[TURNS - 1] == 0.0)
        return; /* all threads do */
    for (int i = threadIdx.x; i < TURNS - 1; i += THREADS)
        Q[i / PAIR_ROWS][i % PAIR_ROWS] = turns[i];
    __syncthreads();
    const int64_t first = (int64_t)(blockIdx.x % pieces) * 2 * THREADS + threadIdx.x;
    double x[2][PAIR_ROWS], *base[2];
    int64_t apart[2];
#pragma unroll
    for (int k = 0; k < 2; k++) {
        int64_t i = first + k * THREADS;
        base[k] = i < f.T ? (double *)s.X + i : i < f.T + f.M ? s.Phi + (i - f.T) : nullptr;
        apart[k] = i < f.T ? f.T : f.M;
#pragma unroll
        for (int r = 0; r < PAIR_ROWS; r++) {
            int64_t m = row_of(at.A, at.B, at.M, r);
            x[k][r] = base[k] != nullptr && m < f.M ? base[k][m * apart[k]] : 0.0;
        }
    }
#pragma unroll 1 /* else all of Q would be kept in registers */
    for (int r = 0; r < PAIR_ROWS; r++) {
        int64_t m = row_of(at.A, at.B, at.M, r);
        double sum[2] = {0.0, 0.0};
#pragma unroll
        for (int j = 0; j < PAIR_ROWS; j++)
            for (int k = 0; k < 2; k++)
                sum[k] += Q[r][j] * x[k][j];
        for (int k = 0; k < 2; k++)
            if (base[k] != nullptr && m < f.M)
                base[k][m * apart[k]] = sum[k];
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

static int64_t slices_of(int64_t pairs, int64_t T)
{
    int64_t wanted = (BLOCKS + pairs - 1) / pairs, most = (T + LEAST_COLUMNS - 1) / LEAST_COLUMNS;
    most = most > 1 ? most : 1;
    return wanted < most ? wanted : most;
}

void tl_gpu_moments_sizes(int64_t M, int64_t T, int64_t *moments, int64_t *turns)
{
    int64_t side = (M + BLOCK - 1) / BLOCK, blocks = 0;
    for (int64_t pairs = 1; pairs <= (side + 1) / 2; pairs++)
        blocks = blocks > pairs * slices_of(pairs, T) ? blocks : pairs * slices_of(pairs, T);
    *moments = blocks * MOMENTS;
    *turns = (side + 1) / 2 * TURNS;
}

void tl_gpu_sweep_moments(const tl_gpu *gpu, const tl_field *f, const tl_gpu_sweep *s)
{
    int64_t side = (f->M + BLOCK - 1) / BLOCK, columns = 2 * THREADS;
    int pieces = (int)((f->T + f->M + columns - 1) / columns);
    for (int64_t step = 0; step < 2 * side - 1; step++) {
        int64_t pairs = pairs_in(side, step), slices = slices_of(pairs, f->T);
        int64_t wide = (share(f->T, (int)slices) + CHUNK - 1) / CHUNK * CHUNK;
        launch(gpu, moments, pairs * slices, 1, MOMENT_THREADS, 0, *f, *s, step, (int)slices, wide);
        launch(gpu, all_rounds, pairs, 1, THREADS, 0, *f, *s, step, (int)slices);
        launch(gpu, turn_rows, pairs * pieces, 1, THREADS, 0, *f, *s, step, pieces);
    }
}
