/* Separation of sound in memory: the paper's notes, masks by plain loops, sums, channels. */
#include "tlnmf/sound.h"
#include "unit/sound/duet.h"

/* ---- the notes ------------------------------------------------------------------------------ */

static void notes_are_separated(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = note_options();
    opt.set.method = TL_METHOD_TL; /* no fixed transform resolves them */
    tl_separator *separator = learn(ctx, d->mix, 1, true, &opt);
    tl_separate_run run = guided_run();
    double *stems[2] = {d->stem[0], d->stem[1]};
    separate(ctx, separator, d->mix, LENGTH, 1, run, stems);
    assert_true(si_sdr(LENGTH, d->first, d->stem[0]) > 35.0);
    assert_true(si_sdr(LENGTH, d->second, d->stem[1]) > 35.0);
    for (int t = 0; t < LENGTH; t++)
        assert_near(d->stem[0][t] + d->stem[1][t], d->mix[t], 1e-15);
    tl_separator_info info = separator->info;
    assert_int_equal(info.method, TL_METHOD_TL);
    assert_true(info.score > 30.0 && info.remixes == 1 && info.candidates > 3);
    tl_separator_free(separator);
    free(d);
    tlnmf_ctx_free(ctx);
}

static void notes_are_separated_blindly(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = note_options();
    tl_separator *separator = learn(ctx, d->mix, 1, false, &opt);
    tl_separate_run run = blind_run();
    double *stems[2] = {d->stem[0], d->stem[1]};
    separate(ctx, separator, d->mix, LENGTH, 1, run, stems);
    int one = si_sdr(LENGTH, d->first, d->stem[0]) > si_sdr(LENGTH, d->first, d->stem[1]) ? 0 : 1;
    assert_true(si_sdr(LENGTH, d->first, d->stem[one]) > 30.0);
    assert_true(si_sdr(LENGTH, d->second, d->stem[1 - one]) > 30.0);
    tl_separator_free(separator);
    free(d);
    tlnmf_ctx_free(ctx);
}

/* ---- masks against plain loops --------------------------------------------------------------- */

/* (23) by its definition, frame by frame, with the H that the run returns. */
static void naive_stem(const tl_separator *separator, const double *x, const double *H, int64_t N,
                       int source, double *stem)
{
    tl_separator_info info = separator->info;
    const tl_frames *f = &info.frames;
    const double *Phi = separator->Phi, *W = separator->W;
    int64_t M = f->M, P = info.per_source, K = info.sources * P;
    double w[200], y[200], c[200], *sum = new_doubles(LENGTH);
    tlnmf_ctx *ctx = new_ctx();
    window_of(ctx, f, w);
    memset(stem, 0, LENGTH * sizeof *stem);
    for (int64_t n = 0; n < N; n++)
        for (int64_t s = 0; s < f->shifts; s++) {
            int64_t begin = (n + 1) * f->hop - M - s * f->hop / f->shifts;
            double own = 0.0, all = 0.0;
            for (int64_t k = 0; k < K; k++) {
                all += H[k * N + n];
                own += k / P == source ? H[k * N + n] : 0.0;
            }
            double share = all > 0.0 ? own / all : 1.0 / (double)info.sources;
            for (int64_t m = 0; m < M; m++)
                y[m] = begin + m >= 0 && begin + m < LENGTH ? w[m] * x[begin + m] : 0.0;
            for (int64_t a = 0; a < M; a++) {
                double X = 0.0, part = info.eps * share, whole = info.eps;
                for (int64_t m = 0; m < M; m++)
                    X += Phi[a * M + m] * y[m];
                for (int64_t k = 0; k < K; k++) {
                    whole += W[a * K + k] * H[k * N + n];
                    part += k / P == source ? W[a * K + k] * H[k * N + n] : 0.0;
                }
                c[a] = X * part / whole;
            }
            for (int64_t m = 0; m < M; m++) {
                int64_t t = begin + m;
                if (t < 0 || t >= LENGTH)
                    continue;
                double back = 0.0;
                for (int64_t a = 0; a < M; a++)
                    back += Phi[a * M + m] * c[a];
                stem[t] += w[m] * back;
                sum[t] += w[m] * w[m];
            }
        }
    for (int t = 0; t < LENGTH; t++)
        stem[t] /= sum[t];
    free(sum);
    tlnmf_ctx_free(ctx);
}

static void masks_match_the_definition(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = note_options();
    opt.frames.shifts = 2;
    opt.set.per_source = 2;
    opt.set.method = TL_METHOD_TL;
    opt.set.basis = TL_BASIS_DFT;
    opt.J = 2;
    tl_separator *separator = learn(ctx, d->mix, 1, true, &opt);
    int64_t N = tl_frames_count(&opt.frames, LENGTH);
    double *H = new_doubles(4 * N), *stems[2] = {d->stem[0], d->stem[1]};
    tl_separate_run run = guided_run();
    run.H = H;
    separate(ctx, separator, d->mix, LENGTH, 1, run, stems);
    for (int k = 0; k < 2; k++) {
        naive_stem(separator, d->mix, H, N, k, d->stem[2]);
        assert_true(largest_difference(LENGTH, d->stem[2], d->stem[k]) < 1e-13);
    }
    /* zeros of H outside the spans: source 1 is silent in the middle of the first second */
    assert_true(H[2 * N + 25] == 0.0 && H[3 * N + 25] == 0.0 && H[0 * N + 25] > 0.0);
    free(H);
    tl_separator_free(separator);
    free(d);
    tlnmf_ctx_free(ctx);
}

/* ---- outputs and channels ---------------------------------------------------------------------
 */

static void components_and_residual_sum_to_the_sound(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = note_options();
    opt.set.method = TL_METHOD_NMF;
    opt.set.basis = TL_BASIS_STFT;
    opt.set.per_source = 2;
    tl_separator *separator = learn(ctx, d->mix, 1, true, &opt);
    const double *W = separator->W; /* cosine and sine rows are equal */
    for (int m = 1; m + 1 < 200; m += 2)
        assert_memory_equal(W + 4 * m, W + 4 * (m + 1), 4 * sizeof *W);
    double *stem[5];
    for (int i = 0; i < 5; i++)
        stem[i] = new_doubles(LENGTH);
    tl_separate_run run = guided_run();
    run.components = 1;
    run.residual = 1;
    separate(ctx, separator, d->mix, LENGTH, 1, run, stem);
    double energy = 0.0;
    for (int t = 0; t < LENGTH; t++) {
        assert_near(stem[0][t] + stem[1][t] + stem[2][t] + stem[3][t] + stem[4][t], d->mix[t],
                    1e-15);
        energy += stem[4][t] * stem[4][t];
    }
    assert_true(energy > 0.0);
    for (int i = 0; i < 5; i++)
        free(stem[i]);
    tl_separator_free(separator);
    free(d);
    tlnmf_ctx_free(ctx);
}

/* Two equal channels have equal stems. */
static void equal_channels_have_equal_stems(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = note_options();
    opt.set.method = TL_METHOD_TL;
    opt.set.basis = TL_BASIS_DCT;
    opt.set.per_source = 1;
    double *twice = new_doubles(2 * LENGTH), *left = new_doubles(2 * LENGTH),
           *right = new_doubles(2 * LENGTH);
    for (int t = 0; t < LENGTH; t++)
        twice[2 * t] = twice[2 * t + 1] = d->mix[t];
    tl_separator *mono = learn(ctx, d->mix, 1, true, &opt),
                 *stereo = learn(ctx, twice, 2, true, &opt);
    tl_separate_run run = guided_run();
    double *stems[2] = {d->stem[0], d->stem[1]}, *pair[2] = {left, right};
    separate(ctx, mono, d->mix, LENGTH, 1, run, stems);
    separate(ctx, stereo, twice, LENGTH, 2, run, pair);
    for (int t = 0; t < LENGTH; t++) {
        assert_near(left[2 * t], left[2 * t + 1], 1e-12);
        assert_near(left[2 * t], d->stem[0][t], 1e-6);
    }
    tl_separator_free(mono);
    tl_separator_free(stereo);
    free(twice);
    free(left);
    free(right);
    free(d);
    tlnmf_ctx_free(ctx);
}

/* Learning from a part of the frames also works. */
static void a_subset_of_frames_is_enough(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = note_options();
    opt.set.learn_frames = 60;
    tl_separator *separator = learn(ctx, d->mix, 1, true, &opt);
    tl_separator_info info = separator->info;
    assert_int_equal(info.learn_frames, 60);
    tl_separate_run run = guided_run();
    double *stems[2] = {d->stem[0], d->stem[1]};
    separate(ctx, separator, d->mix, LENGTH, 1, run, stems);
    assert_true(si_sdr(LENGTH, d->first, d->stem[0]) > 25.0);
    tl_separator_free(separator);
    free(d);
    tlnmf_ctx_free(ctx);
}

/* Shorter than a frame, constant, one sample: the stems sum to the sound. */
static void small_sounds_work(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    static const int64_t lengths[] = {1, 7, 199};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        double x[199], a[199] = {0.0}, b[199] = {0.0}, *stems[2] = {a, b};
        for (int t = 0; t < 199; t++)
            x[t] = 0.25;
        arrays sound_in = {.x = x, .channels = 1};
        tl_sound sound = {lengths[i], 1, read_array, &sound_in};
        tl_learn_options opt = note_options();
        tl_separator *separator;
        assert_ok(ctx, learn_one(ctx, &sound, NULL, 0, &opt, &separator));
        separate(ctx, separator, x, lengths[i], 1, blind_run(), stems);
        for (int64_t t = 0; t < lengths[i]; t++)
            assert_near(a[t] + b[t], 0.25, 1e-15);
        tl_separator_free(separator);
    }
    tlnmf_ctx_free(ctx);
}

/* (V + eps) / eps^2 must be finite: where no column may sound, W H is 0. */
static void a_floor_too_small_for_the_frames_is_refused(void **state)
{
    (void)state;
    enum { SAMPLES = 2000 };
    static const struct {
        const char *options;
        tlnmf_error error;
    } cases[] = {{"unlabelled=silent eps=1e-140", TLNMF_OK},
                 {"unlabelled=silent eps=1e-160", TLNMF_ERR_DATA},
                 {"eps=1e-300", TLNMF_ERR_DATA}};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_sound *sound;
    tlnmf_settings *settings;
    tlnmf_record *model, *report;
    double x[SAMPLES], *stems = new_doubles(2 * SAMPLES);
    for (int t = 0; t < SAMPLES; t++)
        x[t] = sin(0.3 * t);
    assert_ok(ctx, tlnmf_sound_from_array(ctx, x, SAMPLES, 1, 1000.0, &sound));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, "a", 0.8, 1.2));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, "b", 1.1, 1.5));
    assert_ok(ctx, tlnmf_settings_create(ctx, "learn", &settings));
    assert_ok(ctx, tlnmf_learn_sources(ctx, sound, settings, &model));
    tlnmf_settings_free(settings);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(ctx, tlnmf_settings_create(ctx, "separate", &settings));
        assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, cases[i].options));
        assert_int_equal(tlnmf_separate_array(ctx, model, sound, settings, stems, &report),
                         cases[i].error);
        if (cases[i].error != TLNMF_OK)
            assert_non_null(strstr(tlnmf_message(ctx), "exceed the range of double: use a larger"));
        for (int t = 0; cases[i].error == TLNMF_OK && t < 2 * SAMPLES; t++)
            assert_true(isfinite(stems[t]));
        tlnmf_record_free(report);
        tlnmf_settings_free(settings);
    }
    tlnmf_record_free(model);
    tlnmf_sound_free(sound);
    free(stems);
    tlnmf_ctx_free(ctx);
}

static int stop_after_a_quarter(const tlnmf_record *progress, void *user)
{
    (void)user;
    return tlnmf_record_get_real(progress, "done") > 0.25;
}

/* A stopped run says how far every stem is valid; the array after it is unchanged. */
static void a_stopped_separation_says_what_was_written(void **state)
{
    (void)state;
    enum { SAMPLES = 200000, CHANNELS = 2 };
    const double untouched = -7.0; /* no stem has this value */
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_sound *sound, *whole;
    tlnmf_settings *settings;
    tlnmf_record *model, *report;
    double *x = new_doubles(SAMPLES * CHANNELS), *stems = new_doubles(2 * SAMPLES * CHANNELS);
    for (int i = 0; i < SAMPLES * CHANNELS; i++)
        x[i] = sin(0.3 * i);
    assert_ok(ctx, tlnmf_sound_from_array(ctx, x, 2000, CHANNELS, 1000.0, &sound));
    assert_ok(ctx, tlnmf_sound_from_array(ctx, x, SAMPLES, CHANNELS, 1000.0, &whole));
    assert_ok(ctx, tlnmf_settings_create(ctx, "learn", &settings));
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, "k=2 transform=dct method=nmf frame=64"));
    assert_ok(ctx, tlnmf_learn_sources(ctx, sound, settings, &model));
    tlnmf_settings_free(settings);
    assert_ok(ctx, tlnmf_settings_create(ctx, "separate", &settings));
    for (int stopped = 0; stopped < 2; stopped++) {
        for (int i = 0; i < 2 * SAMPLES * CHANNELS; i++)
            stems[i] = untouched;
        tlnmf_ctx_set_progress(ctx, stopped ? stop_after_a_quarter : NULL, NULL);
        ctx->monitor->every = 0.0; /* every poll reports, however fast the machine is */
        assert_ok(ctx, tlnmf_separate_array(ctx, model, whole, settings, stems, &report));
        int64_t written = tlnmf_record_get_integer(report, "written");
        assert_string_equal(tlnmf_record_get_text(report, "outcome"),
                            stopped ? "cancelled" : "iterations");
        assert_true(stopped ? written > 0 && written < SAMPLES : written == SAMPLES);
        for (int stem = 0; stem < 2; stem++)
            for (int64_t i = 0; i < SAMPLES * CHANNELS; i++) {
                double value = stems[stem * SAMPLES * CHANNELS + i];
                assert_int_equal(value == untouched, i >= written * CHANNELS);
            }
        tlnmf_record_free(report);
    }
    tlnmf_settings_free(settings);
    tlnmf_record_free(model);
    tlnmf_sound_free(whole);
    tlnmf_sound_free(sound);
    free(stems);
    free(x);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_are_separated),
        cmocka_unit_test(notes_are_separated_blindly),
        cmocka_unit_test(masks_match_the_definition),
        cmocka_unit_test(components_and_residual_sum_to_the_sound),
        cmocka_unit_test(equal_channels_have_equal_stems),
        cmocka_unit_test(a_subset_of_frames_is_enough),
        cmocka_unit_test(small_sounds_work),
        cmocka_unit_test(a_floor_too_small_for_the_frames_is_refused),
        cmocka_unit_test(a_stopped_separation_says_what_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
