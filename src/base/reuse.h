/* An allocator that reuses large blocks within one call, so that their pages need not be fetched
 * from the system again. */
#ifndef TLNMF_BASE_REUSE_H
#define TLNMF_BASE_REUSE_H

#include "base/base.h"

#include <pthread.h>

/* The largest number of waiting blocks, chosen arbitrarily. */
enum { TL_REUSE_MOST = 64 };

/* Blocks in use and waiting together take at most 1.25 times the largest number of bytes that were
 * in use at once. Calls from several threads are safe. */
typedef struct tl_reuse {
    tl_hooks from;
    pthread_mutex_t lock;
    size_t used, waiting, peak; /* bytes */
    int count;
    struct tl_reused *block[TL_REUSE_MOST]; /* waiting */
} tl_reuse;

/* `from` provides the memory. */
void tl_reuse_begin(tl_reuse *reuse, const tl_hooks *from);
/* Everything that was allocated must have been released. */
void tl_reuse_end(tl_reuse *reuse);
/* The allocator, for as long as `reuse` lives. */
tl_hooks tl_reuse_hooks(tl_reuse *reuse);

#endif
