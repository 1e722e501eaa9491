/* Memory from the context's allocator: aligned blocks, and arenas that hold many arrays. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

void *tl_default_allocate(size_t bytes, void *user)
{
    (void)user;
    return malloc(bytes);
}

/* The allocator need not align. The block is over-allocated, and the address to release is stored
 * in front of it. */
static void *allocate(const tl_hooks *hooks, size_t bytes, bool zeros)
{
    if (bytes > SIZE_MAX - ALIGNMENT - sizeof(void *))
        return NULL;
    size_t all = bytes + ALIGNMENT + sizeof(void *);
    bool cleared = zeros && hooks->allocate == tl_default_allocate;
    unsigned char *raw = cleared ? calloc(1, all) : hooks->allocate(all, hooks->user);
    if (raw == NULL)
        return NULL;
    if (zeros && !cleared)
        memset(raw, 0, all);
    uintptr_t first = (uintptr_t)raw + sizeof(void *);
    size_t shift = (ALIGNMENT - first % ALIGNMENT) % ALIGNMENT;
    unsigned char *block = raw + sizeof(void *) + shift;
    memcpy(block - sizeof(void *), &raw, sizeof raw);
    return block;
}

void *tl_allocate(const tl_hooks *hooks, size_t bytes)
{
    return allocate(hooks, bytes, false);
}

void *tl_allocate_zeros(const tl_hooks *hooks, size_t bytes)
{
    return allocate(hooks, bytes, true);
}

void tl_release(const tl_hooks *hooks, void *block)
{
    if (block == NULL)
        return;
    void *raw;
    memcpy(&raw, (unsigned char *)block - sizeof(void *), sizeof raw);
    hooks->release(raw, hooks->user);
}

/* The bytes of an array, rounded up to the alignment; false if they do not fit a size_t. */
static bool part_bytes(const tl_slot *part, size_t *bytes)
{
    size_t raw;
    if (__builtin_mul_overflow(part->count, part->size, &raw) || raw > SIZE_MAX - ALIGNMENT)
        return false;
    *bytes = (raw + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return true;
}

enum { CLEARED = 1 << 20 }; /* bytes of a piece, some 100 us */

size_t tl_arena_bytes(const tl_slot *table, size_t rows)
{
    size_t total = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t bytes;
        if (!part_bytes(&table[i], &bytes) || __builtin_add_overflow(total, bytes, &total))
            return SIZE_MAX;
    }
    return total;
}

/* A page is placed near the thread that first touches it. Each array is cleared separately: the
 * thread that has the first pieces of its rows in later phases (team.c) also clears them. */
static void clear_piece(int64_t first, int64_t last, void *base)
{
    memset((unsigned char *)base + first, 0, (size_t)(last - first));
}

/* The same without clearing: all threads fetch pages from the system. Otherwise, writing the first
 * column would touch every page on one thread. */
static void touch_piece(int64_t first, int64_t last, void *base)
{
    enum { PAGE = 4096 }; /* the smallest page size; touching a page twice does no harm */
    for (int64_t i = first; i < last; i += PAGE)
        ((volatile unsigned char *)base)[i] = 0;
}

tlnmf_error tl_arena_create(tlnmf_ctx *ctx, const char *what, const tl_slot *table, size_t rows,
                            bool clear, void **block)
{
    *block = NULL;
    size_t total = tl_arena_bytes(table, rows);
    if (total == SIZE_MAX)
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE, "%s would not fit the address space", what);
    unsigned char *base = tl_allocate(&ctx->hooks, total);
    if (base == NULL && total < 100000)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for %s (%zu bytes)", what, total);
    if (base == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for %s (%.1f MB)", what,
                       (double)total / 1e6);
    *block = base;
    for (size_t i = 0; i < rows; i++) {
        size_t bytes = 0;
        part_bytes(&table[i], &bytes);
        void *part = bytes == 0 ? NULL : base;
        tl_share((int64_t)bytes, CLEARED, clear ? clear_piece : touch_piece, base);
        memcpy(table[i].slot, &part, sizeof part);
        base += bytes;
    }
    return TLNMF_OK;
}
