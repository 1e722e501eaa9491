/* Progress of a run: rows of a trace, and what the caller's progress function is told. */
#ifndef TLNMF_BASE_PROGRESS_H
#define TLNMF_BASE_PROGRESS_H

#include "base/base.h"

typedef enum tl_stage {
    TL_STAGE_TL = 0,     /* outer iterations of TL-NMF: C and the step; L, I if traced */
    TL_STAGE_JD = 1,     /* transform steps of JD: L and the step */
    TL_STAGE_NMF = 2,    /* NMF at a fixed Phi: J_nmf updates (paper) or one step (fast); C, L, I */
    TL_STAGE_CHOOSE = 3, /* candidates compared by a separation */
    TL_STAGE_STEMS = 4   /* frames separated so far */
} tl_stage;

/* A complete iteration, as a solver reports it. */
typedef struct tl_iteration {
    int64_t stage, iteration;
    double C, L, I, step;
    double gradient; /* ||Ganti||_F / 2N; NaN unless traced, or where Phi does not move */
} tl_iteration;

/* An iteration as a trace stores it. */
typedef struct tl_trace_row {
    int64_t stage, iteration;
    double C, L, I, step;
    double gradient;
    double seconds; /* since the fit began */
    int64_t start;
} tl_trace_row;

/* C, L, I are NaN where the stage does not have them. */
typedef struct tl_progress {
    tl_stage stage;
    bool complete; /* true: an iteration is done; false: called from inside one */
    int64_t start, starts, iteration, iterations;
    double C, L, I, step;
    double score, done; /* of separations: the best score so far, dB; part of the call's work */
} tl_progress;

/* Nonzero stops the run. */
typedef int (*tl_callback)(const tl_progress *progress, void *user);

/* Passes progress on to the context's progress function. It is created before a run, so that
 * reporting allocates nothing. */
typedef struct tl_reporter {
    const tlnmf_ctx *ctx;
    tlnmf_record *record; /* NULL: the context has no progress function */
    double since;
} tl_reporter;

tlnmf_error tl_reporter_create(tlnmf_ctx *ctx, tl_reporter *reporter);
void tl_reporter_free(tl_reporter *reporter);
/* NULL if the context has no progress function; else a callback whose `user` is the reporter. */
tl_callback tl_reporter_callback(const tl_reporter *reporter);

#endif
