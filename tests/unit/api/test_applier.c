/* The applier: the same H as tlnmf_apply, frame by frame, without an allocation. */
#include "unit/api/small.h"

#include "tlnmf/sound.h"

enum { AM = 24, AK = 3, AN = 12 };

typedef struct counted {
    int blocks, live;
} counted;

static void *count_allocate(size_t bytes, void *user)
{
    ((counted *)user)->blocks++;
    ((counted *)user)->live++;
    return malloc(bytes);
}

static void count_release(void *block, void *user)
{
    ((counted *)user)->live--;
    free(block);
}

/* A model of synthetic frames, and a frame that it was not fitted to. */
static tlnmf_record *fit_model(double *Y)
{
    const int64_t shape[3] = {1, AM, AN};
    tlnmf_record *model;
    char message[TLNMF_MESSAGE_SIZE];
    for (int m = 0; m < AM; m++)
        for (int n = 0; n < AN; n++)
            Y[m * AN + n] = sin(0.7 * m + n) + (n % 3) * cos(1.9 * m - 2.0 * n) + 0.1 * sin(m * n);
    if (tlnmf_simple_fit(Y, shape, "k=3 seed=2 J=30", message, &model) != TLNMF_OK)
        fail_msg("%s", message);
    return model;
}

static void same_numbers_as_apply_without_allocation(void **state)
{
    (void)state;
    double Y[AM * AN], y[AM], h[AK], x[AM];
    counted c = {0};
    tlnmf_applier *applier;
    tlnmf_record *model = fit_model(Y);
    const double *Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL);
    tlnmf_ctx *ctx = new_ctx_with(count_allocate, count_release, &c);
    tlnmf_settings *settings = new_settings(ctx, "apply", "J=50");
    assert_ok(ctx, tlnmf_applier_create(ctx, model, settings, &applier));
    for (int n = 0; n < 20; n++) {
        const int64_t shape[3] = {1, AM, 1};
        tlnmf_record *applied;
        char message[TLNMF_MESSAGE_SIZE];
        for (int m = 0; m < AM; m++)
            y[m] = (n % 4 + 0.5) * sin(0.7 * m + 5 * n) + cos(1.3 * m * n) * pow(10.0, n % 5 - 2);
        int blocks = c.blocks;
        assert_ok(ctx, tlnmf_applier_frame(ctx, applier, y, h, n % 2 == 0 ? x : NULL));
        assert_int_equal(c.blocks, blocks);
        assert_int_equal(tlnmf_simple_apply(model, y, shape, "J=50", message, &applied), TLNMF_OK);
        const double *H = tlnmf_record_get_array(applied, "H", NULL, NULL);
        for (int k = 0; k < AK; k++)
            assert_near(h[k], H[k], 1e-10 * (H[0] + H[1] + H[2]));
        for (int a = 0; n % 2 == 0 && a < AM; a++) {
            double sum = 0.0;
            for (int m = 0; m < AM; m++)
                sum += Phi[a * AM + m] * y[m];
            assert_near(x[a], sum, 1e-11 * (1.0 + fabs(sum)));
        }
        tlnmf_record_free(applied);
    }
    tlnmf_record_free(model); /* the applier has a copy */
    assert_ok(ctx, tlnmf_applier_frame(ctx, applier, y, h, NULL));
    tlnmf_applier_free(applier);
    tlnmf_applier_free(NULL);
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
    assert_int_equal(c.live, 0);
}

/* h is 0 up to |y|^2 = 1e-16 eps, in tlnmf_apply with other frames as well. Of a quiet frame h is
 * positive, but small compared with eps. */
static void quiet_frames(void **state)
{
    (void)state;
    static const double level[] = {1e-17, 1e-15, 1e-10, 1e-6}; /* |y|^2 / eps */
    enum { LEVELS = sizeof level / sizeof *level };
    double Y[AM * AN], two[AM * 2], y[AM] = {0}, h[AK];
    tlnmf_applier *applier;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *model = fit_model(Y);
    tlnmf_settings *settings = new_settings(ctx, "apply", "");
    double eps = tlnmf_record_get_real(model, "eps");
    assert_ok(ctx, tlnmf_applier_create(ctx, model, settings, &applier));
    for (int i = 0; i < LEVELS; i++) {
        const int64_t shape[3] = {1, AM, 2};
        tlnmf_record *applied;
        char message[TLNMF_MESSAGE_SIZE];
        y[2] = sqrt(level[i] * eps);
        for (int m = 0; m < AM; m++) {
            two[2 * m] = Y[m * AN];
            two[2 * m + 1] = y[m];
        }
        assert_ok(ctx, tlnmf_applier_frame(ctx, applier, y, h, NULL));
        assert_int_equal(tlnmf_simple_apply(model, two, shape, "", message, &applied), TLNMF_OK);
        const double *H = tlnmf_record_get_array(applied, "H", NULL, NULL);
        for (int k = 0; k < AK; k++) {
            assert_int_equal(h[k] == 0.0, level[i] <= 1e-16);
            assert_int_equal(H[2 * k + 1] == 0.0, level[i] <= 1e-16);
            assert_true(h[k] < 1e-4 * eps && H[2 * k + 1] < 1e-3 * eps && H[2 * k] > 0.0);
        }
        tlnmf_record_free(applied);
    }
    tlnmf_applier_free(applier);
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
}

static void silence_and_errors(void **state)
{
    (void)state;
    double Y[AM * AN], y[AM] = {0}, h[AK] = {1, 1, 1}, x[AM];
    tlnmf_applier *applier;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *model = fit_model(Y);
    tlnmf_settings *settings = new_settings(ctx, "apply", "");
    assert_ok(ctx, tlnmf_applier_create(ctx, model, settings, &applier));
    assert_ok(ctx, tlnmf_applier_frame(ctx, applier, y, h, x));
    for (int k = 0; k < AK; k++)
        assert_true(h[k] == 0.0);
    assert_true(x[0] == 0.0 && x[AM - 1] == 0.0);
    y[3] = NAN;
    assert_int_equal(tlnmf_applier_frame(ctx, applier, y, h, NULL), TLNMF_ERR_DATA);
    y[3] = 1e200;
    assert_int_equal(tlnmf_applier_frame(ctx, applier, y, h, NULL), TLNMF_ERR_DATA);
    y[3] = 1.0; /* an error does not change the applier */
    assert_ok(ctx, tlnmf_applier_frame(ctx, applier, y, h, NULL));
    assert_true(h[0] + h[1] + h[2] > 0.0);
    tlnmf_applier_free(applier);

    assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, "device", "gpu"));
    assert_int_equal(tlnmf_applier_create(ctx, model, settings, &applier), TLNMF_ERR_OPTION);
    assert_null(applier);
    assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, "device", "cpu"));
    double Phi[AM * AM];
    memcpy(Phi, tlnmf_record_get_array(model, "Phi", NULL, NULL), sizeof Phi);
    Phi[0] += 0.01;
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "Phi", Phi, 2, (int64_t[]){AM, AM}));
    assert_int_equal(tlnmf_applier_create(ctx, model, settings, &applier), TLNMF_ERR_DATA);
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "Phi", Phi, 2, (int64_t[]){0, 0}));
    assert_int_equal(tlnmf_applier_create(ctx, model, settings, &applier), TLNMF_ERR_ARGUMENT);
    assert_null(applier);
    tlnmf_record_remove(model, "Phi");
    assert_int_equal(tlnmf_applier_create(ctx, model, settings, &applier), TLNMF_ERR_ARGUMENT);
    assert_string_equal(tlnmf_message(ctx), "the model has no Phi");
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
}

/* Every call that takes a model checks it: a NaN is named, and never passes as orthogonal. */
static void a_NaN_in_Phi_is_refused_wherever_a_model_is_taken(void **state)
{
    (void)state;
    static const char message[] = "the model's Phi is not finite at row 0, column 7";
    double Y[AM * AN], Phi[AM * AM];
    const int64_t shape[3] = {1, AM, AN};
    tlnmf_data *data;
    tlnmf_applier *applier;
    tlnmf_record *out, *model = fit_model(Y);
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings = new_settings(ctx, "apply", "");
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, shape, &data));
    memcpy(Phi, tlnmf_record_get_array(model, "Phi", NULL, NULL), sizeof Phi);
    Phi[7] = NAN;
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "Phi", Phi, 2, (int64_t[]){AM, AM}));
    assert_int_equal(tlnmf_applier_create(ctx, model, settings, &applier), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), message);
    assert_null(applier);
    assert_int_equal(tlnmf_apply(ctx, model, data, settings, &out), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), message);
    assert_int_equal(tlnmf_likelihood(ctx, model, data, settings, &out), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), message);
    assert_int_equal(tlnmf_atoms(ctx, model, 1.0, 1, &out), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), message);
    assert_int_equal(tlnmf_spectrogram(ctx, model, NULL, 1, 1, &out), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), message);
    assert_null(out);
    tlnmf_data_free(data);
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_numbers_as_apply_without_allocation), cmocka_unit_test(quiet_frames),
        cmocka_unit_test(silence_and_errors),
        cmocka_unit_test(a_NaN_in_Phi_is_refused_wherever_a_model_is_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
