/* Chooses columns of text tables by name or number, and refuses columns that identify rows. */
#include "csv.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool io_span_is(io_span text, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(text.end - text.at) == length && strncasecmp(text.at, word, length) == 0;
}

/* ---- options ------------------------------------------------------------------------------ */

/* The text after `word` if `text` starts with it and is longer; else NULL. */
static const char *after(const char *text, const char *word)
{
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && text[length] ? text + length : NULL;
}

bool io_table_words_read(const char *text, io_table_words *words)
{
    *words = (io_table_words){.header = IO_ANSWER_AUTO};
    while (*text) {
        size_t length = strcspn(text, ",");
        io_span word = {text, text + length};
        words->columns = after(text, "columns=");
        words->drop = after(text, "drop=");
        if (words->columns || words->drop)
            return true;
        if (io_span_is(word, "header") || io_span_is(word, "no-header"))
            words->header = length == strlen("header") ? IO_ANSWER_YES : IO_ANSWER_NO;
        else if (io_span_is(word, "index") || io_span_is(word, "no-index"))
            words->index = length == strlen("index") ? IO_ANSWER_YES : IO_ANSWER_NO;
        else
            return false;
        text += length + (text[length] == ',');
    }
    return true;
}

bool io_table_words_valid(const char *text)
{
    io_table_words words;
    return io_table_words_read(text, &words);
}

/* ---- columns ------------------------------------------------------------------------------ */

enum { NAME = 32 };

static bool is_listed(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

/* Copies a name in lower case without brackets, units and separators: "time" for "Time (s)",
 * "time_ms" and "time [ms]", "subjectid" for "Subject ID". Cuts names that are too long. */
static void simplify(io_span name, char simple[NAME])
{
    static const char *const units[] = {"s", "sec", "seconds", "ms", "us", "ns", "min", "h", "utc"};
    size_t length = 0, word = 0; /* where the last word begins */
    int depth = 0;
    for (const char *c = name.at; c < name.end && length < NAME - 1; c++) {
        bool letter = isalnum((unsigned char)*c) || (unsigned char)*c >= 0x80;
        depth += *c == '(' || *c == '[';
        if (depth == 0 && letter)
            simple[length++] = (char)tolower((unsigned char)*c);
        else if (depth == 0)
            word = length;
        depth -= depth > 0 && (*c == ')' || *c == ']');
    }
    simple[length] = '\0';
    if (word > 0 && is_listed(simple + word, units, sizeof units / sizeof *units))
        simple[word] = '\0';
    length = strlen(simple);
    if (length > 2 && strcmp(simple + length - 2, "id") == 0)
        simple[length - 2] = '\0';
}

bool io_is_label_name(io_span name)
{
    static const char *const words[] = {
        "t",       "time",   "times", "timestamp", "date",      "datetime", "label",  "labels",
        "class",   "target", "index", "id",        "subject",   "sample",   "frame",  "trial",
        "session", "epoch",  "event", "group",     "condition", "cond",     "seconds"};
    char simple[NAME];
    simplify(name, simple);
    return is_listed(simple, words, sizeof words / sizeof *words);
}

static bool same(io_span a, io_span b)
{
    size_t length = (size_t)(a.end - a.at);
    return length == (size_t)(b.end - b.at) && (length == 0 || memcmp(a.at, b.at, length) == 0);
}

typedef enum marked { MARKED_NONE, MARKED_NEW, MARKED_AGAIN } marked;

static marked mark_one(bool value, bool *column)
{
    marked found = *column == value ? MARKED_AGAIN : MARKED_NEW;
    *column = value;
    return found;
}

/* Marks the columns of this name, or else the column of this number from 1. */
static marked mark(io_span wanted, int64_t count, const io_span *names, bool value, bool *marks)
{
    marked found = MARKED_NONE;
    double number;
    for (int64_t i = 0; i < count; i++)
        if (names[i].at < names[i].end && same(names[i], wanted))
            found = mark_one(value, &marks[i]);
    if (found != MARKED_NONE)
        return found;
    for (const char *c = wanted.at; c < wanted.end; c++)
        if (*c < '0' || *c > '9')
            return MARKED_NONE;
    if (!io_decimal(wanted.at, wanted.end, &number) || number < 1 || number > (double)count)
        return MARKED_NONE;
    return mark_one(value, &marks[(int64_t)number - 1]);
}

/* "time, label": the first names of a table. */
static void list(int64_t count, const io_span *names, char *text, size_t size)
{
    enum { FEW = 8 };
    size_t used = 0;
    int shown = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < count && used < size && shown < FEW; i++)
        if (names[i].at < names[i].end) {
            int length = names[i].end - names[i].at > 24 ? 24 : (int)(names[i].end - names[i].at);
            used += (size_t)snprintf(text + used, size - used, "%s%.*s", shown++ ? ", " : "",
                                     length, names[i].at);
        }
}

/* Marks all columns that a list names. A column to read may be named only once. */
static bool mark_list(tlnmf_ctx *ctx, const char *file, const char *wanted, int64_t count,
                      const io_span *names, bool value, bool *marks)
{
    char have[256];
    while (*wanted) {
        size_t length = strcspn(wanted, ",");
        int shown = (int)(length > 40 ? 40 : length);
        marked found = mark((io_span){wanted, wanted + length}, count, names, value, marks);
        if (found == MARKED_AGAIN && !value)
            return io_fail(ctx, TLNMF_ERR_INPUT,
                           "%s: --columns names the column \"%.*s\" twice; name each column once",
                           file, shown, wanted);
        if (found == MARKED_NONE) {
            list(count, names, have, sizeof have);
            return io_fail(ctx, TLNMF_ERR_INPUT, "%s: no column \"%.*s\"; it has %lld column%s%s%s",
                           file, shown, wanted, (long long)count, count == 1 ? "" : "s",
                           have[0] ? ": " : "", have);
        }
        wanted += length + (wanted[length] == ',');
    }
    return true;
}

/* Whether a shell needs quotes around the text. */
static const char *quote_for(const char *text)
{
    if (strchr(text, '\''))
        return "\"";
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("_-.,", *text))
            return "'";
    return "";
}

/* Refuses columns that identify rows. A first column that the caller declared not to be an index is
 * data. */
static bool refuse_labels(tlnmf_ctx *ctx, const char *file, const io_table_words *words,
                          int64_t count, const io_span *names, const bool *skip)
{
    char drop[128] = "";
    size_t used = 0, found = 0;
    for (int64_t i = words->index == IO_ANSWER_NO; i < count; i++)
        if (!skip[i] && io_is_label_name(names[i]) && used < sizeof drop)
            used += (size_t)snprintf(drop + used, sizeof drop - used, "%s%.*s", found++ ? "," : "",
                                     (int)(names[i].end - names[i].at), names[i].at);
    const char *quote = quote_for(drop);
    return found == 0 ||
           io_fail(ctx, TLNMF_ERR_INPUT,
                   "%s: these columns usually identify rows: %s. Use --drop %s%s%s to omit them, "
                   "or --columns NAME,.. to choose the columns to read",
                   file, drop, quote, drop, quote);
}

void io_column_advise(const io_table_words *words, io_span name, int64_t column, char *text,
                      size_t size)
{
    char drop[160], number[24];
    size_t length = (size_t)(name.end - name.at), used = 0;
    text[0] = '\0';
    if (words->columns && strcmp(words->columns, "*") != 0)
        return;
    snprintf(number, sizeof number, "%lld", (long long)column);
    bool by_name = length > 0 && length < sizeof drop / 2 && !memchr(name.at, ',', length);
    if (words->drop && strlen(words->drop) < sizeof drop / 2)
        used = (size_t)snprintf(drop, sizeof drop, "%s,", words->drop);
    snprintf(drop + used, sizeof drop - used, "%.*s", by_name ? (int)length : (int)strlen(number),
             by_name ? name.at : number);
    const char *quote = quote_for(drop);
    snprintf(text, size,
             ". Use --drop %s%s%s to omit the column, or --columns NAME,.. to choose the columns "
             "to read",
             quote, drop, quote);
}

bool io_columns_choose(tlnmf_ctx *ctx, const char *file, const io_table_words *words, int64_t count,
                       const io_span *names, bool *skip)
{
    if (words->columns) {
        bool all = strcmp(words->columns, "*") == 0;
        if (!all)
            memset(skip, true, (size_t)count * sizeof *skip);
        return all || mark_list(ctx, file, words->columns, count, names, false, skip);
    }
    if (words->drop && !mark_list(ctx, file, words->drop, count, names, true, skip))
        return false;
    return refuse_labels(ctx, file, words, count, names, skip);
}
