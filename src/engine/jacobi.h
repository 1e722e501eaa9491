/* Jacobi sweeps: every pair of rows of Phi rotated to its minimum, at fixed weights. */
#ifndef TLNMF_ENGINE_JACOBI_H
#define TLNMF_ENGINE_JACOBI_H

#include "data/data.h"
#include "engine/sums.h"

/* Rows whose weights a sweep lays out column by column at a time: two blocks. */
enum { TL_SWEEP_BLOCK = 8 };

typedef struct tl_sweep {
    const tlnmf_data *data;
    const double *U; /* weights, M x N */
    double *X, *Phi; /* M x T, M x M: turned together */
    double *scratch; /* tl_sweep_scratch() numbers */
    double least;    /* a pair that would gain less is left as it is */
    double frames;   /* over all machines */
    tl_sums *sums;   /* NULL: one machine */
} tl_sweep;

/* Where a frame is a column, a sweep reads U itself: 0. */
int64_t tl_sweep_scratch(const tlnmf_data *data);

/* (14) for all pairs (a, b): rotates rows a, b of X and Phi to the least of sum U V over that
 * angle. Returns by how much sum U V fell. V does not follow. */
double tl_sweep_double(const tl_sweep *sweep);

/* Rows in single precision, padded with zeros to whole vectors. */
typedef struct tl_rounded {
    int64_t X_stride, Phi_stride;
    float *X, *Phi, *U; /* M rows, M rows, 2 TL_SWEEP_BLOCK rows as long as those of X */
} tl_rounded;

enum { TL_ROUNDED_SLOTS = 3 };
void tl_rounded_slots(tl_rounded *rows, const tlnmf_data *data, tl_slot slots[TL_ROUNDED_SLOTS]);

/* The same in single precision: X and Phi are rounded to `rows`, turned there, and returned. */
double tl_sweep_single(const tl_sweep *sweep, const tl_rounded *rows);

#endif
