/* Arrays in HDF5 files: reading, writing, messages, files that are damaged. */
#include "unit/io/test_io.h"

#include <hdf5.h>
#include <zlib.h>

/* ---- making files ------------------------------------------------------------------------- */

static void put_dataset(hid_t file, const char *path, hid_t type, int ndim, const hsize_t *dim,
                        const double *x)
{
    hid_t space = ndim ? H5Screate_simple(ndim, dim, NULL) : H5Screate(H5S_SCALAR);
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);

    H5Pset_create_intermediate_group(lcpl, 1);
    hid_t dataset = H5Dcreate2(file, path, type, space, lcpl, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(dataset >= 0);
    if (x)
        assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Dclose(dataset);
    H5Pclose(lcpl);
    H5Sclose(space);
}

static hid_t new_file(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    assert_true(file >= 0);
    return file;
}

static const double numbers[6] = {0, 1, -2, 3, 100, -50};
static const int64_t two_by_three[2] = {2, 3};
static const hsize_t two_by_three_h5[2] = {2, 3};

/* ---- reading ------------------------------------------------------------------------------ */

static void test_types(void **state)
{
    const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE,
                           H5T_STD_I8LE,   H5T_STD_I16BE,  H5T_STD_I32LE,  H5T_STD_I64BE};

    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        hid_t file = new_file("x.h5");
        put_dataset(file, "/a/b/Y", types[t], 2, two_by_three_h5, numbers);
        H5Fclose(file);
        assert_reads("x.h5", 2, two_by_three, numbers);
        assert_reads("x.h5:/a/b/Y", 2, two_by_three, numbers);
        assert_reads("x.h5:a/b/Y", 2, two_by_three, numbers);
        assert_reads_stdin("x.h5", 2, two_by_three, numbers);
    }
    assert_int_equal(rename("x.h5", "X.HDF5"), 0);
    assert_reads("X.HDF5:/a/b/Y", 2, two_by_three, numbers);
    assert_int_equal(rename("X.HDF5", "x.dat"), 0);
    assert_reads("x.dat", 2, two_by_three, numbers);
}

/* An enumeration of bytes, as h5py stores booleans. */
static void test_booleans(void **state)
{
    static const signed char stored[6] = {0, 1, 1, 0, 0, 1};
    static const double wanted[6] = {0, 1, 1, 0, 0, 1};
    const char *const names[2][2] = {{"FALSE", "TRUE"}, {"RED", "GREEN"}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        hid_t file = new_file("x.h5"), type = H5Tenum_create(H5T_STD_I8LE);
        for (signed char value = 0; value < 2; value++)
            assert_true(H5Tenum_insert(type, names[i][value], &value) >= 0);
        hid_t space = H5Screate_simple(2, two_by_three_h5, NULL);
        hid_t dataset = H5Dcreate2(file, "/Y", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored) >= 0);
        H5Dclose(dataset);
        H5Sclose(space);
        H5Tclose(type);
        H5Fclose(file);
        if (i == 0)
            assert_reads("x.h5", 2, two_by_three, wanted);
        else
            assert_fails("x.h5:/Y", TLNMF_ERR_INPUT,
                         "x.h5: /Y holds enum values, not real numbers");
    }
}

static void test_compressed(void **state)
{
    enum { ROWS = 100, COLS = 30 };
    const hsize_t dim[2] = {ROWS, COLS}, chunk[2] = {16, 30};
    static const int64_t want[2] = {ROWS, COLS};
    static double x[ROWS * COLS];
    hid_t file = new_file("x.h5"), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(2, dim, NULL);

    (void)state;
    for (int i = 0; i < ROWS * COLS; i++)
        x[i] = i % 7;
    H5Pset_chunk(dcpl, 2, chunk);
    H5Pset_shuffle(dcpl);
    H5Pset_deflate(dcpl, 6);
    hid_t dataset = H5Dcreate2(file, "Y", H5T_IEEE_F64LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(dcpl);
    H5Fclose(file);
    assert_reads("x.h5", 2, want, x);
}

/* A file with objects that are not supported arrays. */
static void put_zoo(void)
{
    const hsize_t two[1] = {2}, nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, none[2] = {0, 4};
    hid_t file = new_file("zoo.h5"), text = H5Tcopy(H5T_C_S1);
    hid_t complex_ = H5Tcreate(H5T_COMPOUND, 16);

    H5Tinsert(complex_, "r", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(complex_, "i", 8, H5T_NATIVE_DOUBLE);
    H5Tset_size(text, 5);
    put_dataset(file, "/complex", complex_, 1, two, NULL);
    put_dataset(file, "/text", text, 1, two, NULL);
    put_dataset(file, "/scalar", H5T_IEEE_F64LE, 0, NULL, numbers);
    put_dataset(file, "/deep", H5T_IEEE_F64LE, 9, nine, numbers);
    put_dataset(file, "/empty", H5T_IEEE_F64LE, 2, none, NULL);
    put_dataset(file, "/group/A", H5T_IEEE_F64LE, 1, two, numbers);
    put_dataset(file, "/group/B", H5T_IEEE_F64LE, 1, two, numbers);
    put_dataset(file, "/group/C", H5T_IEEE_F64LE, 1, two, numbers);
    H5Tclose(text);
    H5Tclose(complex_);
    H5Fclose(file);
}

static void test_errors(void **state)
{
    static const struct {
        const char *spec, *text;
    } table[] = {
        {"zoo.h5:/complex",
         "zoo.h5: /complex is complex: save the real and the imaginary part as two "
         "realisations, or save its power, the squared magnitude, and use --input power"},
        {"zoo.h5:/text", "zoo.h5: /text holds string values, not real numbers"},
        {"zoo.h5:/scalar", "zoo.h5: /scalar is a single number, not an array"},
        {"zoo.h5:/deep", "zoo.h5: /deep has 9 dimensions, at most 4 are read"},
        {"zoo.h5:/X", "zoo.h5: no dataset /X (it has /complex, /deep, /empty, /group/A, /group/B, "
                      "/group/C and 2 more)"},
        {"zoo.h5:/group", "zoo.h5: no dataset /group (it has /complex, /deep, /empty, /group/A, "
                          "/group/B, /group/C and 2 more)"},
        {"zoo.h5",
         "zoo.h5: contains several arrays; name one, as in zoo.h5:/deep (it has /complex, /deep, "
         "/empty, /group/A, /group/B, /group/C and 2 more)"},
        {"none.h5", "none.h5: no array of real numbers (it has none)"},
        {"none.h5:/Y", "none.h5: no dataset /Y (it has none)"},
        {"junk.h5", "junk.h5: not an HDF5 file"},
        {"cut.h5", "cut.h5: a damaged or unfinished HDF5 file"},
        {"missing.h5:/Y", "missing.h5: No such file or directory"},
    };
    static const int64_t empty[2] = {0, 4};

    (void)state;
    put_zoo();
    H5Fclose(new_file("none.h5"));
    put_file("junk.h5", "hello", 5);
    put_file("cut.h5", "\x89HDF\r\n\x1a\n", 8);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_fails(table[i].spec, TLNMF_ERR_INPUT, table[i].text);
    assert_reads("zoo.h5:/empty", 2, empty, NULL);
    unlink("zoo.h5");
}

/* Huge shapes without storage. */
static void test_huge(void **state)
{
    const hsize_t huge[2] = {(hsize_t)1 << 40, 8}, chunk[2] = {1024, 8};
    const hsize_t beyond[2] = {(hsize_t)1 << 33, (hsize_t)1 << 30};
    hid_t file = new_file("x.h5"), dcpl = H5Pcreate(H5P_DATASET_CREATE);

    (void)state;
    H5Pset_chunk(dcpl, 2, chunk);
    for (int i = 0; i < 2; i++) {
        hid_t space = H5Screate_simple(2, i ? beyond : huge, NULL);
        H5Dclose(H5Dcreate2(file, i ? "beyond" : "huge", H5T_STD_U8LE, space, H5P_DEFAULT, dcpl,
                            H5P_DEFAULT));
        H5Sclose(space);
    }
    H5Pclose(dcpl);
    H5Fclose(file);
    test_array array;
    assert_false(get_array("x.h5:/huge", &array));
    assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_MEMORY);
    assert_non_null(strstr(tlnmf_message(test_context()), "8796093022208 numbers need 70368.7 GB"));
    assert_fails("x.h5:/beyond", TLNMF_ERR_INPUT,
                 "x.h5: /beyond claims more elements than can be counted");
}

/* The library silences HDF5's error messages only during its calls. */
static void test_silence(void **state)
{
    H5E_auto2_t before, after;
    void *data_before, *data_after;
    int saved = dup(STDERR_FILENO), fd = open("stderr", O_RDWR | O_CREAT | O_TRUNC, 0600);
    size_t size;

    (void)state;
    put_file("cut.h5", "\x89HDF\r\n\x1a\n", 8);
    H5Eget_auto2(H5E_DEFAULT, &before, &data_before);
    dup2(fd, STDERR_FILENO);
    poke("cut.h5");
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(fd);
    H5Eget_auto2(H5E_DEFAULT, &after, &data_after);
    assert_true(before == after && data_before == data_after);
    free(get_file("stderr", &size));
    assert_int_equal(size, 0);
}

/* ---- writing ------------------------------------------------------------------------------ */

static void test_write(void **state)
{
    test_array array = {.ndim = 2, .dim = {2, 3}, .x = (double *)(uintptr_t)numbers};
    test_array empty = {.ndim = 2, .dim = {0, 3}, .x = array.x};

    (void)state;
    assert_true(put_array("a.h5", &array));
    assert_reads("a.h5:/Y", 2, array.dim, array.x);
    assert_true(put_array("a.h5:/deep/er/Z", &array));
    assert_reads("a.h5:/deep/er/Z", 2, array.dim, array.x);
    assert_true(put_array("e.hdf:Q", &empty));
    assert_reads("e.hdf", 2, empty.dim, NULL);
    assert_false(put_array("a.h5:/", &array));
    assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_OUTPUT);
    assert_string_equal(tlnmf_message(test_context()), "a.h5: cannot write: HDF5 refuses /");
    assert_reads("a.h5", 2, array.dim, array.x); /* existing datasets are kept */
    assert_false(put_array("no/a.h5", &array));
    assert_string_equal(tlnmf_message(test_context()),
                        "no/a.h5: cannot write: No such file or directory (directory no "
                        "does not exist)");
}

static void test_describe(void **state)
{
    test_array array = {.ndim = 2, .dim = {2, 3}, .x = (double *)(uintptr_t)numbers};
    struct stat st;

    (void)state;
    assert_true(put_array("a.h5:/g/Y", &array));
    assert_int_equal(stat("a.h5", &st), 0);
    json_t *told = describe("a.h5");
    json_t *want = json_pack("{s:s, s:s, s:I, s:[{s:s, s:s, s:[i,i]}]}", "file", "a.h5", "format",
                             "hdf5", "bytes", (json_int_t)st.st_size, "arrays", "name", "/g/Y",
                             "dtype", "float64", "shape", 2, 3);
    assert_true(json_equal(told, want));
    json_decref(told);
    json_decref(want);
}

enum {
    CHUNKS_ROWS = 5,
    CHUNKS_COLS = 3,
    CHUNK_ROWS = 2
}; /* the last chunk extends beyond the array */

/* x.h5 with /Y in chunks, through these filters: s shuffle, d deflate, c checksum. */
static hid_t new_chunked(const char *filters, const double *x, hid_t *file)
{
    const hsize_t dim[2] = {CHUNKS_ROWS, CHUNKS_COLS}, chunk[2] = {CHUNK_ROWS, CHUNKS_COLS};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, dim, NULL);
    *file = new_file("x.h5");
    H5Pset_chunk(dcpl, 2, chunk);
    for (; *filters; filters++)
        assert_true((*filters == 's'   ? H5Pset_shuffle(dcpl)
                     : *filters == 'd' ? H5Pset_deflate(dcpl, 6)
                                       : H5Pset_fletcher32(dcpl)) >= 0);
    hid_t dataset = H5Dcreate2(*file, "Y", H5T_IEEE_F64LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Sclose(space);
    H5Pclose(dcpl);
    return dataset;
}

/* Replaces the second chunk by `count` numbers, filtered or with a mask that skips the filters. */
static void replace_chunk(hid_t dataset, bool packs, const double *x, int count)
{
    const hsize_t first[2] = {CHUNK_ROWS, 0};
    unsigned char packed[1000];
    uLongf size = sizeof packed;
    const uLong bytes = (uLong)count * sizeof *x;
    unsigned char little[1000];
    assert_true(bytes <= sizeof little);
    memcpy(little, x, bytes);
    make_little(little, (size_t)count, sizeof *x);
    assert_int_equal(compress(packed, &size, little, bytes), Z_OK);
    assert_true(H5Dwrite_chunk(dataset, H5P_DEFAULT, packs ? 0 : 1, first, packs ? size : bytes,
                               packs ? packed : little) >= 0);
}

/* Only the second chunk is damaged: rows of the first can be read, rows of the second cannot. */
static void assert_first_rows_read(void)
{
    tlnmf_record *got;

    if (tlnmf_io_read_slice(test_context(), "x.h5", 0, 0, CHUNK_ROWS, &got) != TLNMF_OK)
        fail_msg("%s", tlnmf_message(test_context()));
    tlnmf_record_free(got);
    assert_int_equal(tlnmf_io_read_slice(test_context(), "x.h5", 0, CHUNK_ROWS - 1, 2, &got),
                     TLNMF_ERR_INPUT);
    assert_non_null(strstr(tlnmf_message(test_context()), "the size of a chunk"));
}

/* If a chunk is too short, HDF5 itself returns uninitialised memory. */
static void test_short_chunks(void **state)
{
    static const char *const pipelines[] = {"", "d", "sd", "sdc", "csd", "c"};
    static const int64_t dim[2] = {CHUNKS_ROWS, CHUNKS_COLS};
    enum { CHUNK = CHUNK_ROWS * CHUNKS_COLS };
    double x[CHUNKS_ROWS * CHUNKS_COLS];
    hid_t file;

    (void)state;
    for (int i = 0; i < CHUNKS_ROWS * CHUNKS_COLS; i++)
        x[i] = 1.5 * i;
    for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++) {
        H5Dclose(new_chunked(pipelines[i], x, &file));
        H5Fclose(file);
        assert_reads("x.h5", 2, dim, x);
    }
    for (int packs = 0; packs < 2; packs++)
        for (int count = CHUNK - 1; count <= CHUNK + 1; count++) {
            hid_t dataset = new_chunked("d", x, &file);
            replace_chunk(dataset, packs, x + CHUNK, count);
            H5Dclose(dataset);
            H5Fclose(file);
            if (count == CHUNK) {
                assert_reads("x.h5", 2, dim, x);
                continue;
            }
            assert_fails("x.h5", TLNMF_ERR_INPUT,
                         "x.h5: /Y is damaged: the size of a chunk does not match its shape");
            assert_first_rows_read();
        }
}

static void test_damage(void **state)
{
    test_array array = {.ndim = 2, .dim = {2, 3}, .x = (double *)(uintptr_t)numbers};

    (void)state;
    assert_true(put_array("good.h5", &array));
    assert_cuts_fail("good.h5", "x.h5");
    poke_flips_in_child("good.h5", "x.h5", 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),        cmocka_unit_test(test_booleans),
        cmocka_unit_test(test_compressed),   cmocka_unit_test(test_errors),
        cmocka_unit_test(test_huge),         cmocka_unit_test(test_silence),
        cmocka_unit_test(test_write),        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_short_chunks), cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
