/* One run of a solver: its settings, when it must stop, its trace and outcome. The same for all
 * solvers. */
#ifndef TLNMF_SOLVE_RUN_H
#define TLNMF_SOLVE_RUN_H

#include "base/monitor.h"
#include "base/settings.h"
#include "engine/engine.h"

/* A complete iteration, as a row of a trace. */
typedef struct tl_trace_row {
    int64_t stage, iteration;
    double C, L, I, step;
    double gradient; /* ||Ganti||_F / 2N; NaN unless traced, or if Phi does not move */
    double seconds;  /* since the fit began */
    int64_t start;
} tl_trace_row;

typedef struct tl_run {
    const tl_settings *opt;
    tl_monitor *monitor; /* NULL: no progress function, no deadline */
    int64_t start;       /* number of this start */
    int64_t starts;      /* of how many; 0: one */
    bool roams;          /* the start is random: the run may climb on its way to a minimum */
    bool quiet;          /* no trace and no progress: a descent inside another */
    bool to_the_end;     /* do all updates of NMF, as in Algorithm 2, even if C has converged */
    tl_trace_row *trace;
    int64_t trace_length, trace_capacity;
    /* Called by tl_run_interrupted(), for checkpoints; may be NULL. `stops`: the run must end. */
    void (*pause)(const tl_engine *e, struct tl_run *run, bool stops);
    void *pause_user;
    double pause_next; /* when its iterate is to be saved; INFINITY: never */
    bool continues;    /* from a saved iterate: no sweeps, no updates, only descents */
    /* results of the run */
    tlnmf_outcome outcome;
    int64_t iterations;
    double nmf_seconds, transform_seconds;
} tl_run;

/* Says which stage begins, so that polls can report it before its first iteration is complete. */
void tl_run_begin(tl_run *run, tl_stage stage, int64_t iterations);

/* Reports a complete iteration to the trace and the progress function, with the time and the
 * start. `iterations` is the largest possible number of iterations. */
void tl_run_record(tl_run *run, tl_trace_row row, int64_t iterations);

/* True if the run must end now: its outcome is set, or the engine has a fault. Cheap enough for
 * inner loops. The point must be complete: it may be saved here. */
bool tl_run_interrupted(const tl_engine *e, tl_run *run);

/* The same where the point must not be saved: in the middle of a step. */
bool tl_run_stopped(const tl_engine *e, tl_run *run);

/* |now - before| < tol (|now| + |before|): the reference's test of convergence. */
bool tl_run_settled(const tl_run *run, double before, double now);

#endif
