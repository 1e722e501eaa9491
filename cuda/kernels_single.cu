/* Kernels around products in single precision: matrices split for the tensor cores, and back. */
#include "cuda/kernels_reduce.cuh"

/* The nearest number that the tensor cores take as it is (TF32: 10 bits after the point). */
__device__ float to_tf32(float x)
{
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return __uint_as_float(bits);
}

__global__ void split(tl_gpu_matrix x, int64_t to, float *high, float *low)
{
    for (int64_t r = blockIdx.x; r < x.rows; r += gridDim.x)
        for (int64_t c = threadIdx.x; c < x.columns; c += blockDim.x) {
            double value = x.x[r * x.apart + c];
            float near = to_tf32((float)value);
            high[r * to + c] = near;
            if (low != nullptr)
                low[r * to + c] = to_tf32((float)(value - (double)near));
        }
}

static unsigned blocks_of_rows(const tl_gpu *gpu, int64_t rows)
{
    int64_t most = (int64_t)gpu->processors * 8;
    return (unsigned)(rows < most ? rows : most);
}

void tl_gpu_split(const tl_gpu *gpu, const tl_gpu_matrix *x, int64_t to, float *high, float *low)
{
    split<<<blocks_of_rows(gpu, x->rows), THREADS, 0, gpu->stream>>>(*x, to, high, low);
}

__global__ void join(tl_gpu_matrix out, int64_t from, const float *x, double alpha, double beta)
{
    for (int64_t r = blockIdx.x; r < out.rows; r += gridDim.x)
        for (int64_t c = threadIdx.x; c < out.columns; c += blockDim.x) {
            double *to = &out.x[r * out.apart + c], value = alpha * (double)x[r * from + c];
            *to = beta == 0.0 ? value : value + beta * *to;
        }
}

void tl_gpu_join(const tl_gpu *gpu, const tl_gpu_matrix *out, int64_t from, const float *x,
                 const double factors[2])
{
    join<<<blocks_of_rows(gpu, out->rows), THREADS, 0, gpu->stream>>>(*out, from, x, factors[0],
                                                                     factors[1]);
}

__global__ void round_all(int64_t count, const double *x, float *out)
{
    FOR_EACH(i, count)
    out[i] = (float)x[i];
}

void tl_gpu_round(const tl_gpu *gpu, int64_t count, const double *x, float *out)
{
    round_all<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, x, out);
}
