/* Summaries of models: any JSON object becomes a record, and the record becomes an equivalent
 * object. */
#include "fuzz.h"
#include "io/files.h"

#include <string.h>

static tlnmf_record *to_record(tlnmf_ctx *ctx, const json_t *object)
{
    tlnmf_record *record;

    FUZZ_CHECK(tlnmf_record_create(ctx, &record) == TLNMF_OK);
    FUZZ_CHECK(io_summary_to(ctx, object, record));
    return record;
}

static void check_same(const tlnmf_record *a, const tlnmf_record *b)
{
    FUZZ_CHECK(tlnmf_record_count(a) == tlnmf_record_count(b));
    for (size_t i = 0; i < tlnmf_record_count(a); i++) {
        const char *name = tlnmf_record_name(a, i), *text = tlnmf_record_get_text(a, name);
        FUZZ_CHECK(tlnmf_record_type(a, name) == tlnmf_record_type(b, name));
        FUZZ_CHECK(tlnmf_record_get_integer(a, name) == tlnmf_record_get_integer(b, name));
        FUZZ_CHECK(!text || strcmp(text, tlnmf_record_get_text(b, name)) == 0);
        for (size_t k = 0; (text = tlnmf_record_get_text_at(a, name, k)) != NULL; k++)
            FUZZ_CHECK(strcmp(text, tlnmf_record_get_text_at(b, name, k)) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tlnmf_ctx *ctx;
    json_t *object = json_loadb((const char *)bytes, size, 0, NULL), *again;

    if (!json_is_object(object)) {
        json_decref(object);
        return 0;
    }
    FUZZ_CHECK(tlnmf_ctx_create(&ctx) == TLNMF_OK);
    tlnmf_record *first = to_record(ctx, object);
    if (tlnmf_record_type(first, "summary") ==
        TLNMF_TYPE_NONE) { /* a text of this name would be the whole summary */
        FUZZ_CHECK(io_summary_from(ctx, first, &again));
        tlnmf_record *second = to_record(ctx, again);
        check_same(first, second);
        tlnmf_record_free(second);
        json_decref(again);
    }
    tlnmf_record_free(first);
    json_decref(object);
    tlnmf_ctx_free(ctx);
    return 0;
}

bool fuzz_seed(int number, const char *path)
{
    static const char *const seeds[] = {
        "{\"C\": 1.5, \"seed\": 7, \"yes\": true, \"none\": null, \"names\": [\"a\", \"\"]}",
        "{\"a\": {\"b\": {\"c\": 1, \"d\": \"x\"}}, \"a.b\": 2, \"a..\": 3, \"\": {\"\": 4}}",
        "{\"options\": {\"k\": 3}, \"option\": 1, \"data\": \"x\", \"data.x\": 5, \"list\": []}",
        "{\"separation.names\": [\"a\"], \"options.k\": 1, \"names\": [\"b\"], \"option.k\": 2}",
        "{\"record\": {\"other.C\": null, \"a.b\": 2}, \"a\":{\"c\":1}, \"record.x\": 3, \"C\": 1}",
        "{\"separation\": {\"names\": [\"p\"], \"rate\": 8000, \"iterations\": 2}, \"rate\": 1}",
    };

    if (number == sizeof seeds / sizeof *seeds)
        return false;
    fuzz_put(path, seeds[number], strlen(seeds[number]));
    return true;
}
