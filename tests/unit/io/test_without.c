/* libtlnmf_io without HDF5 and matio: says which format is missing, and still has the others. The
 * files io/without_*.c are linked before the library, so that its readers of these formats are not
 * used. */
#include "unit/io/test_io.h"

static const int64_t shape[] = {2, 3};
static const double numbers[] = {1, 2, 3, 4, 5, 6};

static void missing_formats_are_named(void **state)
{
    static const struct {
        const char *path, *bytes, *message;
    } files[] = {{"x.h5", "\x89HDF\r\n\x1a\n", "no HDF5 (TLNMF_HDF5=OFF); use .npy or .npz"},
                 {"x.bin", "\x89HDF\r\n\x1a\n", "no HDF5 (TLNMF_HDF5=OFF); use .npy or .npz"},
                 {"x.mat", "MATLAB 5.0 MAT-file",
                  "(TLNMF_MATIO=OFF); store arrays as .npy or .npz, and models as .npz"}};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        tlnmf_ctx *ctx = test_context();
        tlnmf_record *read = NULL;
        put_file(files[i].path, files[i].bytes, strlen(files[i].bytes));
        assert_int_equal(tlnmf_io_read_array(ctx, files[i].path, &read), TLNMF_ERR_INPUT);
        assert_non_null(strstr(tlnmf_message(ctx), files[i].path));
        assert_non_null(strstr(tlnmf_message(ctx), files[i].message));
        assert_int_equal(tlnmf_io_read_model(ctx, files[i].path, &read), TLNMF_ERR_INPUT);
        assert_int_equal(tlnmf_io_describe(ctx, files[i].path, &read), TLNMF_ERR_INPUT);
        assert_null(read);
    }
}

static void other_formats_are_written(void **state)
{
    tlnmf_ctx *ctx = test_context();
    tlnmf_record *model = NULL, *read = NULL;
    const int64_t square[] = {2, 2};
    (void)state;
    assert_int_equal(tlnmf_io_write_array(ctx, "y.h5", numbers, 2, shape), TLNMF_ERR_OUTPUT);
    assert_non_null(strstr(tlnmf_message(ctx), "y.h5: this build of libtlnmf_io has no HDF5"));
    assert_int_equal(tlnmf_record_create(ctx, &model), TLNMF_OK);
    assert_int_equal(tlnmf_record_set_array(ctx, model, "Phi", numbers, 2, square), TLNMF_OK);
    assert_int_equal(tlnmf_io_write_model(ctx, "m.h5", model), TLNMF_ERR_OUTPUT);
    assert_non_null(strstr(tlnmf_message(ctx), "use .npz or .mat"));
    assert_int_equal(tlnmf_io_write_model(ctx, "m.npz", model), TLNMF_OK);
    assert_int_equal(tlnmf_io_read_model(ctx, "m.npz", &read), TLNMF_OK);
    assert_memory_equal(tlnmf_record_get_array(read, "Phi", NULL, NULL), numbers,
                        4 * sizeof(double));
    tlnmf_record_free(read);
    tlnmf_record_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(missing_formats_are_named),
                                       cmocka_unit_test(other_formats_are_written)};
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
