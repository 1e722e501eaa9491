/* What the public functions of tlnmf/io.h share: from io_error to the message of a context. */
#ifndef TLNMF_IO_API_H
#define TLNMF_IO_API_H

#include "io.h"
#include "tlnmf/io.h"

/* TLNMF_OK, or the error that the fault means, with its text as the context's message. */
tlnmf_error io_answer(tlnmf_ctx *ctx, bool ok, const io_error *err);

/* Sets the message and returns `error`. */
tlnmf_error io_refuse(tlnmf_ctx *ctx_or_null, tlnmf_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Frees the record and empties the pointer unless `error` is TLNMF_OK; returns `error`. For the end
 * of a function that fills in a record. */
tlnmf_error io_keep_if(tlnmf_error error, tlnmf_record **record);

/* An array of one dimension: its length. An error that names the record's name if it is missing or
 * has another shape. */
tlnmf_error io_need_column(tlnmf_ctx *ctx, const tlnmf_record *record, const char *name,
                           const double **x, int64_t *length);

/* Leaves a public function with TLNMF_ERR_ARGUMENT if the argument is NULL; the message names it.
 */
#define IO_NEED(ctx, argument)                                                    \
    do {                                                                          \
        if ((argument) == NULL)                                                   \
            return io_refuse((ctx), TLNMF_ERR_ARGUMENT, "%s is NULL", #argument); \
    } while (0)

/* Leaves the function with the error, if there is one. */
#define IO_TRY(call)                     \
    do {                                 \
        tlnmf_error try_error_ = (call); \
        if (try_error_ != TLNMF_OK)      \
            return try_error_;           \
    } while (0)

#endif
