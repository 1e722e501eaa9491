/* Kernels over matrices M x M: directions, packed triangles, norms, polynomials. */
#include "cuda/kernels_reduce.cuh"

constexpr int TILE = 32, TILE_ROWS = THREADS / TILE;

/* Lower triangles are packed row by row, without the diagonal. */
__device__ int64_t packed(int64_t a, int64_t b)
{
    return a * (a - 1) / 2 + b;
}

/* The tile of a lower triangle of tiles that a block works on: A >= B. */
struct Tile {
    int64_t A, B;
};

__device__ Tile tile_of(int64_t index)
{
    int64_t A = (int64_t)((sqrt(8.0 * (double)index + 1.0) - 1.0) / 2.0);
    while (A * (A + 1) / 2 > index)
        A--;
    while ((A + 1) * (A + 2) / 2 <= index)
        A++;
    return Tile{A * TILE, (index - A * (A + 1) / 2) * TILE};
}

static int64_t tiles_in(int64_t M)
{
    int64_t side = (M + TILE - 1) / TILE;
    return side * (side + 1) / 2;
}

/* G' of a tile, read along the rows of G: turned[j][i] = G[b0 + i][a0 + j]. */
__device__ void load_turned(int64_t M, Tile t, const double *G, double (*turned)[TILE + 1])
{
    int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    for (int i = y; i < TILE; i += TILE_ROWS)
        turned[x][i] = t.B + i < M && t.A + x < M ? G[(t.B + i) * M + t.A + x] : 0.0;
}

/* ---- directions ------------------------------------------------------------------------------ */

__global__ void quasi_newton(int64_t M, tl_gpu_newton q, double *E, double *out, int64_t tiles,
                             Parts parts)
{
    __shared__ double G_turned[TILE][TILE + 1], Gamma_turned[TILE][TILE + 1];
    double slope[1] = {0.0};
    int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
        Tile t = tile_of(index);
        __syncthreads();
        load_turned(M, t, q.G, G_turned);
        load_turned(M, t, q.Gamma, Gamma_turned);
        __syncthreads();
        for (int i = y; i < TILE; i += TILE_ROWS) {
            int64_t a = t.A + i, b = t.B + x;
            double e = 0.0;
            if (a < M && b < a) {
                double floors = q.floors != nullptr ? q.floors[a] + q.floors[b] : 0.0;
                double anti = 0.5 * q.scale * (q.G[a * M + b] - G_turned[i][x]);
                double sym =
                    0.5 * q.scale * (q.Gamma[a * M + b] + Gamma_turned[i][x] + floors) - q.shift;
                e = sym > q.least ? -anti / sym : 0.0;
                slope[0] += 2.0 * e * anti;
            }
            if (a < M && b <= a)
                E[a * M + b] = e;
            G_turned[i][x] = e; /* each thread reads and writes its own entry */
        }
        __syncthreads();
        for (int i = y; i < TILE; i += TILE_ROWS) { /* entry (b, a), along the rows of E */
            int64_t b = t.B + i, a = t.A + x;
            if (a < M && b < a)
                E[b * M + a] = -G_turned[x][i];
        }
    }
    if (reduce_grid(slope, parts, Sum()))
        out[0] = slope[0];
}

void tl_gpu_quasi_newton(const tl_gpu *gpu, int64_t M, const tl_gpu_newton *q, double *E,
                         double *sums)
{
    int64_t tiles = tiles_in(M);
    quasi_newton<<<blocks_for(gpu, tiles * THREADS), THREADS, 0, gpu->stream>>>(
        M, *q, E, sums, tiles, parts_of(gpu));
}

/* The packed A - A', or (METRIC, A = Gamma) the metric of (13): the second derivative along e_ab at
 * fixed weights, floored where it is small or negative. */
template <bool METRIC> __global__ void pack(int64_t M, const double *A, double *out, int64_t tiles)
{
    __shared__ double turned[TILE][TILE + 1];
    int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
        Tile t = tile_of(index);
        __syncthreads();
        load_turned(M, t, A, turned);
        __syncthreads();
        for (int i = y; i < TILE; i += TILE_ROWS) {
            int64_t a = t.A + i, b = t.B + x;
            if (a >= M || b >= a)
                continue;
            double entry = A[a * M + b], transposed = turned[i][x];
            if (METRIC) {
                double cross = entry + transposed;
                double exact = cross - A[a * M + a] - A[b * M + b];
                double floored = fmax(exact, 0.1 * cross);
                out[packed(a, b)] = floored > 0.0 ? floored : 1.0;
            } else {
                out[packed(a, b)] = entry - transposed;
            }
        }
    }
}

void tl_gpu_pack(const tl_gpu *gpu, int64_t M, const double *A, bool metric, double *out)
{
    int64_t tiles = tiles_in(M);
    unsigned blocks = blocks_for(gpu, tiles * THREADS);
    if (metric)
        pack<true><<<blocks, THREADS, 0, gpu->stream>>>(M, A, out, tiles);
    else
        pack<false><<<blocks, THREADS, 0, gpu->stream>>>(M, A, out, tiles);
}

__global__ void unpack(int64_t M, const double *triangle, double *E, int64_t tiles)
{
    __shared__ double turned[TILE][TILE + 1];
    int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
        Tile t = tile_of(index);
        __syncthreads();
        for (int i = y; i < TILE; i += TILE_ROWS) {
            int64_t a = t.A + i, b = t.B + x;
            double e = a < M && b < a ? triangle[packed(a, b)] : 0.0;
            turned[i][x] = e;
            if (a < M && b <= a)
                E[a * M + b] = e;
        }
        __syncthreads();
        for (int i = y; i < TILE; i += TILE_ROWS) {
            int64_t b = t.B + i, a = t.A + x;
            if (a < M && b < a)
                E[b * M + a] = -turned[x][i];
        }
    }
}

void tl_gpu_unpack(const tl_gpu *gpu, int64_t M, const double *triangle, double *E)
{
    int64_t tiles = tiles_in(M);
    unpack<<<blocks_for(gpu, tiles * THREADS), THREADS, 0, gpu->stream>>>(M, triangle, E, tiles);
}

__global__ void antisymmetric(int64_t M, const double *G, double *out, double *sums, Parts parts)
{
    double sum[1] = {0.0};
    FOR_EACH(i, M *M)
    {
        double anti = 0.5 * (G[i] - G[i % M * M + i / M]);
        if (out != nullptr)
            out[i] = anti;
        sum[0] += anti * anti;
    }
    if (reduce_grid(sum, parts, Sum()))
        sums[0] = sum[0];
}

void tl_gpu_antisymmetric(const tl_gpu *gpu, int64_t M, const double *G, double *out, double *sums)
{
    antisymmetric<<<blocks_for(gpu, M * M), THREADS, 0, gpu->stream>>>(M, G, out, sums,
                                                                      parts_of(gpu));
}

/* ---- norms and polynomials ------------------------------------------------------------------- */

/* A warp adds a row. */
__global__ void norms(int64_t M, const double *A, const double *B, double *out, Parts parts)
{
    double most[2] = {0.0, 0.0};
    int lane = threadIdx.x % 32;
    for (int64_t r = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / 32; r < M;
         r += (int64_t)gridDim.x * (THREADS / 32)) {
        double sums[2] = {0.0, 0.0};
        for (int64_t c = lane; c < M; c += 32) {
            sums[0] += fabs(A[r * M + c]);
            if (B != nullptr)
                sums[1] += fabs(B[r * M + c]);
        }
        for (int i = 0; i < 2; i++) {
            for (int o = 16; o > 0; o /= 2)
                sums[i] += __shfl_xor_sync(~0u, sums[i], o);
            most[i] = fmax(most[i], sums[i]);
        }
    }
    if (reduce_grid(most, parts, Larger()))
        for (int i = 0; i < 2; i++)
            out[i] = most[i];
}

void tl_gpu_norms(const tl_gpu *gpu, int64_t M, const double *A, const double *B, double *sums)
{
    norms<<<blocks_for(gpu, 32 * M), THREADS, 0, gpu->stream>>>(M, A, B, sums, parts_of(gpu));
}

__global__ void blend(int64_t M, tl_gpu_blend b, double *out)
{
    FOR_EACH(i, M *M)
    {
        double x = b.c[1] * b.A[i];
        if (b.B != nullptr)
            x += b.c[2] * b.B[i];
        if (b.D != nullptr)
            x += b.c[3] * b.D[i];
        out[i] = i % (M + 1) == 0 ? x + b.c[0] : x;
    }
}

void tl_gpu_blend_all(const tl_gpu *gpu, int64_t M, const tl_gpu_blend *b, double *out)
{
    blend<<<blocks_for(gpu, M * M), THREADS, 0, gpu->stream>>>(M, *b, out);
}

__global__ void taylor(int64_t M, tl_gpu_taylor t)
{
    FOR_EACH(i, M *M)
    {
        double A = t.a * t.E[i], A2 = t.a * t.a * t.E2[i], A4 = t.A4[i];
        double one = i % (M + 1) == 0 ? 1.0 : 0.0;
        t.s[i] = t.x[0] * one + t.x[1] * A + t.x[2] * A2 + t.x[3] * A4;
        t.A4[i] = A4 + t.x[4] * A2;
        t.out[i] = A + t.x[5] * A2;
    }
}

void tl_gpu_taylor8(const tl_gpu *gpu, int64_t M, const tl_gpu_taylor *t)
{
    taylor<<<blocks_for(gpu, M * M), THREADS, 0, gpu->stream>>>(M, *t);
}
