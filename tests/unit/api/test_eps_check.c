/* The option eps-check: two additional fits, compared with plain loops on the same two fits. */
#include "unit/api/small.h"

static const double *array(const tlnmf_record *record, const char *name)
{
    const double *x = tlnmf_record_get_array(record, name, NULL, NULL);
    assert_non_null(x);
    return x;
}

static tlnmf_record *fit(tlnmf_ctx *ctx, const tlnmf_data *data, const char *pairs, double eps)
{
    tlnmf_record *model;
    tlnmf_settings *settings = new_settings(ctx, "fit", pairs);
    if (eps > 0.0)
        assert_ok(ctx, tlnmf_settings_set_real(ctx, settings, "eps", eps));
    assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
    tlnmf_settings_free(settings);
    return model;
}

static double share_of_same_atoms(const tlnmf_record *model, const tlnmf_record *other)
{
    const double *Phi = array(model, "Phi"), *Psi = array(other, "Phi");
    double found = 0.0, total = 0.0;
    for (int a = 0; a < M; a++) {
        bool same = false;
        for (int b = 0; b < M; b++) {
            double dot = 0.0;
            for (int i = 0; i < M; i++)
                dot += Phi[a * M + i] * Psi[b * M + i];
            same = same || fabs(dot) > 0.9;
        }
        total += array(model, "energy")[a];
        found += same ? array(model, "energy")[a] : 0.0;
    }
    return found / total;
}

/* The numbers equal those of two separate fits; the model itself has the same bits. */
static void neighbours_match_separate_fits(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"k=2 method=tl", "k=2 method=tl eps-check=1"},
        {"k=2 method=jd eps-rel=0.3", "k=2 method=jd eps-rel=0.3 eps-check=1"},
        {"k=2 method=nmf transform=dct", "k=2 method=nmf transform=dct eps-check=1"}};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = small_data(ctx);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        tlnmf_record *plain = fit(ctx, data, pairs[i][0], 0.0);
        tlnmf_record *model = fit(ctx, data, pairs[i][1], 0.0);
        double eps = tlnmf_record_get_real(plain, "eps");
        bool matters = false;
        assert_memory_equal(array(model, "Phi"), array(plain, "Phi"), sizeof(double[M * M]));
        assert_memory_equal(array(model, "H"), array(plain, "H"), sizeof(double[K * N]));
        assert_int_equal(tlnmf_record_type(plain, "eps_check.matters"), TLNMF_TYPE_NONE);
        for (int f = 0; f < 2; f++) {
            tlnmf_record *other = fit(ctx, data, pairs[i][0], (f == 0 ? 1.0 / 3.0 : 3.0) * eps);
            tlnmf_record *values;
            assert_close(array(model, "eps_check.eps")[f], tlnmf_record_get_real(other, "eps"),
                         0.0);
            assert_ok(ctx, tlnmf_record_set_real(ctx, other, "eps", eps));
            assert_ok(ctx, tlnmf_evaluate(ctx, data, other, &values));
            double above =
                (tlnmf_record_get_real(values, "C") - tlnmf_record_get_real(plain, "C")) / (M * N);
            double same = share_of_same_atoms(plain, other);
            assert_near(array(model, "eps_check.above_per_entry")[f], above, 1e-12);
            assert_near(array(model, "eps_check.same_atoms")[f], same, 1e-12);
            matters = matters || above >= 0.01 || same <= 0.9;
            tlnmf_record_free(values);
            tlnmf_record_free(other);
        }
        assert_int_equal(tlnmf_record_get_integer(model, "eps_check.matters"), matters);
        tlnmf_record_free(model);
        tlnmf_record_free(plain);
    }
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* Stops after this many iterations. */
static int stop_later(const tlnmf_record *progress, void *user)
{
    int *left = user;
    *left -= tlnmf_record_get_integer(progress, "complete") == 1;
    return *left <= 0;
}

/* A cancelled check has no result; of the fit before it, only the outcome changes. */
static void a_cancelled_check_has_no_result(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = small_data(ctx);
    int calls = INT32_MAX;
    tlnmf_ctx_set_progress(ctx, stop_later, &calls);
    tlnmf_record *plain = fit(ctx, data, "k=2 method=tl threads=1", 0.0);
    int used = INT32_MAX - calls;
    calls = used + 1;
    tlnmf_record *model = fit(ctx, data, "k=2 method=tl threads=1 eps-check=1", 0.0);
    assert_int_equal(calls, 0);
    assert_int_equal(tlnmf_record_type(model, "eps_check.matters"), TLNMF_TYPE_NONE);
    assert_string_equal(tlnmf_record_get_text(plain, "outcome"), "converged");
    assert_string_equal(tlnmf_record_get_text(model, "outcome"), "cancelled");
    assert_true(tlnmf_record_get_real(model, "C") == tlnmf_record_get_real(plain, "C"));
    calls = 1;
    tlnmf_record *cancelled = fit(ctx, data, "k=2 method=tl threads=1 eps-check=1", 0.0);
    assert_int_equal(calls, 0); /* no other fit was started */
    assert_int_equal(tlnmf_record_type(cancelled, "eps_check.matters"), TLNMF_TYPE_NONE);
    tlnmf_record_free(cancelled);
    tlnmf_record_free(model);
    tlnmf_record_free(plain);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* A copy of the last checkpoint. */
static int keep(const tlnmf_record *state, void *user)
{
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record **last = user;
    size_t size = 0;
    assert_ok(ctx, tlnmf_record_pack(ctx, state, NULL, &size));
    void *bytes = malloc(size);
    assert_ok(ctx, tlnmf_record_pack(ctx, state, bytes, &size));
    tlnmf_record_free(*last);
    assert_ok(ctx, tlnmf_record_unpack(ctx, bytes, size, last));
    free(bytes);
    tlnmf_ctx_free(ctx);
    return 0;
}

/* A checkpoint holds the fit only; a resumed run still gives the same numbers of the check. */
static void a_resumed_run_also_checks(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = small_data(ctx);
    tlnmf_record *last = NULL;
    tlnmf_ctx_set_checkpoint(ctx, 0.0, keep, &last);
    tlnmf_record *whole = fit(ctx, data, "k=2 method=tl eps-check=1", 0.0);
    assert_non_null(last);
    tlnmf_ctx_set_checkpoint(ctx, 0.0, NULL, NULL);
    tlnmf_ctx_set_resume(ctx, last);
    tlnmf_record *again = fit(ctx, data, "k=2 method=tl eps-check=1", 0.0);
    assert_memory_equal(array(again, "H"), array(whole, "H"), sizeof(double[K * N]));
    assert_memory_equal(array(again, "eps_check.above_per_entry"),
                        array(whole, "eps_check.above_per_entry"), sizeof(double[2]));
    tlnmf_record_free(again);
    tlnmf_record_free(whole);
    tlnmf_record_free(last);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* Keeps the states until one has an iterate of the first additional fit. */
static int keep_an_iterate(const tlnmf_record *state, void *user)
{
    keep(state, user);
    return tlnmf_record_has(state, "lower.0.start.0");
}

/* The model counts the starts of the check that continue from a saved iterate. */
static void continued_checks_are_counted(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = small_data(ctx);
    tlnmf_record *last = NULL;
    tlnmf_ctx_set_iterate_after(ctx, 0.0);
    tlnmf_ctx_set_checkpoint(ctx, 0.0, keep_an_iterate, &last);
    tlnmf_record *whole = fit(ctx, data, "k=2 method=nmf J=30 tol=0 grad-tol=0 eps-check=1", 0.0);
    assert_int_equal(tlnmf_record_type(whole, "continued"), TLNMF_TYPE_NONE);
    assert_non_null(last);
    assert_true(tlnmf_record_has(last, "lower.0.start.0"));
    tlnmf_ctx_set_checkpoint(ctx, 0.0, NULL, NULL);
    tlnmf_ctx_set_resume(ctx, last);
    tlnmf_record *again = fit(ctx, data, "k=2 method=nmf J=30 tol=0 grad-tol=0 eps-check=1", 0.0);
    assert_int_equal(tlnmf_record_get_integer(again, "continued"), 1);
    tlnmf_record_free(again);
    tlnmf_record_free(whole);
    tlnmf_record_free(last);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* Then the floor does not matter, and no number is NaN. */
static void the_floor_may_hide_all_data(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = small_data(ctx);
    tlnmf_record *model = fit(ctx, data, "k=2 method=tl J=20 eps-check=1", 1e30);
    for (int f = 0; f < 2; f++) {
        assert_true(array(model, "eps_check.same_atoms")[f] == 1.0);
        assert_near(array(model, "eps_check.above_per_entry")[f], 0.0, 1e-9);
    }
    assert_int_equal(tlnmf_record_get_integer(model, "eps_check.matters"), 0);
    tlnmf_record_free(model);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_match_separate_fits),
        cmocka_unit_test(a_cancelled_check_has_no_result),
        cmocka_unit_test(a_resumed_run_also_checks),
        cmocka_unit_test(continued_checks_are_counted),
        cmocka_unit_test(the_floor_may_hide_all_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
