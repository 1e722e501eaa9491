/* The test of fit of a model on new data. */
#ifndef TLNMF_API_GOODNESS_H
#define TLNMF_API_GOODNESS_H

#include "api/api.h"

/* What a model says about the data that it was fitted to. */
typedef struct tl_fitted {
    const double *H; /* K x N; NULL: unknown */
    int64_t N;
    int64_t S;       /* realisations of every frame; 0: see tl_data_replicates(); -1: unknown */
    double I;        /* of all frames; NaN: unknown */
    bool Phi_learnt; /* from these data */
} tl_fitted;

typedef struct tl_goodness_task {
    const tlnmf_data *data;      /* the new data */
    const tl_model_point *model; /* Phi, W, and the H that was fitted to the new data */
    tl_fitted own;
    bool converged; /* the fit of H to the new data */
    const tl_settings *settings;
} tl_goodness_task;

/* Misfits per entry of V, in nats; NaN if the test was not possible. */
typedef struct tl_goodness {
    double excess;     /* of the new data over the model's own data, chance subtracted */
    double error;      /* its standard error */
    double random;     /* the excess of data simulated with permuted rows of W H */
    double tails;      /* the part of the excess that heavy tails of the data could explain */
    const char *words; /* the verdict, a literal */
} tl_goodness;

/* Whether the model fits the new data as well as the data that it was fitted to. The result does
 * not depend on the number of threads. */
tlnmf_error tl_goodness_test(tlnmf_ctx *ctx, const tl_goodness_task *task, tl_goodness *out);

#endif
