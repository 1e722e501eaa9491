/* Callbacks of the caller that fail: TLNMF_ERR_CALLBACK, and no output remains. */
#include "unit/api/small.h"

static int refuse_to_read(int64_t first, int64_t count, double *x, void *user)
{
    (void)x;
    return first + count > *(int64_t *)user;
}

static int refuse_to_write(int64_t stem, int64_t first, int64_t count, const double *x, void *user)
{
    (void)x;
    (void)count;
    return stem == 1 && first >= *(int64_t *)user;
}

static void failing_callbacks_are_callback_errors(void **state)
{
    (void)state;
    static double x[LENGTH * CHANNELS];
    tlnmf_ctx *ctx = new_ctx();
    int64_t limit = 1000;
    fill_sound(x);
    tlnmf_sound *sound = labelled_sound(ctx, x), *broken;
    tlnmf_settings *learn = new_settings(ctx, "learn", QUICK_SEPARATION " k=2"),
                   *take_apart = new_settings(ctx, "separate", "");
    tlnmf_record *model, *report, *none;
    double power;
    assert_ok(ctx, tlnmf_learn_sources(ctx, sound, learn, &model));
    assert_ok(ctx,
              tlnmf_sound_create(ctx, LENGTH, CHANNELS, RATE, refuse_to_read, &limit, &broken));
    assert_int_equal(tlnmf_sound_power(ctx, broken, &power), TLNMF_ERR_CALLBACK);
    assert_int_equal(tlnmf_learn_sources(ctx, broken, learn, &none), TLNMF_ERR_CALLBACK);
    assert_null(none);
    assert_int_equal(tlnmf_separate(ctx, model, broken, take_apart, NULL, NULL, &report),
                     TLNMF_ERR_CALLBACK);
    assert_null(report);
    assert_int_equal(
        tlnmf_separate(ctx, model, sound, take_apart, refuse_to_write, &limit, &report),
        TLNMF_ERR_CALLBACK);
    assert_int_equal(strncmp(tlnmf_message(ctx), "writing the stem \"high\" failed at sample ", 41),
                     0);
    assert_null(report);
    tlnmf_record_free(model);
    tlnmf_settings_free(take_apart);
    tlnmf_settings_free(learn);
    tlnmf_sound_free(broken);
    tlnmf_sound_free(sound);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(failing_callbacks_are_callback_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
