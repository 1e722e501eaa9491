/* A number of threads that belongs to one call. */
#include "base/base.h"

#include <omp.h>

tlnmf_error tl_with_threads(int threads, tlnmf_error (*work)(void *arg), void *arg)
{
    tlnmf_error error = TLNMF_OK;
#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(threads); /* a setting of this region's task alone */
        error = work(arg);
    }
    return error;
}

int tl_thread_count(int64_t wanted)
{
    return wanted > 0 ? (int)wanted : omp_get_max_threads();
}
