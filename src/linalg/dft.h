/* The real DFT of many columns at once, of any length, without a matrix. */
#ifndef TLNMF_LINALG_DFT_H
#define TLNMF_LINALG_DFT_H

#include "base/base.h"

enum { TL_DFT_FACTORS = 64 };

/* Factors, roots and scratch for one length M, made for the threads of the call that makes it. */
typedef struct tl_dft_plan {
    int64_t M;
    int factors;
    int64_t factor[TL_DFT_FACTORS];
    double *cosine, *sine; /* M: exp(-2 pi i k / M) */
    int64_t threads, each;
    double *scratch; /* threads x each */
    tl_hooks hooks;
    void *memory;
} tl_dft_plan;

tlnmf_error tl_dft_plan_create(tlnmf_ctx *ctx, int64_t M, tl_dft_plan *plan);
void tl_dft_plan_free(tl_dft_plan *plan);

/* X (M x columns) = Phi Y with the Phi of tl_dft. */
void tl_dft_forward(const tl_dft_plan *plan, int64_t columns, const double *Y, double *X);
/* Y = Phi' X. */
void tl_dft_inverse(const tl_dft_plan *plan, int64_t columns, const double *X, double *Y);
/* Y = Phi' (X times a mask), (M / 2 + 1) x (columns / per_column): its row j is for both rows of
 * frequency j, its column i for `per_column` columns of X. */
void tl_dft_inverse_masked(const tl_dft_plan *plan, int64_t columns, int64_t per_column,
                           const double *mask, const double *X, double *Y);

#endif
