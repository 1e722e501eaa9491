/* Writing sound files block by block: formats, rounding, clipping. */
#include "sound_format.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct io_sound_writer {
    char *path;
    io_output output;
    io_sound_bytes bytes; /* the temporary, or memory where the output cannot seek */
    SNDFILE *sound;
    int channels, bits; /* bits = 0: floating point */
    double largest;     /* of floating point */
    int64_t frames, most, clipped;
};

/* ---- formats ------------------------------------------------------------------------------ */

/* Bits of a sample as a whole number, 0 for floating point and for everything lossy but the
 * logarithmic and difference codes of 16 bits and less. */
static int bits_of(int format)
{
    switch (format & SF_FORMAT_SUBMASK) {
    case SF_FORMAT_PCM_32:
    case SF_FORMAT_ALAC_32:
        return 32;
    case SF_FORMAT_PCM_24:
    case SF_FORMAT_ALAC_24:
    case SF_FORMAT_ALAC_20:
    case SF_FORMAT_DWVW_24:
        return 24;
    case SF_FORMAT_FLOAT:
    case SF_FORMAT_DOUBLE:
    case SF_FORMAT_VORBIS:
    case SF_FORMAT_OPUS:
    case SF_FORMAT_MPEG_LAYER_I:
    case SF_FORMAT_MPEG_LAYER_II:
    case SF_FORMAT_MPEG_LAYER_III:
    case SF_FORMAT_DWVW_N:
        return 0;
    default:
        return 16;
    }
}

static int sample_format(int bits, bool is_double)
{
    if (bits == 0)
        return is_double ? SF_FORMAT_DOUBLE : SF_FORMAT_FLOAT;
    return bits == 16 ? SF_FORMAT_PCM_16 : bits == 24 ? SF_FORMAT_PCM_24 : SF_FORMAT_PCM_32;
}

double io_sound_step(int format)
{
    int bits = bits_of(format);

    return bits == 0 ? 0 : ldexp(1, 1 - bits);
}

static int64_t bytes_of(int format)
{
    int bits = bits_of(format);

    return bits > 0 ? bits / 8 : (format & SF_FORMAT_SUBMASK) == SF_FORMAT_DOUBLE ? 8 : 4;
}

/* Frames that fit a WAV file, whose header counts bytes with 32 bits. */
static int64_t most_frames(int format, int channels)
{
    if ((format & SF_FORMAT_TYPEMASK) != SF_FORMAT_WAV)
        return INT64_MAX;
    return (INT64_C(0xffffffff) - 4096) / bytes_of(format) / channels;
}

int io_sound_format_like(const char *path, int like, int64_t frames, int channels, io_error *err)
{
    size_t length = strlen(path);
    int bits = bits_of(like);
    bool is_double = (like & SF_FORMAT_SUBMASK) == SF_FORMAT_DOUBLE;

    if (io_has_extension(path, length, ".flac"))
        return SF_FORMAT_FLAC | (bits == 16 ? SF_FORMAT_PCM_16 : SF_FORMAT_PCM_24);
    if (io_has_extension(path, length, ".w64"))
        return SF_FORMAT_W64 | sample_format(bits, is_double);
    if (strcmp(path, "-") != 0 && !io_has_extension(path, length, ".wav")) {
        io_fail(err, IO_NO_OUTPUT, "%s: sound is written as .wav, .flac or .w64", path);
        return 0;
    }
    int format = SF_FORMAT_WAV | sample_format(bits, is_double);
    if (channels < 1 || frames <= most_frames(format, channels))
        return format;
    return SF_FORMAT_RF64 | sample_format(bits, is_double);
}

int64_t io_sound_size(const io_sound_info *info)
{
    int64_t frame = bytes_of(info->format) * info->channels;
    bool is_flac = (info->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC;

    if (frame < 1 || info->frames < 0 || info->frames > INT64_MAX / frame)
        return 0;
    return info->frames * frame / (is_flac ? 2 : 1);
}

/* ---- open, commit, abort ------------------------------------------------------------------ */

static bool open_sound(io_sound_writer *writer, const io_sound_info *info, io_error *err)
{
    SF_INFO sf = {.samplerate = info->rate, .channels = info->channels, .format = info->format};

    writer->bytes.fd = writer->output.temporary ? writer->output.fd : -1;
    if (!sf_format_check(&sf))
        return io_fail(err, IO_NO_OUTPUT,
                       "%s: cannot write: this format does not support %d channels at %d Hz",
                       writer->output.name, info->channels, info->rate);
    if (writer->bytes.fd >= 0 && (info->format & SF_FORMAT_TYPEMASK) != SF_FORMAT_FLAC &&
        !io_reserve(writer->bytes.fd, io_sound_size(info)))
        return io_output_failed(&writer->output, errno, err);
    writer->sound = io_sound_bytes_open(&writer->bytes, SFM_WRITE, &sf);
    if (writer->bytes.why)
        return io_output_failed(&writer->output, writer->bytes.why, err);
    if (!writer->sound)
        return io_fail(err, IO_NO_OUTPUT, "%s: cannot write: %s", writer->output.name,
                       sf_strerror(NULL));
    /* The peak chunk carries the time of day. */
    sf_command(writer->sound, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
    return true;
}

bool io_sound_create(const char *path, const io_sound_info *info, io_sound_writer **out,
                     io_error *err)
{
    io_sound_writer *writer = calloc(1, sizeof *writer);

    *out = NULL;
    if (!writer)
        return io_no_memory(err, path);
    *writer = (io_sound_writer){
        .path = strdup(path),
        .output.fd = -1,
        .channels = info->channels,
        .bits = bits_of(info->format),
        .largest = bytes_of(info->format) == 8 ? DBL_MAX : FLT_MAX,
        .most = info->channels < 1 ? 0 : most_frames(info->format, info->channels)};
    bool ok =
        writer->path ? io_output_open(writer->path, &writer->output, err) : io_no_memory(err, path);
    if (ok && open_sound(writer, info, err)) {
        *out = writer;
        return true;
    }
    io_sound_abort(writer);
    return false;
}

static void free_writer(io_sound_writer *writer)
{
    free(writer->bytes.bytes);
    free(writer->path);
    free(writer);
}

void io_sound_abort(io_sound_writer *writer)
{
    if (!writer)
        return;
    if (writer->sound)
        sf_close(writer->sound);
    io_output_abort(&writer->output);
    free_writer(writer);
}

bool io_sound_commit(io_sound_writer *writer, io_error *err)
{
    const io_sound_bytes *bytes = &writer->bytes;
    int failed = sf_close(writer->sound), why = bytes->why;

    writer->sound = NULL;
    if (!failed && !why && bytes->fd < 0 &&
        !io_write_all(writer->output.fd, bytes->bytes, (size_t)bytes->size))
        why = errno;
    bool ok = !why && !failed;
    if (why)
        io_output_set_error(&writer->output, why, err);
    else if (failed)
        io_fail(err, IO_NO_OUTPUT, "%s: cannot write: %s", writer->output.name,
                sf_error_number(failed));
    else
        ok = io_output_commit(&writer->output, err);
    io_output_abort(&writer->output);
    free_writer(writer);
    return ok;
}

int64_t io_sound_clipped(const io_sound_writer *writer)
{
    return writer->clipped;
}

const char *io_sound_temporary(const io_sound_writer *writer)
{
    return writer->output.temporary ? writer->output.temporary : "";
}

/* ---- samples ------------------------------------------------------------------------------ */

enum { BLOCK = 8192 };

/* As the 32-bit whole number whose upper bits are the sample: libsndfile's own conversion from
 * double would scale by 2^15 - 1 what it reads as 2^15, and cut off when it clips. */
static int quantise(io_sound_writer *writer, double x)
{
    double top = ldexp(1, writer->bits - 1), y = nearbyint(x * top);

    if (y > top - 1 || y < -top) {
        writer->clipped++;
        y = y < 0 ? -top : top - 1;
    }
    return (int)ldexp(y, 32 - writer->bits);
}

static bool write_whole_numbers(io_sound_writer *writer, const double *x, int64_t count)
{
    int block[BLOCK];
    int64_t most =
        (int64_t)(BLOCK / writer->channels) * writer->channels; /* libsndfile wants whole frames */

    for (int64_t done = 0; done < count;) {
        int64_t n = count - done < most ? count - done : most;
        for (int64_t i = 0; i < n; i++)
            block[i] = quantise(writer, x[done + i]);
        if (sf_write_int(writer->sound, block, n) != n)
            return false;
        done += n;
    }
    return true;
}

bool io_sound_append(io_sound_writer *writer, const double *x, int64_t frames, io_error *err)
{
    int channels = writer->channels;
    const char *name = writer->output.name;

    if (frames > writer->most - writer->frames)
        return io_fail(err, IO_NO_OUTPUT, "%s: %lld frames are more than a .wav file can hold",
                       name, (long long)(writer->frames + frames));
    for (int64_t i = 0; i < frames * channels; i++)
        if (!(fabs(x[i]) <= writer->largest))
            return io_fail(err, IO_NO_OUTPUT, "%s: frame %lld, channel %lld is not finite", name,
                           (long long)(writer->frames + i / channels), (long long)(i % channels));
    bool ok = writer->bits > 0 ? write_whole_numbers(writer, x, frames * channels)
                               : sf_writef_double(writer->sound, x, frames) == frames;
    writer->frames += frames;
    if (writer->bytes.why)
        return io_output_failed(&writer->output, writer->bytes.why, err);
    return ok ||
           io_fail(err, IO_NO_OUTPUT, "%s: cannot write: %s", name, sf_strerror(writer->sound));
}
