/* Weights of frames, masks of entries and missing frames in whole fits. */
#include "meter.h"
#include "support.h"

enum { S = 4, M = 6, N = 12, K = 2 };

/* Realisations of `frames` frames whose variances differ by frame and by row. */
static double *draw_frames(uint64_t seed, int64_t frames)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, seed, 0);
    double *Y = new_normals(&rng, S * M * frames);
    for (int64_t i = 0; i < S * M * frames; i++)
        Y[i] *= 1.0 + (double)(i % frames) + (double)(i / frames % M);
    return Y;
}

/* Column n of the array becomes `times[n]` columns. */
static double *repeat_columns(int64_t rows, const double *x, const double *times, int64_t columns)
{
    double *out = new_doubles(rows * columns);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t n = 0, to = 0; n < N; n++)
            for (int64_t i = 0; i < (int64_t)times[n]; i++)
                out[row * columns + to++] = x[row * N + n];
    return out;
}

static tl_result *fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                      const tl_start *start)
{
    tl_result *result;
    assert_ok(ctx, tl_fit(ctx, data, opt, start, &result));
    return result;
}

/* A frame of weight w counts as w copies, in every method and both solvers: the same C per frame,
 * the same Phi and W, and H = 0 where the weight is 0. */
static void weights_are_copies(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 1);
    double *Y = draw_frames(5, N), *W = new_positives(&rng, M * K), *H = new_positives(&rng, K * N);
    double weights[N], copies = 0.0;
    for (int64_t n = 0; n < N; n++)
        copies += weights[n] = (double)(n % 4);
    int64_t many = (int64_t)copies;
    double *Y_many = repeat_columns((int64_t)S * M, Y, weights, many);
    double *H_many = repeat_columns(K, H, weights, many);
    tlnmf_data *once = data_of(ctx, Y, S, M, N), *often = data_of(ctx, Y_many, S, M, many);
    assert_ok(ctx, tlnmf_data_set_weights(ctx, once, weights));
    for (int which = 0; which < 6; which++) {
        tl_settings opt = fit_settings(K);
        opt.method = which / 2;
        opt.solver = which % 2;
        opt.transform = TL_TRANSFORM_DCT;
        opt.eps = 0.5;
        opt.J = opt.solver == TL_ALGORITHM_FAST ? 1000 : 30;
        opt.tol = 1e-15;
        tl_result *a = fit(ctx, once, &opt, &(tl_start){.W = W, .H = H});
        tl_result *b = fit(ctx, often, &opt, &(tl_start){.W = W, .H = H_many});
        assert_close(a->info.C / N, b->info.C / copies, 1e-9);
        assert_close(a->info.L / N, b->info.L / copies, 1e-9);
        assert_near(a->info.C, a->info.L + a->info.I, 1e-9 * fabs(a->info.C));
        assert_near(largest_difference(M * M, a->Phi, b->Phi), 0.0, 1e-4);
        assert_near(largest_difference(M * K, a->W, b->W), 0.0, 1e-4);
        for (int64_t i = 0; i < K * N; i++)
            assert_true((a->H[i] == 0.0) == (weights[i % N] == 0.0));
        tl_result_free(a);
        tl_result_free(b);
    }
    tlnmf_data_free(once);
    tlnmf_data_free(often);
    tlnmf_ctx_free(ctx);
    free(Y);
    free(Y_many);
    free(H_many);
    free(W);
    free(H);
}

/* A matrix of rank 1. */
static double power_at(int64_t i)
{
    int64_t m = i / N, n = i % N;
    return (1.0 + (double)m) * (2.0 + (double)n);
}

/* Masked entries have no effect on any bit of the result, and W H predicts them: it has rank 1
 * here, and all visible entries are close to a matrix of rank 1. */
static void masked_entries_have_no_effect(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double Y[M * N], mask[M * N];
    tl_result *results[2];
    tl_settings opt = fit_settings(1);
    opt.method = TL_METHOD_NMF;
    opt.transform = TL_TRANSFORM_IDENTITY;
    opt.eps = 1e-6;
    for (int other = 0; other < 2; other++) {
        for (int64_t i = 0; i < M * N; i++) {
            mask[i] = i % 5 == 2 ? 0.0 : 1.0;
            Y[i] = sqrt(power_at(i));
            if (mask[i] == 0.0)
                Y[i] = other == 1 ? 1e3 : 1e-2;
        }
        tlnmf_data *data = data_of(ctx, Y, 1, M, N);
        assert_ok(ctx, tlnmf_data_set_mask(ctx, data, mask));
        tl_rng rng;
        tl_rng_seed(&rng, TL_STREAM_OWN, 9,
                    1); /* a random H would depend on the scale of the data */
        double *W = new_positives(&rng, M), *H = new_positives(&rng, N);
        results[other] = fit(ctx, data, &opt, &(tl_start){.W = W, .H = H});
        free(W);
        free(H);
        tlnmf_data_free(data);
    }
    assert_memory_equal(results[0]->W, results[1]->W, M * sizeof(double));
    assert_memory_equal(results[0]->H, results[1]->H, N * sizeof(double));
    for (int64_t i = 0; i < M * N; i++)
        assert_close(results[0]->W[i / N] * results[0]->H[i % N], power_at(i), 1e-4);
    tl_result_free(results[0]);
    tl_result_free(results[1]);
    tlnmf_ctx_free(ctx);
}

static void invalid_masks_are_refused(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(6, N), mask[M * N];
    tl_result *result;
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    memset(mask, 0, sizeof mask);
    assert_int_equal(tlnmf_data_set_mask(ctx, data, mask), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "the mask sums to 0: it must be positive and finite");
    for (int64_t i = 0; i < M * N; i++)
        mask[i] = i / N == 3 ? 0.0 : 1.0;
    tl_settings nmf = fit_settings(K);
    nmf.method = TL_METHOD_NMF;
    assert_ok(ctx, tlnmf_data_set_mask(ctx, data, mask));
    assert_int_equal(tl_fit(ctx, data, &nmf, NULL, &result), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx),
                        "entry 3 of the frames of V has no data: it is missing or masked in all of "
                        "them. Omit the entry or change the mask");
    mask[3 * N] = -1.0;
    assert_int_equal(tlnmf_data_set_mask(ctx, data, mask), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx),
                        "the mask of row 3, frame 0 is -1: it must be finite and not negative");
    mask[3 * N] = 1.0;
    assert_ok(ctx, tlnmf_data_set_mask(ctx, data, mask));
    tl_settings tl = fit_settings(K), jd = defaults_of(TL_TASK_JD);
    assert_int_equal(tl_fit(ctx, data, &tl, NULL, &result), TLNMF_ERR_OPTION);
    assert_int_equal(tl_fit(ctx, data, &jd, NULL, &result), TLNMF_ERR_OPTION);
    assert_ok(ctx, tlnmf_data_set_mask(ctx, data, NULL));
    assert_ok(ctx, tl_fit(ctx, data, &tl, NULL, &result));
    tl_result_free(result);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

/* Weights and masks that make each other useless. */
static void masks_need_frames_that_have_a_weight(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(6, N), mask[M * N], weights[N], others[N];
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    tl_result *result;
    tl_settings nmf = fit_settings(K);
    nmf.method = TL_METHOD_NMF;
    for (int64_t n = 0; n < N; n++) {
        weights[n] = n < N / 2 ? 1.0 : 0.0;
        others[n] = 1.0 - weights[n];
    }
    for (int64_t i = 0; i < M * N; i++)
        mask[i] = i / N == 3 ? others[i % N] : 1.0;
    assert_ok(ctx, tlnmf_data_set_mask(ctx, data, mask));
    assert_ok(ctx, tlnmf_data_set_weights(ctx, data, weights));
    assert_int_equal(tl_fit(ctx, data, &nmf, NULL, &result), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx),
                        "entry 3 of the frames of V has no data: it is missing or masked in all "
                        "of them that have a weight. Omit the entry or change the mask");
    for (int64_t i = 0; i < M * N; i++)
        mask[i] = others[i % N];
    for (int order = 0; order < 2; order++) {
        assert_ok(ctx, tlnmf_data_set_mask(ctx, data, NULL));
        assert_ok(ctx, tlnmf_data_set_weights(ctx, data, NULL));
        if (order == 0)
            assert_ok(ctx, tlnmf_data_set_weights(ctx, data, weights));
        else
            assert_ok(ctx, tlnmf_data_set_mask(ctx, data, mask));
        assert_int_equal(order == 0 ? tlnmf_data_set_mask(ctx, data, mask)
                                    : tlnmf_data_set_weights(ctx, data, weights),
                         TLNMF_ERR_DATA);
        assert_string_equal(tlnmf_message(ctx), "the mask times the weights of the frames sums to "
                                                "0: it must be positive and finite");
    }
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

static void tiny_weights_are_refused(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(6, N), mask[M * N], weights[N];
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    for (int64_t i = 0; i < M * N; i++)
        mask[i] = weights[i % N] = 1.0;
    weights[5] = 1e-140;
    assert_ok(ctx, tlnmf_data_set_weights(ctx, data, weights));
    mask[2 * N + 5] = 1e-20;
    assert_int_equal(tlnmf_data_set_mask(ctx, data, mask), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "the weight of row 2, frame 5 is below 1e-150: use 0 "
                                            "or a larger weight");
    weights[5] = 1e-200;
    assert_int_equal(tlnmf_data_set_weights(ctx, data, weights), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "the weight of frame 5 is below 1e-150 of the mean "
                                            "weight: use 0 or a larger weight");
    weights[5] = 0.0;
    assert_ok(ctx, tlnmf_data_set_weights(ctx, data, weights));
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Y);
}

/* Weights that cannot be set leave the previous ones. */
static void failed_calls_change_nothing(void **state)
{
    (void)state;
    meter m = {0};
    tlnmf_ctx *ctx = new_ctx_with(metered_allocate, metered_release, &m);
    double *Y = draw_frames(6, N), weights[N], mask[M * N];
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    for (int64_t i = 0; i < M * N; i++)
        mask[i] = weights[i % N] = (double)(1 + i % 3);
    for (int weighted = 0; weighted < 2; weighted++) {
        if (weighted == 1)
            assert_ok(ctx, tlnmf_data_set_weights(ctx, data, weights));
        double before = data->weight[1];
        const double *B = data->B;
        weights[1] = 9.0;
        m.fail_at = m.calls + 1;
        assert_int_equal(tlnmf_data_set_weights(ctx, data, weights), TLNMF_ERR_MEMORY);
        m.fail_at = m.calls + 1;
        assert_int_equal(tlnmf_data_set_mask(ctx, data, mask), TLNMF_ERR_MEMORY);
        m.fail_at = 0;
        mask[0] = -1.0;
        assert_int_equal(tlnmf_data_set_mask(ctx, data, mask), TLNMF_ERR_DATA);
        mask[0] = 1.0;
        assert_int_equal(data->weighted, weighted);
        assert_true(data->weight[1] == before && data->B == B && data->mask == NULL);
    }
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    assert_int_equal(m.alive, 0);
    free(Y);
}

/* C by plain loops over the present frames: the weight of frame n is the number of its
 * realisations. */
static double C_of_present(const double *Y, const tl_model_point *p)
{
    double sum = 0.0, count = 0.0;
    for (int64_t n = 0; n < N; n++)
        for (int64_t m = 0; m < M; m++) {
            double power = 0.0, present = 0.0, vhat = p->eps;
            for (int64_t s = 0; s < S; s++) {
                double x = 0.0;
                for (int64_t i = 0; i < M; i++)
                    x += p->Phi[m * M + i] * Y[(s * M + i) * N + n];
                if (isnan(x))
                    continue;
                power += x * x;
                present += 1.0;
            }
            for (int64_t k = 0; k < K; k++)
                vhat += p->W[m * K + k] * p->H[k * N + n];
            if (present > 0.0)
                sum += present * ((power / present + p->eps) / vhat + log(vhat));
            count += present;
        }
    return sum / count;
}

static void missing_frames_do_not_count(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double *Y = draw_frames(7, N);
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 7, 1);
    for (int64_t s = 0; s < S; s++) {
        Y[(s * M + 1) * N + 4] = NAN;                   /* frame 4 is missing in all realisations */
        Y[(s * M + s) * N + 2 * (s > 1 ? 1 : 0)] = NAN; /* two realisations of frames 0 and 2 */
    }
    tlnmf_data *data, *same;
    assert_int_equal(tlnmf_data_from_realisations(ctx, Y, (int64_t[]){S, M, N}, &data),
                     TLNMF_ERR_DATA);
    assert_ok(ctx, tlnmf_data_from_incomplete(ctx, Y, (int64_t[]){S, M, N}, &data));
    assert_int_equal(tlnmf_record_get_integer(tlnmf_data_record(data), "missing"), S + 4);
    double *Phi = new_orthogonal(&rng, M), *W = new_positives(&rng, M * K),
           *H = new_positives(&rng, K * N);
    tl_model_point point = {Phi, W, H, K, 0.3};
    tl_values values;
    assert_ok(ctx, tl_evaluate(ctx, data, &point, &values, NULL));
    assert_close(values.C / (M * N), C_of_present(Y, &point), 1e-12);
    assert_close(values.C, values.L + values.I, 1e-12);
    tl_settings opt = fit_settings(K);
    tl_result *result = fit(ctx, data, &opt, NULL);
    for (int64_t i = 0; i < K * N; i++)
        assert_true((result->H[i] == 0.0) == (i % N == 4));
    tl_result_free(result);
    for (int64_t i = 0; i < (int64_t)S * M * N; i++)
        Y[i] = isnan(Y[i]) ? 1.0 : Y[i];
    tlnmf_data_free(data);
    data = data_of(ctx, Y, S, M, N); /* nothing missing: the same data */
    assert_ok(ctx, tlnmf_data_from_incomplete(ctx, Y, (int64_t[]){S, M, N}, &same));
    assert_memory_equal(data->R, same->R, (size_t)(M * data->T) * sizeof(double));
    assert_null(same->B);
    Y[5] = INFINITY;
    tlnmf_data_free(same);
    assert_int_equal(tlnmf_data_from_incomplete(ctx, Y, (int64_t[]){S, M, N}, &same),
                     TLNMF_ERR_DATA);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    free(Phi);
    free(W);
    free(H);
    free(Y);
}

/* A frame that all realisations miss is like one of weight 0: its covariance does not withhold the
 * certificate. */
static void a_frame_without_data_leaves_the_certificate(void **state)
{
    (void)state;
    enum { MANY = 30 };
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 9, 0);
    double *Y = new_normals(&rng, MANY * M * N), weights[N];
    for (int64_t i = 0; i < MANY * M * N; i++)
        Y[i] *= 1.0 + (double)(i % N) + (double)(i / N % M);
    for (int gone = 0; gone < 3; gone++) {
        tlnmf_data *data;
        for (int64_t n = 0; n < N; n++)
            weights[n] = n == 4 ? 0.0 : 1.0;
        for (int64_t s = 0; s < MANY; s++)
            Y[(s * M + 1) * N + 4] = gone == 1 ? (double)NAN : 1.0;
        for (int64_t i = 4; i < MANY * M * N && gone == 2; i += N)
            Y[i] = i < M * N ? 1.0 : 0.0; /* rank 1 */
        assert_ok(ctx, tlnmf_data_from_incomplete(ctx, Y, (int64_t[]){MANY, M, N}, &data));
        assert_int_equal(data->missing, gone == 1 ? MANY : 0);
        tl_settings opt = fit_settings(K);
        opt.method = TL_METHOD_JD;
        opt.eps = 0.01;
        opt.J = 5000;
        for (int weighted = 0; weighted < 2; weighted++) {
            if (weighted)
                assert_ok(ctx, tlnmf_data_set_weights(ctx, data, weights));
            tl_result *result = fit(ctx, data, &opt, NULL);
            assert_int_equal(result->info.doubt,
                             gone == 2 && !weighted ? TL_DOUBT_SINGULAR : TL_NO_DOUBT);
            assert_int_equal(isfinite(result->info.certificate), gone < 2 || weighted);
            assert_int_equal(result->info.missing, gone == 1 ? MANY : 0);
            tl_result_free(result);
        }
        tlnmf_data_free(data);
    }
    for (int64_t i = 0; i < MANY * N; i++)
        Y[i / N * M * N + i % N] = NAN; /* a row */
    tlnmf_data *none;
    assert_int_equal(tlnmf_data_from_incomplete(ctx, Y, (int64_t[]){MANY, M, N}, &none),
                     TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx),
                        "every frame contains a NaN, and entry 0 has the most, 100 % of its "
                        "values: omit the entries that are mostly NaN");
    tlnmf_ctx_free(ctx);
    free(Y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_copies),
        cmocka_unit_test(masked_entries_have_no_effect),
        cmocka_unit_test(invalid_masks_are_refused),
        cmocka_unit_test(masks_need_frames_that_have_a_weight),
        cmocka_unit_test(tiny_weights_are_refused),
        cmocka_unit_test(failed_calls_change_nothing),
        cmocka_unit_test(missing_frames_do_not_count),
        cmocka_unit_test(a_frame_without_data_leaves_the_certificate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
