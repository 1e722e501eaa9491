/* How a fit goes about its starts, settled before anything is allocated: so that it can be said how
 * much memory it will take. */
#ifndef TLNMF_SEARCH_PLAN_H
#define TLNMF_SEARCH_PLAN_H

#include "search/search.h"

typedef struct tl_plan {
    tl_goal goal;
    int64_t K, P;           /* rank, 0 for L alone; starts that are drawn */
    int64_t hops;           /* of each start */
    int64_t trace_capacity; /* the most rows that a trace can have; 0: none is kept */
    int workers;            /* starts that run at a time */
    int blas_threads;       /* inside a matrix product, where one start runs alone */
    const tl_engine_ops *engine;
} tl_plan;

tl_plan tl_plan_make(const tlnmf_data *data, const tl_settings *opt, tl_goal goal);

/* What the engine of a start is made for. */
tl_engine_spec tl_plan_spec(const tl_plan *plan, const tl_settings *opt, const tl_model *model);

/* The most that tl_search allocates at a time. */
double tl_plan_bytes(const tl_plan *plan, const tlnmf_data *data, const tl_settings *opt,
                     double eps);

#endif
