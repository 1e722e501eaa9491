/* Arrays in .npy files: all types and orders, false headers, damaged files. */
#include "unit/io/test_io.h"

#include <time.h>

/* ---- writing test files ------------------------------------------------------------------- */

/* Preamble, dictionary and data, as a file; `version` 1, 2 or 3. */
static void put_npy(const char *path, int version, const char *header, const void *data,
                    size_t size)
{
    size_t n = strlen(header), prefix = version == 1 ? 10 : 12;
    unsigned char *bytes = malloc(prefix + n + size);

    assert_non_null(bytes);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (unsigned char)version;
    bytes[7] = 0;
    memset(bytes + 8, 0, 4);
    bytes[8] = (unsigned char)(n & 0xff);
    bytes[9] = (unsigned char)(n >> 8);
    memcpy(bytes + prefix, header, n);
    memcpy(bytes + prefix + n, data, size);
    put_file(path, bytes, prefix + n + size);
    free(bytes);
}

static void encode(unsigned char *bytes, double x, char kind, int size, bool big)
{
    uint64_t bits;
    float single = (float)x;
    uint32_t half;

    if (kind == 'f' && size == 4) {
        memcpy(&half, &single, 4);
        bits = half;
    } else if (kind == 'f') {
        memcpy(&bits, &x, 8);
    } else {
        bits = x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
    }
    for (int b = 0; b < size; b++)
        bytes[big ? size - 1 - b : b] = (unsigned char)(bits >> 8 * b);
}

static const double zeros[16];

/* ---- reading ------------------------------------------------------------------------------ */

static void check_type(const char *type, char mark, bool fortran, int version)
{
    double x[6] = {0, 1, 100, 3, 127, type[0] == 'u' ? 6 : -5};
    unsigned char data[48];
    char header[128];
    const int64_t dim[2] = {2, 3};
    int size = type[1] - '0';
    bool big = mark == '<' ? false : mark == '>' || __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            encode(data + (fortran ? j * 2 + i : i * 3 + j) * size, x[i * 3 + j], type[0], size,
                   big);
    snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (2, 3), }\n",
             mark, type, fortran ? "True" : "False");
    put_npy("x.npy", version, header, data, 6 * (size_t)size);
    assert_reads("x.npy", 2, dim, x);
}

static void test_types(void **state)
{
    static const char *const types[] = {"f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"};

    (void)state;
    for (size_t t = 0; t < 10; t++)
        for (const char *mark = "<>|="; *mark; mark++)
            for (int version = 1; version <= 3; version++) {
                check_type(types[t], *mark, false, version);
                check_type(types[t], *mark, true, version);
            }
}

static void test_extremes(void **state)
{
    static const struct {
        const char *type;
        double x[2];
    } table[] = {{"i1", {-128, 127}},
                 {"u1", {0, 255}},
                 {"i2", {-32768, 32767}},
                 {"u2", {1, 65535}},
                 {"i4", {-2147483648.0, 2147483647}},
                 {"u4", {2, 4294967295.0}},
                 {"i8", {-9223372036854775808.0, 4611686018427387904.0}},
                 {"u8", {3, 9223372036854775808.0}},
                 {"f4", {-1.5e-30, 0x1p127}},
                 {"f8", {-1e-308, 1.7976931348623157e308}}};
    const int64_t dim[1] = {2};

    (void)state;
    for (size_t t = 0; t < sizeof table / sizeof table[0]; t++) {
        unsigned char data[16];
        char header[128];
        int size = table[t].type[1] - '0';
        double x[2];
        for (int i = 0; i < 2; i++) {
            encode(data + i * size, table[t].x[i], table[t].type[0], size, true);
            x[i] = size == 4 && table[t].type[0] == 'f' ? (float)table[t].x[i] : table[t].x[i];
        }
        snprintf(header, sizeof header, "{'descr': '>%s', 'fortran_order': False, 'shape': (2,), }",
                 table[t].type);
        put_npy("x.npy", 1, header, data, 2 * (size_t)size);
        assert_reads("x.npy", 1, dim, x);
    }
}

/* Column-major storage of a[i, j, k] = 100 i + 10 j + k, larger than one chunk of the reader. */
static void test_fortran_order(void **state)
{
    enum { A = 17, B = 19, C = 23, COUNT = A * B * C };
    const int64_t dim[3] = {A, B, C};
    const char *header = "{'descr': '<f8', 'fortran_order': True, 'shape': (17, 19, 23)}";
    double *file = malloc(COUNT * sizeof *file), *want = malloc(COUNT * sizeof *want);
    FILE *f = fopen("x.npy", "wb");

    (void)state;
    assert_true(file && want && f);
    for (int i = 0; i < A; i++)
        for (int j = 0; j < B; j++)
            for (int k = 0; k < C; k++) {
                want[(i * B + j) * C + k] = 100 * i + 10 * j + k;
                encode((unsigned char *)&file[(k * B + j) * A + i], 100 * i + 10 * j + k, 'f', 8,
                       false);
            }
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    fputc((int)strlen(header), f);
    fputc(0, f);
    fputs(header, f);
    fwrite(file, 8, COUNT, f);
    fclose(f);
    assert_reads("x.npy", 3, dim, want);
    free(file);
    free(want);
}

/* The number at an index of the whole array. */
static int number_at(int64_t i, int64_t j, int64_t k)
{
    return (int)((i * 7919 + j * 104729 + k * 31) % 65536) - 32768;
}

static void put_large(const int64_t *dim, bool fortran, bool big)
{
    char header[128];
    int64_t count = dim[0] * dim[1] * dim[2];
    unsigned char *data = malloc((size_t)count * 2);

    assert_non_null(data);
    for (int64_t i = 0; i < dim[0]; i++)
        for (int64_t j = 0; j < dim[1]; j++)
            for (int64_t k = 0; k < dim[2]; k++) {
                int64_t at =
                    fortran ? (k * dim[1] + j) * dim[0] + i : (i * dim[1] + j) * dim[2] + k;
                encode(data + 2 * at, number_at(i, j, k), 'i', 2, big);
            }
    snprintf(header, sizeof header,
             "{'descr': '%ci2', 'fortran_order': %s, 'shape': (%lld, %lld, %lld)}", big ? '>' : '<',
             fortran ? "True" : "False", (long long)dim[0], (long long)dim[1], (long long)dim[2]);
    put_npy("large.npy", 1, header, data, (size_t)count * 2);
    free(data);
}

/* Reads part of the axis and counts the numbers that differ. */
static int64_t wrong_numbers(tlnmf_ctx *ctx, const int64_t *dim, int axis)
{
    int64_t part[3] = {dim[0], dim[1], dim[2]}, from[3] = {0}, shape[TLNMF_MAX_DIMENSIONS];
    tlnmf_record *record;
    int64_t wrong = 0;

    from[axis] = dim[axis] / 3;
    part[axis] -= from[axis];
    assert_int_equal(tlnmf_io_read_slice(ctx, "large.npy", axis, from[axis], part[axis], &record),
                     TLNMF_OK);
    const double *x = tlnmf_record_get_array(record, "array", NULL, shape);
    assert_memory_equal(shape, part, sizeof part);
    for (int64_t i = 0; i < part[0]; i++)
        for (int64_t j = 0; j < part[1]; j++)
            for (int64_t k = 0; k < part[2]; k++)
                wrong += *x++ != number_at(from[0] + i, from[1] + j, from[2] + k);
    tlnmf_record_free(record);
    return wrong;
}

/* Arrays of many pieces, which threads read: few and many rows and columns, ranges of each axis. */
static void test_large(void **state)
{
    static const int64_t dim[][3] = {{3, 700, 150}, {2100, 40, 1}, {5, 1, 70000}, {90000, 2, 2}};

    (void)state;
    for (int threads = 1; threads <= 3; threads += 2)
        for (size_t i = 0; i < sizeof dim / sizeof dim[0]; i++)
            for (int order = 0; order < 4; order++) {
                put_large(dim[i], order & 1, order & 2);
                assert_int_equal(tlnmf_ctx_set_threads(test_context(), threads), TLNMF_OK);
                for (int axis = 0; axis < 3; axis++)
                    assert_int_equal(wrong_numbers(test_context(), dim[i], axis), 0);
            }
    tlnmf_ctx_set_threads(test_context(), 0);
}

/* Polls call the progress function at most every 5 ms. */
static void wait_for_poll(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static int stop_reading(const tlnmf_record *progress, void *user)
{
    (void)progress;
    wait_for_poll();
    return ++*(int *)user > 1; /* not the poll before the first number */
}

static void test_stop(void **state)
{
    tlnmf_ctx *ctx = test_context();
    tlnmf_record *record;
    int polls = 0;

    (void)state;
    put_large((const int64_t[]){3, 1000, 150}, true, false);
    /* Another thread could read the rest while the progress function sleeps. */
    assert_int_equal(tlnmf_ctx_set_threads(ctx, 1), TLNMF_OK);
    tlnmf_ctx_set_progress(ctx, stop_reading, &polls);
    wait_for_poll(); /* the last poll of an earlier test */
    assert_int_equal(tlnmf_io_read_array(ctx, "large.npy", &record), TLNMF_ERR_CALLBACK);
    assert_string_equal(tlnmf_message(ctx), "large.npy: reading was interrupted");
    tlnmf_ctx_set_progress(ctx, NULL, NULL);
    tlnmf_ctx_set_threads(ctx, 0);
}

static void test_shapes(void **state)
{
    static const int64_t one[1] = {1}, zero[2] = {0, 7}, four[4] = {2, 1, 2, 2};

    (void)state;
    put_npy("x.npy", 1, "{'descr':'<f8','fortran_order':False,'shape':(1,)}", zeros, 8);
    assert_reads("x.npy", 1, one, zeros);
    put_npy("x.npy", 1, "{'descr':'<f8','fortran_order':False,'shape':(0,7)}", zeros, 0);
    assert_reads("x.npy", 2, zero, zeros);
    put_npy("x.npy", 1, "{'descr':'<f8','fortran_order':True,'shape':(2,1,2,2)}", zeros, 64);
    assert_reads("x.npy", 4, four, zeros);
    put_npy("x.npy", 1,
            "{'descr':'<f8','fortran_order':True,"
            "'shape':(0,4611686018427387904,4611686018427387904)}",
            zeros, 0);
    assert_fails("x.npy", TLNMF_ERR_INPUT, "x.npy: the array is empty");
}

/* Every spelling that Python reads the same way; bytes after the data do not matter. */
static void test_spellings(void **state)
{
    static const char *const headers[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }          \n",
        "{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (2, 2)}",
        "{'shape':(2,2),'fortran_order':False,'descr':'<f8'}",
        " \t{ 'shape' : ( 2 , 2 , ) , 'fortran_order' : False , 'descr' : '<f8' , } \n\n",
        "{'fortran_order':\nFalse,\n'shape':\n(2,\n2),\n'descr':\n'<f8'}",
        "{'descr': 'f8', 'fortran_order': False, 'shape': (02, 2)}",
    };
    const int64_t dim[2] = {2, 2};

    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        put_npy("x.npy", 1, headers[i], zeros, 32);
        assert_reads("x.npy", 2, dim, zeros);
        put_npy("x.dat", 3, headers[i], zeros, 40);
        assert_reads("x.dat", 2, dim, zeros);
        assert_reads_stdin("x.dat", 2, dim, zeros);
    }
}

/* ---- false headers ------------------------------------------------------------------------ */

#define BAD "x.npy: bad .npy header: "

static void test_hostile_headers(void **state)
{
    static const struct {
        const char *header, *text;
    } table[] = {
        {"", BAD "not a dictionary"},
        {"   \n", BAD "not a dictionary"},
        {"[]", BAD "not a dictionary"},
        {"{}", BAD "no key 'descr'"},
        {"{", BAD "a string was expected"},
        {"{'descr", BAD "unterminated string"},
        {"{'descr'}", BAD "':' expected after a key"},
        {"{'descr': ", BAD "a string was expected"},
        {"{'descr': 8}", BAD "a string was expected"},
        {"{'descr': '<f8'", BAD "',' or '}' expected after a value"},
        {"{'descr': '<f8' 'shape': (1,)}", BAD "',' or '}' expected after a value"},
        {"{'descr': '<f8', 'fortran_order': False}", BAD "no key 'shape'"},
        {"{'descr': '<f8', 'shape': (1,)}", BAD "no key 'fortran_order'"},
        {"{'shape': (1,), 'fortran_order': False}", BAD "no key 'descr'"},
        {"{'descr': '<f8', 'descr': '<f8'}", BAD "'descr' twice"},
        {"{'version': '1'}", BAD "unknown key 'version'"},
        {"{'fortran_order': 0}", BAD "'fortran_order' is neither True nor False"},
        {"{'fortran_order': ", BAD "'fortran_order' is neither True nor False"},
        {"{'shape': 5}", BAD "'shape' is not a tuple of integers"},
        {"{'shape': (1.5,)}", BAD "'shape' is not a tuple of integers"},
        {"{'shape': (,)}", BAD "'shape' is not a tuple of integers"},
        {"{'shape': (1,,2)}", BAD "'shape' is not a tuple of integers"},
        {"{'shape': (1 2)}", BAD "'shape' is not a tuple of integers"},
        {"{'shape': (1,", BAD "'shape' is not a tuple of integers"},
        {"{'shape': (-1,)}", BAD "a negative dimension"},
        {"{'shape': (9223372036854775808,)}", BAD "a dimension beyond 9223372036854775807"},
        {"{'shape': (99999999999999999999999,)}", BAD "a dimension beyond 9223372036854775807"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': ()}",
         "x.npy: a single number, not an array"},
        {"{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
         "x.npy: more than 32 dimensions"},
        {"{'descr': [('a', '<f8')]}", "x.npy: a structured dtype, not plain numbers"},
        {"{'descr': '|O'}",
         "x.npy: dtype '|O' is Python objects (supported: f2-f8, i1-i8, u1-u8, b1)"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}",
         "x.npy: the array is complex: save the real and the imaginary part as two "
         "realisations, or save its power, the squared magnitude, and use --input power"},
        {"{'descr': '<U5'}",
         "x.npy: dtype '<U5' is not supported (supported: f2-f8, i1-i8, u1-u8, b1)"},
        {"{'descr': ''}", "x.npy: dtype '' is not supported (supported: f2-f8, i1-i8, u1-u8, b1)"},
        {"{'descr': '<f8888888888888888888888888888888888888'}",
         BAD "a string that is too long or not text"},
        {"{'descr': '<f8\x01'}", BAD "a string that is too long or not text"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} + {}",
         BAD "text after the dictionary"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}",
         "x.npy: the header claims 1152921504606846976 elements (8 bytes each), the file holds 40 "
         "bytes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}",
         "x.npy: the header claims 6 elements (8 bytes each), the file holds 40 bytes"},
        {"{'descr': '<i2', 'fortran_order': True, 'shape': (4294967296, 4294967296)}",
         "x.npy: the header claims more than 9223372036854775807 elements (2 bytes each), the file "
         "holds 40 bytes"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        for (int version = 1; version <= 3; version++) {
            put_npy("x.npy", version, table[i].header, zeros, 40);
            assert_fails("x.npy", TLNMF_ERR_INPUT, table[i].text);
        }
}

static void test_not_npy(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
    } table[] = {
        {"", 0, "x.npy: empty file"},
        {"hello world", 11, "x.npy: not an .npy file"},
        {"\0\1\2\3\4\5\6\7", 8, "x.npy: not an .npy file"},
        {"\x93NUM", 4, "x.npy: not an .npy file"},
        {"\x93NUMPY", 6, "x.npy: truncated .npy header"},
        {"\x93NUMPY\x01\x00\x08", 9, "x.npy: truncated .npy header"},
        {"\x93NUMPY\x02\x00\x08\x00\x00", 11, "x.npy: truncated .npy header"},
        {"\x93NUMPY\x04\x00\x00\x00", 10,
         "x.npy: .npy version 4.0 is not supported (1.0, 2.0 and 3.0 are)"},
        {"\x93NUMPY\x01\x01\x00\x00", 10,
         "x.npy: .npy version 1.1 is not supported (1.0, 2.0 and 3.0 are)"},
        {"\x93NUMPY\x01\x00\xff\xff{}", 12,
         "x.npy: truncated .npy header (65535 bytes announced, 2 present)"},
        {"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14,
         "x.npy: truncated .npy header (4294967295 bytes announced, 2 present)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        put_file("x.npy", table[i].bytes, table[i].size);
        assert_fails("x.npy", TLNMF_ERR_INPUT, table[i].text);
    }
    put_file("x.dat", "PK\1\2", 4);
    assert_fails("x.dat", TLNMF_ERR_INPUT,
                 "x.dat: unknown format; .npy, .npz, HDF5, MATLAB and text tables are read");
    unlink("x.npy");
    assert_fails("x.npy", TLNMF_ERR_INPUT, "x.npy: No such file or directory");
    assert_fails("/", TLNMF_ERR_INPUT, "/: Is a directory");
}

static void test_long_header(void **state)
{
    enum { SIZE = 12 + 70000 };
    unsigned char *bytes = calloc(SIZE, 1);

    (void)state;
    assert_non_null(bytes);
    memcpy(bytes, "\x93NUMPY\x02\x00\x70\x11\x01\x00", 12);
    put_file("x.npy", bytes, SIZE);
    assert_fails("x.npy", TLNMF_ERR_INPUT,
                 "x.npy: bad .npy header: 70000 bytes are too many for an array of numbers");
    free(bytes);
}

static void test_damage(void **state)
{
    test_array array = {.ndim = 3, .dim = {2, 1, 3}, .x = (double[]){1, 2, 3, 4, 5, 6}};

    (void)state;
    assert_true(put_array("good.npy", &array));
    assert_cuts_fail("good.npy", "x.npy");
    poke_flips("good.npy", "x.npy", 3000);
}

/* ---- writing ------------------------------------------------------------------------------ */

static void test_write(void **state)
{
    const char *text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
    test_array array = {.ndim = 2, .dim = {2, 3}, .x = (double[]){1, -2, 0.5, 4, 1e300, 6}};
    test_array vector = {.ndim = 1, .dim = {0}, .x = array.x};
    test_array deep = {.ndim = 4, .x = array.x};
    size_t size;

    (void)state;
    assert_true(put_array("12:30.npy", &array));
    assert_reads("12:30.npy", 2, array.dim, array.x);
    unsigned char *bytes = get_file("12:30.npy", &size);
    assert_int_equal(size, 128 + 48);
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    assert_memory_equal(bytes + 10, text, strlen(text));
    assert_int_equal(bytes[126], ' ');
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 128, "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0", 16);
    free(bytes);

    assert_true(put_array("empty.npy", &vector));
    assert_reads("empty.npy", 1, vector.dim, NULL);
    for (int d = 1; d < 4; d++)
        deep.dim[d] = INT64_MAX;
    assert_true(put_array("deep.npy", &deep)); /* the longest header that we write */
    assert_fails("deep.npy", TLNMF_ERR_INPUT, "deep.npy: the array is empty");

    assert_false(put_array("x.csv", &array));
    assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_OUTPUT);
    assert_string_equal(tlnmf_message(test_context()), "x.csv: arrays are written as .npy or .h5");
}

static void test_describe(void **state)
{

    (void)state;
    put_npy("x.npy", 1, "{'descr':'>i2','fortran_order':True,'shape':(2,3)}", zeros, 12);
    json_t *told = describe("x.npy");
    json_t *want =
        json_pack("{s:s, s:s, s:i, s:[{s:s, s:s, s:[i,i]}]}", "file", "x.npy", "format", "npy",
                  "bytes", 72, "arrays", "name", "", "dtype", "int16", "shape", 2, 3);
    assert_true(json_equal(told, want));
    json_decref(told);
    json_decref(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),         cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_fortran_order), cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_spellings),     cmocka_unit_test(test_hostile_headers),
        cmocka_unit_test(test_not_npy),       cmocka_unit_test(test_long_header),
        cmocka_unit_test(test_damage),        cmocka_unit_test(test_write),
        cmocka_unit_test(test_describe),      cmocka_unit_test(test_large),
        cmocka_unit_test(test_stop),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
