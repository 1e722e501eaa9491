/* tlnmf/io.h: models as records: round trips, files of version 0.1, errors. */
#include "unit/io/test_api.h"

#include <hdf5.h>
#include <math.h>
#include <time.h>

enum { M = 2, N = 4, K = 3 };

static const double Phi[M * M] = {0.6, 0.8, -0.8, 0.6};
static const double W[M * K] = {1, 2, 3, 4, 5, 6};
static const double H[K * N] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static tlnmf_record *make_model(tlnmf_ctx *ctx)
{
    tlnmf_record *model;

    assert_ok(ctx, tlnmf_record_create(ctx, &model));
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "Phi", Phi, 2, (int64_t[]){M, M}));
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "W", W, 2, (int64_t[]){M, K}));
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "H", H, 2, (int64_t[]){K, N}));
    return model;
}

static tlnmf_record *write_and_read(tlnmf_ctx *ctx, const tlnmf_record *model)
{
    tlnmf_record *back;

    assert_ok(ctx, tlnmf_io_write_model(ctx, "model.h5", model));
    assert_ok(ctx, tlnmf_io_read_model(ctx, "model.h5", &back));
    return back;
}

static void assert_same_array(const tlnmf_record *a, const tlnmf_record *b, const char *name)
{
    int64_t shape_a[TLNMF_MAX_DIMENSIONS], shape_b[TLNMF_MAX_DIMENSIONS], count = 1;
    int32_t rank_a, rank_b;
    const double *x = tlnmf_record_get_array(a, name, &rank_a, shape_a);
    const double *y = tlnmf_record_get_array(b, name, &rank_b, shape_b);

    if (!x || !y)
        fail_msg("%s is missing", name);
    assert_int_equal(rank_a, rank_b);
    for (int d = 0; d < TLNMF_MAX_DIMENSIONS; d++) {
        assert_int_equal(shape_a[d], shape_b[d]);
        count *= shape_a[d];
    }
    assert_memory_equal(x, y, (size_t)count * sizeof *x);
}

/* Whether `b` has the value of `a`. A real that is not finite is NaN in `b` if the table of results
 * has its name, and missing otherwise. */
static void assert_same_value(const tlnmf_record *a, const tlnmf_record *b, const char *name)
{
    tlnmf_type type = tlnmf_record_type(a, name);
    double real = tlnmf_record_get_real(a, name);
    const char *text;

    if (type == TLNMF_TYPE_REAL && !isfinite(real)) {
        if (io_result_index(name) == tlnmf_result_count())
            type = TLNMF_TYPE_NONE;
        else
            real = NAN;
    }
    if (tlnmf_record_type(b, name) != type)
        fail_msg("%s has type %d, not %d", name, (int)tlnmf_record_type(b, name), (int)type);
    if (type == TLNMF_TYPE_INTEGER)
        assert_int_equal(tlnmf_record_get_integer(a, name), tlnmf_record_get_integer(b, name));
    else if (type == TLNMF_TYPE_REAL)
        assert_true(tlnmf_record_get_real(b, name) == real ||
                    (isnan(real) && isnan(tlnmf_record_get_real(b, name))));
    else if (type == TLNMF_TYPE_TEXT)
        assert_string_equal(tlnmf_record_get_text(a, name), tlnmf_record_get_text(b, name));
    for (size_t i = 0; (text = tlnmf_record_get_text_at(a, name, i)) != NULL; i++)
        assert_string_equal(text, tlnmf_record_get_text_at(b, name, i));
}

static void assert_round_trip(tlnmf_ctx *ctx, const tlnmf_record *model)
{
    static const char *const arrays[] = {"Phi",     "W",       "H",          "trace.stage",
                                         "trace.C", "trace.L", "trace.step", "trace.seconds"};
    tlnmf_record *back = write_and_read(ctx, model);

    for (size_t i = 0; i < tlnmf_record_count(model); i++) {
        const char *name = tlnmf_record_name(model, i);
        if (tlnmf_record_type(model, name) != TLNMF_TYPE_ARRAY)
            assert_same_value(model, back, name);
    }
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        bool is_there = tlnmf_record_type(model, arrays[i]) == TLNMF_TYPE_ARRAY;
        assert_int_equal(tlnmf_record_type(back, arrays[i]) == TLNMF_TYPE_ARRAY, is_there);
        if (is_there)
            assert_same_array(model, back, arrays[i]);
    }
    tlnmf_record_free(back);
}

/* ---- round trips ----------------------------------------------------------------------------- */

static tlnmf_record *fit(tlnmf_ctx *ctx)
{
    double Y[4 * 6];
    tlnmf_data *data;
    tlnmf_settings *settings;
    tlnmf_record *model;

    for (int i = 0; i < 24; i++)
        Y[i] = (double)((i * 7) % 11) - 5.0;
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, (int64_t[]){1, 4, 6}, &data));
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "k", 2));
    assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, "trace", "true"));
    assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    return model;
}

static void test_fit(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = fit(ctx), *back;

    (void)state;
    assert_round_trip(ctx, model);
    back = write_and_read(ctx, model);
    assert_string_equal(tlnmf_record_get_text(back, "option.k"), "2");
    assert_non_null(strstr(tlnmf_record_get_text(back, "summary"), "\"options\": {"));
    tlnmf_record_free(back);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

static void test_values(void **state)
{
    static const char *const list[] = {"a", "", "\xc3\xa9"};
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = make_model(ctx), *back;

    (void)state;
    assert_ok(ctx, tlnmf_record_set_integer(ctx, model, "big", INT64_MAX));
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "whole", 3.0));
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "odd", 0.1));
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "unknown", NAN));
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "text", "two\nlines \"quoted\""));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, model, "list", list, 3));
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "option.seed", "7"));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, model, "data.M", M));
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "deep.in.it", 2.5));
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "data", "both a value and a group"));
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "odd..dots.", "fine"));
    assert_round_trip(ctx, model);
    back = write_and_read(ctx, model);
    assert_int_equal(tlnmf_record_get_integer(back, "M"), M);
    assert_int_equal(tlnmf_record_get_integer(back, "N"), N);
    assert_int_equal(tlnmf_record_get_integer(back, "K"), K);
    tlnmf_record_free(back);
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "file", "na\xefve"));
    back = write_and_read(ctx, model);
    assert_string_equal(tlnmf_record_get_text(back, "file"), "na?ve"); /* JSON is UTF-8 */
    tlnmf_record_free(back);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

/* The summary of a program is stored unchanged; its values are those of the record. */
static void test_given_summary(void **state)
{
    static const char text[] =
        "{\"C\": 1.5, \"M\": 77, \"Phi\": \"theirs\", \"yes\": true, \"none\": null, \"list\": [1],"
        " \"names\": [\"x\"], \"no name\": 1, \"options\": {\"k\": 3, \"deep\": {\"x\": 1}},"
        " \"atoms\": [{\"row\": 1}], \"empty\": {}}";
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = make_model(ctx), *back;

    (void)state;
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "summary", text));
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "L", 9.0)); /* differs from the summary */
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "other.C", 4.0));
    back = write_and_read(ctx, model);
    json_t *want = json_loads(text, 0, NULL);
    json_t *got = json_loads(tlnmf_record_get_text(back, "summary"), 0, NULL);
    json_t *rest = json_pack("{s:f, s:f}", "L", 9.0, "other.C", 4.0);
    json_object_set_new(want, "record", rest);
    assert_true(json_equal(want, got));
    json_decref(want);
    json_decref(got);
    assert_true(tlnmf_record_get_real(back, "C") == 1.5);
    assert_true(tlnmf_record_get_real(back, "L") == 9.0);
    assert_true(tlnmf_record_get_real(back, "other.C") == 4.0);
    assert_int_equal(tlnmf_record_get_integer(back, "M"), M);
    assert_same_array(model, back, "Phi");
    assert_int_equal(tlnmf_record_get_integer(back, "yes"), 1);
    assert_int_equal(tlnmf_record_get_integer(back, "option.k"), 3);
    assert_int_equal(tlnmf_record_get_integer(back, "option.deep.x"), 1);
    assert_string_equal(tlnmf_record_get_text_at(back, "names", 0), "x");
    static const char *const missing[] = {"none", "list", "no name", "atoms", "empty"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        assert_int_equal(tlnmf_record_type(back, missing[i]), TLNMF_TYPE_NONE);
    tlnmf_record_free(back);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

static void test_trace(void **state)
{
    static const char *const names[] = {"trace.stage", "trace.iteration", "trace.C",      "trace.L",
                                        "trace.I",     "trace.step",      "trace.seconds"};
    static const double x[] = {0, 1, 2};
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = make_model(ctx);

    (void)state;
    for (int c = 0; c < 6; c++)
        assert_ok(ctx, tlnmf_record_set_array(ctx, model, names[c], x, 1, (int64_t[]){3}));
    assert_round_trip(ctx, model);
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, names[6], x, 1, (int64_t[]){3}));
    assert_round_trip(ctx, model);
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "trace.C", x, 1, (int64_t[]){2}));
    assert_error(ctx, tlnmf_io_write_model(ctx, "x.h5", model), TLNMF_ERR_SHAPE,
                 "x.h5: trace.C has rows = 2, but trace.stage has rows = 3");
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "trace.C", x, 2, (int64_t[]){3, 1}));
    assert_error(ctx, tlnmf_io_write_model(ctx, "x.h5", model), TLNMF_ERR_SHAPE,
                 "x.h5: trace.C must have the shape (rows)");
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

/* ---- files of version 0.1 -------------------------------------------------------------------- */

/* Written by HDF5 1.10; other versions may write different bytes. */
static bool writes_same_bytes(void)
{
    unsigned major, minor, release;

    return H5get_libversion(&major, &minor, &release) >= 0 && major == 1 && minor == 10;
}

static void test_old_models(void **state)
{
    static const char *const paths[] = {TEST_DATA "/fit_0.1.h5", TEST_DATA "/jd_0.1.h5",
                                        TEST_DATA "/separate_0.1.h5"};
    tlnmf_ctx *ctx = new_context();

    (void)state;
    for (int i = 0; i < 3; i++) {
        tlnmf_record *model, *again;
        assert_ok(ctx, tlnmf_io_read_model(ctx, paths[i], &model));
        assert_ok(ctx, tlnmf_io_write_model(ctx, "again.h5", model));
        if (writes_same_bytes())
            assert_same_files(paths[i], "again.h5");
        assert_ok(ctx, tlnmf_io_read_model(ctx, "again.h5", &again));
        assert_same_array(model, again, "Phi");
        assert_string_equal(tlnmf_record_get_text(model, "summary"),
                            tlnmf_record_get_text(again, "summary"));
        tlnmf_record_free(again);
        tlnmf_record_free(model);
    }
    tlnmf_ctx_free(ctx);
}

static void test_old_fit(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model;
    int64_t shape[TLNMF_MAX_DIMENSIONS];

    (void)state;
    assert_ok(ctx, tlnmf_io_read_model(ctx, TEST_DATA "/fit_0.1.h5", &model));
    assert_true(fabs(tlnmf_record_get_real(model, "C") - 20.156807698254969) < 1e-14);
    assert_string_equal(tlnmf_record_get_text(model, "outcome"), "iterations");
    assert_string_equal(tlnmf_record_get_text(model, "version"), "0.1.0");
    assert_int_equal(tlnmf_record_get_integer(model, "option.k"), 2);
    assert_int_equal(tlnmf_record_get_integer(model, "option.trace"), 1);
    assert_int_equal(tlnmf_record_get_integer(model, "exchange.chain_holds"), 1);
    assert_int_equal(tlnmf_record_get_integer(model, "data.S"), 3);
    assert_non_null(tlnmf_record_get_array(model, "trace.step", NULL, shape));
    assert_int_equal(tlnmf_record_type(model, "trace.seconds"), TLNMF_TYPE_NONE);
    tlnmf_record_free(model);
    assert_ok(ctx, tlnmf_io_read_model(ctx, TEST_DATA "/jd_0.1.h5", &model));
    assert_int_equal(tlnmf_record_get_integer(model, "K"), 0);
    assert_int_equal(tlnmf_record_get_integer(model, "N"), 6);
    assert_int_equal(tlnmf_record_type(model, "W"), TLNMF_TYPE_NONE);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

/* The stems of a model, with the number of samples of duet.wav. */
enum { LENGTH = 800 };
static void take_apart(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                       double stems[2 * LENGTH])
{
    tlnmf_settings *settings;
    tlnmf_record *report;

    assert_ok(ctx, tlnmf_settings_create(ctx, "separate", &settings));
    assert_ok(ctx, tlnmf_separate_array(ctx, model, sound, settings, stems, &report));
    tlnmf_record_free(report);
    tlnmf_settings_free(settings);
}

/* `tlnmf apply` of version 0.1 wrote duet_low_0.1.wav with this model, in steps of 2^-15. */
static void test_old_separation(void **state)
{
    static double stems[2 * LENGTH], low[LENGTH];
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model;
    tlnmf_sound *duet, *old;

    (void)state;
    assert_ok(ctx, tlnmf_io_read_model(ctx, TEST_DATA "/separate_0.1.h5", &model));
    assert_ok(ctx, tlnmf_io_open_sound(ctx, TEST_DATA "/duet.wav", &duet));
    assert_ok(ctx, tlnmf_io_open_sound(ctx, TEST_DATA "/duet_low_0.1.wav", &old));
    assert_int_equal(tlnmf_record_get_integer(model, "sources"), 2);
    assert_int_equal(tlnmf_record_type(model, "rate"), TLNMF_TYPE_REAL);
    assert_int_equal(tlnmf_record_get_integer(model, "J"), 10);
    assert_true(fabs(tlnmf_record_get_real(model, "score") - 31.803368603492817) < 1e-12);
    assert_string_equal(tlnmf_record_get_text_at(model, "names", 1), "high");
    take_apart(ctx, model, duet, stems);
    assert_ok(ctx, tlnmf_sound_read(ctx, old, 0, LENGTH, low));
    for (int t = 0; t < LENGTH; t++)
        if (!(fabs(stems[t] - low[t]) <= 0x1p-16 + 1e-9))
            fail_msg("sample %d is %.9g, not %.9g", t, stems[t], low[t]);
    tlnmf_sound_free(old);
    tlnmf_sound_free(duet);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

/* A separation of the current version, without the summary of a program. */
static void test_new_separation(void **state)
{
    static double before[2 * LENGTH], after[2 * LENGTH];
    tlnmf_ctx *ctx = new_context();
    tlnmf_settings *settings;
    tlnmf_record *model, *back;
    tlnmf_sound *duet;

    (void)state;
    assert_ok(ctx, tlnmf_io_open_sound(ctx, TEST_DATA "/duet.wav", &duet));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, duet, "low", 0, 0.125));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, duet, "high", 0.075, 0.2));
    assert_ok(ctx, tlnmf_settings_create(ctx, "learn", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "frame", 16));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "shifts", 2));
    assert_ok(ctx, tlnmf_learn_sources(ctx, duet, settings, &model));
    assert_int_equal(tlnmf_record_type(model, "H"), TLNMF_TYPE_NONE);
    assert_round_trip(ctx, model);
    back = write_and_read(ctx, model);
    take_apart(ctx, model, duet, before);
    take_apart(ctx, back, duet, after);
    assert_memory_equal(before, after, sizeof before);
    tlnmf_record_free(back);
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_sound_free(duet);
    tlnmf_ctx_free(ctx);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void test_refused(void **state)
{
    static const struct {
        const char *name;
        int rank;
        int64_t shape[2];
        const char *text;
    } cases[] = {
        {"Phi", 2, {2, 3}, "x.h5: Phi is 2 x 3, not square"},
        {"Phi", 1, {4, 1}, "x.h5: Phi is not a matrix"},
        {"Phi", 2, {0, 0}, "x.h5: Phi is not a matrix"},
        {"W", 2, {3, 2}, "x.h5: W has 3 rows, Phi has 2"},
        {"H", 2, {2, 3}, "x.h5: H has 2 rows, W has 3 columns"},
        {"H", 1, {6, 1}, "x.h5: H is not a matrix"},
    };
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model;

    (void)state;
    remove_files(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model = make_model(ctx);
        assert_ok(ctx, tlnmf_record_set_array(ctx, model, cases[i].name, H, cases[i].rank,
                                              cases[i].shape));
        assert_error(ctx, tlnmf_io_write_model(ctx, "x.h5", model), TLNMF_ERR_SHAPE, cases[i].text);
        tlnmf_record_free(model);
    }
    assert_ok(ctx, tlnmf_record_create(ctx, &model));
    assert_error(ctx, tlnmf_io_write_model(ctx, "x.h5", model), TLNMF_ERR_ARGUMENT,
                 "x.h5: not a model: it has no Phi");
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "Phi", Phi, 2, (int64_t[]){M, M}));
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "H", H, 2, (int64_t[]){K, N}));
    assert_error(ctx, tlnmf_io_write_model(ctx, "x.h5", model), TLNMF_ERR_ARGUMENT,
                 "x.h5: it has H, but no W");
    tlnmf_record_free(model);
    model = make_model(ctx);
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "summary", "[1]"));
    assert_error(ctx, tlnmf_io_write_model(ctx, "x.h5", model), TLNMF_ERR_DATA,
                 "the model: its summary is not a JSON object");
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "summary", "{"));
    assert_int_equal(tlnmf_io_write_model(ctx, "x.h5", model), TLNMF_ERR_DATA);
    assert_non_null(strstr(tlnmf_message(ctx), "the model: its summary is not JSON: "));
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "summary", "{}"));
    assert_error(ctx, tlnmf_io_write_model(ctx, "/dev/full", model), TLNMF_ERR_OUTPUT,
                 "/dev/full: cannot write: No space left on device");
    double bad[M * M] = {0, NAN, 0, 0};
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "Phi", bad, 2, (int64_t[]){M, M}));
    assert_error(ctx, tlnmf_io_write_model(ctx, "x.h5", model), TLNMF_ERR_OUTPUT,
                 "x.h5: Phi[0, 1] is not finite");
    tlnmf_record_free(model);
    assert_int_equal(count_files(), 0);
    tlnmf_ctx_free(ctx);
}

static void test_not_models(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model;

    (void)state;
    assert_ok(ctx, tlnmf_io_write_array(ctx, "x.h5", Phi, 1, (int64_t[]){4}));
    assert_error(ctx, tlnmf_io_read_model(ctx, "x.h5", &model), TLNMF_ERR_INPUT,
                 "x.h5: an HDF5 file, but not a model");
    assert_null(model);
    assert_error(ctx, tlnmf_io_read_model(ctx, "none.h5", &model), TLNMF_ERR_INPUT,
                 "none.h5: No such file or directory");
    tlnmf_ctx_free(ctx);
}

/* Files are not trusted: a summary of many keys must neither take long nor fail. */
static void test_large_summary(void **state)
{
    enum { KEYS = 100000 };
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = make_model(ctx), *back;
    char *text = malloc(KEYS * 24 + 400), *at = text;

    (void)state;
    assert_non_null(text);
    at += sprintf(at, "{\"%0200d\": 1, \"x\": {\"%063d\": {\"y\": 1}", 7, 8);
    for (int i = 0; i < KEYS; i++)
        at += sprintf(at, ", \"key%d\": %d", i, i);
    memcpy(at, "}}", 3);
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "summary", text));
    clock_t start = clock();
    back = write_and_read(ctx, model);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20.0);
    assert_int_equal(tlnmf_record_get_integer(back, "x.key10"), 10);
    assert_same_array(model, back, "H");
    tlnmf_record_free(back);
    tlnmf_record_free(model);
    free(text);
    tlnmf_ctx_free(ctx);
}

/* ---- no memory ------------------------------------------------------------------------------- */

static tlnmf_error read_old(tlnmf_ctx *ctx)
{
    tlnmf_record *model;
    tlnmf_error error = tlnmf_io_read_model(ctx, TEST_DATA "/separate_0.1.h5", &model);

    assert_true((model == NULL) == (error != TLNMF_OK));
    tlnmf_record_free(model);
    return error;
}

static void test_no_memory(void **state)
{
    (void)state;
    exhaust_context(read_old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_given_summary),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_old_models),
        cmocka_unit_test(test_old_fit),
        cmocka_unit_test(test_old_separation),
        cmocka_unit_test(test_new_separation),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_not_models),
        cmocka_unit_test(test_large_summary),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
