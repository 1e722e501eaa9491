/* Progress of a separation, and the threads it works with. */
#include "separate/separate.h"

#include <math.h>

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
                                  .step = NAN,
                                  .score = NAN,
                                  .done = planned > 0 ? (double)done / (double)planned : NAN},
                   watch);
}

bool tl_watch_poll(tl_watch *watch, tl_stage stage)
{
    if (watch == NULL)
        return false;
    if (watch->stopped || tl_thread_index() != 0)
        return watch->stopped;
    return tl_watch_relay(
               &(tl_progress){
                   .stage = stage, .starts = 1, .C = NAN, .L = NAN, .I = NAN, .step = NAN},
               watch) != 0;
}

tlnmf_error tl_separate_on_threads(int64_t threads, tlnmf_error (*work)(void *job), void *job)
{
    return tl_with_threads(tl_thread_count(threads), work, job);
}
