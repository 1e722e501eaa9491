/* A model applied to new data: H at fixed Phi and W, recomputed in plain loops. */
#include "unit/api/results_table.h"
#include "unit/api/small.h"

#include "reference/naive_kernels.h"

enum { N_NEW = 7, S_NEW = 3 };

typedef struct world {
    tlnmf_ctx *ctx;
    double *Y; /* new data: S_NEW x M x N_NEW */
    tlnmf_data *old, *new;
    tlnmf_record *model;
    tlnmf_settings *settings;
} world;

static world create(const char *pairs)
{
    world w = {.ctx = new_ctx()};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 99, 0);
    w.Y = new_normals(&rng, S_NEW * M * N_NEW);
    w.new = data_of(w.ctx, w.Y, S_NEW, M, N_NEW);
    w.old = small_data(w.ctx);
    tlnmf_settings *fit = new_settings(w.ctx, "fit", "k=2 method=tl");
    assert_ok(w.ctx, tlnmf_fit(w.ctx, w.old, fit, NULL, &w.model));
    tlnmf_settings_free(fit);
    w.settings = new_settings(w.ctx, "apply", pairs);
    return w;
}

static void destroy(world *w)
{
    tlnmf_settings_free(w->settings);
    tlnmf_record_free(w->model);
    tlnmf_data_free(w->new);
    tlnmf_data_free(w->old);
    free(w->Y);
    tlnmf_ctx_free(w->ctx);
}

static const double *array(const tlnmf_record *record, const char *name)
{
    const double *x = tlnmf_record_get_array(record, name, NULL, NULL);
    assert_non_null(x);
    return x;
}

/* C, L, I are those of the model's Phi, W, eps and the new H, and no H nearby has a lower C. */
static void H_is_the_best_for_its_frames(void **state)
{
    (void)state;
    world w = create("keep-v=1 keep-x=1");
    tlnmf_record *applied;
    double V[M * N_NEW], H[K * N_NEW], eps = tlnmf_record_get_real(w.model, "eps"), sum = 0.0,
                                       V_sum = 0.0;
    const double *W = array(w.model, "W");
    int64_t shape[TLNMF_MAX_DIMENSIONS],
        columns = tlnmf_record_get_integer(tlnmf_data_record(w.new), "columns");
    assert_ok(w.ctx, tlnmf_apply(w.ctx, w.model, w.new, w.settings, &applied));
    expect_in_table(applied, "applied", "apply",
                    (symbols){4, {{"M", M}, {"N", N_NEW}, {"K", K}, {"columns", columns}}});
    expect_all_held("applied", (const tlnmf_record *const *)&applied, 1, "");
    tl_naive_power(S_NEW, M, N_NEW, w.Y, array(w.model, "Phi"), V);
    memcpy(H, array(applied, "H"), sizeof H);
    double C = tl_naive_C(M, N_NEW, K, V, W, H, eps);
    assert_close(tlnmf_record_get_real(applied, "eps"), eps, 0.0);
    assert_close(tlnmf_record_get_real(applied, "C"), C, 1e-11);
    assert_close(tlnmf_record_get_real(applied, "L"), tl_naive_L(M, N_NEW, V, eps), 1e-11);
    assert_close(tlnmf_record_get_real(applied, "I"), tl_naive_I(M, N_NEW, K, V, W, H, eps), 1e-10);
    assert_true(largest_difference(M * N_NEW, V, array(applied, "V")) <
                1e-11 * largest(M * N_NEW, V));
    for (int i = 0; i < K * N_NEW; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            double was = H[i];
            assert_true(was >= 0.0);
            H[i] = fmax(0.0, was * (1.0 + 1e-2 * sign));
            assert_true(tl_naive_C(M, N_NEW, K, V, W, H, eps) >= C - 1e-9 * fabs(C));
            H[i] = was;
        }
    const double *X = tlnmf_record_get_array(applied, "X", NULL, shape);
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        sum += X[i] * X[i];
    for (int i = 0; i < M * N_NEW; i++)
        V_sum += V[i];
    assert_close(sum, V_sum, 1e-11);
    tlnmf_record_free(applied);
    destroy(&w);
}

/* The data of small_data as covariances, in plain loops. */
static tlnmf_data *small_covariances(tlnmf_ctx *ctx)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 12, 0);
    double *Y = new_normals(&rng, S * M * N), Sigma[N * M * M] = {0};
    for (int n = 0; n < N; n++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < M; j++)
                for (int s = 0; s < S; s++)
                    Sigma[(n * M + i) * M + j] +=
                        Y[(s * M + i) * N + n] * Y[(s * M + j) * N + n] / S;
    tlnmf_data *data;
    assert_ok(ctx, tlnmf_data_from_covariances(ctx, Sigma, (int64_t[]){N, M, M}, &data));
    free(Y);
    return data;
}

/* On the data of the fit, H is exactly the fitted H, for all methods and kinds of data. */
static void on_its_own_data_H_is_that_of_the_fit(void **state)
{
    (void)state;
    static const char *const fits[] = {"k=2 method=tl", "k=2 method=jd", "k=2 method=nmf",
                                       "k=2 method=tl J=3", "k=2 method=tl solver=paper J=20"};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = small_data(ctx), *covariances = small_covariances(ctx);
    tlnmf_settings *apply = new_settings(ctx, "apply", "");
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        tlnmf_settings *fit = new_settings(ctx, "fit", fits[i]);
        tlnmf_record *model, *applied;
        assert_ok(ctx, tlnmf_fit(ctx, data, fit, NULL, &model));
        for (int as_covariances = 0; as_covariances < 2; as_covariances++) {
            assert_ok(
                ctx, tlnmf_apply(ctx, model, as_covariances ? covariances : data, apply, &applied));
            assert_int_equal(tlnmf_record_get_integer(applied, "own_data"), 1);
            assert_true(largest_difference(K * N, array(applied, "H"), array(model, "H")) == 0.0);
            assert_close(tlnmf_record_get_real(applied, "C"), tlnmf_record_get_real(model, "C"),
                         1e-11);
            assert_int_equal(tlnmf_record_type(applied, "X"), TLNMF_TYPE_NONE); /* not requested */
            assert_int_equal(tlnmf_record_type(applied, "V"), TLNMF_TYPE_NONE);
            tlnmf_record_free(applied);
        }
        tlnmf_record_free(model);
        tlnmf_settings_free(fit);
    }
    tlnmf_settings_free(apply);
    tlnmf_data_free(covariances);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* Data with the same number of frames are not mistaken for the data of the fit. Without C, a model
 * cannot recognise its own data, and a fitted H reaches the same C. */
static void other_data_are_distinguished(void **state)
{
    (void)state;
    world w = create("");
    tlnmf_record *applied;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 13, 0);
    double *Y = new_normals(&rng, S * M * N), C = tlnmf_record_get_real(w.model, "C");
    tlnmf_data *other = data_of(w.ctx, Y, S, M, N);
    assert_ok(w.ctx, tlnmf_apply(w.ctx, w.model, other, w.settings, &applied));
    assert_int_equal(tlnmf_record_get_integer(applied, "own_data"), 0);
    assert_true(largest_difference(K * N, array(applied, "H"), array(w.model, "H")) > 1e-3);
    tlnmf_record_free(applied);
    assert_ok(w.ctx, tlnmf_record_set_real(w.ctx, w.model, "C", (double)NAN));
    assert_ok(w.ctx, tlnmf_apply(w.ctx, w.model, w.old, w.settings, &applied));
    assert_int_equal(tlnmf_record_get_integer(applied, "own_data"), 0);
    assert_true(tlnmf_record_get_real(applied, "C") <= C + 1e-8 * fabs(C));
    tlnmf_record_free(applied);
    tlnmf_data_free(other);
    free(Y);
    destroy(&w);
}

/* From a record with only the required values, unpacked from bytes. */
static void a_model_may_come_from_bytes(void **state)
{
    (void)state;
    world w = create("threads=1");
    tlnmf_record *whole, *small, *again, *applied;
    size_t size = 0;
    assert_ok(w.ctx, tlnmf_apply(w.ctx, w.model, w.new, w.settings, &whole));
    assert_ok(w.ctx, tlnmf_record_create(w.ctx, &small));
    assert_ok(w.ctx, tlnmf_record_set_array(w.ctx, small, "Phi", array(w.model, "Phi"), 2,
                                            (int64_t[]){M, M}));
    assert_ok(w.ctx,
              tlnmf_record_set_array(w.ctx, small, "W", array(w.model, "W"), 2, (int64_t[]){M, K}));
    assert_ok(w.ctx,
              tlnmf_record_set_real(w.ctx, small, "eps", tlnmf_record_get_real(w.model, "eps")));
    assert_ok(w.ctx, tlnmf_record_pack(w.ctx, small, NULL, &size));
    void *bytes = malloc(size);
    assert_ok(w.ctx, tlnmf_record_pack(w.ctx, small, bytes, &size));
    assert_ok(w.ctx, tlnmf_record_unpack(w.ctx, bytes, size, &again));
    assert_ok(w.ctx, tlnmf_apply(w.ctx, again, w.new, w.settings, &applied));
    assert_true(largest_difference(K * N_NEW, array(applied, "H"), array(whole, "H")) == 0.0);
    free(bytes);
    tlnmf_record_free(applied);
    tlnmf_record_free(again);
    tlnmf_record_free(small);
    tlnmf_record_free(whole);
    destroy(&w);
}

static int stop(const tlnmf_record *progress, void *user)
{
    (void)progress;
    (void)user;
    return 1;
}

static void an_application_is_cancelled(void **state)
{
    (void)state;
    world w = create("tol=0 grad-tol=0 J=100000");
    tlnmf_record *applied;
    tlnmf_ctx_set_progress(w.ctx, stop, NULL);
    assert_ok(w.ctx, tlnmf_apply(w.ctx, w.model, w.new, w.settings, &applied));
    assert_string_equal(tlnmf_record_get_text(applied, "outcome"), "cancelled");
    assert_int_equal(tlnmf_record_get_integer(applied, "outcome_code"), TLNMF_OUTCOME_CANCELLED);
    tlnmf_record_free(applied);
    destroy(&w);
}

static void mismatched_data_are_refused(void **state)
{
    (void)state;
    world w = create("");
    tlnmf_data *shorter = data_of(w.ctx, w.Y, S_NEW, M - 1, N_NEW);
    tlnmf_settings *other = new_settings(w.ctx, "fit", "k=2");
    tlnmf_record *empty, *applied = w.model;
    assert_ok(w.ctx, tlnmf_record_create(w.ctx, &empty));
    assert_int_equal(tlnmf_apply(w.ctx, w.model, shorter, w.settings, &applied), TLNMF_ERR_SHAPE);
    assert_null(applied);
    assert_int_equal(tlnmf_apply(w.ctx, empty, w.new, w.settings, &applied), TLNMF_ERR_ARGUMENT);
    assert_int_equal(tlnmf_apply(w.ctx, w.model, w.new, other, &applied), TLNMF_ERR_ARGUMENT);
    assert_ok(w.ctx, tlnmf_record_set_array(w.ctx, w.model, "W", w.Y, 2, (int64_t[]){M, 0}));
    assert_int_equal(tlnmf_apply(w.ctx, w.model, w.new, w.settings, &applied), TLNMF_ERR_SHAPE);
    assert_string_equal(tlnmf_message(w.ctx), "the model: W has no columns");
    tlnmf_record_free(empty);
    tlnmf_settings_free(other);
    tlnmf_data_free(shorter);
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(H_is_the_best_for_its_frames),
        cmocka_unit_test(on_its_own_data_H_is_that_of_the_fit),
        cmocka_unit_test(other_data_are_distinguished),
        cmocka_unit_test(a_model_may_come_from_bytes),
        cmocka_unit_test(an_application_is_cancelled),
        cmocka_unit_test(mismatched_data_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
