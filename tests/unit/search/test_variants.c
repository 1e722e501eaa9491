/* Variants of the fast solvers: weights of frames in JD, products in single precision. */
#include "support.h"

#include "linalg/linalg.h"

enum { M = 6, N = 12 };

/* S realisations of `frames` frames of white noise whose variances differ by frame. */
static double *draw_frames(tl_rng *rng, int64_t S, int64_t frames)
{
    double *Y = new_normals(rng, S * M * frames);
    for (int64_t i = 0; i < S * M * frames; i++)
        Y[i] *= 1.0 + (double)(i % frames) + (double)(i / frames % M);
    return Y;
}

static tlnmf_result *diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data, tlnmf_transform transform)
{
    tlnmf_settings opt;
    tlnmf_settings_init(&opt);
    opt.eps = 0.1;
    opt.tol = 1e-15;
    opt.transform = (int32_t)transform;
    tlnmf_result *result;
    assert_ok(ctx, tlnmf_diagonalise(ctx, data, &opt, NULL, NULL, NULL, &result));
    return result;
}

/* A frame of weight w counts as w copies of it: the same L a frame, and the same Phi. */
static void weights_are_copies(void **state)
{
    (void)state;
    enum { S = 4 };
    tl_rng rng;
    tl_rng_seed(&rng, TLNMF_STREAM_OWN, 5, 0);
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(&rng, S, N), weights[N];
    int64_t copies = 0;
    for (int64_t row = 0; row < S * M; row++)
        Y[row * N + 7] *= 1e-12; /* a frame that the floor does not see */
    for (int64_t n = 0; n < N; n++)
        copies += (int64_t)(weights[n] = (double)(n % 4)); /* some have none */
    double *repeated = new_doubles(S * M * copies);
    for (int64_t row = 0; row < S * M; row++)
        for (int64_t n = 0, to = 0; n < N; n++)
            for (int64_t i = 0; i < n % 4; i++)
                repeated[row * copies + to++] = Y[row * N + n];
    tlnmf_data *once, *often;
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, S, M, N, &once));
    assert_ok(ctx, tlnmf_data_set_weights(ctx, once, weights));
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, repeated, S, M, copies, &often));
    for (int start = TLNMF_TRANSFORM_RANDOM; start <= TLNMF_TRANSFORM_DCT; start++) {
        tlnmf_result *a = diagonalise(ctx, once, (tlnmf_transform)start);
        tlnmf_result *b = diagonalise(ctx, often, (tlnmf_transform)start);
        tlnmf_info ia, ib;
        tlnmf_result_describe(a, &ia);
        tlnmf_result_describe(b, &ib);
        assert_close(ia.L / N, ib.L / (double)copies, 1e-10);
        for (int64_t i = 0; i < M * M; i++)
            assert_near(tlnmf_result_Phi(a)[i], tlnmf_result_Phi(b)[i], 1e-5);
        tlnmf_result_free(a);
        tlnmf_result_free(b);
    }
    tlnmf_data_free(once);
    tlnmf_data_free(often);
    tlnmf_ctx_free(ctx);
    free(Y);
    free(repeated);
}

static void weights_that_cannot_be(void **state)
{
    (void)state;
    tl_rng rng;
    tl_rng_seed(&rng, TLNMF_STREAM_OWN, 6, 0);
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(&rng, 2, N), weights[N] = {1.0};
    tlnmf_data *data;
    tlnmf_result *result;
    tlnmf_settings opt;
    tlnmf_settings_init(&opt);
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, 2, M, N, &data));
    weights[3] = -1.0;
    assert_int_equal(tlnmf_data_set_weights(ctx, data, weights), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "the weight of frame 3 is -1");
    weights[3] = NAN;
    assert_int_equal(tlnmf_data_set_weights(ctx, data, weights), TLNMF_ERR_DATA);
    memset(weights, 0, sizeof weights);
    assert_int_equal(tlnmf_data_set_weights(ctx, data, weights), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "the weights of the frames have the mean 0");
    weights[0] = 1e-300;
    assert_ok(ctx, tlnmf_data_set_weights(ctx, data, weights));
    opt.k = 2;
    assert_int_equal(tlnmf_fit(ctx, data, &opt, NULL, NULL, NULL, &result), TLNMF_ERR_OPTION);
    opt.solver = TLNMF_SOLVER_PAPER;
    assert_int_equal(tlnmf_diagonalise(ctx, data, &opt, NULL, NULL, NULL, &result),
                     TLNMF_ERR_OPTION);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

static void fit_notes(tlnmf_ctx *ctx, const tlnmf_data *data, int method, int precision,
                      tlnmf_info *info)
{
    tlnmf_settings opt;
    tlnmf_settings_init(&opt);
    opt.k = 2;
    opt.eps = 5e-7;
    opt.method = method;
    opt.precision = precision;
    opt.transform = TLNMF_TRANSFORM_DCT;
    opt.J = 400;
    tlnmf_result *result;
    assert_ok(ctx, tlnmf_fit(ctx, data, &opt, NULL, NULL, NULL, &result));
    tlnmf_result_describe(result, info);
    tlnmf_result_free(result);
}

/* Mixed precision ends as low as double does, at a Phi that is as orthogonal. */
static void mixed_ends_where_double_does(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double theta[2], *Y = new_doubles(TLNMF_NOTES_M * TLNMF_NOTES_N);
    tlnmf_data *data;
    assert_ok(ctx, tlnmf_random_phases(ctx, 3, TLNMF_STREAM_OWN, 2, theta));
    assert_ok(ctx, tlnmf_simulate_notes(ctx, 1, theta, Y, NULL));
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, 1, TLNMF_NOTES_M, TLNMF_NOTES_N, &data));
    for (int method = TLNMF_METHOD_TL; method <= TLNMF_METHOD_JD; method++) {
        tlnmf_info fine, mixed;
        fit_notes(ctx, data, method, TLNMF_PRECISION_DOUBLE, &fine);
        fit_notes(ctx, data, method, TLNMF_PRECISION_MIXED, &mixed);
        assert_true(mixed.C != fine.C); /* it did go another way */
        assert_near(mixed.C, fine.C, 5e-4);
        assert_true(mixed.gradient_norm < 5.0 * fine.gradient_norm);
        assert_near(mixed.C, mixed.L + mixed.I, 1e-6);
        assert_true(mixed.orthogonality < 1e-13);
    }
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

/* Several columns a frame, one of them silent: sweeps in single precision spread weights as those
 * in double do. */
static void mixed_with_several_columns(void **state)
{
    (void)state;
    enum { S = 3 };
    tl_rng rng;
    tl_rng_seed(&rng, TLNMF_STREAM_OWN, 9, 0);
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(&rng, S, N);
    for (int64_t row = 0; row < S * M; row++)
        Y[row * N + 4] = 0.0;
    tlnmf_data *data;
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, S, M, N, &data));
    tlnmf_settings opt;
    tlnmf_settings_init(&opt);
    opt.k = 2;
    opt.eps = 1.0;
    opt.method = TLNMF_METHOD_TL;
    opt.hops = 0;
    opt.J = 15; /* the sweeps, and nothing else */
    double C[2];
    for (int i = 0; i < 2; i++) {
        tlnmf_result *result;
        tlnmf_info info;
        opt.precision = i;
        assert_ok(ctx, tlnmf_fit(ctx, data, &opt, NULL, NULL, NULL, &result));
        tlnmf_result_describe(result, &info);
        C[i] = info.C;
        tlnmf_result_free(result);
    }
    assert_near(C[1], C[0], 1e-3);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

/* The rule: 6e-8 max |y_n| / sqrt(eps) below 1e-3. */
static void mixed_is_refused_where_single_blurs(void **state)
{
    (void)state;
    tl_rng rng;
    tl_rng_seed(&rng, TLNMF_STREAM_OWN, 8, 0);
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(&rng, 1, N), longest = 0.0;
    for (int64_t n = 0; n < N; n++) {
        double sum = 0.0;
        for (int64_t m = 0; m < M; m++)
            sum += Y[m * N + n] * Y[m * N + n];
        longest = fmax(longest, sqrt(sum));
    }
    tlnmf_data *data;
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, 1, M, N, &data));
    tlnmf_settings opt;
    tlnmf_settings_init(&opt);
    opt.k = 2;
    opt.J = 3;
    opt.precision = TLNMF_PRECISION_MIXED;
    tlnmf_result *result;
    double edge = 6e-5 * longest;
    opt.eps = 1.01 * edge * edge;
    assert_ok(ctx, tlnmf_fit(ctx, data, &opt, NULL, NULL, NULL, &result));
    tlnmf_result_free(result);
    opt.eps = 0.99 * edge * edge;
    assert_int_equal(tlnmf_fit(ctx, data, &opt, NULL, NULL, NULL, &result), TLNMF_ERR_OPTION);
    assert_non_null(strstr(tlnmf_message(ctx), "single precision would blur V"));
    assert_int_equal(tlnmf_diagonalise(ctx, data, &opt, NULL, NULL, NULL, &result),
                     TLNMF_ERR_OPTION);
    opt.eps = 1e40; /* C does not blur, but 1/eps leaves the range of single precision */
    for (int64_t i = 0; i < M * N; i++)
        Y[i] *= 1e20;
    tlnmf_data *loud;
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, 1, M, N, &loud));
    assert_int_equal(tlnmf_fit(ctx, loud, &opt, NULL, NULL, NULL, &result), TLNMF_ERR_OPTION);
    assert_non_null(strstr(tlnmf_message(ctx), "do not fit the range"));
    tlnmf_data_free(loud);
    opt.eps = 1.0;
    opt.solver = TLNMF_SOLVER_PAPER;
    assert_int_equal(tlnmf_fit(ctx, data, &opt, NULL, NULL, NULL, &result), TLNMF_ERR_OPTION);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_copies),
        cmocka_unit_test(weights_that_cannot_be),
        cmocka_unit_test(mixed_ends_where_double_does),
        cmocka_unit_test(mixed_with_several_columns),
        cmocka_unit_test(mixed_is_refused_where_single_blurs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
