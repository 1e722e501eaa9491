/* The equations of docs/spec.md as plain loops: slow, obvious, and what the tests compare with.
 * They work on the realisations themselves, Y[S][M][N], not on compressed columns. */
#ifndef TLNMF_MODEL_NAIVE_H
#define TLNMF_MODEL_NAIVE_H

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
/* (7)-(9) */
void tl_naive_mu(int64_t M, int64_t N, int64_t K, double gamma, const double *V, double eps,
                 double *W, double *H);
/* (14) for all pairs a < b in turn: rows of X and U are T long, Phi is M x M. */
void tl_naive_sweep(int64_t M, int64_t T, const double *U, double *X, double *Phi);
/* exp(E), and the orthogonal factor of I + E, for a skew-symmetric E; `scratch` is M x M. */
void tl_naive_exp(int64_t M, const double *E, double *out, double *scratch);
void tl_naive_polar(int64_t M, const double *E, double *out, double *scratch);
/* min(S, M) rows r of length M for frame n, with sum r r' = Sigma_n, by Gram and Schmidt with the
 * longest column first; `scratch` is S M + S. */
void tl_naive_compress(int64_t S, int64_t M, int64_t N, int64_t n, const double *Y, double *rows,
                       double *scratch);

#endif
