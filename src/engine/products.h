/* L-BFGS where frames are on several machines: a direction from products. The two loops of
 * lbfgs.c need 2 m + 1 dot products one after the other, each a sum over machines. Here all
 * products of pairs with one another and with the gradient are kept (vector-free L-BFGS, Chen, Wang
 * and Zhou 2014): the loops then run on numbers, and an iteration has one sum, shared with the
 * gradient.
 *
 * Coordinates of H are this machine's own; their part of a product is summed over machines.
 * Coordinates of Phi and W are everywhere; the first machine computes their part and sends it, so
 * that all have the same bits. */
#ifndef TLNMF_ENGINE_PRODUCTS_H
#define TLNMF_ENGINE_PRODUCTS_H

#include "engine/lbfgs.h"

/* The most numbers of one packing: all products with the metric, or of a new pair. */
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
/* Sets the products to the part of H and `rest`, that of all other coordinates. */
void tl_products_set(tl_products *p, const tl_lbfgs *lbfgs, tl_packing which, const double *rest);

/* As tl_lbfgs_direction(), without a sum. */
double tl_products_direction(const tl_products *p, const tl_lbfgs *lbfgs, const double *gradient,
                             const double *metric, double *direction);

#endif
