/* Rates of the machine on one thread, in CPU time. Percentages refer to them. */
#ifndef TLNMF_BENCH_MACHINE_H
#define TLNMF_BENCH_MACHINE_H

#include "base/base.h"

/* Sorts x. */
double median(int count, double *x);

/* Operations per second of a product of two n x n matrices; NaN without memory. */
double machine_gemm(tlnmf_ctx *ctx, int64_t n);
/* Bytes per second of a sum over two arrays that are too large for most caches (268 MB). */
double machine_read(tlnmf_ctx *ctx);

#endif
