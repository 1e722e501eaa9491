/* Coordinates for descents over (Phi, sqrt W, sqrt H) together, over Phi alone, or over sqrt W,
 * sqrt H alone: the lower triangle of the skew-symmetric E in exp(E) Phi, at the present Phi; then
 * the entries of P and Q / unit with W = P.^2, H = Q.^2, which keeps W and H nonnegative without
 * bounds. The unit is the largest entry of Q, so that coordinates are near 1 at any scale of data.
 */
#ifndef TLNMF_SOLVE_JOINT_H
#define TLNMF_SOLVE_JOINT_H

#include "model/model.h"
#include "solve/lbfgs.h"
#include "solve/newton.h"

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
    tl_newton newton;
    const tl_mixed *mixed; /* for the way down, if mixed precision was asked for; else NULL */
    tl_hooks hooks;
    void *block;
} tl_joint;

/* What a room is for: `turns_Phi` = false leaves out what only Phi needs. */
typedef struct tl_joint_for {
    bool turns_Phi, newton;
} tl_joint_for;

tlnmf_error tl_joint_create(tlnmf_ctx *ctx, const tl_model *model, tl_joint_for what,
                            tl_joint *joint);
size_t tl_joint_bytes(const tlnmf_data *data, int64_t K, tl_joint_for what); /* that it takes up */
void tl_joint_free(tl_joint *joint);

/* ---- a point and what is around it ----------------------------------------------------------- */

/* Which coordinates a run is over, and so their number. */
void tl_joint_choose(tl_joint *joint, const tl_model *model, tl_joint_over over);
/* Takes up the model's W and H; sets U. Returns the objective. */
double tl_joint_begin(tl_model *model, tl_joint *joint);
void tl_joint_gradient(tl_model *model, tl_joint *joint); /* at the model's point */
void tl_joint_metric(tl_model *model, tl_joint *joint); /* positive; about the Hessian's diagonal */
/* The diagonal of C's expected Hessian over W, and over H times unit^4 (M x K, then K x N). */
void tl_joint_curvature(tl_model *model, tl_joint *joint, double *out);

/* ---- a step along joint->direction, in parts ------------------------------------------------- */

void tl_joint_aim(tl_model *model, tl_joint *joint); /* before the first step along a direction */
/* The objective at step a; X, V and U are then of that step. */
double tl_joint_value(tl_model *model, tl_joint *joint, double a);
void tl_joint_accept(tl_model *model, tl_joint *joint, double a); /* the step last tried */
/* X, V and U of the point that the run is at, after steps that led nowhere. */
void tl_joint_restore(tl_model *model, const tl_joint *joint);

#endif
