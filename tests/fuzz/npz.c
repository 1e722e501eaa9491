/* Archives of numpy as data and as models: arrays whose shapes their bytes can hold, or a message.
 */
#include "tlnmf/io.h"

#include "fuzz.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Reads every array of the record to the end of its shape. */
static void walk(const tlnmf_record *record)
{
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_name(record, i)) != NULL; i++) {
        int64_t shape[TLNMF_MAX_DIMENSIONS], count = 1;
        int32_t rank;
        const double *x = tlnmf_record_get_array(record, name, &rank, shape);
        if (x == NULL)
            continue;
        FUZZ_CHECK(rank >= 0 && rank <= TLNMF_MAX_DIMENSIONS);
        for (int32_t d = 0; d < rank; d++)
            count *= shape[d];
        double last = count > 0 ? x[count - 1] : 0.0;
        FUZZ_CHECK(isnan(last) || last >= -INFINITY);
    }
}

static void take(tlnmf_ctx *ctx, tlnmf_error error, tlnmf_record *record)
{
    FUZZ_CHECK((error == TLNMF_OK) == (record != NULL));
    FUZZ_CHECK(error == TLNMF_OK || strstr(tlnmf_message(ctx), "x.npz") != NULL);
    walk(record);
    tlnmf_record_free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tlnmf_ctx *ctx;
    tlnmf_record *record;
    FUZZ_CHECK(tlnmf_ctx_create(&ctx) == TLNMF_OK);
    fuzz_put("x.npz", bytes, size);
    tlnmf_error error = tlnmf_io_read_array(ctx, "x.npz:W", &record);
    take(ctx, error, record);
    error = tlnmf_io_read_model(ctx, "x.npz", &record);
    take(ctx, error, record);
    error = tlnmf_io_describe(ctx, "x.npz", &record);
    take(ctx, error, record);
    unlink("x.npz");
    tlnmf_ctx_free(ctx);
    return 0;
}

/* A small model, and one without H. */
bool fuzz_seed(int number, const char *path)
{
    static const double Phi[] = {1.0, 0.0, 0.0, 1.0}, W[] = {0.5, 0.25, 0.5, 0.75},
                        H[] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
    tlnmf_ctx *ctx;
    tlnmf_record *model;
    char name[4096]; /* the extension selects the format; in the folder of the seed, which may be in
                        memory */
    if (number > 1)
        return false;
    snprintf(name, sizeof name, "%s.npz", path);
    FUZZ_CHECK(tlnmf_ctx_create(&ctx) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_record_create(ctx, &model) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_record_set_array(ctx, model, "Phi", Phi, 2, (int64_t[]){2, 2}) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_record_set_array(ctx, model, "W", W, 2, (int64_t[]){2, 2}) == TLNMF_OK);
    if (number == 0)
        FUZZ_CHECK(tlnmf_record_set_array(ctx, model, "H", H, 2, (int64_t[]){2, 3}) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_record_set_real(ctx, model, "eps", 1e-3) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_io_write_model(ctx, name, model) == TLNMF_OK);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
    return rename(name, path) == 0;
}
