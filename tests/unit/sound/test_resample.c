/* A sound at another rate, compared with tones whose samples are known at any rate. */
#include "support.h"
#include "tlnmf/sound.h"

enum { LENGTH = 9000, CHANNELS = 2 };

/* Tones of f Hz in the first channel and f / 3 Hz in the second, at `rate`. */
static void fill(double *x, int64_t length, double rate, double f)
{
    for (int64_t t = 0; t < length; t++)
        for (int c = 0; c < CHANNELS; c++)
            x[t * CHANNELS + c] = sin(
                2.0 * 3.14159265358979323846 * f / (c == 0 ? 1.0 : 3.0) * (double)t / rate + 0.3);
}

/* The largest difference from `factor` times the tones, away from the ends, where silence begins.
 */
static double error_of(double from, double to, double f, double factor)
{
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_sound *sound, *other;
    double *x = malloc(sizeof *x * LENGTH * CHANNELS), worst = 0.0;
    fill(x, LENGTH, from, f);
    assert_int_equal(tlnmf_sound_from_array(ctx, x, LENGTH, CHANNELS, from, &sound), TLNMF_OK);
    assert_int_equal(tlnmf_sound_resample(ctx, sound, to, &other), TLNMF_OK);
    int64_t length = tlnmf_record_get_integer(tlnmf_sound_record(other), "length");
    assert_int_equal(length, (int64_t)ceil(LENGTH * to / from));
    assert_true(tlnmf_record_get_real(tlnmf_sound_record(other), "rate") == to);
    double *y = malloc(sizeof *y * (size_t)(length * CHANNELS)),
           *expected = malloc(sizeof *y * (size_t)(length * CHANNELS));
    fill(expected, length, to, f);
    /* in pieces of arbitrary sizes: the samples do not depend on them */
    for (int64_t t = 0; t < length; t += 1777) {
        int64_t count = length - t < 1777 ? length - t : 1777;
        assert_int_equal(tlnmf_sound_read(ctx, other, t, count, y + t * CHANNELS), TLNMF_OK);
    }
    for (int64_t t = length / 10; t < length - length / 10; t++) {
        worst = fmax(worst, fabs(y[t * CHANNELS] - factor * expected[t * CHANNELS]));
        worst = fmax(worst, fabs(y[t * CHANNELS + 1] - expected[t * CHANNELS + 1]));
    }
    tlnmf_sound_free(other);
    tlnmf_sound_free(sound);
    tlnmf_ctx_free(ctx);
    free(x);
    free(y);
    free(expected);
    return worst;
}

static void tones_keep_their_pitch_and_level(void **state)
{
    (void)state;
    assert_true(error_of(44100.0, 22050.0, 3000.0, 1.0) < 1e-4);
    assert_true(error_of(48000.0, 22050.0, 9000.0, 1.0) < 1e-4);
    assert_true(error_of(8000.0, 22050.0, 3000.0, 1.0) < 1e-4);
    assert_true(error_of(22050.0, 22050.0, 5000.0, 1.0) < 1e-4);
}

/* At 22050 Hz, 15 kHz cannot be represented, but 5 kHz can. */
static void frequencies_above_the_new_limit_are_removed(void **state)
{
    (void)state;
    assert_true(error_of(44100.0, 22050.0, 15000.0, 0.0) < 1e-4);
}

static int fail_to_read(int64_t first, int64_t count, double *x, void *user)
{
    (void)first, (void)count, (void)x, (void)user;
    return 7;
}

static tlnmf_error say_why(char *text, size_t size, void *user)
{
    (void)user;
    snprintf(text, size, "the tape has torn");
    return TLNMF_ERR_INPUT;
}

static void errors_of_the_sound_are_passed_on(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_sound *sound, *other;
    double x;
    assert_int_equal(tlnmf_sound_create(ctx, 100, 1, 8000.0, fail_to_read, NULL, &sound), TLNMF_OK);
    tlnmf_sound_own(sound, NULL, say_why, NULL);
    assert_int_equal(tlnmf_sound_resample(ctx, sound, 0.0, &other), TLNMF_ERR_OPTION);
    assert_int_equal(tlnmf_sound_resample(ctx, sound, 9e6, &other), TLNMF_ERR_OPTION);
    assert_int_equal(tlnmf_sound_resample(ctx, sound, 4000.0, &other), TLNMF_OK);
    assert_int_equal(tlnmf_sound_read(ctx, other, 0, 1, &x), TLNMF_ERR_INPUT);
    assert_string_equal(tlnmf_message(ctx), "the tape has torn");
    tlnmf_sound_free(other);
    tlnmf_sound_free(sound);
    tlnmf_ctx_free(ctx);
}

static void *allocate_unless(size_t size, void *fails)
{
    return *(bool *)fails ? NULL : malloc(size);
}

static void release(void *block, void *fails)
{
    (void)fails;
    free(block);
}

static int read_zeros(int64_t first, int64_t count, double *x, void *user)
{
    (void)first, (void)user;
    memset(x, 0, (size_t)count * sizeof *x);
    return 0;
}

static void a_failed_allocation_is_no_failed_callback(void **state)
{
    (void)state;
    bool fails = false;
    double x[10];
    tlnmf_ctx *ctx = new_ctx_with(allocate_unless, release, &fails);
    tlnmf_sound *sound, *other;
    assert_ok(ctx, tlnmf_sound_create(ctx, 100, 1, 8000.0, read_zeros, NULL, &sound));
    assert_ok(ctx, tlnmf_sound_resample(ctx, sound, 4000.0, &other));
    fails = true;
    assert_int_equal(tlnmf_sound_read(ctx, other, 0, 10, x), TLNMF_ERR_MEMORY);
    assert_string_equal(tlnmf_message(ctx), "no memory to resample a sound");
    fails = false;
    assert_ok(ctx, tlnmf_sound_read(ctx, other, 0, 10, x));
    tlnmf_sound_free(other);
    tlnmf_sound_free(sound);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tones_keep_their_pitch_and_level),
        cmocka_unit_test(frequencies_above_the_new_limit_are_removed),
        cmocka_unit_test(errors_of_the_sound_are_passed_on),
        cmocka_unit_test(a_failed_allocation_is_no_failed_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
