/* Counts floating-point operations of BLAS and LAPACK, call by call: the functions of bench/flops.c
 * replace the functions that the library calls (ld --wrap). One thread only. */
#ifndef TLNMF_BENCH_FLOPS_H
#define TLNMF_BENCH_FLOPS_H

double flops_so_far(void);

#endif
