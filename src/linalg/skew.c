/* exp(aE) and the orthogonal factor of I + aE for a skew-symmetric E.
 *
 * exp: Taylor polynomials of degree 8 and 12 in the factored forms of Bader, Blanes and Casas
 * (Mathematics 7, 2019, 1174), which take 3 and 4 matrix products, the first of them half price
 * since E^2 = -E E'; longer steps are halved first and squared after. All steps a share E^2.
 *
 * Orthogonal factor: Newton's iteration with scaling (Higham 1986; Byers and Xu 2008) until the
 * singular values are close together, then Newton-Schulz of order 3, which is products alone. */
#include "linalg/linalg.h"

#include <math.h>

void tl_skew_slots(tl_skew *skew, int64_t M, tl_slot slots[TL_SKEW_SLOTS])
{
    skew->M = M;
    skew->single = NULL;
    double **parts[] = {&skew->E2, &skew->s, &skew->t};
    for (int i = 0; i < 3; i++)
        slots[i] = (tl_slot){parts[i], M * M, sizeof(double)};
    slots[3] = (tl_slot){&skew->lu_work, M * TL_LU_BLOCK, sizeof(double)};
    slots[4] = (tl_slot){&skew->pivot, M, sizeof(int)};
}

/* Largest row sum of |A|. */
TL_HOT static double norm1(int64_t M, const double *A)
{
    double worst = 0.0;
    for (int64_t a = 0; a < M; a++) {
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (int64_t b = 0; b < M; b++)
            sum += fabs(A[a * M + b]);
        worst = fmax(worst, sum);
    }
    return worst;
}

static void multiply(const tl_skew *skew, double alpha, const double *A, const double *B,
                     double beta, double *C)
{
    int64_t M = skew->M;
    tl_product(skew->single, TL_PLAIN, M, M, M, alpha, A, M, B, M, beta, C, M);
}

/* C = alpha A A' */
static void gram(const tl_skew *skew, double alpha, const double *A, double *C)
{
    int64_t M = skew->M;
    if (skew->single == NULL)
        tl_gram(M, M, alpha, A, C);
    else
        tl_product(skew->single, TL_TRANSPOSED, M, M, M, alpha, A, M, A, M, 0.0, C, M);
}

void tl_skew_prepare(tl_skew *skew, const double *E)
{
    skew->E = E;
    gram(skew, -1.0, E, skew->E2);
    skew->norm = fmin(norm1(skew->M, E), sqrt(norm1(skew->M, skew->E2)));
}

/* out = c[0] I + c[1] aE + c[2] (aE)^2 + d B; B may be NULL, or `out` itself. */
TL_HOT static void blend(const tl_skew *skew, double a, const double c[3], double d,
                         const double *B, double *out)
{
    int64_t M = skew->M;
    const double *E = skew->E, *E2 = skew->E2;
    double c1 = c[1] * a, c2 = c[2] * a * a;
    if (B == NULL)
        for (int64_t i = 0; i < M * M; i++)
            out[i] = c1 * E[i] + c2 * E2[i];
    else
        for (int64_t i = 0; i < M * M; i++)
            out[i] = c1 * E[i] + c2 * E2[i] + d * B[i];
    for (int64_t m = 0; m < M; m++)
        out[m * M + m] += c[0];
}

/* A4 = A2 (x1 A + x2 A2); T8 = I + A + y2 A2 + (x3 A2 + A4) (x4 I + x5 A + x6 A2 + x7 A4) */
static void taylor8(tl_skew *skew, double a, double *out)
{
    const double r = sqrt(177.0), x3 = 2.0 / 3.0;
    const double x1 = x3 * (1.0 + r) / 88.0, x2 = x3 * (1.0 + r) / 352.0;
    const double x4 = (-271.0 + 29.0 * r) / (315.0 * x3), x5 = 11.0 * (-1.0 + r) / (1260.0 * x3);
    const double x6 = 11.0 * (-9.0 + r) / (5040.0 * x3), x7 = (89.0 - r) / (5040.0 * x3 * x3);
    const double y2 = (857.0 - 58.0 * r) / 630.0;
    double *A4 = skew->t;
    blend(skew, a, (double[]){0.0, x1, x2}, 0.0, NULL, skew->s);
    multiply(skew, a * a, skew->E2, skew->s, 0.0, A4);
    blend(skew, a, (double[]){x4, x5, x6}, x7, A4, skew->s);
    blend(skew, a, (double[]){0.0, 0.0, x3}, 1.0, A4, A4);
    blend(skew, a, (double[]){1.0, 1.0, y2}, 0.0, NULL, out);
    multiply(skew, 1.0, A4, skew->s, 1.0, out);
}

/* A6 = B3 + B4^2; T12 = B1 + (B2 + A6) A6, each B a cubic in A. E^3 stands in `out` until B1 takes
 * its place. */
static void taylor12(tl_skew *skew, double a, double *out)
{
    static const double B1[] = {-0.01860232051462055322, -0.00500702322573317730,
                                -0.57342012296052226390, -0.13339969394389205970},
                        B2[] = {4.6, 0.99287510353848683614, -0.13244556105279963884, 0.0017299},
                        B3[] = {0.21169311829980944294, 0.15822438471572672537,
                                0.16563516943672741501, 0.01078627793157924250},
                        B4[] = {0.0, -0.13181061013830184015, -0.02027855540589259079,
                                -0.00675951846863086359};
    int64_t M = skew->M;
    double a3 = a * a * a, *A6 = skew->t, *s = skew->s;
    multiply(skew, 1.0, skew->E2, skew->E, 0.0, out);
    blend(skew, a, B4, B4[3] * a3, out, s);
    blend(skew, a, B3, B3[3] * a3, out, A6);
    multiply(skew, 1.0, s, s, 1.0, A6);
    blend(skew, a, B2, B2[3] * a3, out, s);
    for (int64_t i = 0; i < M * M; i++)
        s[i] += A6[i];
    blend(skew, a, B1, B1[3] * a3, out, out);
    multiply(skew, 1.0, s, A6, 1.0, out);
}

/* R = I - Q Q'. */
static void defect(tl_skew *skew, const double *Q, double *R)
{
    int64_t M = skew->M;
    gram(skew, -1.0, Q, R);
    for (int64_t m = 0; m < M; m++)
        R[m * M + m] += 1.0;
}

/* Q <- (I + R/2 + 3/8 R^2) Q, the beginning of (I - R)^(-1/2) Q, until R is rounding. */
void tl_skew_orthogonalise(tl_skew *skew, double *Q)
{
    enum { MOST = 50 };
    int64_t M = skew->M;
    double *R = skew->t, *series = skew->E2;
    double size = 1.0;
    for (int i = 0; i < MOST && size > 1e-5; i++) { /* 1e-5 cubed is below rounding */
        defect(skew, Q, R);
        size = norm1(M, R);
        gram(skew, 0.375, R, series);
        for (int64_t e = 0; e < M * M; e++)
            series[e] += 0.5 * R[e];
        multiply(skew, 1.0, series, Q, 0.0, skew->s);
        for (int64_t e = 0; e < M * M; e++)
            Q[e] += skew->s[e];
    }
}

void tl_skew_exp(tl_skew *skew, double a, double *out)
{
    /* Up to these norms the first term left out, norm^(d+1) / (d+1)!, is below 2^-53. */
    const double norm8 = 0.069, norm12 = 0.33;
    int doublings = 0;
    double norm = fabs(a) * skew->norm;
    for (; norm > norm12 && doublings < 1000; doublings++, a *= 0.5)
        norm *= 0.5;
    if (norm <= norm8)
        taylor8(skew, a, out);
    else
        taylor12(skew, a, out);
    for (int i = 0; i < doublings; i++) {
        multiply(skew, 1.0, out, out, 0.0, skew->s);
        tl_copy(out, skew->s, skew->M * skew->M);
    }
}

void tl_skew_polar(tl_skew *skew, double a, double *Q)
{
    int64_t M = skew->M;
    for (int64_t i = 0; i < M * M; i++)
        Q[i] = a * skew->E[i];
    for (int64_t m = 0; m < M; m++)
        Q[m * M + m] += 1.0;
    /* The singular values lie in [1, ratio]; a scaled Newton step takes the square root of the
     * ratio and then some. */
    double ratio = hypot(1.0, a * skew->norm);
    for (int i = 0; i < 100 && ratio > 1.2; i++) {
        double change; /* the singular values are far from 0: a step cannot fail */
        tl_polar_step(M, 1.0 / sqrt(ratio), Q, skew->s, skew->lu_work, skew->pivot, &change);
        ratio = 0.5 * (sqrt(ratio) + 1.0 / sqrt(ratio));
    }
    /* Centred: the squares in [2 / (1 + ratio^2), 2 ratio^2 / (1 + ratio^2)]. */
    double scale = sqrt(2.0 / (1.0 + ratio * ratio));
    for (int64_t i = 0; i < M * M; i++)
        Q[i] *= scale;
    tl_skew_orthogonalise(skew, Q);
}
