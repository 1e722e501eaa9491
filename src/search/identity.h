/* What a checkpoint is of: format, version, engine, options, data, start. */
#ifndef TLNMF_SEARCH_IDENTITY_H
#define TLNMF_SEARCH_IDENTITY_H

#include "search/pool.h"

/* Adds the fields to the record. */
/* A hash of the data on all machines, which call this together. */
int64_t tl_identity_data(const tlnmf_data *data);
tlnmf_error tl_identity_put(tlnmf_ctx *ctx, const tl_pool *pool, const tl_search_task *task,
                            tlnmf_record *record);
/* TLNMF_ERR_DATA if a field of `now` is another one in `state`; the message names it. */
tlnmf_error tl_identity_compare(tlnmf_ctx *ctx, const tlnmf_record *now, const tlnmf_record *state);

#endif
