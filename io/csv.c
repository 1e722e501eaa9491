/* Reads text tables of numbers: CSV, TSV, and columns separated by spaces.
 *
 * Rows of the table are rows of the array. A header line and a column of names or row numbers are
 * recognised, skipped and reported. Otherwise only columns that the caller names are skipped. */
#include "csv.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef io_span span;

/* The state of the reader. */
typedef struct table {
    const char *name;
    span rest;
    int64_t line; /* of the next line to be read, from 1 */
    char separator;
    io_table_words words;
    bool header, index;
    const char *first;           /* where the first line starts */
    span head;                   /* the header line, if there is one */
    bool *skip;                  /* for each column of the file: whether it is omitted */
    int64_t omitted;             /* columns, without the index */
    char omits[IO_COLUMNS_TEXT]; /* their names */
    bool counts;                 /* the header is 0, 1, 2, .. or 1, 2, 3, .. */
    bool counts_too;             /* so is the first line, but it is read as data */
    bool names;  /* the index consists of texts; if it has a number or no text, it is data */
    bool ids;    /* the first column is called id: an index if its numbers increase */
    bool commas; /* there are decimal commas */
    tlnmf_ctx *ctx;
} table;

typedef struct row {
    span text;
    int64_t line;
} row;

/* ---- rows and cells ----------------------------------------------------------------------- */

/* A line of tabs is a row of empty cells if tabs separate the cells. */
static bool is_blank(span text, char separator)
{
    bool tabs = separator == '\t' && memchr(text.at, '\t', (size_t)(text.end - text.at));
    while (text.at < text.end && isspace((unsigned char)*text.at))
        text.at++;
    return text.at == text.end ? !tabs : *text.at == '#';
}

/* Finds the next row that is neither blank nor a comment; quoted cells may contain line ends.
 * *found is false at the end. Returns false for an unterminated quote. */
static bool next_row(table *t, row *r, bool *found)
{
    *found = false;
    while (t->rest.at < t->rest.end && !*found) {
        const char *at = t->rest.at;
        bool quoted = false;
        r->line = t->line;
        for (; at < t->rest.end && (quoted || (*at != '\n' && *at != '\r')); at++) {
            quoted = *at == '"' ? !quoted : quoted;
            t->line += *at == '\n';
        }
        if (quoted)
            return io_fail(t->ctx, TLNMF_ERR_INPUT, "%s: line %lld: unterminated quote", t->name,
                           (long long)r->line);
        r->text = (span){t->rest.at, at};
        bool pair = at + 1 < t->rest.end && at[0] == '\r' && at[1] == '\n';
        t->rest.at = at < t->rest.end ? at + 1 + pair : at;
        t->line++;
        *found = !is_blank(r->text, t->separator);
    }
    return true;
}

/* The cell without surrounding spaces and quotes. */
static span trimmed(span cell)
{
    while (cell.at < cell.end && isspace((unsigned char)*cell.at))
        cell.at++;
    while (cell.at < cell.end && isspace((unsigned char)cell.end[-1]))
        cell.end--;
    if (cell.end - cell.at >= 2 && *cell.at == '"' && cell.end[-1] == '"')
        return trimmed((span){cell.at + 1, cell.end - 1});
    return cell;
}

/* Removes the next cell from the text of a row; false at the end. `text->at` is NULL after the last
 * cell. Any number of spaces is one separator. */
static bool next_cell(span *text, char separator, span *cell)
{
    bool quoted = false;
    if (separator == ' ')
        while (text->at && text->at < text->end && isspace((unsigned char)*text->at))
            text->at++;
    if (!text->at || (separator == ' ' && text->at == text->end))
        return false;
    const char *at = text->at;
    for (; at < text->end &&
           (quoted || (separator == ' ' ? !isspace((unsigned char)*at) : *at != separator));
         at++)
        quoted = *at == '"' ? !quoted : quoted;
    *cell = trimmed((span){text->at, at});
    text->at = at < text->end ? at + 1 : NULL;
    return true;
}

static int64_t count_cells(span text, char separator)
{
    int64_t count = 0;
    span cell;
    while (next_cell(&text, separator, &cell))
        count++;
    return count;
}

/* ---- numbers ------------------------------------------------------------------------------ */

/* Also accepts nan, inf and infinity. */
static bool parse(span cell, double *x)
{
    span bare = cell;
    bool minus = cell.at < cell.end && *cell.at == '-';

    if (minus || (cell.at < cell.end && *cell.at == '+'))
        bare.at++;
    bool infinite = io_span_is(bare, "inf") || io_span_is(bare, "infinity");
    if (!infinite && !io_span_is(bare, "nan"))
        return io_decimal(cell.at, cell.end, x);
    *x = !infinite ? (double)NAN : minus ? -(double)INFINITY : (double)INFINITY;
    return true;
}

static bool is_number(span cell)
{
    double x;
    return parse(cell, &x);
}

static bool is_missing(span cell)
{
    return cell.at == cell.end || io_span_is(cell, "NA") || io_span_is(cell, "N/A") ||
           io_span_is(cell, "null") || io_span_is(cell, "nan");
}

/* (1.5e+00-2j), as NumPy writes complex numbers, or 1.5-2i. */
static bool is_complex(span cell)
{
    if (cell.end - cell.at > 2 && *cell.at == '(' && cell.end[-1] == ')')
        cell = (span){cell.at + 1, cell.end - 1};
    if (cell.at == cell.end || !strchr("iIjJ", cell.end[-1]))
        return false;
    for (const char *c = cell.at + 1; c < cell.end; c++)
        if ((*c == '+' || *c == '-') && is_number((span){cell.at, c}) &&
            is_number((span){c, cell.end - 1}))
            return true;
    return false;
}

static bool is_word(span cell)
{
    return !is_number(cell) && !is_missing(cell) && !is_complex(cell);
}

/* ---- layout of the table ------------------------------------------------------------------ */

/* The first of these separators that occurs outside quotes; otherwise spaces. */
static char find_separator(span text)
{
    static const char candidates[] = "\t;,";
    for (const char *c = candidates; *c; c++)
        if (count_cells(text, *c) > 1)
            return *c;
    return ' ';
}

/* Common names of a column that identifies rows; it may also be data. */
static bool is_id_name(span cell)
{
    return io_span_is(cell, "id") || io_span_is(cell, "row") || io_span_is(cell, "nr") ||
           io_span_is(cell, "no") || io_span_is(cell, "#");
}

/* Whether the cells of a row are 0, 1, 2, .. or 1, 2, 3, ..; *cells is how many. */
static bool is_sequence(span text, char separator, int64_t *cells)
{
    span cell;
    int64_t first = -1;
    for (*cells = 0; next_cell(&text, separator, &cell); (*cells)++) {
        double number;
        for (const char *c = cell.at; c < cell.end; c++)
            if (!isdigit((unsigned char)*c))
                return false;
        if (!parse(cell, &number) || (*cells == 0 && number > 1))
            return false;
        first = *cells == 0 ? (int64_t)number : first;
        if (number != (double)(first + *cells))
            return false;
    }
    return first >= 0;
}

static bool is_index_name(span cell)
{
    return cell.at == cell.end || io_span_is(cell, "index") || io_span_is(cell, "Unnamed: 0") ||
           io_span_is(cell, "rownames");
}

static bool has_fraction(span text, char separator)
{
    span cell;
    while (next_cell(&text, separator, &cell))
        for (const char *c = cell.at; c < cell.end; c++)
            if (strchr(".,eE", *c))
                return true;
    return false;
}

/* Whether the first row is a header that numbers the columns, as pandas writes without an index. It
 * needs at least three columns. If the second row has no fractions, the first may be data as well:
 * it is read as data, and the note says so. */
static bool is_numbered_header(table *t, row first, row second)
{
    const int64_t least = 3;
    int64_t cells;
    bool counts = is_sequence(first.text, t->separator, &cells) && cells >= least &&
                  count_cells(second.text, t->separator) == cells;
    t->counts_too = counts && !has_fraction(second.text, t->separator);
    return counts && !t->counts_too;
}

/* Whether the first cell alone shows that its row is a header, although the other cells are
 * numbers: it has a usual name, or the others number the columns. `rest` is the text after it. */
static bool names_first_column(const table *t, span head, span rest)
{
    int64_t cells;
    return is_word(head) && (is_index_name(head) || is_id_name(head) || io_is_label_name(head) ||
                             (rest.at && is_sequence(rest, t->separator, &cells)));
}

static bool begins_with(span text, char separator, double number)
{
    span cell;
    double x;
    return next_cell(&text, separator, &cell) && parse(cell, &x) && x == number;
}

/* Whether pandas wrote the table without names: 0, 1, 2, .. in the first row, after its empty first
 * cell, and 0, 1, 2, .. in the first column below it. */
static bool is_unnamed_frame(table below, span rest)
{
    row r;
    bool found, ok;
    int64_t cells;
    double count = 0.0;
    ok = rest.at && begins_with(rest, below.separator, count) &&
         is_sequence(rest, below.separator, &cells);
    for (; ok && next_row(&below, &r, &found) && found; count++)
        ok = begins_with(r.text, below.separator, count);
    return ok;
}

/* Whether the first row, which `t` has just read, is a header, from its cells and from those of the
 * second. It is a header if it consists of words, perhaps with missing cells; if it has no cell for
 * the index; or if its first cell shows it. Numbers after an empty first cell are data, unless the
 * table is an unnamed frame. In any other row a cell that is not a number is an error. */
static bool is_header(const table *t, span text, span second)
{
    span cell, head = {NULL, NULL}, rest = text;
    bool words = false, numbers = false;
    int64_t cells = 0;
    for (; next_cell(&text, t->separator, &cell); cells++) {
        if (cells == 0) {
            head = cell;
            rest = text;
        }
        words = words || is_word(cell);
        numbers = numbers || is_number(cell);
    }
    if (words && !numbers)
        return true;
    if (is_missing(head))
        return head.at == head.end && is_unnamed_frame(*t, rest);
    return count_cells(second, t->separator) == cells + 1 ||
           (next_cell(&second, t->separator, &cell) && is_number(cell) &&
            names_first_column(t, head, rest));
}

/* Decides whether the first column is an index. Without a header an index holds text. If the caller
 * says that there is no header, there is an index only if the caller asks for it. */
static void find_index(table *t, span first, span second)
{
    span head = {NULL, NULL}, cell = {NULL, NULL};
    int64_t above = count_cells(first, t->separator), cells = count_cells(second, t->separator);
    bool number = next_cell(&first, t->separator, &head) &&
                  next_cell(&second, t->separator, &cell) && is_number(cell);
    t->index = t->words.index == IO_ANSWER_YES;
    if (t->words.index != IO_ANSWER_AUTO || t->words.header == IO_ANSWER_NO || cells < 2)
        return;
    t->ids = t->header && number && is_id_name(head);
    t->index = t->header && (cells == above + 1 || is_index_name(head));
    t->names = !t->index && !number && cell.at < cell.end && (t->header || !is_number(head));
    t->index = t->index || t->names;
}

static void look_at_first_rows(table *t, row first, row second)
{
    io_answer wanted = t->words.header;
    bool header = is_header(t, first.text, second.text);
    t->counts = !header && is_numbered_header(t, first, second);
    t->header = wanted == IO_ANSWER_AUTO ? header || t->counts : wanted == IO_ANSWER_YES;
    t->counts = t->counts && t->header;
    find_index(t, first.text, second.text);
}

/* Finds separator, header and index column; leaves `t` before the first row of numbers. */
static bool examine(table *t)
{
    row first, second;
    bool found, more;
    table again = *t;
    if (!next_row(t, &first, &found))
        return false;
    if (!found)
        return io_fail(t->ctx, TLNMF_ERR_INPUT, "%s: it contains no numbers", t->name);
    again.separator = find_separator(first.text);
    *t = again;
    if (!next_row(t, &first, &found)) /* may now be a line of tabs */
        return false;
    again = *t;
    if (!next_row(&again, &second, &more))
        return false;
    if (more)
        look_at_first_rows(t, first, second);
    t->head = first.text;
    t->first = first.text.at;
    if (!t->header) {
        t->head = (span){NULL, NULL};
        t->rest.at = first.text.at;
        t->line = first.line;
    }
    return true;
}

/* Rows and columns of numbers; refuses rows of different lengths. */
static bool measure(table *at, int64_t dim[2])
{
    table t = *at;
    row r, first = {0};
    bool found, ok, words = false;
    double last = -INFINITY, id = 0.0;
    dim[0] = dim[1] = 0;
    while ((ok = next_row(&t, &r, &found)) && found) {
        int64_t cells = count_cells(r.text, t.separator);
        span text = r.text, cell = {NULL, NULL};
        bool has = next_cell(&text, t.separator, &cell);
        words = words || (has && is_word(cell));
        if (t.names && has && is_number(cell))
            t.index = at->index = false;
        if (t.ids)
            t.ids = has && parse(cell, &id) && id == floor(id) && id > last;
        last = id;
        if (dim[0]++ == 0) {
            first = r;
            dim[1] = cells;
        } else if (cells != dim[1]) {
            return io_fail(
                t.ctx, TLNMF_ERR_INPUT,
                "%s: line %lld has %lld cells, line %lld has %lld: all rows must have the "
                "same length",
                t.name, (long long)r.line, (long long)cells, (long long)first.line,
                (long long)dim[1]);
        }
    }
    at->index = t.ids || (t.index && (words || !t.names));
    if (!ok)
        return false;
    return (dim[0] > 0 && dim[1] > at->index) ||
           io_fail(t.ctx, TLNMF_ERR_INPUT, "%s: it contains no numbers", t.name);
}

/* Decides which columns are skipped, and subtracts them from dim[1]. If the header has no cell for
 * the index, its names begin with the second column. */
static bool choose_columns(table *t, int64_t dim[2])
{
    int64_t count = dim[1], at = 0;
    span cell, text = t->head, *names = calloc((size_t)count, sizeof *names);
    t->skip = calloc((size_t)count, sizeof *t->skip);
    bool ok = (names && t->skip) || io_no_memory(t->ctx, t->name);
    if (ok && text.at)
        at = count_cells(text, t->separator) < count;
    for (; ok && text.at && at < count && next_cell(&text, t->separator, &cell); at++)
        names[at] = cell;
    if (ok && t->index)
        t->skip[0] = true;
    ok = ok && io_columns_choose(t->ctx, t->name, &t->words, count, names, t->skip);
    for (int64_t i = 0; ok && i < count; i++)
        dim[1] -= t->skip[i];
    t->index = ok && t->index && t->skip[0]; /* the option `columns` may name it */
    t->omitted = count - dim[1] - t->index;
    if (ok) {
        t->skip[0] = t->skip[0] && !t->index; /* the note names the index column elsewhere */
        io_columns_list(count, names, t->skip, t->omits, sizeof t->omits);
        t->skip[0] = t->skip[0] || t->index;
    }
    free(names);
    return ok && (dim[1] > 0 || io_fail(t->ctx, TLNMF_ERR_INPUT, "%s: no column is left", t->name));
}

/* ---- reading ------------------------------------------------------------------------------ */

/* The name of a column in the header; it is empty if the column has none. */
static span name_of(const table *t, int64_t column, int64_t cells)
{
    span text = t->head, cell = {"", ""};
    int64_t at = text.at && count_cells(text, t->separator) < cells ? 2 : 1;
    for (; text.at && at <= column && next_cell(&text, t->separator, &cell); at++)
        if (at == column)
            return cell;
    return (span){"", ""};
}

/* `column 3`, or `column 3 (Cz)` if it has a name. */
static void name_column(span name, int64_t column, char *text, size_t size)
{
    int length = name.end - name.at > 40 ? 40 : (int)(name.end - name.at);
    snprintf(text, size, length > 0 ? "column %lld (%.*s)" : "column %lld", (long long)column,
             length, name.at);
}

/* Whether the row may be a header that was not recognised. */
static bool may_be_header(const table *t, const row *r)
{
    return !t->header && t->words.header == IO_ANSWER_AUTO && r->text.at == t->first;
}

static bool bad_cell(const table *t, const row *r, int64_t column, span cell)
{
    char where[80], advice[400];
    int length = cell.end - cell.at > 40 ? 40 : (int)(cell.end - cell.at);
    span name = name_of(t, column, count_cells(r->text, t->separator));
    bool first = may_be_header(t, r);
    if (is_complex(cell))
        return io_fail(t->ctx, TLNMF_ERR_INPUT, IO_COMPLEX, t->name, "the table");
    name_column(name, column, where, sizeof where);
    io_column_advise(&t->words, name, column, advice, sizeof advice);
    return io_fail(t->ctx, TLNMF_ERR_INPUT, "%s: line %lld, %s is not a number: \"%.*s\"%s%s",
                   t->name, (long long)r->line, where, length, cell.at,
                   first ? "; if the line is a header, use --header yes" : advice,
                   first ? ""
                         : ". If the value is missing, leave the cell empty and use --missing");
}

/* Records where the first missing value is. */
static bool tell_missing(const table *t, const row *r, int64_t column, span cell,
                         tlnmf_record *record)
{
    char where[80], text[160];
    name_column(name_of(t, column, count_cells(r->text, t->separator)), column, where,
                sizeof where);
    if (cell.at < cell.end)
        snprintf(text, sizeof text, "line %lld, %s is \"%.*s\"", (long long)r->line, where,
                 (int)(cell.end - cell.at), cell.at);
    else
        snprintf(text, sizeof text, "line %lld, %s is empty%s", (long long)r->line, where,
                 column == 1 && may_be_header(t, r) ? " (if the line is a header, use --header yes)"
                                                    : "");
    return tlnmf_record_set_text(t->ctx, record, "missing", text) == TLNMF_OK;
}

static bool fill(table *t, double *x, tlnmf_record *record)
{
    row r;
    bool found, missing = false;
    while (next_row(t, &r, &found) && found) { /* measure() has seen all rows already */
        span text = r.text, cell;
        for (int64_t column = 1; next_cell(&text, t->separator, &cell); column++) {
            if (t->skip[column - 1])
                continue;
            bool valid = parse(cell, x);
            if (!valid && !is_missing(cell))
                return bad_cell(t, &r, column, cell);
            if (!valid && !missing && !tell_missing(t, &r, column, cell, record))
                return false;
            *x = valid ? *x : (double)NAN;
            missing = missing || !valid;
            x++;
            t->commas = t->commas || memchr(cell.at, ',', (size_t)(cell.end - cell.at));
        }
    }
    return true;
}

/* Whether the first column counts the rows: it may be data or row numbers. */
static bool counts_rows(const int64_t dim[2], const double *x)
{
    for (int64_t i = 0; i < dim[0]; i++)
        if (x[i * dim[1]] != (double)i + x[0])
            return false;
    return dim[0] > 2 && dim[1] > 1 && (x[0] == 0.0 || x[0] == 1.0);
}

static bool tell(tlnmf_ctx *ctx, const table *t, const int64_t dim[2], const double *x,
                 tlnmf_record *to)
{
    const char *between = t->separator == '\t'  ? "tabs"
                          : t->separator == ';' ? "semicolons"
                          : t->separator == ',' ? "commas"
                                                : "spaces";
    char note[640];
    size_t used = (size_t)snprintf(
        note, sizeof note, "text, %lld x %lld numbers between %s%s%s%s%s%s%s", (long long)dim[0],
        (long long)dim[1], between, t->commas ? ", with decimal commas" : "",
        t->header || t->index || t->omitted ? "; skipped: " : "",
        t->header ? "the header line" : "",
        t->counts ? " (it counts the columns; :no-header keeps it)" : "",
        t->header && t->index ? ", " : "", t->index ? "the first column, an index" : "");
    if (t->omitted)
        used += (size_t)snprintf(note + used, sizeof note - used, "%s%lld column%s (%s)",
                                 t->header || t->index ? ", " : "", (long long)t->omitted,
                                 t->omitted == 1 ? "" : "s", t->omits);
    if (t->counts_too && !t->header && t->words.header == IO_ANSWER_AUTO)
        used += (size_t)snprintf(
            note + used, sizeof note - used,
            "; its first line counts the columns and is read as data (:header skips it)");
    if (!t->index && t->words.index == IO_ANSWER_AUTO && counts_rows(dim, x))
        snprintf(note + used, sizeof note - used,
                 "; its first column counts the rows and is read as data (:index skips it)");
    return tlnmf_record_set_text(ctx, to, "note", note) == TLNMF_OK;
}

static bool read_table(table *t, const io_target *to)
{
    int64_t dim[2];
    if (!examine(t) || !measure(t, dim) || !choose_columns(t, dim))
        return false;
    double *x = io_array_new(t->ctx, to, t->name, 2, dim);
    return x && fill(t, x, to->record) && tell(t->ctx, t, dim, x, to->record);
}

static bool check_text(tlnmf_ctx *ctx, const char *name, span *text)
{
    const unsigned char *b = (const unsigned char *)text->at;
    size_t size = (size_t)(text->end - text->at);
    if (size >= 2 && ((b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff)))
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: UTF-16 text: save it as UTF-8", name);
    if (memchr(b, '\0', size))
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: not text: it contains zero bytes", name);
    if (size >= 3 && memcmp(b, "\xef\xbb\xbf", 3) == 0)
        text->at += 3;
    return true;
}

static bool read_csv(tlnmf_ctx *ctx, io_file *file, const char *words, io_slice *slice,
                     const io_target *to)
{
    const io_source *source = &file->source;
    unsigned char *own = NULL;
    size_t size = (size_t)source->size;
    (void)slice;
    if (!source->bytes && !io_slurp(ctx, source->path, &own, &size))
        return false;
    const char *bytes = (const char *)(source->bytes ? source->bytes : own);
    table t = {.name = source->name, .rest = {bytes, bytes + size}, .line = 1, .ctx = ctx};
    io_table_words_read(words ? words : "", &t.words);
    locale_t before = io_enter_c_locale();
    bool ok = check_text(ctx, source->name, &t.rest) && read_table(&t, to);
    io_leave_c_locale(before);
    free(t.skip);
    free(own);
    return ok;
}

static bool list_csv(tlnmf_ctx *ctx, io_file *file, io_listing *listing)
{
    io_target to = {NULL, "array"};
    io_entry entry = {.name = (char[]){""}, .dtype = "text", .numeric = true, .ndim = 2};
    if (tlnmf_record_create(ctx, &to.record) != TLNMF_OK)
        return false;
    bool ok = read_csv(ctx, file, file->words ? file->words : "columns=*", NULL, &to);
    tlnmf_record_get_array(to.record, to.name, NULL, entry.dim);
    tlnmf_record_free(to.record);
    return ok && (io_listing_add(listing, &entry) || io_no_memory(ctx, file->source.name));
}

const io_format_calls io_csv_calls = {.name = "text", .list = list_csv, .read = read_csv};
