/* The finished units of a search: its starts (docs/internals/checkpoints.md). A stage is the n-th
 * batch that the pool runs. All functions do nothing if the task has no checkpoint. */
#ifndef TLNMF_SEARCH_CHECKPOINT_H
#define TLNMF_SEARCH_CHECKPOINT_H

#include "search/pool.h"
#include "search/units.h"

/* Begins a section (tl_units_begin), whose identity covers the data and the start given. All
 * processes that distribute frames call this. */
tlnmf_error tl_checkpoint_identify(tlnmf_ctx *ctx, tl_units *u, const char *section,
                                   const tlnmf_data *data, const tl_start *given,
                                   const tl_settings *opt, const char *more);

/* An upper bound on its memory: points, the state that is resumed, and a packed copy. */
double tl_checkpoint_bytes(const tl_plan *plan, const tlnmf_data *data, const tl_settings *opt);

/* Checks the state to resume against the task, and sets pool->checkpoint. */
tlnmf_error tl_checkpoint_create(tl_pool *pool, const tl_search_task *task);

/* A stage begins: finds the finished starts that are valid for this run. */
tlnmf_error tl_checkpoint_begin(tl_pool *pool, const tl_batch *batch);
/* Whether start p of the batch is finished; and whether only its score is needed. */
bool tl_checkpoint_has(const tl_pool *pool, int64_t p);
bool tl_checkpoint_skips(const tl_pool *pool, int64_t p, double *score);
/* A start begins. If it is finished, returns true, with the engine at its final point; if it has a
 * saved iterate, the run continues from it. */
bool tl_checkpoint_take(tl_pool *pool, tl_engine *e, tl_run *run, tl_values *values);
/* A start has ended, under the monitor's lock. Stopped starts are not finished. */
void tl_checkpoint_add(tl_pool *pool, const tl_engine *e, const tl_run *run, tl_values values);
/* A stage has ended, on all processes: counts the starts that continued from a saved iterate. */
void tl_checkpoint_count(tl_pool *pool);

#endif
