/* An allocator that reuses large blocks within one call. */
#include "base/reuse.h"

#include <string.h>

/* Smaller blocks go back to the allocator, which keeps them anyway. A waiting block is reused if it
 * is at most 1.5 times as large as needed. Both are chosen arbitrarily. */
enum { LEAST = 1 << 18 };

/* In front of every block. */
typedef struct tl_reused {
    _Alignas(16) size_t bytes; /* behind this */
} tl_reused;

void tl_reuse_begin(tl_reuse *reuse, const tl_hooks *from)
{
    *reuse = (tl_reuse){.from = *from};
    pthread_mutex_init(&reuse->lock, NULL);
}

/* Takes waiting block i from the list. */
static tl_reused *take(tl_reuse *r, int i)
{
    tl_reused *block = r->block[i];
    r->count--;
    memmove(r->block + i, r->block + i + 1, (size_t)(r->count - i) * sizeof *r->block);
    r->waiting -= block->bytes;
    return block;
}

/* Gives blocks back until no more than `bytes` wait, the smallest first: they cost least to fetch.
 */
static void shrink(tl_reuse *r, size_t bytes)
{
    while (r->count > 0 && r->waiting > bytes) {
        int least = 0;
        for (int i = 1; i < r->count; i++)
            if (r->block[i]->bytes < r->block[least]->bytes)
                least = i;
        r->from.release(take(r, least), r->from.user);
    }
}

/* The largest number of bytes in use and waiting. */
static size_t bound(const tl_reuse *r)
{
    return r->peak + r->peak / 4;
}

void tl_reuse_end(tl_reuse *reuse)
{
    shrink(reuse, 0);
    pthread_mutex_destroy(&reuse->lock);
}

/* The smallest block that is large enough, NULL if all are far too large. */
static tl_reused *find(tl_reuse *r, size_t bytes)
{
    int best = -1;
    for (int i = 0; i < r->count; i++) {
        size_t size = r->block[i]->bytes;
        if (size >= bytes && size / 3 * 2 <= bytes && (best < 0 || size < r->block[best]->bytes))
            best = i;
    }
    return best < 0 ? NULL : take(r, best);
}

/* Blocks of nearly the same size become one size: 16 sizes from one power of two to the next. */
static size_t round_up(size_t bytes)
{
    size_t step = 1;
    while (step <= bytes / 32)
        step *= 2;
    return (bytes + step - 1) / step * step;
}

/* A new block; waiting blocks are released to make room. */
static tl_reused *fetch(tl_reuse *r, size_t bytes)
{
    size_t wanted = r->used + bytes;
    shrink(r, bound(r) > wanted ? bound(r) - wanted : 0);
    tl_reused *block = r->from.allocate(sizeof *block + bytes, r->from.user);
    if (block != NULL)
        block->bytes = bytes;
    return block;
}

static void *allocate(size_t bytes, void *user)
{
    tl_reuse *r = user;
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = bytes < LEAST ? bytes : round_up(bytes);
    pthread_mutex_lock(&r->lock);
    tl_reused *block = bytes < LEAST ? NULL : find(r, bytes);
    if (block == NULL)
        block = fetch(r, bytes);
    if (block != NULL) {
        r->used += block->bytes;
        r->peak = r->used > r->peak ? r->used : r->peak;
    }
    pthread_mutex_unlock(&r->lock);
    return block != NULL ? block + 1 : NULL;
}

static void release(void *raw, void *user)
{
    tl_reuse *r = user;
    tl_reused *block = (tl_reused *)raw - 1;
    pthread_mutex_lock(&r->lock);
    r->used -= block->bytes;
    bool waits = block->bytes >= LEAST && r->count < TL_REUSE_MOST &&
                 r->used + r->waiting + block->bytes <= bound(r);
    if (waits) {
        r->block[r->count++] = block;
        r->waiting += block->bytes;
    }
    pthread_mutex_unlock(&r->lock);
    if (!waits)
        r->from.release(block, r->from.user);
}

tl_hooks tl_reuse_hooks(tl_reuse *reuse)
{
    return (tl_hooks){allocate, release, reuse};
}
