/* The option table: every option of every task at its bounds and beyond, defaults, names. */
#include "support.h"

/* ---- every option ---------------------------------------------------------------------------- */

/* One option of one task. */
typedef struct row {
    const char *task, *name;
    tlnmf_option_kind kind;
    double low, high;
} row;

/* Calls `look` with every option of every task; returns how many there are. */
static int for_each(void (*look)(tlnmf_ctx *ctx, tlnmf_settings *settings, row r))
{
    tlnmf_ctx *ctx = new_ctx();
    const char *task, *name;
    int count = 0;
    for (size_t t = 0; (task = tlnmf_task_name(t)) != NULL; t++)
        for (size_t i = 0; (name = tlnmf_option_name(task, i)) != NULL; i++, count++) {
            row r = {.task = task, .name = name, .kind = tlnmf_option_kind_of(task, name)};
            tlnmf_settings *settings;
            assert_int_equal(tlnmf_option_range(task, name, &r.low, &r.high), TLNMF_OK);
            assert_ok(ctx, tlnmf_settings_create(ctx, task, &settings));
            look(ctx, settings, r);
            tlnmf_settings_free(settings);
        }
    tlnmf_ctx_free(ctx);
    return count;
}

static const char *text_of(const tlnmf_settings *settings, const char *name)
{
    static char text[64];
    const char *found = tlnmf_settings_get_text(settings, name, text, sizeof text);
    assert_non_null(found);
    assert_ptr_equal(found, text);
    return found;
}

static void expect_error(tlnmf_ctx *ctx, row r, tlnmf_error error)
{
    if (error != TLNMF_ERR_OPTION)
        fail_msg("%s, %s: %s instead of an option error", r.task, r.name, tlnmf_error_name(error));
    if (strncmp(tlnmf_message(ctx), r.name, strlen(r.name)) != 0)
        fail_msg("%s, %s is not what \"%s\" begins with", r.task, r.name, tlnmf_message(ctx));
}

/* Every option has a description and a valid range. */
static void is_described(tlnmf_ctx *ctx, tlnmf_settings *settings, row r)
{
    (void)ctx;
    (void)settings;
    assert_true(strlen(tlnmf_option_help(r.task, r.name)) > 8);
    assert_true(r.kind != TLNMF_OPTION_UNKNOWN);
    assert_true(r.low <= r.high);
    bool has_words = strlen(tlnmf_option_choices(r.task, r.name)) > 0;
    assert_true(r.kind == TLNMF_OPTION_INTEGER || has_words == (r.kind == TLNMF_OPTION_CHOICE));
    int seen = 0;
    const char *name;
    for (size_t i = 0; (name = tlnmf_option_name(r.task, i)) != NULL; i++)
        seen += strcmp(name, r.name) == 0;
    assert_int_equal(seen, 1);
}

/* New settings have the default, and it can be set again unless it means "not given". */
static void has_its_default(tlnmf_ctx *ctx, tlnmf_settings *settings, row r)
{
    char text[64];
    assert_non_null(tlnmf_option_default(r.task, r.name, text, sizeof text));
    assert_string_equal(text_of(settings, r.name), text);
    if (text[0] != '\0') {
        assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, r.name, text));
        assert_string_equal(text_of(settings, r.name), text);
    } else {
        double value = tlnmf_settings_get_real(settings, r.name);
        assert_true(!(value >= r.low && value <= r.high));
        expect_error(ctx, r, tlnmf_settings_set_text(ctx, settings, r.name, ""));
    }
}

/* Both ends of the range can be set as text and as numbers, and are returned. */
static void takes_its_bounds(tlnmf_ctx *ctx, tlnmf_settings *settings, row r)
{
    if (r.kind == TLNMF_OPTION_CHOICE || r.kind == TLNMF_OPTION_SEED)
        return; /* below */
    for (int end = 0; end < 2; end++) {
        double bound = end == 0 ? r.low : r.high;
        assert_ok(ctx, tlnmf_settings_set_real(ctx, settings, r.name, bound));
        assert_true(tlnmf_settings_get_real(settings, r.name) == bound);
        char text[64];
        snprintf(text, sizeof text, "%s", text_of(settings, r.name));
        assert_true(strtod(text, NULL) == bound);
        assert_ok(ctx, tlnmf_settings_set_real(ctx, settings, r.name, end == 0 ? r.high : r.low));
        assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, r.name, text));
        assert_true(tlnmf_settings_get_real(settings, r.name) == bound);
        if (bound == floor(bound) && fabs(bound) < 9e15) {
            assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, r.name, (int64_t)bound));
            assert_true(tlnmf_settings_get_real(settings, r.name) == bound);
        }
        assert_true(tlnmf_settings_get_integer(settings, r.name) ==
                    (r.kind == TLNMF_OPTION_REAL ? TLNMF_NO_INTEGER : (int64_t)bound));
    }
}

/* Values just beyond each end and texts that are not numbers are refused; the value is unchanged.
 */
static void takes_nothing_beyond(tlnmf_ctx *ctx, tlnmf_settings *settings, row r)
{
    static const char *const no_numbers[] = {"",   " ",   "x",    "1x",  "1 ",    "--1",
                                             "1,", "nan", "-inf", "inf", "1e999", "0x"};
    char before[64];
    snprintf(before, sizeof before, "%s", text_of(settings, r.name));
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++)
        expect_error(ctx, r, tlnmf_settings_set_text(ctx, settings, r.name, no_numbers[i]));
    if (r.kind == TLNMF_OPTION_CHOICE || r.kind == TLNMF_OPTION_SEED)
        return;
    bool whole = r.kind != TLNMF_OPTION_REAL;
    double below = whole ? r.low - 1.0 : nextafter(r.low, -INFINITY);
    double above = whole ? r.high + 1.0 : nextafter(r.high, INFINITY);
    expect_error(ctx, r, tlnmf_settings_set_real(ctx, settings, r.name, below));
    expect_error(ctx, r, tlnmf_settings_set_real(ctx, settings, r.name, above));
    expect_error(ctx, r, tlnmf_settings_set_real(ctx, settings, r.name, NAN));
    expect_error(ctx, r, tlnmf_settings_set_real(ctx, settings, r.name, INFINITY));
    expect_error(ctx, r, tlnmf_settings_set_integer(ctx, settings, r.name, INT64_MIN));
    if (whole) {
        expect_error(ctx, r, tlnmf_settings_set_real(ctx, settings, r.name, r.low + 0.5));
        expect_error(ctx, r, tlnmf_settings_set_integer(ctx, settings, r.name, INT64_MAX));
        expect_error(ctx, r, tlnmf_settings_set_integer(ctx, settings, r.name, (int64_t)below));
        expect_error(ctx, r, tlnmf_settings_set_integer(ctx, settings, r.name, (int64_t)above));
    }
    assert_string_equal(text_of(settings, r.name), before);
}

/* An integer may have a word for its lowest value. */
static void takes_its_word(tlnmf_ctx *ctx, tlnmf_settings *settings, row r)
{
    const char *word = tlnmf_option_choices(r.task, r.name);
    if (r.kind != TLNMF_OPTION_INTEGER || word[0] == '\0')
        return;
    assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, r.name, word));
    assert_true((double)tlnmf_settings_get_integer(settings, r.name) == r.low);
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, r.name, (int64_t)r.low + 1));
    assert_string_not_equal(text_of(settings, r.name), word);
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, r.name, (int64_t)r.low));
    assert_string_equal(text_of(settings, r.name), word);
    expect_error(ctx, r, tlnmf_settings_set_text(ctx, settings, r.name, "a word"));
}

/* A choice accepts each of its words or their numbers, but no part of a word. */
static void takes_its_words(tlnmf_ctx *ctx, tlnmf_settings *settings, row r)
{
    if (r.kind != TLNMF_OPTION_CHOICE)
        return;
    char words[128], *rest;
    snprintf(words, sizeof words, "%s", tlnmf_option_choices(r.task, r.name));
    int count = 0;
    for (char *word = strtok_r(words, "|", &rest); word != NULL;
         word = strtok_r(NULL, "|", &rest), count++) {
        assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, r.name, word));
        assert_string_equal(text_of(settings, r.name), word);
        assert_true(tlnmf_settings_get_integer(settings, r.name) == count);
        char part[64];
        snprintf(part, sizeof part, "%.*s", (int)strlen(word) - 1, word);
        expect_error(ctx, r, tlnmf_settings_set_text(ctx, settings, r.name, part));
        snprintf(part, sizeof part, "%s|", word);
        expect_error(ctx, r, tlnmf_settings_set_text(ctx, settings, r.name, part));
    }
    assert_true(count >= 2 && r.low == 0.0 && r.high == count - 1.0);
    expect_error(
        ctx, r,
        tlnmf_settings_set_text(ctx, settings, r.name, tlnmf_option_choices(r.task, r.name)));
    for (int i = -1; i <= count; i++) { /* by its number */
        tlnmf_error error = tlnmf_settings_set_integer(ctx, settings, r.name, i);
        if (i < 0 || i == count)
            expect_error(ctx, r, error);
        else
            assert_true(error == TLNMF_OK && tlnmf_settings_get_integer(settings, r.name) == i);
    }
    expect_error(ctx, r, tlnmf_settings_set_text(ctx, settings, r.name, "0"));
}

static void takes_all_seeds(tlnmf_ctx *ctx, tlnmf_settings *settings, row r)
{
    static const char *const good[] = {"0", "1", "9223372036854775807", "9223372036854775808",
                                       "18446744073709551615"};
    static const char *const bad[] = {"-1", "18446744073709551616", "1.5", "+1", "1e3"};
    if (r.kind != TLNMF_OPTION_SEED)
        return;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, r.name, good[i]));
        assert_string_equal(text_of(settings, r.name), good[i]);
    }
    assert_true(tlnmf_settings_get_integer(settings, r.name) == TLNMF_NO_INTEGER); /* too large */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_error(ctx, r, tlnmf_settings_set_text(ctx, settings, r.name, bad[i]));
    assert_string_equal(text_of(settings, r.name), good[4]);
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, r.name, INT64_MAX));
    assert_true(tlnmf_settings_get_integer(settings, r.name) == INT64_MAX);
    expect_error(ctx, r, tlnmf_settings_set_integer(ctx, settings, r.name, -1));
}

static void takes_true_and_false(tlnmf_ctx *ctx, tlnmf_settings *settings, row r)
{
    if (r.kind != TLNMF_OPTION_FLAG)
        return;
    assert_true(r.low == 0.0 && r.high == 1.0);
    assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, r.name, "true"));
    assert_string_equal(text_of(settings, r.name), "1");
    assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, r.name, "false"));
    assert_string_equal(text_of(settings, r.name), "0");
    expect_error(ctx, r, tlnmf_settings_set_text(ctx, settings, r.name, "yes"));
}

static void every_option_of_every_task(void **state)
{
    (void)state;
    int count = for_each(is_described);
    assert_true(count > 60);
    assert_int_equal(for_each(has_its_default), count);
    for_each(takes_its_bounds);
    for_each(takes_nothing_beyond);
    for_each(takes_its_word);
    for_each(takes_its_words);
    for_each(takes_all_seeds);
    for_each(takes_true_and_false);
}

/* ---- names and messages ---------------------------------------------------------------------- */

static void unknown_names_are_refused(void **state)
{
    (void)state;
    static const char *const tasks[] = {"fi", "fits", "", "Fit"};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings;
    char text[64];
    double low, high;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        settings = (tlnmf_settings *)(void *)ctx;
        assert_int_equal(tlnmf_settings_create(ctx, tasks[i], &settings), TLNMF_ERR_OPTION);
        assert_null(settings);
        assert_null(tlnmf_option_name(tasks[i], 0));
        assert_null(tlnmf_option_default(tasks[i], "k", text, sizeof text));
    }
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    assert_int_equal(tlnmf_settings_set_text(ctx, settings, "speed", "1"), TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(ctx),
                        "task fit has no option named speed; did you mean seed?");
    assert_int_equal(tlnmf_settings_set_integer(ctx, settings, "frame", 1), TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(ctx), "task fit has no option named frame");
    assert_int_equal(tlnmf_settings_set_real(ctx, settings, "", 1.0), TLNMF_ERR_OPTION);
    assert_null(tlnmf_settings_get_text(settings, "speed", text, sizeof text));
    assert_true(tlnmf_settings_get_integer(settings, "speed") == TLNMF_NO_INTEGER);
    assert_true(isnan(tlnmf_settings_get_real(settings, "speed")));
    assert_int_equal(tlnmf_option_kind_of("fit", "speed"), TLNMF_OPTION_UNKNOWN);
    assert_null(tlnmf_option_help("fit", "speed"));
    assert_null(tlnmf_option_choices("fit", "speed"));
    assert_int_equal(tlnmf_option_range("fit", "speed", &low, &high), TLNMF_ERR_ARGUMENT);
    assert_null(tlnmf_option_name("fit", 10000));
    assert_null(tlnmf_task_name(10000));
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
}

static void bad_values_are_named(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"k", "0", "k = 0 is outside [1, 10000]"},
        {"k", "-3", "k = -3 is outside [1, 10000]"},
        {"k", "2.5", "k = 2.5 is not a whole number"},
        {"k", "two", "k = two is not a number"},
        {"k", "", "k =  is not a number"},
        {"k", "1e30", "k = 1e+30 is outside [1, 10000]"},
        {"eps", "0", "eps = 0 is outside [1e-300, 1e+300]"},
        {"eps", "-1", "eps = -1 is outside [1e-300, 1e+300]"},
        {"eps", "nan", "eps = nan is outside [1e-300, 1e+300]"},
        {"eps", "inf", "eps = inf is outside [1e-300, 1e+300]"},
        {"method", "foo", "method = foo is not one of tl|jd|nmf|auto"},
        {"method", "", "method =  is not one of tl|jd|nmf|auto"},
        {"method", "t", "method = t is not one of tl|jd|nmf|auto"},
        {"seed", "-1", "seed = -1 is not a whole number below 2^64"},
        {"seed", "18446744073709551616",
         "seed = 18446744073709551616 is not a whole number below 2^64"},
    };
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings;
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tl_settings before = *settings;
        assert_int_equal(tlnmf_settings_set_text(ctx, settings, cases[i][0], cases[i][1]),
                         TLNMF_ERR_OPTION);
        assert_string_equal(tlnmf_message(ctx), cases[i][2]);
        assert_memory_equal(settings, &before, sizeof before);
    }
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
}

/* 64 bytes are enough for any text; a buffer that is too small is not written. */
static void texts_fit_their_buffer(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings;
    char text[64] = "untouched";
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, "eps", "0.0012345678901234567e-2"));
    assert_null(tlnmf_settings_get_text(settings, "eps", text, 0));
    assert_null(tlnmf_settings_get_text(settings, "eps", text, 5));
    assert_string_equal(text, "untouched");
    assert_non_null(tlnmf_settings_get_text(settings, "eps", text, sizeof text));
    assert_true(strtod(text, NULL) == 0.0012345678901234567e-2);
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
}

/* ---- objects --------------------------------------------------------------------------------- */

static void copies_are_independent(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings, *copy;
    assert_ok(ctx, tlnmf_settings_create(ctx, "learn", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "k", 3));
    assert_ok(ctx, tlnmf_settings_copy(ctx, settings, &copy));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "k", 4));
    assert_true(tlnmf_settings_get_integer(copy, "k") == 3);
    tlnmf_settings_free(settings);
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, copy, "frame", 512)); /* of the same task */
    assert_ok(ctx, tlnmf_settings_check(ctx, copy));
    tlnmf_settings_free(copy);
    tlnmf_ctx_free(ctx);
}

/* ---- combinations of options ------------------------------------------------------------------
 */

/* Complete settings of a task with these pairs, which end with NULL. */
static tlnmf_error check_with(tlnmf_ctx *ctx, const char *task, const char *const *pairs)
{
    tlnmf_settings *settings;
    assert_ok(ctx, tlnmf_settings_create(ctx, task, &settings));
    if (strcmp(task, "fit") == 0)
        assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "k", 2));
    for (; *pairs != NULL; pairs += 2)
        assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, pairs[0], pairs[1]));
    tlnmf_error error = tlnmf_settings_check(ctx, settings);
    tlnmf_settings_free(settings);
    return error;
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *task, *pairs[8], *message; /* NULL: valid */
    } cases[] = {
        {"fit", {NULL}, NULL},
        {"jd", {NULL}, NULL},
        {"fit", {"method", "nmf", "exchange", "1"}, "exchange runs tl and jd"},
        {"fit", {"method", "jd", "hops", "2"}, "hops require solver fast"},
        {"fit", {"method", "jd", "hops", "0"}, NULL},
        {"fit", {"solver", "paper", "hops", "2"}, "hops require solver fast"},
        {"fit", {"solver", "paper", "continuation", "1"}, "continuation requires solver fast"},
        {"jd", {"solver", "paper", "continuation", "1"}, "continuation requires solver fast"},
        {"fit", {"method", "nmf", "continuation", "1"}, "continuation requires solver fast"},
        {"jd", {"continuation", "1"}, NULL},
        {"fit", {"solver", "paper", "precision", "mixed"}, "precision mixed requires solver fast"},
        {"jd", {"solver", "paper", "precision", "mixed"}, "precision mixed requires solver fast"},
        {"fit", {"certify", "1", "method", "jd"}, "certify requires method tl or auto"},
        {"fit", {"stream", "numpy", "seed", "4294967295"}, NULL},
        {"fit",
         {"stream", "numpy", "seed", "4294967296"},
         "seed = 4294967296: numpy's stream takes seeds up to 4294967295"},
        {"jd",
         {"stream", "numpy", "seed", "4294967296"},
         "seed = 4294967296: numpy's stream takes seeds up to 4294967295"},
    };
    tlnmf_ctx *ctx = new_ctx();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tlnmf_error error = check_with(ctx, cases[i].task, cases[i].pairs);
        if (cases[i].message == NULL)
            assert_ok(ctx, error);
        else if (error != TLNMF_ERR_OPTION || strstr(tlnmf_message(ctx), cases[i].message) == NULL)
            fail_msg("case %zu: %s, \"%s\"", i, tlnmf_error_name(error), tlnmf_message(ctx));
    }
    tlnmf_ctx_free(ctx);
}

/* Missing required options, and fields that were not set through the table. */
static void checks_cover_the_fields_themselves(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_settings opt = defaults_of(TL_TASK_FIT);
    assert_int_equal(tlnmf_settings_check(ctx, &opt), TLNMF_ERR_OPTION); /* k has no default */
    assert_string_equal(tlnmf_message(ctx), "k is required");
    opt.k = 2;
    assert_ok(ctx, tlnmf_settings_check(ctx, &opt));
    opt.tol = NAN;
    assert_int_equal(tlnmf_settings_check(ctx, &opt), TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(ctx), "tol = nan is outside [0, 1]");
    opt.tol = 0.0;
    opt.method = 7;
    assert_int_equal(tlnmf_settings_check(ctx, &opt), TLNMF_ERR_OPTION);
    opt = defaults_of(TL_TASK_FRAMES);
    assert_int_equal(tlnmf_settings_check(ctx, &opt), TLNMF_ERR_OPTION); /* nor has frame */
    assert_string_equal(tlnmf_message(ctx), "frame is required");
    tlnmf_ctx_free(ctx);
}

/* The context's number of threads is only a default. */
static void a_context_has_a_default_of_threads(void **state)
{
    (void)state;
    static const int32_t given[] = {0, 3, 1024}, wrong[] = {-5, 1025};
    tlnmf_ctx *ctx = new_ctx();
    for (int i = 0; i < 3; i++) {
        tlnmf_settings *settings;
        assert_ok(ctx, tlnmf_ctx_set_threads(ctx, given[i]));
        assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
        assert_int_equal(tlnmf_settings_get_integer(settings, "threads"), given[i]);
        assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "threads", 2));
        assert_int_equal(tlnmf_settings_get_integer(settings, "threads"), 2);
        tlnmf_settings_free(settings);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(tlnmf_ctx_set_threads(ctx, wrong[i]), TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(ctx), "threads = 1025 is outside [0, 1024]");
    assert_int_equal(tlnmf_ctx_set_threads(NULL, 1), TLNMF_ERR_ARGUMENT);
    tlnmf_ctx_free(ctx);
}

/* All options of a text are set, or none. */
static void a_text_sets_several_options(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"k=4 n_components=2", "task fit has no option named n_components; did you mean k?"},
        {"k=4 method", "method needs a value: method=VALUE"},
        {"k=4 method=", "method =  is not one of tl|jd|nmf|auto"},
        {"k=4 =3", "task fit has no option named "},
        {"k=4 seed=7=8", "seed = 7=8 is not a whole number below 2^64"},
        {"k=4 k=0", "k = 0 is outside [1, 10000]"}};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings;
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, " k=3\tmethod=jd\n trace eps=1e-3 "));
    assert_int_equal(tlnmf_settings_get_integer(settings, "k"), 3);
    assert_int_equal(tlnmf_settings_get_integer(settings, "trace"), 1);
    assert_near(tlnmf_settings_get_real(settings, "eps"), 1e-3, 0.0);
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, ""));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(tlnmf_settings_set_all(ctx, settings, wrong[i].text), TLNMF_ERR_OPTION);
        assert_string_equal(tlnmf_message(ctx), wrong[i].message);
        assert_int_equal(tlnmf_settings_get_integer(settings, "k"), 3);
    }
    char longer[200];
    memset(longer, 'k', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(tlnmf_settings_set_all(ctx, settings, longer), TLNMF_ERR_OPTION);
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_of_every_task),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(bad_values_are_named),
        cmocka_unit_test(texts_fit_their_buffer),
        cmocka_unit_test(copies_are_independent),
        cmocka_unit_test(a_context_has_a_default_of_threads),
        cmocka_unit_test(a_text_sets_several_options),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(checks_cover_the_fields_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
