/* HDF5 and .mat files through the program's reader: an array or a message; never a signal, a hang
 * or unlimited memory. */
#include "io/program.h"

#include "fuzz.h"

#define H5_USE_110_API
#include <hdf5.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <zlib.h>

enum { ROWS = 20, COLUMNS = 30, COUNT = ROWS * COLUMNS };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* With FUZZ_KEEP=FOLDER, accepted files are kept there with the array that was read, for
 * accepted.py. */
static void keep(tlnmf_ctx *ctx, const char *path, const tlnmf_record *record)
{
    const char *folder = getenv("FUZZ_KEEP");
    static int count;
    char from[256], to[4096];
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    if (folder == NULL)
        return;
    const double *x = tlnmf_record_get_array(record, "array", &rank, shape);
    snprintf(to, sizeof to, "%s/%d%s", folder, count, strrchr(path, '.'));
    snprintf(from, sizeof from, "%s", path);
    FUZZ_CHECK(rename(from, to) == 0);
    snprintf(to, sizeof to, "%s/%d.npy", folder, count++);
    FUZZ_CHECK(tlnmf_io_write_array(ctx, to, x, rank, shape) == TLNMF_OK);
}

static void take(tlnmf_ctx *ctx, const char *kind, const char *path)
{
    tlnmf_record *record;
    struct rusage usage;
    double start = seconds();
    const char *helper = getenv("TLNMF_PROGRAM"); /* if the tests were built elsewhere */
    tlnmf_error error =
        tlnmf_io_read_apart(ctx, helper != NULL ? helper : TLNMF_PROGRAM, kind, path, &record);
    FUZZ_CHECK(error == TLNMF_OK || error == TLNMF_ERR_INPUT || error == TLNMF_ERR_MEMORY);
    FUZZ_CHECK((error == TLNMF_OK) == (record != NULL));
    FUZZ_CHECK(error == TLNMF_OK || tlnmf_message(ctx)[0] != '\0');
    FUZZ_CHECK(seconds() - start < 20.0); /* 5 s of processor time, on a busy computer */
    FUZZ_CHECK(getrusage(RUSAGE_CHILDREN, &usage) == 0 && usage.ru_maxrss < 500 * 1024);
    if (record != NULL)
        keep(ctx, path, record);
    tlnmf_record_free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *path = size >= 6 && memcmp(bytes, "MATLAB", 6) == 0 ? "x.mat" : "x.h5";
    tlnmf_ctx *ctx;
    FUZZ_CHECK(tlnmf_ctx_create(&ctx) == TLNMF_OK);
    fuzz_put(path, bytes, size);
    take(ctx, "array", path);
    tlnmf_ctx_free(ctx);
    return 0;
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static void fill(double *x)
{
    for (int i = 0; i < COUNT; i++)
        x[i] = (i % 7) / 8.0 - 0.25;
}

static void put_hdf5(const char *path, bool chunked)
{
    double x[COUNT];
    const hsize_t shape[] = {ROWS, COLUMNS}, chunk[] = {7, 8};
    fill(x);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, shape, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    if (chunked) {
        H5Pset_chunk(list, 2, chunk);
        H5Pset_shuffle(list);
        H5Pset_deflate(list, 6);
    }
    hid_t set = H5Dcreate2(file, "Y", H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    FUZZ_CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Dclose(set), H5Pclose(list), H5Sclose(space), H5Fclose(file);
}

static void put_words(unsigned char **at, const uint32_t *words, int count)
{
    for (int i = 0; i < count; i++)
        for (int byte = 0; byte < 4; byte++)
            *(*at)++ = (unsigned char)(words[i] >> (8 * byte));
}

static void put_mat(const char *path, bool compressed)
{
    static unsigned char plain[8 * COUNT + 256], file[2 * sizeof plain];
    const uint32_t head[] = {14,      56 + 8 * COUNT - 8, 6,   8, 6,        0, 5, 8, ROWS,
                             COLUMNS, 1 | 1 << 16,        'Y', 9, 8 * COUNT};
    double x[COUNT];
    unsigned char *at = plain, *out = file + 128;
    fill(x);
    put_words(&at, head, 14);
    memcpy(at, x, sizeof x);
    size_t size = (size_t)(at - plain) + sizeof x;
    memset(file, ' ', 116);
    memcpy(file, "MATLAB 5.0 MAT-file", 19);
    memset(file + 116, 0, 8);
    memcpy(file + 124, "\0\1IM", 4);
    uLongf packed = (uLongf)(sizeof file - 136);
    if (compressed) {
        FUZZ_CHECK(compress(file + 136, &packed, plain, (uLong)size) == Z_OK);
        put_words(&out, (uint32_t[]){15, (uint32_t)packed}, 2);
        size = 8 + (size_t)packed;
    } else
        memcpy(file + 128, plain, size);
    fuzz_put(path, file, 128 + size);
}

bool fuzz_seed(int number, const char *path)
{
    if (number < 2)
        put_hdf5(path, number == 1);
    else if (number < 4)
        put_mat(path, number == 3);
    return number < 4;
}
