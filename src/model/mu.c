/* Multiplicative updates (7)-(9), a panel of columns at a time: a panel of V stays in cache while H
 * is updated from it and its share of the sums for W is taken with the new H, so V is read once. */
#include "model/kernels.h"

#include <math.h>
#include <string.h>

enum { PANEL = 32 };

void tl_mu_slots(tl_mu *mu, int64_t M, int64_t N, int64_t K, tl_slot slots[TL_MU_SLOTS])
{
    mu->M = M;
    mu->N = N;
    mu->K = K;
    struct {
        double **part;
        int64_t count;
    } parts[TL_MU_SLOTS] = {{&mu->num_W, M * K},
                            {&mu->den_W, M * K},
                            {&mu->panel_H, K * PANEL},
                            {&mu->panel_num, K * PANEL},
                            {&mu->panel_den, K * PANEL}};
    for (int i = 0; i < TL_MU_SLOTS; i++)
        slots[i] = (tl_slot){parts[i].part, parts[i].count, sizeof(double)};
}

/* x times (num / den)^gamma. A denominator of zero means that the other factor's component is zero
 * throughout: then x does not matter and stays. */
static inline __attribute__((always_inline)) double scaled(double x, double num, double den,
                                                           double gamma)
{
    double ratio = den > 0.0 ? num / den : 1.0;
    if (gamma == 1.0)
        return x * ratio;
    return x * (gamma == 0.5 ? sqrt(ratio) : pow(ratio, gamma));
}

/* For one row of V: B = 1 / (w h + eps), A = (v + eps) B^2; `width` columns. */
static inline __attribute__((always_inline)) void
row_ratios(int64_t K, int64_t width, const double *restrict w, const double *restrict h,
           const double *restrict v, double eps, double *restrict A, double *restrict B)
{
    double vhat[PANEL];
    for (int64_t j = 0; j < width; j++)
        vhat[j] = eps;
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < width; j++)
            vhat[j] += w[k] * h[k * PANEL + j];
    for (int64_t j = 0; j < width; j++) {
        B[j] = 1.0 / vhat[j];
        A[j] = (v[j] + eps) * B[j] * B[j];
    }
}

/* Sums for H over all rows: num = W' A, den = W' B (K x PANEL each). */
static inline __attribute__((always_inline)) void
sums_for_H(int64_t M, int64_t N, int64_t K, int64_t width, const double *restrict V, double eps,
           const double *restrict W, const double *restrict h, double *restrict num,
           double *restrict den)
{
    double A[PANEL], B[PANEL];
    for (int64_t m = 0; m < M; m++) {
        const double *w = W + m * K;
        row_ratios(K, width, w, h, V + m * N, eps, A, B);
        for (int64_t k = 0; k < K; k++)
            for (int64_t j = 0; j < width; j++) {
                num[k * PANEL + j] += w[k] * A[j];
                den[k * PANEL + j] += w[k] * B[j];
            }
    }
}

/* This panel's part of the sums for W: num_W += A H', den_W += B H'. */
static inline __attribute__((always_inline)) void
sums_for_W(int64_t M, int64_t N, int64_t K, int64_t width, const double *restrict V, double eps,
           const double *restrict W, const double *restrict h, double *restrict num_W,
           double *restrict den_W)
{
    double A[PANEL], B[PANEL];
    for (int64_t m = 0; m < M; m++) {
        row_ratios(K, width, W + m * K, h, V + m * N, eps, A, B);
        for (int64_t k = 0; k < K; k++) {
            double sum_A = 0.0, sum_B = 0.0;
#pragma omp simd reduction(+ : sum_A, sum_B)
            for (int64_t j = 0; j < width; j++) {
                sum_A += A[j] * h[k * PANEL + j];
                sum_B += B[j] * h[k * PANEL + j];
            }
            num_W[m * K + k] += sum_A;
            den_W[m * K + k] += sum_B;
        }
    }
}

/* The update of H for one panel, and its part of the sums for W. V points at the panel's first
 * column. */
static inline __attribute__((always_inline)) void
panel_update(tl_mu *mu, int64_t K, int64_t width, const double *V, double eps, const double *W)
{
    double *num = mu->panel_num, *den = mu->panel_den, *h = mu->panel_H;
    memset(num, 0, (size_t)(K * PANEL) * sizeof *num);
    memset(den, 0, (size_t)(K * PANEL) * sizeof *den);
    sums_for_H(mu->M, mu->N, K, width, V, eps, W, h, num, den);
    for (int64_t i = 0; i < K * PANEL; i++)
        h[i] = scaled(h[i], num[i], den[i], mu->gamma);
    sums_for_W(mu->M, mu->N, K, width, V, eps, W, h, mu->num_W, mu->den_W);
}

/* Width and small ranks are spelt out as constants, which lets the compiler keep sums in registers.
 */
TL_HOT static void update_panel(tl_mu *mu, int64_t width, const double *V, double eps,
                                const double *W)
{
    if (width < PANEL)
        panel_update(mu, mu->K, width, V, eps, W);
    else if (mu->K == 1)
        panel_update(mu, 1, PANEL, V, eps, W);
    else if (mu->K == 2)
        panel_update(mu, 2, PANEL, V, eps, W);
    else if (mu->K == 3)
        panel_update(mu, 3, PANEL, V, eps, W);
    else
        panel_update(mu, mu->K, PANEL, V, eps, W);
}

void tl_normalise(int64_t M, int64_t N, int64_t K, double *W, double *H)
{
    for (int64_t k = 0; k < K; k++) {
        double c = 0.0;
        for (int64_t m = 0; m < M; m++)
            c += W[m * K + k];
        if (!(c > 0.0))
            continue;
        for (int64_t m = 0; m < M; m++)
            W[m * K + k] /= c;
        for (int64_t n = 0; n < N; n++)
            H[k * N + n] *= c;
    }
}

void tl_mu_update(tl_mu *mu, const double *V, double eps, double *W, double *H)
{
    int64_t M = mu->M, N = mu->N, K = mu->K;
    memset(mu->num_W, 0, (size_t)(M * K) * sizeof *W);
    memset(mu->den_W, 0, (size_t)(M * K) * sizeof *W);
    for (int64_t n0 = 0; n0 < N; n0 += PANEL) {
        int64_t width = tl_min(PANEL, N - n0);
        for (int64_t k = 0; k < K; k++)
            memcpy(mu->panel_H + k * PANEL, H + k * N + n0, (size_t)width * sizeof *H);
        update_panel(mu, width, V + n0, eps, W);
        for (int64_t k = 0; k < K; k++)
            memcpy(H + k * N + n0, mu->panel_H + k * PANEL, (size_t)width * sizeof *H);
    }
    for (int64_t i = 0; i < M * K; i++)
        W[i] = scaled(W[i], mu->num_W[i], mu->den_W[i], mu->gamma);
    tl_normalise(M, N, K, W, H);
}
