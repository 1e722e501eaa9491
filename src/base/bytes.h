/* One function to count, write and read bytes, so that what is saved and what is loaded cannot
 * differ. */
#ifndef TLNMF_BASE_BYTES_H
#define TLNMF_BASE_BYTES_H

#include "base/base.h"

typedef enum tl_bytes_mode { TL_BYTES_COUNT, TL_BYTES_WRITE, TL_BYTES_READ } tl_bytes_mode;

/* Bytes on their way to or from memory. `bad` is set by a pass beyond the end, or by the caller who
 * finds that what was read makes no sense; from then on nothing is passed. */
typedef struct tl_bytes {
    tl_bytes_mode mode;
    unsigned char *at; /* not used to count; NULL: nothing is written */
    size_t size;       /* passed so far */
    size_t capacity;
    bool bad;
} tl_bytes;

/* Passes `size` bytes: from x if they are written, to x if they are read. */
static inline void tl_bytes_pass(tl_bytes *b, void *x, size_t size)
{
    if (b->mode != TL_BYTES_COUNT && size > b->capacity - b->size)
        b->bad = true;
    if (b->bad || size == 0)
        return;
    if (b->mode == TL_BYTES_WRITE && b->at != NULL)
        memcpy(b->at + b->size, x, size);
    else if (b->mode == TL_BYTES_READ)
        memcpy(x, b->at + b->size, size);
    b->size += size;
}

static inline void tl_bytes_doubles(tl_bytes *b, double *x, int64_t count)
{
    tl_bytes_pass(b, x, (size_t)count * sizeof *x);
}

static inline void tl_bytes_integer(tl_bytes *b, int64_t *x)
{
    tl_bytes_pass(b, x, sizeof *x);
}

#endif
