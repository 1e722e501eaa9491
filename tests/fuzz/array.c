/* .npy files: what is accepted has a shape that can be, and the numbers that the file holds. */
#include "io/io.h"

#include "fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    io_array array;
    io_error err = {0};
    fuzz_put("array.npy", bytes, size);
    if (!io_array_read("array.npy", NULL, &array, &err)) {
        FUZZ_CHECK(strncmp(err.text, "array.npy: ", 11) == 0);
        return 0;
    }
    int64_t count = 1;
    FUZZ_CHECK(array.ndim >= 1 && array.ndim <= IO_MAX_DIM);
    for (int d = 0; d < array.ndim; d++)
        count *= array.dim[d];
    FUZZ_CHECK(count >= 0 && (uint64_t)count <= size);
    io_array_free(&array);
    return 0;
}

bool fuzz_seed(int number, const char *path)
{
    double x[24] = {1.5, -2.0, 3.0};
    io_array array = {.ndim = number + 1, .dim = {24, 1, 1}, .x = x};
    io_error err;
    char name[4096]; /* an ending tells the format; beside the seed, for a disk may end there */
    if (number > 2)
        return false;
    snprintf(name, sizeof name, "%s.npy", path);
    FUZZ_CHECK(io_array_write(name, &array, &err));
    return rename(name, path) == 0;
}
