/* Ranges of an axis: every range of every axis in every format, compared with the whole array. */
#include "unit/io/test_api.h"

#include <math.h>

#include "io/reader.h"

enum { A = 3, B = 4, C = 5, COUNT = A * B * C };

static double at(int i, int j, int k)
{
    return 100 * i + 10 * j + k;
}

static void fill(double *x, bool fortran)
{
    for (int i = 0; i < A; i++)
        for (int j = 0; j < B; j++)
            for (int k = 0; k < C; k++)
                x[fortran ? (k * B + j) * A + i : (i * B + j) * C + k] = at(i, j, k);
}

/* A .npy file of this element type, "<f8" or "<i4". */
static void put_npy(const char *path, const char *type, bool fortran)
{
    double x[COUNT];
    int32_t whole[COUNT];
    char text[128];
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    fill(x, fortran);
    for (int i = 0; i < COUNT; i++)
        whole[i] = (int32_t)x[i];
    make_little(x, COUNT, sizeof *x);
    make_little(whole, COUNT, sizeof *whole);
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': (3, 4, 5)}", type,
             fortran ? "True" : "False");
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    fputc((int)strlen(text), f);
    fputc(0, f);
    fputs(text, f);
    if (strcmp(type, "<f8") == 0)
        fwrite(x, sizeof *x, COUNT, f);
    else
        fwrite(whole, sizeof *whole, COUNT, f);
    assert_int_equal(fclose(f), 0);
}

/* The contents of a slice, and the shape of the whole array. */
static bool get_slice(const char *spec, int axis, int64_t first, int64_t count, test_array *got)
{
    *got = (test_array){0};
    return tlnmf_io_read_slice(test_context(), spec, axis, first, count, &got->record) == TLNMF_OK;
}

static void check_slice(const char *spec, int axis, int64_t first, int64_t count)
{
    const int dim[3] = {A, B, C};
    int64_t begin[3] = {0}, end[3] = {A, B, C}, n = 0;
    test_array got;

    if (!get_slice(spec, axis, first, count, &got))
        fail_msg("%s", tlnmf_message(test_context()));
    got.x = tlnmf_record_get_array(got.record, "array", NULL, got.dim);
    const double *shape = tlnmf_record_get_array(got.record, "shape", NULL, NULL);
    begin[(axis + 3) % 3] = first;
    end[(axis + 3) % 3] = first + count;
    for (int d = 0; d < 3; d++) {
        assert_true(shape[d] == dim[d]);
        assert_true(count == 0 || got.dim[d] == end[d] - begin[d]);
    }
    assert_true((got.x == NULL) == (count == 0));
    for (int64_t i = begin[0]; got.x && i < end[0]; i++)
        for (int64_t j = begin[1]; j < end[1]; j++)
            for (int64_t k = begin[2]; k < end[2]; k++)
                assert_true(got.x[n++] == at((int)i, (int)j, (int)k));
    drop_array(&got);
}

static void check_file(const char *spec)
{
    const int dim[3] = {A, B, C};

    for (int axis = -3; axis < 3; axis++)
        for (int first = 0; first <= dim[(axis + 3) % 3]; first++)
            for (int count = 0; first + count <= dim[(axis + 3) % 3]; count++)
                check_slice(spec, axis, first, count);
}

static void test_ranges(void **state)
{
    double x[COUNT];

    (void)state;
    put_npy("c.npy", "<f8", false);
    put_npy("f.npy", "<f8", true);
    put_npy("i.npy", "<i4", false);
    put_npy("fi.npy", "<i4", true);
    fill(x, false);
    test_array array = {.ndim = 3, .dim = {A, B, C}, .x = x};
    assert_true(put_array("x.h5:/group/Y", &array));
    static const char *const files[] = {"c.npy",  "f.npy", "i.npy",
                                        "fi.npy", "x.h5",  "x.h5:/group/Y"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        check_file(files[i]);
}

/* Text does not support ranges: the whole text is read and then cut. */
static void test_text(void **state)
{
    test_array got;

    (void)state;
    put_file("x.csv", "1,2,3\n4,5,6\n", 12);
    assert_true(get_slice("x.csv", -1, 1, 2, &got));
    got.x = tlnmf_record_get_array(got.record, "array", NULL, got.dim);
    assert_int_equal(got.dim[0], 2);
    assert_int_equal(got.dim[1], 2);
    const double want[4] = {2, 3, 5, 6};
    assert_memory_equal(got.x, want, sizeof want);
    drop_array(&got);
}

static void test_refused(void **state)
{
    static const struct {
        io_slice slice;
        const char *text;
    } cases[] = {
        {{.axis = 3}, ": axis 3 does not exist, the array has 3"},
        {{.axis = -4}, ": axis -4 does not exist, the array has 3"},
        {{.axis = 2, .first = -1, .count = 1},
         ": 1 indices from -1 are outside an axis of length 5"},
        {{.axis = 2, .first = 3, .count = 3}, ": 3 indices from 3 are outside an axis of length 5"},
        {{.axis = 0, .first = INT64_MAX, .count = INT64_MAX},
         ": 9223372036854775807 indices from 9223372036854775807 are outside an axis of length 3"},
        {{.axis = 1, .first = 0, .count = -1},
         ": -1 indices from 0 are outside an axis of length 4"}};
    static const char *const files[] = {"c.npy", "x.h5"};

    (void)state;
    for (size_t f = 0; f < 2; f++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            io_slice slice = cases[i].slice;
            test_array got;
            char text[128];
            snprintf(text, sizeof text, "%s%s", files[f], cases[i].text);
            assert_false(get_slice(files[f], slice.axis, slice.first, slice.count, &got));
            assert_string_equal(tlnmf_message(test_context()), text);
            assert_null(got.record);
        }
}

/* The public call, and the same through the protocol of readers. */
static void test_public(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *record;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;

    (void)state;
    assert_ok(ctx, tlnmf_io_read_slice(ctx, "x.h5", -1, 1, 2, &record));
    const double *x = tlnmf_record_get_array(record, "array", &rank, shape);
    assert_int_equal(rank, 3);
    assert_int_equal(shape[2], 2);
    assert_true(x[0] == at(0, 0, 1) && x[3] == at(0, 1, 2));
    x = tlnmf_record_get_array(record, "shape", &rank, shape);
    assert_int_equal(shape[0], 3);
    assert_true(x[0] == A && x[1] == B && x[2] == C);
    tlnmf_record_free(record);
    /* the request of another process, decoded here */
    assert_ok(ctx, tlnmf_io_read_apart(ctx, NULL, "slice 1 0 0", "c.npy", &record));
    assert_null(tlnmf_record_get_array(record, "array", NULL, NULL));
    assert_non_null(tlnmf_record_get_array(record, "shape", NULL, NULL));
    tlnmf_record_free(record);
    static const char *const wrong[] = {"slice", "slice 1 0", "slice 1 0 2 3", "slice 1 0 2x", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(tlnmf_io_read_apart(ctx, NULL, wrong[i], "c.npy", &record),
                         TLNMF_ERR_ARGUMENT);
        assert_null(record);
    }
    assert_int_equal(tlnmf_io_read_slice(ctx, NULL, 0, 0, 1, &record), TLNMF_ERR_ARGUMENT);
    assert_int_equal(tlnmf_io_read_slice(ctx, "c.npy", 0, 0, 1, NULL), TLNMF_ERR_ARGUMENT);
    tlnmf_ctx_free(ctx);
}

static tlnmf_error read_a_part(tlnmf_ctx *ctx)
{
    tlnmf_record *record;
    tlnmf_error error = tlnmf_io_read_slice(ctx, "c.npy", 1, 1, 2, &record);

    tlnmf_record_free(record);
    return error;
}

static void test_no_memory(void **state)
{
    (void)state;
    exhaust_context(read_a_part);
}

/* ---- progress ----------------------------------------------------------------------------- */

typedef struct listener {
    int calls, stop_at;
    double done;
} listener;

static int listen(const tlnmf_record *progress, void *user)
{
    listener *l = user;
    double done = tlnmf_record_get_real(progress, "done");

    assert_string_equal(tlnmf_record_get_text(progress, "stage"), "read");
    assert_true(isnan(done) || (done >= 0.0 && done <= 1.0));
    l->done = done;
    return ++l->calls == l->stop_at;
}

/* The first progress report comes at once, others every few milliseconds; each can stop the read.
 */
static void test_stop(void **state)
{
    static const char *const files[] = {"big.npy", "big.h5"};
    const int64_t shape[2] = {1000, 4000}; /* 32 MB */
    double *x = calloc((size_t)(shape[0] * shape[1]), sizeof *x);
    tlnmf_ctx *ctx = test_context();
    tlnmf_record *record;

    (void)state;
    assert_non_null(x);
    for (int i = 0; i < 2; i++) {
        listener l = {.stop_at = 1};
        assert_ok(ctx, tlnmf_io_write_array(ctx, files[i], x, 2, shape));
        tlnmf_ctx_set_progress(ctx, listen, &l);
        assert_int_equal(tlnmf_io_read_array(ctx, files[i], &record), TLNMF_ERR_CALLBACK);
        assert_null(record);
        assert_non_null(strstr(tlnmf_message(ctx), "reading was interrupted"));
        l = (listener){.stop_at = 0};
        assert_ok(ctx, tlnmf_io_read_array(ctx, files[i], &record));
        tlnmf_ctx_set_progress(ctx, NULL, NULL);
        tlnmf_record_free(record);
        remove(files[i]);
    }
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),    cmocka_unit_test(test_text),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_public),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_stop),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
