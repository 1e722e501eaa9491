/* A model applied to data: the H of its own fit, X and V, errors, stopping. */
#include "support.h"

#include "reference/naive_kernels.h"

#include <time.h>

enum { S = 100, M = 8, N = 25, K = 3, FAINT = 4 };

/* Data of the Gaussian composite model, with one frame far below any floor. */
typedef struct problem {
    tlnmf_ctx *ctx;
    double *Y;
    tlnmf_data *data;
    tlnmf_record *model;
    tl_settings apply;
} problem;

static problem create(uint64_t seed, tl_method method)
{
    problem p = {.ctx = new_ctx(), .Y = new_doubles(S * M * N)};
    simulate_gcm(p.ctx, (gcm_recipe){S, M, N, K, seed, 2, TL_STREAM_OWN}, p.Y, NULL, NULL);
    for (int64_t row = 0; row < S * M; row++)
        p.Y[row * N + FAINT] *= 1e-12;
    p.data = data_of(p.ctx, p.Y, S, M, N);
    tl_settings fit = fit_settings(K);
    fit.method = (int32_t)method;
    fit.tol = 0.0;
    fit.grad_tol = 1e-13; /* down to rounding */
    fit.J = 20000;
    assert_ok(p.ctx, tlnmf_fit(p.ctx, p.data, &fit, NULL, &p.model));
    p.apply = defaults_of(TL_TASK_APPLY);
    return p;
}

static void destroy(problem *p)
{
    tlnmf_record_free(p->model);
    tlnmf_data_free(p->data);
    free(p->Y);
    tlnmf_ctx_free(p->ctx);
}

/* Without the model's C, its own data are not recognised, and H is fitted by a descent. */
static tlnmf_record *apply(problem *p)
{
    tlnmf_record *applied;
    double C = tlnmf_record_get_real(p->model, "C");
    assert_ok(p->ctx, tlnmf_record_set_real(p->ctx, p->model, "C", (double)NAN));
    assert_ok(p->ctx, tlnmf_apply(p->ctx, p->model, p->data, &p->apply, &applied));
    assert_ok(p->ctx, tlnmf_record_set_real(p->ctx, p->model, "C", C));
    assert_int_equal(tlnmf_record_get_integer(applied, "own_data"), 0);
    return applied;
}

static const double *array_of(const tlnmf_record *record, const char *name)
{
    const double *x = tlnmf_record_get_array(record, name, NULL, NULL);
    assert_non_null(x);
    return x;
}

/* From a flat start at fixed Phi and W, a descent ends at the H of the fit. C agrees to the last
 * digits, H to about half of them, since C is flat at its minimum. */
static void H_of_the_fit_is_found_again(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 9; i++) { /* three data sets by tl, jd, nmf */
        problem p = create(1 + i / 3, (tl_method)(i % 3));
        p.apply.tol = p.apply.grad_tol = 0.0;
        p.apply.J = 10000;
        tlnmf_record *applied = apply(&p);
        const double *H = array_of(p.model, "H"), *again = array_of(applied, "H");
        double C = tlnmf_record_get_real(p.model, "C");
        /* the descent ends where rounding (1e-13 of C) hides what a step gains: at up to 1.1e-12
         * above the fit here, and where exactly depends on the order of the sums */
        assert_near(tlnmf_record_get_real(applied, "C"), C, 5e-12 * fabs(C));
        assert_near(tlnmf_record_get_real(applied, "L"), tlnmf_record_get_real(p.model, "L"),
                    1e-12 * fabs(C));
        /* at a minimum H differs by about the root of what C exceeds it: here up to 13 times */
        assert_near(largest_difference(K * N, again, H), 0.0, 3e-5 * largest(K * N, H));
        assert_true(tlnmf_record_get_integer(applied, "iterations") < p.apply.J);
        tlnmf_record_free(applied);
        destroy(&p);
    }
}

/* With default settings, C agrees with the C of the fit to 1e-10. */
static void the_defaults_end_at_the_fit(void **state)
{
    (void)state;
    for (int method = TL_METHOD_TL; method <= TL_METHOD_NMF; method++) {
        problem p = create(1, (tl_method)method);
        tlnmf_record *applied = apply(&p);
        double C = tlnmf_record_get_real(applied, "C"), L = tlnmf_record_get_real(applied, "L"),
               I = tlnmf_record_get_real(applied, "I");
        assert_near(C, tlnmf_record_get_real(p.model, "C"), 1e-10 * fabs(C));
        assert_near(C, L + I, 1e-12 * (fabs(C) + fabs(L)));
        assert_true(tlnmf_record_get_real(applied, "eps") == tlnmf_record_get_real(p.model, "eps"));
        assert_true(tlnmf_record_get_integer(applied, "iterations") < p.apply.J);
        tlnmf_record_free(applied);
        destroy(&p);
    }
}

/* X = Phi R over the columns above the floor, and V is the power of Phi applied to the data. */
static void X_and_V_are_those_of_plain_loops(void **state)
{
    (void)state;
    problem p = create(1, TL_METHOD_TL);
    const double *Phi = array_of(p.model, "Phi");
    double *V = new_doubles(M * N);
    tl_naive_power(S, M, N, p.Y, Phi, V);
    for (int keep = 0; keep < 4; keep++) { /* neither, X, V, both */
        p.apply.keep_X = keep % 2;
        p.apply.keep_V = keep / 2;
        tlnmf_record *applied = apply(&p);
        int64_t shape[TLNMF_MAX_DIMENSIONS], t = 0;
        const double *X = tlnmf_record_get_array(applied, "X", NULL, shape);
        assert_true((X != NULL) == (keep % 2 == 1));
        if (X != NULL) {
            const int64_t *offset = p.data->offset;
            assert_int_equal(shape[0], M);
            assert_int_equal(shape[1], tlnmf_record_get_integer(p.model, "columns"));
            assert_int_equal(shape[1], p.data->T - (offset[FAINT + 1] - offset[FAINT]));
            for (int64_t column = 0; column < p.data->T; column++) {
                if (column >= offset[FAINT] && column < offset[FAINT + 1])
                    continue;
                for (int64_t m = 0; m < M; m++) {
                    double sum = 0.0;
                    for (int64_t i = 0; i < M; i++)
                        sum += Phi[m * M + i] * p.data->R[i * p.data->T + column];
                    assert_near(X[m * shape[1] + t], sum, 1e-13 * sqrt(largest(M * N, V)));
                }
                t++;
            }
        }
        assert_int_equal(tlnmf_record_type(applied, "V"),
                         keep / 2 ? TLNMF_TYPE_ARRAY : TLNMF_TYPE_NONE);
        if (keep / 2 == 1)
            assert_near(largest_difference(M * N, array_of(applied, "V"), V), 0.0,
                        1e-13 * largest(M * N, V));
        tlnmf_record_free(applied);
    }
    free(V);
    destroy(&p);
}

/* H of a frame depends only on that frame: a subset of the frames gives the same H. */
static void frames_do_not_depend_on_each_other(void **state)
{
    (void)state;
    enum { FEW = 7 };
    problem p = create(2, TL_METHOD_TL);
    p.apply.tol = p.apply.grad_tol = 0.0;
    p.apply.J = 10000;
    tlnmf_record *all = apply(&p), *some;
    double *Y = new_doubles(S * M * FEW);
    for (int64_t row = 0; row < S * M; row++)
        for (int64_t n = 0; n < FEW; n++)
            Y[row * FEW + n] = p.Y[row * N + 3 * n];
    tlnmf_data *few = data_of(p.ctx, Y, S, M, FEW);
    assert_ok(p.ctx, tlnmf_apply(p.ctx, p.model, few, &p.apply, &some));
    const double *H = array_of(all, "H"), *part = array_of(some, "H");
    for (int64_t k = 0; k < K; k++)
        for (int64_t n = 0; n < FEW; n++)
            assert_near(part[k * FEW + n], H[k * N + 3 * n], 1e-5 * largest(K * N, H));
    tlnmf_record_free(all);
    tlnmf_record_free(some);
    tlnmf_data_free(few);
    free(Y);
    destroy(&p);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void refuse(problem *p, const tlnmf_record *model, const tlnmf_data *data, tlnmf_error error,
                   const char *message)
{
    tlnmf_record *applied = p->model;
    assert_int_equal(tlnmf_apply(p->ctx, model, data, &p->apply, &applied), error);
    assert_string_equal(tlnmf_message(p->ctx), message);
    assert_null(applied);
}

static void mismatched_models_are_refused(void **state)
{
    (void)state;
    problem p = create(1, TL_METHOD_NMF);
    tlnmf_data *shorter = data_of(p.ctx, p.Y, S, M - 1, N);
    double *W = new_doubles((M + 1) * K), *Phi = new_doubles(M * M);
    tlnmf_record *m = p.model;
    refuse(&p, m, shorter, TLNMF_ERR_SHAPE, "the data have 7 rows per frame; the model expects 8");
    assert_ok(p.ctx, tlnmf_record_set_array(p.ctx, m, "W", W, 2, (int64_t[]){M + 1, K}));
    refuse(&p, m, p.data, TLNMF_ERR_SHAPE, "the model: W has the shape (9, 3), not (8, 3)");
    assert_ok(p.ctx, tlnmf_record_set_array(p.ctx, m, "W", W, 1, (int64_t[]){M * K}));
    refuse(&p, m, p.data, TLNMF_ERR_SHAPE, "the model: W has the shape (24), not (8, 1)");
    W[3] = -1.0;
    assert_ok(p.ctx, tlnmf_record_set_array(p.ctx, m, "W", W, 2, (int64_t[]){M, K}));
    refuse(&p, m, p.data, TLNMF_ERR_DATA, "the model: W must be finite and not negative");
    W[3] = 1.0;
    assert_ok(p.ctx, tlnmf_record_set_array(p.ctx, m, "W", W, 2, (int64_t[]){M, K}));
    assert_ok(p.ctx, tlnmf_record_set_array(p.ctx, m, "Phi", Phi, 2, (int64_t[]){M, M}));
    refuse(
        &p, m, p.data, TLNMF_ERR_DATA,
        "the model's Phi is not orthogonal: Phi Phi' differs from I by 1 (at most 1e-05). Use its "
        "polar factor U V', where U S V' is its singular value decomposition");
    assert_ok(p.ctx, tlnmf_record_set_real(p.ctx, m, "eps", 0.0));
    refuse(&p, m, p.data, TLNMF_ERR_DATA, "the model: eps = 0 is not a usable floor");
    tlnmf_data_free(shorter);
    free(W);
    free(Phi);
    destroy(&p);
}

static void keep_message(tlnmf_log_level level, const char *text, void *user)
{
    if (level == TLNMF_LOG_WARNING)
        snprintf(user, 200, "%s", text);
}

/* A Phi in single precision is replaced by the nearest orthogonal matrix, as that of a start. */
static void single_precision_is_accepted(void **state)
{
    (void)state;
    char message[200] = "";
    problem p = create(1, TL_METHOD_TL);
    double *Phi = new_doubles(M * M), *V = new_doubles(M * N);
    memcpy(Phi, array_of(p.model, "Phi"), M * M * sizeof *Phi);
    for (int64_t i = 0; i < M * M; i++)
        Phi[i] = (float)Phi[i];
    p.apply.keep_V = 1;
    tlnmf_record *exact = apply(&p), *rounded, *likelihood;
    assert_ok(p.ctx, tlnmf_record_set_array(p.ctx, p.model, "Phi", Phi, 2, (int64_t[]){M, M}));
    tlnmf_ctx_set_log(p.ctx, keep_message, message);
    rounded = apply(&p);
    assert_non_null(strstr(message, "the model's Phi is orthogonal only to "));
    assert_near(tlnmf_record_get_real(rounded, "C"), tlnmf_record_get_real(exact, "C"), 1e-3);
    assert_ok(p.ctx, tl_polar(p.ctx, M, Phi));
    tl_naive_power(S, M, N, p.Y, Phi, V);
    assert_near(largest_difference(M * N, array_of(rounded, "V"), V), 0.0,
                1e-13 * largest(M * N, V));
    tlnmf_applier *applier;
    message[0] = '\0';
    assert_ok(p.ctx, tlnmf_applier_create(p.ctx, p.model, &p.apply, &applier));
    assert_non_null(strstr(message, "the model's Phi is orthogonal only to "));
    tlnmf_applier_free(applier);
    assert_ok(p.ctx, tlnmf_likelihood(p.ctx, p.model, p.data, &p.apply, &likelihood));
    tlnmf_record_free(likelihood);
    tlnmf_record_free(exact);
    tlnmf_record_free(rounded);
    free(Phi);
    free(V);
    destroy(&p);
}

static void models_without_W_are_refused(void **state)
{
    (void)state;
    problem p = create(1, TL_METHOD_NMF);
    tl_settings jd = defaults_of(TL_TASK_JD);
    tlnmf_record *transform, *empty;
    assert_ok(p.ctx, tlnmf_diagonalise(p.ctx, p.data, &jd, NULL, &transform));
    assert_ok(p.ctx, tlnmf_record_create(p.ctx, &empty));
    refuse(&p, transform, p.data, TLNMF_ERR_ARGUMENT, "the model has no W");
    refuse(&p, empty, p.data, TLNMF_ERR_ARGUMENT, "the model has no Phi");
    tlnmf_record_free(transform);
    tlnmf_record_free(empty);
    destroy(&p);
}

/* Frames are independent: weights do not change the H of a frame, except that a weight of 0 gives H
 * = 0. */
static void weights_do_not_change_other_frames(void **state)
{
    (void)state;
    problem p = create(1, TL_METHOD_NMF);
    tlnmf_record *plain, *weighted;
    double weights[N];
    for (int64_t n = 0; n < N; n++)
        weights[n] = (double)(n % 3);
    assert_ok(p.ctx, tlnmf_record_set_real(p.ctx, p.model, "C",
                                           NAN)); /* so that the H of the fit is not used */
    assert_ok(p.ctx, tlnmf_apply(p.ctx, p.model, p.data, &p.apply, &plain));
    assert_ok(p.ctx, tlnmf_data_set_weights(p.ctx, p.data, weights));
    assert_ok(p.ctx, tlnmf_apply(p.ctx, p.model, p.data, &p.apply, &weighted));
    const double *a = tlnmf_record_get_array(plain, "H", NULL, NULL);
    const double *b = tlnmf_record_get_array(weighted, "H", NULL, NULL);
    double size = largest(K * N, a);
    for (int64_t i = 0; i < K * N; i++)
        assert_near(b[i], weights[i % N] > 0.0 ? a[i] : 0.0, 1e-5 * size);
    tlnmf_record_free(plain);
    tlnmf_record_free(weighted);
    destroy(&p);
}

static void other_settings_are_refused(void **state)
{
    (void)state;
    problem p = create(1, TL_METHOD_NMF);
    p.apply = fit_settings(K);
    refuse(&p, p.model, p.data, TLNMF_ERR_ARGUMENT,
           "the settings are for task fit; this call needs settings of task apply");
    destroy(&p);
}

/* ---- stopping -------------------------------------------------------------------------------- */

/* Stops after `left` more calls; `complete` counts the complete iterations. */
typedef struct counter {
    int left, complete;
} counter;

static int stop_after(const tlnmf_record *progress, void *user)
{
    counter *calls = user;
    calls->complete += (int)tlnmf_record_get_integer(progress, "complete");
    assert_string_equal(tlnmf_record_get_text(progress, "stage"), "nmf");
    return --calls->left <= 0;
}

static void cancelling_keeps_the_result_so_far(void **state)
{
    (void)state;
    problem p = create(1, TL_METHOD_JD);
    double last = INFINITY;
    for (int most = 1; most <= 41; most += 8) {
        counter calls = {.left = most};
        tlnmf_ctx_set_progress(p.ctx, stop_after, &calls);
        p.ctx->monitor->every = 0.0;
        tlnmf_record *applied = apply(&p);
        double C = tlnmf_record_get_real(applied, "C");
        assert_int_equal(calls.left, 0); /* not called again */
        assert_int_equal(tlnmf_record_get_integer(applied, "outcome_code"),
                         TLNMF_OUTCOME_CANCELLED);
        assert_string_equal(tlnmf_record_get_text(applied, "outcome"), "cancelled");
        assert_int_equal(tlnmf_record_get_integer(applied, "iterations"), calls.complete);
        assert_close(C, tlnmf_record_get_real(applied, "L") + tlnmf_record_get_real(applied, "I"),
                     1e-10);
        assert_true(C < last); /* the later it stops, the lower C */
        last = C;
        tlnmf_record_free(applied);
    }
    destroy(&p);
}

static int sleep_a_little(const tlnmf_record *progress, void *user)
{
    struct timespec nap = {0, 2000000}; /* 2 ms */
    (void)progress;
    (void)user;
    nanosleep(&nap, NULL);
    return 0;
}

static void iterations_and_time_end_it(void **state)
{
    (void)state;
    problem p = create(1, TL_METHOD_JD);
    p.apply.tol = p.apply.grad_tol = 0.0;
    p.apply.J = 3;
    tlnmf_record *applied = apply(&p);
    assert_int_equal(tlnmf_record_get_integer(applied, "outcome_code"), TLNMF_OUTCOME_ITERATIONS);
    assert_int_equal(tlnmf_record_get_integer(applied, "iterations"), 3);
    tlnmf_record_free(applied);
    p.apply.J = 1000000;
    p.apply.max_seconds = 1e-3;
    tlnmf_ctx_set_progress(p.ctx, sleep_a_little, NULL);
    applied = apply(&p);
    assert_int_equal(tlnmf_record_get_integer(applied, "outcome_code"), TLNMF_OUTCOME_TIME);
    assert_true(tlnmf_record_get_integer(applied, "iterations") < 10);
    tlnmf_record_free(applied);
    destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(H_of_the_fit_is_found_again),
        cmocka_unit_test(the_defaults_end_at_the_fit),
        cmocka_unit_test(X_and_V_are_those_of_plain_loops),
        cmocka_unit_test(frames_do_not_depend_on_each_other),
        cmocka_unit_test(mismatched_models_are_refused),
        cmocka_unit_test(single_precision_is_accepted),
        cmocka_unit_test(models_without_W_are_refused),
        cmocka_unit_test(weights_do_not_change_other_frames),
        cmocka_unit_test(other_settings_are_refused),
        cmocka_unit_test(cancelling_keeps_the_result_so_far),
        cmocka_unit_test(iterations_and_time_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
