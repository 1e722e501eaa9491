/* The simple calls: the same numbers as the calls with a context, and messages without one. */
#include "unit/api/small.h"

enum { FIRST_M = 6, FIRST_N = 20, FIRST_S = 2 };

static void fill(double *Y)
{
    for (int i = 0; i < FIRST_S * FIRST_M * FIRST_N; i++)
        Y[i] = sin(0.7 * i) + 0.3 * cos(0.13 * i * i);
}

static void same_array(const tlnmf_record *a, const tlnmf_record *b, const char *name)
{
    int32_t rank;
    int64_t shape[TLNMF_MAX_DIMENSIONS], count = 1;
    const double *x = tlnmf_record_get_array(a, name, &rank, shape);
    const double *y = tlnmf_record_get_array(b, name, NULL, NULL);
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    assert_non_null(x);
    assert_non_null(y);
    assert_memory_equal(x, y, (size_t)count * sizeof *x);
}

static void the_same_numbers(void **state)
{
    (void)state;
    const int64_t shape[3] = {FIRST_S, FIRST_M, FIRST_N};
    double Y[FIRST_S * FIRST_M * FIRST_N];
    char message[TLNMF_MESSAGE_SIZE] = "old";
    tlnmf_record *model, *simple, *applied, *simply;
    tlnmf_data *data;
    fill(Y);
    tlnmf_ctx *ctx = new_ctx();
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, shape, &data));
    tlnmf_settings *settings = new_settings(ctx, "fit", "k=2 seed=3 J=20");
    assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
    assert_int_equal(tlnmf_simple_fit(Y, shape, "k=2 seed=3 J=20", message, &simple), TLNMF_OK);
    assert_string_equal(message, "");
    same_array(model, simple, "Phi");
    same_array(model, simple, "W");
    same_array(model, simple, "H");
    tlnmf_settings_free(settings);

    settings = new_settings(ctx, "apply", "J=7");
    for (int i = 0; i < FIRST_S * FIRST_M * FIRST_N; i++)
        Y[i] *= 2.0;
    tlnmf_data_free(data);
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, shape, &data));
    assert_ok(ctx, tlnmf_apply(ctx, model, data, settings, &applied));
    assert_int_equal(tlnmf_simple_apply(simple, Y, shape, "J=7", NULL, &simply), TLNMF_OK);
    same_array(applied, simply, "H");
    tlnmf_settings_free(settings);
    tlnmf_record_free(model);
    tlnmf_record_free(simple);
    tlnmf_record_free(applied);
    tlnmf_record_free(simply);

    settings = new_settings(ctx, "jd", "");
    assert_ok(ctx, tlnmf_diagonalise(ctx, data, settings, NULL, &model));
    assert_int_equal(tlnmf_simple_diagonalise(Y, shape, NULL, message, &simple), TLNMF_OK);
    same_array(model, simple, "Phi");
    tlnmf_record_free(model);
    tlnmf_record_free(simple);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

static void messages_without_a_context(void **state)
{
    (void)state;
    static const struct {
        const char *options, *message;
        int64_t M;
        tlnmf_error error;
    } wrong[] = {
        {NULL, "k is required", FIRST_M, TLNMF_ERR_OPTION},
        {"n_components=2", "task fit has no option named n_components; did you mean k?", FIRST_M,
         TLNMF_ERR_OPTION},
        {"k=2 method=best", "method = best is not one of tl|jd|nmf|auto", FIRST_M,
         TLNMF_ERR_OPTION},
        {"k=2", NULL, -1, TLNMF_ERR_SHAPE},
    };
    double Y[FIRST_S * FIRST_M * FIRST_N];
    fill(Y);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char message[TLNMF_MESSAGE_SIZE];
        const int64_t shape[3] = {FIRST_S, wrong[i].M, FIRST_N};
        tlnmf_record *model = (tlnmf_record *)(void *)Y;
        assert_int_equal(tlnmf_simple_fit(Y, shape, wrong[i].options, message, &model),
                         wrong[i].error);
        assert_null(model);
        if (wrong[i].message != NULL)
            assert_string_equal(message, wrong[i].message);
        assert_true(message[0] != '\0');
    }
    char message[TLNMF_MESSAGE_SIZE] = "old";
    const int64_t shape[3] = {FIRST_S, FIRST_M, FIRST_N};
    assert_int_equal(tlnmf_simple_fit(Y, shape, "k=1", message, NULL), TLNMF_ERR_ARGUMENT);
    assert_string_equal(message, "the output pointer is NULL");
    assert_int_equal(tlnmf_simple_fit(Y, shape, "k=1", NULL, NULL), TLNMF_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_numbers),
                                       cmocka_unit_test(messages_without_a_context)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
