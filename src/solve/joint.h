/* L-BFGS over (Phi, sqrt W, sqrt H) together, over Phi alone, or over sqrt W, sqrt H alone.
 *
 * Coordinates: the lower triangle of the skew-symmetric E in exp(E) Phi, at the present Phi; then
 * the entries of P and Q / unit with W = P.^2, H = Q.^2, which keeps W and H nonnegative without
 * bounds. The unit is the largest entry of Q, so that coordinates are near 1 at any scale of data.
 */
#ifndef TLNMF_SOLVE_JOINT_H
#define TLNMF_SOLVE_JOINT_H

#include "model/model.h"
#include "solve/lbfgs.h"
#include "solve/run.h"

typedef enum tl_joint_over {
    TL_JOINT_ALL,     /* minimises C */
    TL_JOINT_PHI,     /* minimises L */
    TL_JOINT_FACTORS, /* minimises I: Phi stays */
} tl_joint_over;

typedef struct tl_joint {
    tl_joint_over over;                    /* of the run at hand, and so are the sizes */
    int64_t triangle, entries, size;       /* coordinates of Phi, of W and H, of all */
    double *gradient, *direction, *metric; /* size */
    double unit;
    double *P, *Q, *W_new, *H_new; /* M x K, K x N */
    double *mu;                    /* M x K and K x N: scratch of the metric */
    tl_lbfgs lbfgs;
    const tl_mixed *mixed; /* for the way down, if mixed precision was asked for; else NULL */
    tlnmf_hooks hooks;
    void *block;
} tl_joint;

/* One room for all three: `turns_Phi` = false leaves out what only Phi needs. */
tlnmf_error tl_joint_create(tlnmf_ctx *ctx, const tl_model *model, bool turns_Phi, tl_joint *joint);
size_t tl_joint_bytes(const tlnmf_data *data, int64_t K, bool turns_Phi); /* that it takes up */
void tl_joint_free(tl_joint *joint);

/* From the model's point, which it leaves at the end, up to iteration `last` of the run. It stops
 * when sqrt(g' D^-1 g / MN) <= grad_tol, D being the metric: half its square times MN is about how
 * much lower the objective could still go, so that it means the same at every size and scale. */
void tl_joint_minimise(tl_model *model, tl_joint *joint, tl_joint_over over, tl_run *run,
                       int64_t last);

#endif
