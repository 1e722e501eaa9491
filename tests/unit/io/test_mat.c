/* Arrays in MATLAB files of all versions: reading, messages, files that are damaged. */
#include "unit/io/test_io.h"

#include <hdf5.h>
#include <matio.h>

/* ---- making files ------------------------------------------------------------------------- */

static mat_t *new_file(const char *path, enum mat_ft version)
{
    unlink(path);
    mat_t *mat = Mat_CreateVer(path, NULL, version);

    assert_non_null(mat);
    return mat;
}

static void put_variable(mat_t *mat, matvar_t *var, enum matio_compression compression)
{
    assert_non_null(var);
    assert_int_equal(Mat_VarWrite(mat, var, compression), 0);
    Mat_VarFree(var);
}

static void put_doubles(const char *path, enum mat_ft version, enum matio_compression compression)
{
    size_t dims[2] = {2, 3};
    double columns[6] = {1, 4, 2, 5, 3, -6.5};
    mat_t *mat = new_file(path, version);

    put_variable(mat, Mat_VarCreate("Y", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims, columns, 0),
                 compression);
    Mat_Close(mat);
}

static const int64_t two_by_three[2] = {2, 3};
static const double rows[6] = {1, 2, 3, 4, 5, -6.5};

/* ---- reading ------------------------------------------------------------------------------ */

static void test_versions(void **state)
{
    static const struct {
        enum mat_ft version;
        enum matio_compression compression;
    } table[] = {{MAT_FT_MAT4, MAT_COMPRESSION_NONE},
                 {MAT_FT_MAT5, MAT_COMPRESSION_NONE},
                 {MAT_FT_MAT5, MAT_COMPRESSION_ZLIB},
                 {MAT_FT_MAT73, MAT_COMPRESSION_NONE},
                 {MAT_FT_MAT73, MAT_COMPRESSION_ZLIB}};

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        put_doubles("x.mat", table[i].version, table[i].compression);
        assert_reads("x.mat", 2, two_by_three, rows);
        assert_reads("x.mat:Y", 2, two_by_three, rows);
        if (table[i].version == MAT_FT_MAT4) /* the format has no signature */
            continue;
        assert_reads_stdin("x.mat", 2, two_by_three, rows);
        assert_int_equal(rename("x.mat", "x.dat"), 0);
        assert_reads("x.dat", 2, two_by_three, rows);
    }
}

/* Writes MATLAB_class of Y as h5py does: no attribute if `size` is 0, else a string of this size.
 */
static void set_class(const char *path, size_t size)
{
    const char *word = "double";
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "Y", H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);

    assert_true(H5Adelete(dataset, "MATLAB_class") >= 0);
    if (size > 0) {
        hid_t space = H5Screate(H5S_SCALAR);
        H5Tset_size(type, size);
        H5Tset_strpad(type, size == H5T_VARIABLE ? H5T_STR_NULLTERM : H5T_STR_NULLPAD);
        hid_t attribute =
            H5Acreate2(dataset, "MATLAB_class", type, space, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(H5Awrite(attribute, type, size == H5T_VARIABLE ? (const void *)&word : word) >=
                    0);
        H5Aclose(attribute);
        H5Sclose(space);
    }
    H5Tclose(type);
    H5Dclose(dataset);
    H5Fclose(file);
}

/* Version 7.3 as other programs write it. */
static void test_classes(void **state)
{
    static const char text[] =
        "x.mat: no variable has an attribute MATLAB_class that can be read; write it as a string "
        "of fixed length (in h5py: numpy.bytes_(\"double\"))";
    const size_t sizes[] = {0, strlen("double")};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        put_doubles("x.mat", MAT_FT_MAT73, MAT_COMPRESSION_ZLIB);
        set_class("x.mat", sizes[i]);
        assert_reads("x.mat", 2, two_by_three, rows);
        assert_reads("x.mat:Y", 2, two_by_three, rows);
        assert_reads_stdin("x.mat", 2, two_by_three, rows);
    }
    put_doubles("x.mat", MAT_FT_MAT73, MAT_COMPRESSION_NONE);
    set_class("x.mat", H5T_VARIABLE);
    assert_fails("x.mat", TLNMF_ERR_INPUT, text);
    assert_fails("x.mat:Y", TLNMF_ERR_INPUT, text);
}

#define CHECK(ctype, class, type)                                             \
    do {                                                                      \
        ctype data[12];                                                       \
        for (int i = 0; i < 2; i++)                                           \
            for (int j = 0; j < 3; j++)                                       \
                for (int k = 0; k < 2; k++) {                                 \
                    data[(k * 3 + j) * 2 + i] = (ctype)(60 * i + 10 * j + k); \
                    want[(i * 3 + j) * 2 + k] = 60 * i + 10 * j + k;          \
                }                                                             \
        mat_t *mat = new_file("x.mat", MAT_FT_MAT5);                          \
        put_variable(mat, Mat_VarCreate("T", class, type, 3, dims, data, 0),  \
                     MAT_COMPRESSION_ZLIB);                                   \
        Mat_Close(mat);                                                       \
        assert_reads("x.mat:T", 3, dim, want);                                \
    } while (0)

static void test_types(void **state)
{
    size_t dims[3] = {2, 3, 2};
    const int64_t dim[3] = {2, 3, 2};
    double want[12];

    (void)state;
    CHECK(double, MAT_C_DOUBLE, MAT_T_DOUBLE);
    CHECK(float, MAT_C_SINGLE, MAT_T_SINGLE);
    CHECK(int8_t, MAT_C_INT8, MAT_T_INT8);
    CHECK(uint8_t, MAT_C_UINT8, MAT_T_UINT8);
    CHECK(int16_t, MAT_C_INT16, MAT_T_INT16);
    CHECK(uint16_t, MAT_C_UINT16, MAT_T_UINT16);
    CHECK(int32_t, MAT_C_INT32, MAT_T_INT32);
    CHECK(uint32_t, MAT_C_UINT32, MAT_T_UINT32);
    CHECK(int64_t, MAT_C_INT64, MAT_T_INT64);
    CHECK(uint64_t, MAT_C_UINT64, MAT_T_UINT64);
}

/* A file with objects that are not supported arrays. */
static void put_zoo(void)
{
    size_t dims[2] = {1, 2}, one[2] = {1, 1}, deep[9] = {1, 1, 1, 1, 1, 1, 1, 1, 2},
           none[2] = {0, 4};
    double re[2] = {1, 2}, im[2] = {3, 4};
    mat_complex_split_t z = {re, im};
    mat_uint32_t ir[1] = {0}, jc[3] = {0, 1, 1};
    mat_sparse_t sparse = {1, ir, 1, jc, 3, 1, re};
    char text[] = "hi";
    const char *field = "f";
    mat_t *mat = new_file("zoo.mat", MAT_FT_MAT5);

    put_variable(mat, Mat_VarCreate("z", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims, &z, MAT_F_COMPLEX),
                 0);
    put_variable(
        mat, Mat_VarCreate("s", MAT_C_SPARSE, MAT_T_DOUBLE, 2, dims, &sparse, MAT_F_DONT_COPY_DATA),
        0);
    put_variable(mat, Mat_VarCreate("c", MAT_C_CELL, MAT_T_CELL, 2, one, NULL, 0), 0);
    put_variable(mat, Mat_VarCreateStruct("t", 2, one, &field, 1), 0);
    put_variable(mat, Mat_VarCreate("w", MAT_C_CHAR, MAT_T_UTF8, 2, dims, text, 0), 0);
    put_variable(mat, Mat_VarCreate("deep", MAT_C_DOUBLE, MAT_T_DOUBLE, 9, deep, re, 0), 0);
    put_variable(mat, Mat_VarCreate("A", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims, re, 0), 0);
    put_variable(mat, Mat_VarCreate("none", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, none, re, 0), 0);
    Mat_Close(mat);
}

static void test_errors(void **state)
{
    static const struct {
        const char *spec, *text;
    } table[] = {
        {"zoo.mat:z",
         "zoo.mat: z is complex: save the real and the imaginary part as two "
         "realisations, or save its power, the squared magnitude, and use --input power"},
        {"zoo.mat:s", "zoo.mat: s is sparse, not an array of real numbers"},
        {"zoo.mat:c", "zoo.mat: c is cell, not an array of real numbers"},
        {"zoo.mat:t",
         "zoo.mat: t is a struct: save a field as a variable of its own, as in Y = t.data"},
        {"zoo.mat:w", "zoo.mat: w is char, not an array of real numbers"},
        {"zoo.mat:deep", "zoo.mat: deep has 9 dimensions, at most 4 are read"},
        {"zoo.mat:X", "zoo.mat: no variable X (it has z, s, c, t, w, deep and 2 more)"},
        {"zoo.mat",
         "zoo.mat: contains several arrays; name one, as in zoo.mat:deep (it has z, s, c, t, w, "
         "deep and 2 more)"},
        {"eeg.mat",
         "eeg.mat: t is a struct: save a field as a variable of its own, as in Y = t.data"},
        {"junk.mat", "junk.mat: not a MATLAB file"},
        {"void.mat", "void.mat: empty file"},
        {"missing.mat:Y", "missing.mat: No such file or directory"},
    };
    static const int64_t none[2] = {0, 4};

    (void)state;
    put_zoo();
    mat_t *eeg = new_file("eeg.mat", MAT_FT_MAT5);
    put_variable(eeg, Mat_VarCreateStruct("t", 2, (size_t[]){1, 1}, (const char *[]){"f"}, 1), 0);
    Mat_Close(eeg);
    put_file("junk.mat", "hello", 5);
    put_file("void.mat", "", 0);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_fails(table[i].spec, TLNMF_ERR_INPUT, table[i].text);
    assert_reads("zoo.mat:none", 2, none, NULL);
    unlink("zoo.mat");
    unlink("eeg.mat");
}

/* The dimensions are 8 + 16 + 8 bytes after the tag of the first variable, which is at 128. */
static void test_claims(void **state)
{
    const uint32_t huge[2] = {0x7fffffff, 0x7fffffff};
    size_t size;

    (void)state;
    put_doubles("x.mat", MAT_FT_MAT5, MAT_COMPRESSION_NONE);
    unsigned char *bytes = get_file("x.mat", &size);
    memcpy(bytes + 160, huge, sizeof huge);
    put_file("x.mat", bytes, size);
    free(bytes);
    assert_fails("x.mat", TLNMF_ERR_INPUT, "x.mat: the variable at byte 128 is damaged");
}

static void test_describe(void **state)
{
    struct stat st;

    (void)state;
    put_doubles("x.mat", MAT_FT_MAT5, MAT_COMPRESSION_ZLIB);
    assert_int_equal(stat("x.mat", &st), 0);
    json_t *told = describe("x.mat");
    json_t *want = json_pack("{s:s, s:s, s:I, s:[{s:s, s:s, s:[i,i]}]}", "file", "x.mat", "format",
                             "mat", "bytes", (json_int_t)st.st_size, "arrays", "name", "Y", "dtype",
                             "float64", "shape", 2, 3);
    assert_true(json_equal(told, want));
    json_decref(told);
    json_decref(want);
}

static void test_damage(void **state)
{
    (void)state;
    put_doubles("good.mat", MAT_FT_MAT4, MAT_COMPRESSION_NONE);
    assert_cuts_fail("good.mat", "x.mat");
    poke_flips_in_child("good.mat", "x.mat", 100);
    put_doubles("good.mat", MAT_FT_MAT5, MAT_COMPRESSION_NONE);
    assert_cuts_fail("good.mat", "x.mat");
    poke_flips_in_child("good.mat", "x.mat", 100);
    put_doubles("good.mat", MAT_FT_MAT5, MAT_COMPRESSION_ZLIB);
    assert_cuts_fail("good.mat", "x.mat");
    poke_flips_in_child("good.mat", "x.mat", 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions), cmocka_unit_test(test_classes),
        cmocka_unit_test(test_types),    cmocka_unit_test(test_errors),
        cmocka_unit_test(test_claims),   cmocka_unit_test(test_describe),
        cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
