/* Jacobi sweeps: every pair of rows of Phi rotated to its minimum, at fixed weights.
 *
 * The order of pairs: rows in blocks of eight; a block with itself, then with each later one.
 * Threads share the blocks: while one meets the others, the next follows a step behind. Where rows
 * are long and few, threads share the columns instead; the order is the same. */
#ifndef TLNMF_ENGINE_JACOBI_H
#define TLNMF_ENGINE_JACOBI_H

#include "base/monitor.h"
#include "data/data.h"

/* Sweeps work on two blocks of this many rows at a time. */
enum { TL_SWEEP_BLOCK = 8 };

typedef struct tl_sweep {
    const tlnmf_data *data;
    const double *U; /* weights, M x N */
    double *X, *Phi; /* M x T, M x M: rotated together */
    double *scratch; /* tl_sweep_scratch() numbers, for as many threads */
    int64_t threads;
    double least;         /* pairs that would gain less are skipped */
    double frames;        /* number of frames on all processes */
    tl_comm *frames_comm; /* NULL: one process */
    tl_monitor *monitor;  /* as in tl_engine; NULL: all pairs are rotated */
} tl_sweep;

/* 0 if every frame has one column, and T is a multiple of 8 or X is large: the sweep then reads U
 * and X themselves. */
int64_t tl_sweep_scratch(const tlnmf_data *data, const tl_comm *frames_comm, int64_t threads);

/* (14) for all pairs (a, b): rotates rows a, b of X and Phi by the angle that minimises sum U V.
 * Returns by how much sum U V fell. V is not updated. If a poll stops the sweep, Phi is orthogonal
 * and X = Phi R. */
double tl_sweep_double(const tl_sweep *sweep);

/* Rows in single precision, padded with zeros to whole vectors. */
typedef struct tl_rounded {
    int64_t X_stride, Phi_stride;
    float *X, *Phi, *U; /* M rows; M rows; 2 TL_SWEEP_BLOCK rows, as long as those of X, per lane */
} tl_rounded;

enum { TL_ROUNDED_SLOTS = 3 };
void tl_rounded_slots(tl_rounded *rows, const tlnmf_data *data, const tl_comm *frames_comm,
                      int64_t threads, tl_slot slots[TL_ROUNDED_SLOTS]);

/* The same in single precision: X and Phi are rounded to `rows`, rotated there, and copied back. */
double tl_sweep_single(const tl_sweep *sweep, const tl_rounded *rows);

/* ---- rows that are long and few (long_rows.c), for jacobi.c only ----------------------------- */

/* Whether threads share the columns of a sweep rather than its pairs of rows. */
bool tl_rows_are_long(const tlnmf_data *data);
/* Numbers of scratch that its sums need. */
int64_t tl_long_rows_scratch(void);
/* tl_sweep_double for such data, on one process; pairs that would gain less than `least` are
 * skipped. */
double tl_sweep_long_rows(const tl_sweep *sweep, double least);

#endif
