/* Reading sound files block by block; headers that promise too much are caught. */
#include "sound_format.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct io_sound_reader {
    char *name; /* for messages */
    io_source source;
    io_sound_bytes bytes;
    SNDFILE *sound;
    SF_INFO info;
    sf_count_t at; /* the next frame that libsndfile gives */
};

enum { BLOCK = 1 << 16 }; /* samples read at once where nobody says how many */

/* ---- what the header says ----------------------------------------------------------------- */

/* libsndfile shortens a file whose header promises more than is there, and notes it in its log as
 * "data : 80000 (should be 39978)". Sizes near 2 and 4 GiB are how streams are marked whose length
 * nobody knew; sizes of whole RIFF and FORM files are often 8 too large. */
static bool check_promise(const io_sound_reader *reader, io_error *err)
{
    const long long stream = 0x7f000000;
    char log[16384];

    sf_command(reader->sound, SFC_GET_LOG_INFO, log, sizeof log);
    for (char *next, *line = log; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *colon = strchr(line, ':'), *should = strstr(line, " (should be ");
        if (!colon || !should || strstr(line, "Bytes/sec") || strstr(line, "Block Align"))
            continue; /* the last two are no sizes, and nothing is made of them */
        long long promised = strtoll(colon + 1, NULL, 10), there = strtoll(should + 12, NULL, 10);
        bool whole = strstr(line, "RIFF") || strstr(line, "FORM") || strstr(line, "iff");
        if (promised < stream && promised > there + (whole ? 8 : 0))
            return io_fail(err, IO_BAD_INPUT,
                           "%s: cut short: its header promises %lld bytes, %lld are there",
                           reader->name, promised, there);
    }
    return true;
}

/* Compressed formats: what the header says need not be what comes out. */
static bool is_counted(int format)
{
    int container = format & SF_FORMAT_TYPEMASK;

    return container == SF_FORMAT_FLAC || container == SF_FORMAT_OGG ||
           container == SF_FORMAT_MPEG || container == SF_FORMAT_CAF;
}

static bool fail_short(const io_sound_reader *reader, int64_t frames, io_error *err)
{
    const char *why = sf_error(reader->sound) ? sf_strerror(reader->sound) : "cut short or damaged";

    return io_fail(err, IO_BAD_INPUT, "%s: ends at frame %lld of %lld: %s", reader->name,
                   (long long)frames, (long long)reader->info.frames, why);
}

/* Decodes all of it once. */
static bool count_frames(io_sound_reader *reader, io_error *err)
{
    static const int64_t unknown = SF_COUNT_MAX;
    int channels = reader->info.channels;
    double *block = malloc(BLOCK * sizeof *block);
    int64_t frames = 0, n;

    if (!block)
        return io_no_memory(err, reader->name);
    while ((n = sf_readf_double(reader->sound, block, BLOCK / channels)) > 0)
        frames += n;
    free(block);
    if (reader->info.frames != unknown && frames < reader->info.frames)
        return fail_short(reader, frames, err);
    reader->info.frames = frames;
    reader->at = frames;
    return true;
}

static bool check_info(io_sound_reader *reader, io_error *err)
{
    SF_INFO *info = &reader->info;

    if (info->channels < 1 || info->channels > 1024)
        return io_fail(err, IO_BAD_INPUT, "%s: %d channels are outside [1, 1024]", reader->name,
                       info->channels);
    if (info->samplerate < 1)
        return io_fail(err, IO_BAD_INPUT, "%s: a sample rate of %d Hz", reader->name,
                       info->samplerate);
    if (!check_promise(reader, err))
        return false;
    if ((is_counted(info->format) || info->frames == SF_COUNT_MAX) && !count_frames(reader, err))
        return false;
    return info->frames > 0 || io_fail(err, IO_BAD_INPUT, "%s: holds no samples", reader->name);
}

/* ---- open and close ----------------------------------------------------------------------- */

static bool open_bytes(io_sound_reader *reader, io_error *err)
{
    io_sound_bytes *bytes = &reader->bytes;

    bytes->bytes = reader->source.bytes;
    bytes->size = reader->source.size;
    bytes->fd = -1;
    if (bytes->bytes)
        return true;
    bytes->fd = open(reader->source.path, O_RDONLY | O_CLOEXEC);
    return bytes->fd >= 0 || io_fail(err, IO_BAD_INPUT, "%s: %s", reader->name, strerror(errno));
}

static bool open_sound(io_sound_reader *reader, io_error *err)
{
    reader->sound = io_sound_bytes_open(&reader->bytes, SFM_READ, &reader->info);
    if (reader->sound)
        return check_info(reader, err);
    if (sf_error(NULL) == SF_ERR_UNRECOGNISED_FORMAT)
        return io_fail_content(&reader->source, "not a sound file that can be read", err);
    return io_fail(err, IO_BAD_INPUT, "%s: %s", reader->name, sf_strerror(NULL));
}

bool io_sound_open(const char *path, io_sound_reader **out, io_sound_info *info, io_error *err)
{
    io_sound_reader *reader = calloc(1, sizeof *reader);

    *out = NULL;
    if (!reader)
        return io_no_memory(err, path);
    reader->bytes.fd = -1;
    if (!io_source_look(path, &reader->source, err)) {
        free(reader);
        return false;
    }
    reader->name = strdup(reader->source.name);
    if (!reader->name)
        io_no_memory(err, path);
    else if (open_bytes(reader, err) && open_sound(reader, err)) {
        *info = (io_sound_info){reader->info.frames, reader->info.channels, reader->info.samplerate,
                                reader->info.format};
        *out = reader;
        return true;
    }
    io_sound_close(reader);
    return false;
}

void io_sound_close(io_sound_reader *reader)
{
    if (!reader)
        return;
    if (reader->sound)
        sf_close(reader->sound);
    if (reader->bytes.fd >= 0)
        close(reader->bytes.fd);
    io_source_close(&reader->source);
    free(reader->name);
    free(reader);
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool check_finite(const io_sound_reader *reader, int64_t first, int64_t frames,
                         const double *x, io_error *err)
{
    int channels = reader->info.channels;

    for (int64_t i = 0; i < frames * channels; i++)
        if (!isfinite(x[i]))
            return io_fail(err, IO_BAD_INPUT, "%s: frame %lld, channel %lld is not finite",
                           reader->name, (long long)(first + i / channels),
                           (long long)(i % channels));
    return true;
}

bool io_sound_read_at(io_sound_reader *reader, int64_t first, int64_t frames, double *x,
                      io_error *err)
{
    if (first < 0 || frames < 0 || first > reader->info.frames - frames)
        return io_fail(err, IO_BAD_INPUT, "%s: frames %lld to %lld are not among its %lld",
                       reader->name, (long long)first, (long long)(first + frames),
                       (long long)reader->info.frames);
    if (first != reader->at && sf_seek(reader->sound, first, SEEK_SET) != first)
        return io_fail(err, IO_BAD_INPUT, "%s: cannot go to frame %lld: %s", reader->name,
                       (long long)first, sf_strerror(reader->sound));
    int64_t n = sf_readf_double(reader->sound, x, frames);
    reader->at = first + (n > 0 ? n : 0);
    return n == frames ? check_finite(reader, first, frames, x, err)
                       : fail_short(reader, reader->at, err);
}
