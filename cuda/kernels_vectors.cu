/* Kernels over the coordinates of a descent: steps, sums, the directions of L-BFGS. */
#include "cuda/kernels_reduce.cuh"

/* ---- steps ----------------------------------------------------------------------------------- */

__global__ void move(tl_gpu_moving first, tl_gpu_moving second)
{
    FOR_EACH(i, first.count + second.count)
    {
        bool is_first = i < first.count;
        const tl_gpu_moving &f = is_first ? first : second;
        int64_t j = is_first ? i : i - first.count;
        double moved = f.root[j] + f.a * f.d[j];
        f.new_root[j] = moved;
        f.out[j] = moved * moved;
    }
}

void tl_gpu_move(const tl_gpu *gpu, const tl_gpu_moving factors[2])
{
    int64_t count = factors[0].count + factors[1].count;
    move<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(factors[0], factors[1]);
}

__global__ void square(int64_t count, double c, const double *x, const double *B, double *out)
{
    FOR_EACH(i, count)
    {
        double y = (c * x[i]) * (c * x[i]);
        out[i] = B == nullptr ? y : B[i] > 0.0 ? y / B[i] : 0.0;
    }
}

void tl_gpu_square(const tl_gpu *gpu, int64_t count, double c, const double *x, const double *B,
                   double *out)
{
    square<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, c, x, B, out);
}

__global__ void root(int64_t count, const double *x, double *out)
{
    FOR_EACH(i, count)
    out[i] = sqrt(x[i]);
}

void tl_gpu_root(const tl_gpu *gpu, int64_t count, const double *x, double *out)
{
    root<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, x, out);
}

__global__ void multiply(int64_t first, int64_t second, const double *x, const double *y,
                         double *out, double *more)
{
    FOR_EACH(i, first + second)
    {
        if (i < first)
            out[i] *= x[i];
        else
            more[i - first] *= y[i - first];
    }
}

void tl_gpu_multiply(const tl_gpu *gpu, const int64_t count[2], const double *const x[2],
                     double *const out[2])
{
    multiply<<<blocks_for(gpu, count[0] + count[1]), THREADS, 0, gpu->stream>>>(
        count[0], count[1], x[0], x[1], out[0], out[1]);
}

__global__ void larger(int64_t count, double c, const double *x, const double *mu, double *out)
{
    FOR_EACH(i, count)
    {
        double most = fmax(c * x[i] * out[i], mu[i]);
        out[i] = most > 0.0 ? most : 1.0;
    }
}

void tl_gpu_larger(const tl_gpu *gpu, int64_t count, double c, const double *x, const double *mu,
                   double *out)
{
    larger<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, c, x, mu, out);
}

/* The finaliser of splitmix64 mixes the bits of an index. */
__global__ void signs(int64_t count, double *x)
{
    FOR_EACH(i, count)
    {
        uint64_t z = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        x[i] = (z >> 63) != 0 ? 1.0 : -1.0;
    }
}

void tl_gpu_signs(const tl_gpu *gpu, int64_t count, double *x)
{
    signs<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, x);
}

/* ---- sums ------------------------------------------------------------------------------------ */

__global__ void dot(int64_t count, const double *x, const double *y, const double *z, double *out,
                    Parts parts)
{
    double sum[1] = {0.0};
    FOR_EACH(i, count)
    sum[0] += z != nullptr ? x[i] * y[i] / z[i] : x[i] * y[i];
    if (reduce_grid(sum, parts, Sum()))
        out[0] = sum[0];
}

void tl_gpu_dot(const tl_gpu *gpu, int64_t count, const double *x, const double *y, const double *z,
                double *sums)
{
    dot<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, x, y, z, sums, parts_of(gpu));
}

__global__ void revive(tl_gpu_revive r, double *out, double *sums, Parts parts)
{
    double revived[1] = {0.0};
    FOR_EACH(i, r.count)
    {
        double x = r.x[i], unit = r.unit;
        out[i] = x;
        if (r.root[i] == 0.0 || !(r.expected[i] > 0.0))
            continue;
        double slope = r.gradient[i] / (2.0 * unit * r.root[i]); /* dC/dx */
        double better = -0.5 * r.part * (slope * unit * unit) / r.expected[i] * unit * unit;
        if (better > 10.0 * x) {
            out[i] = better;
            revived[0] += 1.0;
        }
    }
    if (reduce_grid(revived, parts, Sum()))
        sums[0] = revived[0];
}

void tl_gpu_revive_all(const tl_gpu *gpu, const tl_gpu_revive *r, double *out, double *sums)
{
    revive<<<blocks_for(gpu, r->count), THREADS, 0, gpu->stream>>>(*r, out, sums, parts_of(gpu));
}

/* ---- L-BFGS ---------------------------------------------------------------------------------- */

/* The two loops of L-BFGS need inner products of s, y, g and D^-1 alone. They are computed in one
 * pass, the loops run on them, and a second pass adds the vectors up: two launches instead of four
 * for each pair. */
constexpr int MOST = TL_GPU_PAIRS, STRIDE = THREADS + 1;

/* Inner products: sg_i = s_i' g, then yg_i = y_i' D^-1 g, sy_ij = s_i' y_j, yy_ij = y_i' D^-1
 * y_j. */
struct Dots {
    double sg[MOST], yg[MOST], sy[MOST][MOST], yy[MOST][MOST];
};

/* Rows of the tile in shared memory: s (c of them), y, y / D, g. Dot number j multiplies rows
 * left, right. */
__device__ void rows_of(int j, int c, int *left, int *right)
{
    int i = j / (c + 1) % c, k = j % (c + 1); /* k = c: with g */
    bool of_y = j >= c * (c + 1);
    *left = of_y ? 2 * c + i : i;
    *right = k == c ? 3 * c : c + k;
}

/* Where dot number j belongs. */
__device__ double *place_of(Dots *d, int j, int c)
{
    int i = j / (c + 1) % c, k = j % (c + 1);
    bool of_y = j >= c * (c + 1);
    if (k == c)
        return of_y ? d->yg + i : d->sg + i;
    return of_y ? d->yy[i] + k : d->sy[i] + k;
}

/* The loops of Nocedal and Wright, Algorithm 7.4, on inner products. */
__device__ void two_loops(const Dots &d, int c, double *coefficients)
{
    double alpha[MOST], beta[MOST];
    for (int i = 0; i < c; i++) {
        double sum = -d.sg[i];
        for (int j = 0; j < i; j++)
            sum -= alpha[j] * d.sy[i][j];
        alpha[i] = sum / d.sy[i][i];
    }
    for (int i = c - 1; i >= 0; i--) {
        double sum = -d.yg[i];
        for (int j = 0; j < c; j++)
            sum -= alpha[j] * d.yy[i][j];
        for (int j = c - 1; j > i; j--)
            sum += (alpha[j] - beta[j]) * d.sy[j][i];
        beta[i] = sum / d.sy[i][i];
    }
    for (int i = 0; i < c; i++) {
        coefficients[i] = alpha[i] - beta[i];
        coefficients[MOST + i] = -alpha[i];
    }
}

template <class Real> __global__ void inner_products(tl_gpu_pairs p, Parts parts)
{
    extern __shared__ double tile[];
    __shared__ double sums[THREADS];
    __shared__ bool last;
    const int c = p.count, dots = 2 * c * (c + 1), shares = THREADS / dots;
    const int j = threadIdx.x % dots, share = threadIdx.x / dots;
    int left, right;
    rows_of(j, c, &left, &right);
    double sum = 0.0;
    for (int64_t first = blockIdx.x * (int64_t)THREADS; first < p.size;
         first += (int64_t)gridDim.x * THREADS) {
        int64_t e = first + threadIdx.x;
        bool in = e >= p.skipped && e < p.size;
        __syncthreads();
        double over = in ? 1.0 / p.metric[e] : 0.0;
        tile[3 * c * STRIDE + threadIdx.x] = in ? p.gradient[e] : 0.0;
        for (int i = 0; i < c; i++) {
            int64_t at = p.place[i] * p.size + e;
            double s = in ? (double)((const Real *)p.s)[at] : 0.0;
            double y = in ? (double)((const Real *)p.y)[at] : 0.0;
            tile[i * STRIDE + threadIdx.x] = s;
            tile[(c + i) * STRIDE + threadIdx.x] = y;
            tile[(2 * c + i) * STRIDE + threadIdx.x] = y * over;
        }
        __syncthreads();
        if (share < shares)
            for (int i = share; i < THREADS; i += shares)
                sum += tile[left * STRIDE + i] * tile[right * STRIDE + i];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (share == 0) {
        for (int i = 1; i < shares; i++)
            sum += sums[i * dots + j];
        parts.partial[(size_t)blockIdx.x * dots + j] = sum;
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(parts.ticket, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    __shared__ Dots d;
    if (threadIdx.x < dots) {
        double total = 0.0;
        for (unsigned b = 0; b < gridDim.x; b++)
            total += __ldcg(&parts.partial[(size_t)b * dots + j]);
        if (p.dots != NULL)
            p.dots[j] = total;
        else
            *place_of(&d, j, c) = total;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (p.dots == NULL)
            two_loops(d, c, p.coefficients);
        *parts.ticket = 0;
    }
}

__global__ void loops_on_sums(tl_gpu_pairs p)
{
    __shared__ Dots d;
    const int j = threadIdx.x, c = p.count;
    if (j < 2 * c * (c + 1))
        *place_of(&d, j, c) = p.dots[j];
    __syncthreads();
    if (j == 0)
        two_loops(d, c, p.coefficients);
}

template <class Real>
__global__ void combine(tl_gpu_pairs p, double *direction, double *out, Parts parts)
{
    __shared__ double of[2 * MOST];
    double slope[1] = {0.0};
    if (threadIdx.x < 2 * MOST)
        of[threadIdx.x] = p.coefficients[threadIdx.x];
    __syncthreads();
    FOR_EACH(e, p.size)
    {
        double q = -p.gradient[e], r = 0.0;
        for (int i = 0; i < p.count; i++) {
            int64_t at = p.place[i] * p.size + e;
            q += of[MOST + i] * (double)((const Real *)p.y)[at];
            r += of[i] * (double)((const Real *)p.s)[at];
        }
        double d = q / p.metric[e] + r;
        direction[e] = d;
        if (e >= p.skipped)
            slope[0] += d * p.gradient[e];
    }
    if (reduce_grid(slope, parts, Sum()))
        out[0] = slope[0];
}

/* Few enough blocks for the last one to add their parts soon. */
static unsigned blocks_of_dots(const tl_gpu *gpu, int64_t size)
{
    int64_t wanted = (size + THREADS - 1) / THREADS, most = 2 * (int64_t)gpu->processors;
    return (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

template <class Real> static void inner_products_in(const tl_gpu *gpu, const tl_gpu_pairs *p)
{
    size_t bytes = (size_t)(3 * p->count + 1) * STRIDE * sizeof(double);
    cudaFuncSetAttribute(inner_products<Real>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         (3 * MOST + 1) * STRIDE * (int)sizeof(double));
    inner_products<Real>
        <<<blocks_of_dots(gpu, p->size), THREADS, bytes, gpu->stream>>>(*p, parts_of(gpu));
}

void tl_gpu_inner_products(const tl_gpu *gpu, const tl_gpu_pairs *p)
{
    static_assert(TL_GPU_DOTS <= THREADS, "a thread adds one inner product");
    if (p->single)
        inner_products_in<float>(gpu, p);
    else
        inner_products_in<double>(gpu, p);
}

void tl_gpu_two_loops(const tl_gpu *gpu, const tl_gpu_pairs *p)
{
    loops_on_sums<<<1, THREADS, 0, gpu->stream>>>(*p);
}

void tl_gpu_direction(const tl_gpu *gpu, const tl_gpu_pairs *p, double *direction, double *sums)
{
    unsigned blocks = blocks_for(gpu, p->size);
    if (p->single)
        combine<float><<<blocks, THREADS, 0, gpu->stream>>>(*p, direction, sums, parts_of(gpu));
    else
        combine<double><<<blocks, THREADS, 0, gpu->stream>>>(*p, direction, sums, parts_of(gpu));
}

template <class Real>
__global__ void learn(tl_gpu_pairs p, int place, double a, const double *direction,
                      const double *before, double *out, Parts parts)
{
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    FOR_EACH(e, p.size)
    {
        int64_t at = place * p.size + e;
        double g = p.gradient[e], change = g - before[e], over = 1.0 / p.metric[e];
        Real s = (Real)(a * direction[e]), y = (Real)change;
        ((Real *)p.s)[at] = s;
        ((Real *)p.y)[at] = y;
        if (e < p.skipped)
            continue;
        sums[0] += (double)s * (double)s * p.metric[e];
        sums[1] += change * change * over;
        sums[2] += (double)s * (double)y;
        sums[3] += g * g * over;
    }
    if (reduce_grid(sums, parts, Sum()))
        for (int i = 0; i < 4; i++)
            out[i] = sums[i];
}

/* Seven parameters: a step, and where it came from. */
void tl_gpu_learn(const tl_gpu *gpu, const tl_gpu_pairs *p, int place, double a,
                  const double *direction, const double *before, double *sums)
{
    unsigned blocks = blocks_for(gpu, p->size);
    if (p->single)
        learn<float><<<blocks, THREADS, 0, gpu->stream>>>(*p, place, a, direction, before, sums,
                                                         parts_of(gpu));
    else
        learn<double><<<blocks, THREADS, 0, gpu->stream>>>(*p, place, a, direction, before, sums,
                                                          parts_of(gpu));
}
