/* What all runs do around their iterations: trace, progress, reasons to stop. */
#include "solve/run.h"

#include <math.h>

void tl_monitor_init(tl_monitor *monitor, const tl_settings *opt, tl_callback callback, void *user,
                     int64_t starts)
{
    monitor->callback = callback;
    monitor->user = user;
    monitor->starts = starts;
    monitor->pause = NULL;
    monitor->since = tl_wall_seconds();
    monitor->deadline = opt->max_seconds > 0.0 ? monitor->since + opt->max_seconds : INFINITY;
    omp_init_lock(&monitor->lock);
    atomic_init(&monitor->stop, TLNMF_NOT_RUN);
    atomic_init(&monitor->asked, 0);
    monitor->sums = NULL;
}

void tl_monitor_go_on(tl_monitor *monitor)
{
    if (monitor->sums != NULL)
        monitor->sums->wish = monitor->sums->wished = 0.0;
}

/* A wish for an end of the time weighs so little that no number of machines makes it one of a
 * callback. */
static const double OF_TIME = 0x1p-30;

/* Why all machines are to end now, if they are; tells them this one's wish. */
static int agreed_stop(tl_monitor *monitor)
{
    tl_sums *sums = monitor->sums;
    if (atomic_load(&monitor->asked))
        sums->wish = 1.0;
    else if (tl_wall_seconds() > monitor->deadline)
        sums->wish = OF_TIME;
    if (sums->failed || sums->wished >= 1.0)
        return TLNMF_CANCELLED;
    return sums->wished > 0.0 ? TLNMF_TIME : TLNMF_NOT_RUN;
}

void tl_monitor_done(tl_monitor *monitor)
{
    omp_destroy_lock(&monitor->lock);
}

static void ask(tl_run *run, const tl_progress *progress)
{
    tl_monitor *monitor = run->monitor;
    if (monitor->callback == NULL)
        return;
    omp_set_lock(&monitor->lock);
    if (atomic_load(&monitor->stop) == TLNMF_NOT_RUN &&
        monitor->callback(progress, monitor->user) != 0) {
        if (monitor->sums != NULL)
            atomic_store(&monitor->asked, 1);
        else
            atomic_store(&monitor->stop, TLNMF_CANCELLED);
    }
    omp_unset_lock(&monitor->lock);
}

void tl_run_record(tl_run *run, const tl_iteration *row, int64_t iterations)
{
    if (run->quiet || run->monitor == NULL)
        return;
    if (run->trace_length < run->trace_capacity)
        run->trace[run->trace_length++] = (tl_trace_row){
            row->stage, row->iteration, row->C,        row->L,
            row->I,     row->step,      row->gradient, tl_wall_seconds() - run->monitor->since,
            run->start};
    tl_progress progress = {.stage = (tl_stage)row->stage,
                            .complete = true,
                            .start = run->start,
                            .starts = run->monitor->starts,
                            .iteration = row->iteration,
                            .iterations = iterations,
                            .C = row->C,
                            .L = row->L,
                            .I = row->I,
                            .step = row->step};
    ask(run, &progress);
}

/* Lets the run be saved, too. */
static bool is_replayed(const tl_monitor *monitor)
{
    return monitor->pause != NULL && monitor->pause(monitor->pause_user, false);
}

bool tl_run_interrupted(const tl_engine *e, tl_run *run, tl_stage stage)
{
    tl_monitor *monitor = run->monitor;
    if (e->fault != TLNMF_OK)
        return true;
    if (monitor == NULL || is_replayed(monitor))
        return false;
    tl_progress progress = {.stage = stage,
                            .start = run->start,
                            .starts = monitor->starts,
                            .C = NAN,
                            .L = NAN,
                            .I = NAN,
                            .step = NAN};
    ask(run, &progress);
    int none = TLNMF_NOT_RUN;
    if (monitor->sums != NULL)
        atomic_compare_exchange_strong(&monitor->stop, &none, agreed_stop(monitor));
    else if (tl_wall_seconds() > monitor->deadline)
        atomic_compare_exchange_strong(&monitor->stop, &none, TLNMF_TIME);
    int stop = atomic_load(&monitor->stop);
    if (stop == TLNMF_NOT_RUN)
        return false;
    if (monitor->pause != NULL && stop == TLNMF_CANCELLED)
        monitor->pause(monitor->pause_user, true);
    run->outcome = (tlnmf_outcome)stop;
    return true;
}

bool tl_run_settled(const tl_run *run, double before, double now)
{
    return fabs(before - now) < run->opt->tol * (fabs(before) + fabs(now));
}
