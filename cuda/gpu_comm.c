/* Frames distributed over processes: sums of numbers and arrays that are on the GPU.
 *
 * Every process has its own columns of R, X, V, U and H, and a copy of Phi and W. Sums go
 * through the host: base/comm.h adds them. Each sum also carries a failure flag, so that all
 * processes fail before their solvers take different paths. */
#include "cuda/gpu.h"

/* After a sum: `failures` is how many processes have failed. */
static void agree(tl_cuda *self, double failures)
{
    if (!(failures > 0.0))
        return;
    self->agreed = true;
    tl_cuda_fault(self, TLNMF_ERR_NUMERIC, "the GPU", "that of another process failed");
}

bool tl_cuda_sum_scalars(tl_cuda *self, int place, int count)
{
    double x[TL_COMM_FEW];
    tl_cuda_wait(self);
    if (self->frames_comm != NULL && !self->agreed) {
        memcpy(x, self->scalars + place, (size_t)count * sizeof *x);
        x[count] = self->is.fault != TLNMF_OK ? 1.0 : 0.0;
        tl_comm_few(self->frames_comm, x, count + 1);
        memcpy(self->scalars + place, x, (size_t)count * sizeof *x);
        agree(self, x[count]);
    }
    return self->is.fault == TLNMF_OK;
}

void tl_cuda_sum_array(tl_cuda *self, double *x, int64_t count)
{
    if (self->frames_comm == NULL || self->agreed || count == 0)
        return;
    tl_cuda_copy(self, self->exchanged, x, count);
    tl_cuda_wait(self);
    self->exchanged[count] = self->is.fault != TLNMF_OK ? 1.0 : 0.0;
    tl_comm_polled(self->frames_comm, self->exchanged, count + 1);
    agree(self, self->exchanged[count]);
    tl_cuda_copy(self, x, self->exchanged, count);
}

bool tl_cuda_direction(tl_cuda *self)
{
    tl_gpu_pairs pairs = tl_cuda_pairs(self);
    if (pairs.count > 0)
        tl_gpu_inner_products(&self->gpu, &pairs);
    if (pairs.count > 0 && self->frames_comm != NULL) {
        tl_cuda_sum_array(self, pairs.dots, (int64_t)2 * pairs.count * (pairs.count + 1));
        tl_gpu_two_loops(&self->gpu, &pairs);
    }
    tl_gpu_direction(&self->gpu, &pairs, self->x.direction, self->scalars_device + TL_SCALAR_SLOPE);
    tl_cuda_aim_along(self);
    return tl_cuda_sum_scalars(self, TL_SCALAR_SLOPE, 1);
}

void tl_cuda_sweep_frames(tl_cuda *self, const tl_gpu_sweep *s)
{
    const tl_field *f = tl_cuda_field(self);
    for (int64_t step = 0; step < tl_gpu_steps(f->M) && !tl_poll(self->is.monitor); step++)
        for (int round = 0; round < TL_GPU_BLOCK; round++) {
            int64_t count = tl_gpu_sweep_sums(&self->gpu, f, s, step, round);
            tl_cuda_sum_array(self, s->pairs, count);
            tl_gpu_sweep_turns(&self->gpu, f, s, step, round);
        }
}
