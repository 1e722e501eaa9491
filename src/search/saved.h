/* Parts of a search as bytes: what checkpoints hold. */
#ifndef TLNMF_SEARCH_SAVED_H
#define TLNMF_SEARCH_SAVED_H

#include "base/columns.h"
#include "search/pool.h"

/* Bytes that a checkpoint holds; whole words, zeros at the end. */
typedef struct tl_block {
    unsigned char *bytes;
    size_t size, capacity;
} tl_block;

/* Makes the block `size` bytes large; its contents are lost. False if there is no memory. */
bool tl_block_resize(const tl_hooks *hooks, tl_block *b, size_t size);

/* A block as an array of a record, which refers to it; nothing happens after an error, or if the
 * block is empty. And back: to be read, empty if there is none. */
void tl_block_put(tlnmf_ctx *ctx, tlnmf_record *record, const char *name, const tl_block *b,
                  tlnmf_error *error);
tl_bytes tl_block_find(const tlnmf_record *record, const char *name);
/* "what.number", in `name`. */
enum { TL_BLOCK_NAME = 32 };
const char *tl_block_name(const char *what, int64_t number, char name[TL_BLOCK_NAME]);

/* Where the frames of the pool's data are. */
tl_columns tl_frames_of(const tl_pool *pool);

/* These count, write or read, as the mode of `b` says (engine/engine.h). Bytes that cannot be of
 * this search set b->bad, and change nothing after that. */

void tl_pass_trace(tl_trace_row *rows, int64_t *length, int64_t capacity, tl_bytes *b);
void tl_pass_result(const tl_pool *pool, tl_result *r, tl_bytes *b);
/* One point of a shelf. */
void tl_pass_point(const tl_pool *pool, const tl_shelf *shelf, int64_t place, tl_bytes *b);

/* The time of a search and of its workers. Machines add theirs up at the end: only the first one
 * gets what was spent before. False if that makes no sense. */
tlnmf_error tl_put_seconds(const tl_pool *pool, double wall, double cpu, tlnmf_record *record);
bool tl_get_seconds(tl_pool *pool, const tlnmf_record *record, double *wall, double *cpu);

#endif
