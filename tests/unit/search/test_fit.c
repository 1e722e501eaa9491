/* A fit: floors, threads, exchange, starts, atoms, errors. */
#include "unit/search/small_fit.h"

#include "linalg/linalg.h"

static void floor_is_a_fraction_of_the_power(void **state)
{
    (void)state;
    problem p = create();
    double mean_power = tlnmf_record_get_real(tlnmf_data_record(p.data), "mean_power");
    assert_close(fit(&p, NULL, NULL, NULL).eps, 1e-2 * mean_power, 1e-15);
    p.opt.eps = 0.125;
    assert_true(fit(&p, NULL, NULL, NULL).eps == 0.125);
    destroy(&p);
}

/* The same bits at 1, 2 and 3 threads, and the best of more starts is no worse. */
static void threads_change_nothing(void **state)
{
    (void)state;
    for (int method = 0; method < 3; method++) {
        problem p = create();
        p.opt.method = method;
        p.opt.starts = 7;
        p.opt.exchange = method != TL_METHOD_NMF;
        tl_result *first;
        p.opt.threads = 1;
        tl_info one = fit(&p, NULL, NULL, &first);
        for (p.opt.threads = 2; p.opt.threads <= 3; p.opt.threads++) {
            tl_result *again;
            tl_info info = fit(&p, NULL, NULL, &again);
            assert_true(info.C == one.C && info.best_start == one.best_start);
            assert_memory_equal(again->Phi, first->Phi, sizeof(double) * M * M);
            assert_memory_equal(again->W, first->W, sizeof(double) * M * K);
            assert_memory_equal(again->H, first->H, sizeof(double) * K * N);
            tl_result_free(again);
        }
        tl_result_free(first);
        destroy(&p);
    }
}

static void more_starts_are_no_worse(void **state)
{
    (void)state;
    problem p = create();
    double last = INFINITY;
    for (p.opt.starts = 1; p.opt.starts <= 8; p.opt.starts *= 2) {
        tl_info info = fit(&p, NULL, NULL, NULL);
        assert_true(info.C <= last);
        assert_true(info.best_start >= 0 && info.best_start < p.opt.starts);
        last = info.C;
    }
    destroy(&p);
}

/* Exchange: the values of both methods are reported, each at least as good as without exchange, and
 * the result is that of the requested method. */
static void exchange_helps_both(void **state)
{
    (void)state;
    problem p = create();
    p.opt.starts = 4;
    p.opt.J = 5000; /* enough for JD to converge */
    tl_info tl = fit(&p, NULL, NULL, NULL);
    p.opt.method = TL_METHOD_JD;
    tl_info jd = fit(&p, NULL, NULL, NULL);
    p.opt.exchange = 1;
    tl_info both_jd = fit(&p, NULL, NULL, NULL);
    p.opt.method = TL_METHOD_TL;
    tl_info both_tl = fit(&p, NULL, NULL, NULL);
    assert_true(both_tl.C <= tl.C && both_jd.L <= jd.L);
    assert_true(both_tl.C_tl == both_tl.C && both_jd.L_jd == both_jd.L);
    assert_true(both_tl.C_jd == both_jd.C_jd && both_tl.C_tl == both_jd.C_tl);
    assert_true(both_tl.chain == 0 || both_tl.chain == 1);
    assert_int_equal(both_tl.doubt, TL_DOUBT_SINGULAR);
    assert_true(isnan(both_tl.certificate));
    p.opt.eps = 1.0; /* a high floor: as much as the mean power */
    tl_info high = fit(&p, NULL, NULL, NULL);
    assert_int_equal(high.doubt, TL_NO_DOUBT);
    assert_close(high.certificate, high.C - fmin(high.L_jd, high.L), 1e-12);
    assert_true(tl.chain == -1 && isnan(tl.C_jd) && isnan(tl.certificate));
    destroy(&p);
}

static void certify_bounds_from_below(void **state)
{
    (void)state;
    problem p = create();
    p.opt.certify = 1;
    tl_info info = fit(&p, NULL, NULL, NULL);
    assert_int_equal(info.doubt, TL_DOUBT_ITERATIONS); /* L is not yet minimised */
    assert_true(isnan(info.certificate));
    p.opt.J = 5000;
    info = fit(&p, NULL, NULL, NULL);
    assert_int_equal(info.doubt, TL_DOUBT_SINGULAR); /* a low floor: L has many minima */
    assert_true(isnan(info.certificate));
    p.opt.eps = 1.0;
    info = fit(&p, NULL, NULL, NULL);
    assert_true(info.certificate >= info.I); /* the search for the least L starts at this L */
    assert_true(isfinite(info.certificate));
    destroy(&p);
}

static void the_option_gamma_is_used(void **state)
{
    (void)state;
    problem p = create();
    double C[3];
    for (int i = 0; i < 3; i++) {
        p.opt.gamma = 0.5 + 0.25 * i;
        C[i] = fit(&p, NULL, NULL, NULL).C;
    }
    assert_true(C[0] != C[1] && C[1] != C[2] && C[0] != C[2]);
    destroy(&p);
}

/* A floor above all columns: there is nothing to learn, and nothing fails. */
static void a_floor_above_everything(void **state)
{
    (void)state;
    problem p = create();
    p.opt.eps = 1e30;
    for (p.opt.method = 0; p.opt.method < 3; p.opt.method++) {
        tl_info info = fit(&p, NULL, NULL, NULL);
        assert_int_equal(info.columns, 0);
        assert_close(info.C, info.L + info.I, 1e-10);
    }
    destroy(&p);
}

static void a_floor_below_everything_is_refused(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double Y[4] = {1e-150, 2e-150, 3e-150, 1e-150};
    tl_result *result;
    tl_settings opt = fit_settings(1);
    opt.eps_rel = 1e-30;
    tlnmf_data *data = data_of(ctx, Y, 1, 2, 2);
    assert_int_equal(tl_fit(ctx, data, &opt, NULL, &result), TLNMF_ERR_DATA);
    assert_non_null(strstr(tlnmf_message(ctx), "is not a usable floor"));
    tlnmf_data_free(data);
    Y[0] = 1e20;
    opt.eps = 1e-290;
    data = data_of(ctx, Y, 1, 2, 2);
    assert_int_equal(tl_fit(ctx, data, &opt, NULL, &result), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx),
                        "frames of norm 1e+20 with eps = 1e-290 exceed the range of double: use a "
                        "larger eps");
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

static void evaluate_refuses_invalid_points(void **state)
{
    (void)state;
    problem p = create();
    double Phi[M * M], W[M * K], H[K * N];
    tl_model_point point = {Phi, W, H, K, 1.0}, large = point, no_floor = point;
    tl_values values;
    large.K = (int64_t)1 << 62;
    no_floor.eps = NAN;
    tl_dct(M, Phi);
    for (int i = 0; i < M * K; i++)
        W[i] = 1.0;
    for (int i = 0; i < K * N; i++)
        H[i] = 1.0;
    assert_ok(p.ctx, tl_evaluate(p.ctx, p.data, &point, &values, NULL));
    assert_int_equal(tl_evaluate(p.ctx, p.data, &large, &values, NULL), TLNMF_ERR_TOO_LARGE);
    assert_int_equal(tl_evaluate(p.ctx, p.data, &no_floor, &values, NULL), TLNMF_ERR_OPTION);
    W[3] = -5.0;
    assert_int_equal(tl_evaluate(p.ctx, p.data, &point, &values, NULL), TLNMF_ERR_DATA);
    W[3] = 5.0;
    Phi[0] = NAN;
    assert_int_equal(tl_evaluate(p.ctx, p.data, &point, &values, NULL), TLNMF_ERR_DATA);
    destroy(&p);
}

/* ---- starts ---------------------------------------------------------------------------------- */

static void refuse(problem *p, const tl_start *start, tlnmf_error error, const char *message)
{
    tl_result *result = (tl_result *)p;
    assert_int_equal(tl_fit(p->ctx, p->data, &p->opt, start, &result), error);
    assert_string_equal(tlnmf_message(p->ctx), message);
    assert_null(result);
}

static void bad_starts_are_refused(void **state)
{
    (void)state;
    problem p = create();
    double Phi[M * M], W[M * K], H[K * N];
    tl_dct(M, Phi);
    for (int i = 0; i < M * K; i++)
        W[i] = 1.0;
    for (int i = 0; i < K * N; i++)
        H[i] = 1.0;
    tl_start start = {Phi, W, H};
    p.opt.starts = 2;
    refuse(&p, &start, TLNMF_ERR_OPTION,
           "starts = 2, but the given start leaves nothing to draw at random");
    p.opt.starts = 1;
    H[N] = 1e300;
    refuse(&p, &start, TLNMF_ERR_DATA,
           "component 1 of the given start is too large: column of W with sum 8, row of H up to "
           "1e+300");
    H[N] = 1.0;
    W[4] = -0.5;
    refuse(&p, &start, TLNMF_ERR_DATA,
           "the given W must be finite and not negative: row 1, column 1 is -0.5");
    for (int m = 0; m < M; m++)
        W[m * K + 1] = 0.0;
    refuse(&p, &start, TLNMF_ERR_DATA, "column 1 of the given W is all zeros");
    start.W = NULL;
    H[N + 3] = NAN;
    refuse(&p, &start, TLNMF_ERR_DATA,
           "the given H must be finite and not negative: row 1, column 3 is nan");
    start.H = NULL;
    Phi[0] += 1e-3;
    refuse(&p, &start, TLNMF_ERR_DATA,
           "the given Phi is not orthogonal: Phi Phi' differs from I by 0.000708 (at most 1e-05). "
           "Use its "
           "polar factor U V', where U S V' is its singular value decomposition");
    Phi[5] = INFINITY;
    refuse(&p, &start, TLNMF_ERR_DATA, "the given Phi is not finite at row 0, column 5");
    p.opt.k = M * N + 1;
    refuse(&p, NULL, TLNMF_ERR_OPTION, "k = 161 is more than the M N = 8 x 20 entries to fit");
    destroy(&p);
}

/* Scaling the columns of W and, inversely, the rows of H gives the same start; a Phi that is
 * orthogonal to 2e-6, as in single precision, is orthogonalised. */
static void starts_are_normalised(void **state)
{
    (void)state;
    problem p = create();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 4, 4);
    double *W = new_positives(&rng, M * K), *H = new_positives(&rng, K * N), Phi[M * M], C[2];
    tl_dct(M, Phi);
    tl_start start = {Phi, W, H};
    for (int i = 0; i < 2; i++) {
        tl_result *result;
        assert_ok(p.ctx, tl_fit(p.ctx, p.data, &p.opt, &start, &result));
        tl_info info = result->info;
        C[i] = info.C;
        assert_true(info.orthogonality < 1e-13);
        for (int64_t k = 0; k < K; k++) {
            double sum = 0.0;
            for (int64_t m = 0; m < M; m++)
                sum += result->W[m * K + k];
            assert_near(sum, 1.0, 1e-12);
        }
        tl_result_free(result);
        for (int64_t m = 0; m < M; m++)
            W[m * K + 1] *= 8.0;
        for (int64_t n = 0; n < N; n++)
            H[1 * N + n] /= 8.0;
        Phi[3] += 2e-6;
    }
    assert_close(C[1], C[0], 1e-4);
    free(W);
    free(H);
    destroy(&p);
}

static void masked_activations_stay_zero(void **state)
{
    (void)state;
    problem p = create();
    double H[K * N];
    for (int64_t k = 0; k < K; k++)
        for (int64_t n = 0; n < N; n++)
            H[k * N + n] = (k + n) % 4 == 0 ? 0.0 : 1.0;
    tl_start start = {.H = H};
    tl_result *result;
    assert_ok(p.ctx, tl_fit(p.ctx, p.data, &p.opt, &start, &result));
    for (int64_t i = 0; i < K * N; i++)
        assert_true((result->H[i] == 0.0) >= (H[i] == 0.0));
    tl_result_free(result);
    destroy(&p);
}

/* ---- diagonalisation, atoms, warnings -------------------------------------------------------- */

/* Exact covariances of the composite model are diagonalised by the DCT, up to order and sign. */
static void diagonalise_finds_the_truth(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double Y[M * N], W[M * K], H[K * N], Phi[M * M];
    static double Sigma[N * M * M];
    simulate_gcm(ctx, (gcm_recipe){1, M, N, K, 5, 6, TL_STREAM_OWN}, Y, W, H);
    tl_dct(M, Phi);
    for (int64_t n = 0; n < N; n++)
        for (int64_t a = 0; a < M; a++)
            for (int64_t b = 0; b < M; b++) {
                double sum = 0.0;
                for (int64_t m = 0; m < M; m++) {
                    double v = 0.0;
                    for (int64_t k = 0; k < K; k++)
                        v += W[m * K + k] * H[k * N + n];
                    sum += Phi[m * M + a] * v * Phi[m * M + b];
                }
                Sigma[(n * M + a) * M + b] = sum;
            }
    tl_result *result;
    tlnmf_data *data = covariances_of(ctx, Sigma, N, M);
    tl_settings opt = defaults_of(TL_TASK_JD);
    opt.starts = 5;
    opt.eps = 1e-8;
    assert_ok(ctx, tl_fit(ctx, data, &opt, NULL, &result));
    assert_null(result->W);
    const double *found = result->Phi;
    for (int64_t a = 0; a < M; a++) {
        double best = 0.0;
        for (int64_t b = 0; b < M; b++) {
            double dot = 0.0;
            for (int64_t m = 0; m < M; m++)
                dot += Phi[a * M + m] * found[b * M + m];
            best = fmax(best, fabs(dot));
        }
        assert_near(best, 1.0, 1e-8);
    }
    tl_result_free(result);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* At a fixed DFT the atoms are known: frequency k rate / M, no error. */
static void atoms_of_the_dft(void **state)
{
    (void)state;
    problem p = create();
    p.opt.method = TL_METHOD_NMF;
    p.opt.transform = TL_TRANSFORM_DFT;
    tl_result *result;
    tlnmf_record *model, *atoms;
    fit(&p, NULL, NULL, &result);
    assert_ok(p.ctx, tl_model_record(p.ctx, &p.opt, result, &model));
    assert_ok(p.ctx, tlnmf_atoms(p.ctx, model, 440.0 * M, M, &atoms));
    const double *row = tlnmf_record_get_array(atoms, "row", NULL, NULL);
    const double *error = tlnmf_record_get_array(atoms, "error", NULL, NULL);
    const double *frequency = tlnmf_record_get_array(atoms, "frequency", NULL, NULL);
    const double *energy = tlnmf_record_get_array(atoms, "energy", NULL, NULL);
    const double *cents = tlnmf_record_get_array(atoms, "cents", NULL, NULL);
    for (int i = 0; i < M; i++) {
        double k = floor((row[i] + 1.0) / 2.0);
        const char *note = tlnmf_record_get_text_at(atoms, "note", (size_t)i);
        assert_near(error[i], 0.0, 1e-12);
        assert_near(frequency[i], 440.0 * k,
                    k == 0.0 || 2 * k == M ? 0.1 : 1e-4); /* flat at both ends */
        assert_true(i == 0 || energy[i] <= energy[i - 1]);
        if (k == 1.0) {
            assert_string_equal(note, "A4");
            assert_near(cents[i], 0.0, 1e-3);
        }
        if (k == 3.0)
            assert_string_equal(note, "E6");
    }
    tlnmf_record_free(atoms);
    assert_int_equal(tlnmf_atoms(p.ctx, model, 0.0, 1, &atoms), TLNMF_ERR_OPTION);
    assert_int_equal(tlnmf_atoms(p.ctx, model, 1.0, M + 1, &atoms), TLNMF_ERR_OPTION);
    double bad[M];
    for (int m = 0; m < M; m++)
        bad[m] = (double)NAN; /* no row is the next one */
    assert_ok(p.ctx, tlnmf_record_set_array(p.ctx, model, "energy", bad, 1, (int64_t[]){M}));
    assert_int_equal(tlnmf_atoms(p.ctx, model, 1.0, 1, &atoms), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(p.ctx), "the model: energy[0] = nan is not finite");
    tlnmf_record_free(model);
    destroy(&p);
}

static void count_warnings(tlnmf_log_level level, const char *message, void *user)
{
    assert_true(strlen(message) > 10);
    *(int *)user += level == TLNMF_LOG_WARNING;
}

static void trivial_shapes_work_with_a_warning(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{1, 1}, {1, 9}, {9, 1}};
    for (size_t i = 0; i < 3; i++) {
        int warnings = 0;
        tlnmf_ctx *ctx = new_ctx();
        tlnmf_ctx_set_log(ctx, count_warnings, &warnings);
        double Y[9] = {1, -2, 3, 4, 0, 6, -7, 8, 9};
        tlnmf_data *data = data_of(ctx, Y, 1, shapes[i][0], shapes[i][1]);
        tl_settings opt = fit_settings(1);
        for (opt.method = 0; opt.method < 3; opt.method++) {
            tl_result *result;
            assert_ok(ctx, tl_fit(ctx, data, &opt, NULL, &result));
            tl_info info = result->info;
            assert_near(info.C, info.L + info.I, 1e-10 * (1.0 + fabs(info.C)));
            tl_result_free(result);
        }
        assert_int_equal(warnings, i == 0 ? 6 : 3);
        tlnmf_data_free(data);
        tlnmf_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floor_is_a_fraction_of_the_power),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(more_starts_are_no_worse),
        cmocka_unit_test(exchange_helps_both),
        cmocka_unit_test(certify_bounds_from_below),
        cmocka_unit_test(the_option_gamma_is_used),
        cmocka_unit_test(a_floor_above_everything),
        cmocka_unit_test(a_floor_below_everything_is_refused),
        cmocka_unit_test(evaluate_refuses_invalid_points),
        cmocka_unit_test(bad_starts_are_refused),
        cmocka_unit_test(starts_are_normalised),
        cmocka_unit_test(masked_activations_stay_zero),
        cmocka_unit_test(diagonalise_finds_the_truth),
        cmocka_unit_test(atoms_of_the_dft),
        cmocka_unit_test(trivial_shapes_work_with_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
