/* BLAS and LAPACK on the calling thread alone. The threads of base/team.c divide the work, so that
 * bits do not depend on their number. OpenMP never has to create a thread for us: if it cannot
 * (ulimit -u, OMP_STACKSIZE), it aborts the process. */
#ifndef TLNMF_BASE_ALONE_H
#define TLNMF_BASE_ALONE_H

#include "base/openmp.h"

/* The number of threads of this thread's OpenMP regions, which OpenBLAS follows. Returns the
 * previous number. */
static inline int tl_alone_begin(void)
{
    int before = omp_get_max_threads();
    if (before != 1)
        omp_set_num_threads(1);
    return before;
}

static inline void tl_alone_end(const int *before)
{
    if (*before != 1)
        omp_set_num_threads(*before);
}

/* Valid from here to the end of the block. Every function that calls BLAS or LAPACK begins with it,
 * and so does every call (team.c): the number then changes once, and not for each product. It
 * allocates nothing, unlike an OpenMP region of one thread. */
#define TL_ALONE \
    __attribute__((cleanup(tl_alone_end), unused)) const int threads_before_ = tl_alone_begin()

#endif
