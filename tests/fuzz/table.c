/* Tables as text (CSV, TSV, columns separated by spaces): an accepted table is a matrix with no
 * more numbers than the text has bytes. The first byte selects the name of the file. */
#include "io/files.h"

#include "fuzz.h"

#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const paths[] = {"table.csv", "table.tsv", "table.txt", "table"};
    tlnmf_record *out;
    int64_t dim[TLNMF_MAX_DIMENSIONS];
    int32_t ndim;
    if (size == 0)
        return 0;
    const char *path = paths[bytes[0] % 4];
    fuzz_put(path, bytes + 1, size - 1);
    if (tlnmf_io_read_array(fuzz_context(), path, &out) == TLNMF_OK) {
        FUZZ_CHECK(tlnmf_record_get_array(out, "array", &ndim, dim) != NULL && ndim == 2);
        FUZZ_CHECK(dim[0] * dim[1] > 0 && (uint64_t)(dim[0] * dim[1]) <= size);
        tlnmf_record_free(out);
    } else {
        FUZZ_CHECK(strncmp(tlnmf_message(fuzz_context()), path, strlen(path)) == 0);
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
