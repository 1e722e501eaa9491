/* The naive engine: plain loops. Everything is recomputed from the point whenever it is asked for.
 * It shares only definitions with the other engines. */
#ifndef TLNMF_TESTS_NAIVE_ENGINE_H
#define TLNMF_TESTS_NAIVE_ENGINE_H

#include "engine/engine.h"
#include "reference/naive_kernels.h"

enum { TL_NAIVE_PAIRS = 10 }; /* must be equal to TL_LBFGS_MOST */

/* Phi, W, H and what follows from them; in a descent W = P.^2, H = Q.^2, of either sign. */
typedef struct tl_naive_point {
    double *Phi, *W, *H, *X, *V, *P, *Q;
} tl_naive_point;

typedef struct tl_naive {
    tl_engine is; /* first */
    const tlnmf_data *data;
    double gamma;
    tl_naive_point at, step;           /* the point, and the last step tried */
    double *U;                         /* M x N */
    double *G, *Gamma, *E, *Q, *A, *B; /* M x M; the last three are scratch */
    double *U_columns;                 /* M x T: weights column by column */
    tl_direction how;
    /* a descent */
    unsigned over;
    int64_t size;
    double unit;
    double *gradient, *direction, *metric, *new_gradient;
    int pairs; /* the latest first */
    double *s[TL_NAIVE_PAIRS], *y[TL_NAIVE_PAIRS];
    /* lent to a tl_fill */
    tl_skew skew;
    tl_lent lent;
    tl_hooks hooks;
    void *block;
} tl_naive;

/* X and V of the point's Phi; its objective; (10). */
void tl_naive_follow(const tl_naive *self, const tl_naive_point *p);
/* The weight of entry i of V; 1 without weights. */
double tl_naive_weight(const tl_naive *self, int64_t i);
double tl_naive_value(const tl_naive *self, unsigned of, const tl_naive_point *p);
void tl_naive_weigh(tl_naive *self, unsigned of, double floor, const tl_naive_point *p);
void tl_naive_G(tl_naive *self, const tl_naive_point *p); /* at the weights in U */
void tl_naive_copy(const tl_naive *self, const tl_naive_point *from, tl_naive_point *to);

/* Operations of a descent (naive_descent.c). */
double tl_naive_begin(tl_engine *e, unsigned over);
double tl_naive_norm(tl_engine *e, bool renew);
bool tl_naive_revive(tl_engine *e, double least);
tl_aim tl_naive_aim(tl_engine *e, tl_direction how); /* other than quasi-Newton */
double tl_naive_try(tl_engine *e, double a);
void tl_naive_take(tl_engine *e, double a);

#endif
