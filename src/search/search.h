/* From settings and data to one result: starts, solvers on each, the best kept. */
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
    TL_GOAL_AUTO, /* becomes one of the first two */
} tl_goal;

/* What a search is asked for. */
typedef struct tl_search_task {
    tl_goal goal;
    const tlnmf_data *data;
    const tl_settings *opt; /* checked */
    double eps;             /* resolved */
    const tl_start *start;  /* may be NULL */
    tl_callback callback;
    void *user;
    const tl_engine_ops *engine; /* NULL: the one that the settings ask for */
} tl_search_task;

/* ---- results (result.c) ---------------------------------------------------------------------- */

/* NULL for none. */
tlnmf_error tl_trace_create(tlnmf_ctx *ctx, int64_t rows, tl_trace_row **out);
/* Empty: best_start is -1 and every value infinite or unknown. K = 0: no W and H. */
tlnmf_error tl_result_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                             int64_t K, int64_t trace_capacity, tl_result **out);
/* The kept point to an engine; an engine's point, with its values, to be kept. */
void tl_result_load(const tl_result *result, tl_engine *e);
void tl_result_store(tl_result *result, const tl_engine *e, tl_values values);
/* Fills in what follows from the kept Phi, W, H; the engine is used as scratch. */
void tl_result_measure(tl_result *result, tl_goal goal, const tl_settings *opt, tl_monitor *monitor,
                       tl_engine *e);
/* What both searches of an exchange have reached, and whether the paper's inequalities hold. */
void tl_result_compare(tl_info *info, const tl_info *tl, const tl_info *jd);

/* ---- the search (methods.c) ------------------------------------------------------------------ */

tlnmf_error tl_search(tlnmf_ctx *ctx, const tl_search_task *task, tl_result **out);

#endif
