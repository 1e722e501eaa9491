/* Random streams, memory, the context, threads. */
#include "support.h"

/* numpy.random.RandomState(2021): random_sample() three times; RandomState(7).randn(3). */
static void numpy_stream_matches_numpy(void **state)
{
    (void)state;
    const double uniform[3] = {0.6059782788074047, 0.7333693611934982, 0.13894715672839875};
    const double normal[3] = {1.690525703800356, -0.4659373705408328, 0.0328201636785844};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_NUMPY, 2021, 0);
    for (int i = 0; i < 3; i++)
        assert_true(tl_rng_uniform(&rng) == uniform[i]);
    tl_rng_seed(&rng, TL_STREAM_NUMPY, 7, 0);
    for (int i = 0; i < 3; i++)
        assert_close(tl_rng_normal(&rng), normal[i], 3e-16);
}

static void streams_of_a_seed_differ(void **state)
{
    (void)state;
    tl_rng a, b, c;
    tl_rng_seed(&a, TL_STREAM_OWN, 1, 0);
    tl_rng_seed(&b, TL_STREAM_OWN, 1, 1);
    tl_rng_seed(&c, TL_STREAM_OWN, 1, 0);
    double x = tl_rng_uniform(&a);
    assert_true(x != tl_rng_uniform(&b));
    assert_true(x == tl_rng_uniform(&c));
}

/* Mean 0, variance 1, fourth moment 3: five standard errors. */
static void own_normals_have_the_right_moments(void **state)
{
    (void)state;
    enum { COUNT = 1000000 };
    double mean = 0.0, square = 0.0, fourth = 0.0;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 42, 3);
    for (int i = 0; i < COUNT; i++) {
        double x = tl_rng_normal(&rng);
        mean += x / COUNT;
        square += x * x / COUNT;
        fourth += x * x * x * x / COUNT;
    }
    assert_near(mean, 0.0, 5e-3);
    assert_near(square, 1.0, 7.1e-3);
    assert_near(fourth, 3.0, 5.0 * sqrt(96.0 / COUNT));
}

static void arena_is_aligned_zeroed_and_disjoint(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    char *a, *c;
    double *b, *none;
    void *block;
    tl_slot table[] = {TL_SLOT(a, 3), TL_SLOT(b, 5), TL_SLOT(none, 0), TL_SLOT(c, 1)};
    assert_ok(ctx, TL_ARENA(ctx, "a test", table, &block));
    assert_null(none);
    assert_true((uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0 && (uintptr_t)c % 64 == 0);
    memset(a, 1, 3);
    memset(c, 1, 1);
    for (int i = 0; i < 5; i++)
        assert_true(b[i] == 0.0);
    tl_release(&ctx->hooks, block);
    tl_slot huge[] = {TL_SLOT(b, INT64_MAX / 2)};
    assert_int_equal(TL_ARENA(ctx, "a test", huge, &block), TLNMF_ERR_TOO_LARGE);
    assert_string_equal(tlnmf_message(ctx), "a test would not fit the address space");
    assert_null(block);
    tlnmf_ctx_free(ctx);
}

static void names_are_pinned(void **state)
{
    (void)state;
    assert_string_equal(tlnmf_error_name(TLNMF_ERR_NUMERIC), "numeric");
    assert_string_equal(tlnmf_error_name((tlnmf_error)99), "unknown");
    assert_string_equal(tlnmf_outcome_name(TLNMF_OUTCOME_TIME), "time");
    assert_string_equal(tlnmf_outcome_name((tlnmf_outcome)-1), "unknown");
    assert_string_equal(tlnmf_version(), TLNMF_VERSION);
    assert_true(strlen(tlnmf_blas()) > 0);
}

static void *no_memory(size_t bytes, void *user)
{
    (void)bytes;
    ++*(int *)user;
    return NULL;
}

static void no_release(void *block, void *user)
{
    (void)block;
    (void)user;
    fail_msg("there is nothing to release");
}

static void *at_most(size_t bytes, void *user)
{
    return bytes <= *(size_t *)user ? malloc(bytes) : NULL;
}

static void release(void *block, void *user)
{
    (void)user;
    free(block);
}

static void missing_memory_has_a_size(void **state)
{
    (void)state;
    size_t limit = SIZE_MAX;
    tlnmf_ctx *ctx;
    double *x;
    void *block;
    assert_int_equal(tlnmf_ctx_create_with(at_most, release, &limit, &ctx), TLNMF_OK);
    limit = 0;
    tl_slot few[] = {TL_SLOT(x, 80)}, many[] = {TL_SLOT(x, 320000)};
    assert_int_equal(TL_ARENA(ctx, "few numbers", few, &block), TLNMF_ERR_MEMORY);
    static const char before[] = "no memory for few numbers (";
    char *end;
    assert_int_equal(strncmp(tlnmf_message(ctx), before, strlen(before)), 0);
    size_t bytes = strtoul(tlnmf_message(ctx) + strlen(before), &end, 10);
    assert_string_equal(end, " bytes)");
    assert_true(bytes >= sizeof(double[80]) && bytes < 2 * sizeof(double[80]));
    assert_int_equal(TL_ARENA(ctx, "many numbers", many, &block), TLNMF_ERR_MEMORY);
    assert_string_equal(tlnmf_message(ctx), "no memory for many numbers (2.6 MB)");
    tlnmf_ctx_free(ctx);
}

static void half_an_allocator_is_refused(void **state)
{
    (void)state;
    int calls = 0;
    tlnmf_ctx *ctx = (tlnmf_ctx *)(void *)&calls;
    assert_int_equal(tlnmf_ctx_create_with(no_memory, NULL, &calls, &ctx), TLNMF_ERR_ARGUMENT);
    assert_null(ctx);
    assert_int_equal(tlnmf_ctx_create_with(NULL, no_release, &calls, &ctx), TLNMF_ERR_ARGUMENT);
    assert_int_equal(calls, 0);
    ctx = (tlnmf_ctx *)(void *)&calls;
    assert_int_equal(tlnmf_ctx_create_with(no_memory, no_release, &calls, &ctx), TLNMF_ERR_MEMORY);
    assert_int_equal(calls, 1);
    assert_null(ctx);
    assert_string_equal(tlnmf_message(NULL), "");
}

/* The mean of S squared Gaussians has the mean 1, the variance 2 / S and the third central moment
 * 8 / S^2. */
static void mean_squares_have_the_moments_of_chi_squared(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    static const int64_t sizes[] = {1, 2, 3, 7, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double sum[4] = {0}, n = (double)sizes[i];
        tl_rng rng;
        tl_rng_seed(&rng, TL_STREAM_OWN, 5, i);
        for (int j = 0; j < COUNT; j++) {
            double x = tl_rng_mean_square(&rng, sizes[i]) - 1.0;
            assert_true(x >= -1.0);
            for (int p = 1; p <= 3; p++)
                sum[p] += pow(x, p) / COUNT;
        }
        /* five standard errors or more */
        assert_near(sum[1], 0.0, 5.0 * sqrt(2.0 / n / COUNT));
        assert_near(sum[2], 2.0 / n, 0.02 * (2.0 / n) * (1.0 + 3.0 / n));
        assert_near(sum[3], 8.0 / (n * n), 0.15 * 8.0 / (n * n) + 0.05 * pow(2.0 / n, 1.5));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_squares_have_the_moments_of_chi_squared),
        cmocka_unit_test(numpy_stream_matches_numpy),
        cmocka_unit_test(streams_of_a_seed_differ),
        cmocka_unit_test(own_normals_have_the_right_moments),
        cmocka_unit_test(arena_is_aligned_zeroed_and_disjoint),
        cmocka_unit_test(names_are_pinned),
        cmocka_unit_test(missing_memory_has_a_size),
        cmocka_unit_test(half_an_allocator_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
