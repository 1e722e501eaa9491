/* Records: every type, names, replacing, growth, errors. */
#include "meter.h"
#include "support.h"

static tlnmf_record *new_record(tlnmf_ctx *ctx)
{
    tlnmf_record *record;
    assert_ok(ctx, tlnmf_record_create(ctx, &record));
    return record;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A record with one value of each type. */
static tlnmf_record *new_full_record(tlnmf_ctx *ctx)
{
    static const char *const texts[] = {"one", "", "three"};
    tlnmf_record *record = new_record(ctx);
    assert_ok(ctx, tlnmf_record_set_integer(ctx, record, "integer", -7));
    assert_ok(ctx, tlnmf_record_set_real(ctx, record, "real", 0.1));
    assert_ok(ctx, tlnmf_record_set_text(ctx, record, "text", "plain"));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, record, "texts", texts, 3));
    assert_ok(ctx, tlnmf_record_set_array(ctx, record, "array", (double[]){1, 2, 3, 4, 5, 6}, 2,
                                          (int64_t[]){2, 3}));
    return record;
}

static void values_are_returned_as_set(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_full_record(ctx);
    int32_t rank;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    assert_int_equal(tlnmf_record_count(record), 5);
    assert_true(tlnmf_record_get_integer(record, "integer") == -7);
    assert_true(tlnmf_record_get_real(record, "real") == 0.1);
    assert_true(tlnmf_record_get_real(record, "integer") == -7.0); /* an integer as a real */
    assert_string_equal(tlnmf_record_get_text(record, "text"), "plain");
    assert_string_equal(tlnmf_record_get_text_at(record, "texts", 0), "one");
    assert_string_equal(tlnmf_record_get_text_at(record, "texts", 1), "");
    assert_string_equal(tlnmf_record_get_text_at(record, "texts", 2), "three");
    assert_null(tlnmf_record_get_text_at(record, "texts", 3));
    const double *x = tlnmf_record_get_array(record, "array", &rank, shape);
    assert_int_equal(rank, 2);
    assert_true(shape[0] == 2 && shape[1] == 3 && shape[2] == 1 && shape[3] == 1);
    for (int i = 0; i < 6; i++)
        assert_true(x[i] == i + 1.0);
    assert_ptr_equal(tlnmf_record_get_array(record, "array", NULL, NULL), x);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* Every getter with every name: it returns a value only for its own type. */
static void getters_reject_other_types(void **state)
{
    (void)state;
    static const char *const names[] = {"integer", "real", "text", "texts", "array", "none", ""};
    static const tlnmf_type types[] = {TLNMF_TYPE_INTEGER, TLNMF_TYPE_REAL,  TLNMF_TYPE_TEXT,
                                       TLNMF_TYPE_TEXTS,   TLNMF_TYPE_ARRAY, TLNMF_TYPE_NONE,
                                       TLNMF_TYPE_NONE};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_full_record(ctx);
    for (int i = 0; i < 7; i++) {
        const char *name = names[i];
        tlnmf_type type = tlnmf_record_type(record, name);
        int32_t rank = 9;
        int64_t shape[TLNMF_MAX_DIMENSIONS] = {9, 9, 9, 9};
        assert_int_equal(type, types[i]);
        assert_int_equal(tlnmf_record_has(record, name), type != TLNMF_TYPE_NONE);
        assert_true((tlnmf_record_get_integer(record, name) == TLNMF_NO_INTEGER) ==
                    (type != TLNMF_TYPE_INTEGER));
        assert_true((isnan(tlnmf_record_get_real(record, name)) != 0) ==
                    (type != TLNMF_TYPE_INTEGER && type != TLNMF_TYPE_REAL));
        assert_true((tlnmf_record_get_text(record, name) == NULL) == (type != TLNMF_TYPE_TEXT));
        assert_true((tlnmf_record_get_text_at(record, name, 0) == NULL) ==
                    (type != TLNMF_TYPE_TEXTS));
        assert_true((tlnmf_record_get_array(record, name, &rank, shape) == NULL) ==
                    (type != TLNMF_TYPE_ARRAY));
        if (type != TLNMF_TYPE_ARRAY)
            assert_true(rank == 0 && shape[0] == 1 && shape[3] == 1);
    }
    assert_int_equal(tlnmf_record_has(record, "nan"), 0);
    assert_ok(ctx, tlnmf_record_set_real(ctx, record, "nan", NAN));
    assert_int_equal(tlnmf_record_has(record, "nan"), 1);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* Each type replaced by each other: one name stays one name, with the value set last. */
static tlnmf_error set_kind(tlnmf_ctx *ctx, tlnmf_record *record, int kind)
{
    static const char *const texts[] = {"a", "b"};
    switch (kind) {
    case TLNMF_TYPE_INTEGER:
        return tlnmf_record_set_integer(ctx, record, "x", 3);
    case TLNMF_TYPE_REAL:
        return tlnmf_record_set_real(ctx, record, "x", 2.5);
    case TLNMF_TYPE_TEXT:
        return tlnmf_record_set_text(ctx, record, "x", "text");
    case TLNMF_TYPE_TEXTS:
        return tlnmf_record_set_texts(ctx, record, "x", texts, 2);
    default:
        return tlnmf_record_set_array(ctx, record, "x", (double[]){1, 2}, 1, (int64_t[]){2});
    }
}

static void a_value_replaces_any_other(void **state)
{
    (void)state;
    for (int before = TLNMF_TYPE_INTEGER; before <= TLNMF_TYPE_ARRAY; before++)
        for (int after = TLNMF_TYPE_INTEGER; after <= TLNMF_TYPE_ARRAY; after++) {
            meter m = {0};
            tlnmf_ctx *ctx = new_ctx_with(metered_allocate, metered_release, &m);
            tlnmf_record *record = new_record(ctx);
            assert_ok(ctx, set_kind(ctx, record, before));
            assert_ok(ctx, set_kind(ctx, record, after));
            assert_int_equal(tlnmf_record_count(record), 1);
            assert_int_equal(tlnmf_record_type(record, "x"), after);
            tlnmf_record_free(record);
            tlnmf_ctx_free(ctx);
            assert_int_equal(m.alive, 0); /* neither value leaks */
        }
}

/* A removed value no longer exists; removing it again does nothing. */
static void a_removed_value_is_gone(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *r;
    const double x[] = {1.0, 2.0};
    assert_ok(ctx, tlnmf_record_create(ctx, &r));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, r, "first", 1));
    assert_ok(ctx, tlnmf_record_set_array(ctx, r, "x", x, 1, (int64_t[]){2}));
    assert_ok(ctx, tlnmf_record_set_text(ctx, r, "last", "text"));
    tlnmf_record_remove(r, "x");
    tlnmf_record_remove(r, "x"); /* already removed: does nothing */
    tlnmf_record_remove(r, NULL);
    tlnmf_record_remove(NULL, "first");
    assert_int_equal(tlnmf_record_count(r), 2);
    assert_int_equal(tlnmf_record_type(r, "x"), TLNMF_TYPE_NONE);
    assert_string_equal(tlnmf_record_name(r, 1), "last");
    assert_string_equal(tlnmf_record_get_text(r, "last"), "text");
    assert_ok(ctx, tlnmf_record_set_array(ctx, r, "x", x, 1, (int64_t[]){2}));
    tlnmf_record_remove(r, "first");
    assert_true(tlnmf_record_get_array(r, "x", NULL, NULL)[1] == 2.0);
    tlnmf_record_free(r);
    tlnmf_ctx_free(ctx);
}

/* A value is set from the record's own memory, which the old value is about to release. */
static void a_value_may_be_set_from_itself(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_full_record(ctx);
    const double *x = tlnmf_record_get_array(record, "array", NULL, NULL);
    assert_ok(ctx, tlnmf_record_set_array(ctx, record, "array", x, 1, (int64_t[]){5}));
    x = tlnmf_record_get_array(record, "array", NULL, NULL);
    assert_true(x[0] == 1.0 && x[4] == 5.0);
    assert_ok(ctx,
              tlnmf_record_set_text(ctx, record, "text", tlnmf_record_get_text(record, "text")));
    assert_string_equal(tlnmf_record_get_text(record, "text"), "plain");
    const char *last = tlnmf_record_get_text_at(record, "texts", 2);
    assert_ok(ctx, tlnmf_record_set_texts(ctx, record, "texts", &last, 1));
    assert_string_equal(tlnmf_record_get_text_at(record, "texts", 0), "three");
    assert_null(tlnmf_record_get_text_at(record, "texts", 1));
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* The library copies values: the caller may change the arrays afterwards. */
static void values_are_copies(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_record(ctx);
    double x[2] = {1.0, 2.0};
    int64_t shape[1] = {2};
    char text[] = "abc", name[] = "name";
    assert_ok(ctx, tlnmf_record_set_array(ctx, record, "x", x, 1, shape));
    assert_ok(ctx, tlnmf_record_set_text(ctx, record, name, text));
    x[0] = 9.0;
    shape[0] = 1;
    text[0] = name[0] = '?';
    assert_true(tlnmf_record_get_array(record, "x", NULL, NULL)[0] == 1.0);
    assert_string_equal(tlnmf_record_get_text(record, "name"), "abc");
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

static void empty_values_are_values(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_record(ctx);
    double nothing = 0.0;
    int32_t rank;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    assert_ok(ctx, tlnmf_record_set_text(ctx, record, "text", ""));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, record, "texts", NULL, 0));
    assert_ok(ctx, tlnmf_record_set_array(ctx, record, "array", &nothing, 3, (int64_t[]){4, 0, 2}));
    assert_string_equal(tlnmf_record_get_text(record, "text"), "");
    assert_int_equal(tlnmf_record_type(record, "texts"), TLNMF_TYPE_TEXTS);
    assert_null(tlnmf_record_get_text_at(record, "texts", 0));
    assert_non_null(tlnmf_record_get_array(record, "array", &rank, shape));
    assert_true(rank == 3 && shape[0] == 4 && shape[1] == 0 && shape[2] == 2);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A thousand names are stored in the order in which they were first set. */
static void a_record_grows(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_record(ctx);
    char name[16];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "v.%d", i);
        assert_ok(ctx, tlnmf_record_set_integer(ctx, record, name, i));
    }
    assert_ok(ctx, tlnmf_record_set_integer(ctx, record, "v.500", -1));
    assert_int_equal(tlnmf_record_count(record), COUNT);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "v.%d", i);
        assert_string_equal(tlnmf_record_name(record, (size_t)i), name);
        assert_true(tlnmf_record_get_integer(record, name) == (i == 500 ? -1 : i));
    }
    assert_null(tlnmf_record_name(record, COUNT));
    assert_null(tlnmf_record_name(record, SIZE_MAX));
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

static void invalid_names_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", " ", "a b", "a:b", "a/b", "\xc3\xa4", "a\n", "a="};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_record(ctx);
    char longest[65];
    memset(longest, 'n', 64);
    longest[64] = '\0';
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(tlnmf_record_set_integer(ctx, record, bad[i], 1), TLNMF_ERR_ARGUMENT);
    assert_int_equal(tlnmf_record_set_integer(ctx, record, longest, 1), TLNMF_ERR_ARGUMENT);
    assert_non_null(strstr(tlnmf_message(ctx), "is not a valid name: use 1 to 63 letters"));
    assert_int_equal(tlnmf_record_set_text(ctx, record, "a b", "x"), TLNMF_ERR_ARGUMENT);
    assert_int_equal(tlnmf_record_set_array(ctx, record, "a b", (double[]){1}, 1, (int64_t[]){1}),
                     TLNMF_ERR_ARGUMENT);
    assert_int_equal(tlnmf_record_count(record), 0);
    longest[63] = '\0';
    assert_ok(ctx, tlnmf_record_set_integer(ctx, record, longest, 1));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, record, "aZ09_-.", 1));
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

static void impossible_shapes_are_refused(void **state)
{
    (void)state;
    const int64_t huge = (int64_t)1 << 40;
    const struct {
        int32_t rank;
        int64_t shape[4];
    } bad[] = {{0, {1}},
               {-1, {1}},
               {5, {1, 1, 1, 1}},
               {1, {-1}},
               {2, {3, -1}},
               {2, {huge, huge}},
               {1, {INT64_MAX / 2}},
               {4, {huge, huge, huge, 0}},
               {3, {(int64_t)1 << 62, 3, 0}},
               {2, {0, (int64_t)1 << 62}}};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *record = new_record(ctx);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tlnmf_error error =
            tlnmf_record_set_array(ctx, record, "x", (double[]){1}, bad[i].rank, bad[i].shape);
        assert_true(error == TLNMF_ERR_SHAPE || error == TLNMF_ERR_TOO_LARGE);
        assert_int_equal(tlnmf_record_count(record), 0);
    }
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* A failed allocation does not change the old value, the count and the names. */
static void a_failed_set_changes_nothing(void **state)
{
    (void)state;
    static const char *const others[] = {"other", "texts"};
    meter m = {0};
    tlnmf_ctx *ctx = new_ctx_with(metered_allocate, metered_release, &m);
    tlnmf_record *record = new_full_record(ctx);
    for (int kind = 0; kind < 3; kind++) {
        tlnmf_error error;
        m.fail_at = m.calls + 1;
        if (kind == 0)
            error = tlnmf_record_set_text(ctx, record, "text", "other");
        else if (kind == 1)
            error = tlnmf_record_set_texts(ctx, record, "texts", others, 2);
        else
            error = tlnmf_record_set_array(ctx, record, "array", (double[]){9}, 1, (int64_t[]){1});
        assert_int_equal(error, TLNMF_ERR_MEMORY);
    }
    assert_string_equal(tlnmf_record_get_text(record, "text"), "plain");
    assert_string_equal(tlnmf_record_get_text_at(record, "texts", 2), "three");
    assert_true(tlnmf_record_get_array(record, "array", NULL, NULL)[5] == 6.0);
    assert_int_equal(tlnmf_record_count(record), 5);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
    assert_int_equal(m.alive, 0);
}

/* Records remember their allocator and may outlive the context. */
static void a_record_outlives_its_context(void **state)
{
    (void)state;
    meter m = {0};
    tlnmf_ctx *ctx = new_ctx_with(metered_allocate, metered_release, &m), *other = new_ctx();
    tlnmf_record *record = new_full_record(ctx);
    tlnmf_ctx_free(ctx);
    assert_ok(other, tlnmf_record_set_text(other, record, "text", "later"));
    assert_string_equal(tlnmf_record_get_text(record, "text"), "later");
    assert_true(tlnmf_record_get_real(record, "real") == 0.1);
    tlnmf_record_free(record);
    tlnmf_ctx_free(other);
    assert_int_equal(m.alive, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_returned_as_set),
        cmocka_unit_test(getters_reject_other_types),
        cmocka_unit_test(a_value_replaces_any_other),
        cmocka_unit_test(a_removed_value_is_gone),
        cmocka_unit_test(a_value_may_be_set_from_itself),
        cmocka_unit_test(values_are_copies),
        cmocka_unit_test(empty_values_are_values),
        cmocka_unit_test(a_record_grows),
        cmocka_unit_test(invalid_names_are_refused),
        cmocka_unit_test(impossible_shapes_are_refused),
        cmocka_unit_test(a_failed_set_changes_nothing),
        cmocka_unit_test(a_record_outlives_its_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
