/* What a run is asked for, when it has to stop, and what it leaves: the same for all solvers. */
#ifndef TLNMF_SOLVE_RUN_H
#define TLNMF_SOLVE_RUN_H

#include "base/progress.h"
#include "base/settings.h"

#include <omp.h>
#include <stdatomic.h>

/* Shared by all starts of a fit: one callback, one deadline. */
typedef struct tl_monitor {
    tl_callback callback;
    void *user;
    int64_t starts;
    double since, deadline; /* on tl_wall_seconds(); infinite if there is no deadline */
    omp_lock_t lock;        /* one callback at a time */
    atomic_int stop;        /* the tlnmf_outcome that ends all runs, or 0 */
} tl_monitor;

void tl_monitor_init(tl_monitor *monitor, const tl_settings *opt, tl_callback callback, void *user,
                     int64_t starts);
void tl_monitor_done(tl_monitor *monitor);

typedef struct tl_run {
    const tl_settings *opt;
    tl_monitor *monitor; /* NULL: nobody watches, and nothing interrupts */
    int64_t start;       /* which of the starts this is */
    bool roams;  /* the start is a random one: the way to a minimum need not lead down from it */
    bool newton; /* Newton's steps near a minimum: for small problems, slow but exact */
    bool quiet;  /* neither trace nor progress: a descent inside another */
    bool to_the_end; /* all updates of NMF, as in Algorithm 2, even when C no longer changes */
    tl_trace_row *trace;
    int64_t trace_length, trace_capacity;
    /* what the solver leaves */
    tlnmf_outcome outcome;
    int64_t iterations;
    double nmf_seconds, transform_seconds;
} tl_run;

/* Reports a complete iteration: trace and callback. */
void tl_run_record(tl_run *run, const tl_iteration *row, int64_t iterations);

/* True when the run has to end now; the outcome is then set. Cheap enough for inner loops: it asks
 * the callback with complete = 0 and looks at the clock. */
bool tl_run_interrupted(tl_run *run, tl_stage stage);

/* |now - before| below tol times their size: the reference's test. */
bool tl_run_settled(const tl_run *run, double before, double now);

#endif
