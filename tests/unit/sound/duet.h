/* Helpers of the tests of separation: the paper's two notes as sound in memory. */
#ifndef TLNMF_TESTS_DUET_H
#define TLNMF_TESTS_DUET_H

#include "sound/learn/course.h"
#include "sound/render/rounds.h"
#include "support.h"

enum { RATE = NOTES_RATE, LENGTH = NOTES_LENGTH };

/* The mixture, its parts, and space for the stems. */
typedef struct duet {
    double mix[LENGTH], first[LENGTH], second[LENGTH], stem[3][LENGTH];
} duet;

/* Each of the two notes, as docs/spec.md defines them; simulate_notes returns their sum. */
static inline void true_notes(const double theta[2], double *first, double *second)
{
    const double pi = acos(-1.0), f[2] = {440.0, 466.16};
    double *y[2] = {first, second};
    for (int i = 0; i < 2; i++)
        for (int t = 1; t <= LENGTH; t++) {
            int quiet = i == 0 ? 1 : 0; /* the second in which the note is silent */
            double u = (t - 1) % RATE + 1, x = 2.0 * u / (RATE + 1) - 1.0;
            double g = (t - 1) / RATE == quiet ? 0.0 : 0.5 * exp(1.0 - 1.0 / (1.0 - x * x));
            double p = 2.0 * pi * f[i] * t / RATE + theta[i];
            y[i][t - 1] = g * (0.5 * cos(p) + 0.25 * cos(2.0 * p));
        }
}

static inline duet *new_duet(tlnmf_ctx *ctx)
{
    const double theta[2] = {1.0, 2.0};
    duet *d = calloc(1, sizeof *d);
    assert_non_null(d);
    simulate_notes(ctx, 1, theta, NULL, d->mix);
    true_notes(theta, d->first, d->second);
    for (int t = 0; t < LENGTH; t++)
        assert_near(d->mix[t], d->first[t] + d->second[t], 1e-12);
    return d;
}

/* ---- sound in memory ------------------------------------------------------------------------- */

typedef struct arrays {
    const double *x;
    int64_t channels;
    double *const *stems;
} arrays;

static inline int read_array(int64_t first, int64_t count, double *x, void *user)
{
    const arrays *a = user;
    memcpy(x, a->x + first * a->channels, (size_t)(count * a->channels) * sizeof *x);
    return 0;
}

static inline int write_array(int64_t output, int64_t first, int64_t count, const double *x,
                              void *user)
{
    const arrays *a = user;
    memcpy(a->stems[output] + first * a->channels, x, (size_t)(count * a->channels) * sizeof *x);
    return 0;
}

/* The window of the frames, M numbers. */
static inline void window_of(tlnmf_ctx *ctx, const tl_frames *frames, double *w)
{
    tl_framing framing;
    assert_ok(ctx, tl_framing_create(ctx, frames, &framing));
    memcpy(w, framing.w, (size_t)frames->M * sizeof *w);
    tl_framing_free(&framing);
}

/* ---- options and calls ----------------------------------------------------------------------- */

/* All but M and hop. */
static inline tl_frames default_frames(void)
{
    return (tl_frames){.shifts = 8, .window = TL_WINDOW_TUKEY, .taper = 0.1, .beta = 8.0};
}

/* The default settings of task "learn". */
static inline tl_learn_options default_options(void)
{
    tl_learn_options opt = {.J = 10, .any_window = 1, .any_length = 1, .any_J = 1};
    tl_settings_defaults(TL_TASK_LEARN, &opt.set);
    opt.frames = default_frames();
    return opt;
}

static inline tl_learn_options note_options(void)
{
    tl_learn_options opt = default_options();
    opt.frames.M = 200;
    opt.frames.hop = 100;
    opt.sources = 2;
    opt.rate = RATE;
    opt.set.threads = 1;
    return opt;
}

static const tl_span NOTES[4] = {{.start = 0, .end = RATE, .source = 0},
                                 {.start = RATE, .end = 2 * RATE, .source = 1},
                                 {.start = 2 * RATE, .end = 3 * RATE, .source = 0},
                                 {.start = 2 * RATE, .end = 3 * RATE, .source = 1}};

static inline tl_separate_run blind_run(void)
{
    return (tl_separate_run){.threads = 1};
}

static inline tl_separate_run guided_run(void)
{
    tl_separate_run run = blind_run();
    run.spans = NOTES;
    run.span_count = 4;
    return run;
}

/* Learns the best candidate only; *out is NULL on failure. */
static inline tlnmf_error learn_one(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *spans,
                                    int64_t count, const tl_learn_options *opt, tl_separator **out)
{
    tl_blend *blend;
    *out = NULL;
    tlnmf_error error =
        tl_blend_learn(ctx, sound, spans, count, opt, NULL, tl_learn_candidates, &blend);
    if (error != TLNMF_OK)
        return error;
    *out = blend->member[0];
    blend->members = 0;
    tl_blend_free(blend);
    return TLNMF_OK;
}

static inline tlnmf_error run_one(tlnmf_ctx *ctx, const tl_separator *separator,
                                  const tl_sound *sound, const tl_separate_run *run)
{
    tl_blend one = {.info = separator->info,
                    .members = 1,
                    .member = {(tl_separator *)(uintptr_t)separator},
                    .weight = {1.0}};
    return tl_blend_run(ctx, &one, sound, run);
}

/* From LENGTH samples. */
static inline tl_separator *learn(tlnmf_ctx *ctx, const double *x, int64_t channels, bool guided,
                                  const tl_learn_options *opt)
{
    arrays a = {.x = x, .channels = channels};
    tl_sound sound = {LENGTH, channels, read_array, &a};
    tl_separator *separator;
    assert_ok(ctx, learn_one(ctx, &sound, guided ? NOTES : NULL, guided ? 4 : 0, opt, &separator));
    return separator;
}

static inline void separate(tlnmf_ctx *ctx, const tl_separator *separator, const double *x,
                            int64_t length, int64_t channels, tl_separate_run run,
                            double *const *stems)
{
    arrays a = {.x = x, .channels = channels, .stems = stems};
    tl_sound sound = {length, channels, read_array, &a};
    run.write = write_array;
    run.user = &a;
    assert_ok(ctx, run_one(ctx, separator, &sound, &run));
}

/* In dB, of `count` samples. */
static inline double si_sdr(int64_t count, const double *truth, const double *estimate)
{
    double tt = 0.0, te = 0.0, ee = 0.0;
    for (int64_t t = 0; t < count; t++) {
        tt += truth[t] * truth[t];
        te += truth[t] * estimate[t];
        ee += estimate[t] * estimate[t];
    }
    return 10.0 * log10(te * te / tt / (ee - te * te / tt));
}

#endif
