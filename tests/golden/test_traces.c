/* The library compared with the reference implementation: data, starts, traces. */
#include "golden/reference.h"
#include "support.h"

#include "search/starts.h"

/* The checksums that reference.h describes. */
static void check_sums(const double *x, int64_t n, const double *golden, double tolerance)
{
    double sum = 0.0, squares = 0.0, wave = 0.0, scale = largest(n, x), root = sqrt((double)n);
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        squares += x[i] * x[i];
        wave += cos(0.37 * (double)i) * x[i];
    }
    assert_near(sum, golden[0], tolerance * scale * root * 10.0);
    assert_close(squares, golden[1], tolerance * 10.0);
    assert_near(wave, golden[2], tolerance * scale * root * 10.0);
    for (int64_t j = 0; j < 16; j++)
        assert_near(x[j * n / 16], golden[3 + j], tolerance * scale);
}

enum { M = 10, N = 50, K = 5 };

static double *gcm(tlnmf_ctx *ctx, int64_t S)
{
    double *Y = new_doubles(S * M * N);
    simulate_gcm(ctx, (gcm_recipe){S, M, N, K, 2020, 100, TL_STREAM_NUMPY}, Y, NULL, NULL);
    return Y;
}

static double *notes(tlnmf_ctx *ctx, int64_t S)
{
    double theta[20], *Y = new_doubles(S * NOTES_M * NOTES_N);
    for (int64_t s = 0; s < S; s++) {
        theta[2 * s] = golden_theta1[s];
        theta[2 * s + 1] = golden_theta2[s];
    }
    simulate_notes(ctx, S, theta, Y, NULL);
    return Y;
}

static void truth_matches_the_reference(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double Y[M * N], W[M * K], H[K * N], least = INFINITY;
    simulate_gcm(ctx, (gcm_recipe){1, M, N, K, 2020, 100, TL_STREAM_NUMPY}, Y, W, H);
    for (int i = 0; i < 3; i++) {
        assert_close(W[i], golden_Wbar[i], 3e-16);
        assert_close(H[i], golden_Hbar[i], 3e-16);
    }
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            double v = 0.0;
            for (int64_t k = 0; k < K; k++)
                v += W[m * K + k] * H[k * N + n];
            least = fmin(least, v);
        }
    assert_close(least, golden_min_Vbar, 1e-15);
    tlnmf_ctx_free(ctx);
}

static void data_match_the_reference(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double *Y1 = gcm(ctx, 1), *Y100 = gcm(ctx, 100), *Z = notes(ctx, 1);
    check_sums(Y1, M * N, golden_gcm_S1, 1e-15);
    check_sums(Y100, 100 * M * N, golden_gcm_S100, 1e-15);
    assert_true(memcmp(Y1, Y100, sizeof(double) * M * N) ==
                0); /* S = 1 is the first realisation of S = 100 */
    check_sums(Z, NOTES_M * NOTES_N, golden_notes_S1, 1e-11); /* phases are fitted */
    free(Y1);
    free(Y100);
    free(Z);
    tlnmf_ctx_free(ctx);
}

typedef struct drawing {
    tlnmf_ctx *ctx;
    const tl_starts *starts;
    int64_t p;
} drawing;

static tlnmf_error draw(const tl_point *point, void *user)
{
    const drawing *d = user;
    return tl_starts_fill(d->ctx, d->starts, d->p, point);
}

static void starts_match_the_reference(void **state)
{
    (void)state;
    const double *golden[2][3] = {{golden_Phi0_1, golden_W0_1, golden_H0_1},
                                  {golden_Phi0_2, golden_W0_2, golden_H0_2}};
    tlnmf_ctx *ctx = new_ctx();
    double *Y = gcm(ctx, 1);
    tlnmf_data *data = data_of(ctx, Y, 1, M, N);
    tl_settings opt = fit_settings(K);
    opt.starts = 2;
    opt.seed = 2021;
    opt.stream = TL_STREAM_NUMPY;
    tl_starts starts;
    tl_model model = {.data = data, .K = K, .eps = 1e-8};
    tl_engine *e;
    double Phi[M * M], W[M * K], H[K * N];
    assert_ok(ctx, tl_starts_create(ctx, data, &opt, K, false, NULL, &starts));
    assert_ok(ctx, tl_engine_cpu.create(ctx, &(tl_engine_spec){.model = &model}, &e));
    for (int p = 0; p < 2; p++) {
        drawing d = {ctx, &starts, p};
        assert_ok(ctx, tl_engine_fill(e, TL_ALL, draw, &d));
        tl_engine_store(e, Phi, W, H);
        check_sums(Phi, M * M, golden[p][0], 1e-12);
        check_sums(W, M * K, golden[p][1], 1e-15);
        check_sums(H, K * N, golden[p][2], 1e-15);
    }
    e->ops->free(e);
    tl_starts_free(&starts);
    tlnmf_data_free(data);
    free(Y);
    tlnmf_ctx_free(ctx);
}

/* ---- traces ---------------------------------------------------------------------------------- */

typedef struct fitted {
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tl_result *result;
    tl_info info;
    const tl_trace_row *trace;
    int64_t length;
} fitted;

static fitted fit(bool is_notes, int64_t S, tl_method method, int64_t J)
{
    fitted f = {.ctx = new_ctx()};
    double *Y = is_notes ? notes(f.ctx, S) : gcm(f.ctx, S);
    f.data = data_of(f.ctx, Y, S, is_notes ? NOTES_M : M, is_notes ? NOTES_N : N);
    free(Y);
    tl_settings opt = fit_settings(is_notes ? 2 : K);
    opt.eps = is_notes ? 5e-7 : 1e-8;
    opt.seed = is_notes ? 100 : 2021;
    opt.halvings = is_notes ? 10 : 30;
    opt.method = (int32_t)method;
    opt.J = J;
    opt.stream = TL_STREAM_NUMPY;
    opt.trace = 1;
    opt.solver = TL_ALGORITHM_PAPER;
    assert_ok(f.ctx, tl_fit(f.ctx, f.data, &opt, NULL, &f.result));
    f.info = f.result->info;
    f.trace = f.result->trace;
    f.length = f.result->trace_length;
    return f;
}

static void fitted_free(fitted *f)
{
    tl_result_free(f->result);
    tlnmf_data_free(f->data);
    tlnmf_ctx_free(f->ctx);
}

static void check_gcm_tl(int64_t S, const double *C, const double *steps)
{
    fitted f = fit(false, S, TL_METHOD_TL, 1000);
    assert_int_equal(f.length, 1000);
    for (int i = 0; i < 10; i++)
        assert_close(f.trace[golden_J[i] - 1].C, C[i], 1e-9);
    for (int i = 0; i < 50; i++)
        assert_near(f.trace[i].step, steps[i], 1e-7);
    assert_close(f.info.C, C[9], 1e-9);
    assert_true(f.info.orthogonality < 1e-12);
    fitted_free(&f);
}

static void tl_follows_gcm_S1(void **state)
{
    (void)state;
    check_gcm_tl(1, golden_tl_gcm_S1, golden_steps_gcm_S1);
}

static void tl_follows_gcm_S100(void **state)
{
    (void)state;
    check_gcm_tl(100, golden_tl_gcm_S100, golden_steps_gcm_S100);
}

static void tl_follows_notes(void **state)
{
    (void)state;
    fitted f = fit(true, 1, TL_METHOD_TL, 100);
    for (int i = 0; i < 100; i++)
        assert_close(f.trace[i].C, golden_tl_notes[i], 1e-9);
    for (int i = 0; i < 50; i++)
        assert_near(f.trace[i].step, golden_steps_notes[i], 1e-6);
    fitted_free(&f);
}

/* Each J is a separate run: J transform steps, then 10 J updates from the start. At S = 1
 * rounding alone moves these values by 1e-6 (V comes near eps), at S = 100 by 5e-13. */
static void check_gcm_jd(int64_t S, const double (*golden)[3], double tolerance)
{
    for (int i = 0; i < 10; i++) {
        fitted f = fit(false, S, TL_METHOD_JD, golden_J[i]);
        assert_close(f.info.C, golden[i][0], tolerance);
        assert_close(f.info.L, golden[i][1], tolerance);
        assert_near(f.info.I, golden[i][2], tolerance * fabs(golden[i][0]));
        /* at S = 1 L has many minima, so this need not be the least; neither need it be before
         * convergence */
        if (S > 1 && f.info.jd_outcome != TLNMF_OUTCOME_ITERATIONS)
            assert_near(f.info.certificate, f.info.I, 1e-9 * fabs(f.info.C));
        else
            assert_true(isnan(f.info.certificate));
        fitted_free(&f);
    }
}

static void jd_follows_gcm_S100(void **state)
{
    (void)state;
    check_gcm_jd(100, golden_jd_gcm_S100, 1e-9);
}

static void jd_follows_gcm_S1(void **state)
{
    (void)state;
    check_gcm_jd(1, golden_jd_gcm_S1, 1e-6);
}

static void jd_follows_notes(void **state)
{
    (void)state;
    fitted f = fit(true, 1, TL_METHOD_JD, 10);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(f.trace[i].stage, TL_STAGE_JD);
        assert_close(f.trace[i].L, golden_jd_notes_L[i], 1e-8);
    }
    fitted_free(&f);
}

/* Ten realisations: ten pairs of phases. */
static void ten_realisations_of_notes(void **state)
{
    (void)state;
    fitted f = fit(true, 10, TL_METHOD_TL, 10);
    const tlnmf_record *data = tlnmf_data_record(f.data);
    assert_int_equal(tlnmf_record_get_integer(data, "S"), 10);
    assert_true(tlnmf_record_get_integer(data, "columns") <
                10 * NOTES_N); /* rank 4 to 8 at S = 10 */
    for (int i = 0; i < 10; i++)
        assert_close(f.trace[i].C, golden_tl_notes_S10[i], 1e-9);
    assert_close(f.info.C, f.info.L + f.info.I, 1e-10);
    fitted_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truth_matches_the_reference),
        cmocka_unit_test(data_match_the_reference),
        cmocka_unit_test(starts_match_the_reference),
        cmocka_unit_test(tl_follows_gcm_S1),
        cmocka_unit_test(tl_follows_gcm_S100),
        cmocka_unit_test(tl_follows_notes),
        cmocka_unit_test(jd_follows_gcm_S100),
        cmocka_unit_test(jd_follows_gcm_S1),
        cmocka_unit_test(jd_follows_notes),
        cmocka_unit_test(ten_realisations_of_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
