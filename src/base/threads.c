/* Thread counts that hold for one call only. */
#include "base/base.h"

#include <omp.h>

tlnmf_error tl_with_threads(int threads, tlnmf_error (*work)(void *arg), void *arg)
{
    tlnmf_error error = TLNMF_OK;
#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(threads); /* holds for this region's task only */
        error = work(arg);
    }
    return error;
}

int tl_thread_count(int64_t wanted)
{
    return wanted > 0 ? (int)wanted : omp_get_max_threads();
}
