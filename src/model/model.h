/* The problem: the data, the rank, the floor. Engines decide how it is computed. */
#ifndef TLNMF_MODEL_MODEL_H
#define TLNMF_MODEL_MODEL_H

#include "data/data.h"

/* Parts of a point, as bits of a set. */
enum { TL_PHI = 1, TL_W = 2, TL_H = 4, TL_ALL = TL_PHI | TL_W | TL_H };

/* Objectives (2), (3), (4), as bits of a set. */
enum { TL_C = 1, TL_L = 2, TL_I = 4 };

typedef struct tl_values {
    double C, L, I; /* NaN where it was not asked for, or where K = 0 */
} tl_values;

typedef struct tl_model {
    const tlnmf_data *data;
    int64_t K;    /* 0: no W and H, only joint diagonalisation */
    double eps;   /* the floor */
    double gamma; /* exponent of the updates (7), (8) */
} tl_model;

#endif
