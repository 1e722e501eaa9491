/* Reads and writes whole sound files, with the readers and writers of blocks. */
#ifndef TLNMF_TEST_WHOLE_SOUND_H
#define TLNMF_TEST_WHOLE_SOUND_H

#include "io/files.h"

#include <sndfile.h>
#include <stdlib.h>

typedef struct whole_sound {
    io_sound_info info;
    double *x; /* NULL after a failure */
} whole_sound;

static inline bool read_whole(tlnmf_ctx *ctx, const char *path, whole_sound *out)
{
    tlnmf_sound *sound;

    *out = (whole_sound){.x = NULL};
    if (tlnmf_io_open_sound(ctx, path, &sound) != TLNMF_OK)
        return false;
    out->info = io_sound_info_of(sound);
    out->x = malloc((size_t)(out->info.frames * out->info.channels) * sizeof *out->x);
    if (!out->x)
        io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", path);
    if (out->x && tlnmf_sound_read(ctx, sound, 0, out->info.frames, out->x) != TLNMF_OK) {
        free(out->x);
        out->x = NULL;
    }
    tlnmf_sound_free(sound);
    return out->x != NULL;
}

static inline int64_t clipped_by(const tlnmf_io_writer *writer)
{
    return tlnmf_record_get_integer(tlnmf_io_writer_record(writer), "clipped");
}

/* As 32-bit floats, or 24 bits in FLAC. */
static inline bool write_whole(tlnmf_ctx *ctx, const char *path, const double *x,
                               const io_sound_info *shape, int64_t *clipped)
{
    tlnmf_io_writer *writer;
    io_sound_info info = *shape;

    info.format = io_sound_format_like(ctx, path, SF_FORMAT_FLOAT, info.frames, info.channels);
    if (!info.format || !io_sound_create(ctx, path, &info, &writer))
        return false;
    if (tlnmf_io_writer_append(ctx, writer, x, info.frames) != TLNMF_OK) {
        tlnmf_io_writer_abort(writer);
        return false;
    }
    *clipped = clipped_by(writer);
    return tlnmf_io_writer_commit(ctx, writer) == TLNMF_OK;
}

#endif
