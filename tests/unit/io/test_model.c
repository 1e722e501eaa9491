/* Model files: round trips, their contents for other readers, invalid and damaged files. */
#include "unit/io/test_io.h"

#include <hdf5.h>
#include <math.h>

/* ---- a model ------------------------------------------------------------------------------ */

enum { M = 2, N = 4, K = 3 };

static const double Phi[M * M] = {0.6, 0.8, -0.8, 0.6};
static const double W[M * K] = {1, 2, 3, 4, 5, 6};
static const double H[K * N] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const char *const columns[] = {"stage", "iteration", "C",        "L",    "I",
                                      "step",  "seconds",   "gradient", "start"};
enum { COLUMNS = sizeof columns / sizeof *columns };
static double trace[COLUMNS][2] = {{0, 1},   {1, -2},     {2.5, 1.5},  {3.5, 2.5}, {4.5, 3.5},
                                   {5.5, 0}, {0.25, 0.5}, {0.1, 0.01}, {3, 3}};

static const char summary_text[] =
    "{\"version\": \"1.0 \\u00e9\", \"C\": 1.5, \"seed\": 7, \"converged\": true, \"note\": \"\","
    " \"none\": null, \"list\": [1, 2], \"format\": \"other\", \"\": 3,"
    " \"options\": {\"k\": 3, \"tol\": 1e-06}, \"data\": {\"file\": \"x.npy\"}}";

static void set(tlnmf_record *model, const char *name, const double *x, int rank, int64_t rows,
                int64_t cols)
{
    assert_int_equal(
        tlnmf_record_set_array(test_context(), model, name, x, rank, (int64_t[]){rows, cols}),
        TLNMF_OK);
}

/* With the first columns of a trace. */
static tlnmf_record *make_model(int with)
{
    tlnmf_record *model;

    assert_int_equal(tlnmf_record_create(test_context(), &model), TLNMF_OK);
    set(model, "Phi", Phi, 2, M, M);
    set(model, "W", W, 2, M, K);
    set(model, "H", H, 2, K, N);
    trace[5][1] = NAN; /* NaN is allowed: no step was taken */
    for (int c = 0; c < with; c++) {
        char name[32];
        snprintf(name, sizeof name, "trace.%s", columns[c]);
        set(model, name, trace[c], 1, 2, 1);
    }
    assert_int_equal(tlnmf_record_set_text(test_context(), model, "summary", summary_text),
                     TLNMF_OK);
    return model;
}

static bool write_record(const char *path, tlnmf_record *model)
{
    tlnmf_error error = tlnmf_io_write_model(test_context(), path, model);

    tlnmf_record_free(model);
    return error == TLNMF_OK;
}

static void write_model(const char *path)
{
    if (!write_record(path, make_model(COLUMNS)))
        fail_msg("%s", tlnmf_message(test_context()));
}

static tlnmf_record *read_model(const char *path)
{
    tlnmf_record *model;

    if (tlnmf_io_read_model(test_context(), path, &model) != TLNMF_OK)
        fail_msg("%s", tlnmf_message(test_context()));
    return model;
}

static void assert_sizes(const tlnmf_record *model, int64_t m, int64_t n, int64_t k)
{
    assert_int_equal(tlnmf_record_get_integer(model, "M"), m);
    assert_int_equal(tlnmf_record_get_integer(model, "N"), n);
    assert_int_equal(tlnmf_record_get_integer(model, "K"), k);
}

static void assert_array(const tlnmf_record *model, const char *name, const double *x, size_t size)
{
    const double *got = tlnmf_record_get_array(model, name, NULL, NULL);

    if (!got)
        fail_msg("there is no %s", name);
    assert_memory_equal(got, x, size);
}

/* ---- round trips -------------------------------------------------------------------------- */

static void test_round_trip(void **state)
{
    (void)state;
    write_model("model.h5");
    tlnmf_record *got = read_model("model.h5");
    assert_sizes(got, M, N, K);
    assert_array(got, "Phi", Phi, sizeof Phi);
    assert_array(got, "W", W, sizeof W);
    assert_array(got, "H", H, sizeof H);
    for (int c = 0; c < COLUMNS; c++) {
        char name[32];
        snprintf(name, sizeof name, "trace.%s", columns[c]);
        assert_array(got, name, trace[c], sizeof trace[c]);
    }
    json_t *want = json_loads(summary_text, 0, NULL);
    json_t *summary = json_loads(tlnmf_record_get_text(got, "summary"), 0, NULL);
    assert_true(json_equal(summary, want));
    json_decref(want);
    json_decref(summary);
    tlnmf_record_free(got);
}

static void test_transform_alone(void **state)
{
    tlnmf_record *model = make_model(0);

    (void)state;
    tlnmf_record_remove(model, "W");
    tlnmf_record_remove(model, "H");
    tlnmf_record_remove(model, "summary");
    assert_int_equal(tlnmf_record_set_integer(test_context(), model, "N", 9), TLNMF_OK);
    assert_true(write_record("model.h5", model));
    tlnmf_record *got = read_model("model.h5");
    assert_sizes(got, M, 9, 0);
    assert_array(got, "Phi", Phi, sizeof Phi);
    assert_int_equal(tlnmf_record_type(got, "W"), TLNMF_TYPE_NONE);
    assert_int_equal(tlnmf_record_type(got, "trace.C"), TLNMF_TYPE_NONE);
    tlnmf_record_free(got);
}

/* The model of a separation, without the H of all frames. */
static void test_without_H(void **state)
{
    tlnmf_record *model = make_model(0);

    (void)state;
    tlnmf_record_remove(model, "H");
    assert_true(write_record("model.h5", model));
    tlnmf_record *got = read_model("model.h5");
    assert_sizes(got, M, 0, K);
    assert_array(got, "W", W, sizeof W);
    assert_int_equal(tlnmf_record_type(got, "H"), TLNMF_TYPE_NONE);
    tlnmf_record_free(got);
}

/* Files of version 0.1: a trace without seconds, its integers as integers. */
static void test_trace_without_seconds(void **state)
{
    (void)state;
    assert_true(write_record("model.h5", make_model(6)));
    tlnmf_record *got = read_model("model.h5");
    assert_array(got, "trace.step", trace[5], sizeof trace[5]);
    assert_int_equal(tlnmf_record_type(got, "trace.seconds"), TLNMF_TYPE_NONE);
    tlnmf_record_free(got);
    json_t *told = describe("model.h5");
    json_t *entry = json_array_get(json_object_get(told, "arrays"), 6);
    assert_string_equal(json_string_value(json_object_get(entry, "name")), "/trace/iteration");
    assert_string_equal(json_string_value(json_object_get(entry, "dtype")), "int64");
    json_decref(told);
}

static void test_same_bytes(void **state)
{
    (void)state;
    write_model("a.h5");
    sleep(1); /* a time stamp would have changed */
    write_model("b.h5");
    assert_same_files("a.h5", "b.h5");
}

/* ---- contents for other readers ----------------------------------------------------------- */

static void get_attribute(hid_t file, const char *object, const char *name, hid_t stored,
                          hid_t native, void *value)
{
    hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);

    assert_true(attribute >= 0);
    if (stored >= 0)
        assert_true(H5Tequal(type, stored) > 0);
    assert_true(H5Aread(attribute, native >= 0 ? native : type, value) >= 0);
    H5Tclose(type);
    H5Aclose(attribute);
}

static void test_attributes(void **state)
{
    hid_t file;
    int64_t integer;
    double real;
    int8_t flag;
    char text[32] = "";

    (void)state;
    write_model("model.h5");
    file = H5Fopen("model.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    get_attribute(file, "/", "format", -1, -1, text);
    assert_string_equal(text, "tlnmf-model");
    get_attribute(file, "/", "format_version", H5T_STD_I64LE, H5T_NATIVE_INT64, &integer);
    assert_int_equal(integer, 1);
    get_attribute(file, "/", "seed", H5T_STD_I64LE, H5T_NATIVE_INT64, &integer);
    assert_int_equal(integer, 7);
    get_attribute(file, "/", "C", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &real);
    assert_true(real == 1.5);
    get_attribute(file, "/", "converged", H5T_STD_I8LE, H5T_NATIVE_INT8, &flag);
    assert_int_equal(flag, 1);
    memset(text, 0, sizeof text);
    get_attribute(file, "/", "version", -1, -1, text);
    assert_string_equal(text, "1.0 \xc3\xa9");
    get_attribute(file, "/options", "tol", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &real);
    assert_true(real == 1e-6);
    memset(text, 0, sizeof text);
    get_attribute(file, "/data", "file", -1, -1, text);
    assert_string_equal(text, "x.npy");
    assert_int_equal(H5Aexists(file, "none"), 0);
    assert_int_equal(H5Aexists(file, "list"), 0);
    H5Fclose(file);
}

static void test_describe(void **state)
{
    json_t *want = json_loads(summary_text, 0, NULL), *entry, *shape;

    (void)state;
    write_model("model.h5");
    json_t *told = describe("model.h5");
    assert_non_null(told);
    assert_string_equal(json_string_value(json_object_get(told, "file")), "model.h5");
    assert_string_equal(json_string_value(json_object_get(told, "format")), "tlnmf-model");
    assert_true(json_equal(json_object_get(told, "summary"), want));
    assert_int_equal(json_array_size(json_object_get(told, "arrays")), 12);
    entry = json_array_get(json_object_get(told, "arrays"), 0);
    shape = json_pack("{s:s, s:s, s:[i,i]}", "name", "/H", "dtype", "float64", "shape", K, N);
    assert_true(json_equal(entry, shape));
    json_decref(shape);
    json_decref(told);
    json_decref(want);
}

/* ---- invalid models ----------------------------------------------------------------------- */

static void put_matrix(hid_t file, const char *path, hsize_t rows, hsize_t cols, const double *x)
{
    const hsize_t dim[2] = {rows, cols};
    hid_t space = H5Screate_simple(rows == 1 ? 1 : 2, rows == 1 ? dim + 1 : dim, NULL);

    H5Ldelete(file, path, H5P_DEFAULT);
    hid_t dataset =
        H5Dcreate2(file, path, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x);
    H5Dclose(dataset);
    H5Sclose(space);
}

static void put_text(hid_t file, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);

    H5Tset_size(type, strlen(text));
    H5Ldelete(file, "/summary", H5P_DEFAULT);
    hid_t dataset =
        H5Dcreate2(file, "/summary", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_version(hid_t file, int64_t version)
{
    hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);

    H5Awrite(attribute, H5T_NATIVE_INT64, &version);
    H5Aclose(attribute);
}

static const double bad[16] = {1, 2, 3, 4, 5, INFINITY};

static void newer(hid_t file)
{
    put_version(file, 7);
}

static void no_version(hid_t file)
{
    H5Adelete(file, "format_version");
}

static void no_format(hid_t file)
{
    H5Adelete(file, "format");
}

static void no_phi(hid_t file)
{
    H5Ldelete(file, "/Phi", H5P_DEFAULT);
    H5Ldelete(file, "/trace", H5P_DEFAULT);
}

static void oblong_phi(hid_t file)
{
    put_matrix(file, "/Phi", 2, 3, W);
}

static void flat_phi(hid_t file)
{
    put_matrix(file, "/Phi", 1, 4, Phi);
}

static void tall_w(hid_t file)
{
    put_matrix(file, "/W", 3, 2, W);
}

static void infinite_w(hid_t file)
{
    put_matrix(file, "/W", 2, 3, bad);
}

static void short_h(hid_t file)
{
    put_matrix(file, "/H", 2, 4, H);
}

static void narrow_h(hid_t file)
{
    put_matrix(file, "/H", 3, 2, H);
}

static void no_h(hid_t file)
{
    H5Ldelete(file, "/H", H5P_DEFAULT);
    H5Ldelete(file, "/trace", H5P_DEFAULT);
}

static void short_trace(hid_t file)
{
    put_matrix(file, "/trace/C", 1, 1, H);
}

static void deep_trace(hid_t file)
{
    put_matrix(file, "/trace/stage", 2, 2, H);
}

static void long_energy(hid_t file)
{
    put_matrix(file, "/energy", 1, 4, H);
}

/* As long as Phi in the first dimension, but without a number. */
static void hollow_energy(hid_t file)
{
    put_matrix(file, "/energy", 2, 0, H);
}

static void no_json(hid_t file)
{
    put_text(file, "{\"a\": }");
}

static void no_object(hid_t file)
{
    put_text(file, "[1]");
}

static void no_text(hid_t file)
{
    put_matrix(file, "/summary", 2, 2, H);
}

static void test_wrong_models(void **state)
{
    static const struct {
        void (*spoil)(hid_t);
        const char *text;
    } table[] = {
        {newer, "model.h5: format version 7 is newer than this program understands (1)"},
        {no_version, "model.h5: a model without a valid format version"},
        {no_format, "model.h5: an HDF5 file, but not a model"},
        {no_phi, "model.h5: not a model: it has no Phi"},
        {oblong_phi, "model.h5: Phi is 2 x 3, not square"},
        {flat_phi, "model.h5: Phi is not a matrix"},
        {tall_w, "model.h5: W has 3 rows, Phi has 2"},
        {infinite_w, "model.h5: W[1, 2] is not finite"},
        {short_h, "model.h5: H has 2 rows, W has 3 columns"},
        {narrow_h, "model.h5: H has 2 columns, N is 4"},
        {no_h, "model.h5: N is 4, but there is no H"},
        {short_trace, "model.h5: trace.C has rows = 1, but trace.stage has rows = 2"},
        {long_energy, "model.h5: energy has M = 4, but Phi has M = 2"},
        {hollow_energy, "model.h5: energy must have the shape (M)"},
        {deep_trace, "model.h5: trace.stage must have the shape (rows)"},
        {no_json, "model.h5: /summary is not JSON: unexpected token near '}'"},
        {no_object, "model.h5: /summary is not a JSON object"},
        {no_text, "model.h5: /summary is not a text"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        tlnmf_record *model;
        write_model("model.h5");
        hid_t file = H5Fopen("model.h5", H5F_ACC_RDWR, H5P_DEFAULT);
        assert_true(file >= 0);
        table[i].spoil(file);
        assert_true(H5Fclose(file) >= 0);
        assert_int_equal(tlnmf_io_read_model(test_context(), "model.h5", &model), TLNMF_ERR_INPUT);
        assert_string_equal(tlnmf_message(test_context()), table[i].text);
        assert_null(model);
    }
}

static void assert_no_model(const char *path, const char *text)
{
    tlnmf_record *model;

    assert_int_equal(tlnmf_io_read_model(test_context(), path, &model), TLNMF_ERR_INPUT);
    assert_string_equal(tlnmf_message(test_context()), text);
}

static void test_not_models(void **state)
{
    test_array array = {.ndim = 1, .dim = {2}, .x = Phi};

    (void)state;
    assert_true(put_array("x.npy", &array));
    assert_no_model("x.npy", "x.npy: not a model, which is an .h5, .mat or .npz file");
    assert_true(put_array("x.h5", &array));
    assert_no_model("x.h5", "x.h5: an HDF5 file, but not a model");
    assert_no_model("missing.h5", "missing.h5: No such file or directory");
}

static void test_refused_writes(void **state)
{
    double broken[K * N] = {0};
    tlnmf_record *model = make_model(0);

    (void)state;
    broken[7] = NAN;
    set(model, "H", broken, 2, K, N);
    assert_false(write_record("new.h5", model));
    assert_string_equal(tlnmf_message(test_context()), "new.h5: H[1, 3] is not finite");
    assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_OUTPUT);
    assert_int_equal(access("new.h5", F_OK), -1);
    assert_false(write_record("/dev/full", make_model(0)));
    assert_string_equal(tlnmf_message(test_context()),
                        "/dev/full: cannot write: No space left on device");
}

/* No attribute is damaged here: libhdf5 1.10 reads beyond its buffers when one is. */
static void test_cuts(void **state)
{
    size_t size;

    (void)state;
    write_model("model.h5");
    unsigned char *bytes = get_file("model.h5", &size);
    for (size_t n = 0; n < size; n += 7) {
        tlnmf_record *model;
        put_file("cut.h5", bytes, n);
        assert_int_equal(tlnmf_io_read_model(test_context(), "cut.h5", &model), TLNMF_ERR_INPUT);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_transform_alone),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_wrong_models),
        cmocka_unit_test(test_not_models),
        cmocka_unit_test(test_refused_writes),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_without_H),
        cmocka_unit_test(test_trace_without_seconds),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
