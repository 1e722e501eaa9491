/* Measures of results that other rooms and tests may want: no state, no data. */
#ifndef TLNMF_MEASURE_MEASURE_H
#define TLNMF_MEASURE_MEASURE_H

#include "base/base.h"

/* psi(x) = d log Gamma(x) / dx, for x > 0. */
double tl_digamma(double x);

/* The assignment of n rows to n columns with the least sum of cost[row * n + column] (the Hungarian
 * method, O(n^3)); column_of_row receives it. The costs must be finite. */
tlnmf_error tl_assign(tlnmf_ctx *ctx, int64_t n, const double *cost, int64_t *column_of_row);

#endif
