/* The table of results lists all values that the library puts into records, and no others. */
#include "unit/api/results_table.h"
#include "unit/api/small.h"

static void the_table_describes_itself(void **state)
{
    (void)state;
    static const char kinds[] = "model applied likelihood evaluation start data progress atoms "
                                "separation stems activations labels "
                                "sound scores sample member shared device ranks summary";
    size_t count = tlnmf_result_count();
    assert_true(count > 60);
    for (size_t i = 0; i < count; i++) {
        char where[128], *rest;
        assert_true(strlen(tlnmf_result_name(i)) > 0);
        assert_true(strlen(tlnmf_result_help(i)) > 4);
        assert_true(tlnmf_result_type(i) >= TLNMF_TYPE_INTEGER &&
                    tlnmf_result_type(i) <= TLNMF_TYPE_ARRAY);
        assert_true((strlen(tlnmf_result_shape(i)) > 0) ==
                    (tlnmf_result_type(i) == TLNMF_TYPE_ARRAY));
        snprintf(where, sizeof where, "%s", tlnmf_result_where(i));
        assert_true(strlen(where) > 0);
        for (char *word = strtok_r(where, " ", &rest); word != NULL;
             word = strtok_r(NULL, " ", &rest)) {
            assert_true(is_among(kinds, word));
            assert_true(find_result(tlnmf_result_name(i), word) ==
                        i); /* one row per kind of record */
        }
    }
    assert_null(tlnmf_result_name(count));
    assert_int_equal(tlnmf_result_type(count), TLNMF_TYPE_NONE);
    assert_null(tlnmf_result_shape(count));
    assert_null(tlnmf_result_where(count));
    assert_null(tlnmf_result_help(SIZE_MAX));
}

/* With a GPU or without. */
static void a_device_is_in_the_table(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *device;
    assert_int_equal(tlnmf_device(ctx, NULL), TLNMF_ERR_ARGUMENT);
    assert_ok(ctx, tlnmf_device(ctx, &device));
    expect_in_table(device, "device", "", (symbols){0});
    bool available = tlnmf_record_get_integer(device, "available") == 1;
    assert_int_equal(tlnmf_record_get_text(device, "name") != NULL, available);
    assert_int_equal(tlnmf_record_get_text(device, "reason") == NULL, available);
    assert_int_equal(tlnmf_record_get_real(device, "memory_free") <=
                         tlnmf_record_get_real(device, "memory"),
                     available);
    tlnmf_record_free(device);
    tlnmf_ctx_free(ctx);
}

/* ---- fits ------------------------------------------------------------------------------------ */

static symbols sizes_of(const tlnmf_record *model)
{
    return (symbols){3,
                     {{"M", tlnmf_record_get_integer(model, "M")},
                      {"N", tlnmf_record_get_integer(model, "N")},
                      {"K", tlnmf_record_get_integer(model, "K")}}};
}

static void models_are_in_the_table(void **state)
{
    (void)state;
    static const char *const pairs[] = {
        "k=2 J=5 starts=2 exchange=1 trace=1",
        "k=2 J=5 exchange=1 trace=1 solver=paper stream=numpy",
        "k=2 J=5 method=nmf transform=dft eps=1e6", /* hides the data: a caveat */
        "k=2 J=5 method=tl certify=1 eps-check=1",
    };
    enum { MODELS = 5 };
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = small_data(ctx);
    const tlnmf_record *models[MODELS];
    for (int i = 0; i < MODELS; i++) {
        const char *task = i < MODELS - 1 ? "fit" : "jd";
        tlnmf_settings *settings =
            new_settings(ctx, task, i < MODELS - 1 ? pairs[i] : "trace=1 whiten=1");
        tlnmf_record *model;
        tlnmf_error error = i < MODELS - 1 ? tlnmf_fit(ctx, data, settings, NULL, &model)
                                           : tlnmf_diagonalise(ctx, data, settings, NULL, &model);
        assert_ok(ctx, error);
        expect_in_table(model, "model", task, sizes_of(model));
        assert_true(tlnmf_record_get_integer(model, "K") == (i < MODELS - 1 ? K : 0));
        models[i] = model;
        tlnmf_settings_free(settings);
    }
    assert_non_null(tlnmf_record_get_array(models[0], "other.Phi", NULL, NULL));
    assert_null(tlnmf_record_get_array(models[4], "W", NULL, NULL));
    expect_all_held("model", models, MODELS, "continued"); /* of resumed fits */
    for (int i = 0; i < MODELS; i++)
        tlnmf_record_free((tlnmf_record *)(uintptr_t)models[i]);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* A model has every option of the task, with the value of the settings. */
static void models_contain_their_options(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = small_data(ctx);
    tlnmf_settings *settings = new_settings(ctx, "fit", "k=2 J=3 eps-rel=0.125 method=tl seed=77");
    tlnmf_record *model;
    const char *option;
    assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
    for (size_t i = 0; (option = tlnmf_option_name("fit", i)) != NULL; i++) {
        char name[64], value[64];
        snprintf(name, sizeof name, "option.%s", option);
        assert_non_null(tlnmf_record_get_text(model, name));
        assert_string_equal(tlnmf_record_get_text(model, name),
                            tlnmf_settings_get_text(settings, option, value, sizeof value));
    }
    assert_string_equal(tlnmf_record_get_text(model, "option.seed"), "77");
    assert_string_equal(tlnmf_record_get_text(model, "option.eps-rel"), "0.125");
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* C beyond the range of double is an error, not a value. */
static void an_evaluation_is_finite(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = small_data(ctx);
    tlnmf_settings *settings = new_settings(ctx, "fit", "k=2 J=3");
    tlnmf_record *start, *values;
    assert_ok(ctx, tlnmf_draw_start(ctx, data, settings, 0, &start));
    double Phi[M * M];
    memcpy(Phi, tlnmf_record_get_array(start, "Phi", NULL, NULL), sizeof Phi);
    Phi[0] = 1e200;
    assert_ok(ctx, tlnmf_record_set_array(ctx, start, "Phi", Phi, 2, (int64_t[]){M, M}));
    assert_ok(ctx, tlnmf_record_set_real(ctx, start, "eps", 1e-3));
    assert_int_equal(tlnmf_evaluate(ctx, data, start, &values), TLNMF_ERR_NUMERIC);
    assert_null(values);
    tlnmf_record_free(start);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* Data, a start, an evaluation, atoms. */
static void records_around_a_fit_are_in_the_table(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = small_data(ctx);
    tlnmf_settings *settings = new_settings(ctx, "fit", "k=2 J=3");
    tlnmf_settings *applying = new_settings(ctx, "apply", "");
    tlnmf_record *model, *start, *values, *atoms, *likelihood;
    assert_ok(ctx, tlnmf_data_set_dof(ctx, data, 2));
    const tlnmf_record *record = tlnmf_data_record(data);
    assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
    symbols sizes = sizes_of(model);
    expect_in_table(record, "data", "", sizes);
    expect_all_held("data", &record, 1, "");
    assert_true(tlnmf_record_get_integer(record, "S") == S);
    assert_ok(ctx, tlnmf_draw_start(ctx, data, settings, 0, &start));
    expect_in_table(start, "start", "", sizes);
    expect_all_held("start", (const tlnmf_record *const *)&start, 1, "");
    assert_ok(ctx, tlnmf_evaluate(ctx, data, model, &values));
    expect_in_table(values, "evaluation", "", sizes);
    expect_all_held("evaluation", (const tlnmf_record *const *)&values, 1, "");
    assert_close(tlnmf_record_get_real(values, "C"), tlnmf_record_get_real(model, "C"), 1e-12);
    assert_ok(ctx, tlnmf_likelihood(ctx, model, data, applying, &likelihood));
    expect_in_table(likelihood, "likelihood", "", sizes);
    expect_all_held("likelihood", (const tlnmf_record *const *)&likelihood, 1, "");
    tlnmf_record_free(likelihood);
    tlnmf_settings_free(applying);
    assert_ok(ctx, tlnmf_atoms(ctx, model, 100.0, 4, &atoms));
    expect_in_table(atoms, "atoms", "", (symbols){2, {{"count", 4}, {"M", M}}});
    expect_all_held("atoms", (const tlnmf_record *const *)&atoms, 1, "");
    tlnmf_record_free(atoms);
    tlnmf_record_free(values);
    tlnmf_record_free(start);
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

static void samples_are_in_the_table(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings = new_settings(ctx, "gcm", "s=2 m=6 n=9 kbar=3");
    tlnmf_record *samples[2];
    assert_ok(ctx, tlnmf_simulate_gcm(ctx, settings, &samples[0]));
    assert_ok(ctx, tlnmf_simulate_notes(ctx, (double[]){0.1, 0.2}, 1, &samples[1]));
    expect_in_table(samples[0], "sample", "",
                    (symbols){4, {{"S", 2}, {"M", 6}, {"N", 9}, {"K", 3}}});
    expect_in_table(samples[1], "sample", "",
                    (symbols){3, {{"S", 1}, {"M", NOTES_M}, {"N", NOTES_N}}});
    expect_all_held("sample", (const tlnmf_record *const *)samples, 2, "");
    tlnmf_record_free(samples[0]);
    tlnmf_record_free(samples[1]);
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
}

/* ---- sound ----------------------------------------------------------------------------------- */

static void separations_are_in_the_table(void **state)
{
    (void)state;
    static double x[LENGTH * CHANNELS], y[3 * LENGTH * CHANNELS]; /* two sources, the residual */
    tlnmf_ctx *ctx = new_ctx();
    fill_sound(x);
    tlnmf_sound *sound = labelled_sound(ctx, x);
    tlnmf_settings *learn = new_settings(ctx, "learn", QUICK_SEPARATION);
    tlnmf_settings *take_apart = new_settings(ctx, "separate", "keep-h=1 residual=1 threads=1");
    tlnmf_record *model, *stems[2], *events;
    const tlnmf_record *described = tlnmf_sound_record(sound);
    expect_in_table(described, "sound", "", (symbols){0});
    expect_all_held("sound", &described, 1, "label_file"); /* of labels from a file */
    assert_ok(ctx, tlnmf_learn_sources(ctx, sound, learn, &model));
    expect_in_table(model, "separation", "learn", (symbols){2, {{"M", FRAME}, {"K", 2}}});
    expect_all_held("separation", (const tlnmf_record *const *)&model, 1, "caveats");
    assert_ok(ctx, tlnmf_separate_plan(ctx, model, sound, take_apart, &stems[0]));
    assert_ok(ctx, tlnmf_separate_array(ctx, model, sound, take_apart, y, &stems[1]));
    assert_int_equal(tlnmf_record_get_integer(stems[0], "stems"), 3);
    int64_t frames = tlnmf_record_get_integer(stems[0], "N");
    expect_in_table(stems[0], "stems", "", (symbols){0});
    expect_in_table(stems[1], "stems", "", (symbols){3, {{"K", 2}, {"N", frames}, {"stems", 3}}});
    expect_all_held("stems", (const tlnmf_record *const *)stems, 2, "");
    assert_ok(ctx, tlnmf_activations(ctx, model, sound, stems[1], &events));
    expect_in_table(events, "activations", "", (symbols){0});
    expect_all_held("activations", (const tlnmf_record *const *)&events, 1, "");
    tlnmf_record_free(events);
    tlnmf_record_free(stems[1]);
    tlnmf_record_free(stems[0]);
    tlnmf_record_free(model);
    tlnmf_settings_free(take_apart);
    tlnmf_settings_free(learn);
    tlnmf_sound_free(sound);
    tlnmf_ctx_free(ctx);
}

static void scores_are_in_the_table(void **state)
{
    (void)state;
    enum { SOURCES = 2, SAMPLES = 300 };
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 3, 0);
    double *reference = new_normals(&rng, SOURCES * SAMPLES * CHANNELS),
           *estimate = new_normals(&rng, SOURCES * SAMPLES * CHANNELS);
    tlnmf_settings *settings = new_settings(ctx, "score", "filter=4 framewise=100");
    tlnmf_record *scores;
    assert_ok(ctx, tlnmf_score(ctx, reference, estimate, (int64_t[]){SOURCES, SAMPLES, CHANNELS},
                               settings, &scores));
    expect_in_table(scores, "scores", "",
                    (symbols){3, {{"sources", SOURCES}, {"channels", CHANNELS}, {"windows", 5}}});
    expect_all_held("scores", (const tlnmf_record *const *)&scores, 1, "");
    tlnmf_record_free(scores);
    tlnmf_settings_free(settings);
    free(reference);
    free(estimate);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_describes_itself),
        cmocka_unit_test(models_are_in_the_table),
        cmocka_unit_test(models_contain_their_options),
        cmocka_unit_test(a_device_is_in_the_table),
        cmocka_unit_test(an_evaluation_is_finite),
        cmocka_unit_test(records_around_a_fit_are_in_the_table),
        cmocka_unit_test(samples_are_in_the_table),
        cmocka_unit_test(separations_are_in_the_table),
        cmocka_unit_test(scores_are_in_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
