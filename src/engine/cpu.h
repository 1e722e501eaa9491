/* The cpu engine: its arrays and the functions that its files share. For src/engine only. */
#ifndef TLNMF_ENGINE_CPU_H
#define TLNMF_ENGINE_CPU_H

#include "engine/engine.h"
#include "engine/jacobi.h"
#include "engine/products.h"
#include "model/kernels.h"

/* What U holds at present. U is cheap to recompute, so other arrays borrow its memory. */
typedef enum tl_cpu_U {
    TL_U_NOTHING,   /* scratch, or weights of another point */
    TL_U_WEIGHTS_C, /* B / (W H + floor): weights of C's gradient; B = 1 without weights */
    TL_U_WEIGHTS_L, /* B / (V + floor): weights of L's */
    TL_U_V_TURNED,  /* V', while W and H are updated */
} tl_cpu_U;

/* Conjugate gradients: their vectors, and a copy of the point while Hessian products are
 * computed. */
typedef struct tl_cpu_cg {
    double rr; /* r' D^-1 r */
    double *step, *residual, *d, *Hd;
    double *P, *Q, *W, *H;
} tl_cpu_cg;

/* Coordinates of a descent: the lower triangle of E in exp(E) Phi, at the current Phi; then the
 * entries of P and Q / unit with W = P.^2, H = Q.^2, which keeps W and H nonnegative without
 * bounds. The unit is the largest entry of Q, so that coordinates are near 1 at any scale of the
 * data. */
typedef struct tl_coordinates {
    unsigned moves;                        /* parts that descents may move */
    unsigned over;                         /* parts of the current descent; the sizes are theirs */
    int64_t triangle, in_W, in_H, size;    /* coordinates of Phi, W, H, and all */
    double *gradient, *direction, *metric; /* size */
    double unit;
    double *P, *Q, *W_new, *H_new; /* M x K, K x N */
    double *scratch;               /* M x K and K x N, for the metric */
    tl_lbfgs lbfgs;
    /* Where frames are on several machines: products of the pairs, the parts of a sum side by side,
     * and whether the products with the gradient are those of an earlier one. */
    tl_products products;
    double *fused;
    bool stale;
    tl_cpu_cg cg;
} tl_coordinates;

typedef struct tl_cpu {
    tl_engine is; /* first */
    const tlnmf_data *data;
    tl_sums *sums;
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
    double *sums_W;   /* 2 x K x M: the sums of (8) where they cross machines, and of (7) and (8)
                         where entries have weights (2 x K x max(M, N)); else NULL */
    tl_direction how; /* the current direction */
    double logs;      /* sum log(W H + eps): the part of C that steps along E do not change */
    tl_coordinates x;
    tl_hooks hooks;
    void *block;
} tl_cpu;

/* Initialises an object that the caller has allocated and whose `ops` the caller sets. */
tlnmf_error tl_cpu_open(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_cpu *self);
void tl_cpu_close(tl_cpu *self);
size_t tl_cpu_bytes(const tl_engine_spec *spec); /* bytes that tl_cpu_open() allocates */

/* ---- parts that files of this engine share --------------------------------------------------- */

tl_lent tl_cpu_lend(tl_cpu *self); /* Phi_new and Gamma */
void tl_cpu_refresh(tl_cpu *self); /* X and V from Phi, in double */
/* tl_cpu_turn: Phi_new, X and V of the step a along E. tl_cpu_swap: exchanges Phi and Phi_new. */
void tl_cpu_turn(tl_cpu *self, tl_retraction how, double a);
void tl_cpu_swap(tl_cpu *self);
/* To be called when V, or W or H, has changed: marks weights in U that depend on it as stale. */
void tl_cpu_V_changed(tl_cpu *self);
void tl_cpu_factors_changed(tl_cpu *self);
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
/* Before a sweep: computes the weights. After it: computes V from the rotated X. */
tl_sweep tl_cpu_sweep_begin(tl_cpu *self, unsigned of, double floor, double least);
void tl_cpu_sweep_end(tl_cpu *self);

/* Coordinates: their rows of the size table, and operations on the point. */
enum { TL_COORDINATES_SLOTS = 17 + TL_LBFGS_SLOTS };
void tl_coordinates_slots(tl_coordinates *x, const tl_engine_spec *spec,
                          tl_slot slots[TL_COORDINATES_SLOTS]);
/* Sets the sizes of a descent over these parts; L-BFGS forgets its pairs. */
void tl_coordinates_choose(tl_cpu *self, unsigned over);
void tl_coordinates_gradient(tl_cpu *self, double *out);
/* The gradient after a step, from which L-BFGS learns; `before` is that at its beginning. */
void tl_coordinates_learn(tl_cpu *self, const double *before);
/* The direction of L-BFGS; returns the slope along it. */
double tl_coordinates_direction(tl_cpu *self);
/* Where frames are shared out: completes the products after a new gradient or metric. */
void tl_coordinates_settle(tl_cpu *self, bool renew);
/* The diagonal of C's expected Hessian over W, then over H times unit^4, of the parts that move. */
void tl_coordinates_curvature(tl_cpu *self, double *out);
void tl_coordinates_aim(tl_cpu *self); /* computes E from x.direction */
/* C at these factors; infinite where W H may overflow. U is lost. */
double tl_coordinates_C(tl_cpu *self, const double *W, const double *H);
/* The objective at step a; X, V and U become those of the step. */
double tl_coordinates_value(tl_cpu *self, double a);
void tl_coordinates_accept(tl_cpu *self, double a); /* the last step tried */
void tl_coordinates_restore(tl_cpu *self);          /* restores X and V after failed steps */

/* ---- operations (engine.h) ------------------------------------------------------------------- */

tlnmf_error tl_cpu_fill(tl_engine *e, unsigned parts, tl_fill fill, void *user);
void tl_cpu_store(const tl_engine *e, double *Phi, double *W, double *H);
void tl_cpu_project(tl_engine *e, unsigned parts);
bool tl_cpu_inspect(tl_engine *e, tl_inspection *found);
tl_values tl_cpu_values(tl_engine *e, unsigned which);
double tl_cpu_gradient(tl_engine *e, unsigned of, double *Ganti);
void tl_cpu_update(tl_engine *e, unsigned parts, int64_t count);
tl_aim tl_cpu_aim(tl_engine *e, tl_direction how);
double tl_cpu_try(tl_engine *e, double a);
double tl_cpu_slope(tl_engine *e);
void tl_cpu_take(tl_engine *e, double a);
double tl_cpu_begin(tl_engine *e, unsigned over);
double tl_cpu_norm(tl_engine *e, bool renew);
bool tl_cpu_revive(tl_engine *e, double least);
tl_cg tl_cpu_cg_iteration(tl_engine *e, bool begins, double radius);
void tl_cpu_state(tl_engine *e, tl_bytes *b);

/* The operations that the cpu and the mixed engine share, for their tables. */
#define TL_CPU_SHARED_OPS                                                                     \
    .fill = tl_cpu_fill, .store = tl_cpu_store, .project = tl_cpu_project,                    \
    .inspect = tl_cpu_inspect, .values = tl_cpu_values, .gradient = tl_cpu_gradient,          \
    .update = tl_cpu_update, .aim = tl_cpu_aim, .try = tl_cpu_try, .slope = tl_cpu_slope,     \
    .take = tl_cpu_take, .begin = tl_cpu_begin, .norm = tl_cpu_norm, .revive = tl_cpu_revive, \
    .cg = tl_cpu_cg_iteration

#endif
