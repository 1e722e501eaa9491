/* Public functions: arrays, descriptions, whole files, names of files. */
#include "api.h"
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---------------------------------------------------------------------------------- */

tlnmf_error io_answer(tlnmf_ctx *ctx, bool ok, const io_error *err)
{
    static const tlnmf_error errors[] = {[IO_NONE] = TLNMF_OK,
                                         [IO_BAD_INPUT] = TLNMF_ERR_INPUT,
                                         [IO_NO_OUTPUT] = TLNMF_ERR_OUTPUT,
                                         [IO_NO_MEMORY] = TLNMF_ERR_MEMORY};

    return ok ? TLNMF_OK : tlnmf_fail(ctx, errors[err->fault], err->text);
}

tlnmf_error io_refuse(tlnmf_ctx *ctx, tlnmf_error error, const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return tlnmf_fail(ctx, error, text);
}

tlnmf_error io_keep_if(tlnmf_error error, tlnmf_record **record)
{
    if (error != TLNMF_OK) {
        tlnmf_record_free(*record);
        *record = NULL;
    }
    return error;
}

tlnmf_error io_need_column(tlnmf_ctx *ctx, const tlnmf_record *record, const char *name,
                           const double **x, int64_t *length)
{
    int64_t shape[TLNMF_MAX_RANK];
    int32_t rank;

    *x = tlnmf_get_array(record, name, &rank, shape);
    if (*x == NULL)
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "there is no array %s", name);
    if (rank != 1)
        return io_refuse(ctx, TLNMF_ERR_SHAPE, "%s has %d dimensions, not one", name, (int)rank);
    *length = shape[0];
    return TLNMF_OK;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* The record that an array is read into. */
typedef struct target {
    tlnmf_ctx *ctx;
    tlnmf_record *record;
} target;

static double *make_array(void *user, const char *name, int ndim, const int64_t *dim, io_error *err)
{
    target *to = user;
    double *x = NULL;

    if (ndim > TLNMF_MAX_RANK) {
        io_fail(err, IO_BAD_INPUT, "%s: %d dimensions, at most %d are read", name, ndim,
                TLNMF_MAX_RANK);
        return NULL;
    }
    if (tlnmf_new_array(to->ctx, to->record, "array", ndim, dim, &x) != TLNMF_OK)
        io_fail(err, IO_NO_MEMORY, "%s: out of memory for %lld numbers", name,
                (long long)io_count(ndim, dim));
    return x;
}

tlnmf_error tlnmf_io_read_array(tlnmf_ctx *ctx, const char *spec, tlnmf_record **out)
{
    target to = {.ctx = ctx};
    io_place place = {make_array, &to};
    io_array array;
    io_error err;

    IO_NEED(ctx, out);
    *out = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, spec);
    IO_TRY(tlnmf_record_create(ctx, out));
    to.record = *out;
    tlnmf_error error = io_answer(ctx, io_array_read(spec, &place, &array, &err), &err);
    if (error == TLNMF_OK && array.note[0] != '\0')
        error = tlnmf_set_text(ctx, *out, "note", array.note);
    return io_keep_if(error, out);
}

tlnmf_error tlnmf_io_write_array(tlnmf_ctx *ctx, const char *spec, const double *x, int32_t rank,
                                 const int64_t *shape)
{
    io_array array = {.ndim = rank, .x = (double *)(uintptr_t)x}; /* which is only read */
    io_error err;

    IO_NEED(ctx, ctx);
    IO_NEED(ctx, spec);
    IO_NEED(ctx, x);
    IO_NEED(ctx, shape);
    if (rank < 1 || rank > TLNMF_MAX_RANK)
        return io_refuse(ctx, TLNMF_ERR_SHAPE, "%s: %d dimensions, not 1 to %d", spec, (int)rank,
                         TLNMF_MAX_RANK);
    for (int d = 0; d < rank; d++)
        array.dim[d] = shape[d];
    if (io_count(rank, shape) < 0)
        return io_refuse(ctx, TLNMF_ERR_SHAPE, "%s: this shape is impossible", spec);
    return io_answer(ctx, io_array_write(spec, &array, &err), &err);
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static tlnmf_error put_json(tlnmf_ctx *ctx, const char *path, const json_t *object,
                            tlnmf_record **out)
{
    char *text = json_dumps(object, JSON_INDENT(2));

    if (text == NULL)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", path);
    tlnmf_error error = tlnmf_record_create(ctx, out);
    if (error == TLNMF_OK)
        error = io_keep_if(tlnmf_set_text(ctx, *out, "json", text), out);
    free(text);
    return error;
}

tlnmf_error tlnmf_io_describe(tlnmf_ctx *ctx, const char *path, tlnmf_record **out)
{
    io_error err;

    IO_NEED(ctx, out);
    *out = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    json_t *object = io_describe(path, &err);
    if (object == NULL)
        return io_answer(ctx, false, &err);
    tlnmf_error error = put_json(ctx, path, object, out);
    json_decref(object);
    return error;
}

/* ---- whole files ----------------------------------------------------------------------------- */

tlnmf_error tlnmf_io_write_file(tlnmf_ctx *ctx, const char *path, const void *bytes, size_t size)
{
    io_error err;

    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, bytes);
    return io_answer(ctx, io_publish(path, bytes, size, &err), &err);
}

/* The names in `list`, of which there are `count`, become safe; `safe` has as many places. */
static tlnmf_error make_safe(tlnmf_ctx *ctx, const char *const *list, size_t count, char **safe,
                             tlnmf_record **out)
{
    io_error err;

    IO_TRY(io_answer(ctx, io_safe_stems(list, (int64_t)count, safe, &err), &err));
    tlnmf_error error = tlnmf_record_create(ctx, out);
    if (error == TLNMF_OK)
        error =
            io_keep_if(tlnmf_set_texts(ctx, *out, "names", (const char *const *)safe, count), out);
    for (size_t i = 0; i < count; i++)
        free(safe[i]);
    return error;
}

tlnmf_error tlnmf_io_safe_names(tlnmf_ctx *ctx, const tlnmf_record *names, tlnmf_record **safe)
{
    size_t count = 0;

    IO_NEED(ctx, safe);
    *safe = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, names);
    if (tlnmf_record_type(names, "names") != TLNMF_TEXTS)
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "there is no list of texts called names");
    while (tlnmf_get_text_at(names, "names", count) != NULL)
        count++;
    const char **list = calloc(count + 1, sizeof *list);
    char **made = calloc(count + 1, sizeof *made);
    for (size_t i = 0; list != NULL && i < count; i++)
        list[i] = tlnmf_get_text_at(names, "names", i);
    tlnmf_error error =
        list != NULL && made != NULL
            ? make_safe(ctx, list, count, made, safe)
            : io_refuse(ctx, TLNMF_ERR_MEMORY, "out of memory for %zu names", count);
    free(list);
    free(made);
    return error;
}
