/* Reading and writing label tracks, and names that become file names. */
#include "unit/io/test_io.h"

#include "io/program.h"

static void put_text(const char *text)
{
    put_file("labels.txt", text, strlen(text));
}

typedef struct label {
    double start, end;
    const char *name;
    double low, high;
} label;

static void check(const char *text, int64_t count, const label *want)
{
    tlnmf_record *track;
    int64_t shape[TLNMF_MAX_DIMENSIONS];

    put_text(text);
    if (tlnmf_io_read_labels(test_context(), "labels.txt", &track) != TLNMF_OK)
        fail_msg("%s", tlnmf_message(test_context()));
    const double *start = tlnmf_record_get_array(track, "start", NULL, shape);
    const double *end = tlnmf_record_get_array(track, "end", NULL, NULL);
    const double *low = tlnmf_record_get_array(track, "low", NULL, NULL);
    const double *high = tlnmf_record_get_array(track, "high", NULL, NULL);
    assert_int_equal(shape[0], count);
    for (int64_t i = 0; i < count; i++) {
        assert_true(start[i] == want[i].start && end[i] == want[i].end);
        assert_true(low[i] == want[i].low && high[i] == want[i].high);
        assert_string_equal(tlnmf_record_get_text_at(track, "name", (size_t)i), want[i].name);
    }
    tlnmf_record_free(track);
}

static void refuse_path(const char *path, const char *text)
{
    tlnmf_record *track;

    assert_int_equal(tlnmf_io_read_labels(test_context(), path, &track), TLNMF_ERR_INPUT);
    assert_string_equal(tlnmf_message(test_context()), text);
    assert_null(track);
}

static void refuse_bytes(const void *bytes, size_t size, const char *text)
{
    put_file("labels.txt", bytes, size);
    refuse_path("labels.txt", text);
}

static void refuse(const char *bytes, const char *text)
{
    refuse_bytes(bytes, strlen(bytes), text);
}

static void test_reading(void **state)
{
    const label two[] = {{.start = 0, .end = 1, .name = "piano"},
                         {.start = 1.5, .end = 2.25, .name = "flute"}};
    const label spectral[] = {{.start = 0, .end = 1, .name = "piano", .low = 100, .high = 2000},
                              {.start = 1.5, .end = 2.25, .name = "flute"}};

    (void)state;
    check("0.000000\t1.000000\tpiano\n1.500000\t2.250000\tflute\n", 2, two);
    check("0.000000\t1.000000\tpiano\r\n1.500000\t2.250000\tflute\r\n", 2, two);
    check("\xef\xbb\xbf"
          "0\t1\tpiano\n1.5\t2.25\tflute",
          2, two);
    check("0,000000\t1,000000\tpiano\n1,500000\t2,250000\tflute\n", 2, two);
    check("0\t1\tpiano\n\\\t100.0\t2000.0\n\n+15e-1\t.225E1\tflute\n\n", 2, spectral);
    check("0\t1\tpiano\r\n\\\t-1.0\t-1.0\r\n\r\n1.5\t2.25\tflute\r\n", 2, two);
}

static void test_names_are_kept(void **state)
{
    const label odd[] = {{.start = 1, .end = 1, .name = ""},
                         {.start = 1, .end = 2, .name = ""},
                         {.start = 1, .end = 2, .name = "../x"},
                         {.start = 1, .end = 2, .name = "a\tb"},
                         {.start = 1, .end = 2, .name = " fl\xc3\xbcte \xf0\x9f\x8e\xb5 "}};

    (void)state;
    check("1\t1\n1\t2\t\n1\t2\t../x\n1\t2\ta\tb\n1\t2\t fl\xc3\xbcte \xf0\x9f\x8e\xb5 \n", 5, odd);
}

static void test_refused(void **state)
{
    (void)state;
    refuse("", "labels.txt: it contains no labels");
    refuse("\n\\\t1\t2\n", "labels.txt: line 2: frequencies without a label before them");
    refuse("0\t1\ta\n-1\t1\tb\n", "labels.txt: line 2: a time is negative: -1");
    refuse("0\t-0.5\tb\n", "labels.txt: line 1: a time is negative: -0.5");
    refuse("2\t1\ta\n", "labels.txt: line 1: the label ends before it starts");
    refuse("nan\t1\ta\n", "labels.txt: line 1: not a time in seconds: nan");
    refuse("0\tinf\ta\n", "labels.txt: line 1: not a time in seconds: inf");
    refuse("0x1\t2\ta\n", "labels.txt: line 1: not a time in seconds: 0x1");
    refuse("1.2.3\t2\ta\n", "labels.txt: line 1: not a time in seconds: 1.2.3");
    refuse("1e\t2\ta\n", "labels.txt: line 1: not a time in seconds: 1e");
    refuse("\t2\ta\n", "labels.txt: line 1: not a time in seconds: ");
    refuse(".\t2\ta\n", "labels.txt: line 1: not a time in seconds: .");
    refuse("1e999\t2e999\ta\n", "labels.txt: line 1: a time is too large: 1e999");
    refuse("# comment\n",
           "labels.txt: line 1: expected start, TAB, end, TAB, name; the line has no TAB");
    refuse("0 1 a\n",
           "labels.txt: line 1: expected start, TAB, end, TAB, name; the line has no TAB");
    refuse("0\t1\ta\n\n1\t2\t\xff\n", "labels.txt: line 3: not UTF-8 text");
    refuse("0\t1\t\xc3\n", "labels.txt: line 1: not UTF-8 text");
    refuse("0\t1\t\xed\xa0\x80\n", "labels.txt: line 1: not UTF-8 text"); /* a surrogate */
    refuse("0\t1\t\xc0\xaf\n", "labels.txt: line 1: not UTF-8 text");     /* an overlong slash */
    refuse_bytes("0\t1\ta\0b\n", 8, "labels.txt: line 1: not UTF-8 text");
    refuse_bytes("\xff\xfe"
                 "0\0\t\0",
                 6, "labels.txt: line 1: not UTF-8 text"); /* UTF-16 */
    assert_int_equal(unlink("labels.txt"), 0);
    refuse_path("labels.txt", "labels.txt: No such file or directory");
    refuse_path(".", ".: Is a directory");
}

/* Writes three events of two sources as labels. */
static tlnmf_error write_events(const char *path, const double *end)
{
    static const char *const columns[] = {"source", "begin", "end", "level", "key"};
    static const char *const names[] = {"piano", "two\nlines\tand a tab"};
    static const double source[] = {0, 1, 0}, begin[] = {0, 1.0 / 3, 2}, zeros[3];
    const double *const values[] = {source, begin, end, zeros, zeros};
    tlnmf_ctx *ctx = test_context();
    tlnmf_record *model, *events;

    assert_int_equal(tlnmf_record_create(ctx, &model), TLNMF_OK);
    assert_int_equal(tlnmf_record_create(ctx, &events), TLNMF_OK);
    assert_int_equal(tlnmf_record_set_texts(ctx, model, "names", names, 2), TLNMF_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(
            tlnmf_record_set_array(ctx, events, columns[i], values[i], 1, (int64_t[]){3}),
            TLNMF_OK);
    tlnmf_error error = tlnmf_io_write_labels(ctx, path, model, events);
    tlnmf_record_free(model);
    tlnmf_record_free(events);
    return error;
}

static void test_writing(void **state)
{
    static const char want[] = "0.000000\t1.250000\tpiano\n"
                               "0.333333\t0.333333\ttwo lines and a tab\n"
                               "2.000000\t3.000000\tpiano\n";
    size_t size;

    (void)state;
    assert_int_equal(write_events("out.txt", (double[]){1.25, 1.0 / 3, 3}), TLNMF_OK);
    unsigned char *bytes = get_file("out.txt", &size);
    assert_int_equal(size, sizeof want - 1);
    assert_memory_equal(bytes, want, size);
    free(bytes);
    assert_int_equal(write_events("new.txt", (double[]){1.25, 0, 3}), TLNMF_ERR_OUTPUT);
    assert_string_equal(tlnmf_message(test_context()),
                        "new.txt: event 1 has invalid times: from 0.333333 to 0 s");
    assert_int_equal(access("new.txt", F_OK), -1);
}

/* ---- names of files ----------------------------------------------------------------------- */

static tlnmf_record *make_safe(int64_t count, const char *const *names)
{
    tlnmf_ctx *ctx = test_context();
    tlnmf_record *list, *safe;

    assert_int_equal(tlnmf_record_create(ctx, &list), TLNMF_OK);
    assert_int_equal(tlnmf_record_set_texts(ctx, list, "names", names, (size_t)count), TLNMF_OK);
    assert_int_equal(tlnmf_io_safe_names(ctx, list, &safe), TLNMF_OK);
    tlnmf_record_free(list);
    return safe;
}

static void check_stems(int64_t count, const char *const *names, const char *const *want)
{
    tlnmf_record *safe = make_safe(count, names);

    for (int64_t i = 0; i < count; i++)
        assert_string_equal(tlnmf_record_get_text_at(safe, "names", (size_t)i), want[i]);
    tlnmf_record_free(safe);
}

static void test_safe_names(void **state)
{
    static const char *const names[] = {
        "piano", "../x",     "..",          "/etc/passwd",  "",    "a\\b:c?", "a\nb\x7f",
        "con",   "Com1.wav", " . hidden. ", "fl\xc3\xbcte", "COM", "nul "};
    static const char *const safe[] = {"piano",        "_x",   "source", "_etc_passwd", "source-2",
                                       "a_b_c_",       "a_b_", "_con",   "_Com1.wav",   "hidden",
                                       "fl\xc3\xbcte", "COM",  "_nul"};
    static const char *const again[] = {"a", "A", "a", "a-2", "a/", "a_"};
    static const char *const unique[] = {"a", "A-2", "a-3", "a-2-2", "a_", "a_-2"};

    (void)state;
    check_stems(13, names, safe);
    check_stems(6, again, unique);
    check_stems(0, names, NULL);
}

/* Cut to 120 bytes between characters, with space for a number that distinguishes equal names. */
static void test_long_names(void **state)
{
    char name[1001];
    const char *const names[] = {name, name, name};
    const char *stems[3];

    (void)state;
    for (int i = 0; i < 1000; i += 2)
        memcpy(name + i, "\xc3\xbc", 2);
    name[1000] = '\0';
    tlnmf_record *safe = make_safe(3, names);
    for (size_t i = 0; i < 3; i++)
        stems[i] = tlnmf_record_get_text_at(safe, "names", i);
    assert_int_equal(strlen(stems[0]), 120);
    assert_int_equal(strlen(stems[1]), 120);
    assert_string_equal(stems[1] + 118, "-2");
    assert_string_equal(stems[2] + 118, "-3");
    tlnmf_record_free(safe);
    name[0] = 'x'; /* now 120 is inside a character */
    memmove(name + 1, name + 2, 999);
    safe = make_safe(1, names);
    assert_int_equal(strlen(tlnmf_record_get_text_at(safe, "names", 0)), 119);
    tlnmf_record_free(safe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),    cmocka_unit_test(test_names_are_kept),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_writing),
        cmocka_unit_test(test_safe_names), cmocka_unit_test(test_long_names),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
