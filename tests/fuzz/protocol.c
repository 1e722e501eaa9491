/* Responses of a compromised reader process: its exit code, and any bytes instead of the packed
 * record. The client returns a record, or an error with a message. The first byte is the code; its
 * highest bit corrects the checksum. */
#include "io/reader_client.c" // NOLINT(bugprone-suspicious-include): the client's functions are static

#include "fuzz.h"

static void mend_checksum(uint8_t *bytes, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i + 8 < size; i++)
        h = (h ^ bytes[i]) * 0x100000001b3u;
    for (int i = 0; size >= 8 && i < 8; i++)
        bytes[size - 8 + (size_t)i] = (uint8_t)(h >> (8 * i));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    reader r = {.kind = "array", .spec = "x.h5", .name = "x.h5", .pipe = {-1, -1}};
    tlnmf_ctx *ctx;
    tlnmf_record *out = NULL;
    if (size == 0)
        return 0;
    uint8_t *copy = malloc(size);
    FUZZ_CHECK(copy != NULL && tlnmf_ctx_create(&ctx) == TLNMF_OK);
    memcpy(copy, bytes + 1, size - 1);
    if (bytes[0] & 0x80)
        mend_checksum(copy, size - 1);
    r.file = io_memory_file("fuzz");
    FUZZ_CHECK(r.file >= 0 && write(r.file, copy, size - 1) == (ssize_t)(size - 1));
    /* The status of a process: 0 to 3 is an exit code, the rest signals. */
    int code = bytes[0] & 0x7f, status = code < 4 ? code << 8 : code % 32 + 1;
    tlnmf_error error = judge(ctx, &r, status, &out);
    FUZZ_CHECK((error == TLNMF_OK) == (out != NULL));
    FUZZ_CHECK(error == TLNMF_OK || tlnmf_message(ctx)[0] != '\0');
    FUZZ_CHECK(error == TLNMF_OK || error == TLNMF_ERR_INPUT || error == TLNMF_ERR_MEMORY ||
               error == TLNMF_ERR_ARGUMENT);
    tlnmf_record_free(out);
    close(r.file);
    free(copy);
    tlnmf_ctx_free(ctx);
    return 0;
}

/* An array (code 0), an error (code 1), both with checksums to correct. */
bool fuzz_seed(int number, const char *path)
{
    uint8_t bytes[4096];
    size_t size = sizeof bytes - 1;
    tlnmf_ctx *ctx;
    tlnmf_record *record;
    if (number > 1)
        return false;
    FUZZ_CHECK(tlnmf_ctx_create(&ctx) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_record_create(ctx, &record) == TLNMF_OK);
    if (number == 0) {
        const double x[] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
        FUZZ_CHECK(tlnmf_record_set_array(ctx, record, "array", x, 2, (int64_t[]){2, 3}) ==
                   TLNMF_OK);
    } else {
        FUZZ_CHECK(tlnmf_record_set_integer(ctx, record, "error", TLNMF_ERR_INPUT) == TLNMF_OK);
        FUZZ_CHECK(tlnmf_record_set_text(ctx, record, "message", "x.h5: damaged") == TLNMF_OK);
    }
    bytes[0] = (uint8_t)(0x80 | number);
    FUZZ_CHECK(tlnmf_record_pack(ctx, record, bytes + 1, &size) == TLNMF_OK);
    fuzz_put(path, bytes, size + 1);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
    return true;
}
