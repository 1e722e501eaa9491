/* Records inside the library: values that refer to memory instead of copying it. */
#ifndef TLNMF_BASE_RECORD_H
#define TLNMF_BASE_RECORD_H

#include "base/base.h"

/* Refers to a text that outlives the record, such as a literal; setting it again allocates
 * nothing. */
tlnmf_error tl_record_refer_text(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                 const char *text);
/* Refers to an array in a block that the record owns (below), or that outlives it. */
tlnmf_error tl_record_refer_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                  const double *x, int32_t dimensions, const int64_t *shape);
/* Adds a zeroed array that the record owns, for the caller to fill in. */
tlnmf_error tl_record_new_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                int32_t dimensions, const int64_t *shape, double **x);
/* The same, of rows x columns, with the rows of the array that has this name. TLNMF_ERR_DATA if its
 * rows are of another length. */
tlnmf_error tl_record_table(tlnmf_ctx *ctx, tlnmf_record *record, const char *name, int64_t rows,
                            int64_t columns, double **x);
/* The record releases the block when it is freed. Cannot fail. A record owns at most
 * TL_RECORD_BLOCKS of them. */
enum { TL_RECORD_BLOCKS = 8 };
void tl_record_own(tlnmf_record *record, void *block);

/* A text or a list of texts as a record stores it: `count` consecutive strings, each with its
 * NUL. */
typedef struct tl_texts {
    const char *bytes;
    size_t size, count;
    bool list; /* TLNMF_TYPE_TEXTS; else TLNMF_TYPE_TEXT, of count 1 */
} tl_texts;

tl_texts tl_record_texts(const tlnmf_record *record, const char *name); /* the name must exist */
tlnmf_error tl_record_put_texts(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                tl_texts texts); /* a copy */

/* Copies a value of `from`, which must have it, under the same name. */
tlnmf_error tl_record_copy(tlnmf_ctx *ctx, const tlnmf_record *from, const char *name,
                           tlnmf_record *to);

/* The number of elements of a shape; an error if the shape is invalid or too large for memory. */
tlnmf_error tl_count_elements(tlnmf_ctx *ctx, const char *name, int32_t dimensions,
                              const int64_t *shape, size_t *count);

/* The array of a name; NULL if there is no such array. TLNMF_ERR_SHAPE if its shape differs; the
 * message names both shapes and calls the record `what`. */
tlnmf_error tl_record_expect(tlnmf_ctx *ctx, const tlnmf_record *record, const char *what,
                             const char *name, int32_t dimensions, const int64_t *shape,
                             const double **x);

/* Frees the record and sets the pointer to NULL unless `error` is TLNMF_OK. Returns `error`, for
 * the end of functions that fill a record. */
tlnmf_error tl_record_keep_if(tlnmf_error error, tlnmf_record **record);

#endif
