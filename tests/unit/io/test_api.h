/* Helpers of the tests of tlnmf/io.h: contexts, one with an allocator that fails. */
#ifndef TLNMF_TEST_IO_API_H
#define TLNMF_TEST_IO_API_H

#include "unit/io/test_io.h"

#include "io/program.h"

static inline tlnmf_ctx *new_context(void)
{
    tlnmf_ctx *ctx;

    assert_int_equal(tlnmf_ctx_create(&ctx), TLNMF_OK);
    return ctx;
}

#define assert_ok(ctx, call)                      \
    do {                                          \
        if ((call) != TLNMF_OK)                   \
            fail_msg("%s", tlnmf_message((ctx))); \
    } while (0)

#define assert_error(ctx, call, error, text)               \
    do {                                                   \
        assert_int_equal((call), (error));                 \
        assert_string_equal(tlnmf_message((ctx)), (text)); \
    } while (0)

/* ---- an allocator that fails ----------------------------------------------------------------- */

typedef struct meter {
    int64_t left; /* allocations until one fails; -1: none will */
    int64_t live; /* blocks that have not been released */
} meter;

static inline void *count_allocate(size_t bytes, void *user)
{
    meter *m = user;
    void *block = m->left == 0 ? NULL : malloc(bytes);

    if (m->left > 0)
        m->left--;
    m->live += block != NULL;
    return block;
}

static inline void count_release(void *block, void *user)
{
    ((meter *)user)->live -= block != NULL;
    free(block);
}

/* Runs the call with the n-th allocation of the context failing, for every n: the call must report
 * the failure, free everything and leave no file. */
static inline void exhaust_context(tlnmf_error (*call)(tlnmf_ctx *ctx))
{
    tlnmf_error error = TLNMF_ERR_MEMORY;

    for (int64_t n = 0; error != TLNMF_OK; n++) {
        meter m = {.left = -1};
        tlnmf_ctx *ctx;
        assert_int_equal(tlnmf_ctx_create_with(count_allocate, count_release, &m, &ctx), TLNMF_OK);
        int before = count_files();
        m.left = n;
        error = call(ctx);
        if (error != TLNMF_OK) {
            if (error != TLNMF_ERR_MEMORY)
                fail_msg("allocation %d: %s", (int)n, tlnmf_message(ctx));
            assert_string_not_equal(tlnmf_message(ctx), "");
            assert_int_equal(count_files(), before);
        }
        tlnmf_ctx_free(ctx);
        assert_int_equal(m.live, 0);
    }
}

#endif
