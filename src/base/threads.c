/* How many threads a call may have. */
#include "base/base.h"

#include <omp.h>

int tl_thread_count(int64_t wanted)
{
    if (wanted > 0)
        return (int)tl_min(wanted, TL_THREADS_MOST);
    return tl_threads_here() > 1 ? tl_threads_here() : omp_get_max_threads();
}
