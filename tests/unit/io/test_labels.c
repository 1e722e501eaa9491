/* Label tracks in and out, and names that become files. */
#include "unit/io/test_io.h"

static void put_text(const char *text)
{
    put_file("labels.txt", text, strlen(text));
}

static void check(const char *text, int64_t count, const io_label *want)
{
    io_labels labels;
    io_error err;

    put_text(text);
    if (!io_labels_read("labels.txt", &labels, &err))
        fail_msg("%s", err.text);
    assert_int_equal(labels.count, count);
    for (int64_t i = 0; i < count; i++) {
        assert_true(labels.label[i].start == want[i].start);
        assert_true(labels.label[i].end == want[i].end);
        assert_true(labels.label[i].low == want[i].low && labels.label[i].high == want[i].high);
        assert_string_equal(labels.label[i].name, want[i].name);
    }
    io_labels_free(&labels);
}

static void refuse_bytes(const void *bytes, size_t size, const char *text)
{
    io_labels labels;
    io_error err = {0};

    put_file("labels.txt", bytes, size);
    assert_false(io_labels_read("labels.txt", &labels, &err));
    assert_string_equal(err.text, text);
    assert_int_equal(err.fault, IO_BAD_INPUT);
    assert_null(labels.label);
}

static void refuse(const char *bytes, const char *text)
{
    refuse_bytes(bytes, strlen(bytes), text);
}

static void test_reading(void **state)
{
    const io_label two[] = {{.start = 0, .end = 1, .name = "piano"},
                            {.start = 1.5, .end = 2.25, .name = "flute"}};
    const io_label spectral[] = {{.start = 0, .end = 1, .name = "piano", .low = 100, .high = 2000},
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

static void test_names_stay(void **state)
{
    const io_label odd[] = {{.start = 1, .end = 1, .name = ""},
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
    refuse("", "labels.txt: there are no labels");
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
    refuse("# comment\n", "labels.txt: line 1: start, TAB, end, TAB, name are needed, there is no "
                          "TAB");
    refuse("0 1 a\n", "labels.txt: line 1: start, TAB, end, TAB, name are needed, there is no TAB");
    refuse("0\t1\ta\n\n1\t2\t\xff\n", "labels.txt: line 3: not UTF-8 text");
    refuse("0\t1\t\xc3\n", "labels.txt: line 1: not UTF-8 text");
    refuse("0\t1\t\xed\xa0\x80\n", "labels.txt: line 1: not UTF-8 text"); /* a surrogate */
    refuse("0\t1\t\xc0\xaf\n", "labels.txt: line 1: not UTF-8 text");     /* an overlong slash */
    refuse_bytes("0\t1\ta\0b\n", 8, "labels.txt: line 1: not UTF-8 text");
    refuse_bytes("\xff\xfe"
                 "0\0\t\0",
                 6, "labels.txt: line 1: not UTF-8 text"); /* UTF-16 */
    assert_int_equal(unlink("labels.txt"), 0);
    io_labels labels;
    io_error err;
    assert_false(io_labels_read("labels.txt", &labels, &err));
    assert_string_equal(err.text, "labels.txt: No such file or directory");
    assert_false(io_labels_read(".", &labels, &err));
    assert_string_equal(err.text, ".: Is a directory");
}

static void test_writing(void **state)
{
    io_label label[] = {{.start = 0, .end = 1.25, .name = "piano"},
                        {.start = 1.0 / 3, .end = 1.0 / 3, .name = "two\nlines\tand a tab"},
                        {.start = 2, .end = 3}};
    io_labels labels = {3, label};
    static const char want[] = "0.000000\t1.250000\tpiano\n"
                               "0.333333\t0.333333\ttwo lines and a tab\n"
                               "2.000000\t3.000000\t\n";
    io_error err;
    size_t size;

    (void)state;
    assert_true(io_labels_write("out.txt", &labels, &err));
    unsigned char *bytes = get_file("out.txt", &size);
    assert_int_equal(size, sizeof want - 1);
    assert_memory_equal(bytes, want, size);
    free(bytes);
    label[1].end = 0;
    assert_false(io_labels_write("new.txt", &labels, &err));
    assert_string_equal(err.text, "new.txt: label 1 lasts from 0.333333 to 0 s");
    assert_int_equal(err.fault, IO_NO_OUTPUT);
    assert_int_equal(access("new.txt", F_OK), -1);
}

/* ---- names of files ----------------------------------------------------------------------- */

static void check_stems(int64_t count, const char *const *names, const char *const *want)
{
    char *stems[16];
    io_error err;

    assert_true(io_safe_stems(names, count, stems, &err));
    for (int64_t i = 0; i < count; i++) {
        assert_string_equal(stems[i], want[i]);
        free(stems[i]);
    }
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
    check_stems(0, NULL, NULL);
}

/* Cut to 120 bytes between characters, with room for the number of a twin. */
static void test_long_names(void **state)
{
    char name[1001];
    const char *const names[] = {name, name, name};
    char *stems[3];
    io_error err;

    (void)state;
    for (int i = 0; i < 1000; i += 2)
        memcpy(name + i, "\xc3\xbc", 2);
    name[1000] = '\0';
    assert_true(io_safe_stems(names, 3, stems, &err));
    assert_int_equal(strlen(stems[0]), 120);
    assert_int_equal(strlen(stems[1]), 120);
    assert_string_equal(stems[1] + 118, "-2");
    assert_string_equal(stems[2] + 118, "-3");
    for (int i = 0; i < 3; i++)
        free(stems[i]);
    name[0] = 'x'; /* now 120 is inside a character */
    memmove(name + 1, name + 2, 999);
    assert_true(io_safe_stems(names, 1, stems, &err));
    assert_int_equal(strlen(stems[0]), 119);
    free(stems[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),    cmocka_unit_test(test_names_stay),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_writing),
        cmocka_unit_test(test_safe_names), cmocka_unit_test(test_long_names),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
