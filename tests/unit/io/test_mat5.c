/* Compressed MATLAB files with one bit flipped, and with fewer numbers than their shape. */
#include "unit/io/test_io.h"

#include <zlib.h>

enum { ROWS = 6, COLUMNS = 7, COUNT = ROWS * COLUMNS };
static double x[COUNT];

static void put_word(unsigned char **at, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        *(*at)++ = (unsigned char)(word >> (8 * i));
}

/* Writes the first `stored` numbers of an array of doubles named Y; returns the number of bytes. */
static size_t make_matrix(unsigned char *bytes, int stored)
{
    unsigned char *at = bytes;
    put_word(&at, 14), put_word(&at, (uint32_t)(16 + 16 + 8 + 8 + 8 * stored));
    put_word(&at, 6), put_word(&at, 8), put_word(&at, 6), put_word(&at, 0);
    put_word(&at, 5), put_word(&at, 8), put_word(&at, ROWS), put_word(&at, COLUMNS);
    put_word(&at, 1 | 1 << 16), put_word(&at, 'Y');
    put_word(&at, 9), put_word(&at, (uint32_t)(8 * stored));
    memcpy(at, x, 8 * (size_t)stored);
    make_little(at, (size_t)stored, 8);
    return (size_t)(at - bytes) + 8 * (size_t)stored;
}

static void write_mat(const char *path, const unsigned char *element, size_t size)
{
    char head[129];
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    snprintf(head, sizeof head, "%-124s%c%c%s", "MATLAB 5.0 MAT-file", 0, 1, "IM");
    memset(head + 116, 0, 8);
    memcpy(head + 124, "\0\1IM", 4);
    assert_int_equal(fwrite(head, 1, 128, f), 128);
    assert_int_equal(fwrite(element, 1, size, f), size);
    fclose(f);
}

static size_t compress_matrix(unsigned char *element, size_t room, int stored)
{
    unsigned char plain[4096];
    size_t size = make_matrix(plain, stored);
    uLongf packed = (uLongf)(room - 8);
    unsigned char *at = element;
    assert_int_equal(compress(element + 8, &packed, plain, (uLong)size), Z_OK);
    put_word(&at, 15), put_word(&at, (uint32_t)packed);
    return 8 + (size_t)packed;
}

/* The array in the file: true if it is x; false if it is refused; anything else fails. */
static bool reads(const char *path)
{
    test_array array;
    if (!get_array(path, &array)) {
        assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_INPUT);
        return false;
    }
    assert_true(array.ndim == 2 && array.dim[0] == ROWS && array.dim[1] == COLUMNS);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            assert_true(array.x[i * COLUMNS + j] == x[j * ROWS + i]);
    drop_array(&array);
    return true;
}

static void test_flips(void **state)
{
    unsigned char element[4096] = {0};
    (void)state;
    for (int i = 0; i < COUNT; i++)
        x[i] = i % 5 == 0 ? 0.0 : 1.0 / (i + 1);
    size_t size = compress_matrix(element, sizeof element, COUNT), accepted = 0;
    write_mat("whole.mat", element, size);
    assert_true(reads("whole.mat"));
    for (size_t bit = 0; bit < 8 * size; bit++) {
        element[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_mat("flip.mat", element, size);
        accepted += reads("flip.mat"); /* some bits of deflate have no effect: the same array */
        element[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(accepted < size / 10);
}

static void test_short(void **state)
{
    unsigned char element[4096] = {0};
    (void)state;
    for (int stored = 0; stored < COUNT; stored += 7) {
        write_mat("short.mat", element, compress_matrix(element, sizeof element, stored));
        assert_false(reads("short.mat"));
        write_mat("short.mat", element, make_matrix(element, stored));
        assert_false(reads("short.mat"));
    }
    write_mat("plain.mat", element, make_matrix(element, COUNT));
    assert_true(reads("plain.mat"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flips),
        cmocka_unit_test(test_short),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
