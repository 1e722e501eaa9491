/* From settings and data to one result: starts, solvers on each, the best kept. */
#ifndef TLNMF_SEARCH_SEARCH_H
#define TLNMF_SEARCH_SEARCH_H

#include "model/model.h"
#include "solve/solver.h"

struct tl_result {
    tl_info info;
    double *Phi, *W, *H, *energy;
    tl_trace_row *trace;
    int64_t trace_length, trace_room;
    tl_result *other; /* of an exchange: the other method's; NULL if there is none */
    tl_hooks hooks;
    void *block;
};

/* What to minimise: the methods of a fit, or L alone. */
typedef enum tl_goal {
    TL_GOAL_TL,
    TL_GOAL_JD,
    TL_GOAL_NMF,
    TL_GOAL_DIAGONALISE,
    TL_GOAL_AUTO, /* becomes one of the first two */
} tl_goal;

/* ---- results (result.c) ---------------------------------------------------------------------- */

/* Room for a trace; NULL for none. */
tlnmf_error tl_trace_create(tlnmf_ctx *ctx, int64_t rows, tl_trace_row **out);
/* Empty: best_start is -1 and every value infinite or unknown. K = 0: no W and H. */
tlnmf_error tl_result_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                             int64_t K, int64_t trace_room, tl_result **out);
/* The kept point to a model, X and V included; a model's point, with its values, to be kept. */
void tl_result_load(const tl_result *result, tl_model *model);
void tl_result_store(tl_result *result, const tl_model *model, tl_values values);
/* Fills in what follows from the kept Phi, W, H; the solver is used as scratch. */
void tl_result_measure(tl_result *result, tl_goal goal, const tl_settings *opt, tl_monitor *monitor,
                       tl_solver *solver);
/* What both searches of an exchange have reached, and whether the paper's inequalities hold. */
void tl_result_compare(tl_info *info, const tl_info *tl, const tl_info *jd);

/* ---- the search (multistart.c) --------------------------------------------------------------- */

/* `opt` has been checked and `eps` resolved; `start` may be NULL. */
tlnmf_error tl_search(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt, double eps,
                      tl_goal goal, const tl_start *start, tl_callback callback, void *user,
                      tl_result **out);

#endif
