/* tlnmf/io.h: arrays, descriptions, whole files, names; NULL arguments and a failing allocator. */
#include "unit/io/test_api.h"

#include <math.h>

static const double numbers[24] = {1,  -2, 0.5, 4,  1e300, 6,  7,  8,  9,  10, 11, 12,
                                   13, 14, 15,  16, 17,    18, 19, 20, 21, 22, 23, 24};

/* ---- functions of the core for other libraries ----------------------------------------------- */

static void test_core(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *record;
    double *x;
    char longer[2000];

    (void)state;
    assert_error(ctx, tlnmf_fail(ctx, TLNMF_ERR_INPUT, "x: 100%"), TLNMF_ERR_INPUT, "x: 100%");
    assert_int_equal(tlnmf_fail(ctx, TLNMF_ERR_DATA, tlnmf_message(ctx) + 3), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "100%");
    assert_int_equal(tlnmf_fail(NULL, TLNMF_ERR_DATA, "no context"), TLNMF_ERR_DATA);
    assert_int_equal(tlnmf_fail(ctx, TLNMF_ERR_DATA, NULL), TLNMF_ERR_ARGUMENT);
    memset(longer, 'y', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    tlnmf_fail(ctx, TLNMF_ERR_DATA, longer);
    assert_int_equal(strlen(tlnmf_message(ctx)), 511);

    assert_ok(ctx, tlnmf_record_create(ctx, &record));
    assert_ok(ctx, tlnmf_record_new_array(ctx, record, "a", 2, (int64_t[]){2, 3}, &x));
    for (int i = 0; i < 6; i++) {
        assert_true(x[i] == 0.0);
        x[i] = i;
    }
    assert_ptr_equal(tlnmf_record_get_array(record, "a", NULL, NULL), x);
    assert_int_equal(tlnmf_record_new_array(ctx, record, "a", 5, (int64_t[]){1, 1, 1, 1, 1}, &x),
                     TLNMF_ERR_SHAPE);
    assert_null(x);
    assert_int_equal(tlnmf_record_new_array(ctx, record, "a", 1, NULL, &x), TLNMF_ERR_ARGUMENT);
    assert_int_equal(tlnmf_record_new_array(ctx, NULL, "a", 1, (int64_t[]){1}, &x),
                     TLNMF_ERR_ARGUMENT);
    assert_int_equal(tlnmf_record_new_array(ctx, record, "a", 1, (int64_t[]){1}, NULL),
                     TLNMF_ERR_ARGUMENT);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void test_arrays(void **state)
{
    static const char *const specs[] = {"x.npy", "x.h5", "x.h5:/a/b", "\xff\xfe.npy", "\xff.h5:/Y"};
    static const int64_t shape[] = {2, 3, 1, 4};
    tlnmf_ctx *ctx = new_context();

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int rank = 1; rank <= TLNMF_MAX_DIMENSIONS; rank++) {
            tlnmf_record *back;
            int64_t found[TLNMF_MAX_DIMENSIONS], count = 1;
            int32_t found_rank;
            assert_ok(ctx, tlnmf_io_write_array(ctx, specs[i], numbers, rank, shape));
            assert_ok(ctx, tlnmf_io_read_array(ctx, specs[i], &back));
            assert_int_equal(tlnmf_record_count(back), 1);
            const double *x = tlnmf_record_get_array(back, "array", &found_rank, found);
            assert_non_null(x);
            assert_int_equal(found_rank, rank);
            for (int d = 0; d < rank; d++) {
                assert_int_equal(found[d], shape[d]);
                count *= shape[d];
            }
            assert_memory_equal(x, numbers, (size_t)count * sizeof *x);
            tlnmf_record_free(back);
        }
    tlnmf_ctx_free(ctx);
}

static void test_array_errors(void **state)
{
    static const int64_t shape[5] = {1, 1, 1, 1, 1};
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *out = (tlnmf_record *)&out;
    static const char deep[] = "\x93NUMPY\x01\x00\x48\x00{'descr': '<f8', 'fortran_order': False, "
                               "'shape': (1, 1, 1, 1, 1)}          \n       ";

    (void)state;
    assert_error(ctx, tlnmf_io_read_array(ctx, "none.npy", &out), TLNMF_ERR_INPUT,
                 "none.npy: No such file or directory");
    assert_null(out);
    put_file("text.npy", "Once upon a time", 16);
    assert_error(ctx, tlnmf_io_read_array(ctx, "text.npy", &out), TLNMF_ERR_INPUT,
                 "text.npy: not an .npy file");
    put_file("deep.npy", deep, sizeof deep - 1);
    assert_error(ctx, tlnmf_io_read_array(ctx, "deep.npy", &out), TLNMF_ERR_INPUT,
                 "deep.npy: 5 dimensions, at most 4 are read");
    assert_null(out);
    assert_error(ctx, tlnmf_io_write_array(ctx, "x.npy", numbers, 5, shape), TLNMF_ERR_SHAPE,
                 "x.npy: has 5 dimensions, outside [1, 4]");
    assert_error(ctx, tlnmf_io_write_array(ctx, "x.npy", numbers, 0, shape), TLNMF_ERR_SHAPE,
                 "x.npy: has 0 dimensions, outside [1, 4]");
    assert_int_equal(tlnmf_io_write_array(ctx, "x.npy", numbers, 1, (int64_t[]){-1}),
                     TLNMF_ERR_SHAPE);
    assert_error(ctx,
                 tlnmf_io_write_array(ctx, "x.npy", numbers, 1, (int64_t[]){INT64_MAX / 8 + 1}),
                 TLNMF_ERR_SHAPE, "x.npy: this shape is impossible");
    assert_error(ctx, tlnmf_io_write_array(ctx, "x.h5", numbers, 2, (int64_t[]){INT64_MAX, 2}),
                 TLNMF_ERR_SHAPE, "x.h5: this shape is impossible");
    assert_error(ctx, tlnmf_io_write_array(ctx, "x.csv", numbers, 1, shape), TLNMF_ERR_OUTPUT,
                 "x.csv: arrays are written as .npy or .h5");
    assert_error(ctx, tlnmf_io_write_array(ctx, "no/x.npy", numbers, 1, shape), TLNMF_ERR_OUTPUT,
                 "no/x.npy: cannot write: No such file or directory (directory no does not exist)");
    tlnmf_ctx_free(ctx);
}

/* A truncated file leaves no incomplete record. */
static void test_damaged_array(void **state)
{
    static const char *const specs[] = {"x.npy", "x.h5"};
    tlnmf_ctx *ctx = new_context();

    (void)state;
    for (int i = 0; i < 2; i++) {
        tlnmf_record *out;
        size_t size;
        assert_ok(ctx, tlnmf_io_write_array(ctx, specs[i], numbers, 2, (int64_t[]){4, 6}));
        unsigned char *bytes = get_file(specs[i], &size);
        for (size_t n = 0; n < size; n += 13) {
            put_file(specs[i], bytes, n);
            assert_int_equal(tlnmf_io_read_array(ctx, specs[i], &out), TLNMF_ERR_INPUT);
            assert_null(out);
        }
        free(bytes);
    }
    tlnmf_ctx_free(ctx);
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static void test_describe(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *out;

    (void)state;
    assert_ok(ctx, tlnmf_io_write_array(ctx, "na\xefve.npy", numbers, 2, (int64_t[]){4, 6}));
    assert_ok(ctx, tlnmf_io_describe(ctx, "na\xefve.npy", &out));
    json_t *told = json_loads(tlnmf_record_get_text(out, "json"), 0, NULL);
    json_t *want =
        json_pack("{s:s, s:s, s:i, s:[{s:s, s:s, s:[i,i]}]}", "file", "na?ve.npy", "format", "npy",
                  "bytes", 128 + 24 * 8, "arrays", "name", "", "dtype", "float64", "shape", 4, 6);
    assert_non_null(want);
    assert_true(json_equal(told, want));
    json_decref(told);
    json_decref(want);
    tlnmf_record_free(out);
    assert_error(ctx, tlnmf_io_describe(ctx, "none.h5", &out), TLNMF_ERR_INPUT,
                 "none.h5: No such file or directory");
    assert_null(out);
    tlnmf_ctx_free(ctx);
}

/* ---- whole files and names ------------------------------------------------------------------- */

static void test_files(void **state)
{
    tlnmf_ctx *ctx = new_context();
    size_t size;

    (void)state;
    assert_ok(ctx, tlnmf_io_write_file(ctx, "x.txt", "old", 3));
    assert_ok(ctx, tlnmf_io_write_file(ctx, "x.txt", "a\0b", 3));
    unsigned char *bytes = get_file("x.txt", &size);
    assert_int_equal(size, 3);
    assert_memory_equal(bytes, "a\0b", 3);
    free(bytes);
    assert_error(ctx, tlnmf_io_write_file(ctx, "/dev/full", "x", 1), TLNMF_ERR_OUTPUT,
                 "/dev/full: cannot write: No space left on device");
    tlnmf_ctx_free(ctx);
}

static void test_names(void **state)
{
    static const char *const names[] = {"piano", "../a/b", "Piano", "", "NUL", "\xff"};
    static const char *const want[] = {"piano", "_a_b", "Piano-2", "source", "_NUL", "\xff"};
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *record, *safe;

    (void)state;
    assert_ok(ctx, tlnmf_record_create(ctx, &record));
    assert_error(ctx, tlnmf_io_safe_names(ctx, record, &safe), TLNMF_ERR_ARGUMENT,
                 "there is no list of texts called names");
    assert_null(safe);
    assert_ok(ctx, tlnmf_record_set_texts(ctx, record, "names", names, 6));
    assert_ok(ctx, tlnmf_io_safe_names(ctx, record, &safe));
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(tlnmf_record_get_text_at(safe, "names", i), want[i]);
    assert_null(tlnmf_record_get_text_at(safe, "names", 6));
    tlnmf_record_free(safe);
    assert_ok(ctx, tlnmf_record_set_texts(ctx, record, "names", NULL, 0));
    assert_ok(ctx, tlnmf_io_safe_names(ctx, record, &safe));
    assert_null(tlnmf_record_get_text_at(safe, "names", 0));
    tlnmf_record_free(safe);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* ---- NULL ------------------------------------------------------------------------------------ */

/* Passes NULL for each argument that must not be NULL, in turn. */
#define assert_null_refused(ctx, call, name)                        \
    do {                                                            \
        assert_int_equal((call), TLNMF_ERR_ARGUMENT);               \
        assert_string_equal(tlnmf_message((ctx)), name " is NULL"); \
    } while (0)
#define assert_no_context(call) assert_int_equal((call), TLNMF_ERR_ARGUMENT)

static void test_null_records(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *r, *out;

    (void)state;
    assert_ok(ctx, tlnmf_record_create(ctx, &r));
    assert_null_refused(ctx, tlnmf_io_read_array(ctx, NULL, &out), "spec");
    assert_null_refused(ctx, tlnmf_io_read_array(ctx, "x", NULL), "out");
    assert_no_context(tlnmf_io_read_array(NULL, "x", &out));
    assert_null_refused(ctx, tlnmf_io_read_model(ctx, NULL, &out), "path");
    assert_null_refused(ctx, tlnmf_io_read_model(ctx, "x", NULL), "model");
    assert_no_context(tlnmf_io_read_model(NULL, "x", &out));
    assert_null_refused(ctx, tlnmf_io_write_model(ctx, NULL, r), "path");
    assert_null_refused(ctx, tlnmf_io_write_model(ctx, "x", NULL), "model");
    assert_no_context(tlnmf_io_write_model(NULL, "x", r));
    assert_null_refused(ctx, tlnmf_io_describe(ctx, NULL, &out), "path");
    assert_null_refused(ctx, tlnmf_io_describe(ctx, "x", NULL), "out");
    assert_no_context(tlnmf_io_describe(NULL, "x", &out));
    assert_null_refused(ctx, tlnmf_io_read_labels(ctx, NULL, &out), "path");
    assert_null_refused(ctx, tlnmf_io_read_labels(ctx, "x", NULL), "track");
    assert_no_context(tlnmf_io_read_labels(NULL, "x", &out));
    assert_null_refused(ctx, tlnmf_io_write_labels(ctx, NULL, r, r), "path");
    assert_null_refused(ctx, tlnmf_io_write_labels(ctx, "x", NULL, r), "model");
    assert_null_refused(ctx, tlnmf_io_write_labels(ctx, "x", r, NULL), "events");
    assert_no_context(tlnmf_io_write_labels(NULL, "x", r, r));
    assert_null_refused(ctx, tlnmf_io_write_midi(ctx, NULL, r, r), "path");
    assert_null_refused(ctx, tlnmf_io_write_midi(ctx, "x", NULL, r), "model");
    assert_null_refused(ctx, tlnmf_io_write_midi(ctx, "x", r, NULL), "events");
    assert_no_context(tlnmf_io_write_midi(NULL, "x", r, r));
    assert_null_refused(ctx, tlnmf_io_safe_names(ctx, NULL, &out), "names");
    assert_null_refused(ctx, tlnmf_io_safe_names(ctx, r, NULL), "safe");
    assert_no_context(tlnmf_io_safe_names(NULL, r, &out));
    tlnmf_record_free(r);
    tlnmf_ctx_free(ctx);
}

static void test_null_files(void **state)
{
    static const int64_t shape[] = {1};
    tlnmf_ctx *ctx = new_context();
    tlnmf_sound *sound, *opened;
    tlnmf_io_writer *writer;

    (void)state;
    assert_null_refused(ctx, tlnmf_io_write_array(ctx, NULL, numbers, 1, shape), "spec");
    assert_null_refused(ctx, tlnmf_io_write_array(ctx, "x", NULL, 1, shape), "x");
    assert_null_refused(ctx, tlnmf_io_write_array(ctx, "x", numbers, 1, NULL), "shape");
    assert_no_context(tlnmf_io_write_array(NULL, "x", numbers, 1, shape));
    assert_null_refused(ctx, tlnmf_io_write_file(ctx, NULL, "x", 1), "path");
    assert_null_refused(ctx, tlnmf_io_write_file(ctx, "x", NULL, 1), "bytes");
    assert_no_context(tlnmf_io_write_file(NULL, "x", "x", 1));
    assert_null_refused(ctx, tlnmf_io_open_sound(ctx, NULL, &opened), "path");
    assert_null_refused(ctx, tlnmf_io_open_sound(ctx, "x", NULL), "out");
    assert_no_context(tlnmf_io_open_sound(NULL, "x", &opened));
    assert_ok(ctx, tlnmf_sound_from_array(ctx, numbers, 24, 1, 8000, &sound));
    assert_null_refused(ctx, tlnmf_io_writer_create(ctx, NULL, sound, &writer), "path");
    assert_null_refused(ctx, tlnmf_io_writer_create(ctx, "x.wav", NULL, &writer), "like");
    assert_null_refused(ctx, tlnmf_io_writer_create(ctx, "x.wav", sound, NULL), "out");
    assert_no_context(tlnmf_io_writer_create(NULL, "x.wav", sound, &writer));
    remove_files(0);
    assert_ok(ctx, tlnmf_io_writer_create(ctx, "x.wav", sound, &writer));
    assert_null_refused(ctx, tlnmf_io_writer_append(ctx, NULL, numbers, 1), "writer");
    assert_null_refused(ctx, tlnmf_io_writer_append(ctx, writer, NULL, 1), "x");
    assert_no_context(tlnmf_io_writer_append(NULL, writer, numbers, 1));
    assert_null_refused(ctx, tlnmf_io_writer_commit(ctx, NULL), "writer");
    assert_no_context(tlnmf_io_writer_commit(NULL, writer)); /* it frees the writer */
    assert_int_equal(count_files(), 0);
    assert_null(tlnmf_io_writer_record(NULL));
    tlnmf_io_writer_abort(NULL);
    tlnmf_sound_free(sound);
    tlnmf_ctx_free(ctx);
}

/* ---- no memory ------------------------------------------------------------------------------- */

static tlnmf_error keep_nothing(tlnmf_error error, tlnmf_record *record)
{
    assert_true((record == NULL) == (error != TLNMF_OK));
    tlnmf_record_free(record);
    return error;
}

static tlnmf_error read_npy(tlnmf_ctx *ctx)
{
    tlnmf_record *out;
    tlnmf_error error = tlnmf_io_read_array(ctx, "x.npy", &out);

    return keep_nothing(error, out);
}

static tlnmf_error read_hdf5(tlnmf_ctx *ctx)
{
    tlnmf_record *out;
    tlnmf_error error = tlnmf_io_read_array(ctx, "x.h5", &out);

    return keep_nothing(error, out);
}

static tlnmf_error describe_array(tlnmf_ctx *ctx)
{
    tlnmf_record *out;
    tlnmf_error error = tlnmf_io_describe(ctx, "x.h5", &out);

    return keep_nothing(error, out);
}

static tlnmf_error make_names(tlnmf_ctx *ctx)
{
    static const char *const names[] = {"one", "two", "one"};
    tlnmf_record *list, *safe = NULL;
    tlnmf_error error = tlnmf_record_create(ctx, &list);

    if (error == TLNMF_OK)
        error = tlnmf_record_set_texts(ctx, list, "names", names, 3);
    if (error == TLNMF_OK)
        error = tlnmf_io_safe_names(ctx, list, &safe);
    tlnmf_record_free(list);
    return keep_nothing(error, safe);
}

static void test_no_memory(void **state)
{
    tlnmf_ctx *ctx = new_context();

    (void)state;
    assert_ok(ctx, tlnmf_io_write_array(ctx, "x.npy", numbers, 2, (int64_t[]){4, 6}));
    assert_ok(ctx, tlnmf_io_write_array(ctx, "x.h5", numbers, 2, (int64_t[]){4, 6}));
    exhaust_context(read_npy);
    exhaust_context(read_hdf5);
    exhaust_context(describe_array);
    exhaust_context(make_names);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_core),         cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_array_errors), cmocka_unit_test(test_damaged_array),
        cmocka_unit_test(test_describe),     cmocka_unit_test(test_files),
        cmocka_unit_test(test_names),        cmocka_unit_test(test_null_records),
        cmocka_unit_test(test_null_files),   cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
