/* Small problems for the tests of the public calls: data, a sound of two notes, settings by name.
 */
#ifndef TLNMF_TESTS_API_SMALL_H
#define TLNMF_TESTS_API_SMALL_H

#include "support.h"

#include "tlnmf/sound.h"

enum { S = 2, M = 6, N = 9, K = 2 };

static inline tlnmf_data *small_data(tlnmf_ctx *ctx)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 12, 0);
    double *Y = new_normals(&rng, S * M * N);
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    free(Y);
    return data;
}

/* Settings of a task with these options, "a=1 b=2". */
static inline tlnmf_settings *new_settings(tlnmf_ctx *ctx, const char *task, const char *options)
{
    tlnmf_settings *settings;
    assert_ok(ctx, tlnmf_settings_create(ctx, task, &settings));
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, options));
    return settings;
}

/* Two channels: one note, the other, both together, with labels that say so. */
enum { LENGTH = 3000, CHANNELS = 2, RATE = 1000, FRAME = 32 };

static inline void fill_sound(double *x)
{
    for (int t = 0; t < LENGTH; t++) {
        int third = t / (LENGTH / 3);
        double a = third != 1 ? sin(0.3 * t) : 0.0, b = third != 0 ? 0.5 * sin(1.1 * t) : 0.0;
        x[CHANNELS * t] = a + b;
        x[CHANNELS * t + 1] = a - b + 1e-3 * sin(2.3 * t * t);
    }
}

static inline tlnmf_sound *labelled_sound(tlnmf_ctx *ctx, const double *x)
{
    tlnmf_sound *sound;
    assert_ok(ctx, tlnmf_sound_from_array(ctx, x, LENGTH, CHANNELS, RATE, &sound));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, "low", 0.0, 1.0));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, "high", 1.0, 2.0));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, "low", 2.0, 3.0));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, "high", 2.0, 3.0));
    return sound;
}

/* Learning that takes a few milliseconds. */
#define QUICK_SEPARATION                                                                      \
    "frame=32 hop=16 shifts=2 window=sine per-source=1 iterations=2 method=tl transform=dct " \
    "threads=1"

#endif
