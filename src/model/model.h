/* The state of one run: an iterate (Phi, W, H), what follows from it (X, V, U), and all the room
 * that a solver needs, allocated once. */
#ifndef TLNMF_MODEL_MODEL_H
#define TLNMF_MODEL_MODEL_H

#include "data/data.h"
#include "linalg/linalg.h"
#include "model/kernels.h"

/* Room for a run in single precision: products, and X, Phi and weights for sweeps, whose rows are
 * padded to whole vectors. */
typedef struct tl_mixed {
    tl_single products;
    int64_t X_stride, Phi_stride;
    float *X, *Phi, *U; /* M rows, M rows, 2 TL_SWEEP_BLOCK rows as long as those of X */
    tlnmf_hooks hooks;
    void *block;
} tl_mixed;

typedef struct tl_model {
    const tlnmf_data *data;
    int64_t M, N, K, T; /* K = 0: no W and H, only joint diagonalisation */
    double eps;
    double *Phi, *W, *H;
    double *Phi_new; /* M x M: of the step being tried; lent to exp and polar until it is known */
    double *X, *V;   /* Phi R (M x T) and its power (M x N), of Phi or of the step being tried */
    double *U;       /* weights (M x N): 1/(W H + eps) or 1/(V + eps), whichever was asked for last;
                        room for V' while W and H are updated */
    double *UX;      /* scratch of the gradient and of sweeps */
    double *G, *E;   /* M x M: (10), then the rotation being tried; the direction */
    double *Gamma;   /* M x M: (10); lent to exp and polar, so gone once a step is tried */
    tl_skew skew;
    const tl_mixed *mixed; /* at work in single precision; NULL: in double */
    tl_mu mu;
    tlnmf_hooks hooks;
    void *block;
} tl_model;

typedef struct tl_values {
    double C, L, I;
} tl_values;

/* Rows whose weights a sweep lays out column by column at a time: two blocks. */
enum { TL_SWEEP_BLOCK = 8 };

tlnmf_error tl_model_create(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t K, double eps,
                            double gamma, tl_model *model);
size_t tl_model_bytes(const tlnmf_data *data, int64_t K); /* that it takes up */
void tl_model_free(tl_model *model);

/* X and V from Phi; to be called whenever Phi was set from outside. */
void tl_model_refresh(tl_model *model);

void tl_model_weights_C(tl_model *model); /* U = 1/(W H + eps): the weights of C's gradient */
void tl_model_weights_L(tl_model *model); /* U = w_n/(V + eps): those of L's                */
void tl_model_weights_L_at(tl_model *model, double floor); /* of L with this floor for eps */

double tl_model_C(const tl_model *model); /* (2); U must be that of C */
double tl_model_I(const tl_model *model); /* (4); U must be that of C */
double tl_model_L(const tl_model *model); /* (3), or (3w) where frames have weights */
tl_values
tl_model_values(tl_model *model); /* all three, setting U to that of C; C, I NaN if K = 0 */

/* Norm of the antisymmetric part of the gradient, ||Ganti||_F / 2N, for the weights in U. */
double tl_model_gradient_norm(tl_model *model);

/* Scratch for functions of matrices: Phi_new and Gamma. */
tl_lent tl_model_lend(tl_model *model);

/* ---- mixed precision ------------------------------------------------------------------------- */

tlnmf_error tl_mixed_create(tlnmf_ctx *ctx, const tlnmf_data *data, tl_mixed *mixed);
size_t tl_mixed_bytes(const tlnmf_data *data); /* that it takes up */
void tl_mixed_free(tl_mixed *mixed);

/* From now on in single precision; back to double with NULL, when Phi is made orthogonal and X and
 * V are computed afresh. Sums, C, L and I are always in double. */
void tl_model_use(tl_model *model, const tl_mixed *mixed_or_null);

/* ---- a step along E, in parts ---------------------------------------------------------------- */

/* X and V of the Phi at step a. Another step may be tried then, or this one kept, or, by
 * tl_model_refresh, none: there is one X, since a second would be a third of a fit's memory. */
void tl_model_try(tl_model *model, tl_retraction how, double a);
/* The same for a Phi from elsewhere. */
void tl_model_try_Phi(tl_model *model, const double *Phi);
void tl_model_accept(tl_model *model); /* Phi becomes that of the step last tried */

#endif
