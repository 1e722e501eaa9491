/* HDF5 files that refer to other files: links, external storage, virtual layouts are refused. */
#include "unit/io/test_io.h"

#define H5_USE_110_API
#include <hdf5.h>
#include <sys/stat.h>

enum { ROWS = 4, COLUMNS = 5 };
static const hsize_t shape[] = {ROWS, COLUMNS};
static const char only[] = "only data in the file itself are read";

static hid_t create(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST); /* virtual layouts */
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    assert_true(file >= 0);
    return file;
}

/* A dataset /Y with these properties, which are closed. */
static void put(hid_t file, hid_t properties, const double *x)
{
    hid_t space = H5Screate_simple(2, shape, NULL);
    hid_t set =
        H5Dcreate2(file, "Y", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    assert_true(set >= 0);
    if (x != NULL)
        assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    if (properties != H5P_DEFAULT)
        H5Pclose(properties);
}

static void make_secret(void)
{
    double x[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = 42.0 + i;
    hid_t file = create("secret.h5");
    put(file, H5P_DEFAULT, x);
    H5Fclose(file);
}

static void make_virtual(const char *path, const char *source)
{
    hid_t file = create(path), properties = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(2, shape, NULL);
    assert_true(H5Pset_virtual(properties, space, source, "/Y", space) >= 0);
    H5Sclose(space);
    put(file, properties, NULL);
    H5Fclose(file);
}

static void refused(const char *spec, const char *what)
{
    test_array array;
    char text[512];
    alarm(10); /* reading must not wait for a FIFO */
    assert_false(get_array(spec, &array));
    alarm(0);
    assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_INPUT);
    snprintf(text, sizeof text, "%.*s: /Y is %s; %s", (int)strcspn(spec, ":"), spec, what, only);
    assert_string_equal(tlnmf_message(test_context()), text);
}

static void test_links(void **state)
{
    (void)state;
    make_secret();
    hid_t file = create("link.h5");
    assert_true(H5Lcreate_external("./secret.h5", "/Y", file, "Y", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_external("./fifo", "/", file, "G", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_soft("/Y", file, "soft", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
    refused("link.h5:/Y", "an external link");
    test_array array;
    mkfifo("fifo", 0600);
    alarm(10);
    assert_false(get_array("link.h5:/soft", &array));
    assert_false(get_array("link.h5:/G/Y", &array));
    assert_false(get_array("link.h5", &array));
    alarm(0);
    unlink("fifo");
}

static void test_external(void **state)
{
    (void)state;
    static const char *const files[] = {"/etc/passwd", "/dev/urandom", "./fifo"};
    mkfifo("fifo", 0600);
    for (int i = 0; i < 3; i++) {
        hid_t file = create("external.h5"), properties = H5Pcreate(H5P_DATASET_CREATE);
        assert_true(H5Pset_external(properties, files[i], 0, ROWS * COLUMNS * sizeof(double)) >= 0);
        put(file, properties, NULL);
        H5Fclose(file);
        refused("external.h5:/Y", "external");
    }
    unlink("fifo");
}

static void test_virtual(void **state)
{
    (void)state;
    static const char *const sources[] = {"./secret.h5", "./missing.h5", "."};
    make_secret();
    for (int i = 0; i < 3; i++) {
        make_virtual("virtual.h5", sources[i]);
        refused("virtual.h5:/Y", "virtual");
        json_t *about = describe("virtual.h5"); /* described, not followed */
        const json_t *array = json_array_get(json_object_get(about, "arrays"), 0);
        assert_string_equal(json_string_value(json_object_get(array, "dtype")), "virtual");
        json_decref(about);
    }
}

/* The same inside a .mat of version 7.3, which matio would follow. */
static void test_mat(void **state)
{
    (void)state;
    make_virtual("virtual.mat", "./secret.h5");
    test_array array;
    assert_false(get_array("virtual.mat:Y", &array));
    assert_string_equal(tlnmf_message(test_context()),
                        "virtual.mat: Y is virtual; only data in the file itself are read");
    hid_t file = create("link.mat");
    assert_true(H5Lcreate_external("./secret.h5", "/Y", file, "Y", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
    assert_false(get_array("link.mat:Y", &array));
    assert_string_equal(tlnmf_message(test_context()),
                        "link.mat: Y is an external link; only data in the file itself are read");
}

/* Chunks that were never written are zeros. */
static void test_sizes(void **state)
{
    (void)state;
    const hsize_t size[] = {300, 1000}, chunk[] = {100, 1000};
    hid_t file = create("sparse.h5"), properties = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(2, size, NULL);
    H5Pset_chunk(properties, 2, chunk);
    hid_t dataset =
        H5Dcreate2(file, "Y", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Dclose(dataset), H5Sclose(space), H5Pclose(properties), H5Fclose(file);
    test_array array;
    assert_true(get_array("sparse.h5:/Y", &array));
    assert_true(array.dim[0] == 300 && array.x[299999] == 0.0);
    drop_array(&array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),   cmocka_unit_test(test_external),
        cmocka_unit_test(test_virtual), cmocka_unit_test(test_mat),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
