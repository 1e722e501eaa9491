/* Floating-point operations that went through BLAS and LAPACK, counted call by call: bench/flops.c
 * stands in for those that the library calls (ld --wrap). One thread only. */
#ifndef TLNMF_BENCH_FLOPS_H
#define TLNMF_BENCH_FLOPS_H

double flops_so_far(void);

#endif
