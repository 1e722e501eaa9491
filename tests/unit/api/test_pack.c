/* Records as bytes: the format byte by byte, round trips, and damaged bytes. */
#include "meter.h"
#include "support.h"

#include <float.h>

/* One value of each type, and special numbers (NaN, infinities, ..). */
static tlnmf_record *new_sample(tlnmf_ctx *ctx)
{
    static const char *const texts[] = {"", "two", ""};
    const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, DBL_MAX, DBL_TRUE_MIN};
    tlnmf_record *record;
    assert_ok(ctx, tlnmf_record_create(ctx, &record));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, record, "least", INT64_MIN + 1));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, record, "most", INT64_MAX));
    assert_ok(ctx, tlnmf_record_set_real(ctx, record, "nan", NAN));
    assert_ok(ctx, tlnmf_record_set_real(ctx, record, "third", 1.0 / 3.0));
    assert_ok(ctx, tlnmf_record_set_text(ctx, record, "text", "a\nb \xc3\xa4"));
    assert_ok(ctx, tlnmf_record_set_text(ctx, record, "empty", ""));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, record, "texts", texts, 3));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, record, "no.texts", texts, 0));
    assert_ok(ctx, tlnmf_record_set_array(ctx, record, "odd", odd, 3, (int64_t[]){1, 2, 3}));
    assert_ok(ctx, tlnmf_record_set_array(ctx, record, "none", odd, 2, (int64_t[]){0, 3}));
    return record;
}

/* The record as bytes, *size of them. */
static unsigned char *pack(tlnmf_ctx *ctx, const tlnmf_record *record, size_t *size)
{
    *size = 0;
    assert_ok(ctx, tlnmf_record_pack(ctx, record, NULL, size));
    unsigned char *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_ok(ctx, tlnmf_record_pack(ctx, record, bytes, size));
    return bytes;
}

/* Whether a record packs to these bytes. */
static void expect_bytes(tlnmf_ctx *ctx, const tlnmf_record *record, const unsigned char *bytes,
                         size_t size)
{
    size_t found;
    unsigned char *again = pack(ctx, record, &found);
    assert_int_equal(found, size);
    assert_memory_equal(again, bytes, size);
    free(again);
}

/* ---- the format ------------------------------------------------------------------------------ */

static size_t put_word(unsigned char *bytes, size_t at, uint64_t word)
{
    for (int i = 0; i < 8; i++)
        bytes[at + (size_t)i] = (unsigned char)(word >> (8 * i));
    return at + 8;
}

static size_t put_name(unsigned char *bytes, size_t at, tlnmf_type type, const char *name)
{
    at = put_word(bytes, at, (uint64_t)type);
    at = put_word(bytes, at, strlen(name));
    memcpy(bytes + at, name, strlen(name));
    return at + strlen(name);
}

/* FNV-1a of all but the last eight bytes, into these. */
static void put_checksum(unsigned char *bytes, size_t size)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size - 8; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    put_word(bytes, size - 8, hash);
}

/* The bytes are spelled out here, so that records can be read by later versions and on other
 * computers. */
static void the_format_is_pinned(void **state)
{
    (void)state;
    static const char *const texts[] = {"ab", ""};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record, *again;
    unsigned char bytes[512];
    assert_ok(ctx, tlnmf_record_create(ctx, &record));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, record, "K", -2));
    assert_ok(ctx, tlnmf_record_set_real(ctx, record, "eps", 1.5));
    assert_ok(ctx, tlnmf_record_set_text(ctx, record, "t", "xyz"));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, record, "l", texts, 2));
    assert_ok(ctx,
              tlnmf_record_set_array(ctx, record, "A", (double[]){1, -2}, 2, (int64_t[]){2, 1}));
    memcpy(bytes, "tlnmfrec", 8);
    size_t at = put_word(bytes, 8, 1); /* format */
    at = put_word(bytes, at, 5);       /* values */
    at = put_word(bytes, put_name(bytes, at, TLNMF_TYPE_INTEGER, "K"), (uint64_t)-2);
    at = put_word(bytes, put_name(bytes, at, TLNMF_TYPE_REAL, "eps"), 0x3ff8000000000000u);
    at = put_word(bytes, put_word(bytes, put_name(bytes, at, TLNMF_TYPE_TEXT, "t"), 1), 4);
    memcpy(bytes + at, "xyz", 4);
    at = put_word(bytes, put_word(bytes, put_name(bytes, at + 4, TLNMF_TYPE_TEXTS, "l"), 2), 4);
    memcpy(bytes + at, "ab\0", 4);
    at = put_word(bytes, put_name(bytes, at + 4, TLNMF_TYPE_ARRAY, "A"), 2);
    at = put_word(bytes, put_word(bytes, at, 2), 1);
    at = put_word(bytes, put_word(bytes, at, 0x3ff0000000000000u), 0xc000000000000000u) + 8;
    put_checksum(bytes, at);
    expect_bytes(ctx, record, bytes, at);
    assert_ok(ctx, tlnmf_record_unpack(ctx, bytes, at, &again));
    assert_string_equal(tlnmf_record_get_text_at(again, "l", 0), "ab");
    expect_bytes(ctx, again, bytes, at);
    tlnmf_record_free(again);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* ---- round trips ----------------------------------------------------------------------------- */

static void every_value_survives_a_round_trip(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_sample(ctx), *again;
    int32_t rank;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    size_t size;
    unsigned char *bytes = pack(ctx, record, &size);
    assert_ok(ctx, tlnmf_record_unpack(ctx, bytes, size, &again));
    assert_int_equal(tlnmf_record_count(again), tlnmf_record_count(record));
    for (size_t i = 0; i < tlnmf_record_count(record); i++) {
        const char *name = tlnmf_record_name(record, i);
        assert_string_equal(tlnmf_record_name(again, i), name);
        assert_int_equal(tlnmf_record_type(again, name), tlnmf_record_type(record, name));
    }
    assert_true(tlnmf_record_get_integer(again, "least") == INT64_MIN + 1);
    assert_true(tlnmf_record_get_integer(again, "most") == INT64_MAX);
    assert_true(isnan(tlnmf_record_get_real(again, "nan")));
    assert_true(tlnmf_record_get_real(again, "third") == 1.0 / 3.0);
    assert_string_equal(tlnmf_record_get_text(again, "text"), "a\nb \xc3\xa4");
    assert_string_equal(tlnmf_record_get_text(again, "empty"), "");
    assert_string_equal(tlnmf_record_get_text_at(again, "texts", 1), "two");
    assert_string_equal(tlnmf_record_get_text_at(again, "texts", 2), "");
    assert_null(tlnmf_record_get_text_at(again, "texts", 3));
    assert_null(tlnmf_record_get_text_at(again, "no.texts", 0));
    const double *odd = tlnmf_record_get_array(again, "odd", &rank, shape);
    assert_true(rank == 3 && shape[0] == 1 && shape[1] == 2 && shape[2] == 3);
    assert_memory_equal(odd, tlnmf_record_get_array(record, "odd", NULL, NULL), 6 * sizeof *odd);
    assert_non_null(tlnmf_record_get_array(again, "none", &rank, shape));
    assert_true(rank == 2 && shape[0] == 0 && shape[1] == 3);
    expect_bytes(ctx, again, bytes, size);
    free(bytes);
    tlnmf_record_free(again);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

static void a_small_buffer_is_refused_unchanged(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_sample(ctx);
    size_t size;
    unsigned char *bytes = pack(ctx, record, &size), *space = malloc(size);
    memset(space, 0xee, size);
    for (size_t given = 0; given < size; given++) {
        size_t needed = given;
        assert_int_equal(tlnmf_record_pack(ctx, record, space, &needed), TLNMF_ERR_SHAPE);
        assert_int_equal(needed, size);
    }
    for (size_t i = 0; i < size; i++)
        assert_int_equal(space[i], 0xee);
    size_t more = size + 7;
    unsigned char *larger = malloc(more);
    memset(larger, 0xee, more);
    assert_ok(ctx, tlnmf_record_pack(ctx, record, larger, &more));
    assert_int_equal(more, size);
    assert_memory_equal(larger, bytes, size);
    assert_int_equal(larger[size], 0xee);
    free(larger);
    free(space);
    free(bytes);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void refuse(tlnmf_ctx *ctx, const unsigned char *bytes, size_t size)
{
    tlnmf_record *out = (tlnmf_record *)(void *)ctx;
    assert_int_equal(tlnmf_record_unpack(ctx, bytes, size, &out), TLNMF_ERR_DATA);
    assert_null(out);
}

/* In a block of exactly that size, so that a sanitizer detects every read beyond it. */
static void every_truncated_record_is_refused(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_sample(ctx);
    size_t size;
    unsigned char *bytes = pack(ctx, record, &size);
    for (size_t length = 0; length < size; length++) {
        unsigned char *cut = malloc(length > 0 ? length : 1);
        memcpy(cut, bytes, length);
        refuse(ctx, cut, length);
        if (length >= 32) { /* truncated, with a matching checksum */
            put_checksum(cut, length);
            refuse(ctx, cut, length);
        }
        free(cut);
    }
    unsigned char *longer = malloc(size + 8);
    memcpy(longer, bytes, size);
    memset(longer + size, 0, 8);
    refuse(ctx, longer, size + 8);
    put_checksum(longer, size + 8);
    refuse(ctx, longer, size + 8);
    free(longer);
    free(bytes);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* If any byte changes, the checksum detects it. */
static void every_damaged_byte_is_refused(void **state)
{
    (void)state;
    static const unsigned char masks[] = {0x01, 0x10, 0x80, 0xff};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_sample(ctx);
    size_t size;
    unsigned char *bytes = pack(ctx, record, &size);
    for (size_t i = 0; i < size; i++)
        for (size_t m = 0; m < sizeof masks; m++) {
            bytes[i] ^= masks[m];
            refuse(ctx, bytes, size);
            bytes[i] ^= masks[m];
        }
    expect_bytes(ctx, record, bytes, size);
    free(bytes);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* Any byte changed to any value, with a matching checksum: an error, or a record that packs to the
 * same bytes; nothing leaks. */
static void every_forged_byte_is_handled(void **state)
{
    (void)state;
    meter m = {0};
    tlnmf_ctx *ctx = new_ctx_with(metered_allocate, metered_release, &m);
    tlnmf_record *record = new_sample(ctx);
    size_t size, read = 0, refused = 0;
    unsigned char *bytes = pack(ctx, record, &size);
    for (size_t i = 0; i < size - 8; i++) {
        unsigned char was = bytes[i];
        for (int value = 0; value < 256; value++) {
            tlnmf_record *out;
            int64_t before = m.alive;
            bytes[i] = (unsigned char)value;
            put_checksum(bytes, size);
            tlnmf_error error = tlnmf_record_unpack(ctx, bytes, size, &out);
            if (error == TLNMF_OK) {
                read++;
                expect_bytes(ctx, out, bytes, size);
                tlnmf_record_free(out);
            } else {
                refused++;
                assert_int_equal(error, TLNMF_ERR_DATA);
                assert_null(out);
            }
            assert_int_equal(m.alive, before);
        }
        bytes[i] = was;
    }
    assert_true(read > size && refused > size); /* numbers and names may change, structure not */
    free(bytes);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
    assert_int_equal(m.alive, 0);
}

/* A duplicate name, and sizes that are valid only after integer overflow. */
static void forged_structure_is_refused(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    unsigned char bytes[256];
    memcpy(bytes, "tlnmfrec", 8);
    size_t at = put_word(bytes, put_word(bytes, 8, 1), 2);
    at = put_word(bytes, put_name(bytes, at, TLNMF_TYPE_INTEGER, "K"), 1);
    at = put_word(bytes, put_name(bytes, at, TLNMF_TYPE_INTEGER, "K"), 2) + 8;
    put_checksum(bytes, at);
    refuse(ctx, bytes, at);
    static const uint64_t sizes[] = {UINT64_MAX, (uint64_t)1 << 61, (uint64_t)1 << 63, 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        at = put_word(bytes, put_word(bytes, 8, 1), 1);
        at = put_word(bytes, put_name(bytes, at, TLNMF_TYPE_ARRAY, "A"), 2);
        at = put_word(bytes, put_word(bytes, at, sizes[i]), 8) + 8;
        put_checksum(bytes, at);
        refuse(ctx, bytes, at);
        at = put_word(bytes, put_word(bytes, 8, 1), 1);
        at = put_word(bytes, put_name(bytes, at, TLNMF_TYPE_TEXTS, "t"), sizes[i]);
        at = put_word(bytes, at, sizes[i]) + 8;
        put_checksum(bytes, at);
        refuse(ctx, bytes, at);
    }
    at = put_word(bytes, put_word(bytes, 8, 2), 0) + 8; /* another format */
    put_checksum(bytes, at);
    refuse(ctx, bytes, at);
    assert_string_equal(tlnmf_message(ctx),
                        "the record has format 2, but this library reads format 1");
    tlnmf_ctx_free(ctx);
}

/* The n-th allocation of reading fails, for every n. */
static void unpacking_without_memory_fails_cleanly(void **state)
{
    (void)state;
    tlnmf_ctx *plain = new_ctx();
    tlnmf_record *record = new_sample(plain), *out;
    size_t size;
    unsigned char *bytes = pack(plain, record, &size);
    int64_t n = 0;
    for (tlnmf_error error = TLNMF_ERR_MEMORY; error != TLNMF_OK;) {
        meter m = {0};
        tlnmf_ctx *ctx = new_ctx_with(metered_allocate, metered_release, &m);
        m.fail_at = m.calls + ++n;
        error = tlnmf_record_unpack(ctx, bytes, size, &out);
        assert_true(error == TLNMF_OK || error == TLNMF_ERR_MEMORY);
        assert_true((out == NULL) == (error != TLNMF_OK));
        tlnmf_record_free(out);
        tlnmf_ctx_free(ctx);
        assert_int_equal(m.alive, 0);
    }
    assert_true(n > 6); /* a record, its table, two texts, two lists, two arrays */
    free(bytes);
    tlnmf_record_free(record);
    tlnmf_ctx_free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_format_is_pinned),
        cmocka_unit_test(every_value_survives_a_round_trip),
        cmocka_unit_test(a_small_buffer_is_refused_unchanged),
        cmocka_unit_test(every_truncated_record_is_refused),
        cmocka_unit_test(every_damaged_byte_is_refused),
        cmocka_unit_test(every_forged_byte_is_handled),
        cmocka_unit_test(forged_structure_is_refused),
        cmocka_unit_test(unpacking_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
