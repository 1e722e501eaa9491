/* Helpers of the tests of checkpoints of separations: all states of a call, as bytes. */
#ifndef TLNMF_TESTS_KEEPER_H
#define TLNMF_TESTS_KEEPER_H

#include "support.h"

#include <stdatomic.h>

enum { MOST = 64 };

typedef struct packed {
    unsigned char *bytes;
    size_t size;
} packed;

static inline packed pack(tlnmf_ctx *ctx, const tlnmf_record *record)
{
    packed p = {0};
    assert_ok(ctx, tlnmf_record_pack(ctx, record, NULL, &p.size));
    p.bytes = malloc(p.size);
    assert_non_null(p.bytes);
    assert_ok(ctx, tlnmf_record_pack(ctx, record, p.bytes, &p.size));
    return p;
}

/* All states of a run. */
typedef struct keeper {
    tlnmf_ctx *ctx;
    packed state[MOST];
    atomic_int count; /* a thread of the call saves; the caller's thread polls for cancellation */
    int stop_after;   /* the run is cancelled after this number of states; 0: never */
} keeper;

static inline int save(const tlnmf_record *state, void *user)
{
    keeper *k = user;
    assert_true(k->count < MOST);
    k->state[k->count++] = pack(k->ctx, state);
    return 0;
}

static inline int cancel(const tlnmf_record *progress, void *user)
{
    (void)progress;
    const keeper *k = user;
    return k->stop_after > 0 && k->count >= k->stop_after;
}

static inline void forget(keeper *k)
{
    for (int i = 0; i < k->count; i++)
        free(k->state[i].bytes);
    tlnmf_ctx_free(k->ctx);
}

/* The context saves to `k`, which may also cancel, and resumes from `from`; either may be NULL. The
 * caller frees the state after the call. */
static inline tlnmf_record *watch(tlnmf_ctx *ctx, const packed *from, keeper *k)
{
    tlnmf_record *state = NULL;
    if (from != NULL)
        assert_ok(ctx, tlnmf_record_unpack(ctx, from->bytes, from->size, &state));
    tlnmf_ctx_set_checkpoint(ctx, 0.0, k != NULL ? save : NULL, k);
    tlnmf_ctx_set_progress(ctx, k != NULL ? cancel : NULL, k);
    tlnmf_ctx_set_resume(ctx, state);
    return state;
}

static inline void unwatch(tlnmf_ctx *ctx, tlnmf_record *state)
{
    tlnmf_ctx_set_checkpoint(ctx, 0.0, NULL, NULL);
    tlnmf_ctx_set_progress(ctx, NULL, NULL);
    tlnmf_ctx_set_resume(ctx, NULL);
    tlnmf_record_free(state);
}

#endif
