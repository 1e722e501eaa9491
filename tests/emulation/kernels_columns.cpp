/* In the place of columns.cu, whose clusters the emulated device has not. */
#include "cuda/kernels_sweep.cuh"

bool tl_gpu_has_columns(const tl_gpu *, const tl_field *)
{
    return false;
}

void tl_gpu_sweep_columns(const tl_gpu *, const tl_field *, const tl_gpu_sweep *)
{
    abort();
}
