/* Packed records, as used for models in memory and by the reader process: an accepted record packs
 * to the same bytes. */
#include "tlnmf/tlnmf.h"

#include "fuzz.h"

#include <string.h>

static void compare(tlnmf_ctx *ctx, const tlnmf_record *record, const uint8_t *bytes, size_t size)
{
    size_t needed = 0;
    FUZZ_CHECK(tlnmf_record_pack(ctx, record, NULL, &needed) == TLNMF_OK);
    FUZZ_CHECK(needed == size);
    void *again = malloc(needed);
    FUZZ_CHECK(again != NULL);
    FUZZ_CHECK(tlnmf_record_pack(ctx, record, again, &needed) == TLNMF_OK);
    FUZZ_CHECK(memcmp(again, bytes, size) == 0);
    free(again);
}

static void take(tlnmf_ctx *ctx, const uint8_t *bytes, size_t size)
{
    tlnmf_record *record;
    tlnmf_error error = tlnmf_record_unpack(ctx, bytes, size, &record);
    FUZZ_CHECK((error == TLNMF_OK) == (record != NULL));
    FUZZ_CHECK(error == TLNMF_OK || error == TLNMF_ERR_DATA || error == TLNMF_ERR_MEMORY);
    if (record != NULL)
        compare(ctx, record, bytes, size);
    tlnmf_record_free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tlnmf_ctx *ctx;
    uint8_t *copy = malloc(size + 1);
    FUZZ_CHECK(copy != NULL && tlnmf_ctx_create(&ctx) == TLNMF_OK);
    memcpy(copy, bytes, size);
    take(ctx, copy, size);
    fuzz_mend(copy, size); /* tests the parser without the checksum */
    take(ctx, copy, size);
    free(copy);
    tlnmf_ctx_free(ctx);
    return 0;
}

bool fuzz_seed(int number, const char *path)
{
    static const char *const names[] = {"low", "high"};
    const double x[] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
    tlnmf_ctx *ctx;
    tlnmf_record *record;
    size_t size = 0;
    if (number > 1)
        return false;
    FUZZ_CHECK(tlnmf_ctx_create(&ctx) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_record_create(ctx, &record) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_record_set_array(ctx, record, "array", x, 2, (int64_t[]){2, 3}) == TLNMF_OK);
    if (number == 1) {
        FUZZ_CHECK(tlnmf_record_set_integer(ctx, record, "error", 3) == TLNMF_OK);
        FUZZ_CHECK(tlnmf_record_set_real(ctx, record, "eps", 1e-8) == TLNMF_OK);
        FUZZ_CHECK(tlnmf_record_set_text(ctx, record, "message", "damaged") == TLNMF_OK);
        FUZZ_CHECK(tlnmf_record_set_texts(ctx, record, "names", names, 2) == TLNMF_OK);
    }
    FUZZ_CHECK(tlnmf_record_pack(ctx, record, NULL, &size) == TLNMF_OK);
    void *bytes = malloc(size);
    FUZZ_CHECK(bytes && tlnmf_record_pack(ctx, record, bytes, &size) == TLNMF_OK);
    fuzz_put(path, bytes, size);
    free(bytes);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
    return true;
}
