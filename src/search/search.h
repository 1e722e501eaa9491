/* The search: from settings and data to one result. Runs a solver from each start and keeps the
 * best. */
#ifndef TLNMF_SEARCH_SEARCH_H
#define TLNMF_SEARCH_SEARCH_H

#include "engine/engine.h"
#include "search/result.h"
#include "solve/solver.h"

/* What to minimise: the methods of a fit, or L alone. */
typedef enum tl_goal {
    TL_GOAL_TL,
    TL_GOAL_JD,
    TL_GOAL_NMF,
    TL_GOAL_DIAGONALISE,
    TL_GOAL_AUTO, /* the search decides between the first two */
} tl_goal;

/* What a search is asked for. */
typedef struct tl_search_task {
    tl_goal goal;
    const tlnmf_data *data;
    const tl_settings *opt; /* checked */
    double eps;             /* the floor, resolved from eps and eps-rel */
    const tl_start *start;  /* may be NULL */
    tl_callback callback;
    void *user;
    const tl_engine_ops *engine; /* NULL: as the settings say */
    const tl_keeping *keeping;   /* checkpoints; NULL: none */
    tl_sums *machines;           /* those that share out the starts; NULL: one machine */
} tl_search_task;

/* ---- results (result.c) ---------------------------------------------------------------------- */

/* *out is NULL for 0 rows. */
tlnmf_error tl_trace_create(tlnmf_ctx *ctx, int64_t rows, tl_trace_row **out);
/* An empty result: best_start is -1, every value is infinite or unknown. K = 0: no W and H. */
tlnmf_error tl_result_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                             int64_t K, int64_t trace_capacity, tl_result **out);
/* Copies the kept point to an engine; keeps an engine's point and its values. */
void tl_result_load(const tl_result *result, tl_engine *e);
void tl_result_store(tl_result *result, const tl_engine *e, tl_values values);
/* Computes everything that follows from the kept Phi, W, H, on this engine. */
void tl_result_measure(tl_result *result, tl_goal goal, const tl_settings *opt, tl_monitor *monitor,
                       tl_engine *e);
/* Clears H where frames have no weight. */
void tl_result_clear_silent(const tlnmf_data *data, tl_result *result);
/* Stores what both searches of an exchange have reached, and whether the paper's inequalities
 * hold. */
void tl_result_compare(tl_info *info, const tl_info *tl, const tl_info *jd);

/* ---- the search (methods.c) ------------------------------------------------------------------ */

tlnmf_error tl_search(tlnmf_ctx *ctx, const tl_search_task *task, tl_result **out);

#endif
