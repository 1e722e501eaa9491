/* How data are made from an array: the steps that realisations and covariances share. */
#ifndef TLNMF_DATA_MAKING_H
#define TLNMF_DATA_MAKING_H

#include "data/data.h"

#include <stdatomic.h>

/* Data that are made from an array. */
typedef struct tl_making {
    tlnmf_ctx *ctx;
    const double *in; /* realisations, S x M x N, or covariances, N x M x M */
    bool covariances;
    int64_t S, M, N;  /* S = 0: covariances */
    double mean;      /* power */
    double **columns; /* per frame, `rank` vectors of length M */
    int64_t *rank;
    double *power;     /* of each row of the realisations */
    double rounding;   /* of covariances: the largest relative error that was corrected */
    atomic_llong done; /* rows, for the progress */
    tlnmf_data *out;
} tl_making;

/* Stores `rank` consecutive vectors of length M, times `scale`, as columns of frame n. */
tlnmf_error tl_making_keep(tlnmf_ctx *ctx, const tl_making *m, int64_t n, int64_t rank,
                           const double *vectors, double scale);
/* Polls after `done` of `total` numbers: true if the call must stop. Checks of the data are the
 * first half of the work. */
bool tl_making_stops(const tlnmf_ctx *ctx, double done, double total);
/* The error of a call that was stopped. */
tlnmf_error tl_making_stopped(tlnmf_ctx *ctx);

/* Mean of the diagonals, or an error that names the first entry that is not finite. */
tlnmf_error tl_measure_traces(tl_making *r);
/* Factors all covariances, keeps their columns, and sets `rounding`. */
tlnmf_error tl_factor_covariances(tl_making *r);

#endif
