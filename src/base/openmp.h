/* The OpenMP runtime. Threads of the library come from team.c; OpenMP only tells how many to use by
 * default, and tells a BLAS that uses OpenMP to run on the calling thread. Builds without OpenMP
 * (TLNMF_OPENMP) cannot tell a BLAS: the functions below then do nothing. `#pragma omp simd` needs
 * no runtime and works in all builds. */
#ifndef TLNMF_BASE_OPENMP_H
#define TLNMF_BASE_OPENMP_H

#ifdef _OPENMP
#include <omp.h>
#else
static inline int omp_get_max_threads(void)
{
    return 1;
}

static inline void omp_set_num_threads(int threads)
{
    (void)threads;
}
#endif

#endif
