/* Kernels of spectra: the matrix of the DFT, power, masks. */
#include "cuda/kernels_reduce.cuh"

/* Row 0 is the mean, rows 2k-1 and 2k cosine and sine of frequency k; where M is even the last is a
 * cosine. Angles are reduced as integers, as in linalg/transforms.c. */
__global__ void dft_matrix(int64_t M, double *Phi)
{
    FOR_EACH(i, M *M)
    {
        int64_t row = i / M, m = i % M, k = (row + 1) / 2;
        bool alone = k == 0 || 2 * k == M, sine = row % 2 == 0 && !alone;
        double turn = 2.0 * (double)(m * k % M) / (double)M;
        Phi[i] = sqrt((alone ? 1.0 : 2.0) / (double)M) * (sine ? sinpi(turn) : cospi(turn));
    }
}

void tl_gpu_dft_matrix(const tl_gpu *gpu, int64_t M, double *Phi)
{
    dft_matrix<<<blocks_for(gpu, M * M), THREADS, 0, gpu->stream>>>(M, Phi);
}

__global__ void spectral_power(tl_gpu_frames f, const double *X, double *V)
{
    int64_t rows = f.M / 2 + 1, columns = f.count * f.per_frame;
    FOR_EACH(i, rows *f.count)
    {
        int64_t r = i / f.count, n = i % f.count;
        int64_t from = r > 0 ? 2 * r - 1 : 0, to = 2 * r + 1 < f.M ? 2 * r + 1 : f.M;
        double sum = 0.0;
        for (int64_t m = from; m < to; m++)
            for (int64_t t = 0; t < f.per_frame; t++) {
                double x = X[m * columns + n * f.per_frame + t];
                sum += x * x;
            }
        V[i] = (to - from == 2 ? 0.5 : 1.0) / (double)f.per_frame * sum;
    }
}

void tl_gpu_spectral_power(const tl_gpu *gpu, const tl_gpu_frames *f, const double *X, double *V)
{
    int64_t count = (f->M / 2 + 1) * f->count;
    spectral_power<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(*f, X, V);
}

__global__ void mask_columns(tl_gpu_frames f, const double *mask, const double *X, double *out)
{
    int64_t columns = f.count * f.per_frame;
    FOR_EACH(i, f.M *columns)
    {
        int64_t m = i / columns, n = i % columns / f.per_frame;
        out[i] = mask[(m + 1) / 2 * f.count + n] * X[i];
    }
}

void tl_gpu_mask_columns(const tl_gpu *gpu, const tl_gpu_frames *f, const double *mask,
                         const double *X, double *out)
{
    int64_t count = f->M * f->count * f->per_frame;
    mask_columns<<<blocks_for(gpu, count), THREADS, 0, gpu->stream>>>(*f, mask, X, out);
}
