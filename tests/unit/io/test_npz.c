/* Archives of arrays: stored and deflated members, models, and false headers. */
#include "io/zip.h"
#include "unit/io/test_io.h"

#include <zlib.h>

static const int64_t shape[] = {2, 3};
static const double numbers[] = {1, 2, 3, 4, 5, 6};

/* Both headers of a member; `claimed` is the size in them. */
static void put_entry(io_buffer *b, bool local, const char *name, int method,
                      const uint64_t size[3], uint32_t crc)
{
    io_buffer_add_number(b, local ? 0x04034b50 : 0x02014b50, 4);
    if (!local)
        io_buffer_add_number(b, 20, 2);
    io_buffer_add_number(b, 20, 2);
    io_buffer_add_number(b, 0, 2);
    io_buffer_add_number(b, (uint64_t)method, 2);
    io_buffer_add_number(b, 0, 4);
    io_buffer_add_number(b, crc, 4);
    io_buffer_add_number(b, size[0], 4);
    io_buffer_add_number(b, size[1], 4);
    io_buffer_add_number(b, strlen(name), 2);
    io_buffer_add_number(b, 0, 2);
    if (!local) {
        io_buffer_add_number(b, 0, 8);
        io_buffer_add_number(b, 0, 2);
        io_buffer_add_number(b, size[2], 4);
    }
    io_buffer_add(b, name, strlen(name));
}

/* An archive of one deflated member; its directory claims `claimed` bytes (0: the true size). */
static void put_deflated(const char *path, const char *name, uint64_t claimed)
{
    io_array array = {.ndim = 2, .dim = {2, 3}, .x = numbers};
    unsigned char packed[1024];
    io_buffer b = {0}, npy = {0};

    io_npy_encode(&npy, &array);
    z_stream z = {
        .next_in = npy.bytes, .avail_in = (uInt)npy.size, .next_out = packed, .avail_out = 1024};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    uint32_t crc = (uint32_t)crc32(0, npy.bytes, (uInt)npy.size);
    uint64_t sizes[3] = {z.total_out, claimed ? claimed : npy.size, 0};
    put_entry(&b, true, name, 8, sizes, crc);
    io_buffer_add(&b, packed, z.total_out);
    size_t directory = b.size;
    put_entry(&b, false, name, 8, sizes, crc);
    size_t length = b.size - directory;
    io_buffer_add_number(&b, 0x06054b50, 4);
    io_buffer_add_number(&b, 0, 4);
    io_buffer_add_number(&b, 1, 2);
    io_buffer_add_number(&b, 1, 2);
    io_buffer_add_number(&b, length, 4);
    io_buffer_add_number(&b, directory, 4);
    io_buffer_add_number(&b, 0, 2);
    free(npy.bytes);
    assert_true(io_buffer_publish(test_context(), &b, true, path));
}

static void put_stored(const char *path, const char *second)
{
    io_array array = {.ndim = 2, .dim = {2, 3}, .x = numbers};
    io_zip_out zip = {0};
    io_buffer npy = {0};

    io_npy_encode(&npy, &array);
    io_zip_add(&zip, "Y.npy", npy.bytes, npy.size);
    if (second)
        io_zip_add(&zip, second, npy.bytes, npy.size);
    io_zip_add(&zip, "notes.txt", "words", 5);
    free(npy.bytes);
    assert_true(io_zip_finish(test_context(), &zip, path));
}

static void arrays_are_read(void **state)
{
    (void)state;
    put_deflated("x.npz", "Y.npy", 0);
    assert_reads("x.npz", 2, shape, numbers);
    assert_reads("x.npz:Y", 2, shape, numbers);
    assert_reads_stdin("x.npz", 2, shape, numbers);
    put_stored("x.npz", NULL);
    assert_reads("x.npz", 2, shape, numbers);
    put_stored("x.npz", "Z.npy");
    assert_reads("x.npz:Z", 2, shape, numbers);
    assert_reads("x.npz:Z.npy", 2, shape, numbers);
    assert_fails(
        "x.npz", TLNMF_ERR_INPUT,
        "x.npz: contains several arrays; name one, as in x.npz:Y (it has Y, Z, notes.txt)");
    assert_fails("x.npz:A", TLNMF_ERR_INPUT, "x.npz: no array A (it has Y, Z, notes.txt)");
    assert_fails("x.npz:notes.txt", TLNMF_ERR_INPUT, "x.npz:notes.txt: not an .npy file");
}

static void complex_arrays_are_named(void **state)
{
    static const char npy[] = "\x93NUMPY\x01\x00\x3b\x00{'descr': '<c16', 'fortran_order': False, "
                              "'shape': (2,)}   ";
    io_zip_out zip = {0};

    (void)state;
    io_zip_add(&zip, "F.npy", npy, sizeof npy - 1);
    assert_true(io_zip_finish(test_context(), &zip, "x.npz"));
    assert_fails("x.npz", TLNMF_ERR_INPUT,
                 "x.npz: F is complex: save the real and the imaginary part as two realisations, "
                 "or save its power, the squared magnitude, and use --input power");
}

static void names_may_have_colons(void **state)
{
    (void)state;
    put_deflated("12:30.npz", "run:1.npy", 0);
    assert_reads("12:30.npz:run:1", 2, shape, numbers);
    assert_fails("12:30.npz:run", TLNMF_ERR_INPUT, "12:30.npz: no array run (it has run:1)");
}

static void false_sizes_are_refused(void **state)
{
    (void)state;
    put_deflated("x.npz", "Y.npy", 1000000000);
    test_array array;
    assert_false(get_array("x.npz", &array));
    assert_non_null(strstr(tlnmf_message(test_context()),
                           "x.npz: Y.npy claims 1000000000 bytes, the file holds "));
    put_deflated("x.npz", "Y.npy", 200);
    assert_fails("x.npz", TLNMF_ERR_INPUT, "x.npz: a damaged .npz file: Y.npy cannot be unpacked");
    put_file("x.npz", "PK\3\4 and no more", 16);
    assert_fails("x.npz", TLNMF_ERR_INPUT, "x.npz: a damaged .npz file: no directory at its end");
    put_deflated("good.npz", "Y.npy", 0);
    assert_cuts_fail("good.npz", "x.npz");
    poke_flips("good.npz", "x.npz", 300);
    put_stored("good.npz", NULL);
    poke_flips("good.npz", "x.npz", 300);
}

static void models_are_refused(void **state)
{
    tlnmf_record *model;

    (void)state;
    put_stored("m.npz", NULL);
    assert_int_equal(tlnmf_io_read_model(test_context(), "m.npz", &model), TLNMF_ERR_INPUT);
    assert_string_equal(tlnmf_message(test_context()), "m.npz: not a model: it has no Phi");
    put_stored("m.npz", "Phi.npy");
    assert_int_equal(tlnmf_io_read_model(test_context(), "m.npz", &model), TLNMF_ERR_INPUT);
    assert_string_equal(tlnmf_message(test_context()), "m.npz: Phi is 2 x 3, not square");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_read),       cmocka_unit_test(complex_arrays_are_named),
        cmocka_unit_test(names_may_have_colons), cmocka_unit_test(false_sizes_are_refused),
        cmocka_unit_test(models_are_refused),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
