/* The search: from settings and data to one result. Runs a solver from each start and keeps the
 * best. */
#ifndef TLNMF_SEARCH_SEARCH_H
#define TLNMF_SEARCH_SEARCH_H

#include "engine/engine.h"
#include "search/result.h"
#include "search/units.h"
#include "solve/solver.h"

/* The goal of a search. */
typedef enum tl_goal {
    TL_GOAL_TL,     /* TL-NMF: minimise C */
    TL_GOAL_JD_NMF, /* minimise L, then I at this Phi */
    TL_GOAL_NMF,    /* minimise I at a fixed Phi */
    TL_GOAL_JD,     /* joint diagonalisation alone: minimise L */
    TL_GOAL_AUTO,   /* the search decides between the first two */
} tl_goal;

/* The task of a search. */
typedef struct tl_search_task {
    tl_goal goal;
    const tlnmf_data *data;
    const tl_settings *opt;      /* checked */
    double eps;                  /* the floor, resolved from eps and eps-rel */
    const tl_start *start;       /* may be NULL */
    const tl_engine_ops *engine; /* NULL: as the settings say */
    tl_units *units;             /* the checkpoint; NULL: none */
    const char *section;         /* of the checkpoint: "fit", .. */
    tl_comm *starts_comm;        /* the processes that distribute starts; NULL: one process */
} tl_search_task;

/* ---- results (result.c) ---------------------------------------------------------------------- */

/* *out is NULL for 0 rows. */
tlnmf_error tl_trace_create(tlnmf_ctx *ctx, int64_t rows, tl_trace_row **out);
/* An empty result: best_start is -1, every value is infinite or unknown. K = 0: no W and H. */
tlnmf_error tl_result_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                             int64_t K, int64_t trace_capacity, tl_result **out);
/* The number of scores of a result: its random starts, those of an exchange, and one from JD+NMF.
 */
int64_t tl_result_scores(const tl_settings *opt);
/* Counts the completed starts and those that agree with the best score: the lowest of all scores
 * and `best`, which may be the score of a start that was stopped. */
void tl_result_count(tl_result *result, double best);
/* Keeps an engine's point and its values. */
void tl_result_store(tl_result *result, const tl_engine *e, tl_values values);
/* Computes all values of the kept Phi, W, H, on this engine. */
void tl_result_measure(tl_result *result, tl_goal goal, const tl_settings *opt, tl_monitor *monitor,
                       tl_engine *e);
/* Clears H where frames have no weight. */
void tl_result_clear_silent(const tlnmf_data *data, tl_result *result);
/* Stores the values that both methods have reached, and whether the paper's inequalities hold. */
void tl_result_compare(tl_info *info, const tl_info *tl, const tl_info *jd);

/* ---- the search (search.c) ------------------------------------------------------------------- */

tlnmf_error tl_search(tlnmf_ctx *ctx, const tl_search_task *task, tl_result **out);

#endif
