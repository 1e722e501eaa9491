/* The data as solvers read them: compressed realisations. */
#ifndef TLNMF_DATA_DATA_H
#define TLNMF_DATA_DATA_H

#include "base/base.h"

/* R_n R_n' = Sigma_n for every frame: columns offset[n] .. offset[n+1]-1 of R belong to frame n,
 * and the 1/sqrt(S) is folded in, so that V_mn is the sum of squares of row m over those columns */
struct tlnmf_data {
    int64_t M, N, S;
    int64_t T;       /* columns in all */
    int64_t *offset; /* N + 1 */
    double *R;       /* M x T */
    bool one_each;  /* exactly one column a frame (S = 1 without silence): X and V have one shape */
    bool weighted;  /* frames have weights in L: (3w) */
    double *weight; /* N, of mean 1 */
    double mean_power;
    tlnmf_record *record; /* what tlnmf_data_record() returns; NULL in internal copies */
    tl_hooks hooks;
    void *block;
};

/* Removes the columns that the floor hides, |r|^2 <= 1e-16 eps: no V changes by more than that.
 * tl_data_is_trim() says whether there are none; *out is then NULL. */
bool tl_data_is_trim(const tlnmf_data *data, double eps);
tlnmf_error tl_data_trim(tlnmf_ctx *ctx, const tlnmf_data *data, double eps, tlnmf_data **out);

tlnmf_error tl_data_copy(tlnmf_ctx *ctx, const tlnmf_data *data, tlnmf_data **out);

/* The data in coordinates in which their mean covariance is the identity: P R, and R = back P R. P
 * and back are M x M. Refused where the mean covariance is singular. */
tlnmf_error tl_data_whiten(tlnmf_ctx *ctx, const tlnmf_data *data, double *P, double *back,
                           tlnmf_data **out);

/* The largest norm of a frame, sqrt(trace Sigma_n). */
double tl_data_longest(const tlnmf_data *data);

#endif
