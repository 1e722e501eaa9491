/* Public functions: sound files as sounds, and writing signals piece by piece. */
#include "api.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* The open file of a sound. A sound may be read by several threads, libsndfile's handle by one. */
typedef struct open_file {
    pthread_mutex_t lock;
    io_sound_reader *reader;
    io_error err; /* of the last read */
} open_file;

static int read_file(int64_t first, int64_t count, double *x, void *user)
{
    open_file *file = user;

    pthread_mutex_lock(&file->lock);
    file->err.fault = IO_NONE;
    bool ok = io_sound_read_at(file->reader, first, count, x, &file->err);
    pthread_mutex_unlock(&file->lock);
    return ok ? 0 : 1;
}

/* Answers once for each failure, so that a later call that fails for another reason says so. */
static tlnmf_error why_not(char *text, size_t size, void *user)
{
    open_file *file = user;

    pthread_mutex_lock(&file->lock);
    snprintf(text, size, "%s", file->err.text);
    tlnmf_error error = io_answer(NULL, file->err.fault == IO_NONE, &file->err);
    file->err.fault = IO_NONE;
    pthread_mutex_unlock(&file->lock);
    return error;
}

static void close_file(void *user)
{
    open_file *file = user;

    io_sound_close(file->reader);
    pthread_mutex_destroy(&file->lock);
    free(file);
}

static tlnmf_error make_sound(tlnmf_ctx *ctx, const char *path, open_file *file,
                              const io_sound_info *info, tlnmf_sound **out)
{
    IO_TRY(tlnmf_sound_create(ctx, info->frames, info->channels, info->rate, read_file, file, out));
    tlnmf_error error = tlnmf_set_text(ctx, tlnmf_sound_notes(*out), "file", path);
    if (error == TLNMF_OK)
        error = tlnmf_set_integer(ctx, tlnmf_sound_notes(*out), "format", info->format);
    if (error == TLNMF_OK) {
        tlnmf_sound_own(*out, close_file, why_not, file);
        return TLNMF_OK;
    }
    tlnmf_sound_free(*out);
    *out = NULL;
    return error;
}

tlnmf_error tlnmf_io_open_sound(tlnmf_ctx *ctx, const char *path, tlnmf_sound **out)
{
    io_sound_info info;
    io_error err;

    IO_NEED(ctx, out);
    *out = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    open_file *file = calloc(1, sizeof *file);
    if (file == NULL || pthread_mutex_init(&file->lock, NULL) != 0) {
        free(file);
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", path);
    }
    tlnmf_error error = io_answer(ctx, io_sound_open(path, &file->reader, &info, &err), &err);
    if (error == TLNMF_OK)
        error = make_sound(ctx, path, file, &info, out);
    if (error != TLNMF_OK)
        close_file(file);
    return error;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct tlnmf_io_writer {
    io_sound_writer *file;
    tlnmf_record *record;
};

/* What a file at `path` with sound like this one is. */
static tlnmf_error choose_format(tlnmf_ctx *ctx, const char *path, const tlnmf_sound *like,
                                 io_sound_info *info)
{
    const tlnmf_record *record = tlnmf_sound_record(like);
    int64_t format = tlnmf_get_integer(record, "format");
    double rate = tlnmf_get_real(record, "rate");
    io_error err;

    *info = (io_sound_info){0};
    if (!(rate >= 1 && rate <= INT_MAX && rate == floor(rate)))
        return io_refuse(ctx, TLNMF_ERR_OUTPUT,
                         "%s: cannot write: the rate is %.10g Hz, that of a file is a whole number",
                         path, rate);
    *info = (io_sound_info){tlnmf_get_integer(record, "length"),
                            (int)tlnmf_get_integer(record, "channels"), (int)rate, 0};
    info->format =
        io_sound_format_like(path, format == TLNMF_NO_INTEGER ? SF_FORMAT_FLOAT : (int)format,
                             info->frames, info->channels, &err);
    return io_answer(ctx, info->format != 0, &err);
}

static tlnmf_error make_record(tlnmf_ctx *ctx, const io_sound_info *info, tlnmf_record **out)
{
    IO_TRY(tlnmf_record_create(ctx, out));
    IO_TRY(tlnmf_set_integer(ctx, *out, "clipped", 0));
    IO_TRY(tlnmf_set_integer(ctx, *out, "bytes", io_sound_size(info)));
    return tlnmf_set_real(ctx, *out, "step", io_sound_step(info->format));
}

tlnmf_error tlnmf_io_writer_create(tlnmf_ctx *ctx, const char *path, const tlnmf_sound *like,
                                   tlnmf_io_writer **out)
{
    io_sound_info info;
    io_error err;

    IO_NEED(ctx, out);
    *out = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, like);
    IO_TRY(choose_format(ctx, path, like, &info));
    tlnmf_io_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", path);
    tlnmf_error error = make_record(ctx, &info, &writer->record);
    if (error == TLNMF_OK)
        error = io_answer(ctx, io_sound_create(path, &info, &writer->file, &err), &err);
    if (error == TLNMF_OK)
        error = tlnmf_set_text(ctx, writer->record, "temporary", io_sound_temporary(writer->file));
    if (error == TLNMF_OK)
        *out = writer;
    else
        tlnmf_io_writer_abort(writer);
    return error;
}

tlnmf_error tlnmf_io_writer_append(tlnmf_ctx *ctx, tlnmf_io_writer *writer, const double *x,
                                   int64_t count)
{
    io_error err;

    IO_NEED(ctx, ctx);
    IO_NEED(ctx, writer);
    IO_NEED(ctx, x);
    if (count < 0)
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "count = %lld samples", (long long)count);
    tlnmf_error error = io_answer(ctx, io_sound_append(writer->file, x, count, &err), &err);
    tlnmf_error noted =
        tlnmf_set_integer(ctx, writer->record, "clipped", io_sound_clipped(writer->file));
    return error != TLNMF_OK ? error : noted;
}

const tlnmf_record *tlnmf_io_writer_record(const tlnmf_io_writer *writer)
{
    return writer == NULL ? NULL : writer->record;
}

static void free_writer(tlnmf_io_writer *writer)
{
    tlnmf_record_free(writer->record);
    free(writer);
}

tlnmf_error tlnmf_io_writer_commit(tlnmf_ctx *ctx, tlnmf_io_writer *writer)
{
    io_error err;

    IO_NEED(ctx, writer);
    if (ctx == NULL) {
        tlnmf_io_writer_abort(writer);
        return TLNMF_ERR_ARGUMENT;
    }
    bool ok = io_sound_commit(writer->file, &err);
    free_writer(writer);
    return io_answer(ctx, ok, &err);
}

void tlnmf_io_writer_abort(tlnmf_io_writer *writer)
{
    if (writer == NULL)
        return;
    io_sound_abort(writer->file);
    free_writer(writer);
}
