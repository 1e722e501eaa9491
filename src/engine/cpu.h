/* The cpu engine: its arrays and the functions that its files share. For src/engine only. */
#ifndef TLNMF_ENGINE_CPU_H
#define TLNMF_ENGINE_CPU_H

#include "engine/engine.h"
#include "engine/jacobi.h"
#include "engine/lbfgs.h"
#include "model/kernels.h"

/* The contents of U. U is cheap to recompute, so other arrays borrow its memory. */
typedef enum tl_cpu_U {
    TL_U_NOTHING,   /* scratch, or weights of another point */
    TL_U_WEIGHTS_C, /* B / (W H + floor): weights of C's gradient; B = 1 without weights */
    TL_U_WEIGHTS_L, /* B / (V + floor): weights of L's */
    TL_U_V_TURNED,  /* V', while W and H are updated */
} tl_cpu_U;

/* Coordinates of a descent: the lower triangle of E in exp(E) Phi, at the current Phi; then the
 * entries of P and Q / unit with W = P.^2, H = Q.^2, which keeps W and H nonnegative without
 * bounds. The unit is the largest entry of Q, so that coordinates are near 1 at any scale of the
 * data. */
typedef struct tl_coordinates {
    unsigned moves;                        /* parts that descents may move */
    unsigned over;                         /* parts of the current descent */
    tl_counts n;                           /* of the current descent */
    double *gradient, *direction, *metric; /* n.all */
    double unit;
    double *P, *Q, *W_new, *H_new; /* M x K, K x N */
    double *scratch;               /* M x K and K x N, for the metric */
    tl_lbfgs lbfgs;
    /* If frames are distributed over processes: products of the pairs, the parts of one joint sum,
     * and whether the products with the gradient are those of an earlier one. */
    tl_products products;
    double *fused;
    bool stale;
} tl_coordinates;

typedef struct tl_cpu {
    tl_engine is; /* first */
    const tlnmf_data *data;
    tl_comm *frames_comm;
    int64_t threads;
    const tl_arithmetic *in; /* precision of products */
    double *Phi, *W, *H;
    double *Phi_new; /* M x M: Phi of the last step tried; until then scratch for functions of
                        matrices */
    double *X, *V;   /* Phi R (M x T) and its power (M x N), of Phi or of the last step tried */
    double *U;       /* M x N */
    tl_cpu_U U_is;
    double U_floor;
    double *UX;    /* scratch of the gradient and of sweeps */
    double *G, *E; /* M x M: (10), also scratch for the rotation of a step; the direction */
    double *Gamma; /* M x M: (10); also scratch for functions of matrices, so lost by a try */
    tl_skew skew;
    tl_mu mu;
    double *sums_W;   /* 2 x K x M: the sums of (8) over processes, and of (7) and (8)
                         where entries have weights (2 x K x max(M, N)); else NULL */
    tl_direction how; /* the current direction */
    double logs;      /* sum log(W H + eps): the part of C that steps along E do not change */
    tl_coordinates x;
    /* the mixed engine */
    tl_single single;
    tl_rounded rows;
    bool rough; /* products and sweeps are in single precision now */
    void *rows_block;
    tl_hooks hooks;
    void *block;
} tl_cpu;

/* ---- parts that files of this engine share --------------------------------------------------- */

tl_lent tl_cpu_lend(tl_cpu *self); /* Phi_new and Gamma */
void tl_cpu_refresh(tl_cpu *self); /* X and V from Phi, in double */
/* tl_cpu_turn: Phi_new, X and V of the step a along E. tl_cpu_swap: exchanges Phi and Phi_new. */
void tl_cpu_turn(tl_cpu *self, tl_retraction how, double a);
void tl_cpu_swap(tl_cpu *self);
/* To be called when V has changed: marks weights in U that depend on it as stale. */
void tl_cpu_V_changed(tl_cpu *self);
/* Puts the weights of C (TL_C) or of L (TL_L) into U, unless they are there. */
void tl_cpu_weights(tl_cpu *self, unsigned of, double floor);
/* U = B / (W H + floor) of any W and H; the caller says what U is. */
void tl_cpu_weigh(tl_cpu *self, const double *W, const double *H, double floor);
/* sum B log(W H + eps) over the local frames, from U. */
double tl_cpu_logs(const tl_cpu *self);
/* The objective at V, over all frames; for C, U must hold its weights. */
double tl_cpu_C(const tl_cpu *self);
double tl_cpu_L(const tl_cpu *self);
void tl_cpu_G(tl_cpu *self);     /* (10) at X and U, over all frames */
void tl_cpu_gamma(tl_cpu *self); /* (10) at V and U, over the local frames */

/* Coordinates: their rows of the size table, and operations on the point. */
enum { TL_COORDINATES_SLOTS = 9 + TL_LBFGS_SLOTS };
void tl_coordinates_slots(tl_coordinates *x, const tl_engine_spec *spec,
                          tl_slot slots[TL_COORDINATES_SLOTS]);
/* The gradient after a step, from which L-BFGS learns; `before` is that at its beginning. */
void tl_coordinates_learn(tl_cpu *self, const double *before);
/* The direction of L-BFGS; returns the slope along it. */
double tl_coordinates_direction(tl_cpu *self);
void tl_coordinates_aim(tl_cpu *self); /* computes E from x.direction */
/* The objective at step a; X, V and U become those of the step. */
double tl_coordinates_value(tl_cpu *self, double a);
void tl_coordinates_accept(tl_cpu *self, double a); /* the last step tried */
void tl_coordinates_restore(tl_cpu *self);          /* restores X and V after failed steps */

/* ---- operations (engine.h) ------------------------------------------------------------------- */

double tl_cpu_gradient(tl_engine *e, unsigned of, double *Ganti);
tl_aim tl_cpu_aim(tl_engine *e, tl_direction how);
double tl_cpu_try(tl_engine *e, double a);
double tl_cpu_slope(tl_engine *e);
void tl_cpu_take(tl_engine *e, double a);
double tl_cpu_known_gradient(const tl_engine *e);
double tl_cpu_begin(tl_engine *e, unsigned over);
double tl_cpu_norm(tl_engine *e, bool renew);
bool tl_cpu_revive(tl_engine *e, double least);

#endif
