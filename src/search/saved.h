/* Parts of a search as bytes: what checkpoints hold. */
#ifndef TLNMF_SEARCH_SAVED_H
#define TLNMF_SEARCH_SAVED_H

#include "search/pool.h"

/* Bytes that a checkpoint holds; whole words, zeros at the end. */
typedef struct tl_block {
    unsigned char *bytes;
    size_t size, capacity;
} tl_block;

/* Makes the block `size` bytes large; its contents are lost. False if there is no memory. */
bool tl_block_resize(const tl_hooks *hooks, tl_block *b, size_t size);

/* These count, write or read, as the mode of `b` says (engine/engine.h). Bytes that cannot be of
 * this search set b->bad, and change nothing after that. */

void tl_pass_trace(tl_trace_row *rows, int64_t *length, int64_t capacity, tl_bytes *b);
void tl_pass_result(const tl_pool *pool, tl_result *r, tl_bytes *b);
void tl_pass_shelf(const tl_pool *pool, const tl_shelf *shelf, int64_t count, tl_bytes *b);
/* The time of the workers. Their number may be another one after a resume: the first gets all of
 * it. */
void tl_pass_seconds(tl_pool *pool, tl_bytes *b);

#endif
