/* Progress of a separation, and the threads it works with. */
#include "separate/separate.h"

#include <math.h>
#include <omp.h>

int tl_watch_relay(const tl_progress *progress, void *watch)
{
    tl_watch *w = watch;
    if (w->callback != NULL && w->callback(progress, w->user) != 0)
        w->stopped = true;
    return w->stopped;
}

void tl_watch_report(tl_watch *watch, tl_stage stage, int64_t done, int64_t planned, double C)
{
    tl_watch_relay(&(tl_progress){.stage = stage,
                                  .complete = true,
                                  .starts = 1,
                                  .iteration = done,
                                  .iterations = planned,
                                  .C = C,
                                  .L = NAN,
                                  .I = NAN,
                                  .step = NAN},
                   watch);
}

tlnmf_error tl_separate_on_threads(int64_t threads, tlnmf_error (*work)(void *job), void *job)
{
    int wanted = threads > 0 ? (int)threads : omp_get_max_threads();
    tlnmf_error error = TLNMF_OK;
    /* A region of one thread is this thread; what is set inside ends with it. */
#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(wanted);
        error = work(job);
    }
    return error;
}
