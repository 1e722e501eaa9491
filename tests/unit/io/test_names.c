/* Model files store all values of a record: every name in the table of results that a model, a
 * separation model or a comparison of ranks can have is restored from each kind of file. */
#include "unit/io/test_api.h"

#include <math.h>

static const char *const paths[] = {"m.h5", "m.npz", "m.mat"};
enum { PATHS = sizeof paths / sizeof *paths };

/* ---- a record with all names ----------------------------------------------------------------- */

/* A dimension of the table: M = 2, K = 3, N = 4, a number, or 5. */
static int64_t size_of(const char *word)
{
    if (*word >= '0' && *word <= '9')
        return strtoll(word, NULL, 10);
    return *word == 'M' ? 2 : *word == 'K' ? 3 : *word == 'N' ? 4 : 5;
}

static void set_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name, const char *shape)
{
    int64_t dim[TLNMF_MAX_DIMENSIONS] = {0}, count = 1;
    int32_t rank = 0;
    double *x;

    for (const char *word = shape; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        dim[rank] = size_of(word);
        count *= dim[rank++];
    }
    assert_ok(ctx, tlnmf_record_new_array(ctx, record, name, rank, dim, &x));
    for (int64_t i = 0; i < count; i++)
        x[i] = (double)i / (strcmp(shape, "rows") == 0 ? 1.0 : 7.0); /* stages are integers */
    if (strcmp(name, "trace.C") == 0)
        x[1] = NAN;
}

/* The value of row `index` of the table under this name. */
static void set_value(tlnmf_ctx *ctx, tlnmf_record *record, const char *name, size_t index)
{
    static const char *const texts[] = {"a", "", "two words"};

    switch (tlnmf_result_type(index)) {
    case TLNMF_TYPE_INTEGER:
        assert_ok(ctx, tlnmf_record_set_integer(ctx, record, name, (int64_t)index + 7));
        break;
    case TLNMF_TYPE_REAL:
        assert_ok(
            ctx, tlnmf_record_set_real(ctx, record, name, index % 5 ? (double)index : (double)NAN));
        break;
    case TLNMF_TYPE_TEXT:
        assert_ok(ctx, tlnmf_record_set_text(ctx, record, name, "text"));
        break;
    case TLNMF_TYPE_TEXTS:
        assert_ok(ctx, tlnmf_record_set_texts(ctx, record, name, texts, 3));
        break;
    default:
        set_array(ctx, record, name, tlnmf_result_shape(index));
    }
}

static bool is_in(const char *where, const char *kind)
{
    const char *found = strstr(where, kind);
    size_t length = strlen(kind);

    return found && (found == where || found[-1] == ' ') &&
           (found[length] == '\0' || found[length] == ' ');
}

/* All names that records of this kind hold, `twins` also with `other.` before them. */
static void add_names(tlnmf_ctx *ctx, tlnmf_record *record, const char *kind, bool twins)
{
    int added = 0;

    for (size_t i = 0; i < tlnmf_result_count(); i++) {
        const char *name = tlnmf_result_name(i), *number = strstr(name, ".N.");
        char text[80];
        if (!is_in(tlnmf_result_where(i), kind) || strcmp(name, "M") == 0 ||
            strcmp(name, "N") == 0 || strcmp(name, "K") == 0)
            continue;
        snprintf(text, sizeof text, number ? "%.*s.0.%s" : "%.*s%s",
                 number ? (int)(number - name) : (int)strlen(name), name, number ? number + 3 : "");
        set_value(ctx, record, text, i);
        added++;
        snprintf(text, sizeof text, "other.%s", name);
        if (twins && strncmp(name, "option.", 7) != 0 && strncmp(name, "other.", 6) != 0)
            set_value(ctx, record, text, i);
    }
    assert_true(added > 3);
}

/* ---- round trips ----------------------------------------------------------------------------- */

static void assert_same(const tlnmf_record *a, const tlnmf_record *b, const char *path,
                        const char *name)
{
    tlnmf_type type = tlnmf_record_type(a, name);
    int64_t shape_a[TLNMF_MAX_DIMENSIONS], shape_b[TLNMF_MAX_DIMENSIONS], count = 1;
    int32_t rank_a, rank_b;
    const char *text;

    if (tlnmf_record_type(b, name) != type)
        fail_msg("%s: %s has type %d, not %d", path, name, (int)tlnmf_record_type(b, name),
                 (int)type);
    if (type == TLNMF_TYPE_INTEGER)
        assert_int_equal(tlnmf_record_get_integer(a, name), tlnmf_record_get_integer(b, name));
    if (type == TLNMF_TYPE_REAL) {
        double x = tlnmf_record_get_real(a, name), y = tlnmf_record_get_real(b, name);
        assert_true(x == y || (isnan(x) && isnan(y)));
    }
    if (type == TLNMF_TYPE_TEXT)
        assert_string_equal(tlnmf_record_get_text(a, name), tlnmf_record_get_text(b, name));
    for (size_t i = 0; (text = tlnmf_record_get_text_at(a, name, i)) != NULL; i++)
        assert_string_equal(text, tlnmf_record_get_text_at(b, name, i));
    if (type != TLNMF_TYPE_ARRAY)
        return;
    const double *x = tlnmf_record_get_array(a, name, &rank_a, shape_a);
    const double *y = tlnmf_record_get_array(b, name, &rank_b, shape_b);
    if (rank_a != rank_b)
        fail_msg("%s: %s has %d dimensions, not %d", path, name, rank_b, rank_a);
    for (int d = 0; d < TLNMF_MAX_DIMENSIONS; d++) {
        assert_int_equal(shape_a[d], shape_b[d]);
        count *= shape_a[d];
    }
    assert_memory_equal(x, y, (size_t)count * sizeof *x);
}

static void check_round_trips(tlnmf_ctx *ctx, tlnmf_record *record)
{
    for (int given = 0; given < 2; given++) { /* without and with a summary of the caller */
        if (given)
            assert_ok(ctx, tlnmf_record_set_text(ctx, record, "summary",
                                                 "{\"C\": 1.5, \"data\": {\"file\": \"y.npy\"}}"));
        for (int p = 0; p < PATHS; p++) {
            tlnmf_record *back;
            assert_ok(ctx, tlnmf_io_write_model(ctx, paths[p], record));
            assert_ok(ctx, tlnmf_io_read_model(ctx, paths[p], &back));
            for (size_t i = 0; i < tlnmf_record_count(record); i++) {
                const char *name = tlnmf_record_name(record, i);
                if (!given || (strcmp(name, "summary") != 0 && strcmp(name, "C") != 0))
                    assert_same(record, back, paths[p], name);
            }
            if (given)
                assert_string_equal(tlnmf_record_get_text(back, "data.file"), "y.npy");
            tlnmf_record_free(back);
        }
    }
}

static void test_model(void **state)
{
    tlnmf_ctx *ctx = test_context();
    tlnmf_record *record;

    (void)state;
    assert_ok(ctx, tlnmf_record_create(ctx, &record));
    add_names(ctx, record, "model", true);
    assert_int_equal(tlnmf_record_type(record, "energy"), TLNMF_TYPE_ARRAY);
    assert_int_equal(tlnmf_record_type(record, "other.trace.C"), TLNMF_TYPE_ARRAY);
    check_round_trips(ctx, record);
    tlnmf_record_free(record);
}

/* The output of the program after a comparison of ranks: the model, and the table next to it. */
static void test_ranks(void **state)
{
    tlnmf_ctx *ctx = test_context();
    tlnmf_record *record;

    (void)state;
    assert_ok(ctx, tlnmf_record_create(ctx, &record));
    add_names(ctx, record, "ranks", true);
    set_array(ctx, record, "Phi", "M,M");
    set_array(ctx, record, "W", "M,K");
    set_array(ctx, record, "H", "K,N");
    check_round_trips(ctx, record);
    tlnmf_record_free(record);
}

/* A separation has members instead of Phi, and after its use an H of all frames. */
static void test_separation(void **state)
{
    tlnmf_ctx *ctx = test_context();
    tlnmf_record *record;

    (void)state;
    assert_ok(ctx, tlnmf_record_create(ctx, &record));
    add_names(ctx, record, "separation", false);
    add_names(ctx, record, "member", false);
    assert_int_equal(tlnmf_record_type(record, "member.0.columns"), TLNMF_TYPE_ARRAY);
    assert_ok(ctx, tlnmf_record_set_integer(ctx, record, "M", 16));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, record, "K", 3));
    check_round_trips(ctx, record);
    set_array(ctx, record, "H", "K,N");
    assert_ok(ctx, tlnmf_record_set_integer(ctx, record, "N", 4));
    tlnmf_record_remove(record, "summary");
    check_round_trips(ctx, record);
    tlnmf_record_free(record);
}

/* tlnmf_atoms needs the energy, which files of 0.2 did not have. */
static void test_atoms(void **state)
{
    tlnmf_ctx *ctx = test_context();
    double Y[4 * 6];
    tlnmf_data *data;
    tlnmf_settings *settings;
    tlnmf_record *model, *before, *after, *back;

    (void)state;
    for (int i = 0; i < 24; i++)
        Y[i] = (double)((i * 7) % 11) - 5.0;
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, (int64_t[]){1, 4, 6}, &data));
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "k", 2));
    assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
    assert_ok(ctx, tlnmf_atoms(ctx, model, 1.0, 4, &before));
    for (int p = 0; p < PATHS; p++) {
        assert_ok(ctx, tlnmf_io_write_model(ctx, paths[p], model));
        assert_ok(ctx, tlnmf_io_read_model(ctx, paths[p], &back));
        assert_ok(ctx, tlnmf_atoms(ctx, back, 1.0, 4, &after));
        assert_same(before, after, paths[p], "energy");
        assert_same(before, after, paths[p], "frequency");
        tlnmf_record_free(after);
        tlnmf_record_free(back);
    }
    tlnmf_record_free(before);
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_separation),
        cmocka_unit_test(test_atoms),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
