/* The point and the values computed from it: fill, store, project, values, gradient, updates,
 * sweeps. */
#include "cuda/gpu.h"

#include <math.h>
#include <stdio.h>

/* ---- failures -------------------------------------------------------------------------------- */

void tl_cuda_fault(tl_cuda *self, tlnmf_error error, const char *what, const char *why)
{
    if (self->is.fault != TLNMF_OK)
        return;
    self->is.fault = error;
    snprintf(self->why, sizeof self->why, "%s: %s", what, why);
    self->is.why = self->why;
}

void tl_cuda_check(tl_cuda *self, cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        tl_cuda_fault(self,
                      error == cudaErrorMemoryAllocation ? TLNMF_ERR_MEMORY : TLNMF_ERR_NUMERIC,
                      what, cudaGetErrorString(error));
}

bool tl_cuda_wait(tl_cuda *self)
{
    tl_cuda_check(self, cudaGetLastError(), "a launch on the GPU");
    tl_cuda_check(self, cudaStreamSynchronize(self->gpu.stream), "the GPU");
    tl_cuda_settle(self);
    return self->is.fault == TLNMF_OK;
}

/* ---- copies ---------------------------------------------------------------------------------- */

void tl_cuda_copy(tl_cuda *self, double *to, const double *from, int64_t count)
{
    if (count > 0)
        tl_cuda_check(self,
                      cudaMemcpyAsync(to, from, (size_t)count * sizeof *to, cudaMemcpyDefault,
                                      self->gpu.stream),
                      "a copy to or from the GPU");
}

/* ---- which arrays are up to date ------------------------------------------------------------- */

const tl_field *tl_cuda_field(tl_cuda *self)
{
    self->f.eps = self->is.eps;
    return &self->f;
}

void tl_cuda_V_changed(tl_cuda *self)
{
    if (self->U_is == TL_CUDA_U_WEIGHTS_L)
        self->U_is = TL_CUDA_U_NOTHING;
}

static void factors_changed(tl_cuda *self)
{
    if (self->U_is == TL_CUDA_U_WEIGHTS_C)
        self->U_is = TL_CUDA_U_NOTHING;
}

void tl_cuda_coefficients(tl_cuda *self, const double *Phi)
{
    int64_t M = self->is.M, T = self->f.T;
    tl_cuda_multiply(self, &(tl_cuda_product){TL_PLAIN, TL_PLAIN, M, T, M, 1.0, Phi, self->R, 0.0,
                                              self->X, .passes = 3});
    tl_cuda_V_changed(self);
}

void tl_cuda_refresh(tl_cuda *self)
{
    tl_cuda_coefficients(self, self->Phi);
    tl_gpu_power(&self->gpu, tl_cuda_field(self), self->X, self->V);
}

void tl_cuda_weigh(tl_cuda *self, const tl_field *f, tl_gpu_weigh w)
{
    w.V = self->V;
    w.U = self->U;
    tl_gpu_weights_C(&self->gpu, f, &w);
}

void tl_cuda_U_holds(tl_cuda *self, tl_cuda_U what, double floor)
{
    self->U_is = what;
    self->U_floor = floor;
}

void tl_cuda_weights(tl_cuda *self, unsigned of, double floor)
{
    tl_cuda_U wanted = of == TL_C ? TL_CUDA_U_WEIGHTS_C : TL_CUDA_U_WEIGHTS_L;
    if (self->U_is == wanted && self->U_floor == floor)
        return;
    tl_field f = *tl_cuda_field(self);
    f.eps = floor;
    if (of == TL_C)
        tl_cuda_weigh(self, &f, (tl_gpu_weigh){.W = self->W, .H = self->H});
    else
        tl_gpu_weights_L(&self->gpu, &f, floor, self->V, self->U);
    tl_cuda_U_holds(self, wanted, floor);
}

/* ---- the point ------------------------------------------------------------------------------- */

tlnmf_error tl_cuda_fill(tl_engine *e, unsigned parts, tl_fill fill, void *user)
{
    tl_cuda *self = tl_cuda_of(e);
    int64_t MM = e->M * e->M, MK = e->M * e->K, KN = e->K * e->N;
    tl_cuda_store(e, self->point.Phi, self->point.W, self->point.H);
    TRY(fill(&self->point, user));
    factors_changed(self);
    if (parts & TL_W)
        tl_comm_broadcast(self->frames_comm, self->point.W, MK);
    if (parts & TL_PHI)
        tl_comm_broadcast(self->frames_comm, self->point.Phi, MM);
    if (parts & TL_W)
        tl_cuda_copy(self, self->W, self->point.W, MK);
    if (parts & TL_H)
        tl_cuda_copy(self, self->H, self->point.H, KN);
    if (parts & TL_PHI) {
        tl_cuda_copy(self, self->Phi, self->point.Phi, MM);
        tl_cuda_refresh(self);
    }
    tl_cuda_wait(self);
    return TLNMF_OK;
}

/* Small matrices stay on the host, so that starts have the same bits as on the cpu. */
bool tl_cuda_orthogonalise_point(const tl_point *point)
{
    enum { LARGE = 1024 }; /* chosen arbitrarily */
    tl_cuda *self = point->orthogonalise_user;
    int64_t M = point->M;
    if (M < LARGE)
        return false;
    tl_cuda_copy(self, self->Phi, point->Phi, M * M);
    tl_cuda_gram(self, 1.0, self->Phi, self->Gamma);
    tl_gpu_norms(&self->gpu, M, self->Phi, self->Gamma, self->scalars_device + TL_SCALAR_NORMS);
    if (!tl_cuda_wait(self))
        return false;
    /* no singular value is larger: they are below 1 then */
    double scale = 1.0 / sqrt(self->scalars[TL_SCALAR_NORMS + 1]);
    if (!isfinite(scale))
        return false;
    tl_gpu_blend_all(&self->gpu, M, &(tl_gpu_blend){.A = self->Phi, .c = {0.0, scale, 0.0, 0.0}},
                     self->Phi);
    if (!tl_cuda_orthogonalise(self, self->Phi))
        return false;
    tl_cuda_copy(self, point->Phi, self->Phi, M * M);
    return tl_cuda_wait(self);
}

void tl_cuda_store(const tl_engine *e, double *Phi, double *W, double *H)
{
    tl_cuda *self = tl_cuda_of((tl_engine *)(uintptr_t)e); /* a failure is noted in it */
    if (Phi != NULL)
        tl_cuda_copy(self, Phi, self->Phi, e->M * e->M);
    if (W != NULL)
        tl_cuda_copy(self, W, self->W, e->M * e->K);
    if (H != NULL)
        tl_cuda_copy(self, H, self->H, e->K * e->N);
    tl_cuda_wait(self);
}

/* (9) */
static void normalise(tl_cuda *self)
{
    const tl_gpu_columns all = {.rows = self->f.M, .N = self->f.N, .K = self->f.K};
    tl_gpu_normalise_columns(&self->gpu, &all, self->W, self->H, self->column);
}

void tl_cuda_project(tl_engine *e, unsigned parts)
{
    tl_cuda *self = tl_cuda_of(e);
    if (parts & TL_W && e->K > 0) {
        normalise(self);
        factors_changed(self);
    }
    if (parts & TL_PHI) {
        tl_cuda_orthogonalise(self, self->Phi);
        tl_cuda_refresh(self);
    }
}

/* Phi Phi' - I in Gamma, and its largest entry. */
static void measure_Phi(tl_cuda *self)
{
    int64_t M = self->is.M;
    tl_cuda_gram(self, 1.0, self->Phi, self->Gamma);
    tl_gpu_blend_all(&self->gpu, M, &(tl_gpu_blend){.A = self->Gamma, .c = {-1.0, 1.0, 0.0, 0.0}},
                     self->Gamma);
    tl_gpu_largest(&self->gpu, M * M, self->Gamma, self->scalars_device + TL_SCALAR_ONE);
}

bool tl_cuda_inspect(tl_engine *e, tl_inspection *found)
{
    tl_cuda *self = tl_cuda_of(e);
    const tl_field *f = tl_cuda_field(self);
    bool energy = found != NULL && found->energy != NULL;
    double *scalars = self->scalars_device;
    tl_gpu_total(&self->gpu, f->M * f->N, self->V, scalars + TL_SCALAR_SUMS);
    tl_gpu_total(&self->gpu, e->M * e->K, self->W, scalars + TL_SCALAR_SUMS + 1);
    tl_gpu_total(&self->gpu, e->K * e->N, self->H, scalars + TL_SCALAR_SUMS + 2);
    if (found != NULL) {
        tl_gpu_below(&self->gpu, f, self->V, scalars + TL_SCALAR_BELOW);
        measure_Phi(self);
    }
    if (energy) {
        tl_gpu_row_sums(&self->gpu, f->M, f->N, 1.0, self->V, self->floors);
        tl_cuda_sum_array(self, self->floors, e->M);
        tl_cuda_copy(self, found->energy, self->floors, e->M);
    }
    if (!tl_cuda_sum_scalars(self, TL_SCALAR_SUMS, 3) ||
        (found != NULL && !tl_cuda_sum_scalars(self, TL_SCALAR_BELOW, 3)))
        return false;
    if (found != NULL) {
        const double *below = self->scalars + TL_SCALAR_BELOW;
        found->below_floor = below[1] > 0.0 ? below[0] / below[1] : 0.0;
        found->power_below = below[2];
        found->orthogonality = self->scalars[TL_SCALAR_ONE];
    }
    const double *sums = self->scalars + TL_SCALAR_SUMS;
    return isfinite(sums[0] + sums[1] + sums[2]);
}

/* ---- objectives and gradient ----------------------------------------------------------------- */

void tl_cuda_objectives(tl_cuda *self, unsigned which, const double *X)
{
    tl_gpu_sums(&self->gpu, tl_cuda_field(self), which, X, self->V, self->U,
                self->scalars_device + TL_SCALAR_SUMS);
}

tl_values tl_cuda_values(tl_engine *e, unsigned which)
{
    tl_cuda *self = tl_cuda_of(e);
    tl_values v = {NAN, NAN, NAN};
    bool factors = e->K > 0 && which & (TL_C | TL_I);
    unsigned bits = which & TL_L ? 4 : 0;
    if (factors)
        bits |= (which & TL_C ? 3 : 0) | (which & TL_I ? 8 : 0);
    if (factors)
        tl_cuda_weights(self, TL_C, e->eps);
    tl_cuda_objectives(self, bits, NULL);
    if (!tl_cuda_sum_scalars(self, TL_SCALAR_SUMS, 4))
        return v;
    const double *sums = self->scalars + TL_SCALAR_SUMS;
    if (bits & 1)
        v.C = sums[0] + sums[1];
    if (bits & 4)
        v.L = sums[2];
    if (bits & 8)
        v.I = sums[3];
    return v;
}

void tl_cuda_G(tl_cuda *self)
{
    int64_t M = self->is.M, T = self->f.T;
    if (T == 0)
        tl_cuda_check(
            self, cudaMemsetAsync(self->G, 0, (size_t)(M * M) * sizeof(double), self->gpu.stream),
            "the GPU");
    for (int64_t t = 0; t < T; t += self->slice) {
        int64_t width = tl_min(self->slice, T - t);
        tl_gpu_weigh_columns(&self->gpu, &self->f, t, width, self->X, self->U, self->UX);
        tl_cuda_multiply(self, &(tl_cuda_product){TL_PLAIN, TL_TRANSPOSED, M, M, width, 2.0,
                                                  self->UX, self->X + t, t > 0 ? 1.0 : 0.0, self->G,
                                                  .ldb = T, .passes = 3});
    }
}

void tl_cuda_gamma(tl_cuda *self)
{
    int64_t M = self->is.M, N = self->f.N;
    tl_cuda_multiply(self, &(tl_cuda_product){TL_PLAIN, TL_TRANSPOSED, M, M, N, 2.0, self->U,
                                              self->V, 0.0, self->Gamma, .passes = 3});
}

double tl_cuda_gradient(tl_engine *e, unsigned of, double *Ganti)
{
    tl_cuda *self = tl_cuda_of(e);
    tl_cuda_weights(self, of, e->eps);
    tl_cuda_G(self);
    tl_cuda_sum_array(self, self->G, e->M * e->M);
    tl_gpu_antisymmetric(&self->gpu, e->M, self->G, Ganti != NULL ? self->Gamma : NULL,
                         self->scalars_device + TL_SCALAR_NORM);
    if (Ganti != NULL)
        tl_cuda_copy(self, Ganti, self->Gamma, e->M * e->M);
    return tl_cuda_wait(self) ? sqrt(self->scalars[TL_SCALAR_NORM]) / (2.0 * e->frames) : NAN;
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* 1 / (W H + eps) in U, the denominators' terms, and those of the numerators, (V + eps) / (W H +
 * eps)^2, in UX; both times the weights, if there are any. */
static void update_terms(tl_cuda *self)
{
    tl_cuda_weigh(self, tl_cuda_field(self),
                  (tl_gpu_weigh){.W = self->W, .H = self->H, .A = self->UX});
    self->U_is = TL_CUDA_U_NOTHING;
}

/* (7) */
static void update_H(tl_cuda *self)
{
    int64_t M = self->is.M, N = self->f.N, K = self->is.K;
    const bool turned = self->UX < self->U; /* the first matrix of the batch is UX */
    update_terms(self);
    tl_cuda_multiply_two(self,
                         &(tl_cuda_product){TL_TRANSPOSED, TL_PLAIN, K, N, M, 1.0, self->W,
                                            turned ? self->UX : self->U, 0.0, self->den,
                                            .passes = 0},
                         turned ? self->U - self->UX : self->UX - self->U, self->num - self->den);
    tl_gpu_scale(&self->gpu, K * N, self->H, self->gamma, turned ? self->den : self->num,
                 turned ? self->num : self->den);
}

/* (8) and (9) */
static void update_W(tl_cuda *self)
{
    int64_t M = self->is.M, K = self->is.K;
    update_terms(self);
    tl_cuda_times_H(self, 1.0, self->U, self->H, self->W_den);
    tl_cuda_times_H(self, 1.0, self->UX, self->H, self->W_num);
    tl_cuda_sum_array(self, self->W_num, M * K);
    tl_cuda_sum_array(self, self->W_den, M * K);
    tl_gpu_scale(&self->gpu, M * K, self->W, self->gamma, self->W_num, self->W_den);
    normalise(self);
}

/* Waits. With distributed frames all processes must answer the same, so only a failure that all
 * know of counts. */
static bool has_failed(tl_cuda *self)
{
    bool works = tl_cuda_wait(self);
    return self->frames_comm != NULL ? self->agreed : !works;
}

void tl_cuda_update(tl_engine *e, unsigned parts, int64_t count)
{
    enum { BATCH = 16 }; /* updates that are queued between two polls; chosen arbitrarily */
    tl_cuda *self = tl_cuda_of(e);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && i % BATCH == 0 && (has_failed(self) || tl_poll(e->monitor)))
            break;
        update_H(self);
        if (parts & TL_W)
            update_W(self);
    }
}

/* A sweep of this process alone, in single precision while products are rounded and columns fit the
 * registers. Steps are queued in batches, with a poll after each. */
static void sweep_alone(tl_cuda *self, const tl_field *f, tl_gpu_sweep *s)
{
    enum { BATCH = 32 }; /* at most 256 launches; chosen arbitrarily */
    int64_t steps = tl_gpu_steps(f->M);
    s->single = self->rough && tl_gpu_has_columns(&self->gpu, f);
    if (s->single) {
        tl_gpu_round(&self->gpu, f->M * f->N, self->U, self->single.A_high);
        tl_gpu_round(&self->gpu, f->M * f->T, self->X, self->single.B_high);
        s->U = self->single.A_high;
        s->X = self->single.B_high;
    }
    for (; s->first < steps; s->first = s->end) {
        s->end = tl_min(s->first + BATCH, steps);
        tl_gpu_sweep_all(&self->gpu, f, s);
        if (s->end < steps && (!tl_cuda_wait(self) || tl_poll(self->is.monitor)))
            break;
    }
    if (s->single) /* X is not up to date with Phi */
        tl_cuda_coefficients(self, self->Phi);
}

double tl_cuda_sweep(tl_engine *e, unsigned of, double floor, double least)
{
    tl_cuda *self = tl_cuda_of(e);
    const double trifle = 1e-8 * e->frames; /* as in the cpu engine */
    const tl_field *f = tl_cuda_field(self);
    tl_gpu_sweep s = {.U = self->U,
                      .X = self->X,
                      .Phi = self->Phi,
                      .gains = self->gains,
                      .pairs = self->pairs,
                      .least = fmax(least, trifle)};
    tl_cuda_weights(self, of, floor);
    tl_cuda_check(self,
                  cudaMemsetAsync(self->gains, 0, (size_t)tl_gpu_gains(e->M) * sizeof *self->gains,
                                  self->gpu.stream),
                  "the GPU");
    if (self->frames_comm != NULL)
        tl_cuda_sweep_frames(self, &s);
    else
        sweep_alone(self, f, &s);
    tl_gpu_total(&self->gpu, tl_gpu_gains(e->M), self->gains, self->scalars_device + TL_SCALAR_ONE);
    tl_gpu_power(&self->gpu, f, self->X, self->V);
    tl_cuda_V_changed(self);
    return tl_cuda_wait(self) ? self->scalars[TL_SCALAR_ONE] : NAN;
}

bool tl_cuda_precision(tl_engine *e, bool rough)
{
    tl_cuda *self = tl_cuda_of(e);
    bool back = self->rough && !rough;
    self->rough = rough;
    if (back)
        tl_cuda_project(e, TL_PHI);
    return rough;
}
