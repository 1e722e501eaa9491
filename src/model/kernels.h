/* The hot loops. Matrices (M x N, M x T, ..) are in C order; columns of X are grouped by frame as
 * in tlnmf_data. Every kernel has a plain-loop twin in tests/reference/naive_kernels.h. */
#ifndef TLNMF_MODEL_KERNELS_H
#define TLNMF_MODEL_KERNELS_H

#include "data/data.h"
#include "linalg/linalg.h"

/* How many rows of `length` numbers make a piece of `numbers` numbers, at least 1. */
static inline int64_t tl_rows_of_a_piece(int64_t length, int64_t numbers)
{
    return tl_max(1, numbers / tl_max(length, 1));
}

/* (1) X = Phi R (M x T), and V from it. */
void tl_coefficients(const tlnmf_data *data, const tl_arithmetic *in, const double *Phi, double *X,
                     double *V);

/* (1) V_mn = sum of X_mt^2 over the columns t of frame n. Reads X (M x T), writes V (M x N). */
void tl_power(const tlnmf_data *data, const double *X, double *V);

/* U = 1 / (W H + eps). Reads W (M x K), H (K x N), writes U (M x N). */
void tl_weights(int64_t M, int64_t N, int64_t K, const double *W, const double *H, double eps,
                double *U);

/* out = 1 / (x + eps), elementwise. */
void tl_inverse(int64_t count, const double *x, double eps, double *out);

/* sum (x + shift) y. */
double tl_sum_product(int64_t count, const double *x, double shift, const double *y);

/* sum log(x + shift); x + shift must be positive and normal. */
double tl_sum_log(int64_t count, const double *x, double shift);

/* (4) sum f((V + eps) U), f(x) = x - 1 - log x. */
double tl_divergence(int64_t count, const double *V, double eps, const double *U);

/* (10) G_ab = 2 sum_t U_a,n(t) X_at X_bt. Writes G (M x M). UX is scratch of tl_gradient_scratch()
 * numbers. */
int64_t tl_gradient_scratch(const tlnmf_data *data);
void tl_gradient(const tlnmf_data *data, const tl_arithmetic *in, const double *X, const double *U,
                 double *UX, double *G);

/* (10) Gamma_ab = 2 sum_n U_an V_bn. */
void tl_gamma(const tl_arithmetic *in, int64_t M, int64_t N, const double *U, const double *V,
              double *Gamma);

/* ---- weights of entries ---------------------------------------------------------------------- */

/* If entries of V have weights B (M x N): (2w), (3w), (4w) of docs/spec.md. U holds B / (W H +
 * eps), or B / (V + eps) for L. Entries of weight 0 add nothing. All arrays have `count` entries.
 */

/* U <- B U */
void tl_weighted_apply(int64_t count, const double *B, double *U);
/* sum B log(W H + eps), the part of C that Phi does not change */
double tl_weighted_logs(int64_t count, const double *B, const double *U);
/* (3w) */
double tl_weighted_L(int64_t count, const double *B, const double *V, double eps);
/* (4w) */
double tl_weighted_I(int64_t count, const double *B, const double *V, double eps, const double *U);
/* U <- B (V + eps) / (W H + eps)^2, the numerators of (7) and (8) */
void tl_weighted_pull(int64_t count, const double *B, const double *V, double eps, double *U);
/* x <- x / B, 0 where B is: of squares of U it leaves B / (W H + eps)^2 */
void tl_weighted_once(int64_t count, const double *B, double *x);

/* ---- multiplicative updates ------------------------------------------------------------------ */

typedef struct tl_mu {
    int64_t M, N, K;
    double gamma;                        /* exponent: 1 as in the paper, or 1/2 */
    double eps;                          /* of the update at hand */
    const double *V, *V_turned;          /* M x N and N x M, as given to tl_mu_begin */
    double *W_turned, *H_turned;         /* K x M, N x K */
    double *panel_V, *panel, *num, *den; /* scratch for every panel of columns */
} tl_mu;

enum { TL_MU_SLOTS = 6 };
void tl_mu_slots(tl_mu *mu, int64_t M, int64_t N, int64_t K, tl_slot slots[TL_MU_SLOTS]);

/* (9) Scales the columns of W to sum 1 and keeps W H. A column of zeros stays as it is. */
void tl_normalise(int64_t M, int64_t N, int64_t K, double *W, double *H);

/* Stores a pointer to V (M x N) and writes V' to `turned`. Neither may change during the updates
 * that follow. `turned` may be NULL for updates of H alone. */
void tl_mu_begin(tl_mu *mu, const double *V, double *turned);
/* (7)-(9): one update of H, then of W, then the columns of W to sum 1. */
void tl_mu_update(tl_mu *mu, double eps, double *W, double *H);
/* (7) alone: W stays. */
void tl_mu_update_H(tl_mu *mu, double eps, const double *W, double *H);

/* (8) in two parts, for frames that are distributed over processes: numerator and denominator of
 * every entry of W over the local frames (K x M each), then the update from their global sums. */
void tl_mu_sums_W(tl_mu *mu, double eps, const double *W, const double *H, double *num,
                  double *den);
void tl_mu_scale_W(const tl_mu *mu, const double *num, const double *den, double *W);
/* The same for H, from sums of K x N. */
void tl_mu_scale_H(const tl_mu *mu, const double *num, const double *den, double *H);

#endif
