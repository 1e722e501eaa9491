/* Tables as text: recognised forms, messages, errors. */
#include "unit/io/test_io.h"

#include <math.h>

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
    check("\"a,\"\"b\",\"two\nlines\",c\n1,2.5,-3\n4e-2,5,6\n", COMMAS HEADER);
    check(",0,1,2\n0,1,2.5,-3\n1,4e-2,5,6\n", COMMAS HEADER INDEX); /* pandas */
    check("\"\",\"V1\",\"V2\",\"V3\"\n\"1\",1,2.5,-3\n\"2\",4e-2,5,6\n",
          COMMAS HEADER INDEX);                                       /* R */
    check("V1,V2,V3\n1,1,2.5,-3\n2,4e-2,5,6\n", COMMAS HEADER INDEX); /* R's write.table */
    check("name,a,b,c\nx,1,2.5,-3\ny,4e-2,5,6\n", COMMAS HEADER INDEX);
    check("x,1,2.5,-3\ny,4e-2,5,6\n", COMMAS "; skipped: the first column, an index");
}

/* Reads with words after the name of the file. */
static void check_words(const char *words, const char *text, const char *note)
{
    char spec[64];
    test_array array;

    put_file("x.csv", text, strlen(text));
    snprintf(spec, sizeof spec, "x.csv:%s", words);
    assert_reads(spec, 2, shape, numbers);
    assert_true(get_array(spec, &array));
    assert_string_equal(array.note, note);
    drop_array(&array);
}

static void columns_by_name_and_number(void **state)
{
    static const char text[] = "Time,a,label,b,c\n9,1,x,2.5,-3\n8,4e-2,y,5,6\n";
    static const char three[] = "9,1,2.5,-3\n8,4e-2,5,6\n";

    (void)state;
    check_words("drop=Time,label", text, COMMAS HEADER ", 2 columns (Time, label)");
    check_words("drop=1,3", text, COMMAS HEADER ", 2 columns (Time, label)");
    check_words("columns=a,b,c", text, COMMAS HEADER ", 2 columns (Time, label)");
    /* in the file's order */
    check_words("columns=c,4,a", text, COMMAS HEADER ", 2 columns (Time, label)");
    check_words("index,drop=label", text,
                COMMAS HEADER ", the first column, an index, 1 column (label)");
    check_words("no-header,drop=1", three, COMMAS "; skipped: 1 column (1)");
    check_words("header,columns=1,2,3", "t,3,1,2\n7,1,2.5,-3\n8,4e-2,5,6\n",
                COMMAS HEADER ", 1 column (t)"); /* a name comes before a number */
    check_words("drop=a:b", "a:b,c,d,e\n9,1,2.5,-3\n8,4e-2,5,6\n",
                COMMAS HEADER ", 1 column (a:b)");
    check_words("columns=j,k,l",
                "a,b,c,d,e,f,g,h,i,j,k,l\n1,1,1,1,1,1,1,1,1,1,2.5,-3\n"
                "1,1,1,1,1,1,1,1,1,4e-2,5,6\n",
                COMMAS HEADER ", 9 columns (a, b, c, d, e, f, g, h and 1 more)");
    check_words("drop=2", "x,9,1,2.5,-3\ny,8,4e-2,5,6\n",
                COMMAS "; skipped: the first column, an index, 1 column (2)");
    put_file("x.csv", three, strlen(three));
    assert_fails("x.csv:drop=time", TLNMF_ERR_INPUT, "x.csv: no column \"time\"; it has 4 columns");
    assert_fails("x.csv:columns=5", TLNMF_ERR_INPUT, "x.csv: no column \"5\"; it has 4 columns");
    assert_fails("x.csv:foo", TLNMF_ERR_INPUT,
                 "x.csv: \"foo\" is not a suffix; text tables take header, no-header, index, "
                 "no-index, columns= and drop=");
    assert_fails("gone.csv:foo", TLNMF_ERR_INPUT, "gone.csv:foo: No such file or directory");
    assert_fails("x.csv:drop=1,2,3,4", TLNMF_ERR_INPUT, "x.csv: no column is left");
    put_file("x.csv", text, strlen(text));
    assert_fails("x.csv:drop=d", TLNMF_ERR_INPUT,
                 "x.csv: no column \"d\"; it has 5 columns: Time, a, label, b, c");
    static const char rows[] = "Time (ms),Fz,Cz,Pz,F3,C3,P3,F4,C4,P4\n1,2,3,4,5,6,7,8,9,0\n";
    put_file("x.csv", rows, strlen(rows));
    assert_fails(
        "x.csv:drop=time", TLNMF_ERR_INPUT,
        "x.csv: no column \"time\"; it has 10 columns: Time (ms), Fz, Cz, Pz, F3, C3, P3, F4 "
        "and 2 more");
}

static void complex_numbers_are_named(void **state)
{
    static const char *const tables[] = {
        " (1.000e+00+2.000e+00j), (0.000e+00-1.5e-01j)\n (3e0-1e0j), (4e0+0e0j)\n",
        "(1e0+2e0j) (2e0+2e0j)\n(3e0-1e0j) (4e0+0e0j)\n", "1-2i;3+4i\n5+6i;7-8i\n",
        "a,b\n1,2\n3,4+1j\n"};
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        put_file("x.csv", tables[i], strlen(tables[i]));
        assert_fails("x.csv", TLNMF_ERR_INPUT,
                     "x.csv: the table is complex: save the real and the imaginary part as two "
                     "realisations, or save its power, the squared magnitude, and use --input "
                     "power");
    }
}

#define IDENTIFY(names, drop)                                                             \
    "x.csv: these columns usually identify rows: " names ". Use --drop " drop " to omit " \
    "them, or --columns NAME,.. to choose the columns to read"

static void columns_that_identify_rows(void **state)
{
    static const char *const names[] = {"time",    "Timestamp", "label", "INDEX",  "id",
                                        "subject", "datetime",  "date",  "t",      "class",
                                        "time_ms", "SubjectID", "Cond",  "time/s", "trial-id"};
    char text[64], message[256];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(text, sizeof text, "a,%s\n1,2\n3,4\n", names[i]);
        const char *quote = strchr(names[i], '/') ? "'" : "";
        snprintf(message, sizeof message, IDENTIFY("%s", "%s%s%s"), names[i], quote, names[i],
                 quote);
        refuse(text, message);
    }
    refuse("Time (s),a\n1,2\n3,4\n", IDENTIFY("Time (s)", "'Time (s)'"));
    check("y,ts,(t)\n1,2.5,-3\n4e-2,5,6\n", COMMAS HEADER); /* may be channels */
    refuse("time,a,Subject\n1,2,3\n4,5,6\n", IDENTIFY("time,Subject", "time,Subject"));
    refuse("time,10,20\n1,2,3\n4,5,6\n", IDENTIFY("time", "time"));
    refuse("id,a\n3,2\n1,4\n",
           IDENTIFY("id", "id")); /* its numbers do not increase: not an index */
    check("index,a,b,c\n0,1,2.5,-3\n1,4e-2,5,6\n", COMMAS HEADER INDEX);
    check_words("no-index", "id,b,c\n1,2.5,-3\n4e-2,5,6\n", COMMAS HEADER);
    check_words("columns=*", "a,time,c\n1,2.5,-3\n4e-2,5,6\n", COMMAS HEADER);
}

#define EMPTY ". If the value is missing, leave the cell empty and use --missing"
#define DROP(column)                                                                          \
    ". Use --drop " column " to omit the column, or --columns NAME,.. to choose the columns " \
    "to read" EMPTY
#define MAYBE "; if the line is a header, use --header yes"

/* A first row with a cell that is not a number is a header only if its other cells are words. */
static void bad_cells_in_the_first_row(void **state)
{
    (void)state;
    refuse("1,b,3\n1,2.5,-3\n", "x.csv: line 1, column 2 is not a number: \"b\"" MAYBE);
    refuse("none,2.5\n1,2\n", "x.csv: line 1, column 1 is not a number: \"none\"" MAYBE);
    refuse("1,5x\n1,2\n", "x.csv: line 1, column 2 is not a number: \"5x\"" MAYBE);
    check_words("header", "1,b,3\n1,2.5,-3\n4e-2,5,6\n", COMMAS HEADER);
}

/* All cells are data; at[i] tells whether number i is missing. */
static void read_as_data(const char *text, int64_t rows, const char *at)
{
    test_array array;

    put_file("x.csv", text, strlen(text));
    assert_true(get_array("x.csv", &array));
    assert_int_equal(array.dim[0], rows);
    assert_int_equal(array.dim[0] * array.dim[1], (int64_t)strlen(at));
    for (size_t i = 0; at[i]; i++)
        assert_int_equal(isnan(array.x[i]), at[i] == '?');
    drop_array(&array);
}

/* Missing values make neither a header nor an index. */
static void missing_values_in_the_first_row_and_column(void **state)
{
    (void)state;
    read_as_data(",10.02,0.129\n1,2,3\n", 2, "?.....");
    read_as_data(",1,2\n0,2,3\n", 2, "?.....");
    read_as_data(",0,2\n0,2,3\n", 2, "?.....");
    read_as_data(",0,1\n1,2,3\n", 2, "?.....");
    read_as_data(",0,1\n0,2,3\n2,5,6\n", 3, "?........");
    read_as_data(",0,1\n0,2,3\n,5,6\n", 3, "?.....?..");
    read_as_data("NA,0,1\n0,2,3\n", 2, "?.....");
    read_as_data("NA,,nan\n0,2,3\n", 2, "???...");
    read_as_data("n/a,Null,NaN\n0,2,3\n", 2, "???...");
    read_as_data(",,\n0,2,3\n", 2, "???...");
    read_as_data("\n\t\t\n0\t2\t3\n\t\t\n", 3, "???...???");
    read_as_data("a,b\nNA,2\nNA,3\n", 2, "?.?.");
    read_as_data(",1\nNA,2\nNA,3\n", 3, "?.?.?.");
    check(",a,NA,c\n7,1,2.5,-3\nNA,4e-2,5,6\n", COMMAS HEADER INDEX);
    check("a,NA,c\n1,2.5,-3\n4e-2,5,6\n", COMMAS HEADER);
    check_words("header", ",10,20,30\n5,1,2.5,-3\n7,4e-2,5,6\n", COMMAS HEADER INDEX);
    refuse(",b,3\n1,2,3\n", "x.csv: line 1, column 2 is not a number: \"b\"" MAYBE);
    refuse(",1\n1,2,3\n",
           "x.csv: line 2 has 3 cells, line 1 has 2: all rows must have the same length");
}

/* Without a header there is an index only if the caller asks for one. */
static void no_header_no_index(void **state)
{
    static const char text[] = "x,1,2.5,-3\ny,4e-2,5,6\n";

    (void)state;
    put_file("x.csv", text, strlen(text));
    assert_fails("x.csv:no-header", TLNMF_ERR_INPUT,
                 "x.csv: line 1, column 1 is not a number: \"x\"" DROP("1"));
    check_words("no-header,index", text, COMMAS "; skipped: the first column, an index");
    check_words("no-header,index", ",1,2.5,-3\n0,4e-2,5,6\n",
                COMMAS "; skipped: the first column, an index");
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

/* The message names the column, and the columns that are omitted already. */
static void columns_of_text(void **state)
{
    static const char text[] = "Fz,Cz,state (0)\n1,2,rest\n3,4,move\n";

    (void)state;
    refuse(text,
           "x.csv: line 2, column 3 (state (0)) is not a number: \"rest\"" DROP("'state (0)'"));
    assert_fails(
        "x.csv:drop=Fz", TLNMF_ERR_INPUT,
        "x.csv: line 2, column 3 (state (0)) is not a number: \"rest\"" DROP("'Fz,state (0)'"));
    assert_fails("x.csv:columns=1,3", TLNMF_ERR_INPUT,
                 "x.csv: line 2, column 3 (state (0)) is not a number: \"rest\"" EMPTY);
    refuse("a,b\n1,2,rest\n3,4,move\n",
           "x.csv: line 2, column 3 (b) is not a number: \"rest\"" DROP("b"));
}

static void missing_cells(const char *text, int at, const char *where)
{
    tlnmf_ctx *ctx = test_context();
    tlnmf_record *record;
    int64_t dim[TLNMF_MAX_DIMENSIONS];

    put_file("x.csv", text, strlen(text));
    assert_int_equal(tlnmf_io_read_array(ctx, "x.csv", &record), TLNMF_OK);
    const double *x = tlnmf_record_get_array(record, "array", NULL, dim);
    for (int i = 0; i < dim[0] * dim[1]; i++)
        assert_int_equal(isnan(x[i]), i == at);
    assert_string_equal(tlnmf_record_get_text(record, "missing"), where);
    tlnmf_record_free(record);
    assert_int_equal(tlnmf_io_read_slice(ctx, "x.csv", 0, 0, 1, &record), TLNMF_OK);
    assert_string_equal(tlnmf_record_get_text(record, "missing"), where);
    tlnmf_record_free(record);
}

static void missing_cells_are_nan(void **state)
{
    (void)state;
    missing_cells("1,2,3\n4,,6\n", 4, "line 2, column 2 is empty");
    missing_cells("1,2\n3,\n", 3, "line 2, column 2 is empty");
    missing_cells("a,b\nNA,1\n3,4\n", 0, "line 2, column 1 (a) is \"NA\"");
    missing_cells("NA,2.5\n1,2\n", 0, "line 1, column 1 is \"NA\"");
    missing_cells(",2.5\n1,2\n", 0,
                  "line 1, column 1 is empty (if the line is a header, use --header yes)");
    missing_cells("a,b\n1,n/a\n3,4\n", 1, "line 2, column 2 (b) is \"n/a\"");
    missing_cells("a,b\n1,2\n3,\"null\"\n", 3, "line 3, column 2 (b) is \"null\"");
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
    refuse("1,2,3\n4,5x,6\n", "x.csv: line 2, column 2 is not a number: \"5x\"" DROP("2"));
    refuse("1;2\n1.234,5;3\n", "x.csv: line 2, column 1 is not a number: \"1.234,5\"" DROP("1"));
    refuse("1,2\n1,2\n3,4e\n", "x.csv: line 3, column 2 is not a number: \"4e\"" DROP("2"));
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
        cmocka_unit_test(complex_numbers_are_named),
        cmocka_unit_test(columns_by_name_and_number),
        cmocka_unit_test(columns_that_identify_rows),
        cmocka_unit_test(bad_cells_in_the_first_row),
        cmocka_unit_test(missing_values_in_the_first_row_and_column),
        cmocka_unit_test(no_header_no_index),
        cmocka_unit_test(a_column_that_counts),
        cmocka_unit_test(other_names),
        cmocka_unit_test(columns_of_text),
        cmocka_unit_test(missing_cells_are_nan),
        cmocka_unit_test(invalid_tables_are_refused),
        cmocka_unit_test(damaged_tables),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
