/* tlnmf_spectrogram: V of every third frame and the frequencies of rows, against plain sums. */
#include "support.h"

#include "tlnmf/sound.h"

enum { LENGTH = 3000, CHANNELS = 2, FRAME = 50, HOP = 25 };
static const double pi = 3.14159265358979323846;

static double *two_tones(void)
{
    double *x = new_doubles((int64_t)LENGTH * CHANNELS);
    for (int64_t t = 0; t < LENGTH; t++)
        for (int64_t c = 0; c < CHANNELS; c++)
            x[t * CHANNELS + c] = (t < 2000 ? sin(0.4 * (double)t + (double)c) : 0.0) +
                                  (t > 1000 ? 0.5 * cos(1.1 * (double)t) : 0.0);
    return x;
}

static tlnmf_record *learn(tlnmf_ctx *ctx, const tlnmf_sound *sound, const char *method,
                           const char *transform)
{
    tlnmf_settings *settings;
    tlnmf_record *model;
    assert_ok(ctx, tlnmf_settings_create(ctx, "learn", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "frame", FRAME));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "hop", HOP));
    assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, "window", "rectangular"));
    assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, "method", method));
    assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, "transform", transform));
    assert_ok(ctx, tlnmf_learn_sources(ctx, sound, settings, &model));
    tlnmf_settings_free(settings);
    return model;
}

/* Sample j of frame n at the middle shift. */
static double sample(const double *x, int64_t n, int64_t j, int64_t c)
{
    int64_t t = (n + 1) * HOP - FRAME - HOP / 2 + j;
    return t >= 0 && t < LENGTH ? x[t * CHANNELS + c] : 0.0;
}

/* Row r of V in frame n: rows of Phi, or frequencies of the DFT. */
static double plain_V(const double *x, const double *Phi, int64_t n, int64_t r)
{
    double power = 0.0;
    for (int64_t c = 0; c < CHANNELS; c++) {
        double re = 0.0, im = 0.0;
        for (int64_t j = 0; j < FRAME; j++) {
            double angle = 2.0 * pi * (double)(r * j) / FRAME, y = sample(x, n, j, c);
            re += y * (Phi != NULL ? Phi[r * FRAME + j] : cos(angle) / sqrt(FRAME));
            im += Phi != NULL ? 0.0 : y * sin(angle) / sqrt(FRAME);
        }
        power += (re * re + im * im) / CHANNELS;
    }
    return power;
}

static void check(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                  const double *x, bool matrix)
{
    enum { STRIDE = 3, COLUMNS = 41 }; /* the last frames lie beyond the end */
    tlnmf_record *out;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    assert_ok(ctx, tlnmf_spectrogram(ctx, model, sound, STRIDE, COLUMNS, &out));
    const double *V = tlnmf_record_get_array(out, "V", &rank, shape);
    const double *Phi = tlnmf_record_get_array(out, "Phi", NULL, NULL);
    const double *frequency = tlnmf_record_get_array(out, "frequency", NULL, NULL);
    assert_int_equal(Phi != NULL, matrix);
    assert_int_equal(shape[0], matrix ? FRAME : FRAME / 2 + 1);
    assert_int_equal(shape[1], COLUMNS);
    for (int64_t r = 0; r < shape[0]; r++) {
        for (int64_t i = 0; i < COLUMNS; i++)
            assert_near(V[r * COLUMNS + i], plain_V(x, Phi, i * STRIDE, r), 1e-10);
        assert_near(frequency[r], matrix ? 0.5 * (double)r / FRAME : (double)r / FRAME,
                    matrix ? 0.51 / FRAME : 1e-15);
    }
    tlnmf_record_free(out);
}

static void V_is_the_power_of_the_frames(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double *x = two_tones();
    tlnmf_sound *blind, *labelled;
    assert_ok(ctx, tlnmf_sound_from_array(ctx, x, LENGTH, CHANNELS, 1000.0, &blind));
    assert_ok(ctx, tlnmf_sound_from_array(ctx, x, LENGTH, CHANNELS, 1000.0, &labelled));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, labelled, "low", 0.0, 2.0));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, labelled, "high", 1.0, 3.0));
    tlnmf_record *dct = learn(ctx, blind, "nmf", "dct"),
                 *stft = learn(ctx, labelled, "auto", "stft");
    check(ctx, dct, blind, x, true);
    check(ctx, stft, labelled, x, false);
    tlnmf_record *out;
    assert_int_equal(tlnmf_spectrogram(ctx, dct, blind, 0, 1, &out), TLNMF_ERR_ARGUMENT);
    assert_null(out);
    tlnmf_record_free(dct);
    tlnmf_record_free(stft);
    tlnmf_sound_free(blind);
    tlnmf_sound_free(labelled);
    free(x);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(V_is_the_power_of_the_frames)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
