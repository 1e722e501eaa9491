/* Data and settings that defeat the model: warnings, the default floor, the certificate. */
#include "support.h"

#include "data/data.h"

enum { S = 3, M = 6, N = 40, K = 2, MOST = 4 };

typedef struct heard {
    int count;
    char text[MOST][256];
} heard;

static void hear(tlnmf_log_level level, const char *message, void *user)
{
    heard *h = user;
    if (level == TLNMF_LOG_WARNING && h->count < MOST)
        snprintf(h->text[h->count++], sizeof h->text[0], "%s", message);
}

/* Centred realisations plus `offset` in every entry. */
static double *new_Y(int64_t rows, int64_t frames, double offset)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 4, 0);
    double *Y = new_normals(&rng, S * rows * frames);
    for (int64_t i = 0; i < S * rows * frames; i++)
        Y[i] = Y[i] * (i % frames < frames / 2 ? 1.0 : 3.0) + offset;
    return Y;
}

static heard fit(const double *Y, int64_t rows, int64_t frames, const char *options,
                 tlnmf_record **model)
{
    heard h = {0};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings;
    tlnmf_data *data = data_of(ctx, Y, S, rows, frames);
    tlnmf_ctx_set_log(ctx, hear, &h);
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, options));
    assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, model));
    for (int i = 0; i < h.count; i++) /* the model keeps them */
        assert_string_equal(tlnmf_record_get_text_at(*model, "caveats", (size_t)i), h.text[i]);
    assert_null(tlnmf_record_get_text_at(*model, "caveats", (size_t)h.count));
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return h;
}

static heard fit_and_forget(const double *Y, int64_t rows, int64_t frames, const char *options)
{
    tlnmf_record *model;
    heard h = fit(Y, rows, frames, options, &model);
    tlnmf_record_free(model);
    return h;
}

static double power_of(const double *Y)
{
    double sum = 0.0;
    for (int64_t i = 0; i < S * M * N; i++)
        sum += Y[i] * Y[i];
    return sum / (S * M * N);
}

/* Centred data: no warning, and eps is 0.01 of the mean power. */
static void centred_data_are_quiet(void **state)
{
    (void)state;
    double *Y = new_Y(M, N, 0.0);
    tlnmf_record *model;
    assert_int_equal(fit(Y, M, N, "k=2 method=jd", &model).count, 0);
    assert_close(tlnmf_record_get_real(model, "eps"), 0.01 * power_of(Y), 1e-13);
    assert_int_equal(tlnmf_record_get_integer(model, "doubt"), 3);
    tlnmf_record_free(model);
    free(Y);
}

/* An offset: a warning, the floor of the data without it, no certificate. */
static void an_offset_is_noticed(void **state)
{
    (void)state;
    double *Y = new_Y(M, N, 100.0), *centred = new_Y(M, N, 0.0);
    tlnmf_record *model;
    heard h = fit(Y, M, N, "k=2 method=jd", &model);
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.text[0], "subtract from each entry of the frames its mean"));
    assert_near(tlnmf_record_get_real(model, "eps") / (0.01 * power_of(centred)), 1.0, 0.02);
    assert_int_equal(tlnmf_record_get_integer(model, "doubt"), 5);
    assert_true(isnan(tlnmf_record_get_real(model, "certificate")));
    tlnmf_record_free(model);
    /* amplitudes at a fixed transform have a mean */
    assert_int_equal(fit_and_forget(Y, M, N, "k=2 method=nmf transform=identity").count, 0);
    free(centred);
    free(Y);
}

/* Offsets of single realisations, whose sum is 0. */
static void offsets_of_realisations_are_noticed(void **state)
{
    (void)state;
    double *Y = new_Y(M, N, 0.0), *centred = new_Y(M, N, 0.0);
    tlnmf_record *model;
    for (int64_t i = 0; i < S * M * N; i++) {
        int64_t s = i / (M * N);
        Y[i] += 30.0 * cos(6.283185307179586 * (double)s / (double)S);
    }
    heard h = fit(Y, M, N, "k=2 method=jd", &model);
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.text[0], "from each entry of each realisation its mean"));
    assert_near(tlnmf_record_get_real(model, "eps") / (0.01 * power_of(centred)), 1.0, 0.05);
    assert_int_equal(tlnmf_record_get_integer(model, "doubt"), 5);
    tlnmf_record_free(model);
    /* the same for all realisations: the other warning */
    for (int64_t i = 0; i < S * M * N; i++)
        Y[i] = centred[i] + 30.0;
    h = fit_and_forget(Y, M, N, "k=2 method=jd");
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.text[0], "over all frames and realisations"));
    free(centred);
    free(Y);
}

static void a_floor_that_hides_the_data_is_noticed(void **state)
{
    (void)state;
    double *Y = new_Y(M, N, 0.0);
    tlnmf_record *model;
    heard h = fit(Y, M, N, "k=2 method=jd eps=10", &model);
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.text[0], "eps = 10 hides the data"));
    assert_int_equal(tlnmf_record_get_integer(model, "doubt"), 6);
    assert_true(isnan(tlnmf_record_get_real(model, "certificate")));
    assert_true(tlnmf_record_get_real(model, "hidden") > 0.1);
    tlnmf_record_free(model);
    free(Y);
}

/* A bad channel raises the default eps above the others; with a given eps it does no harm. */
static void a_row_with_most_of_the_power_is_noticed(void **state)
{
    (void)state;
    double *Y = new_Y(M, N, 0.0), *bad = new_Y(M, N, 0.0);
    for (int64_t i = 0; i < S * M * N; i++) {
        int64_t m = i / N % M;
        Y[i] *= m == 1 ? 5.0 : 1.0; /* scales of 1 .. 5 are usual */
        bad[i] *= m == 3 ? 100.0 : 1.0;
    }
    assert_int_equal(fit_and_forget(Y, M, N, "k=2 method=jd J=3").count, 0);
    heard h = fit_and_forget(bad, M, N, "k=2 method=jd J=3");
    assert_int_equal(h.count, 1);
    assert_string_equal(
        h.text[0], "entry 3 of the frames has 99.9 % of the power, so the default eps may hide "
                   "the others: omit it if it is a bad channel; otherwise scale the entries to "
                   "similar power, or set eps");
    assert_int_equal(fit_and_forget(bad, M, N, "k=2 method=jd J=3 eps=0.01").count, 0);
    assert_int_equal(fit_and_forget(bad, M, N, "k=2 method=jd J=3 eps-rel=1e-8").count, 0);
    assert_int_equal(fit_and_forget(bad, M, N, "k=2 method=nmf J=3 transform=dct").count, 0);
    free(bad);
    free(Y);
}

/* One bad sample: the artefact is a frame, not a channel. */
static void a_frame_with_most_of_the_power_is_noticed(void **state)
{
    (void)state;
    double *Y = new_Y(M, N, 0.0);
    Y[(1 * M + 2) * N + 33] = 500.0;
    heard h = fit_and_forget(Y, M, N, "k=2 method=jd J=3");
    assert_int_equal(h.count, 1);
    assert_string_equal(h.text[0],
                        "frame 33 has 98.6 % of the power, so the default eps may hide the others: "
                        "if it is an artefact, omit it or mark it as missing; otherwise set eps");
    assert_int_equal(fit_and_forget(Y, M, N, "k=2 method=jd J=3 eps=0.01").count, 0);
    free(Y);
}

static void shapes_and_constant_rows_are_noticed(void **state)
{
    (void)state;
    double *Y = new_Y(M, N, 0.0);
    heard h = fit_and_forget(Y, 30, 8, "k=2 J=3");
    assert_int_equal(h.count, 1);
    assert_string_equal(h.text[0],
                        "frames of length 30, but only 8 frames: check the order of the axes");
    h = fit_and_forget(Y, M, N, "k=7 J=3");
    assert_int_equal(h.count, 1);
    assert_string_equal(h.text[0], "k is above min(M, N) = 6: W H can fit any V exactly");
    for (int64_t s = 0; s < S; s++)
        for (int64_t n = 0; n < N; n++) {
            Y[(s * M + 1) * N + n] = 0.0; /* harmless */
            Y[(s * M + 4) * N + n] = 0.1;
        }
    h = fit_and_forget(Y, M, N, "k=2 J=3");
    assert_int_equal(h.count, 1);
    assert_string_equal(h.text[0], "entry 4 of the frames is constant: omit it");
    for (int64_t s = 0; s < S; s++)
        for (int64_t n = 0; n < N; n++)
            Y[(s * M + 5) * N + n] = 0.1;
    h = fit_and_forget(Y, M, N, "k=2 J=3");
    assert_int_equal(h.count, 1);
    assert_string_equal(h.text[0],
                        "2 entries of the frames are constant, the first is entry 4: omit them");
    free(Y);
}

/* A comparison of several k warns once, before its fits. */
static void comparisons_warn_once(void **state)
{
    (void)state;
    heard h = {0};
    double *Y = new_Y(M, N, 100.0);
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings;
    tlnmf_record *ranks;
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    tlnmf_ctx_set_log(ctx, hear, &h);
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, "method=jd J=2 eps=1e-26"));
    assert_ok(ctx, tlnmf_compare_ranks(ctx, data, settings, (const int64_t[]){1, 2}, NULL, &ranks));
    assert_int_equal(h.count, 2);
    assert_non_null(strstr(h.text[0], "subtract from each entry of the frames its mean"));
    assert_non_null(strstr(h.text[1], "C is rounding noise"));
    tlnmf_record_free(ranks);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

/* Missing frames and the ends of moving blocks do not change the mean. */
static void the_mean_is_that_of_the_frames_present(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    const int64_t shape[3] = {S, M, N};
    double *Y = new_Y(M, N, 2.0);
    tlnmf_data *all = data_of(ctx, Y, S, M, N), *moving, *incomplete;
    assert_ok(ctx, tlnmf_data_from_neighbours(ctx, Y, shape, TLNMF_NEIGHBOURS_MOVING, 5, &moving));
    assert_close(moving->mean_square, all->mean_square, 1e-13);
    assert_true(moving->observed == S * N);
    for (int64_t i = 0; i < S * M * N; i++) {
        bool gone = i % N >= N / 2;
        Y[i] = gone ? NAN : 7.0;
    }
    assert_ok(ctx, tlnmf_data_from_incomplete(ctx, Y, shape, &incomplete));
    assert_close(tl_data_mean_share(incomplete), 1.0, 1e-13);
    const tlnmf_record *about = tlnmf_data_record(incomplete);
    double power = tlnmf_record_get_real(about, "mean_power");
    assert_close(tlnmf_record_get_real(about, "mean_share"), 1.0, 1e-13);
    assert_close(tlnmf_record_get_real(about, "centred_power"), 1e-10 * power, 1e-13);
    assert_int_equal(incomplete->constant_rows, M);
    tlnmf_data_free(incomplete);
    tlnmf_data_free(moving);
    tlnmf_data_free(all);
    free(Y);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centred_data_are_quiet),
        cmocka_unit_test(an_offset_is_noticed),
        cmocka_unit_test(offsets_of_realisations_are_noticed),
        cmocka_unit_test(a_floor_that_hides_the_data_is_noticed),
        cmocka_unit_test(a_row_with_most_of_the_power_is_noticed),
        cmocka_unit_test(a_frame_with_most_of_the_power_is_noticed),
        cmocka_unit_test(shapes_and_constant_rows_are_noticed),
        cmocka_unit_test(comparisons_warn_once),
        cmocka_unit_test(the_mean_is_that_of_the_frames_present),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
