/* Jacobi sweeps over rows that are long and few. For jacobi.c only. */
#ifndef TLNMF_ENGINE_LONG_ROWS_H
#define TLNMF_ENGINE_LONG_ROWS_H

#include "engine/jacobi.h"

/* Whether threads share the columns of a sweep rather than its pairs of rows. */
bool tl_rows_are_long(const tlnmf_data *data);
/* tl_sweep_double for such data, on one machine; pairs that would gain less than `least` are
 * skipped. */
double tl_sweep_long_rows(const tl_sweep *sweep, double least);

#endif
