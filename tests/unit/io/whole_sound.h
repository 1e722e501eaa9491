/* Whole sound files for tests, on the readers and writers of blocks. */
#ifndef TLNMF_TEST_WHOLE_SOUND_H
#define TLNMF_TEST_WHOLE_SOUND_H

#include "io/io.h"

#include <sndfile.h>
#include <stdlib.h>

typedef struct whole_sound {
    io_sound_info info;
    double *x; /* NULL after a failure */
} whole_sound;

static inline bool read_whole(const char *path, whole_sound *out, io_error *err)
{
    io_sound_reader *reader;

    *out = (whole_sound){.x = NULL};
    if (!io_sound_open(path, &reader, &out->info, err))
        return false;
    out->x = malloc((size_t)(out->info.frames * out->info.channels) * sizeof *out->x);
    if (!out->x)
        io_set_error(err, IO_NO_MEMORY, "%s: out of memory", path);
    if (out->x && !io_sound_read_at(reader, 0, out->info.frames, out->x, err)) {
        free(out->x);
        out->x = NULL;
    }
    io_sound_close(reader);
    return out->x != NULL;
}

/* As 32-bit floats, or 24 bits in FLAC. */
static inline bool write_whole(const char *path, const double *x, const io_sound_info *shape,
                               int64_t *clipped, io_error *err)
{
    io_sound_writer *writer;
    io_sound_info info = *shape;

    info.format = io_sound_format_like(path, SF_FORMAT_FLOAT, info.frames, info.channels, err);
    if (!info.format || !io_sound_create(path, &info, &writer, err))
        return false;
    if (!io_sound_append(writer, x, info.frames, err)) {
        io_sound_abort(writer);
        return false;
    }
    *clipped = io_sound_clipped(writer);
    return io_sound_commit(writer, err);
}

#endif
