/* The point and what follows from it: fill, store, project, values, gradient, updates, sweeps. */
#include "cuda/cuda.h"

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
    if (self->is.fault == TLNMF_OK)
        tl_cuda_settle(self);
    return self->is.fault == TLNMF_OK;
}

/* ---- copies ---------------------------------------------------------------------------------- */

void tl_cuda_copy(tl_cuda *self, double *to, const double *from, int64_t count)
{
    if (count > 0)
        tl_cuda_check(self,
                      cudaMemcpyAsync(to, from, (size_t)count * sizeof *to,
                                      cudaMemcpyDeviceToDevice, self->gpu.stream),
                      "a copy on the GPU");
}

static void send(tl_cuda *self, double *to, const double *from, int64_t count)
{
    if (count > 0)
        tl_cuda_check(self,
                      cudaMemcpyAsync(to, from, (size_t)count * sizeof *to, cudaMemcpyHostToDevice,
                                      self->gpu.stream),
                      "a copy to the GPU");
}

static void receive(tl_cuda *self, double *to, const double *from, int64_t count)
{
    if (count > 0)
        tl_cuda_check(self,
                      cudaMemcpyAsync(to, from, (size_t)count * sizeof *to, cudaMemcpyDeviceToHost,
                                      self->gpu.stream),
                      "a copy from the GPU");
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

void tl_cuda_factors_changed(tl_cuda *self)
{
    if (self->U_is == TL_CUDA_U_WEIGHTS_C)
        self->U_is = TL_CUDA_U_NOTHING;
}

void tl_cuda_times_R(tl_cuda *self, const double *Phi)
{
    int64_t M = self->is.M, T = self->f.T;
    tl_cuda_multiply(self, &(tl_cuda_product){.m = M,
                                              .n = T,
                                              .k = M,
                                              .alpha = 1.0,
                                              .A = Phi,
                                              .lda = M,
                                              .B = self->R,
                                              .ldb = T,
                                              .C = self->X,
                                              .ldc = T,
                                              .passes = 3});
    tl_cuda_V_changed(self);
}

void tl_cuda_coefficients(tl_cuda *self, const double *Phi)
{
    self->panels.at_new = Phi == self->Phi_new;
    if (self->panels.data == NULL)
        tl_cuda_times_R(self, Phi);
}

void tl_cuda_refresh(tl_cuda *self)
{
    tl_cuda_coefficients(self, self->Phi);
    if (self->panels.data == NULL)
        tl_gpu_power(&self->gpu, tl_cuda_field(self), self->X, self->V);
}

void tl_cuda_weigh(tl_cuda *self, const tl_field *f, tl_gpu_weigh w)
{
    w.H += self->panels.first;
    w.H_apart = self->is.N;
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
    tl_cuda *self = (tl_cuda *)e;
    int64_t MM = e->M * e->M, MK = e->M * e->K, KN = e->K * e->N;
    tl_cuda_store(e, self->point.Phi, self->point.W, self->point.H);
    TRY(fill(&self->point, user));
    tl_cuda_factors_changed(self);
    if (parts & TL_W)
        send(self, self->W, self->point.W, MK);
    if (parts & TL_H)
        send(self, self->H, self->point.H, KN);
    if (parts & TL_PHI) {
        send(self, self->Phi, self->point.Phi, MM);
        tl_cuda_refresh(self);
    }
    tl_cuda_wait(self);
    return TLNMF_OK;
}

/* Phi Phi' in Gamma. */
static void gram_of_Phi(tl_cuda *self)
{
    int64_t M = self->is.M;
    tl_cuda_multiply(self, &(tl_cuda_product){.opB = TL_TRANSPOSED,
                                              .m = M,
                                              .n = M,
                                              .k = M,
                                              .alpha = 1.0,
                                              .A = self->Phi,
                                              .lda = M,
                                              .B = self->Phi,
                                              .ldb = M,
                                              .C = self->Gamma,
                                              .ldc = M});
}

/* Small ones stay on the host, so that starts have the bits that they have on the cpu. */
bool tl_cuda_orthogonalise_point(const tl_point *point)
{
    enum { LARGE = 1024 }; /* a plain choice */
    tl_cuda *self = point->orthogonalise_user;
    int64_t M = point->M;
    if (M < LARGE)
        return false;
    send(self, self->Phi, point->Phi, M * M);
    gram_of_Phi(self);
    tl_gpu_norms(&self->gpu, M, self->Phi, self->Gamma, self->seen_there + TL_SEEN_NORMS);
    if (!tl_cuda_wait(self))
        return false;
    /* no singular value is larger: they are below 1 then */
    double scale = 1.0 / sqrt(self->seen[TL_SEEN_NORMS + 1]);
    if (!isfinite(scale))
        return false;
    tl_gpu_blend_all(&self->gpu, M, &(tl_gpu_blend){.A = self->Phi, .c = {0.0, scale, 0.0, 0.0}},
                     self->Phi);
    if (!tl_cuda_orthogonalise(self, self->Phi))
        return false;
    receive(self, point->Phi, self->Phi, M * M);
    return tl_cuda_wait(self);
}

void tl_cuda_store(const tl_engine *e, double *Phi, double *W, double *H)
{
    tl_cuda *self = (tl_cuda *)(uintptr_t)e; /* a failure is noted in it */
    if (Phi != NULL)
        receive(self, Phi, self->Phi, e->M * e->M);
    if (W != NULL)
        receive(self, W, self->W, e->M * e->K);
    if (H != NULL)
        receive(self, H, self->H, e->K * e->N);
    tl_cuda_wait(self);
}

/* (9), over all frames. */
static void normalise(tl_cuda *self)
{
    tl_field all = self->f;
    all.N = self->is.N;
    tl_gpu_normalise(&self->gpu, &all, self->W, self->H, self->column);
}

void tl_cuda_project(tl_engine *e, unsigned parts)
{
    tl_cuda *self = (tl_cuda *)e;
    if (parts & TL_W && e->K > 0) {
        normalise(self);
        tl_cuda_factors_changed(self);
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
    gram_of_Phi(self);
    tl_gpu_blend_all(&self->gpu, M, &(tl_gpu_blend){.A = self->Gamma, .c = {-1.0, 1.0, 0.0, 0.0}},
                     self->Gamma);
    tl_gpu_largest(&self->gpu, M * M, self->Gamma, self->seen_there + TL_SEEN_OTHER);
}

/* Sums of V: of all entries, of those below the floor (if `below`), of rows (if `energy`). */
static void inspect_V(tl_cuda *self, bool below, bool energy)
{
    double *seen = self->seen_there + TL_SEEN_SUMS, *few = self->seen_there + TL_SEEN_BELOW;
    for (int64_t p = 0; tl_cuda_bring(self, p); p++) {
        const tl_field *f = tl_cuda_field(self);
        tl_gpu_total(&self->gpu, f->M * f->N, self->V, tl_cuda_sums_of(self, p, seen));
        tl_cuda_add_sums(self, p, 1, seen);
        if (below) {
            tl_gpu_below(&self->gpu, f, self->V, tl_cuda_sums_of(self, p, few));
            tl_cuda_add_sums(self, p, 2, few);
        }
        if (energy) {
            tl_gpu_row_sums(&self->gpu, f->M, f->N, 1.0, self->V,
                            tl_cuda_sums_of(self, p, self->floors));
            tl_cuda_add_sums(self, p, f->M, self->floors);
        }
    }
}

bool tl_cuda_inspect(tl_engine *e, tl_inspection *found)
{
    tl_cuda *self = (tl_cuda *)e;
    bool energy = found != NULL && found->energy != NULL;
    double *seen = self->seen_there + TL_SEEN_SUMS;
    inspect_V(self, found != NULL, energy);
    tl_gpu_total(&self->gpu, e->M * e->K, self->W, seen + 1);
    tl_gpu_total(&self->gpu, e->K * e->N, self->H, seen + 2);
    if (found != NULL)
        measure_Phi(self);
    if (energy)
        receive(self, found->energy, self->floors, e->M);
    if (!tl_cuda_wait(self))
        return false;
    if (found != NULL) {
        const double *below = self->seen + TL_SEEN_BELOW;
        found->below_floor = below[1] > 0.0 ? below[0] / below[1] : 0.0;
        found->orthogonality = self->seen[TL_SEEN_OTHER];
    }
    const double *sums = self->seen + TL_SEEN_SUMS;
    return isfinite(sums[0] + sums[1] + sums[2]);
}

/* ---- objectives and gradient ----------------------------------------------------------------- */

void tl_cuda_objectives(tl_cuda *self, int64_t p, unsigned which, const double *X)
{
    double *total = self->seen_there + TL_SEEN_SUMS;
    tl_gpu_sums(&self->gpu, tl_cuda_field(self), which, X, self->V, self->U,
                tl_cuda_sums_of(self, p, total));
    tl_cuda_add_sums(self, p, 4, total);
}

tl_values tl_cuda_values(tl_engine *e, unsigned which)
{
    tl_cuda *self = (tl_cuda *)e;
    tl_values v = {NAN, NAN, NAN};
    bool factors = e->K > 0 && which & (TL_C | TL_I);
    unsigned bits = which & TL_L ? 4 : 0;
    if (factors)
        bits |= (which & TL_C ? 3 : 0) | (which & TL_I ? 8 : 0);
    for (int64_t p = 0; tl_cuda_bring(self, p); p++) {
        if (factors)
            tl_cuda_weights(self, TL_C, e->eps);
        tl_cuda_objectives(self, p, bits, NULL);
    }
    if (!tl_cuda_wait(self))
        return v;
    const double *sums = self->seen + TL_SEEN_SUMS;
    if (bits & 1)
        v.C = sums[0] + sums[1];
    if (bits & 4)
        v.L = sums[2];
    if (bits & 8)
        v.I = sums[3];
    return v;
}

void tl_cuda_G(tl_cuda *self, int64_t p)
{
    int64_t M = self->is.M, T = self->f.T;
    if (T == 0 && p == 0)
        tl_cuda_check(
            self, cudaMemsetAsync(self->G, 0, (size_t)(M * M) * sizeof(double), self->gpu.stream),
            "the GPU");
    for (int64_t t = 0; t < T; t += self->slice) {
        int64_t width = tl_min(self->slice, T - t);
        tl_gpu_weigh_columns(&self->gpu, &self->f, t, width, self->X, self->U, self->UX);
        tl_cuda_multiply(self, &(tl_cuda_product){.opB = TL_TRANSPOSED,
                                                  .m = M,
                                                  .n = M,
                                                  .k = width,
                                                  .alpha = 2.0,
                                                  .A = self->UX,
                                                  .lda = width,
                                                  .B = self->X + t,
                                                  .ldb = T,
                                                  .beta = p > 0 || t > 0 ? 1.0 : 0.0,
                                                  .C = self->G,
                                                  .ldc = M,
                                                  .passes = 3});
    }
}

void tl_cuda_gamma(tl_cuda *self, int64_t p)
{
    int64_t M = self->is.M, N = self->f.N;
    tl_cuda_multiply(self, &(tl_cuda_product){.opB = TL_TRANSPOSED,
                                              .m = M,
                                              .n = M,
                                              .k = N,
                                              .alpha = 2.0,
                                              .A = self->U,
                                              .lda = N,
                                              .B = self->V,
                                              .ldb = N,
                                              .beta = p > 0 ? 1.0 : 0.0,
                                              .C = self->Gamma,
                                              .ldc = M,
                                              .passes = 3});
}

double tl_cuda_gradient(tl_engine *e, unsigned of, double *Ganti)
{
    tl_cuda *self = (tl_cuda *)e;
    for (int64_t p = 0; tl_cuda_bring(self, p); p++) {
        tl_cuda_weights(self, of, e->eps);
        tl_cuda_G(self, p);
    }
    tl_gpu_antisymmetric(&self->gpu, e->M, self->G, Ganti != NULL ? self->Gamma : NULL,
                         self->seen_there + TL_SEEN_NORM);
    if (Ganti != NULL)
        receive(self, Ganti, self->Gamma, e->M * e->M);
    return tl_cuda_wait(self) ? sqrt(self->seen[TL_SEEN_NORM]) / (2.0 * e->frames) : NAN;
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

/* (7), of the panel that is there. */
static void update_H(tl_cuda *self)
{
    int64_t M = self->is.M, N = self->f.N, K = self->is.K;
    const bool turned = self->UX < self->U; /* the first matrix of the batch is UX */
    update_terms(self);
    tl_cuda_multiply_two(self,
                         &(tl_cuda_product){.opA = TL_TRANSPOSED,
                                            .m = K,
                                            .n = N,
                                            .k = M,
                                            .alpha = 1.0,
                                            .A = self->W,
                                            .lda = K,
                                            .B = turned ? self->UX : self->U,
                                            .ldb = N,
                                            .C = self->den,
                                            .ldc = N},
                         turned ? self->U - self->UX : self->UX - self->U, self->num - self->den);
    tl_gpu_scale(&self->gpu, &(tl_gpu_matrix){self->H + self->panels.first, K, N, self->is.N},
                 self->gamma, turned ? self->den : self->num, turned ? self->num : self->den);
}

/* The sums of (8). */
static void add_to_W(tl_cuda *self, int64_t p)
{
    int64_t M = self->is.M, N = self->f.N, K = self->is.K;
    const double *from[2] = {self->U, self->UX};
    double *to[2] = {self->W_den, self->W_num};
    update_terms(self);
    for (int i = 0; i < 2; i++)
        tl_cuda_multiply(self, &(tl_cuda_product){.opB = TL_TRANSPOSED,
                                                  .m = M,
                                                  .n = K,
                                                  .k = N,
                                                  .alpha = 1.0,
                                                  .A = from[i],
                                                  .lda = N,
                                                  .B = self->H + self->panels.first,
                                                  .ldb = self->is.N,
                                                  .beta = p > 0 ? 1.0 : 0.0,
                                                  .C = to[i],
                                                  .ldc = K});
}

/* H of a panel and its part of the sums of W, then (8) and (9). */
static void update_both(tl_cuda *self)
{
    for (int64_t p = 0; tl_cuda_bring(self, p); p++) {
        update_H(self);
        add_to_W(self, p);
    }
    tl_gpu_scale(&self->gpu, &(tl_gpu_matrix){self->W, self->is.M, self->is.K, self->is.K},
                 self->gamma, self->W_num, self->W_den);
    normalise(self);
}

void tl_cuda_update(tl_engine *e, unsigned parts, int64_t count)
{
    tl_cuda *self = (tl_cuda *)e;
    if (parts & TL_W)
        for (int64_t i = 0; i < count; i++)
            update_both(self);
    else
        for (int64_t p = 0; tl_cuda_bring(self, p); p++)
            for (int64_t i = 0; i < count; i++)
                update_H(self);
}

bool tl_cuda_rotate(tl_cuda *self, const tl_field *f, const tl_gpu_sweep *of)
{
    tl_gpu_sweep s = *of;
    s.gains = self->gains;
    s.single = self->rough && tl_gpu_has_columns(&self->gpu, f);
    if (s.single) {
        tl_gpu_round(&self->gpu, f->M * f->N, of->U, self->single.A_high);
        tl_gpu_round(&self->gpu, f->M * f->T, of->X, self->single.B_high);
        s.U = self->single.A_high;
        s.X = self->single.B_high;
    }
    tl_gpu_sweep_all(&self->gpu, f, &s, self->seen_there + TL_SEEN_OTHER);
    return s.single;
}

double tl_cuda_sweep(tl_engine *e, unsigned of, double floor, double least)
{
    tl_cuda *self = (tl_cuda *)e;
    const double trifle = 1e-8 * e->frames; /* as in the cpu engine */
    const tl_field *f = tl_cuda_field(self);
    least = fmax(least, trifle);
    if (self->panels.data != NULL)
        return tl_cuda_sweep_sample(self, of, floor, least);
    tl_cuda_weights(self, of, floor);
    if (tl_cuda_rotate(
            self, f, &(tl_gpu_sweep){.U = self->U, .X = self->X, .Phi = self->Phi, .least = least}))
        tl_cuda_coefficients(self, self->Phi);
    tl_gpu_power(&self->gpu, f, self->X, self->V);
    tl_cuda_V_changed(self);
    return tl_cuda_wait(self) ? self->seen[TL_SEEN_OTHER] : NAN;
}

bool tl_cuda_precision(tl_engine *e, bool rough)
{
    tl_cuda *self = (tl_cuda *)e;
    bool back = self->rough && !rough;
    self->rough = rough;
    if (back)
        tl_cuda_project(e, TL_PHI);
    return rough;
}
