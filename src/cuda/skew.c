/* exp(aE) and the polar factor of I + aE on the device: the formulas of src/linalg/skew.c. */
#include "cuda/cuda.h"

#include <math.h>

void tl_cuda_prepare(tl_cuda *self)
{
    tl_cuda_square_product(self, 1.0, self->E, self->E, 0.0, self->E2);
    tl_gpu_norms(&self->gpu, self->is.M, self->E, self->E2, self->seen_there + TL_SEEN_NORMS);
}

void tl_cuda_prepared(tl_cuda *self)
{
    self->norm = fmin(self->seen[TL_SEEN_NORMS], sqrt(self->seen[TL_SEEN_NORMS + 1]));
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

/* The scratch of a try: Gamma and Phi_new; the result is in G. */

static void taylor4(tl_cuda *self, double a)
{
    int64_t M = self->is.M;
    double *s = self->Phi_new, *out = self->G;
    blend(self, a, (double[]){0.0, 1.0 / 6.0, 1.0 / 24.0}, 0.0, NULL, s);
    blend(self, a, (double[]){1.0, 1.0, 0.5}, 0.0, NULL, out);
    tl_cuda_multiply(self, &(tl_cuda_product){.m = M,
                                              .n = M,
                                              .k = M,
                                              .alpha = a * a,
                                              .A = self->E2,
                                              .lda = M,
                                              .B = s,
                                              .ldb = M,
                                              .beta = 1.0,
                                              .C = out,
                                              .ldc = M,
                                              .passes = 1}); /* third order: three digits do */
}

static void taylor8(tl_cuda *self, double a)
{
    const double r = sqrt(177.0), x3 = 2.0 / 3.0;
    const double x1 = x3 * (1.0 + r) / 88.0, x2 = x3 * (1.0 + r) / 352.0;
    const double x4 = (-271.0 + 29.0 * r) / (315.0 * x3), x5 = 11.0 * (-1.0 + r) / (1260.0 * x3);
    const double x6 = 11.0 * (-9.0 + r) / (5040.0 * x3), x7 = (89.0 - r) / (5040.0 * x3 * x3);
    const double y2 = (857.0 - 58.0 * r) / 630.0;
    double *A4 = self->Gamma, *s = self->Phi_new, *out = self->G;
    blend(self, a, (double[]){0.0, x1, x2}, 0.0, NULL, s);
    tl_cuda_square_product(self, a * a, self->E2, s, 0.0, A4);
    tl_gpu_taylor8(&self->gpu, self->is.M,
                   &(tl_gpu_taylor){.E = self->E,
                                    .E2 = self->E2,
                                    .a = a,
                                    .x = {x4, x5, x6, x7, x3, y2},
                                    .A4 = A4,
                                    .s = s,
                                    .out = out});
    tl_cuda_square_product(self, 1.0, A4, s, 1.0, out);
}

static void taylor12(tl_cuda *self, double a)
{
    static const double B1[] = {-0.01860232051462055322, -0.00500702322573317730,
                                -0.57342012296052226390, -0.13339969394389205970},
                        B2[] = {4.6, 0.99287510353848683614, -0.13244556105279963884, 0.0017299},
                        B3[] = {0.21169311829980944294, 0.15822438471572672537,
                                0.16563516943672741501, 0.01078627793157924250},
                        B4[] = {0.0, -0.13181061013830184015, -0.02027855540589259079,
                                -0.00675951846863086359};
    double a3 = a * a * a, *A6 = self->Gamma, *s = self->Phi_new, *out = self->G;
    tl_cuda_square_product(self, 1.0, self->E2, self->E, 0.0, out);
    blend(self, a, B4, B4[3] * a3, out, s);
    blend(self, a, B3, B3[3] * a3, out, A6);
    tl_cuda_square_product(self, 1.0, s, s, 1.0, A6);
    blend(self, a, B2, B2[3] * a3, out, s);
    tl_gpu_add(&self->gpu, self->is.M * self->is.M, 1.0, A6, s);
    blend(self, a, B1, B1[3] * a3, out, out);
    tl_cuda_square_product(self, 1.0, s, A6, 1.0, out);
}

/* G = exp(aE). */
static void exponential(tl_cuda *self, double a)
{
    const double norm8 = 0.069, norm12 = 0.33; /* src/linalg/skew.c */
    /* norm^5 / 120 is below the rounding of double, and of single */
    const double norm4 = self->rough ? 0.1 : 1.6e-3, most = self->rough ? norm4 : norm12;
    int doublings = 0;
    double norm = fabs(a) * self->norm;
    for (; norm > most && doublings < 1000; doublings++, a *= 0.5)
        norm *= 0.5;
    if (norm <= norm4)
        taylor4(self, a);
    else if (norm <= norm8)
        taylor8(self, a);
    else
        taylor12(self, a);
    for (int i = 0; i < doublings; i++) {
        tl_cuda_square_product(self, 1.0, self->G, self->G, 0.0, self->Phi_new);
        tl_cuda_copy(self, self->G, self->Phi_new, self->is.M * self->is.M);
    }
}

/* Q <- (I + R/2 + 3/8 R^2) Q with R = I - Q Q', the first terms of (I - R)^(-1/2) Q; leaves the
 * norm of R for the host. Gamma, Phi_new and E2 are scratch. */
static void schulz_step(tl_cuda *self, double *Q)
{
    int64_t M = self->is.M;
    double *R = self->Gamma, *series = self->E2, *copy = self->Phi_new;
    tl_cuda_multiply(self, &(tl_cuda_product){.opB = TL_TRANSPOSED,
                                              .m = M,
                                              .n = M,
                                              .k = M,
                                              .alpha = -1.0,
                                              .A = Q,
                                              .lda = M,
                                              .B = Q,
                                              .ldb = M,
                                              .C = R,
                                              .ldc = M});
    tl_gpu_blend_all(&self->gpu, M, &(tl_gpu_blend){.A = R, .c = {1.0, 1.0, 0.0, 0.0}}, R);
    tl_gpu_norms(&self->gpu, M, R, NULL, self->seen_there + TL_SEEN_NORMS);
    tl_cuda_copy(self, series, R, M * M);
    tl_cuda_square_product(self, 0.375, R, R, 0.5, series);
    tl_cuda_copy(self, copy, Q, M * M);
    tl_cuda_square_product(self, 1.0, series, copy, 1.0, Q);
}

void tl_cuda_orthogonalise(tl_cuda *self, double *Q)
{
    enum { MOST = 50 };
    double size = 1.0;
    for (int i = 0; i < MOST && size > 1e-5; i++) { /* 1e-5 cubed is below rounding */
        schulz_step(self, Q);
        if (!tl_cuda_wait(self))
            return;
        size = self->seen[TL_SEEN_NORMS];
    }
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
    if (how == TL_EXP)
        exponential(self, a);
    else
        polar(self, a);
    tl_cuda_square_product(self, 1.0, self->G, self->Phi, 0.0, self->Phi_new);
    tl_cuda_coefficients(self, self->Phi_new);
}
