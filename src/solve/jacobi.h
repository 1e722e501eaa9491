/* Jacobi sweeps: every pair of rows of Phi rotated to its minimum, at fixed weights. */
#ifndef TLNMF_SOLVE_JACOBI_H
#define TLNMF_SOLVE_JACOBI_H

#include "model/model.h"

/* (14) for all pairs (a, b): rotates rows a, b of X and Phi to the least of sum U V over that
 * angle. Reads U, writes X, Phi and V. A pair that would gain less than `least` is left as it is.
 * Returns by how much sum U V fell. */
double tl_jacobi_sweep(tl_model *model, double least);

#endif
