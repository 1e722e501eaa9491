/* What a checkpoint is of: format, version, engine, options, data, start. */
#ifndef TLNMF_SEARCH_IDENTITY_H
#define TLNMF_SEARCH_IDENTITY_H

#include "search/pool.h"

/* A hash of the data on all machines, which call this together. */
int64_t tl_identity_data(const tlnmf_data *data);
/* Adds the fields to the record. */
tlnmf_error tl_identity_put(tlnmf_ctx *ctx, const tl_pool *pool, const tl_search_task *task,
                            tlnmf_record *record);
/* Adds all options but threads: a search with many starts does not depend on them, and where one
 * start uses several the plan knows. */
tlnmf_error tl_identity_put_options(tlnmf_ctx *ctx, const tl_settings *opt, tlnmf_record *record);
/* A hash of numbers, a word at a time: Fowler, Noll and Vo's, with a shift that brings high bits
 * down. */
#define TL_IDENTITY_SEED 0xcbf29ce484222325u
uint64_t tl_identity_hash(uint64_t h, const void *x, int64_t words);
/* Puts the fields into a record that the identity outlives. */
tlnmf_error tl_identity_copy(tlnmf_ctx *ctx, const tlnmf_record *identity, tlnmf_record *record);
/* An integer, real or text of a record in words; anything else is "nothing". */
enum { TL_IDENTITY_TEXT = 64 };
void tl_identity_describe(const tlnmf_record *record, const char *name,
                          char text[TL_IDENTITY_TEXT]);
/* TLNMF_ERR_DATA if a field of `now` is another one in `state`; the message names it. */
tlnmf_error tl_identity_compare(tlnmf_ctx *ctx, const tlnmf_record *now, const tlnmf_record *state);

#endif
