/* Limited-memory BFGS directions on a flat vector, with a diagonal metric (Nocedal and Wright,
 * 7.4). For many coordinates there are fewer pairs, in single precision: they only shape the
 * direction, and would take most of a solver's memory. */
#ifndef TLNMF_ENGINE_LBFGS_H
#define TLNMF_ENGINE_LBFGS_H

#include "base/base.h"

#include <math.h>

/* Pairs: docs/measurements/constants.md. TL_GPU_PAIRS and TL_NAIVE_PAIRS must be equal to it:
 * engines agree. */
enum { TL_LBFGS_MOST = 10, TL_LBFGS_SLOTS = 4 };

typedef struct tl_lbfgs {
    int64_t size;
    int memory;      /* pairs that fit */
    int count, next; /* pairs held, where the next goes */
    /* memory x size: steps and changes of the gradient, in one precision or the other */
    double *s, *y;
    float *s_single, *y_single;
    double rho[TL_LBFGS_MOST];
} tl_lbfgs;

void tl_lbfgs_slots(tl_lbfgs *lbfgs, int64_t size, tl_slot slots[TL_LBFGS_SLOTS]);
/* Drops all pairs. From now on there are `size` coordinates, at most those of tl_lbfgs_slots(). */
void tl_lbfgs_begin(tl_lbfgs *lbfgs, int64_t size);

/* Stores s = step * direction of a new pair. */
void tl_lbfgs_step(tl_lbfgs *lbfgs, double step, const double *direction);
/* Completes the pair from the gradients before and after the step. The pair is dropped unless s'y
 * is positive; this is measured in the metric, since coordinates have different units. */
void tl_lbfgs_learn(tl_lbfgs *lbfgs, const double *before, const double *gradient,
                    const double *metric);

/* direction = -(approximate inverse Hessian) gradient; `metric` is the diagonal that it starts
 * from. Returns the slope along it, direction' gradient. */
double tl_lbfgs_direction(const tl_lbfgs *lbfgs, const double *gradient, const double *metric,
                          double *direction);

/* ---- parts of these for distributed frames --------------------------------------------------- */

/* Stores y = gradient - before for some coordinates of a new pair. */
void tl_lbfgs_change(tl_lbfgs *lbfgs, int64_t first, int64_t last, const double *before,
                     const double *gradient);

/* Whether s'y of a pair is positive beyond rounding, in view of s' D s and y' D^-1 y. */
static inline bool tl_lbfgs_is_curved(double ss, double yy, double sy)
{
    return sy > 1e-14 * sqrt(ss * yy);
}

/* Counts the pair that was stored at `next`. */
static inline void tl_lbfgs_keep(tl_lbfgs *lbfgs)
{
    lbfgs->next = (lbfgs->next + 1) % lbfgs->memory;
    if (lbfgs->count < lbfgs->memory)
        lbfgs->count++;
}

/* The index of the pair learnt `age` steps ago; 0 is the latest. */
static inline int tl_lbfgs_place(const tl_lbfgs *lbfgs, int age)
{
    return (lbfgs->next - 1 - age + 2 * lbfgs->memory) % lbfgs->memory;
}

/* A vector in the precision in which it is stored; the other pointer is NULL. */
typedef struct tl_stored {
    const double *x;
    const float *single;
} tl_stored;

/* s (is_step) or y of the pair at `place`. */
static inline tl_stored tl_lbfgs_vector(const tl_lbfgs *lbfgs, bool is_step, int place)
{
    int64_t at = place * lbfgs->size;
    if (lbfgs->s != NULL)
        return (tl_stored){(is_step ? lbfgs->s : lbfgs->y) + at, NULL};
    return (tl_stored){NULL, (is_step ? lbfgs->s_single : lbfgs->y_single) + at};
}

/* ---- distributed frames (lbfgs_distributed.c) -------------------------------------------------
 *
 * The two loops of lbfgs.c need 2 m + 1 dot products in sequence, each a sum over processes. With
 * distributed frames all products of pairs with one another and with the gradient are kept instead
 * (vector-free L-BFGS, Chen, Wang and Zhou 2014). The two loops then need only these products, and
 * an iteration needs a single sum over processes, together with the gradient.
 *
 * Each process has its own coordinates of H; their part of a product is summed over processes.
 * All processes have the coordinates of Phi and W; the first one computes their part and sends
 * it, so that all have the same bits. */

/* Largest number of products that are packed at once: all products with the metric, or all
 * products of a new pair. */
enum { TL_PRODUCTS_MOST = TL_LBFGS_MOST * (TL_LBFGS_MOST + 1) / 2 + TL_LBFGS_MOST + 1 };

typedef struct tl_products {
    double SY[TL_LBFGS_MOST][TL_LBFGS_MOST]; /* s_i' y_j */
    double YY[TL_LBFGS_MOST][TL_LBFGS_MOST]; /* y_i' D^-1 y_j */
    double Sg[TL_LBFGS_MOST];                /* s_i' g */
    double Yg[TL_LBFGS_MOST];                /* y_i' D^-1 g */
    double gg;                               /* g' D^-1 g */
    double ss;                               /* s' D s of the latest pair */
    double of_H[2][TL_PRODUCTS_MOST];        /* the part of H of both packings */
    bool pending;                            /* the vectors at lbfgs->next are not yet a pair */
} tl_products;

/* Which products to pack: those that a new pair changes, or those that a new metric changes. */
typedef enum tl_packing { TL_PACK_PAIR = 0, TL_PACK_METRIC = 1 } tl_packing;

/* The vectors that products are made of, and the coordinates to sum over. */
typedef struct tl_products_of {
    const tl_lbfgs *lbfgs;
    const double *gradient, *metric;
    int64_t first, last;
} tl_products_of;

/* Writes the products of these coordinates to `out`; returns how many there are. */
int tl_products_pack(const tl_products *p, const tl_products_of *of, tl_packing which, double *out);
/* Sets the products to the sum of the part of H and `rest`, the part of all other coordinates. */
void tl_products_set(tl_products *p, const tl_lbfgs *lbfgs, tl_packing which, const double *rest);

/* As tl_lbfgs_direction(), without a sum. */
double tl_products_direction(const tl_products *p, const tl_lbfgs *lbfgs, const double *gradient,
                             const double *metric, double *direction);

#endif
