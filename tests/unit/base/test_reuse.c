/* Blocks that a call releases and allocates again: which are reused, which are kept, and how long.
 */
#include "support.h"

#include "base/reuse.h"

enum { MB = 1 << 20 };

/* An allocator that counts, and can be made to fail. */
typedef struct counted {
    int fetched, live;
    bool fails;
} counted;

static void *count_allocate(size_t bytes, void *user)
{
    counted *c = user;
    if (c->fails)
        return NULL;
    c->fetched++;
    c->live++;
    return malloc(bytes);
}

static void count_release(void *block, void *user)
{
    ((counted *)user)->live--;
    free(block);
}

static void begin(counted *c, tl_reuse *reuse, tl_hooks *hooks)
{
    *c = (counted){.fails = false};
    tl_reuse_begin(reuse, &(tl_hooks){count_allocate, count_release, c});
    *hooks = tl_reuse_hooks(reuse);
}

static void released_blocks_are_reused(void **state)
{
    (void)state;
    counted c;
    tl_reuse reuse;
    tl_hooks hooks;
    begin(&c, &reuse, &hooks);
    void *a = tl_allocate(&hooks, 4 * MB);
    memset(a, 1, 4 * MB);
    tl_release(&hooks, a);
    assert_int_equal(c.live, 1);
    void *b = tl_allocate(&hooks, 4 * MB - 5000); /* nearly as large */
    memset(b, 2, 4 * MB - 5000);
    assert_int_equal(c.fetched, 1);
    void *small = tl_allocate(&hooks, 100), *large = tl_allocate(&hooks, 9 * MB);
    assert_int_equal(c.fetched, 3);
    tl_release(&hooks, small); /* small blocks go directly to the allocator */
    assert_int_equal(c.live, 2);
    tl_release(&hooks, b);
    tl_release(&hooks, large);
    assert_int_equal(c.live, 2);
    tl_release(&hooks, tl_allocate(&hooks, MB)); /* 4 MB would be too much for it */
    assert_int_equal(c.fetched, 4);
    tl_reuse_end(&reuse);
    assert_int_equal(c.live, 0);
}

/* The total memory is at most a quarter above the largest amount in use at once. */
static void kept_blocks_are_freed_for_others(void **state)
{
    (void)state;
    counted c;
    tl_reuse reuse;
    tl_hooks hooks;
    begin(&c, &reuse, &hooks);
    size_t most = 0;
    for (int i = 1; i <= 40; i++) {
        void *block = tl_allocate(&hooks, (size_t)i * MB / 2);
        most = reuse.used > most ? reuse.used : most;
        assert_true(reuse.used + reuse.waiting <= most + most / 4);
        tl_release(&hooks, block);
        assert_true(reuse.used + reuse.waiting <= most + most / 4);
        assert_int_equal(reuse.used, 0);
    }
    assert_true(c.live < 4);
    tl_reuse_end(&reuse);
    assert_int_equal(c.live, 0);
}

static void fails_if_its_allocator_fails(void **state)
{
    (void)state;
    counted c;
    tl_reuse reuse;
    tl_hooks hooks;
    begin(&c, &reuse, &hooks);
    void *kept = tl_allocate(&hooks, MB);
    c.fails = true;
    assert_null(tl_allocate(&hooks, MB));
    assert_null(tl_allocate(&hooks, SIZE_MAX / 2));
    tl_release(&hooks, kept);
    void *again = tl_allocate(&hooks, MB); /* nothing is allocated for it */
    assert_non_null(again);
    tl_release(&hooks, again);
    tl_reuse_end(&reuse);
    assert_int_equal(c.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(released_blocks_are_reused),
                                       cmocka_unit_test(kept_blocks_are_freed_for_others),
                                       cmocka_unit_test(fails_if_its_allocator_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
