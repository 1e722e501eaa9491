/* From settings and data to one result: starts, solvers on each, the best kept. */
#ifndef TLNMF_SEARCH_SEARCH_H
#define TLNMF_SEARCH_SEARCH_H

#include "model/model.h"

struct tlnmf_result {
    tlnmf_info info;
    double *Phi, *W, *H, *energy;
    tlnmf_trace_row *trace;
    int64_t trace_length, trace_room;
    tlnmf_hooks hooks;
    void *block;
};

/* What to minimise: the methods of a fit, or L alone. */
typedef enum tl_goal { TL_GOAL_TL, TL_GOAL_JD, TL_GOAL_NMF, TL_GOAL_DIAGONALISE } tl_goal;

/* `opt` has been checked and `eps` resolved; `start` may be NULL. */
tlnmf_error tl_search(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_settings *opt, double eps,
                      tl_goal goal, const tlnmf_start *start, tlnmf_callback callback, void *user,
                      tlnmf_result **out);

#endif
