/* Kernels of the updates of dictionaries: entries of U and A, some columns of W. */
#include "cuda/kernels_reduce.cuh"

__global__ void invert(int64_t count, double eps, const double *V, double *U, double *A)
{
    FOR_EACH(i, count)
    {
        double u = 1.0 / (U[i] + eps);
        U[i] = u;
        if (A != nullptr)
            A[i] = (V[i] + eps) * u * u;
    }
}

void tl_gpu_invert(const tl_gpu *gpu, int64_t count, double eps, const double *V, double *U,
                   double *A)
{
    invert<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(count, eps, V, U, A);
}

__global__ void scale_columns(tl_gpu_columns c, const double *num, const double *den, double *W)
{
    FOR_EACH(i, c.rows *c.K)
    {
        if (c.free != nullptr && !c.free[i % c.K])
            continue;
        if (den[i] > 0.0)
            W[i] *= num[i] / den[i];
    }
}

void tl_gpu_scale_columns(const tl_gpu *gpu, const tl_gpu_columns *c, const double *num,
                          const double *den, double *W)
{
    scale_columns<<<blocks_for(gpu, c->rows * c->K), THREADS, 0, gpu->stream>>>(*c, num, den, W);
}

/* One block per column; 1 where the column stays. */
__global__ void sums_of_columns(tl_gpu_columns c, const double *W, double *sums)
{
    using Block = cub::BlockReduce<double, THREADS>;
    __shared__ typename Block::TempStorage scratch;
    for (int64_t k = blockIdx.x; k < c.K; k += gridDim.x) {
        double sum = 0.0;
        for (int64_t m = threadIdx.x; m < c.rows; m += THREADS)
            sum += W[m * c.K + k];
        sum = Block(scratch).Sum(sum);
        if (threadIdx.x == 0)
            sums[k] = sum > 0.0 && (c.free == nullptr || c.free[k]) ? sum : 1.0;
        __syncthreads();
    }
}

__global__ void divide_columns(tl_gpu_columns c, const double *sums, double *W, double *H)
{
    int64_t in_W = c.rows * c.K;
    FOR_EACH(i, in_W + c.K * c.N)
    {
        if (i < in_W)
            W[i] /= sums[i % c.K];
        else
            H[i - in_W] *= sums[(i - in_W) / c.N];
    }
}

void tl_gpu_normalise_columns(const tl_gpu *gpu, const tl_gpu_columns *c, double *W, double *H,
                              double *sums)
{
    sums_of_columns<<<blocks_for(gpu, c->K * THREADS), THREADS, 0, gpu->stream>>>(*c, W, sums);
    divide_columns<<<blocks_for(gpu, c->rows * c->K + c->K * c->N), THREADS, 0, gpu->stream>>>(
        *c, sums, W, H);
}
