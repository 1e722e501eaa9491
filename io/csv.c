/* Tables of numbers as text: CSV, TSV, and columns between spaces.
 *
 * Rows of the table are rows of the array. A header line and a column of names or row numbers are
 * recognised, left out, and said: nothing else is passed over. */
#include "internal.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A stretch of the text. */
typedef struct span {
    const char *at, *end;
} span;

/* Where reading stands. */
typedef struct table {
    const char *name;
    span rest;
    int64_t line; /* of the next line to be read, from 1 */
    char separator;
    io_table_words words; /* what the caller says of header and index */
    bool header, index;
    bool counts;     /* the header is 0, 1, 2, .. or 1, 2, 3, .. */
    bool counts_too; /* so is the first line, but it is taken as data */
    bool names;      /* the index consists of texts: a number in it would mean that it is none */
    bool ids;        /* the first column is called id: an index if its numbers only grow */
    bool commas;     /* a decimal comma was met */
    io_error *err;
} table;

typedef struct row {
    span text;
    int64_t line;
} row;

/* ---- rows and cells ----------------------------------------------------------------------- */

static bool is_blank(span text)
{
    while (text.at < text.end && isspace((unsigned char)*text.at))
        text.at++;
    return text.at == text.end || *text.at == '#';
}

/* The next row that is neither blank nor a comment; quoted cells may hold line ends. *found is
 * false at the end; the result is false for a quote without end. */
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
            return io_fail(t->err, IO_BAD_INPUT, "%s: line %lld: a quote without end", t->name,
                           (long long)r->line);
        r->text = (span){t->rest.at, at};
        bool pair = at + 1 < t->rest.end && at[0] == '\r' && at[1] == '\n';
        t->rest.at = at < t->rest.end ? at + 1 + pair : at;
        t->line++;
        *found = !is_blank(r->text);
    }
    return true;
}

/* Without spaces around it, and without quotes. */
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

/* Cuts the next cell off the text of a row; false when there is none left. `text->at` is NULL after
 * the last one. Between spaces, any number of them separates. */
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

static bool is_word(span cell, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(cell.end - cell.at) == length && strncasecmp(cell.at, word, length) == 0;
}

/* Digits with one point or comma and perhaps an exponent, nan or inf; strtod alone takes more. */
static bool is_number(span cell)
{
    int digits = 0, marks = 0;
    if (cell.at < cell.end && strchr("+-", *cell.at))
        cell.at++;
    if (is_word(cell, "nan") || is_word(cell, "inf") || is_word(cell, "infinity"))
        return true;
    for (; cell.at < cell.end && (isdigit((unsigned char)*cell.at) || strchr(".,", *cell.at));
         cell.at++) {
        digits += isdigit((unsigned char)*cell.at) != 0;
        marks += !isdigit((unsigned char)*cell.at);
    }
    if (digits == 0 || marks > 1 || cell.at == cell.end)
        return digits > 0 && marks <= 1;
    if (*cell.at != 'e' && *cell.at != 'E')
        return false;
    cell.at++;
    if (cell.at < cell.end && strchr("+-", *cell.at))
        cell.at++;
    for (digits = 0; cell.at < cell.end && isdigit((unsigned char)*cell.at); cell.at++)
        digits++;
    return digits > 0 && cell.at == cell.end;
}

static bool parse(table *t, span cell, double *x)
{
    char text[512];
    size_t length = (size_t)(cell.end - cell.at);
    if (length >= sizeof text || !is_number(cell))
        return false;
    memcpy(text, cell.at, length);
    text[length] = '\0';
    char *comma = strchr(text, ',');
    if (comma) {
        *comma = '.';
        t->commas = true;
    }
    *x = strtod(text, NULL);
    return true;
}

/* ---- what the table looks like ------------------------------------------------------------ */

/* The first of these that stands in the row outside quotes; spaces where none does. */
static char find_separator(span text)
{
    static const char candidates[] = "\t;,";
    for (const char *c = candidates; *c; c++)
        if (count_cells(text, *c) > 1)
            return *c;
    return ' ';
}

/* What people call a column that tells rows apart, though it may be data, too. */
static bool is_id_name(span cell)
{
    return is_word(cell, "id") || is_word(cell, "row") || is_word(cell, "nr") ||
           is_word(cell, "no") || is_word(cell, "#");
}

/* Whether a row is 0, 1, 2, .. or 1, 2, 3, ..; `cells` of them. */
static bool counts_columns(span text, char separator, int64_t *cells)
{
    span cell;
    int64_t first = -1;
    for (*cells = 0; next_cell(&text, separator, &cell); (*cells)++) {
        char digits[24];
        size_t length = (size_t)(cell.end - cell.at);
        if (length == 0 || length >= sizeof digits)
            return false;
        memcpy(digits, cell.at, length);
        digits[length] = '\0';
        if (strspn(digits, "0123456789") < length)
            return false;
        int64_t number = strtoll(digits, NULL, 10);
        first = *cells == 0 ? number : first;
        if (first > 1 || number != first + *cells)
            return false;
    }
    return first >= 0;
}

static bool is_index_name(span cell)
{
    return cell.at == cell.end || is_word(cell, "index") || is_word(cell, "Unnamed: 0") ||
           is_word(cell, "rownames");
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

/* A header of numbers, as pandas writes without an index: it counts three columns or more. Numbers
 * without a fraction below it may count as well: then the line is data, and that is said. */
static bool is_counting(table *t, row first, row second)
{
    const int64_t least = 3;
    int64_t cells;
    bool counts = counts_columns(first.text, t->separator, &cells) && cells >= least &&
                  count_cells(second.text, t->separator) == cells;
    t->counts_too = counts && !has_fraction(second.text, t->separator);
    return counts && !t->counts_too;
}

/* What the caller says holds. */
static void obey(table *t)
{
    t->header = t->words.header == IO_AUTO ? t->header : t->words.header == IO_YES;
    t->counts = t->counts && t->header;
    if (t->words.index == IO_AUTO)
        return;
    t->index = t->words.index == IO_YES;
    t->names = t->ids = false;
}

/* Whether the first row is a header, from its cells and from those of the second. A header has a
 * cell that is no number, beside the first one; or it is pandas' `,0,1,2`; or it counts. */
static void look_at_first_rows(table *t, row first, const row *second_or_null)
{
    span text = first.text, cell, head = {NULL, NULL};
    bool texts = false;
    int64_t cells = 0;
    for (; next_cell(&text, t->separator, &cell); cells++) {
        if (cells == 0)
            head = cell;
        else
            texts = texts || !is_number(cell);
    }
    if (!second_or_null)
        return;
    text = second_or_null->text;
    bool has_cell = next_cell(&text, t->separator, &cell);
    bool second_is_number = has_cell && is_number(cell);
    int64_t second = count_cells(second_or_null->text, t->separator);
    t->header = texts || second == cells + 1 || (cells == 1 && !is_number(head)) ||
                (cells > 1 && !is_number(head) && second_is_number);
    t->counts = !t->header && is_counting(t, first, *second_or_null);
    t->header = t->header || t->counts;
    bool names = has_cell && !second_is_number && cell.at < cell.end;
    t->ids = t->header && second > 1 && second_is_number && is_id_name(head);
    t->names = second > 1 && names && (t->header || !is_number(head));
    t->index =
        t->names || (t->header && second > 1 && (second == cells + 1 || is_index_name(head)));
}

/* Finds separator, header and index column; leaves `t` before the first row of numbers. */
static bool examine(table *t)
{
    row first, second;
    bool found, more;
    if (!next_row(t, &first, &found))
        return false;
    if (!found)
        return io_fail(t->err, IO_BAD_INPUT, "%s: there are no numbers in it", t->name);
    t->separator = find_separator(first.text);
    table after = *t;
    if (!next_row(&after, &second, &more))
        return false;
    look_at_first_rows(t, first, more ? &second : NULL);
    if (more)
        obey(t);
    if (!t->header) {
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
    bool found, ok;
    double last = -INFINITY, id = 0.0;
    dim[0] = dim[1] = 0;
    while ((ok = next_row(&t, &r, &found)) && found) {
        int64_t cells = count_cells(r.text, t.separator);
        span text = r.text, cell = {NULL, NULL};
        bool has = next_cell(&text, t.separator, &cell);
        if (t.names && has && is_number(cell))
            t.index = at->index = false;
        if (t.ids)
            t.ids = has && parse(&t, cell, &id) && id == floor(id) && id > last;
        last = id;
        if (dim[0]++ == 0) {
            first = r;
            dim[1] = cells;
        } else if (cells != dim[1]) {
            return io_fail(t.err, IO_BAD_INPUT,
                           "%s: line %lld has %lld cells, line %lld has %lld: all rows must be as "
                           "long",
                           t.name, (long long)r.line, (long long)cells, (long long)first.line,
                           (long long)dim[1]);
        }
    }
    t.index = at->index = t.index || t.ids;
    dim[1] -= t.index;
    if (!ok)
        return false;
    return (dim[0] > 0 && dim[1] > 0) ||
           io_fail(t.err, IO_BAD_INPUT, "%s: there are no numbers in it", t.name);
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool bad_cell(const table *t, const row *r, int64_t column, span cell)
{
    int length = cell.end - cell.at > 40 ? 40 : (int)(cell.end - cell.at);
    if (length == 0)
        return io_fail(t->err, IO_BAD_INPUT,
                       "%s: line %lld, column %lld is empty: every cell must hold a number",
                       t->name, (long long)r->line, (long long)column);
    return io_fail(t->err, IO_BAD_INPUT, "%s: line %lld, column %lld is not a number: \"%.*s\"",
                   t->name, (long long)r->line, (long long)column, length, cell.at);
}

static bool fill(table *t, double *x)
{
    row r;
    bool found;
    while (next_row(t, &r, &found) && found) { /* measure() has seen all rows already */
        span text = r.text, cell;
        for (int64_t column = 1; next_cell(&text, t->separator, &cell); column++) {
            if (column == 1 && t->index)
                continue;
            if (!parse(t, cell, x++))
                return bad_cell(t, &r, column, cell);
        }
    }
    return true;
}

/* Whether the first column counts the rows: data, or row numbers that nothing marks as such. */
static bool counts_rows(const int64_t dim[2], const double *x)
{
    for (int64_t i = 0; i < dim[0]; i++)
        if (x[i * dim[1]] != (double)i + x[0])
            return false;
    return dim[0] > 2 && dim[1] > 1 && (x[0] == 0.0 || x[0] == 1.0);
}

static void tell(const table *t, io_array *a)
{
    static const struct {
        char separator;
        const char *words;
    } names[] = {{'\t', "tabs"}, {';', "semicolons"}, {',', "commas"}, {' ', "spaces"}};
    const char *between = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].separator == t->separator)
            between = names[i].words;
    snprintf(a->note, sizeof a->note, "text, %lld x %lld numbers between %s%s%s%s%s%s%s",
             (long long)a->dim[0], (long long)a->dim[1], between,
             t->commas ? ", with decimal commas" : "", t->header || t->index ? "; left out: " : "",
             t->header ? "the header line" : "",
             t->counts ? " (it counts the columns; :no-header keeps it)" : "",
             t->header && t->index ? ", " : "", t->index ? "the first column, an index" : "");
    size_t used = strlen(a->note);
    if (t->counts_too && !t->header && t->words.header == IO_AUTO)
        snprintf(
            a->note + used, sizeof a->note - used,
            "; its first line counts the columns and is taken as data (:header leaves it out)");
    used = strlen(a->note);
    if (!t->index && t->words.index == IO_AUTO && counts_rows(a->dim, a->x))
        snprintf(a->note + used, sizeof a->note - used,
                 "; its first column counts the rows and is taken as data (:index leaves it out)");
}

static bool read_table(table *t, const io_place *place, io_array *out)
{
    if (!examine(t) || !measure(t, out->dim))
        return false;
    out->ndim = 2;
    out->x = io_array_new(place, t->name, 2, out->dim, t->err);
    if (!out->x)
        return false;
    if (fill(t, out->x)) {
        tell(t, out);
        return true;
    }
    io_array_drop(place, out->x);
    return false;
}

static bool check_text(const char *name, span *text, io_error *err)
{
    const unsigned char *b = (const unsigned char *)text->at;
    size_t size = (size_t)(text->end - text->at);
    if (size >= 2 && ((b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff)))
        return io_fail(err, IO_BAD_INPUT, "%s: UTF-16 text: save it as UTF-8", name);
    if (memchr(b, '\0', size))
        return io_fail(err, IO_BAD_INPUT, "%s: not text: there are zero bytes in it", name);
    if (size >= 3 && memcmp(b, "\xef\xbb\xbf", 3) == 0)
        text->at += 3;
    return true;
}

/* "header", "no-header", "index" and "no-index", with commas between them. */
bool io_table_words_read(const char *text, io_table_words *words)
{
    *words = (io_table_words){IO_AUTO, IO_AUTO};
    while (*text) {
        size_t length = strcspn(text, ",");
        span word = {text, text + length};
        if (is_word(word, "header") || is_word(word, "no-header"))
            words->header = length == strlen("header") ? IO_YES : IO_NO;
        else if (is_word(word, "index") || is_word(word, "no-index"))
            words->index = length == strlen("index") ? IO_YES : IO_NO;
        else
            return false;
        text += length + (text[length] == ',');
    }
    return true;
}

bool io_csv_read(const io_source *source, const char *words, const io_place *place, io_array *out,
                 io_error *err)
{
    unsigned char *own = NULL;
    size_t size = (size_t)source->size;
    if (!source->bytes && !io_slurp(source->path, &own, &size, err))
        return false;
    const char *bytes = (const char *)(source->bytes ? source->bytes : own);
    table t = {.name = source->name, .rest = {bytes, bytes + size}, .line = 1, .err = err};
    io_table_words_read(words ? words : "", &t.words);
    locale_t neutral = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t before = neutral ? uselocale(neutral) : (locale_t)0;
    bool ok = check_text(source->name, &t.rest, err) && read_table(&t, place, out);
    if (neutral) {
        uselocale(before);
        freelocale(neutral);
    }
    free(own);
    return ok;
}

bool io_csv_list(const io_source *source, io_listing *listing, io_error *err)
{
    io_array array = {0};
    char name[] = "";
    if (!io_csv_read(source, NULL, NULL, &array, err))
        return false;
    io_entry entry = {.name = name, .dtype = "text", .numeric = true, .ndim = 2};
    memcpy(entry.dim, array.dim, 2 * sizeof *array.dim);
    io_array_free(&array);
    return io_listing_add(listing, &entry) || io_no_memory(err, source->name);
}
