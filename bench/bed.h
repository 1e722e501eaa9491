/* A test bed: a problem of a given shape with all arrays that the kernels and their twins use. */
#ifndef TLNMF_BENCH_BED_H
#define TLNMF_BENCH_BED_H

#include "engine/jacobi.h"
#include "model/kernels.h"

typedef struct shape {
    int64_t M, N, K, S;
    /* Each frame has two nonzero rows, and weights so that only these two rotate against each
     * other: a sweep then gives the same Phi in any order. */
    bool apart;
} shape;

/* The outputs of a kernel or of its twin. */
typedef struct outputs {
    double *V, *U, *W, *H; /* M x N, M x N, M x K, K x N */
    double *Phi, *G, *Q;   /* M x M */
    double value;
} outputs;

typedef struct bed {
    shape is;
    int64_t T; /* compressed columns */
    tlnmf_ctx *ctx;
    double eps;
    double *Y;                         /* S x M x N */
    double *Phi, *W, *H;               /* the point at which every run begins */
    double *X, *V, *U;                 /* computed from it */
    double *fast_X;                    /* M x T: output of kernels */
    double *E, *E_long;                /* skew-symmetric, of norms about 0.01 and 10 */
    double *UX, *V_turned, *M_scratch; /* scratch of gradient and sweep, V (N x M), M x M */
    double *twin_X, *twin_U;           /* M x T */
    double *rows, *frame;              /* scratch of the compression's twin */
    tlnmf_data *data, *again;
    tl_mu mu;
    tl_skew skew;
    tl_lent lent; /* scratch of functions of skew matrices */
    outputs fast, twin;
    void *block, *parts;
} bed;

/* Ends the program if there is no memory. */
void bed_create(tlnmf_ctx *ctx, shape is, bed *b);
void bed_free(bed *b);
/* Resets the outputs of kernels and twins to the beginning. */
void bed_reset(bed *b);

#endif
