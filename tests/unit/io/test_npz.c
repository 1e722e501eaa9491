/* Archives of arrays: stored and deflated members, models in them, and files that lie. */
#include "io/model.h"
#include "io/zip.h"
#include "unit/io/test_io.h"

#include <zlib.h>

static const int64_t shape[] = {2, 3};
static const double numbers[] = {1, 2, 3, 4, 5, 6};

static void put_number(io_buffer *b, uint64_t x, int size)
{
    for (; size > 0; size--, x >>= 8)
        io_buffer_add(b, &(unsigned char){(unsigned char)x}, 1);
}

/* Both headers of a member: `claimed` is the size that they say it has. */
static void put_entry(io_buffer *b, bool local, const char *name, int method,
                      const uint64_t size[3], uint32_t crc)
{
    put_number(b, local ? 0x04034b50 : 0x02014b50, 4);
    if (!local)
        put_number(b, 20, 2);
    put_number(b, 20, 2);
    put_number(b, 0, 2);
    put_number(b, (uint64_t)method, 2);
    put_number(b, 0, 4);
    put_number(b, crc, 4);
    put_number(b, size[0], 4);
    put_number(b, size[1], 4);
    put_number(b, strlen(name), 2);
    put_number(b, 0, 2);
    if (!local) {
        put_number(b, 0, 10);
        put_number(b, size[2], 4);
    }
    io_buffer_add(b, name, strlen(name));
}

/* An archive of one deflated member, made here; its directory claims `claimed` bytes (0: the
 * truth). */
static void put_deflated(const char *path, const char *name, uint64_t claimed)
{
    io_array array = {.ndim = 2, .dim = {2, 3}, .x = (double *)(uintptr_t)numbers};
    unsigned char *bytes, packed[1024];
    size_t size;
    io_buffer b = {0};
    io_error err;

    assert_true(io_npy_encode(&array, &bytes, &size));
    z_stream z = {.next_in = bytes, .avail_in = (uInt)size, .next_out = packed, .avail_out = 1024};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    uint32_t crc = (uint32_t)crc32(0, bytes, (uInt)size);
    uint64_t sizes[3] = {z.total_out, claimed ? claimed : size, 0};
    put_entry(&b, true, name, 8, sizes, crc);
    io_buffer_add(&b, packed, z.total_out);
    size_t directory = b.size;
    put_entry(&b, false, name, 8, sizes, crc);
    size_t length = b.size - directory;
    put_number(&b, 0x06054b50, 4);
    put_number(&b, 0, 4);
    put_number(&b, 1, 2);
    put_number(&b, 1, 2);
    put_number(&b, length, 4);
    put_number(&b, directory, 4);
    put_number(&b, 0, 2);
    free(bytes);
    assert_true(io_buffer_publish(&b, true, path, &err));
}

static void put_stored(const char *path, const char *second)
{
    io_array array = {.ndim = 2, .dim = {2, 3}, .x = (double *)(uintptr_t)numbers};
    io_zip_out zip = {0};
    unsigned char *bytes;
    size_t size;
    io_error err;

    assert_true(io_npy_encode(&array, &bytes, &size));
    io_zip_add(&zip, "Y.npy", bytes, size);
    if (second)
        io_zip_add(&zip, second, bytes, size);
    io_zip_add(&zip, "notes.txt", "words", 5);
    free(bytes);
    assert_true(io_zip_finish(&zip, path, &err));
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
    assert_fails("x.npz", IO_BAD_INPUT,
                 "x.npz: several arrays, name one as in x.npz:Y (it has Y, Z, notes.txt)");
    assert_fails("x.npz:A", IO_BAD_INPUT, "x.npz: no array A (it has Y, Z, notes.txt)");
    assert_fails("x.npz:notes.txt", IO_BAD_INPUT,
                 "x.npz:notes.txt: not an .npy file (it starts with \"words\")");
}

static void what_lies_is_refused(void **state)
{
    (void)state;
    put_deflated("x.npz", "Y.npy", 1000000000);
    io_array array;
    io_error err;
    assert_false(io_array_read("x.npz", NULL, &array, &err));
    assert_non_null(strstr(err.text, "x.npz: Y.npy claims 1000000000 bytes, the file holds "));
    put_deflated("x.npz", "Y.npy", 200);
    assert_fails("x.npz", IO_BAD_INPUT, "x.npz: a damaged .npz file: Y.npy cannot be unpacked");
    put_file("x.npz", "PK\3\4 and no more", 16);
    assert_fails("x.npz", IO_BAD_INPUT, "x.npz: a damaged .npz file: no directory at its end");
    put_deflated("good.npz", "Y.npy", 0);
    assert_cuts_fail("good.npz", "x.npz");
    poke_flips("good.npz", "x.npz", 300);
    put_stored("good.npz", NULL);
    poke_flips("good.npz", "x.npz", 300);
}

/* A model comes back from each kind of file as it was. */
static void models_come_back(void **state)
{
    static const char *const names[] = {"m.npz", "m.mat", "m.h5"};
    double Phi[] = {0.6, 0.8, -0.8, 0.6}, W[] = {1, 2, 3, 4, 5, 6}, H[12],
           trace[5] = {1, 2, 3, 4, 5};
    double V[] = {1, 2, 3, 4, 5, 6, 7, 8};
    io_error err;

    (void)state;
    for (int i = 0; i < 12; i++)
        H[i] = i / 7.0;
    for (size_t f = 0; f < 3; f++) {
        io_model in = {.M = 2, .N = 4, .K = 3, .Phi = Phi, .W = W, .H = H, .trace_length = 5}, out;
        for (int c = 0; c < IO_TRACE_COLUMNS; c++)
            in.trace[c] = trace;
        in.coefficient[1] = (io_array){.ndim = 2, .dim = {2, 4}, .x = V};
        in.summary = json_pack("{s:f, s:s, s:{s:i}}", "eps", 0.25, "method", "t\xc3\xa4l",
                               "options", "k", 3);
        assert_true(io_model_write(names[f], &in, &err));
        if (!io_model_read(names[f], &out, &err))
            fail_msg("%s", err.text);
        assert_int_equal(out.M * 100 + out.N * 10 + out.K, 243);
        assert_memory_equal(out.Phi, Phi, sizeof Phi);
        assert_memory_equal(out.W, W, sizeof W);
        assert_memory_equal(out.H, H, sizeof H);
        assert_int_equal(out.trace_length, 5);
        assert_memory_equal(out.trace[6], trace, sizeof trace);
        assert_memory_equal(out.coefficient[1].x, V, sizeof V);
        assert_null(out.coefficient[0].x);
        assert_true(json_equal(out.summary, in.summary));
        io_model_free(&out);
        json_decref(in.summary);
    }
    assert_false(io_model_write("m.txt", &(io_model){.M = 1, .Phi = Phi}, &err));
    assert_string_equal(err.text, "m.txt: models are written as .h5, .mat or .npz");
    put_stored("m.npz", NULL);
    assert_false(io_model_read("m.npz", &(io_model){0}, &err));
    assert_string_equal(err.text, "m.npz: not a model: there is no Phi in it");
    put_stored("m.npz", "Phi.npy");
    assert_false(io_model_read("m.npz", &(io_model){0}, &err));
    assert_string_equal(err.text, "m.npz: the sizes of Phi, W and H do not go together");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_read),
        cmocka_unit_test(what_lies_is_refused),
        cmocka_unit_test(models_come_back),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
