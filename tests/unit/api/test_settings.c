/* The option table: defaults, ranges, names. */
#include "support.h"

static void defaults_are_the_tables(void **state)
{
    (void)state;
    tlnmf_settings opt;
    tl_settings_init(&opt);
    assert_int_equal(opt.J, 1000);
    assert_int_equal(opt.J_nmf, 10);
    assert_int_equal(opt.method, TL_METHOD_AUTO);
    assert_true(opt.tol == 1e-12);
    assert_int_equal(opt.seed, 1);
    assert_null(tlnmf_option_at(tlnmf_option_count()));
}

/* The table covers the whole struct: filling it through the table leaves no byte of a field out. */
static void every_field_is_in_the_table(void **state)
{
    (void)state;
    static const size_t sizes[] = {sizeof(int64_t), sizeof(uint64_t), sizeof(double),
                                   sizeof(int32_t), sizeof(int32_t)};
    size_t bytes = sizeof(size_t);
    for (size_t i = 0; i < tlnmf_option_count(); i++)
        bytes += sizes[tlnmf_option_at(i)->type];
    assert_true(sizeof(tlnmf_settings) - bytes < sizeof(int64_t)); /* padding at the end at most */
}

static void values_survive_set_and_get(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"k", "7"},           {"method", "jd"},        {"eps", "5.0000000000000004e-08"},
        {"exchange", "1"},    {"stream", "numpy"},     {"seed", "18446744073709551615"},
        {"transform", "dft"}, {"max-seconds", "0.25"}, {"gamma", "0.5"},
    };
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings opt;
    tl_settings_init(&opt);
    char text[64];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_ok(ctx, tlnmf_settings_set(ctx, &opt, pairs[i][0], pairs[i][1]));
        assert_string_equal(tlnmf_settings_get(&opt, pairs[i][0], text, sizeof text), pairs[i][1]);
    }
    assert_true(opt.seed == UINT64_MAX);
    assert_null(tlnmf_settings_get(&opt, "no-such", text, sizeof text));
    tlnmf_ctx_free(ctx);
}

static void bad_values_are_named(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"k", "0", "k = 0 is outside [1, 10000]"},
        {"k", "-3", "k = -3 is outside [1, 10000]"},
        {"k", "2.5", "k = 2.5 is not a whole number"},
        {"k", "two", "k = two is not a number"},
        {"k", "", "k =  is not a number"},
        {"k", "1e30", "k = 1e+30 is outside [1, 10000]"},
        {"eps", "0", "eps = 0 is outside [1e-300, 1e+300]"},
        {"eps", "-1", "eps = -1 is outside [1e-300, 1e+300]"},
        {"eps", "nan", "eps = nan is outside [1e-300, 1e+300]"},
        {"eps", "inf", "eps = inf is outside [1e-300, 1e+300]"},
        {"method", "foo", "method = foo is not one of tl|jd|nmf|auto"},
        {"method", "", "method =  is not one of tl|jd|nmf|auto"},
        {"method", "t", "method = t is not one of tl|jd|nmf|auto"},
        {"seed", "-1", "seed = -1 is not a whole number below 2^64"},
        {"seed", "18446744073709551616",
         "seed = 18446744073709551616 is not a whole number below 2^64"},
        {"speed", "1", "there is no option named speed"},
    };
    tlnmf_ctx *ctx = new_ctx();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tlnmf_settings opt, before;
        tl_settings_init(&opt);
        before = opt;
        assert_int_equal(tlnmf_settings_set(ctx, &opt, cases[i][0], cases[i][1]), TLNMF_ERR_OPTION);
        assert_string_equal(tlnmf_message(ctx), cases[i][2]);
        assert_memory_equal(&opt, &before, sizeof opt);
    }
    tlnmf_ctx_free(ctx);
}

static void checks_cover_the_struct_itself(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings opt;
    tl_settings_init(&opt);
    assert_int_equal(tlnmf_settings_check(ctx, &opt), TLNMF_ERR_OPTION); /* k has no default */
    assert_string_equal(tlnmf_message(ctx), "k = 0 is outside [1, 10000]");
    opt.k = 2;
    assert_ok(ctx, tlnmf_settings_check(ctx, &opt));
    opt.tol = NAN;
    assert_int_equal(tlnmf_settings_check(ctx, &opt), TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(ctx), "tol = nan is outside [0, 1]");
    opt.tol = 0.0;
    opt.method = 7;
    assert_int_equal(tlnmf_settings_check(ctx, &opt), TLNMF_ERR_OPTION);
    opt.method = TL_METHOD_NMF;
    opt.exchange = 1;
    assert_int_equal(tlnmf_settings_check(ctx, &opt), TLNMF_ERR_OPTION);
    opt.exchange = 0;
    opt.stream = TL_STREAM_NUMPY;
    opt.seed = (uint64_t)1 << 32;
    assert_int_equal(tlnmf_settings_check(ctx, &opt), TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(ctx),
                        "seed = 4294967296: numpy's stream takes seeds up to 4294967295");
    opt.seed = 1;
    opt.struct_size = 3;
    assert_int_equal(tlnmf_settings_check(ctx, &opt), TLNMF_ERR_OPTION);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_tables),
        cmocka_unit_test(every_field_is_in_the_table),
        cmocka_unit_test(values_survive_set_and_get),
        cmocka_unit_test(bad_values_are_named),
        cmocka_unit_test(checks_cover_the_struct_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
