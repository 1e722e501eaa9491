/* The plan of a fit: how many starts, threads and hops. It is made before anything is allocated, so
 * that the memory of a fit is known in advance. */
#ifndef TLNMF_SEARCH_PLAN_H
#define TLNMF_SEARCH_PLAN_H

#include "search/search.h"

typedef struct tl_plan {
    tl_goal goal;
    int64_t K, P;           /* rank (0: L alone); number of random starts */
    int64_t hops;           /* hops per start */
    int64_t trace_capacity; /* largest number of rows of a trace; 0: no trace */
    bool distributed;       /* frames are distributed over processes */
    int workers;            /* starts that run at the same time */
    int threads;            /* of the whole fit; idle ones help the starts that run */
    const tl_engine_ops *engine;
} tl_plan;

tl_plan tl_plan_make(const tlnmf_data *data, const tl_settings *opt, tl_goal goal);

/* Sets plan.engine (NULL: the engine of the settings) and how many starts run on it at once. */
void tl_plan_engine(tl_plan *plan, const tl_settings *opt, const tl_engine_ops *engine_or_null);

/* The specification of the engine of a start. */
tl_engine_spec tl_plan_spec(const tl_plan *plan, const tl_settings *opt, const tl_model *model);

/* Chooses the device of a fit: see tl_device_choose(). */
tlnmf_error tl_plan_device(tlnmf_ctx *ctx, const tlnmf_data *data, tl_goal goal, tl_settings *opt);

/* Upper bound on the bytes that tl_search holds at any time. */
double tl_plan_bytes(const tl_plan *plan, const tlnmf_data *data, const tl_settings *opt,
                     double eps);

#endif
