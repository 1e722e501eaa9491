/* Memory that is given back and taken again within one call, so that its pages need not be fetched
 * from the system anew. */
#ifndef TLNMF_BASE_REUSE_H
#define TLNMF_BASE_REUSE_H

#include "base/base.h"

#include <pthread.h>

/* Blocks that wait for somebody who wants them: a plain bound. */
enum { TL_REUSE_MOST = 64 };

/* Blocks in use and waiting are together at most a quarter more than were in use at some time
 * before. Calls from several threads are safe. */
typedef struct tl_reuse {
    tl_hooks from;
    pthread_mutex_t lock;
    size_t used, waiting, peak; /* bytes */
    int count;
    struct tl_reused *block[TL_REUSE_MOST]; /* waiting */
} tl_reuse;

/* `from` is where the memory comes from in the end. */
void tl_reuse_begin(tl_reuse *reuse, const tl_hooks *from);
/* Everything that was allocated must have been released. */
void tl_reuse_end(tl_reuse *reuse);
/* The allocator, for as long as `reuse` lives. */
tl_hooks tl_reuse_hooks(tl_reuse *reuse);

#endif
