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

static tl_result *diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data, tl_transform transform)
{
    tl_settings opt = defaults_of(TL_TASK_JD);
    opt.eps = 0.1;
    opt.tol = 1e-15;
    opt.transform = (int32_t)transform;
    tl_result *result;
    assert_ok(ctx, tl_fit(ctx, data, &opt, NULL, &result));
    return result;
}

/* A frame of weight w counts as w copies: the same L per frame and the same Phi. */
static void weights_are_copies(void **state)
{
    (void)state;
    enum { S = 4 };
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 0);
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(&rng, S, N), weights[N];
    int64_t copies = 0;
    for (int64_t row = 0; row < S * M; row++)
        Y[row * N + 7] *= 1e-12; /* a frame far below the floor */
    for (int64_t n = 0; n < N; n++)
        copies += (int64_t)(weights[n] = (double)(n % 4)); /* some weights are 0 */
    double *repeated = new_doubles(S * M * copies);
    for (int64_t row = 0; row < S * M; row++)
        for (int64_t n = 0, to = 0; n < N; n++)
            for (int64_t i = 0; i < n % 4; i++)
                repeated[row * copies + to++] = Y[row * N + n];
    tlnmf_data *once = data_of(ctx, Y, S, M, N), *often = data_of(ctx, repeated, S, M, copies);
    assert_ok(ctx, tlnmf_data_set_weights(ctx, once, weights));
    for (int start = TL_TRANSFORM_RANDOM; start <= TL_TRANSFORM_DCT; start++) {
        tl_result *a = diagonalise(ctx, once, (tl_transform)start);
        tl_result *b = diagonalise(ctx, often, (tl_transform)start);
        assert_close(a->info.L / N, b->info.L / (double)copies, 1e-10);
        for (int64_t i = 0; i < M * M; i++)
            assert_near(a->Phi[i], b->Phi[i], 1e-5);
        tl_result_free(a);
        tl_result_free(b);
    }
    tlnmf_data_free(once);
    tlnmf_data_free(often);
    tlnmf_ctx_free(ctx);
    free(Y);
    free(repeated);
}

static void invalid_weights_are_refused(void **state)
{
    (void)state;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 6, 0);
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(&rng, 2, N), weights[N] = {1.0};
    tlnmf_data *data = data_of(ctx, Y, 2, M, N);
    weights[3] = -1.0;
    assert_int_equal(tlnmf_data_set_weights(ctx, data, weights), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx),
                        "the weight of frame 3 is -1: weights must be finite and not negative");
    weights[3] = NAN;
    assert_int_equal(tlnmf_data_set_weights(ctx, data, weights), TLNMF_ERR_DATA);
    memset(weights, 0, sizeof weights);
    assert_int_equal(tlnmf_data_set_weights(ctx, data, weights), TLNMF_ERR_DATA);
    assert_string_equal(
        tlnmf_message(ctx),
        "the weights of the frames have the mean 0: it must be positive and finite");
    weights[0] = 1e-300;
    assert_ok(ctx, tlnmf_data_set_weights(ctx, data, weights));
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

/* Compared with the product in double precision, at sizes around the chunk size, with strides. */
static void products_in_single(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1}, {3, 257, 5}, {20, 512, 40}, {7, 600, 1}};
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 7, 0);
    for (int i = 0; i < 8; i++) {
        int64_t m = shapes[i / 2][0], n = shapes[i / 2][1], k = shapes[i / 2][2];
        tl_op op = i % 2 == 0 ? TL_PLAIN : TL_TRANSPOSED;
        int64_t lda = k + 2, ldb = (op == TL_PLAIN ? n : k) + 3, ldc = n + 1;
        double *A = new_normals(&rng, m * lda), *C = new_normals(&rng, m * ldc);
        double *B = new_normals(&rng, (op == TL_PLAIN ? k : n) * ldb), *D = new_doubles(m * ldc);
        memcpy(D, C, (size_t)(m * ldc) * sizeof *D);
        tl_single single;
        assert_ok(ctx, tl_single_create(ctx, m, k, &single));
        tl_multiply(&single.arithmetic,
                    &(tl_product){TL_PLAIN, op, m, n, k, 2.0, A, lda, B, ldb, 0.5, C, ldc});
        tl_multiply(&tl_double,
                    &(tl_product){TL_PLAIN, op, m, n, k, 2.0, A, lda, B, ldb, 0.5, D, ldc});
        double worst = 0.0;
        for (int64_t e = 0; e < m * ldc; e++)
            worst = fmax(worst, fabs(C[e] - D[e]));
        if (!(worst > 0.0 && worst < 3e-5)) /* the error of single precision */
            fail_msg("%lld x %lld x %lld: worst difference %g", (long long)m, (long long)n,
                     (long long)k, worst);
        tl_release(&single.hooks, single.block);
        free(A);
        free(B);
        free(C);
        free(D);
    }
    tlnmf_ctx_free(ctx);
}

static void fit_notes(tlnmf_ctx *ctx, const tlnmf_data *data, int method, int precision,
                      tl_info *info)
{
    tl_settings opt = fit_settings(2);
    opt.eps = 5e-7;
    opt.method = method;
    opt.precision = precision;
    opt.transform = TL_TRANSFORM_DCT;
    opt.J = 400;
    tl_result *result;
    assert_ok(ctx, tl_fit(ctx, data, &opt, NULL, &result));
    *info = result->info;
    tl_result_free(result);
}

/* Mixed precision reaches the C of double precision, and Phi is equally orthogonal. */
static void mixed_ends_where_double_does(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double theta[2], *Y = new_doubles(NOTES_M * NOTES_N);
    assert_ok(ctx, tlnmf_random_phases(ctx, 3, TLNMF_STREAM_OWN, 2, theta));
    simulate_notes(ctx, 1, theta, Y, NULL);
    tlnmf_data *data = data_of(ctx, Y, 1, NOTES_M, NOTES_N);
    for (int method = TL_METHOD_TL; method <= TL_METHOD_JD; method++) {
        tl_info fine, mixed;
        fit_notes(ctx, data, method, TL_PRECISION_DOUBLE, &fine);
        fit_notes(ctx, data, method, TL_PRECISION_MIXED, &mixed);
        assert_true(mixed.C != fine.C); /* it took another path */
        assert_near(mixed.C, fine.C, 5e-4);
        assert_true(mixed.gradient_norm < 5.0 * fine.gradient_norm);
        assert_near(mixed.C, mixed.L + mixed.I, 1e-6);
        assert_true(mixed.orthogonality < 1e-13);
    }
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

/* Several columns per frame, one of them silent: sweeps in single precision distribute the weights
 * over columns as in double precision. */
static void mixed_with_several_columns(void **state)
{
    (void)state;
    enum { S = 3 };
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 9, 0);
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(&rng, S, N);
    for (int64_t row = 0; row < S * M; row++)
        Y[row * N + 4] = 0.0;
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    tl_settings opt = fit_settings(2);
    opt.eps = 1.0;
    opt.method = TL_METHOD_TL;
    opt.hops = 0;
    opt.J = 15; /* only the sweeps */
    double C[2];
    for (int i = 0; i < 2; i++) {
        tl_result *result;
        opt.precision = i;
        assert_ok(ctx, tl_fit(ctx, data, &opt, NULL, &result));
        C[i] = result->info.C;
        tl_result_free(result);
    }
    assert_near(C[1], C[0], 1e-3);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

/* The rule: 6e-8 max |y_n| / sqrt(eps) below 1e-3. */
static void mixed_is_refused_if_single_precision_is_too_coarse(void **state)
{
    (void)state;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 8, 0);
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(&rng, 1, N), longest = 0.0;
    for (int64_t n = 0; n < N; n++) {
        double sum = 0.0;
        for (int64_t m = 0; m < M; m++)
            sum += Y[m * N + n] * Y[m * N + n];
        longest = fmax(longest, sqrt(sum));
    }
    tlnmf_data *data = data_of(ctx, Y, 1, M, N);
    tl_settings opt = fit_settings(2);
    opt.J = 3;
    opt.precision = TL_PRECISION_MIXED;
    tl_result *result;
    double edge = 6e-5 * longest;
    opt.eps = 1.01 * edge * edge;
    assert_ok(ctx, tl_fit(ctx, data, &opt, NULL, &result));
    tl_result_free(result);
    opt.eps = 0.99 * edge * edge;
    assert_int_equal(tl_fit(ctx, data, &opt, NULL, &result), TLNMF_ERR_OPTION);
    assert_non_null(strstr(tlnmf_message(ctx), "V would lose too many digits"));
    tl_settings jd = opt;
    jd.task = TL_TASK_JD;
    jd.rank_reduce = -1;
    assert_int_equal(tl_fit(ctx, data, &jd, NULL, &result), TLNMF_ERR_OPTION);
    opt.eps = 1e40; /* C is precise enough, but 1/eps is outside the range of single precision */
    for (int64_t i = 0; i < M * N; i++)
        Y[i] *= 1e20;
    tlnmf_data *loud = data_of(ctx, Y, 1, M, N);
    assert_int_equal(tl_fit(ctx, loud, &opt, NULL, &result), TLNMF_ERR_OPTION);
    assert_non_null(strstr(tlnmf_message(ctx), "exceed the range of single precision"));
    tlnmf_data_free(loud);
    opt.eps = 1.0;
    opt.solver = TL_ALGORITHM_PAPER;
    assert_int_equal(tl_fit(ctx, data, &opt, NULL, &result), TLNMF_ERR_OPTION);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_copies),
        cmocka_unit_test(invalid_weights_are_refused),
        cmocka_unit_test(products_in_single),
        cmocka_unit_test(mixed_ends_where_double_does),
        cmocka_unit_test(mixed_with_several_columns),
        cmocka_unit_test(mixed_is_refused_if_single_precision_is_too_coarse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
