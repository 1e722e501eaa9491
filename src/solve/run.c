/* What all runs do around their iterations: trace, progress, reasons to stop. */
#include "solve/run.h"

#include <math.h>

static tl_progress progress_of(const tl_run *run, tl_stage stage, int64_t iterations)
{
    tl_progress progress = tl_progress_of(tl_stage_name(stage));
    progress.start = run->start;
    progress.starts = run->starts < 0 ? 0 : tl_max(run->starts, 1);
    progress.iteration = run->iterations;
    progress.iterations = iterations;
    return progress;
}

void tl_run_begin(tl_run *run, tl_stage stage, int64_t iterations)
{
    if (run->quiet || run->monitor == NULL)
        return;
    tl_progress progress = progress_of(run, stage, iterations);
    tl_monitor_set(run->monitor, &progress);
}

void tl_run_record(tl_run *run, tl_trace_row row, int64_t iterations)
{
    if (run->quiet || run->monitor == NULL)
        return;
    row.seconds = tl_wall_seconds() - run->monitor->since;
    row.start = run->start;
    if (run->trace_length < run->trace_capacity)
        run->trace[run->trace_length++] = row;
    tl_progress progress = progress_of(run, (tl_stage)row.stage, iterations);
    progress.complete = true;
    progress.iteration = row.iteration;
    progress.C = row.C;
    progress.L = row.L;
    progress.I = row.I;
    progress.step = row.step;
    tl_report(run->monitor, &progress);
}

bool tl_run_stopped(const tl_engine *e, tl_run *run)
{
    if (e->fault != TLNMF_OK)
        return true;
    if (!tl_poll(run->monitor))
        return false;
    run->outcome = (tlnmf_outcome)tl_stopped(run->monitor);
    return true;
}

bool tl_run_interrupted(const tl_engine *e, tl_run *run)
{
    bool stops = tl_run_stopped(e, run);
    if (run->pause != NULL && e->fault == TLNMF_OK)
        run->pause(e, run, stops);
    return stops;
}

bool tl_run_settled(const tl_run *run, double before, double now)
{
    return fabs(before - now) < run->opt->tol * (fabs(before) + fabs(now));
}
