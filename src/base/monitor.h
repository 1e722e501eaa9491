/* The monitor of a context: the one way to stop a call and to report its progress.
 *
 * A call ends early if the progress function returns nonzero or its deadline passes. Code that
 * works longer than about 50 ms calls tl_poll() in its loops; true means that the call must end.
 * Inside an engine operation, a poll may cut the operation short but must not save the point. */
#ifndef TLNMF_BASE_MONITOR_H
#define TLNMF_BASE_MONITOR_H

#include "base/comm.h"

#include <pthread.h>

/* Stages that a trace can name; the numbers are those of the trace. */
typedef enum tl_stage {
    TL_STAGE_TL = 0, /* outer iterations of TL-NMF: C and the step; L, I if traced */
    TL_STAGE_JD = 1, /* transform steps of JD: L and the step */
    TL_STAGE_NMF = 2 /* NMF at a fixed Phi: J_nmf updates (paper) or one step (fast); C, L, I */
} tl_stage;
const char *tl_stage_name(tl_stage stage);

/* The fields of a progress record; C, L, I and the others are NaN where a stage lacks them. */
typedef struct tl_progress {
    const char *stage; /* a literal */
    bool complete;     /* an iteration is finished; false: inside one */
    int64_t start, starts, iteration, iterations;
    double C, L, I, step;
    double score; /* of separations: the best score so far, dB */
    double done;  /* fraction of the call's work, if it is known */
} tl_progress;

/* A stage without values: NaN wherever a progress may lack a number. */
tl_progress tl_progress_of(const char *stage);

struct tl_monitor {
    tlnmf_progress_fn report; /* NULL: progress is not reported */
    void *user;
    tlnmf_record *record; /* created with every name, so that reports do not allocate */
    pthread_mutex_t lock; /* one report at a time; also guards the data that runs share */
    atomic_int stop;      /* the tlnmf_outcome that ends the call, or 0 */
    atomic_bool busy;     /* a thread is looking at the clock */
    atomic_bool reports;  /* the progress function runs, in the thread `reporter` */
    _Atomic(pthread_t) reporter;
    double every, next; /* seconds between two readings of the clock, and when the next is due */
    int depth;          /* calls inside calls */
    double began;       /* the outermost call, in tl_wall_seconds() */
    double since, deadline;
    tl_progress now;
    int64_t k, fold, folds; /* of a comparison of ranks; folds = 0: none is running */
    double compared;        /* fraction of the comparison that is done */
    /* If frames are distributed, all processes must end at the same iteration. Each process votes
     * with the sums that are exchanged anyway (comm.h), and the sum decides for all. */
    tl_comm *frames_comm; /* NULL: one process */
    atomic_int vote;      /* the tlnmf_outcome that this process votes for */
    /* The last message that a caller gave to tlnmf_fail. Calls work on copies of the caller's
     * context, but share its monitor. */
    char cause[TL_MESSAGE];
};

/* Around a callback that may call tlnmf_fail: forgets the last cause; the cause since then, or the
 * fallback. The outermost tl_monitor_enter() also forgets. */
void tl_cause_forget(tlnmf_ctx *ctx);
const char *tl_cause_or(const tlnmf_ctx *ctx, const char *fallback);

tlnmf_error tl_monitor_create(tlnmf_ctx *ctx);
void tl_monitor_free(tlnmf_ctx *ctx);

/* The state of the enclosing call. */
typedef struct tl_scope {
    double since, deadline;
    tl_comm *frames_comm;
} tl_scope;

/* Begins a call, or a part of one, that may take `seconds` (0: no limit). The outermost call clears
 * the stop. tl_monitor_leave() restores the outer deadline: a part that ran out of time does not
 * end the call around it. */
void tl_monitor_enter(tl_monitor *m_or_null, double seconds, tl_comm *frames_comm_or_null,
                      tl_scope *outer);
void tl_monitor_leave(tl_monitor *m_or_null, const tl_scope *outer);
/* An error in a progress function: a call with the same context would wait for ever. */
tlnmf_error tl_monitor_need_idle(tlnmf_ctx *ctx);
/* Moves the deadline; a call that had run out of time continues. */
void tl_monitor_extend(tl_monitor *m, double deadline);

/* True if the call must end. Looks at the clock and calls the progress function every few
 * milliseconds, on one thread. NULL never stops. */
bool tl_poll(tl_monitor *m_or_null);
/* The same in a stage that has done `done` of `total` units of work. `stage` is a literal. */
bool tl_poll_at(tl_monitor *m_or_null, const char *stage, double done, double total);
/* Reports a finished iteration. */
void tl_report(tl_monitor *m_or_null, const tl_progress *progress);
/* Reports that `done` of `planned` units of a stage are finished. */
void tl_report_units(tl_monitor *m_or_null, const char *stage, int64_t done, int64_t planned,
                     double C);
/* Reports that the stage is complete: done = 1. */
void tl_report_end(tl_monitor *m_or_null);
/* Sets the progress that later polls report; does not report itself. */
void tl_monitor_set(tl_monitor *m, const tl_progress *progress);

/* Why the call must end, or 0. */
static inline int tl_stopped(const tl_monitor *m)
{
    return atomic_load(&m->stop);
}

/* Distributed frames: this process's vote, as a number to be summed, and the sum's decision. */
double tl_monitor_vote(const tl_monitor *m);
void tl_monitor_decide(tl_monitor *m, double votes);

#endif
