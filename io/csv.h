/* Columns of text tables: the caller's options, and columns that do not hold data. */
#ifndef TLNMF_IO_CSV_H
#define TLNMF_IO_CSV_H

#include "files.h"

/* A stretch of the text. */
typedef struct io_span {
    const char *at, *end;
} io_span;

/* Whether the text is this word; upper and lower case are the same. */
bool io_span_is(io_span text, const char *word);

/* The caller's options. */
typedef enum io_answer { IO_ANSWER_AUTO, IO_ANSWER_YES, IO_ANSWER_NO } io_answer;
typedef struct io_table_words {
    io_answer header, index; /* for the first line and the first column */
    const char *columns;     /* columns to read, as names or numbers with commas; NULL: all */
    const char *drop;        /* columns to skip */
} io_table_words;

/* Reads "header", "no-header", "index" and "no-index" with commas between them, and "columns=A,B"
 * or "drop=A,B" at the end. False if the text is anything else. */
bool io_table_words_read(const char *text, io_table_words *words);

/* Whether a column of this name usually identifies rows: time, Time (s), label, Subject ID, .. */
bool io_is_label_name(io_span name);

/* Sets skip[i] for each column that the options omit. Without the option `columns` it refuses names
 * that usually identify rows. A name is empty if the column has none. skip[0] is true for an index
 * column. */
bool io_columns_choose(tlnmf_ctx *ctx, const char *file, const io_table_words *words, int64_t count,
                       const io_span *names, bool *skip);

/* Lists the first columns of a table: "time, label and 3 more". `only` marks the columns, which
 * have their numbers from 1 if they have no name; NULL: all that have a name. */
enum { IO_COLUMNS_TEXT = 256 };
void io_columns_list(int64_t count, const io_span *names, const bool *only_or_null, char *text,
                     size_t size);

/* How to omit a column that holds text: ". Use --drop NAME to ..", or "" with the option `columns`.
 * The column has its number from 1 and a name or an empty one. */
void io_column_advise(const io_table_words *words, io_span name, int64_t column, char *text,
                      size_t size);

#endif
