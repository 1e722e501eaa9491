/* An allocator that counts live blocks and fails at a chosen call. */
#ifndef TLNMF_TESTS_METER_H
#define TLNMF_TESTS_METER_H

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

/* For one thread: the counters have no lock. */
typedef struct meter {
    int64_t calls, alive, fail_at; /* call number `fail_at`, from 1, returns NULL; 0: none does */
    size_t bytes, most;            /* alive now, and at most */
} meter;

static inline void *metered_allocate(size_t bytes, void *user)
{
    meter *m = user;
    if (++m->calls == m->fail_at)
        return NULL;
    void *block = malloc(bytes);
    if (block == NULL)
        return NULL;
    m->alive++;
    m->bytes += malloc_usable_size(block);
    m->most = m->bytes > m->most ? m->bytes : m->most;
    return block;
}

static inline void metered_release(void *block, void *user)
{
    meter *m = user;
    m->alive--;
    m->bytes -= malloc_usable_size(block);
    free(block);
}

#endif
