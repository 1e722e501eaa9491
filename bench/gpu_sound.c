/* A separation of five minutes of stereo: time of learning and of the stems. */
#include "gpu_sound.h"
#include "base/base.h"
#include "base/rng.h"
#include "tlnmf/sound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RATE = 44100, CHANNELS = 2, PLAYERS = 3 };

static void check(tlnmf_ctx *ctx, tlnmf_error error)
{
    if (error == TLNMF_OK)
        return;
    fprintf(stderr, "gpu: %s\n", tlnmf_message(ctx));
    exit(1);
}

/* A tone of decaying partials. */
static void play(double *x, int64_t length, int player, double frequency)
{
    const double turn = 6.283185307179586, pan[PLAYERS] = {0.3, 0.7, 0.5};
    int partials = 3 + 2 * player;
    for (int h = 1; h <= partials && frequency * h < 0.45 * RATE; h++)
        for (int64_t t = 0; t < length; t++) {
            double s = (double)t / RATE, edge = fmin(1.0, (double)t / 500.0);
            double y = 0.1 / h * edge * exp(-2.0 * s) * sin(turn * frequency * h * s + 0.7 * h);
            x[t * CHANNELS] += y * (1.0 - pan[player]);
            x[t * CHANNELS + 1] += y * pan[player];
        }
}

/* Players who play alone in turn, and then together, with labels. */
static void play_all(tlnmf_ctx *ctx, int64_t seconds, double *x, tlnmf_sound *sound)
{
    static const char *const names[PLAYERS] = {"flute", "piano", "cello"};
    static const int keys[PLAYERS] = {72, 60, 45};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    for (int p = 0; p < PLAYERS; p++)
        for (double at = 2.0 * p; at < (double)seconds - 2.0;) {
            double last = 0.3 + 0.9 * tl_rng_uniform(&rng);
            double key = keys[p] + floor(12.0 * tl_rng_uniform(&rng)) - 5.0;
            play(x + (int64_t)(at * RATE) * CHANNELS, (int64_t)(last * RATE), p,
                 440.0 * exp2((key - 69.0) / 12.0));
            check(ctx, tlnmf_sound_add_label(ctx, sound, names[p], at, at + last));
            at += last + (at < 6.0 ? 6.0 : tl_rng_uniform(&rng));
        }
}

static double learn_and_run(tlnmf_ctx *ctx, const tlnmf_sound *sound, const char *device,
                            double *stems, double *learning)
{
    tlnmf_settings *settings;
    tlnmf_record *model, *report;
    double since = tl_wall_seconds();
    check(ctx, tlnmf_settings_create(ctx, "learn", &settings));
    check(ctx, tlnmf_settings_set_text(ctx, settings, "device", device));
    check(ctx, tlnmf_learn_sources(ctx, sound, settings, &model));
    tlnmf_settings_free(settings);
    *learning = tl_wall_seconds() - since;
    since = tl_wall_seconds();
    check(ctx, tlnmf_settings_create(ctx, "separate", &settings));
    check(ctx, tlnmf_settings_set_text(ctx, settings, "device", device));
    check(ctx, tlnmf_separate_array(ctx, model, sound, settings, stems, &report));
    tlnmf_settings_free(settings);
    tlnmf_record_free(report);
    tlnmf_record_free(model);
    return tl_wall_seconds() - since;
}

void time_separation(const char *device, int64_t seconds)
{
    tlnmf_ctx *ctx;
    tlnmf_sound *sound;
    int64_t length = seconds * RATE;
    double *x = calloc((size_t)(length * CHANNELS), sizeof *x),
           *stems = calloc((size_t)(length * CHANNELS * PLAYERS), sizeof *stems), learning;
    if (x == NULL || stems == NULL || tlnmf_ctx_create(&ctx) != TLNMF_OK) {
        fprintf(stderr, "gpu: no memory\n");
        exit(1);
    }
    check(ctx, tlnmf_sound_from_array(ctx, x, length, CHANNELS, RATE, &sound));
    play_all(ctx, seconds, x, sound);
    double running = learn_and_run(ctx, sound, device, stems, &learning), energy = 0.0;
    for (int64_t t = 0; t < length * CHANNELS; t++)
        energy += stems[t] * stems[t];
    printf(
        "%-9s separate %lld s of stereo: learning %.2f s, stems %.2f s; energy of the first stem "
        "%.9g\n",
        device, (long long)seconds, learning, running, energy);
    fflush(stdout);
    tlnmf_sound_free(sound);
    free(x);
    free(stems);
    tlnmf_ctx_free(ctx);
}
