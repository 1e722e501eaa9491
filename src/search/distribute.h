/* Distributes starts over processes: which process runs a start, and how all processes get the best
 * result of a batch. With one process these functions do nothing. */
#ifndef TLNMF_SEARCH_DISTRIBUTE_H
#define TLNMF_SEARCH_DISTRIBUTE_H

#include "search/pool.h"

/* Whether this process runs start p of the batch. A start from a shelf runs on the process that put
 * it there. */
bool tl_distribute_runs_here(const tl_pool *pool, const tl_batch *batch, int64_t p);

/* Gives all processes the scores of `count` starts of the batch, from number `first`. */
void tl_distribute_scores(tl_pool *pool, const tl_batch *batch, int64_t first, int64_t count);

/* Called after the starts of this process: gives all processes the same error, the same reason to
 * stop and the same best result. `before` is the best start before the batch, or -1. */
tlnmf_error tl_distribute_batch(tl_pool *pool, const tl_batch *batch, int64_t before,
                                tlnmf_error error);

/* Sends the result of process 0 and its reason to stop to all processes. */
void tl_distribute_result(tl_pool *pool, tl_result *result);

/* Whether `here` is true on any process. */
bool tl_distribute_any(const tl_pool *pool, bool here);

/* All processes that distribute frames or starts return the same error (see tl_comm_agree). */
tlnmf_error tl_distribute_agree(tlnmf_ctx *ctx, tl_comm *frames_comm, tl_comm *starts_comm,
                                tlnmf_error error);

#endif
