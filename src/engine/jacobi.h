/* Jacobi sweeps: every pair of rows of Phi rotated to its minimum, at fixed weights.
 *
 * The order of pairs: rows in blocks of eight; a block with itself, then with each later one.
 * Threads share the blocks: while one meets the others, the next follows a step behind. Where rows
 * are long and few, threads share the columns instead; the order is the same. */
#ifndef TLNMF_ENGINE_JACOBI_H
#define TLNMF_ENGINE_JACOBI_H

#include "base/sums.h"
#include "data/data.h"

/* Sweeps work on two blocks of this many rows at a time. */
enum { TL_SWEEP_BLOCK = 8 };

typedef struct tl_sweep {
    const tlnmf_data *data;
    const double *U; /* weights, M x N */
    double *X, *Phi; /* M x T, M x M: turned together */
    double *scratch; /* tl_sweep_scratch() numbers, for as many threads */
    int64_t threads;
    double least;                /* pairs that would gain less are skipped */
    double frames;               /* number of frames on all machines */
    tl_sums *sums;               /* NULL: one machine */
    bool (*hurries)(void *user); /* as in tl_engine; NULL: all pairs are turned */
    void *hurries_user;
} tl_sweep;

/* 0 if every frame has one column, and T is a multiple of 8 or X is large: the sweep then reads U
 * and X themselves. */
int64_t tl_sweep_scratch(const tlnmf_data *data, const tl_sums *sums, int64_t threads);

/* (14) for all pairs (a, b): rotates rows a, b of X and Phi by the angle that minimises sum U V.
 * Returns by how much sum U V fell. V is not updated. Pairs that are left out in a hurry leave Phi
 * orthogonal and X = Phi R. */
double tl_sweep_double(const tl_sweep *sweep);

/* Rows in single precision, padded with zeros to whole vectors. */
typedef struct tl_rounded {
    int64_t X_stride, Phi_stride;
    float *X, *Phi, *U; /* M rows; M rows; 2 TL_SWEEP_BLOCK rows as those of X for every lane */
} tl_rounded;

enum { TL_ROUNDED_SLOTS = 3 };
void tl_rounded_slots(tl_rounded *rows, const tlnmf_data *data, const tl_sums *sums,
                      int64_t threads, tl_slot slots[TL_ROUNDED_SLOTS]);

/* The same in single precision: X and Phi are rounded to `rows`, rotated there, and copied back. */
double tl_sweep_single(const tl_sweep *sweep, const tl_rounded *rows);

#endif
