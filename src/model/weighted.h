/* Kernels where entries of V have weights B (M x N): (2w), (3w), (4w) of docs/spec.md. U holds
 * B / (W H + eps), or B / (V + eps) for L. Entries of weight 0 add nothing. All arrays have `count`
 * entries. */
#ifndef TLNMF_MODEL_WEIGHTED_H
#define TLNMF_MODEL_WEIGHTED_H

#include <stdint.h>

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

#endif
