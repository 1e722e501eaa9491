/* Framing and its inverse: every window and hop that allows it, and a message for the others. */
#include "support.h"

#include "sound/signal/frames.h"
#include "tlnmf/sound.h"

/* Settings of task "frames". */
static tl_settings frames_of(int64_t M, int64_t hop, int64_t shifts, tl_window window)
{
    tl_settings f = defaults_of(TL_TASK_FRAMES);
    f.frame = M;
    f.hop = hop;
    f.shifts = shifts;
    f.window = (int32_t)window;
    return f;
}

static int64_t count_of(tlnmf_ctx *ctx, const tl_settings *f, int64_t length)
{
    int64_t N;
    assert_ok(ctx, tlnmf_frames_count(ctx, f, length, &N));
    return N;
}

/* Frame n of shift s begins at sample (n + 1) hop - M - floor(s hop / S). */
static void frames_are_where_they_should_be(void **state)
{
    (void)state;
    enum { M = 7, HOP = 3, S = 2, LENGTH = 20 };
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 4, 0);
    tl_settings f = frames_of(M, HOP, S, TL_WINDOW_SINE);
    int64_t N = count_of(ctx, &f, LENGTH);
    double *x = new_normals(&rng, LENGTH), *Y = new_doubles(S * M * N), w[M];
    assert_ok(ctx, tlnmf_frames_window(ctx, &f, w));
    assert_ok(ctx, tlnmf_frames_analyse(ctx, &f, x, LENGTH, Y));
    for (int64_t s = 0; s < S; s++)
        for (int64_t m = 0; m < M; m++)
            for (int64_t n = 0; n < N; n++) {
                int64_t t = (n + 1) * HOP - M - s * HOP / S + m;
                double want = t >= 0 && t < LENGTH ? w[m] * x[t] : 0.0;
                assert_near(Y[(s * M + m) * N + n], want, 0.0);
            }
    free(x);
    free(Y);
    tlnmf_ctx_free(ctx);
}

/* The frames of the music notes, but for the window, which is the paper's own there. */
static void notes_have_the_papers_frames(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_settings f = frames_of(NOTES_M, 100, 1, TL_WINDOW_RECTANGULAR);
    assert_int_equal(count_of(ctx, &f, NOTES_LENGTH), NOTES_N);
    tlnmf_ctx_free(ctx);
}

static void windows_match_their_definitions(void **state)
{
    (void)state;
    enum { M = 40 };
    tlnmf_ctx *ctx = new_ctx();
    double w[M];
    for (int window = TL_WINDOW_TUKEY; window <= TL_WINDOW_KAISER; window++) {
        tl_settings f = frames_of(M, 10, 1, (tl_window)window);
        assert_ok(ctx, tlnmf_frames_window(ctx, &f, w));
        for (int m = 0; m < M; m++) {
            assert_near(w[m], w[M - 1 - m], 1e-15); /* symmetric */
            assert_true(w[m] > 0.0 && w[m] <= 1.0);
        }
        assert_true(w[M / 2] > 0.99);
    }
    tl_settings f = frames_of(M, 10, 1, TL_WINDOW_TUKEY);
    assert_ok(ctx, tlnmf_frames_window(ctx, &f, w));
    assert_near(w[0], 0.5 - 0.5 * cos(0.25 * acos(-1.0)), 1e-15);
    assert_near(w[2], 1.0, 0.0); /* a tenth of the frame is not flat: two samples at each end */
    f.window = TL_WINDOW_SINE;
    assert_ok(ctx, tlnmf_frames_window(ctx, &f, w));
    assert_near(w[4], sin(acos(-1.0) * 4.5 / M), 1e-15);
    f.window = TL_WINDOW_KAISER;
    f.beta = 0.0;
    assert_ok(ctx, tlnmf_frames_window(ctx, &f, w));
    assert_near(w[0], 1.0, 0.0); /* beta = 0 is the rectangular window */
    tlnmf_ctx_free(ctx);
}

static void sound_is_reconstructed(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 0);
    for (int i = 0; i < 60; i++) {
        int64_t M = pick(&rng, 2, 90), hop = pick(&rng, 1, (M + 1) / 2);
        tl_settings f = frames_of(M, hop, pick(&rng, 1, hop < 9 ? hop : 9), (tl_window)(i % 5));
        int64_t length = pick(&rng, 1, 300), N = count_of(ctx, &f, length);
        double *x = new_normals(&rng, length), *y = new_normals(&rng, length),
               *Y = new_doubles(f.shifts * M * N);
        if (f.window == TL_WINDOW_KAISER)
            f.beta = 4.0;
        assert_ok(ctx, tlnmf_frames_analyse(ctx, &f, x, length, Y));
        assert_ok(ctx, tlnmf_frames_synthesise(ctx, &f, Y, length, y));
        assert_true(largest_difference(length, x, y) < 1e-13);
        free(x);
        free(y);
        free(Y);
    }
    /* if the window has no zeros, the hop may be a whole frame */
    tl_settings f = frames_of(16, 16, 1, TL_WINDOW_RECTANGULAR);
    double w[16];
    assert_ok(ctx, tlnmf_frames_window(ctx, &f, w));
    tlnmf_ctx_free(ctx);
}

/* Defaults: the hop is half a frame, 8 shifts but at most hop, the Tukey window. */
static void options_have_defaults(void **state)
{
    (void)state;
    static const int64_t cases[][3] = {{40, 20, 8}, {9, 4, 4}, {2, 1, 1}}; /* frame, hop, shifts */
    tlnmf_ctx *ctx = new_ctx();
    double automatic[40], tukey[40];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tl_settings f = defaults_of(TL_TASK_FRAMES);
        f.frame = cases[i][0];
        tl_frames found = tl_frames_from(&f);
        assert_int_equal(found.hop, cases[i][1]);
        assert_int_equal(found.shifts, cases[i][2]);
        assert_ok(ctx, tlnmf_frames_window(ctx, &f, automatic));
        f.window = TL_WINDOW_TUKEY;
        assert_ok(ctx, tlnmf_frames_window(ctx, &f, tukey));
        assert_memory_equal(automatic, tukey, (size_t)cases[i][0] * sizeof *tukey);
    }
    tlnmf_ctx_free(ctx);
}

static void expect_refusal(tlnmf_ctx *ctx, tlnmf_error error, const char *message)
{
    assert_int_equal(error, TLNMF_ERR_OPTION);
    if (strstr(tlnmf_message(ctx), message) == NULL)
        fail_msg("\"%s\" instead of \"%s\"", tlnmf_message(ctx), message);
}

static void lossy_framings_are_refused(void **state)
{
    (void)state;
    const struct {
        int64_t M, hop, shifts;
        tl_window window;
        const char *message;
    } bad[] = {
        {0, 0, 0, TL_WINDOW_SINE, "frame is required"},
        {1, 1, 1, TL_WINDOW_SINE, "frame = 1 is outside [2, 1048576]"},
        {8, 9, 1, TL_WINDOW_SINE, "hop = 9 samples is outside [1, 8]"},
        {8, -1, 1, TL_WINDOW_SINE, "hop = -1 is outside [0, 1048576]"},
        {8, 4, 5, TL_WINDOW_SINE, "shifts = 5 is outside [1, 4], the hop"},
        {8, 4, 1, (tl_window)9, "window = 9"},
        {512, 512, 1, TL_WINDOW_HANN, "window hann with hop 512 of 512 samples cannot reconstruct"},
        {512, 512, 1, TL_WINDOW_TUKEY,
         "window tukey with hop 512 of 512 samples cannot reconstruct"},
    };
    tlnmf_ctx *ctx = new_ctx();
    double x[1] = {0.0}, Y[64], w[512];
    int64_t N;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tl_settings f = frames_of(bad[i].M, bad[i].hop, bad[i].shifts, bad[i].window);
        expect_refusal(ctx, tlnmf_frames_count(ctx, &f, 1, &N), bad[i].message);
        expect_refusal(ctx, tlnmf_frames_window(ctx, &f, w), bad[i].message);
        expect_refusal(ctx, tlnmf_frames_analyse(ctx, &f, x, 1, Y), bad[i].message);
        expect_refusal(ctx, tlnmf_frames_synthesise(ctx, &f, Y, 1, x), bad[i].message);
    }
    tl_settings f = frames_of(8, 4, 1, TL_WINDOW_SINE);
    assert_int_equal(tlnmf_frames_analyse(ctx, &f, x, 0, Y), TLNMF_ERR_SHAPE);
    assert_int_equal(tlnmf_frames_analyse(ctx, &f, x, INT64_MAX, Y), TLNMF_ERR_SHAPE);
    assert_int_equal(tlnmf_frames_count(ctx, &f, INT64_MAX, &N), TLNMF_ERR_TOO_LARGE);
    assert_int_equal(tlnmf_frames_count(ctx, &f, INT64_MIN, &N), TLNMF_ERR_SHAPE);
    assert_int_equal(tlnmf_frames_count(ctx, &f, -1, &N), TLNMF_ERR_SHAPE);
    assert_string_equal(tlnmf_message(ctx), "length = -1 samples: it must not be negative");
    assert_ok(ctx, tlnmf_frames_count(ctx, &f, 0, &N));
    assert_int_equal(N, 0);
    tlnmf_sound *sound;
    assert_int_equal(tlnmf_sound_from_array(ctx, x, INT64_MAX, 2, 8000.0, &sound), TLNMF_ERR_SHAPE);
    f.taper = NAN;
    expect_refusal(ctx, tlnmf_frames_window(ctx, &f, w), "taper = nan is outside [0, 1]");
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_where_they_should_be),
        cmocka_unit_test(notes_have_the_papers_frames),
        cmocka_unit_test(windows_match_their_definitions),
        cmocka_unit_test(sound_is_reconstructed),
        cmocka_unit_test(options_have_defaults),
        cmocka_unit_test(lossy_framings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
