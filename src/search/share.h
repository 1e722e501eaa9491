/* Starts that are shared out over machines: whose a start is, and how all machines come to hold the
 * best result of a batch. On one machine nothing happens. */
#ifndef TLNMF_SEARCH_SHARE_H
#define TLNMF_SEARCH_SHARE_H

#include "search/pool.h"

/* Whether this machine runs start p of the batch. A start that comes from a shelf runs where it was
 * put there. */
bool tl_share_has(const tl_pool *pool, const tl_batch *batch, int64_t p);

/* After the starts of this machine: all machines have the same error, the same reason to stop and
 * the same best result. `before` is the start that was the best before the batch, or -1. */
tlnmf_error tl_share_batch(tl_pool *pool, const tl_batch *batch, int64_t before, tlnmf_error error);

/* All machines get machine 0's result and its reason to stop. */
void tl_share_result(tl_pool *pool, tl_result *result);

/* Whether it is so on any machine. */
bool tl_share_any(const tl_pool *pool, bool here);

/* One error for all machines that share the frames or the starts. */
tlnmf_error tl_share_error(tlnmf_ctx *ctx, tl_sums *frames, tl_sums *starts, tlnmf_error error);

#endif
