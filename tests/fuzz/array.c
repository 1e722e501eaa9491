/* .npy files: an accepted file has a valid shape and gives the numbers that it contains. */
#include "io/files.h"

#include "fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tlnmf_record *out;
    int64_t dim[TLNMF_MAX_DIMENSIONS], count = 1;
    int32_t ndim;

    fuzz_put("array.npy", bytes, size);
    if (tlnmf_io_read_array(fuzz_context(), "array.npy", &out) != TLNMF_OK) {
        FUZZ_CHECK(strncmp(tlnmf_message(fuzz_context()), "array.npy: ", 11) == 0);
        return 0;
    }
    FUZZ_CHECK(tlnmf_record_get_array(out, "array", &ndim, dim) != NULL && ndim >= 1);
    for (int d = 0; d < ndim; d++)
        count *= dim[d];
    FUZZ_CHECK(count >= 0 && (uint64_t)count <= size);
    tlnmf_record_free(out);
    return 0;
}

bool fuzz_seed(int number, const char *path)
{
    double x[24] = {1.5, -2.0, 3.0};
    char name[4096]; /* the extension selects the format; in the folder of the seed, which may be in
                        memory */

    if (number > 2)
        return false;
    snprintf(name, sizeof name, "%s.npy", path);
    FUZZ_CHECK(tlnmf_io_write_array(fuzz_context(), name, x, number + 1, (int64_t[]){24, 1, 1}) ==
               TLNMF_OK);
    return rename(name, path) == 0;
}
