/* Tables as text: recognised forms, messages, errors. */
#include "unit/io/test_io.h"

/* The table that all valid texts below represent. */
static const int64_t shape[] = {2, 3};
static const double numbers[] = {1, 2.5, -3, 4e-2, 5, 6};

static void check(const char *text, const char *note)
{
    test_array array;

    put_file("x.csv", text, strlen(text));
    assert_reads("x.csv", 2, shape, numbers);
    assert_true(get_array("x.csv", &array));
    assert_string_equal(array.note, note);
    drop_array(&array);
}

static void refuse(const char *text, const char *message)
{
    put_file("x.csv", text, strlen(text));
    assert_fails("x.csv", TLNMF_ERR_INPUT, message);
}

#define COMMAS "text, 2 x 3 numbers between commas"
#define HEADER "; skipped: the header line"
#define INDEX  ", the first column, an index"

static void plain_tables(void **state)
{
    (void)state;
    check("1,2.5,-3\n4e-2,5,6\n", COMMAS);
    check("1, 2.5 ,-3\r\n\r\n4E-2,5,6", COMMAS);
    check("\xef\xbb\xbf# made by hand\n1,+2.5,-3\r0.04,5.,6\n\n", COMMAS);
    check("\"1\",\"2.5\",\"-3\"\n\" 4e-2\",5,6\n", COMMAS);
    check("\"1\",\"2,5\",\"-3\"\n\"0,04\",5,6\n", COMMAS ", with decimal commas");
    check("1;2,5;-3\n4e-2;5;6\n", "text, 2 x 3 numbers between semicolons, with decimal commas");
    check("1\t2.5\t-3\n4e-2\t5\t6\n", "text, 2 x 3 numbers between tabs");
    check("  1   2.5 -3 \n4e-2\t5 6", "text, 2 x 3 numbers between spaces");
}

static void headers_and_indices(void **state)
{
    (void)state;
    check("a,b,c\n1,2.5,-3\n4e-2,5,6\n", COMMAS HEADER);
    check("1,b,3\n1,2.5,-3\n4e-2,5,6\n", COMMAS HEADER);
    check("\"a,\"\"b\",\"two\nlines\",c\n1,2.5,-3\n4e-2,5,6\n", COMMAS HEADER);
    check(",0,1,2\n0,1,2.5,-3\n1,4e-2,5,6\n", COMMAS HEADER INDEX); /* pandas */
    check("\"\",\"V1\",\"V2\",\"V3\"\n\"1\",1,2.5,-3\n\"2\",4e-2,5,6\n",
          COMMAS HEADER INDEX);                                       /* R */
    check("V1,V2,V3\n1,1,2.5,-3\n2,4e-2,5,6\n", COMMAS HEADER INDEX); /* R's write.table */
    check("name,a,b,c\nx,1,2.5,-3\ny,4e-2,5,6\n", COMMAS HEADER INDEX);
    check("x,1,2.5,-3\ny,4e-2,5,6\n", COMMAS "; skipped: the first column, an index");
}

/* A first column that only looks like row numbers is kept, with a message. */
static void a_column_that_counts(void **state)
{
    static const char text[] = "1,5\n2,6\n3,8\n";
    test_array array;

    (void)state;
    put_file("x.csv", text, strlen(text));
    assert_true(get_array("x.csv", &array));
    assert_int_equal(array.dim[1], 2);
    assert_string_equal(array.note,
                        "text, 3 x 2 numbers between commas; its first column counts the "
                        "rows and is read as data (:index skips it)");
    drop_array(&array);
}

static void other_names(void **state)
{
    static const char text[] = "1\t2.5\t-3\n4e-2\t5\t6\n";

    (void)state;
    put_file("x.tsv", text, strlen(text));
    assert_reads("x.tsv", 2, shape, numbers);
    put_file("x", text, strlen(text));
    assert_reads("x", 2, shape, numbers);
    assert_reads_stdin("x", 2, shape, numbers);
}

static void invalid_tables_are_refused(void **state)
{
    static const char wide[] = "\xff\xfe"
                               "1\0,\0002\0";

    (void)state;
    refuse("1,2,3\n4,5\n",
           "x.csv: line 2 has 2 cells, line 1 has 3: all rows must have the same length");
    refuse("a,b\n1,2\n\n3,4,5\n",
           "x.csv: line 4 has 3 cells, line 2 has 2: all rows must have the same length");
    refuse("1,2,3\n4,,6\n", "x.csv: line 2, column 2 is empty: every cell must hold a number");
    refuse("1,2\n3,\n", "x.csv: line 2, column 2 is empty: every cell must hold a number");
    refuse("1,2,3\n4,NA,6\n", "x.csv: line 2, column 2 is not a number: \"NA\"");
    refuse("1,2,3\n4,5x,6\n", "x.csv: line 2, column 2 is not a number: \"5x\"");
    refuse("1;2\n1.234,5;3\n", "x.csv: line 2, column 1 is not a number: \"1.234,5\"");
    refuse("1,2\n1,2\n3,4e\n", "x.csv: line 3, column 2 is not a number: \"4e\"");
    refuse("a,b\nNA,1\n3,4\n", "x.csv: line 2, column 1 is not a number: \"NA\"");
    refuse("1,2\n3,\"4\n", "x.csv: line 2: unterminated quote");
    refuse("# nothing\n\n", "x.csv: it contains no numbers");
    put_file("x.csv", wide, sizeof wide - 1);
    assert_fails("x.csv", TLNMF_ERR_INPUT, "x.csv: UTF-16 text: save it as UTF-8");
    put_file("x.csv", "1,\0002", 4);
    assert_fails("x.csv", TLNMF_ERR_INPUT, "x.csv: not text: it contains zero bytes");
}

static void damaged_tables(void **state)
{
    static const char text[] = "\"\";V1;\"V2\"\n\"1\";1,5;-2.5e3\n\"2\";nan;\"inf\"\n";

    (void)state;
    put_file("good.csv", text, strlen(text));
    poke_flips("good.csv", "x.csv", 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_tables),
        cmocka_unit_test(headers_and_indices),
        cmocka_unit_test(a_column_that_counts),
        cmocka_unit_test(other_names),
        cmocka_unit_test(invalid_tables_are_refused),
        cmocka_unit_test(damaged_tables),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
