/* Joint diagonalisation after whitening inverts mixtures that are not orthogonal. */
#include "support.h"

enum { M = 4, N = 12 };

/* Sigma_n = A diag(d_n) A' for a mixing A that is far from orthogonal and variances that change. */
static tlnmf_data *mixture(tlnmf_ctx *ctx, double A[M * M])
{
    double Sigma[N * M * M] = {0};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 0);
    double *x = new_normals(&rng, M * M + N * M);
    memcpy(A, x, M * M * sizeof *A);
    for (int n = 0; n < N; n++)
        for (int k = 0; k < M; k++)
            for (int i = 0; i < M; i++)
                for (int j = 0; j < M; j++)
                    Sigma[(n * M + i) * M + j] +=
                        A[i * M + k] * A[j * M + k] * exp(x[M * M + n * M + k]);
    tlnmf_data *data;
    assert_ok(ctx, tlnmf_data_from_covariances(ctx, Sigma, (int64_t[]){N, M, M}, &data));
    free(x);
    return data;
}

static void multiply(const double *a, const double *b, double *c)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            c[i * M + j] = 0.0;
            for (int k = 0; k < M; k++)
                c[i * M + j] += a[i * M + k] * b[k * M + j];
        }
}

/* Unmixing times the true mixing has one nonzero entry in each row and column; mixing is the
 * inverse of unmixing. */
static void the_mixing_is_found(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double A[M * M], product[M * M];
    tlnmf_data *data = mixture(ctx, A);
    tlnmf_settings *settings;
    tlnmf_record *model;
    assert_ok(ctx, tlnmf_settings_create(ctx, "jd", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "whiten", 1));
    assert_ok(ctx, tlnmf_settings_set_real(ctx, settings, "eps-rel", 1e-10));
    assert_ok(ctx, tlnmf_diagonalise(ctx, data, settings, NULL, &model));
    const double *U = tlnmf_record_get_array(model, "unmixing", NULL, NULL);
    const double *back = tlnmf_record_get_array(model, "mixing", NULL, NULL);
    assert_non_null(U);
    assert_non_null(back);
    multiply(U, back, product);
    for (int i = 0; i < M * M; i++)
        assert_near(product[i], i % (M + 1) == 0 ? 1.0 : 0.0, 1e-10);
    multiply(U, A, product);
    for (int i = 0; i < M; i++) {
        double most = 0.0, sum = 0.0;
        for (int j = 0; j < M; j++) {
            sum += fabs(product[i * M + j]);
            most = fmax(most, fabs(product[i * M + j]));
        }
        assert_true(sum - most < 1e-4 * most);
    }
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

static void a_singular_mixture_is_refused(void **state)
{
    (void)state;
    static const double Sigma[] = {1, 1, 1, 1, 2, 2, 2, 2};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data;
    tlnmf_settings *settings;
    tlnmf_record *model;
    assert_ok(ctx, tlnmf_data_from_covariances(ctx, Sigma, (int64_t[]){2, 2, 2}, &data));
    assert_ok(ctx, tlnmf_settings_create(ctx, "jd", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "whiten", 1));
    assert_int_equal(tlnmf_diagonalise(ctx, data, settings, NULL, &model), TLNMF_ERR_DATA);
    assert_null(model);
    assert_string_equal(
        tlnmf_message(ctx),
        "whiten: the mean covariance has rank 1 of 2, as after an average reference; "
        "use rank-reduce 1 to keep its 1 principal component");
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "rank-reduce", 2));
    assert_int_equal(tlnmf_diagonalise(ctx, data, settings, NULL, &model), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx),
                        "rank-reduce = 2 exceeds the rank of the mean covariance, 1");
    tlnmf_data_free(data);
    const double half[] = {0, 0, 0, 0, 2, 0, 0, 2}, weights[] = {1, 0}; /* the rest has none */
    assert_ok(ctx, tlnmf_data_from_covariances(ctx, half, (int64_t[]){2, 2, 2}, &data));
    assert_ok(ctx, tlnmf_data_set_weights(ctx, data, weights));
    for (int wanted = 0; wanted < 2; wanted++) {
        assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "rank-reduce", wanted));
        assert_int_equal(tlnmf_diagonalise(ctx, data, settings, NULL, &model), TLNMF_ERR_DATA);
        assert_string_equal(tlnmf_message(ctx), "whiten: the weighted mean covariance is 0");
    }
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

enum { R = M - 1 };

/* With an average reference, L Sigma L' has rank M - 1. */
static void average_reference(double *Sigma, double A[M * R])
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 0);
    double *x = new_normals(&rng, M * R + N * R);
    memset(Sigma, 0, N * M * M * sizeof *Sigma);
    for (int k = 0; k < R; k++) {
        double mean = 0.0;
        for (int i = 0; i < M; i++)
            mean += x[i * R + k] / M;
        for (int i = 0; i < M; i++)
            A[i * R + k] = x[i * R + k] - mean;
    }
    for (int n = 0; n < N; n++)
        for (int k = 0; k < R; k++)
            for (int i = 0; i < M; i++)
                for (int j = 0; j < M; j++)
                    Sigma[(n * M + i) * M + j] +=
                        A[i * R + k] * A[j * R + k] * exp(x[M * R + n * R + k]);
    free(x);
}

/* Covariances in single precision have eigenvalues that are rounding errors: they do not count. */
static void rank_of_covariances_in_single_precision(void **state)
{
    (void)state;
    double Sigma[N * M * M], A[M * R];
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data;
    tlnmf_settings *settings;
    tlnmf_record *model;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    average_reference(Sigma, A);
    for (int i = 0; i < N * M * M; i++)
        Sigma[i] = (float)Sigma[i];
    assert_ok(ctx, tlnmf_data_from_covariances(ctx, Sigma, (int64_t[]){N, M, M}, &data));
    assert_ok(ctx, tlnmf_settings_create(ctx, "jd", &settings));
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, "whiten J=5"));
    assert_int_equal(tlnmf_diagonalise(ctx, data, settings, NULL, &model), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx),
                        "whiten: the mean covariance has rank 3 of 4, as after an average "
                        "reference; use rank-reduce 3 to keep its 3 principal components");
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "rank-reduce", 0));
    assert_ok(ctx, tlnmf_diagonalise(ctx, data, settings, NULL, &model));
    assert_non_null(tlnmf_record_get_array(model, "unmixing", NULL, shape));
    assert_int_equal(shape[0], R);
    assert_int_equal(shape[1], M);
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* The sources that remain after an average reference are found. */
static void rank_deficient_covariances(void **state)
{
    (void)state;
    double Sigma[N * M * M], A[M * R];
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data;
    average_reference(Sigma, A);
    assert_ok(ctx, tlnmf_data_from_covariances(ctx, Sigma, (int64_t[]){N, M, M}, &data));
    tlnmf_settings *settings;
    tlnmf_record *model;
    assert_ok(ctx, tlnmf_settings_create(ctx, "jd", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "whiten", 1));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "rank-reduce", 0));
    assert_ok(ctx, tlnmf_settings_set_real(ctx, settings, "eps-rel", 1e-10));
    assert_ok(ctx, tlnmf_diagonalise(ctx, data, settings, NULL, &model));
    int64_t shape[TLNMF_MAX_DIMENSIONS], back[TLNMF_MAX_DIMENSIONS];
    const double *U = tlnmf_record_get_array(model, "unmixing", NULL, shape);
    const double *mixing = tlnmf_record_get_array(model, "mixing", NULL, back);
    assert_int_equal(shape[0], R);
    assert_int_equal(shape[1], M);
    assert_int_equal(back[0], M);
    assert_int_equal(back[1], R);
    for (int i = 0; i < R; i++) {
        double most = 0.0, sum = 0.0;
        for (int k = 0; k < R; k++) {
            double gain = 0.0, one = 0.0;
            for (int j = 0; j < M; j++) {
                gain += U[i * M + j] * A[j * R + k];
                one += U[i * M + j] * mixing[j * R + k];
            }
            assert_near(one, i == k ? 1.0 : 0.0, 1e-10);
            sum += fabs(gain);
            most = fmax(most, fabs(gain));
        }
        assert_true(sum - most < 1e-4 * most);
    }
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* Precision mixed limits the range of the whitened data, not of the data. */
static void data_of_a_large_range_are_whitened(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double Y[M * N], bytes;
    for (int i = 0; i < M * N; i++)
        Y[i] = pow(10.0, i * 7 % 13) * sin(i + 1.0);
    tlnmf_data *data = data_of(ctx, Y, 1, M, N);
    tlnmf_settings *settings;
    tlnmf_record *model;
    assert_ok(ctx, tlnmf_settings_create(ctx, "jd", &settings));
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, "precision=mixed eps=0.0025 J=5"));
    assert_int_equal(tlnmf_memory(ctx, data, settings, &bytes), TLNMF_ERR_OPTION);
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, "whiten"));
    assert_ok(ctx, tlnmf_memory(ctx, data, settings, &bytes));
    assert_true(bytes > 0.0);
    assert_ok(ctx, tlnmf_diagonalise(ctx, data, settings, NULL, &model));
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

static void rank_needs_whitening(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings;
    assert_ok(ctx, tlnmf_settings_create(ctx, "jd", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "rank-reduce", 2));
    assert_int_equal(tlnmf_settings_check(ctx, settings), TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(ctx), "rank-reduce requires whiten");
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mixing_is_found),
        cmocka_unit_test(a_singular_mixture_is_refused),
        cmocka_unit_test(rank_deficient_covariances),
        cmocka_unit_test(rank_of_covariances_in_single_precision),
        cmocka_unit_test(data_of_a_large_range_are_whitened),
        cmocka_unit_test(rank_needs_whitening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
