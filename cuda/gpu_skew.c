/* exp(aE) and the polar factor of I + aE on the device: the formulas of src/linalg/skew.c. */
#include "cuda/gpu.h"
#include "linalg/taylor.h"

#include <math.h>

void tl_cuda_prepare(tl_cuda *self)
{
    for (int i = 0; i < TL_CUDA_KEPT; i++)
        self->kept_a[i] = NAN;
    tl_cuda_square_product(self, 1.0, self->E, self->E, 0.0, self->E2);
    tl_gpu_norms(&self->gpu, self->is.M, self->E, self->E2, self->scalars_device + TL_SCALAR_NORMS);
}

void tl_cuda_prepared(tl_cuda *self)
{
    self->norm = fmin(self->scalars[TL_SCALAR_NORMS], sqrt(self->scalars[TL_SCALAR_NORMS + 1]));
    self->radius = 0.0;
}

/* An estimate of the norm of E. Row sums are a bound, but with many rows a bound several times as
 * large, and every factor of two costs a product of M^3. Large matrices therefore use the power
 * method: columns of random signs are multiplied by E^2 / norm^2 several times. The growth of the
 * last step is a lower bound on the largest eigenvalue of -E^2; for random E (Wigner's semicircle)
 * it gives 0.95 of the norm. If the norm were twice the radius, exp(aE) would still have twelve
 * digits, because the first omitted term grows by 2^13. */
static double radius_of(tl_cuda *self)
{
    /* With fewer rows, the estimate (60 us) costs more than the products that it saves. */
    enum { LARGE = 1280, COLUMNS = 8, STEPS = 8 };
    const double margin = 1.2;
    int64_t M = self->is.M;
    if (self->radius > 0.0 || M < LARGE || !(self->norm > 0.0))
        return self->radius = self->radius > 0.0 ? self->radius : self->norm;
    double *from = self->Gamma, *to = self->Phi_new, *sums = self->scalars_device + TL_SCALAR_NORMS;
    tl_gpu_signs(&self->gpu, M * COLUMNS, from);
    for (int i = 0; i < STEPS; i++, tl_cuda_swap(&from, &to))
        tl_cuda_multiply(self, &(tl_cuda_product){TL_PLAIN, TL_PLAIN, M, COLUMNS, M,
                                                  1.0 / (self->norm * self->norm), self->E2, from,
                                                  0.0, to, .passes = 0});
    tl_gpu_dot(&self->gpu, M * COLUMNS, from, from, NULL, sums); /* the last two */
    tl_gpu_dot(&self->gpu, M * COLUMNS, to, to, NULL, sums + 1);
    self->radius = self->norm;
    if (tl_cuda_wait(self) && self->scalars[TL_SCALAR_NORMS + 1] > 0.0) {
        double growth = sqrt(self->scalars[TL_SCALAR_NORMS] / self->scalars[TL_SCALAR_NORMS + 1]);
        self->radius = self->norm * fmin(1.0, margin * sqrt(growth));
    }
    return self->radius;
}

/* out = c[0] I + c[1] aE + c[2] (aE)^2 + d B; B may be NULL. */
static void blend(tl_cuda *self, double a, const double c[3], double d, const double *B,
                  double *out)
{
    tl_gpu_blend_all(
        &self->gpu, self->is.M,
        &(tl_gpu_blend){
            .A = self->E, .B = self->E2, .D = B, .c = {c[0], c[1] * a, c[2] * a * a, d}},
        out);
}

/* The functions below compute exp(aE) - I in G; Gamma and Phi_new are scratch. I is subtracted so
 * that rounded products round only the change of Phi. */

static void taylor4(tl_cuda *self, double a)
{
    int64_t M = self->is.M;
    double *s = self->Phi_new, *out = self->G;
    blend(self, a, (double[]){0.0, 1.0 / 6.0, 1.0 / 24.0}, 0.0, NULL, s);
    blend(self, a, (double[]){0.0, 1.0, 0.5}, 0.0, NULL, out);
    /* third order: three digits suffice */
    tl_cuda_multiply(self, &(tl_cuda_product){TL_PLAIN, TL_PLAIN, M, M, M, a * a, self->E2, s, 1.0,
                                              out, .passes = 1});
}

static void taylor8(tl_cuda *self, double a)
{
    const tl_taylor8 t = tl_taylor8_coefficients();
    double *A4 = self->Gamma, *s = self->Phi_new, *out = self->G;
    blend(self, a, (double[]){0.0, t.x1, t.x2}, 0.0, NULL, s);
    tl_cuda_square_product(self, a * a, self->E2, s, 0.0, A4);
    tl_gpu_taylor8(&self->gpu, self->is.M,
                   &(tl_gpu_taylor){.E = self->E,
                                    .E2 = self->E2,
                                    .a = a,
                                    .x = {t.x4, t.x5, t.x6, t.x7, t.x3, t.y2},
                                    .A4 = A4,
                                    .s = s,
                                    .out = out});
    tl_cuda_square_product(self, 1.0, A4, s, 1.0, out);
}

static void taylor12(tl_cuda *self, double a)
{
    const tl_taylor12 t = tl_taylor12_coefficients();
    double a3 = a * a * a, *A6 = self->Gamma, *s = self->Phi_new, *out = self->G;
    tl_cuda_square_product(self, 1.0, self->E2, self->E, 0.0, out);
    blend(self, a, t.B4, t.B4[3] * a3, out, s);
    blend(self, a, t.B3, t.B3[3] * a3, out, A6);
    tl_cuda_square_product(self, 1.0, s, s, 1.0, A6);
    blend(self, a, t.B2, t.B2[3] * a3, out, s);
    tl_gpu_blend_all(&self->gpu, self->is.M,
                     &(tl_gpu_blend){.A = A6, .B = s, .c = {0.0, 1.0, 1.0, 0.0}}, s);
    blend(self, a, (double[]){t.B1[0] - 1.0, t.B1[1], t.B1[2]}, t.B1[3] * a3, out, out);
    tl_cuda_square_product(self, 1.0, s, A6, 1.0, out);
}

/* G = exp(2aE) - I from G = exp(aE) - I. */
static void square(tl_cuda *self)
{
    tl_cuda_copy(self, self->Phi_new, self->G, self->is.M * self->is.M);
    tl_cuda_square_product(self, 1.0, self->G, self->G, 2.0, self->Phi_new);
    tl_cuda_swap(&self->G, &self->Phi_new);
}

/* Copies exp(aE) - I to G, if a longer step has kept it. */
static bool has_kept(tl_cuda *self, double a)
{
    for (int i = 0; i < TL_CUDA_KEPT; i++)
        if (self->kept_a[i] == a) {
            tl_cuda_copy(self, self->G, self->kept[i], self->is.M * self->is.M);
            return true;
        }
    return false;
}

/* Keeps G = exp(aE) - I, which is still to be squared `left` times. Engines of the paper's solver
 * keep none. */
static void keep(tl_cuda *self, double a, int left)
{
    if (left > TL_CUDA_KEPT || self->kept[left - 1] == NULL)
        return;
    tl_cuda_copy(self, self->kept[left - 1], self->G, self->is.M * self->is.M);
    self->kept_a[left - 1] = a;
}

/* The plan for rounded products: degree 8 up to a norm whose first omitted term, norm^9 / 9!, is
 * below the rounding of single. */
static tl_taylor_plan rough_plan(double a, double norm)
{
    const double norm8 = 0.6;
    tl_taylor_plan plan = {.a = a, .is_short = true};
    for (norm *= fabs(a); norm > norm8 && plan.doublings < 1000; plan.doublings++, plan.a *= 0.5)
        norm *= 0.5;
    return plan;
}

/* G = exp(aE) - I. */
static void exponential(tl_cuda *self, double a)
{
    if (has_kept(self, a))
        return;
    /* norm^5 / 120 is below the rounding of double, and of single */
    const double norm4 = self->rough ? 0.1 : 1.6e-3, norm = radius_of(self);
    tl_taylor_plan plan = self->rough ? rough_plan(a, norm) : tl_taylor_plan_of(a, norm);
    if (fabs(plan.a) * norm <= norm4)
        taylor4(self, plan.a);
    else if (plan.is_short)
        taylor8(self, plan.a);
    else
        taylor12(self, plan.a);
    for (int left = plan.doublings; left > 0; left--, plan.a *= 2.0) {
        keep(self, plan.a, left);
        square(self);
    }
}

/* Q <- (I + R/2 + 3/8 R^2) Q with R = I - Q Q', the first terms of (I - R)^(-1/2) Q; leaves the
 * norm of R for the host. Gamma, Phi_new and E2 are scratch. */
static void schulz_step(tl_cuda *self, double *Q)
{
    int64_t M = self->is.M;
    double *R = self->Gamma, *series = self->E2, *copy = self->Phi_new;
    tl_cuda_gram(self, -1.0, Q, R);
    tl_gpu_blend_all(&self->gpu, M, &(tl_gpu_blend){.A = R, .c = {1.0, 1.0, 0.0, 0.0}}, R);
    tl_gpu_norms(&self->gpu, M, R, NULL, self->scalars_device + TL_SCALAR_NORMS);
    tl_cuda_copy(self, series, R, M * M);
    tl_cuda_square_product(self, 0.375, R, R, 0.5, series);
    tl_cuda_copy(self, copy, Q, M * M);
    tl_cuda_square_product(self, 1.0, series, copy, 1.0, Q);
}

bool tl_cuda_orthogonalise(tl_cuda *self, double *Q)
{
    enum { MOST = 50 }; /* so that it ends for any Q; chosen arbitrarily */
    double size = 1.0;
    for (int i = 0; i < MOST && size > 1e-5; i++) { /* 1e-5 cubed is below rounding */
        schulz_step(self, Q);
        if (!tl_cuda_wait(self))
            return false;
        size = self->scalars[TL_SCALAR_NORMS];
    }
    return size <= 1e-5;
}

/* G = the orthogonal polar factor of I + aE. The cpu engine begins with Newton's iteration, whose
 * inverses are slow here. Newton-Schulz converges from any singular values in (0, sqrt 2], and how
 * fast is known from the smallest one, so that the host need not look at first. */
static void polar(tl_cuda *self, double a)
{
    double *Q = self->G, ratio = hypot(1.0, a * self->norm),
           scale = sqrt(2.0 / (1.0 + ratio * ratio));
    tl_gpu_blend_all(&self->gpu, self->is.M,
                     &(tl_gpu_blend){.A = self->E, .c = {scale, scale * a, 0.0, 0.0}}, Q);
    for (double least = scale; 1.0 - least * least > 0.1;) {
        double r = 1.0 - least * least;
        schulz_step(self, Q);
        least *= 1.0 + 0.5 * r + 0.375 * r * r;
    }
    tl_cuda_orthogonalise(self, Q);
}

void tl_cuda_turn(tl_cuda *self, tl_retraction how, double a)
{
    if (how == TL_EXP) {
        exponential(self, a);
        tl_gpu_blend_all(&self->gpu, self->is.M,
                         &(tl_gpu_blend){.A = self->G, .c = {1.0, 1.0, 0.0, 0.0}}, self->G);
    } else {
        polar(self, a);
    }
    tl_cuda_square_product(self, 1.0, self->G, self->Phi, 0.0, self->Phi_new);
    tl_cuda_coefficients(self, self->Phi_new);
}

/* ---- steps that rotate X first --------------------------------------------------------------- */

bool tl_cuda_turns_X(const tl_cuda *self)
{
    return self->slice >= self->f.T && (self->how == TL_LBFGS || self->how == TL_GRADIENT);
}

void tl_cuda_turn_X(tl_cuda *self, double a)
{
    int64_t M = self->is.M, T = self->f.T;
    exponential(self, a);
    tl_cuda_copy(self, self->UX, self->X, M * T);
    tl_cuda_multiply(self, &(tl_cuda_product){TL_PLAIN, TL_PLAIN, M, T, M, 1.0, self->G, self->X,
                                              1.0, self->UX, .passes = 3});
    tl_cuda_V_changed(self);
}

void tl_cuda_turned(tl_cuda *self)
{
    tl_cuda_copy(self, self->Phi_new, self->Phi, self->is.M * self->is.M);
    tl_cuda_square_product(self, 1.0, self->G, self->Phi, 1.0, self->Phi_new);
    tl_cuda_swap(&self->Phi, &self->Phi_new);
    tl_cuda_swap(&self->X, &self->UX);
}
