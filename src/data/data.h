/* The data as solvers read them: compressed realisations. */
#ifndef TLNMF_DATA_DATA_H
#define TLNMF_DATA_DATA_H

#include "base/comm.h"

/* R_n R_n' = Sigma_n for every frame: columns offset[n] .. offset[n+1]-1 of R belong to frame n,
 * and the 1/sqrt(S) is folded in, so that V_mn is the sum of squares of row m over those columns */
struct tlnmf_data {
    int64_t M, N, S; /* N: the frames here; S: realisations times dof */
    int64_t dof;     /* of powers: tlnmf_data_set_dof(); else 1 */
    int64_t T;       /* columns here */
    /* Frames may be distributed over processes: the communicator, the number of all frames and of
     * their columns, and the index of the first one here. */
    tl_comm *frames_comm; /* NULL: one process */
    int64_t all, columns, first;
    int64_t *offset; /* N + 1 */
    double *R;       /* M x T */
    bool
        one_each; /* exactly one column per frame (S = 1 without silence): X and V have one shape */
    bool weighted;   /* frames have weights: (3w) */
    double *weight;  /* N, of mean 1 */
    double *present; /* N: number of realisations of each frame if some are missing; else all 0 */
    int64_t missing; /* frames of realisations, or entries of powers; here and elsewhere */
    const double *B; /* M x N: the weight of each entry of V; NULL: all 1. Copies share it. */
    const double *mask; /* M x N: the part of B that does not come from `weight`, or NULL */
    void *B_block;      /* NULL in copies */
    bool overlapping;   /* frames share realisations: moving neighbours */
    double mean_power;
    double mean_square;     /* |mean frame|^2; 0: not known (covariances, whitened data) */
    double observed;        /* number of frames of realisations that this is a mean of */
    double drift_square;    /* mean of |mean frame|^2 of each realisation */
    double parts;           /* number of these means; 0: one realisation, or not known */
    double rounding;        /* of covariances: the largest relative error here that was corrected */
    int64_t constant_rows;  /* rows with the same value, not 0, everywhere */
    int64_t first_constant; /* the first of them */
    const double *Y;        /* the realisations, in the caller's memory; NULL: not known */
    int64_t made_of[3];     /* its shape: S, M, N */
    tlnmf_record *record;   /* the result of tlnmf_data_record(); NULL in internal copies */
    tl_hooks hooks;
    void *block;
};

/* Creates an object for T columns, which the caller fills in. Call the second function once the
 * offsets are set. */
tlnmf_error tl_data_new(tlnmf_ctx *ctx, int64_t M, int64_t N, int64_t T, tlnmf_data **out);
void tl_data_note_one_each(tlnmf_data *data);

/* Removes the columns that the floor hides, |r|^2 <= 1e-16 eps: no V changes by more than that.
 * If there are no such columns (tl_data_is_trim()), *out is NULL. */
bool tl_data_is_trim(const tlnmf_data *data, double eps);
tlnmf_error tl_data_trim(tlnmf_ctx *ctx, const tlnmf_data *data, double eps, tlnmf_data **out);

/* For a context that distributes frames: completes the data with the facts of all processes, and
 * `mean`, the power, over all frames. `error` is that of this process so far. */
tlnmf_error tl_data_join(tlnmf_ctx *ctx, tlnmf_error error, tlnmf_data *data, double *mean);
/* An error unless the mean of the squares is usable. */
tlnmf_error tl_data_check_power(tlnmf_ctx *ctx, double mean, double largest);
/* Notes the mean frames of realisations Y (S x M x N, in the caller's memory; NaN is ignored) and
 * the rows that are constant. All processes call this together. */
tlnmf_error tl_data_note_mean(tlnmf_ctx *ctx, tlnmf_data *data, const double *Y,
                              const int64_t shape[3]);
/* Puts mean_share and centred_power into the record of the data. */
tlnmf_error tl_data_describe_mean(tlnmf_ctx *ctx, tlnmf_data *data);
/* rho = |mean frame|^2 / mean |frame|^2. By chance it is about 1 / observed. */
double tl_data_mean_share(const tlnmf_data *data);
/* The share of the power that the mean frames of the realisations have, if they are likely to be
 * offsets and differ between realisations; else 0. */
double tl_data_drift(const tlnmf_data *data);
/* The share of likely offsets: rho, or tl_data_drift(), which is larger; else 0. */
double tl_data_offset(const tlnmf_data *data);
/* The mean power without the offset. */
double tl_data_centred_power(const tlnmf_data *data);
/* Sets the weights of frames from those of the user (NULL: all 1) and the realisations that are
 * present. */
tlnmf_error tl_data_weigh(tlnmf_ctx *ctx, tlnmf_data *data, const double *weights_or_null);
/* Whether nothing of the frame counts: all its entries have weight 0. */
bool tl_data_is_silent(const tlnmf_data *data, int64_t n);

/* The number of independent realisations of every frame. 0: it is not known or not the same, or
 * frames have weights or realisations in common (covariances, weights, masks, missing frames,
 * moving neighbours). */
int64_t tl_data_replicates(const tlnmf_data *data);

/* The sum of the weights of all entries of V, on all processes: M N without a mask. */
double tl_data_entries(const tlnmf_data *data);
/* An error if an entry of V has no data in any frame that has a weight: a fit could not determine
 * its row of W. */
tlnmf_error tl_data_check_mask(tlnmf_ctx *ctx, const tlnmf_data *data);

/* The `count` frames whose numbers `frames` lists in ascending order, with their weights.
 * TLNMF_ERR_DATA if the weights are all 0. The data have no mask. */
tlnmf_error tl_data_select(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t count,
                           const int64_t *frames, tlnmf_data **out);
/* Sets the weights of selected frames (above); their mean becomes 1. */
tlnmf_error tl_data_take_weights(tlnmf_ctx *ctx, const tlnmf_data *from, const int64_t *frames,
                                 tlnmf_data *to);

tlnmf_error tl_data_copy(tlnmf_ctx *ctx, const tlnmf_data *data, tlnmf_data **out);

/* The data in coordinates in which their mean covariance is the identity: P R, and R = back P R.
 * `wanted` principal components are kept, which become the rows M of the new data: P is wanted x M.
 * 0 keeps as many as the mean covariance has; if negative, it must have all. P and back have room
 * for M x M. */
tlnmf_error tl_data_whiten(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t wanted, double *P,
                           double *back, tlnmf_data **out);

/* The largest norm of a frame, sqrt(trace Sigma_n), over all processes. */
double tl_data_longest(const tlnmf_data *data);
/* The frame with most power, and its share of the power of all frames; 0 if frames are distributed.
 */
double tl_data_strongest_frame(const tlnmf_data *data, int64_t *frame);
/* The row with most power, over all processes, and its share of the power of all rows. */
double tl_data_strongest_row(const tlnmf_data *data, int64_t *row);

#endif
