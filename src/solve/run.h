/* One run of a solver: its settings, when it must stop, its trace and outcome. The same for all
 * solvers. */
#ifndef TLNMF_SOLVE_RUN_H
#define TLNMF_SOLVE_RUN_H

#include "base/progress.h"
#include "base/settings.h"
#include "engine/engine.h"

#include <omp.h>
#include <stdatomic.h>

/* Shared by all starts of a fit: one callback, one deadline. */
typedef struct tl_monitor {
    tl_callback callback;
    void *user;
    int64_t starts;
    double since, deadline; /* in tl_wall_seconds(); infinite: no deadline */
    omp_lock_t lock;        /* one callback at a time */
    atomic_int stop;        /* the tlnmf_outcome that ends all runs, or 0 */
    /* Where frames are shared out, all machines must end at the same iteration: each wishes for an
     * end (`asked`: its callback has), and all read the sum of the wishes (sums.h). */
    tl_sums *sums; /* NULL: one machine */
    atomic_int asked;
    /* Called where a run may be interrupted, by its thread; NULL: nobody wants to know. `stops`: it
     * is about to be. True: the run is replayed, nothing may end it. */
    bool (*pause)(void *user, bool stops);
    void *pause_user;
} tl_monitor;

void tl_monitor_init(tl_monitor *monitor, const tl_settings *opt, tl_callback callback, void *user,
                     int64_t starts);
void tl_monitor_done(tl_monitor *monitor);
/* Forgets wishes to end for lack of time: there is more. */
void tl_monitor_go_on(tl_monitor *monitor);

typedef struct tl_run {
    const tl_settings *opt;
    tl_monitor *monitor; /* NULL: no progress function, no deadline */
    int64_t start;       /* number of this start */
    bool roams;          /* the start is random: the run may climb on its way to a minimum */
    bool newton;         /* Newton steps near a minimum: for small problems, slow but exact */
    bool quiet;          /* no trace and no progress: a descent inside another */
    bool to_the_end;     /* do all updates of NMF, as in Algorithm 2, even if C has converged */
    tl_trace_row *trace;
    int64_t trace_length, trace_capacity;
    /* results of the run */
    tlnmf_outcome outcome;
    int64_t iterations;
    double nmf_seconds, transform_seconds;
} tl_run;

/* Reports a complete iteration to the trace and the callback. `iterations` is the largest
 * number. */
void tl_run_record(tl_run *run, const tl_iteration *row, int64_t iterations);

/* True if the run must end now: its outcome is set, or the engine has a fault. Cheap enough for
 * inner loops: it calls the callback with complete = 0 and reads the clock. */
bool tl_run_interrupted(const tl_engine *e, tl_run *run, tl_stage stage);

/* |now - before| < tol (|now| + |before|): the reference's test of convergence. */
bool tl_run_settled(const tl_run *run, double before, double now);

#endif
