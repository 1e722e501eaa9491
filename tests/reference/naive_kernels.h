/* The equations of docs/spec.md as plain loops: slow and obvious. Tests compare the kernels with
 * them. They work on the realisations Y[S][M][N], not on compressed columns. */
#ifndef TLNMF_TESTS_NAIVE_KERNELS_H
#define TLNMF_TESTS_NAIVE_KERNELS_H

#include <stdint.h>

/* (1), from Y and Phi, and from X = Phi Y, S x M x N */
void tl_naive_power(int64_t S, int64_t M, int64_t N, const double *Y, const double *Phi, double *V);
void tl_naive_power_of(int64_t S, int64_t M, int64_t N, const double *X, double *V);
/* 1 / (W H + eps) */
void tl_naive_weights(int64_t M, int64_t N, int64_t K, const double *W, const double *H, double eps,
                      double *U);
/* (2), (3), (4) */
double tl_naive_C(int64_t M, int64_t N, int64_t K, const double *V, const double *W,
                  const double *H, double eps);
double tl_naive_L(int64_t M, int64_t N, const double *V, double eps);
double tl_naive_I(int64_t M, int64_t N, int64_t K, const double *V, const double *W,
                  const double *H, double eps);
/* (10) */
void tl_naive_gradient(int64_t S, int64_t M, int64_t N, const double *Y, const double *Phi,
                       const double *U, double *G);
void tl_naive_gamma(int64_t M, int64_t N, const double *U, const double *V, double *Gamma);

/* V (M x N) and its factors W (M x K), H (K x N). */
typedef struct tl_naive_nmf {
    int64_t M, N, K;
    double gamma, eps;
    const double *V;
    double *W, *H;
    const double *B; /* M x N: weights of the entries; NULL: all 1 */
} tl_naive_nmf;
void tl_naive_update_H(const tl_naive_nmf *f);                                  /* (7)     */
void tl_naive_update(const tl_naive_nmf *f);                                    /* (7)-(9) */
void tl_naive_normalise(int64_t M, int64_t N, int64_t K, double *W, double *H); /* (9)     */

/* (14) Two rows of X and their weights, T long. */
typedef struct tl_naive_pair {
    int64_t T;
    const double *xa, *xb, *ua, *ub;
} tl_naive_pair;
/* The best angle, and by how much sum U V falls there; the rotation of two rows by an angle. */
double tl_naive_angle(const tl_naive_pair *pair, double *gain);
void tl_naive_turn(int64_t count, double angle, double *a, double *b);
/* All pairs a < b in turn: rows of X and U are T long, Phi is M x M. */
void tl_naive_sweep(int64_t M, int64_t T, const double *U, double *X, double *Phi);

/* C = A B, and the largest row sum of |A|; M x M. */
void tl_naive_multiply(int64_t M, const double *A, const double *B, double *C);
double tl_naive_row_sum(int64_t M, const double *A);
/* exp(E), and the orthogonal factor of I + E, for a skew-symmetric E; `scratch` is M x M. */
void tl_naive_exp(int64_t M, const double *E, double *out, double *scratch);
void tl_naive_polar(int64_t M, const double *E, double *out, double *scratch);
/* min(S, M) rows r of length M for frame n, with sum r r' = Sigma_n, by Gram and Schmidt with the
 * longest column first; `scratch` is S M + S. */
void tl_naive_compress(int64_t S, int64_t M, int64_t N, int64_t n, const double *Y, double *rows,
                       double *scratch);

#endif
