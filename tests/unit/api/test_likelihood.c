/* The likelihood with activations integrated out: the draws, and frames against the trapezoidal
 * rule. */
#include "api/marginal.h"
#include "support.h"

enum { M = 5, N = 6 };

static void the_quantile_inverts_the_distribution(void **state)
{
    (void)state;
    for (double u = 1e-10; u < 1.0; u = u < 0.01 ? 1.7 * u : u + 0.0037) {
        double x = tl_normal_quantile(u);
        assert_close(0.5 * erfc(-x * sqrt(0.5)), u, 1e-13);
        assert_near(tl_normal_quantile(1.0 - u), -x, 1e-5);
    }
}

/* Every dimension has a point in each 64th; the first two have one in each eighth of an eighth. */
static void the_draws_form_a_net(void **state)
{
    (void)state;
    enum { HALF = TL_MARGINAL_HALF };
    for (int k = 0; k < 200; k++) {
        bool met[HALF] = {false}, cell[HALF] = {false};
        for (int i = 0; i < HALF; i++) {
            double u = tl_sobol(i, k), v = tl_sobol(i, k / 16 * 16 + 1);
            assert_true(u > 0.0 && u < 1.0);
            met[(int)(HALF * u)] = true;
            cell[(int)(8 * u) * 8 + (int)(8 * v)] = true;
        }
        for (int i = 0; i < HALF; i++)
            assert_true(met[i] && (k % 16 != 0 || cell[i]));
    }
    assert_true(tl_sobol(5, 0) == tl_sobol(5, 0) && tl_sobol(5, 0) != tl_sobol(5, 16));
}

/* A model of K components and data of S realisations. */
typedef struct world {
    tlnmf_ctx *ctx;
    int64_t K, S;
    double Phi[M * M], W[M * 3], H[3 * N], V[M * N], eps;
    double *Y;
    tlnmf_record *model;
    tlnmf_data *data;
    tlnmf_settings *settings;
} world;

static void put_model(world *w)
{
    assert_ok(w->ctx,
              tlnmf_record_set_array(w->ctx, w->model, "Phi", w->Phi, 2, (int64_t[]){M, M}));
    assert_ok(w->ctx, tlnmf_record_set_array(w->ctx, w->model, "W", w->W, 2, (int64_t[]){M, w->K}));
    assert_ok(w->ctx, tlnmf_record_set_array(w->ctx, w->model, "H", w->H, 2, (int64_t[]){w->K, N}));
    assert_ok(w->ctx, tlnmf_record_set_real(w->ctx, w->model, "eps", w->eps));
}

static world create(int64_t K, int64_t S)
{
    world w = {.ctx = new_ctx(), .K = K, .S = S, .eps = 0.05};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 77, (uint64_t)(10 * K + S));
    assert_ok(w.ctx, tlnmf_transform_matrix(w.ctx, "dct", M, w.Phi));
    for (int i = 0; i < M * K; i++)
        w.W[i] = -log(1.0 - tl_rng_uniform(&rng));
    for (int i = 0; i < K * N; i++)
        w.H[i] = -log(1.0 - tl_rng_uniform(&rng));
    w.Y = new_normals(&rng, S * M * N);
    for (int64_t s = 0; s < S; s++)
        for (int m = 0; m < M; m++)
            w.Y[(s * M + m) * N + 2] = 0.0; /* a silent frame */
    for (int64_t s = 0; s < S; s++)
        for (int m = 0; m < M; m++)
            for (int n = 0; n < N; n++) {
                double x = 0.0;
                for (int j = 0; j < M; j++)
                    x += w.Phi[m * M + j] * w.Y[(s * M + j) * N + n];
                w.V[m * N + n] += x * x / (double)S;
            }
    w.data = data_of(w.ctx, w.Y, S, M, N);
    assert_ok(w.ctx, tlnmf_record_create(w.ctx, &w.model));
    assert_ok(w.ctx, tlnmf_settings_create(w.ctx, "apply", &w.settings));
    put_model(&w);
    return w;
}

static void destroy(world *w)
{
    tlnmf_settings_free(w->settings);
    tlnmf_record_free(w->model);
    tlnmf_data_free(w->data);
    free(w->Y);
    tlnmf_ctx_free(w->ctx);
}

static tlnmf_record *score(const world *w)
{
    tlnmf_record *out;
    assert_ok(w->ctx, tlnmf_likelihood(w->ctx, w->model, w->data, w->settings, &out));
    return out;
}

static const double *scores(const tlnmf_record *record)
{
    return tlnmf_record_get_array(record, "log_likelihood", NULL, NULL);
}

/* log p(frame | h) p(h) h: the integrand over log h. */
static double integrand(const world *w, int n, const double *mu, const double *g)
{
    double sum = 0.0;
    for (int k = 0; k < w->K; k++)
        sum += g[k] - log(mu[k]) - exp(g[k]) / mu[k];
    for (int m = 0; m < M; m++) {
        double v = w->eps;
        for (int k = 0; k < w->K; k++)
            v += w->W[m * w->K + k] * exp(g[k]);
        sum -= 0.5 * (double)w->S * ((w->V[m * N + n] + w->eps) / v + log(2 * acos(-1.0) * v));
    }
    return exp(sum);
}

/* The trapezoidal rule over log h from -15 to 5. */
static double by_quadrature(const world *w, int n)
{
    const int steps = w->K == 1 ? 4000 : 500;
    double mu[2] = {0}, sum = 0.0, width = 20.0 / steps;
    for (int k = 0; k < w->K; k++)
        for (int i = 0; i < N; i++)
            mu[k] += w->H[k * N + i] / N;
    for (int a = 0; a <= steps; a++)
        for (int b = 0; b <= (w->K == 1 ? 0 : steps); b++)
            sum += integrand(w, n, mu, (double[]){a * width - 15.0, b * width - 15.0});
    return log(sum * (w->K == 1 ? width : width * width)) / (double)w->S;
}

static void frames_match_quadrature(void **state)
{
    (void)state;
    for (int64_t K = 1; K <= 2; K++)
        for (int64_t S = 1; S <= 27; S *= 3) {
            world w = create(K, S);
            tlnmf_record *got = score(&w);
            double mean = 0.0;
            for (int n = 0; n < N; n++) {
                assert_near(scores(got)[n], by_quadrature(&w, n), 0.01 * M);
                mean += scores(got)[n] / N;
            }
            assert_close(tlnmf_record_get_real(got, "mean_log_likelihood"), mean, 1e-12);
            tlnmf_record_free(got);
            destroy(&w);
        }
}

/* A frame does not depend on the others, on the threads, or on a silent component. */
static void frames_are_independent(void **state)
{
    (void)state;
    world w = create(3, 1);
    tlnmf_record *all = score(&w), *part;
    assert_ok(w.ctx, tlnmf_settings_set_integer(w.ctx, w.settings, "threads", 3));
    part = score(&w);
    assert_memory_equal(scores(all), scores(part), N * sizeof(double));
    tlnmf_record_free(part);
    double frame[M];
    for (int m = 0; m < M; m++)
        frame[m] = w.Y[m * N + 4];
    tlnmf_data_free(w.data);
    w.data = data_of(w.ctx, frame, 1, M, 1);
    part = score(&w);
    assert_close(scores(part)[0], scores(all)[4], 1e-12);
    tlnmf_record_free(part);
    for (int i = 0; i < 3 * N; i++)
        w.H[i] = 0.0;
    put_model(&w); /* H = 0: the likelihood at h = 0 */
    part = score(&w);
    double at_zero = 0.0;
    for (int m = 0; m < M; m++)
        at_zero -= 0.5 * ((w.V[m * N + 4] + w.eps) / w.eps + log(2 * acos(-1.0) * w.eps));
    assert_close(scores(part)[0], at_zero, 1e-12);
    tlnmf_record_free(part);
    tlnmf_record_free(all);
    destroy(&w);
}

/* Frames that no realisation has are NaN and do not count; realisations that lack a frame do. */
static void missing_frames_do_not_count(void **state)
{
    (void)state;
    world w = create(2, 3);
    tlnmf_data_free(w.data);
    for (int s = 0; s < 3; s++)
        w.Y[s * M * N + 1] = NAN;
    w.Y[3] = NAN;
    assert_ok(w.ctx, tlnmf_data_from_incomplete(w.ctx, w.Y, (int64_t[]){3, M, N}, &w.data));
    tlnmf_record *got = score(&w);
    assert_true(isnan(scores(got)[1]));
    assert_true(isfinite(tlnmf_record_get_real(got, "mean_log_likelihood")));
    tlnmf_data_free(w.data);
    double rest[2 * M];
    for (int i = 0; i < 2 * M; i++)
        rest[i] = w.Y[(M + i) * N + 3];
    w.data = data_of(w.ctx, rest, 2, M, 1);
    tlnmf_record *alone = score(&w);
    assert_close(scores(got)[3], scores(alone)[0], 1e-10);
    tlnmf_record_free(alone);
    tlnmf_record_free(got);
    destroy(&w);
}

/* Powers of S degrees of freedom are scored as S equal realisations. */
static void powers_have_degrees_of_freedom(void **state)
{
    (void)state;
    world w = create(2, 1);
    double copies[3 * M * N];
    assert_ok(w.ctx, tlnmf_data_set_dof(w.ctx, w.data, 7));
    assert_ok(w.ctx, tlnmf_data_set_dof(w.ctx, w.data, 3));
    tlnmf_record *powers = score(&w);
    tlnmf_data_free(w.data);
    for (int i = 0; i < 3 * M * N; i++)
        copies[i] = w.Y[i % (M * N)];
    w.data = data_of(w.ctx, copies, 3, M, N);
    tlnmf_record *realisations = score(&w);
    for (int n = 0; n < N; n++)
        assert_close(scores(powers)[n], scores(realisations)[n], 1e-12);
    assert_int_equal(tlnmf_data_set_dof(w.ctx, w.data, 0), TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(w.ctx), "dof = 0 is outside [1, 1000000000]");
    tlnmf_record_free(powers);
    tlnmf_record_free(realisations);
    destroy(&w);
}

static void refuse(const world *w, tlnmf_error error, const char *message)
{
    tlnmf_record *out;
    assert_int_equal(tlnmf_likelihood(w->ctx, w->model, w->data, w->settings, &out), error);
    assert_null(out);
    assert_string_equal(tlnmf_message(w->ctx), message);
}

static int stop(const tlnmf_record *progress, void *user)
{
    (void)progress;
    (void)user;
    return 1;
}

static void invalid_calls_are_refused(void **state)
{
    (void)state;
    const double Sigma[M * M] = {[0] = 1.0, [M + 1] = 2.0};
    double mask[M * N];
    world w = create(2, 1);
    tlnmf_ctx_set_progress(w.ctx, stop, NULL);
    w.ctx->monitor->every = 0.0;
    refuse(&w, TLNMF_ERR_CALLBACK, "stopped while frames were being scored");
    tlnmf_ctx_set_progress(w.ctx, NULL, NULL);
    assert_ok(w.ctx, tlnmf_settings_set_real(w.ctx, w.settings, "max-seconds", 1e-3));
    tlnmf_data_free(w.data);
    double *many = calloc(M * 3000, sizeof *many);
    assert_non_null(many);
    for (int i = 0; i < M * 3000; i++)
        many[i] = w.Y[i % (M * N)];
    w.data = data_of(w.ctx, many, 1, M, 3000);
    free(many);
    refuse(&w, TLNMF_ERR_CALLBACK, "max-seconds passed while frames were being scored");
    tlnmf_data_free(w.data);
    w.data = data_of(w.ctx, w.Y, 1, M, N);
    assert_ok(w.ctx, tlnmf_settings_set_real(w.ctx, w.settings, "max-seconds", 60.0));
    for (int i = 0; i < M * N; i++)
        mask[i] = 1.0;
    assert_ok(w.ctx, tlnmf_data_set_mask(w.ctx, w.data, mask));
    refuse(&w, TLNMF_ERR_OPTION,
           "the likelihood is not computed for data with a mask or for frames that are distributed "
           "over processes");
    tlnmf_data_free(w.data);
    assert_ok(w.ctx, tlnmf_data_from_covariances(w.ctx, Sigma, (int64_t[]){1, M, M}, &w.data));
    assert_int_equal(tlnmf_data_set_dof(w.ctx, w.data, 2), TLNMF_ERR_DATA);
    refuse(&w, TLNMF_ERR_DATA,
           "covariances have no likelihood: their number of realisations is not known");
    tlnmf_data_free(w.data);
    w.data = data_of(w.ctx, w.Y, 1, M, N);
    w.H[3] = -1.0;
    put_model(&w);
    refuse(&w, TLNMF_ERR_DATA, "the model: H must be finite and not negative");
    tlnmf_record_remove(w.model, "H");
    refuse(&w, TLNMF_ERR_ARGUMENT,
           "the model must contain H with 2 rows: the prior of activations needs it");
    destroy(&w);
}

/* W h overflows: the integral has no value. */
static void an_overflow_is_an_error(void **state)
{
    (void)state;
    world w = create(2, 3);
    for (int i = 0; i < M * 2; i++)
        w.W[i] *= 1e10;
    for (int i = 0; i < 2 * N; i++)
        w.H[i] = 1e305;
    put_model(&w);
    refuse(&w, TLNMF_ERR_NUMERIC, "the likelihood of frame 0 left the range of double");
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quantile_inverts_the_distribution),
        cmocka_unit_test(the_draws_form_a_net),
        cmocka_unit_test(frames_match_quadrature),
        cmocka_unit_test(frames_are_independent),
        cmocka_unit_test(missing_frames_do_not_count),
        cmocka_unit_test(powers_have_degrees_of_freedom),
        cmocka_unit_test(an_overflow_is_an_error),
        cmocka_unit_test(invalid_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
