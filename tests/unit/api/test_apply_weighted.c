/* Models applied to data with weights and masks: the fitted H on their own data, H by plain loops
 * on others. */
#include "unit/api/small.h"

#include "reference/naive_kernels.h"

enum { S_MOST = 5, UPDATES = 20000 };

/* Data, their realisations and the weights of their entries. */
typedef struct world {
    tlnmf_ctx *ctx;
    int64_t S;
    double *Y;          /* S x M x N */
    double weights[N];  /* one is 0 */
    double mask[M * N]; /* a fifth is 0 */
    tlnmf_settings *apply;
} world;

static world create(int64_t realisations, const char *pairs)
{
    world w = {.ctx = new_ctx(), .S = realisations};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 21, (uint64_t)realisations);
    w.Y = new_normals(&rng, w.S * M * N);
    for (int64_t i = 0; i < w.S * M * N; i++)
        w.Y[i] *= 1.0 + (double)(i % N % 4);
    for (int n = 0; n < N; n++)
        w.weights[n] = (double)(n % 4);
    for (int i = 0; i < M * N; i++)
        w.mask[i] = i % 5 == 3 ? 0.0 : 0.5 + (double)(i % 3);
    w.apply = new_settings(w.ctx, "apply", pairs);
    return w;
}

static void destroy(world *w)
{
    tlnmf_settings_free(w->apply);
    free(w->Y);
    tlnmf_ctx_free(w->ctx);
}

/* Creates data from realisations or, by plain loops, from covariances. */
static tlnmf_data *make_data(const world *w, bool as_covariances)
{
    double Sigma[N * M * M] = {0};
    tlnmf_data *data;
    if (!as_covariances)
        return data_of(w->ctx, w->Y, w->S, M, N);
    for (int64_t s = 0; s < w->S; s++)
        for (int n = 0; n < N; n++)
            for (int i = 0; i < M; i++)
                for (int j = 0; j < M; j++)
                    Sigma[(n * M + i) * M + j] +=
                        w->Y[(s * M + i) * N + n] * w->Y[(s * M + j) * N + n] / (double)w->S;
    assert_ok(w->ctx, tlnmf_data_from_covariances(w->ctx, Sigma, (int64_t[]){N, M, M}, &data));
    return data;
}

static const double *array(const tlnmf_record *record, const char *name)
{
    const double *x = tlnmf_record_get_array(record, name, NULL, NULL);
    assert_non_null(x);
    return x;
}

static tlnmf_record *fit(const world *w, const tlnmf_data *data, const char *pairs)
{
    tlnmf_record *model;
    tlnmf_settings *settings = new_settings(w->ctx, "fit", pairs);
    assert_ok(w->ctx, tlnmf_fit(w->ctx, data, settings, NULL, &model));
    tlnmf_settings_free(settings);
    return model;
}

static tlnmf_record *apply(const world *w, const tlnmf_record *model, const tlnmf_data *data)
{
    tlnmf_record *applied;
    assert_ok(w->ctx, tlnmf_apply(w->ctx, model, data, w->apply, &applied));
    return applied;
}

/* ---- own data -------------------------------------------------------------------------------- */

/* With the weights and the mask of the fit, apply returns the fitted H; without them it does not.
 */
static void check_own(const world *w, const char *pairs, bool weighted, bool masked)
{
    for (int as_covariances = 0; as_covariances < 2; as_covariances++) {
        tlnmf_data *data = make_data(w, false), *again = make_data(w, as_covariances);
        assert_ok(w->ctx, tlnmf_data_set_weights(w->ctx, data, weighted ? w->weights : NULL));
        assert_ok(w->ctx, tlnmf_data_set_mask(w->ctx, data, masked ? w->mask : NULL));
        tlnmf_record *model = fit(w, data, pairs), *applied = apply(w, model, again);
        assert_int_equal(tlnmf_record_get_integer(applied, "own_data"), 0);
        tlnmf_record_free(applied);
        assert_ok(w->ctx, tlnmf_data_set_weights(w->ctx, again, weighted ? w->weights : NULL));
        assert_ok(w->ctx, tlnmf_data_set_mask(w->ctx, again, masked ? w->mask : NULL));
        applied = apply(w, model, again);
        assert_int_equal(tlnmf_record_get_integer(applied, "own_data"), 1);
        assert_true(largest_difference(K * N, array(applied, "H"), array(model, "H")) == 0.0);
        assert_close(tlnmf_record_get_real(applied, "C"), tlnmf_record_get_real(model, "C"), 1e-11);
        assert_close(tlnmf_record_get_real(applied, "entries"),
                     tlnmf_record_get_real(model, "entries"), 0.0);
        assert_close(tlnmf_record_get_real(applied, "I_per_entry"),
                     tlnmf_record_get_real(applied, "model_I_per_entry"), 1e-9);
        assert_string_equal(tlnmf_record_get_text(applied, "fits"), "these are its own data");
        tlnmf_record_free(applied);
        tlnmf_record_free(model);
        tlnmf_data_free(again);
        tlnmf_data_free(data);
    }
}

static void H_is_the_fits_on_weighted_data_of_its_own(void **state)
{
    (void)state;
    for (int64_t realisations = 1; realisations <= S_MOST; realisations += S_MOST - 1) {
        world w = create(realisations, "");
        check_own(&w, "k=2 method=tl", true, false);
        check_own(&w, "k=2 method=jd", true, false);
        check_own(&w, "k=2 method=nmf transform=dct", true, false);
        check_own(&w, "k=2 method=nmf transform=dct", false, true);
        check_own(&w, "k=2 method=nmf transform=dct", true, true);
        check_own(&w, "k=2 method=tl solver=paper J=20", true, false);
        destroy(&w);
    }
}

/* ---- plain loops ----------------------------------------------------------------------------- */

/* The weights B of the entries; the weights of the frames have the mean 1. */
static void weigh(const world *w, bool weighted, bool masked, double B[M * N])
{
    double mean = 0.0;
    for (int n = 0; n < N; n++)
        mean += w->weights[n] / N;
    for (int i = 0; i < M * N; i++)
        B[i] = (weighted ? w->weights[i % N] / mean : 1.0) * (masked ? w->mask[i] : 1.0);
}

/* (2w) */
static double C_of(const double *B, const double *V, const double *W, const double *H, double eps)
{
    double C = 0.0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double Vhat = eps;
            for (int k = 0; k < K; k++)
                Vhat += W[m * K + k] * H[k * N + n];
            C += B[m * N + n] * ((V[m * N + n] + eps) / Vhat + log(Vhat));
        }
    return C;
}

/* Repeats the weighted update (7) of H, from a flat start. */
static void update_H(const double *B, const double *V, const double *W, double eps, double *H)
{
    for (int i = 0; i < K * N; i++)
        H[i] = 1.0;
    for (int j = 0; j < UPDATES; j++)
        for (int n = 0; n < N; n++) {
            double pull[K] = {0}, push[K] = {0};
            for (int m = 0; m < M; m++) {
                double Vhat = eps;
                for (int k = 0; k < K; k++)
                    Vhat += W[m * K + k] * H[k * N + n];
                for (int k = 0; k < K; k++) {
                    double WB = W[m * K + k] * B[m * N + n];
                    pull[k] += WB * (V[m * N + n] + eps) / (Vhat * Vhat);
                    push[k] += WB / Vhat;
                }
            }
            for (int k = 0; k < K; k++)
                H[k * N + n] *= push[k] > 0.0 ? pull[k] / push[k] : 0.0;
        }
}

/* New data: H equals the limit of weighted updates in plain loops. */
static void H_of_new_data_is_that_of_plain_updates(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) { /* neither, weights, mask, both */
        bool weighted = which % 2 == 1, masked = which / 2 == 1;
        world w = create(3, "tol=0 grad-tol=0 J=10000");
        tlnmf_data *old = small_data(w.ctx), *new = make_data(&w, false);
        tlnmf_record *model = fit(&w, old, "k=2 method=jd");
        assert_ok(w.ctx, tlnmf_data_set_weights(w.ctx, new, weighted ? w.weights : NULL));
        assert_ok(w.ctx, tlnmf_data_set_mask(w.ctx, new, masked ? w.mask : NULL));
        tlnmf_record *applied = apply(&w, model, new);
        const double *W = array(model, "W"), *H = array(applied, "H");
        double eps = tlnmf_record_get_real(model, "eps"), V[M * N], B[M * N], plain[K * N],
               sum = 0.0;
        tl_naive_power(w.S, M, N, w.Y, array(model, "Phi"), V);
        weigh(&w, weighted, masked, B);
        update_H(B, V, W, eps, plain);
        for (int i = 0; i < M * N; i++)
            sum += B[i];
        assert_close(tlnmf_record_get_real(applied, "entries"), sum, 1e-12);
        assert_close(tlnmf_record_get_real(applied, "C"), C_of(B, V, W, H, eps), 1e-11);
        assert_close(C_of(B, V, W, H, eps), C_of(B, V, W, plain, eps), 1e-9);
        /* C is flat at its minimum, so only half of the digits of H are determined */
        assert_near(largest_difference(K * N, H, plain), 0.0, 1e-4 * largest(K * N, plain));
        for (int i = 0; i < K * N; i++)
            assert_true(!weighted || w.weights[i % N] > 0.0 || H[i] == 0.0);
        tlnmf_record_free(applied);
        tlnmf_record_free(model);
        tlnmf_data_free(new);
        tlnmf_data_free(old);
        destroy(&w);
    }
}

/* A row that is masked completely may have any values. A fit needs at least one entry of every row.
 */
static void a_whole_row_may_be_masked(void **state)
{
    (void)state;
    world w = create(2, "");
    double mask[M * N], H[2][K * N];
    tlnmf_record *model, *none;
    tlnmf_data *old = small_data(w.ctx);
    model = fit(&w, old, "k=2 method=nmf transform=identity");
    for (int i = 0; i < M * N; i++)
        mask[i] = i / N == 2 ? 0.0 : 1.0;
    for (int other = 0; other < 2; other++) {
        for (int n = 0; n < N; n++)
            w.Y[2 * N + n] = other == 1 ? 1e3 : 0.1;
        tlnmf_data *new = make_data(&w, false);
        assert_ok(w.ctx, tlnmf_data_set_mask(w.ctx, new, mask));
        tlnmf_record *applied = apply(&w, model, new);
        memcpy(H[other], array(applied, "H"), sizeof H[other]);
        tlnmf_record_free(applied);
        if (other == 1) {
            tlnmf_settings *settings = new_settings(w.ctx, "fit", "k=2 method=nmf");
            assert_int_equal(tlnmf_fit(w.ctx, new, settings, NULL, &none), TLNMF_ERR_DATA);
            assert_string_equal(tlnmf_message(w.ctx),
                                "entry 2 of the frames of V has no data: it is missing or masked "
                                "in all of them. Omit the entry or change the mask");
            tlnmf_settings_free(settings);
        }
        tlnmf_data_free(new);
    }
    assert_near(largest_difference(K * N, H[0], H[1]), 0.0, 1e-4 * largest(K * N, H[0]));
    tlnmf_record_free(model);
    tlnmf_data_free(old);
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(H_is_the_fits_on_weighted_data_of_its_own),
        cmocka_unit_test(H_of_new_data_is_that_of_plain_updates),
        cmocka_unit_test(a_whole_row_may_be_masked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
