/* Model files: round trips, what others see in them, files that are wrong or damaged. */
#include "unit/io/test_io.h"

#include <hdf5.h>
#include <math.h>

/* ---- a model ------------------------------------------------------------------------------ */

enum { M = 2, N = 4, K = 3 };

static double Phi[M * M] = {0.6, 0.8, -0.8, 0.6};
static double W[M * K] = {1, 2, 3, 4, 5, 6};
static double H[K * N] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static double trace[IO_TRACE_COLUMNS][2] = {{0, 1},      {1, -2},     {2.5, 1.5},
                                            {3.5, 2.5},  {4.5, 3.5},  {5.5, 0},
                                            {0.25, 0.5}, {0.1, 0.01}, {3, 3}};

static const char summary_text[] =
    "{\"version\": \"1.0 \\u00e9\", \"C\": 1.5, \"seed\": 7, \"converged\": true, \"note\": \"\","
    " \"none\": null, \"list\": [1, 2], \"format\": \"other\", \"\": 3,"
    " \"options\": {\"k\": 3, \"tol\": 1e-06}, \"data\": {\"file\": \"x.npy\"}}";

static io_model make_model(void)
{
    io_model model = {.M = M, .N = N, .K = K, .Phi = Phi, .W = W, .H = H};

    trace[5][1] = NAN; /* no step was taken: allowed */
    model.trace_length = 2;
    for (int c = 0; c < IO_TRACE_COLUMNS; c++)
        model.trace[c] = trace[c];
    model.summary = json_loads(summary_text, 0, NULL);
    assert_non_null(model.summary);
    return model;
}

static void write_model(const char *path)
{
    io_model model = make_model();
    io_error err;

    if (!io_model_write(path, &model, &err))
        fail_msg("%s", err.text);
    json_decref(model.summary);
}

static void read_model(const char *path, io_model *model)
{
    io_error err;

    if (!io_model_read(path, model, &err))
        fail_msg("%s", err.text);
}

/* ---- round trips -------------------------------------------------------------------------- */

static void test_round_trip(void **state)
{
    io_model want = make_model(), got;

    (void)state;
    write_model("model.h5");
    read_model("model.h5", &got);
    assert_true(got.M == M && got.N == N && got.K == K && got.trace_length == 2);
    assert_memory_equal(got.Phi, Phi, sizeof Phi);
    assert_memory_equal(got.W, W, sizeof W);
    assert_memory_equal(got.H, H, sizeof H);
    for (int c = 0; c < IO_TRACE_COLUMNS; c++)
        assert_memory_equal(got.trace[c], trace[c], sizeof trace[c]);
    assert_true(json_equal(got.summary, want.summary));
    io_model_free(&got);
    assert_null(got.Phi);
    json_decref(want.summary);
    io_model_free(NULL);
}

static void test_transform_alone(void **state)
{
    io_model model = {.M = M, .N = 9, .Phi = Phi}, got;
    io_error err;

    (void)state;
    assert_true(io_model_write("model.h5", &model, &err));
    read_model("model.h5", &got);
    assert_true(got.M == M && got.N == 9 && got.K == 0 && got.trace_length == 0);
    assert_memory_equal(got.Phi, Phi, sizeof Phi);
    assert_true(!got.W && !got.H && !got.trace[0]);
    assert_int_equal(json_object_size(got.summary), 0);
    io_model_free(&got);
}

/* What a separation has learnt, without the H of all frames. */
static void test_without_H(void **state)
{
    io_model model = {.M = M, .K = K, .Phi = Phi, .W = W}, got;
    io_error err;

    (void)state;
    assert_true(io_model_write("model.h5", &model, &err));
    read_model("model.h5", &got);
    assert_true(got.M == M && got.N == 0 && got.K == K && !got.H);
    assert_memory_equal(got.W, W, sizeof W);
    io_model_free(&got);
}

/* Files of version 0.1: a trace without seconds, its integers as integers. */
static void test_trace_without_seconds(void **state)
{
    io_model model = make_model(), got;
    io_error err;

    (void)state;
    for (int c = IO_TRACE_NEEDED; c < IO_TRACE_COLUMNS; c++)
        model.trace[c] = NULL;
    assert_true(io_model_write("model.h5", &model, &err));
    read_model("model.h5", &got);
    assert_int_equal(got.trace_length, 2);
    for (int c = 0; c < IO_TRACE_NEEDED; c++)
        assert_memory_equal(got.trace[c], trace[c], sizeof trace[c]);
    assert_null(got.trace[IO_TRACE_NEEDED]);
    io_model_free(&got);
    json_decref(model.summary);
    json_t *told = io_describe("model.h5", &err);
    json_t *entry = json_array_get(json_object_get(told, "arrays"), 6);
    assert_string_equal(json_string_value(json_object_get(entry, "name")), "/trace/iteration");
    assert_string_equal(json_string_value(json_object_get(entry, "dtype")), "int64");
    json_decref(told);
}

static void test_same_bytes(void **state)
{
    (void)state;
    write_model("a.h5");
    sleep(2); /* a time stamp would have moved */
    write_model("b.h5");
    assert_same_files("a.h5", "b.h5");
}

/* ---- what others see ---------------------------------------------------------------------- */

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
    io_error err;
    json_t *want = json_loads(summary_text, 0, NULL), *entry, *shape;

    (void)state;
    write_model("model.h5");
    json_t *told = io_describe("model.h5", &err);
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

/* ---- models that are wrong ---------------------------------------------------------------- */

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
        {no_phi, "model.h5: no dataset /Phi (it has /H, /W, /summary)"},
        {oblong_phi, "model.h5: Phi is 2 x 3, not square"},
        {flat_phi, "model.h5: /Phi is not a matrix"},
        {tall_w, "model.h5: W has 3 rows, Phi has 2"},
        {infinite_w, "model.h5: W[1, 2] is not finite"},
        {short_h, "model.h5: H has 2 rows, W has 3 columns"},
        {narrow_h, "model.h5: H has 2 columns, N is 4"},
        {no_h, "model.h5: no dataset /H (it has /Phi, /W, /summary)"},
        {short_trace, "model.h5: /trace/C is not as long as the trace"},
        {deep_trace, "model.h5: /trace/stage is not as long as the trace"},
        {no_json, "model.h5: /summary is not JSON: unexpected token near '}'"},
        {no_object, "model.h5: /summary is not a JSON object"},
        {no_text, "model.h5: /summary is not a text"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        io_model model;
        io_error err = {0};
        write_model("model.h5");
        hid_t file = H5Fopen("model.h5", H5F_ACC_RDWR, H5P_DEFAULT);
        assert_true(file >= 0);
        table[i].spoil(file);
        assert_true(H5Fclose(file) >= 0);
        assert_false(io_model_read("model.h5", &model, &err));
        assert_string_equal(err.text, table[i].text);
        assert_int_equal(err.fault, IO_BAD_INPUT);
        assert_true(!model.Phi && !model.W && !model.H && !model.trace[0] && !model.summary);
    }
}

static void test_not_models(void **state)
{
    io_array array = {.ndim = 1, .dim = {2}, .x = Phi};
    io_model model;
    io_error err;

    (void)state;
    assert_true(io_array_write("x.npy", &array, &err));
    assert_false(io_model_read("x.npy", &model, &err));
    assert_string_equal(err.text, "x.npy: not a model, which is an .h5, .mat or .npz file");
    assert_true(io_array_write("x.h5", &array, &err));
    assert_false(io_model_read("x.h5", &model, &err));
    assert_string_equal(err.text, "x.h5: an HDF5 file, but not a model");
    assert_false(io_model_read("missing.h5", &model, &err));
    assert_string_equal(err.text, "missing.h5: No such file or directory");
}

static void test_refused_writes(void **state)
{
    double broken[K * N] = {0};
    io_model model = make_model();
    io_error err;

    (void)state;
    broken[7] = NAN;
    model.H = broken;
    assert_false(io_model_write("new.h5", &model, &err));
    assert_string_equal(err.text, "new.h5: H[1, 3] is not finite");
    assert_int_equal(err.fault, IO_NO_OUTPUT);
    assert_int_equal(access("new.h5", F_OK), -1);
    model.H = H;
    assert_false(io_model_write("/dev/full", &model, &err));
    assert_string_equal(err.text, "/dev/full: cannot write: No space left on device");
    json_decref(model.summary);
}

/* No attribute is damaged here: libhdf5 1.10 reads beyond its buffers when one is. */
static void test_cuts(void **state)
{
    size_t size;

    (void)state;
    write_model("model.h5");
    unsigned char *bytes = get_file("model.h5", &size);
    for (size_t n = 0; n < size; n += 7) {
        io_model model;
        io_error err;
        put_file("cut.h5", bytes, n);
        assert_false(io_model_read("cut.h5", &model, &err));
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
