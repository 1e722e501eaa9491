/* Kernels over the entries of X, V and U: power, weights, objectives, terms of gradients. */
#include "cuda/kernels_reduce.cuh"

/* ---- power ----------------------------------------------------------------------------------- */

/* LANES neighbouring threads share the columns of one frame. */
template <int LANES>
__global__ void power(int64_t M, int64_t N, int64_t T, const int64_t *offset, const double *X,
                      double *V)
{
    int lane = threadIdx.x % LANES;
    int64_t step = (int64_t)gridDim.x * blockDim.x / LANES;
    int64_t rounds = (M * N + step - 1) / step; /* the same for all, since lanes exchange sums */
    int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / LANES;
    for (int64_t r = 0; r < rounds; r++, i += step) {
        double sum = 0.0;
        if (i < M * N) {
            int64_t m = i / N, n = i - m * N;
            for (int64_t t = offset[n] + lane; t < offset[n + 1]; t += LANES)
                sum += X[m * T + t] * X[m * T + t];
        }
        for (int o = LANES / 2; o > 0; o /= 2)
            sum += __shfl_down_sync(~0u, sum, o, LANES);
        if (i < M * N && lane == 0)
            V[i] = sum;
    }
}

__global__ void squares(int64_t count, const double *X, double *V)
{
    FOR_EACH(i, count)
    V[i] = X[i] * X[i];
}

void tl_gpu_power(const tl_gpu *gpu, const tl_field *f, const double *X, double *V)
{
    int64_t count = f->M * f->N;
    if (f->one_each)
        squares<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, X, V);
    else if (f->T < 4 * f->N)
        power<1><<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(f->M, f->N, f->T, f->offset,
                                                                      X, V);
    else if (f->T < 32 * f->N)
        power<8><<<blocks_for(gpu, 8 * count), THREADS, 0, gpu->stream>>>(f->M, f->N, f->T,
                                                                          f->offset, X, V);
    else
        power<32><<<blocks_for(gpu, 32 * count), THREADS, 0, gpu->stream>>>(f->M, f->N, f->T,
                                                                            f->offset, X, V);
}

/* ---- weights --------------------------------------------------------------------------------- */

constexpr int ROWS = 8, CHUNK = 32;

/* A block computes tiles of ROWS rows by THREADS columns; each thread computes one column of a
 * tile. The rows of W are loaded into shared memory in chunks of CHUNK components. */
template <bool SUMS>
__global__ void weigh(int64_t M, int64_t N, int64_t K, double eps, const double *B, tl_gpu_weigh w,
                      Parts parts)
{
    __shared__ double left[CHUNK][ROWS];
    double sums[2] = {0.0, 0.0};
    int64_t across = (N + THREADS - 1) / THREADS, tiles = across * ((M + ROWS - 1) / ROWS);
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int64_t m0 = tile / across * ROWS, n = tile % across * THREADS + threadIdx.x;
        double x[ROWS];
        for (int r = 0; r < ROWS; r++)
            x[r] = eps;
        for (int64_t k0 = 0; k0 < K; k0 += CHUNK) {
            __syncthreads();
            int r = threadIdx.x % ROWS, k = threadIdx.x / ROWS; /* ROWS x CHUNK threads */
            left[k][r] = m0 + r < M && k0 + k < K ? w.W[(m0 + r) * K + k0 + k] : 0.0;
            __syncthreads();
            int most = (int)min((int64_t)CHUNK, K - k0);
            for (int j = 0; n < N && j < most; j++) {
                double h = w.H[(k0 + j) * N + n];
#pragma unroll
                for (int i = 0; i < ROWS; i++)
                    x[i] += left[j][i] * h;
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (n >= N || m0 + r >= M)
                continue;
            int64_t i = (m0 + r) * N + n;
            double b = B != nullptr ? B[i] : 1.0, u = b / x[r], v = 0.0;
            if (w.X != nullptr)
                w.V[i] = v = w.X[i] * w.X[i];
            else if (SUMS || w.A != nullptr)
                v = w.V[i];
            w.U[i] = u;
            if (w.A != nullptr)
                w.A[i] = (v + eps) * u / x[r];
            if (SUMS) {
                sums[0] += (v + eps) * u;
                sums[1] += b * log(x[r]);
            }
        }
    }
    if (SUMS && reduce_grid(sums, parts, Sum())) {
        w.sums[0] = sums[0];
        w.sums[1] = sums[1];
    }
}

void tl_gpu_weights_C(const tl_gpu *gpu, const tl_field *f, const tl_gpu_weigh *w)
{
    static_assert(ROWS * CHUNK == THREADS, "one thread loads one entry of W");
    tl_gpu_weigh with = *w;
    if (!f->one_each && w->X != NULL) { /* its own pass */
        tl_gpu_power(gpu, f, w->X, w->V);
        with.X = NULL;
    }
    int64_t tiles = (f->N + THREADS - 1) / THREADS * ((f->M + ROWS - 1) / ROWS);
    unsigned blocks = blocks_for(gpu, tiles * THREADS);
    if (w->sums != NULL)
        weigh<true><<<blocks, THREADS, 0, gpu->stream>>>(f->M, f->N, f->K, f->eps, f->B, with,
                                                         parts_of(gpu));
    else
        weigh<false><<<blocks, THREADS, 0, gpu->stream>>>(f->M, f->N, f->K, f->eps, f->B, with,
                                                          parts_of(gpu));
}

__global__ void weights_L(int64_t count, double floor, const double *B, const double *V, double *U)
{
    FOR_EACH(i, count)
    U[i] = (B != nullptr ? B[i] : 1.0) / (V[i] + floor);
}

void tl_gpu_weights_L(const tl_gpu *gpu, const tl_field *f, double floor, const double *V,
                      double *U)
{
    int64_t count = f->M * f->N;
    weights_L<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, floor, f->B, V, U);
}

/* ---- objectives ------------------------------------------------------------------------------ */

__global__ void sums_of(tl_field f, unsigned which, const double *X, double *V, const double *U,
                        double *out, Parts parts)
{
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    FOR_EACH(i, f.M *f.N)
    {
        double v = X != nullptr ? X[i] * X[i] : V[i];
        if (X != nullptr)
            V[i] = v;
        double b = f.B != nullptr ? f.B[i] : 1.0;
        if (!(b > 0.0))
            continue;
        if (which & 3) {
            double u = U[i];
            sums[0] += (v + f.eps) * u;
            if (which & 2)
                sums[1] -= b * log(u / b);
        }
        if (which & 4)
            sums[2] += b * (1.0 + log(v + f.eps));
        if (which & 8) {
            double x = (v + f.eps) * (U[i] / b);
            sums[3] += b * (x - 1.0 - log(x));
        }
    }
    if (reduce_grid(sums, parts, Sum()))
        for (int i = 0; i < 4; i++)
            out[i] = sums[i];
}

void tl_gpu_sums(const tl_gpu *gpu, const tl_field *f, unsigned which, const double *X, double *V,
                 const double *U, double *sums)
{
    if (!f->one_each && X != NULL) {
        tl_gpu_power(gpu, f, X, V);
        X = NULL;
    }
    sums_of<<<blocks_for(gpu, f->M * f->N), THREADS, 0, gpu->stream>>>(*f, which, X, V, U, sums,
                                                                      parts_of(gpu));
}

/* ---- terms of gradients ---------------------------------------------------------------------- */

__global__ void weigh_columns(tl_field f, int64_t t0, int64_t width, const double *X,
                              const double *U, double *UX)
{
    FOR_EACH(i, f.M *width)
    {
        int64_t m = i / width, t = t0 + i - m * width, n = f.one_each ? t : f.frame[t];
        UX[i] = U[m * f.N + n] * X[m * f.T + t];
    }
}

void tl_gpu_weigh_columns(const tl_gpu *gpu, const tl_field *f, int64_t t0, int64_t width,
                          const double *X, const double *U, double *UX)
{
    weigh_columns<<<blocks_for(gpu, f->M * width), THREADS, 0, gpu->stream>>>(*f, t0, width, X, U,
                                                                             UX);
}

__global__ void slopes(int64_t count, double eps, const double *B, const double *V, const double *U,
                       double *out)
{
    FOR_EACH(i, count)
    {
        double u = U[i], b = B != nullptr ? B[i] : 1.0;
        out[i] = b > 0.0 ? u - (V[i] + eps) * u * (u / b) : 0.0;
    }
}

void tl_gpu_slopes(const tl_gpu *gpu, const tl_field *f, const double *V, const double *U,
                   double *out)
{
    int64_t count = f->M * f->N;
    slopes<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, f->eps, f->B, V, U, out);
}

__global__ void row_sums(int64_t rows, int64_t columns, double scale, const double *x, double *out)
{
    using Block = cub::BlockReduce<double, THREADS>;
    __shared__ typename Block::TempStorage scratch;
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        double sum = 0.0;
        for (int64_t c = threadIdx.x; c < columns; c += THREADS)
            sum += x[r * columns + c];
        sum = Block(scratch).Sum(sum);
        if (threadIdx.x == 0)
            out[r] = scale * sum;
        __syncthreads();
    }
}

void tl_gpu_row_sums(const tl_gpu *gpu, int64_t rows, int64_t columns, double scale,
                     const double *x, double *out)
{
    row_sums<<<blocks_for(gpu, rows * THREADS), THREADS, 0, gpu->stream>>>(rows, columns, scale, x,
                                                                          out);
}

template <class Op>
__global__ void reduce_all(int64_t count, const double *x, double *out, Parts parts, Op op)
{
    double sum[1] = {0.0};
    FOR_EACH(i, count)
    sum[0] = op(sum[0], x[i]);
    if (reduce_grid(sum, parts, op))
        out[0] = sum[0];
}

struct Largest : Larger {
    __device__ double operator()(double a, double b) const { return fmax(fabs(a), fabs(b)); }
};

void tl_gpu_total(const tl_gpu *gpu, int64_t count, const double *x, double *sums)
{
    reduce_all<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, x, sums, parts_of(gpu),
                                                                   Sum());
}

void tl_gpu_largest(const tl_gpu *gpu, int64_t count, const double *x, double *sums)
{
    reduce_all<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, x, sums, parts_of(gpu),
                                                                   Largest());
}

__global__ void below(tl_field f, const double *V, double *out, Parts parts)
{
    double sums[3] = {0.0, 0.0, 0.0};
    FOR_EACH(i, f.M *f.N)
    {
        if (f.B != nullptr && !(f.B[i] > 0.0))
            continue;
        sums[2] += V[i] < f.eps ? V[i] : 0.0;
        sums[0] += V[i] < f.eps ? 1.0 : 0.0;
        sums[1] += 1.0;
    }
    if (reduce_grid(sums, parts, Sum()))
        for (int i = 0; i < 3; i++)
            out[i] = sums[i];
}

void tl_gpu_below(const tl_gpu *gpu, const tl_field *f, const double *V, double *sums)
{
    below<<<blocks_for(gpu, f->M * f->N), THREADS, 0, gpu->stream>>>(*f, V, sums, parts_of(gpu));
}

/* ---- multiplicative updates ------------------------------------------------------------------ */

__global__ void scale(int64_t count, double *x, double gamma, const double *num, const double *den)
{
    FOR_EACH(i, count)
    {
        double ratio = den[i] > 0.0 ? num[i] / den[i] : 1.0;
        x[i] *= gamma == 1.0 ? ratio : gamma == 0.5 ? sqrt(ratio) : pow(ratio, gamma);
    }
}

void tl_gpu_scale(const tl_gpu *gpu, int64_t count, double *x, double gamma, const double *num,
                  const double *den)
{
    scale<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, x, gamma, num, den);
}
