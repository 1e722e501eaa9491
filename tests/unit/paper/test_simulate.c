/* The paper's data sets: shapes, seeds and errors. tests/golden compares their numbers with the
 * reference. */
#include "support.h"

static void a_sample_contains_data_and_truth(void **state)
{
    (void)state;
    enum { S = 2, M = 6, N = 9, K = 3 };
    static const struct {
        const char *name;
        int32_t rank;
        int64_t shape[3];
    } arrays[] = {
        {"Y", 3, {S, M, N}}, {"Phi", 2, {M, M, 1}}, {"W", 2, {M, K, 1}}, {"H", 2, {K, N, 1}}};
    tlnmf_ctx *ctx = new_ctx();
    tl_settings gcm = defaults_of(TL_TASK_GCM);
    tlnmf_record *sample;
    double dct[M * M];
    gcm.gcm_S = S;
    gcm.gcm_M = M;
    gcm.gcm_N = N;
    gcm.gcm_K = K;
    assert_ok(ctx, tlnmf_simulate_gcm(ctx, &gcm, &sample));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        int32_t rank;
        int64_t shape[TLNMF_MAX_DIMENSIONS];
        assert_non_null(tlnmf_record_get_array(sample, arrays[i].name, &rank, shape));
        assert_int_equal(rank, arrays[i].rank);
        assert_memory_equal(shape, arrays[i].shape, sizeof arrays[i].shape);
    }
    assert_ok(ctx, tlnmf_transform_matrix(ctx, "dct", M, dct));
    assert_true(largest_difference(M * M, tlnmf_record_get_array(sample, "Phi", NULL, NULL), dct) ==
                0.0);
    tlnmf_record_free(sample);
    tlnmf_ctx_free(ctx);
}

/* Several blocks of frames and panels of rows: the definition, and the same bits at any number of
 * threads. */
static void gcm_does_not_depend_on_threads(void **state)
{
    (void)state;
    enum { S = 2, M = 130, N = 300, K = 2 };
    tlnmf_ctx *ctx = new_ctx();
    double *Y[2], *W = new_doubles(M * K), *H = new_doubles(K * N), *Phi = new_doubles(M * M);
    tl_rng rng;
    for (int i = 0; i < 2; i++) {
        assert_ok(ctx, tlnmf_ctx_set_threads(ctx, i == 0 ? 1 : 3));
        Y[i] = new_doubles(S * M * N);
        simulate_gcm(ctx, (gcm_recipe){S, M, N, K, 5, 7, TL_STREAM_OWN}, Y[i], W, H);
    }
    assert_memory_equal(Y[0], Y[1], S * M * N * sizeof *Y[0]);
    assert_ok(ctx, tlnmf_transform_matrix(ctx, "dct", M, Phi));
    tl_rng_seed(&rng, TL_STREAM_OWN, 7, 0);
    for (int64_t s = 0; s < S; s++)
        for (int64_t n = 0; n < N; n++) {
            double y[M] = {0.0};
            for (int64_t k = 0; k < M; k++) {
                double V = W[k * K] * H[n] + W[k * K + 1] * H[N + n];
                double x = sqrt(V) * tl_rng_normal(&rng);
                for (int64_t m = 0; m < M; m++)
                    y[m] += Phi[k * M + m] * x;
            }
            for (int64_t m = 0; m < M; m++)
                assert_near(Y[0][(s * M + m) * N + n], y[m], 1e-12);
        }
    free(Y[0]);
    free(Y[1]);
    free(W);
    free(H);
    free(Phi);
    tlnmf_ctx_free(ctx);
}

static void truth_and_data_have_separate_seeds(void **state)
{
    (void)state;
    enum { M = 5, N = 7, K = 2 };
    tlnmf_ctx *ctx = new_ctx();
    double Y[3][M * N], W[3][M * K], H[3][K * N];
    for (int i = 0; i < 3; i++) { /* both seeds as before; other data; another truth */
        gcm_recipe recipe = {1, M, N, K, i == 2 ? 6 : 5, i == 1 ? 8 : 7, TL_STREAM_OWN};
        simulate_gcm(ctx, recipe, Y[i], W[i], H[i]);
    }
    assert_true(largest_difference(M * K, W[0], W[1]) == 0.0);
    assert_true(largest_difference(K * N, H[0], H[1]) == 0.0);
    assert_true(largest_difference(M * N, Y[0], Y[1]) > 0.1);
    assert_true(largest_difference(M * K, W[0], W[2]) > 0.1);
    tlnmf_ctx_free(ctx);
}

/* Two phases per realisation; compares the notes with docs/spec.md at a sample where one plays. */
static void notes_are_two_cosines_each(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    const double theta[4] = {0.3, 1.1, 2.0, 0.7}, two_pi = 2.0 * acos(-1.0);
    double *Y = new_doubles(2 * NOTES_M * NOTES_N), *signal = new_doubles(2 * NOTES_LENGTH);
    simulate_notes(ctx, 2, theta, Y, signal);
    enum { T = 2500 }; /* counted from 1, in the first second: A alone */
    double x = 2.0 * T / (NOTES_RATE + 1.0) - 1.0, g = 0.5 * exp(1.0 - 1.0 / (1.0 - x * x));
    for (int s = 0; s < 2; s++) {
        double p = two_pi * 440.0 * T / NOTES_RATE + theta[2 * s];
        assert_near(signal[s * NOTES_LENGTH + T - 1], g * (0.5 * cos(p) + 0.25 * cos(2.0 * p)),
                    1e-12);
    }
    /* frame n begins 100 samples before sample 100 n; in its middle the window is 1 / 190 */
    assert_near(Y[100 * NOTES_N + 25] * 190.0, signal[25 * 100], 1e-15);
    free(Y);
    free(signal);
    tlnmf_ctx_free(ctx);
}

static void bad_simulations_are_refused(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double theta[2] = {0.0, 0.0};
    tlnmf_record *sample;
    tl_settings gcm = defaults_of(TL_TASK_GCM);
    gcm.gcm_M = 0;
    assert_int_equal(tlnmf_simulate_gcm(ctx, &gcm, &sample), TLNMF_ERR_OPTION);
    assert_null(sample);
    gcm = defaults_of(TL_TASK_GCM);
    gcm.stream = TL_STREAM_NUMPY;
    gcm.seed_data = (uint64_t)1 << 32;
    assert_int_equal(tlnmf_simulate_gcm(ctx, &gcm, &sample), TLNMF_ERR_OPTION);
    gcm.seed_data = 1;
    gcm.seed_truth = (uint64_t)1 << 32;
    assert_int_equal(tlnmf_simulate_gcm(ctx, &gcm, &sample), TLNMF_ERR_OPTION);
    assert_int_equal(tlnmf_simulate_notes(ctx, theta, 0, &sample), TLNMF_ERR_SHAPE);
    assert_null(sample);
    assert_int_equal(tlnmf_random_phases(ctx, (uint64_t)1 << 32, TLNMF_STREAM_NUMPY, 1, theta),
                     TLNMF_ERR_OPTION);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_contains_data_and_truth),
        cmocka_unit_test(gcm_does_not_depend_on_threads),
        cmocka_unit_test(truth_and_data_have_separate_seeds),
        cmocka_unit_test(notes_are_two_cosines_each),
        cmocka_unit_test(bad_simulations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
