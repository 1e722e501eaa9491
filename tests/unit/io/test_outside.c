/* HDF5 files that refer to other files: links, external storage, virtual layouts are refused. */
#include "unit/io/test_io.h"

#define H5_USE_110_API
#include <hdf5.h>
#include <sys/stat.h>

enum { ROWS = 4, COLUMNS = 5 };
static const hsize_t shape[] = {ROWS, COLUMNS};
static const char only[] = "only what is in the file itself is read";

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
    io_array array;
    io_error err = {0};
    char text[512];
    alarm(10); /* a FIFO must not be waited for */
    assert_false(io_array_read(spec, NULL, &array, &err));
    alarm(0);
    assert_int_equal(err.fault, IO_BAD_INPUT);
    snprintf(text, sizeof text, "%.*s: /Y is %s: %s", (int)strcspn(spec, ":"), spec, what, only);
    assert_string_equal(err.text, text);
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
    refused("link.h5:/Y", "a link to another file");
    io_array array;
    io_error err;
    mkfifo("fifo", 0600);
    alarm(10);
    assert_false(io_array_read("link.h5:/soft", NULL, &array, &err));
    assert_false(io_array_read("link.h5:/G/Y", NULL, &array, &err));
    assert_false(io_array_read("link.h5", NULL, &array, &err));
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
        refused("external.h5:/Y", "stored in other files");
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
        refused("virtual.h5:/Y", "a virtual dataset");
        io_error err;
        json_t *about = io_describe("virtual.h5", &err); /* told, not followed */
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
    io_array array;
    io_error err;
    assert_false(io_array_read("virtual.mat:Y", NULL, &array, &err));
    assert_string_equal(err.text, "virtual.mat: Y is a virtual dataset, which are not read");
    hid_t file = create("link.mat");
    assert_true(H5Lcreate_external("./secret.h5", "/Y", file, "Y", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
    assert_false(io_array_read("link.mat:Y", NULL, &array, &err));
    assert_string_equal(err.text, "link.mat: Y is a link to another file, which is not read");
}

/* Chunks that were never written are zeros that cost nothing: believed while they are few. */
static void test_sizes(void **state)
{
    (void)state;
    const hsize_t sizes[][2] = {{300, 1000}, {30000, 10000}}, chunk[] = {100, 1000};
    for (int i = 0; i < 2; i++) {
        hid_t file = create("sparse.h5"), properties = H5Pcreate(H5P_DATASET_CREATE);
        hid_t space = H5Screate_simple(2, sizes[i], NULL);
        H5Pset_chunk(properties, 2, chunk);
        hid_t set =
            H5Dcreate2(file, "Y", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
        H5Dclose(set), H5Sclose(space), H5Pclose(properties), H5Fclose(file);
        io_array array;
        io_error err;
        bool ok = io_array_read("sparse.h5:/Y", NULL, &array, &err);
        assert_int_equal(ok, i == 0);
        if (ok)
            io_array_free(&array);
        else
            assert_string_equal(err.text, "sparse.h5: /Y claims 300000000 elements (or chunks as "
                                          "large), far beyond the 0 bytes that are stored");
    }
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
