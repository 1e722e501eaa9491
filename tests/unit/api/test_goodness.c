/* The verdict of apply: right on simulated data, the same for any number of threads, and withheld
 * where the data cannot decide. */
#include "support.h"

enum { M = 12, N = 100, K = 3, SAME = 1, OTHER = 2 };

static const char well[] = "about as well as its own data",
                  different[] = "no: these data are different";

/* Data of the Gaussian composite model. */
static tlnmf_data *sample(tlnmf_ctx *ctx, int64_t S, int64_t frames, uint64_t truth, uint64_t seed)
{
    double *Y = new_doubles(S * M * frames);
    simulate_gcm(ctx, (gcm_recipe){S, M, frames, K, truth, seed, TL_STREAM_OWN}, Y, NULL, NULL);
    tlnmf_data *data = data_of(ctx, Y, S, M, frames);
    free(Y);
    return data;
}

static tlnmf_data *noise(tlnmf_ctx *ctx, int64_t S, uint64_t seed)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, seed, 0);
    double *Y = new_normals(&rng, S * M * N);
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    free(Y);
    return data;
}

static tlnmf_record *learn(tlnmf_ctx *ctx, const tlnmf_data *data, tl_method method)
{
    tl_settings settings = fit_settings(K);
    tlnmf_record *model;
    settings.method = (int32_t)method;
    assert_ok(ctx, tlnmf_fit(ctx, data, &settings, NULL, &model));
    return model;
}

static tlnmf_record *apply(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_data *data,
                           int64_t threads)
{
    tl_settings settings = defaults_of(TL_TASK_APPLY);
    tlnmf_record *applied;
    settings.threads = threads;
    assert_ok(ctx, tlnmf_apply(ctx, model, data, &settings, &applied));
    assert_int_equal(tlnmf_record_get_integer(applied, "own_data"), 0);
    return applied;
}

/* Applies, checks the verdict (any of the two) and frees the data. */
static void expect_words(tlnmf_ctx *ctx, const tlnmf_record *model, tlnmf_data *data,
                         const char *words, const char *or_begins)
{
    tlnmf_record *applied = apply(ctx, model, data, 1);
    const char *fits = tlnmf_record_get_text(applied, "fits");
    if (or_begins == NULL || strncmp(fits, or_begins, strlen(or_begins)) != 0)
        assert_string_equal(fits, words);
    tlnmf_record_free(applied);
    tlnmf_data_free(data);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static void the_verdict_is_right_for_any_number_of_realisations(void **state)
{
    (void)state;
    static const int64_t own[] = {40, 20, 10, 3}, new[] = {10, 5, 3, 40};
    tlnmf_ctx *ctx = new_ctx();
    for (int i = 0; i < 4; i++) {
        tlnmf_data *data = sample(ctx, own[i], N, SAME, 3);
        tlnmf_record *model = learn(ctx, data, i == 1 ? TL_METHOD_JD : TL_METHOD_TL);
        assert_int_equal(tlnmf_record_get_integer(model, "realisations"), own[i]);
        expect_words(ctx, model, sample(ctx, new[i], N, SAME, 4), well, NULL);
        expect_words(ctx, model, sample(ctx, new[i], N, OTHER, 5), different, NULL);
        expect_words(ctx, model, noise(ctx, new[i], 6), different, NULL);
        expect_words(ctx, model, sample(ctx, 1, N, SAME, 7), well, "cannot tell");
        tlnmf_record_free(model);
        tlnmf_data_free(data);
    }
    tlnmf_ctx_free(ctx);
}

static void a_single_realisation_never_fits_by_accident(void **state)
{
    (void)state;
    static const int64_t own[] = {1, 1, 5}, new[] = {1, 20, 100};
    tlnmf_ctx *ctx = new_ctx();
    for (int i = 0; i < 3; i++) {
        tlnmf_data *data = sample(ctx, own[i], N, SAME, 3);
        tlnmf_record *model = learn(ctx, data, TL_METHOD_TL);
        expect_words(ctx, model, noise(ctx, new[i], 6), different, "cannot tell");
        tlnmf_record_free(model);
        tlnmf_data_free(data);
    }
    tlnmf_ctx_free(ctx);
}

/* Data with heavy tails have a larger misfit, in proportion to 1 / S. The model sees that its own
 * data have it. */
static tlnmf_data *heavy(tlnmf_ctx *ctx, int64_t S, uint64_t seed)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, seed, 1);
    double *Y = new_normals(&rng, S * M * N);
    for (int64_t i = 0; i < S * M * N; i++) {
        int64_t m = i / N % M, n = i % N;
        double v = 0.0;
        for (int64_t k = 0; k < K; k++)
            v += exp(2.0 * sin((double)(m * (k + 1)))) * (double)(1 + n * (7 * k + 3) % 11);
        Y[i] *= sqrt(v) * (tl_rng_uniform(&rng) < 0.05 ? 5.0 : 0.7);
    }
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    free(Y);
    return data;
}

static void heavy_tails_are_not_a_difference(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = heavy(ctx, 40, 3);
    tl_settings settings = fit_settings(K);
    tlnmf_record *model;
    settings.method = TL_METHOD_NMF;
    settings.transform = TL_TRANSFORM_IDENTITY;
    assert_ok(ctx, tlnmf_fit(ctx, data, &settings, NULL, &model));
    for (uint64_t seed = 4; seed < 7; seed++)
        expect_words(ctx, model, heavy(ctx, 4, seed),
                     "cannot tell: the numbers of realisations differ, and the model does not "
                     "describe its own data well",
                     NULL);
    tlnmf_record_free(model);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* More frames than are simulated, and fewer; also the same bits on any number of threads. */
static void the_figures_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const char *const names[] = {"excess", "excess_error", "excess_random"};
    static const int64_t frames[] = {7, 450};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = sample(ctx, 5, N, SAME, 3);
    tlnmf_record *model = learn(ctx, data, TL_METHOD_NMF);
    double error[2];
    for (int i = 0; i < 2; i++) {
        tlnmf_data *new = sample(ctx, 4, frames[i], SAME, 4);
        tlnmf_record *one = apply(ctx, model, new, 1), *three = apply(ctx, model, new, 3);
        for (int j = 0; j < 3; j++) {
            double x = tlnmf_record_get_real(one, names[j]);
            assert_true(isfinite(x) && x == tlnmf_record_get_real(three, names[j]));
        }
        error[i] = tlnmf_record_get_real(one, "excess_error");
        tlnmf_record_free(one);
        tlnmf_record_free(three);
        tlnmf_data_free(new);
    }
    assert_true(error[0] > 1.5 * error[1]);
    tlnmf_record_free(model);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* ---- no verdict ------------------------------------------------------------------------------ */

static const char odd[] =
    "cannot tell: frames of these data are weighted, masked, missing or overlapping";

/* Data that are not S independent realisations of every frame. */
static void new_data_may_be_unsuitable(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = sample(ctx, 5, N, SAME, 3), *new;
    tlnmf_record *model = learn(ctx, data, TL_METHOD_TL);
    double *Y = new_doubles(5 * M * N), *ones = new_doubles(M * N), *Sigma = new_doubles(N * M * M);
    simulate_gcm(ctx, (gcm_recipe){5, M, N, K, SAME, 4, TL_STREAM_OWN}, Y, NULL, NULL);
    for (int64_t i = 0; i < M * N; i++)
        ones[i] = 1.0;
    for (int64_t i = 0; i < N * M * M; i++)
        Sigma[i] = i % (M * M) % (M + 1) == 0 ? 1.0 : 0.0;
    new = data_of(ctx, Y, 5, M, N);
    assert_ok(ctx, tlnmf_data_set_weights(ctx, new, ones));
    expect_words(ctx, model, new, odd, NULL);
    new = data_of(ctx, Y, 5, M, N);
    assert_ok(ctx, tlnmf_data_set_mask(ctx, new, ones));
    expect_words(ctx, model, new, odd, NULL);
    assert_ok(ctx, tlnmf_data_from_neighbours(ctx, Y, (int64_t[]){5, M, N}, TLNMF_NEIGHBOURS_MOVING,
                                              3, &new));
    expect_words(ctx, model, new, odd, NULL);
    for (int m = 0; m < M; m++)
        Y[m * N] = (double)NAN;
    assert_ok(ctx, tlnmf_data_from_incomplete(ctx, Y, (int64_t[]){5, M, N}, &new));
    expect_words(ctx, model, new, odd, NULL);
    assert_ok(ctx, tlnmf_data_from_covariances(ctx, Sigma, (int64_t[]){N, M, M}, &new));
    expect_words(ctx, model, new,
                 "cannot tell: these data are covariances of an unknown number of realisations",
                 NULL);
    expect_words(ctx, model, sample(ctx, 5, 4, SAME, 4), "cannot tell: too few frames", NULL);
    simulate_gcm(ctx, (gcm_recipe){5, M, N, K, SAME, 4, TL_STREAM_OWN}, Y, NULL, NULL);
    for (int64_t i = 0; i < 5 * M * N; i++)
        Y[i] *= 1e-6; /* another unit */
    expect_words(ctx, model, data_of(ctx, Y, 5, M, N),
                 "cannot tell: most of these data lie below the eps of the model; check their unit",
                 NULL);
    free(Y);
    free(ones);
    free(Sigma);
    tlnmf_record_free(model);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

static void the_model_may_say_too_little(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = sample(ctx, 5, N, SAME, 3), *new = sample(ctx, 5, N, OTHER, 4);
    tlnmf_record *model = learn(ctx, data, TL_METHOD_TL), *applied;
    double *ones = new_doubles(N);
    tl_settings cut = defaults_of(TL_TASK_APPLY);
    cut.J = 1;
    assert_ok(ctx, tlnmf_apply(ctx, model, new, &cut, &applied));
    assert_string_equal(tlnmf_record_get_text(applied, "fits"),
                        "cannot tell: the fit of H did not converge");
    assert_true(isnan(tlnmf_record_get_real(applied, "excess")));
    tlnmf_record_free(applied);
    tlnmf_record_remove(model, "realisations"); /* as earlier versions wrote it */
    expect_words(ctx, model, sample(ctx, 5, N, SAME, 4),
                 "cannot tell: the model does not say how many realisations it was learnt from",
                 NULL);
    tlnmf_record_remove(model, "I");
    expect_words(ctx, model, sample(ctx, 5, N, SAME, 4),
                 "cannot tell: the model does not say how well it fits its own data", NULL);
    tlnmf_record_free(model);
    for (int n = 0; n < N; n++)
        ones[n] = 1.0 + n % 2;
    assert_ok(ctx, tlnmf_data_set_weights(ctx, data, ones));
    model = learn(ctx, data, TL_METHOD_TL);
    assert_int_equal(tlnmf_record_get_integer(model, "realisations"), 0);
    expect_words(ctx, model, new,
                 "cannot tell: the model was learnt from covariances, or from weighted, masked, "
                 "missing or overlapping frames",
                 NULL);
    tlnmf_record_free(model);
    /* 20 frames of one realisation do not determine a Phi of 12 rows */
    tlnmf_data *few = sample(ctx, 1, 20, SAME, 3);
    model = learn(ctx, few, TL_METHOD_TL);
    expect_words(ctx, model, noise(ctx, 40, 4),
                 "cannot tell: the model was learnt from too few data", NULL);
    tlnmf_record_free(model);
    tlnmf_data_free(few);
    tlnmf_data_free(data);
    free(ones);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_verdict_is_right_for_any_number_of_realisations),
        cmocka_unit_test(a_single_realisation_never_fits_by_accident),
        cmocka_unit_test(heavy_tails_are_not_a_difference),
        cmocka_unit_test(the_figures_do_not_depend_on_threads),
        cmocka_unit_test(new_data_may_be_unsuitable),
        cmocka_unit_test(the_model_may_say_too_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
