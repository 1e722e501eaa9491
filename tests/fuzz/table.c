/* Tables as text (CSV, TSV, columns between spaces): what is accepted is a matrix of at most as
 * many numbers as the text has bytes. The first byte selects the name of the file. */
#include "io/io.h"

#include "fuzz.h"

#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const paths[] = {"table.csv", "table.tsv", "table.txt", "table"};
    io_array array;
    io_error err = {0};
    if (size == 0)
        return 0;
    const char *path = paths[bytes[0] % 4];
    fuzz_put(path, bytes + 1, size - 1);
    if (io_array_read(path, NULL, &array, &err)) {
        FUZZ_CHECK(array.ndim >= 1 && array.ndim <= 2);
        int64_t count = array.dim[0] * (array.ndim == 2 ? array.dim[1] : 1);
        FUZZ_CHECK(count > 0 && (uint64_t)count <= size);
        io_array_free(&array);
    } else {
        FUZZ_CHECK(strncmp(err.text, path, strlen(path)) == 0);
    }
    unlink(path);
    return 0;
}

bool fuzz_seed(int number, const char *path)
{
    static const char *const seeds[] = {
        "time,left,right\n1,0.5,-2e-3\n2,1.5,+.25\n# end\n",
        "a\t\"b\nc\"\n1,5\t-2,25\n\n3,0\t1e5\n",
        " 1 2 3\r\n 4 5 6\r\n",
        "\xef\xbb\xbf\x31;2\n3;4\n",
    };
    char text[256];
    if (number == sizeof seeds / sizeof *seeds)
        return false;
    text[0] = (char)number;
    snprintf(text + 1, sizeof text - 1, "%s", seeds[number]);
    fuzz_put(path, text, 1 + strlen(seeds[number]));
    return true;
}
