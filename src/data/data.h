/* The data as solvers read them: compressed realisations. */
#ifndef TLNMF_DATA_DATA_H
#define TLNMF_DATA_DATA_H

#include "base/sums.h"

/* R_n R_n' = Sigma_n for every frame: columns offset[n] .. offset[n+1]-1 of R belong to frame n,
 * and the 1/sqrt(S) is folded in, so that V_mn is the sum of squares of row m over those columns */
struct tlnmf_data {
    int64_t M, N, S; /* N: the frames here */
    int64_t T;       /* columns here */
    /* Frames may be shared out over machines: those that have some, the number of all frames and of
     * their columns, and the index of the first one here. */
    tl_sums *sums; /* NULL: one machine */
    int64_t all, columns, first;
    int64_t *offset; /* N + 1 */
    double *R;       /* M x T */
    bool one_each;  /* exactly one column a frame (S = 1 without silence): X and V have one shape */
    bool weighted;  /* frames have weights: (3w) */
    double *weight; /* N, of mean 1 */
    double *present;    /* N: how many realisations each frame has, if `weighted` begins with that;
                           all 0: not known, and no matter */
    const double *B;    /* M x N: the weight of each entry of V; NULL: all 1. Copies share it. */
    const double *mask; /* M x N: the part of B that does not come from `weight`, or NULL */
    void *B_block;      /* NULL in copies */
    double mean_power;
    const double *Y;      /* what the data were made of, memory of the caller; NULL: not known */
    int64_t made_of[3];   /* its shape: S, M, N */
    tlnmf_record *record; /* what tlnmf_data_record() returns; NULL in internal copies */
    tl_hooks hooks;
    void *block;
};

/* An object for T columns, which the caller fills in; and what is noted when its offsets are. */
tlnmf_error tl_data_new(tlnmf_ctx *ctx, int64_t M, int64_t N, int64_t T, tlnmf_data **out);
void tl_data_note_one_each(tlnmf_data *data);

/* Removes the columns that the floor hides, |r|^2 <= 1e-16 eps: no V changes by more than that.
 * tl_data_is_trim() says whether there are none; *out is then NULL. */
bool tl_data_is_trim(const tlnmf_data *data, double eps);
tlnmf_error tl_data_trim(tlnmf_ctx *ctx, const tlnmf_data *data, double eps, tlnmf_data **out);

/* For data of a context that shares frames out: what all machines know of them, and `mean`, their
 * power, over all frames. `error` is that of this machine so far. */
tlnmf_error tl_data_join(tlnmf_ctx *ctx, tlnmf_error error, tlnmf_data *data, double *mean);
/* An error unless the mean of the squares can be computed with; 0 has a message of its own. */
tlnmf_error tl_data_check_power(tlnmf_ctx *ctx, double mean, double largest);
/* Sets the weights of frames from those of the user (NULL: all 1) and the realisations that are
 * present. */
tlnmf_error tl_data_weigh(tlnmf_ctx *ctx, tlnmf_data *data, const double *weights_or_null);
/* Whether nothing of the frame counts: all its entries have weight 0. */
bool tl_data_is_silent(const tlnmf_data *data, int64_t n);

/* The sum of the weights of all entries of V, on all machines: M N without a mask. */
double tl_data_entries(const tlnmf_data *data);
/* An error if a row of the mask is all 0: a fit would know nothing of W there. */
tlnmf_error tl_data_check_mask(tlnmf_ctx *ctx, const tlnmf_data *data);

tlnmf_error tl_data_copy(tlnmf_ctx *ctx, const tlnmf_data *data, tlnmf_data **out);

/* The data in coordinates in which their mean covariance is the identity: P R, and R = back P R. P
 * and back are M x M. Refused where the mean covariance is singular. */
tlnmf_error tl_data_whiten(tlnmf_ctx *ctx, const tlnmf_data *data, double *P, double *back,
                           tlnmf_data **out);

/* The largest norm of a frame, sqrt(trace Sigma_n), over all machines. */
double tl_data_longest(const tlnmf_data *data);

#endif
