/* Writes sound files in pieces: formats, rounding, clipping. */
#include "sound_bytes.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tlnmf_io_writer {
    tlnmf_record *record;
    char *path;
    io_output output;
    io_sound_bytes bytes; /* the temporary, or memory where the output cannot seek */
    SNDFILE *sound;
    int channels, bits; /* bits = 0: floating point */
    double largest;     /* of floating point */
    int64_t frames, most, clipped;
    bool failed; /* an append failed: the file would be incomplete */
};

/* ---- formats ------------------------------------------------------------------------------ */

/* Bits of an integer sample. 0 for floating point and for lossy formats, except the logarithmic and
 * difference codes of at most 16 bits. */
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

static int64_t bytes_of(int format)
{
    int bits = bits_of(format);

    return bits > 0 ? bits / 8 : (format & SF_FORMAT_SUBMASK) == SF_FORMAT_DOUBLE ? 8 : 4;
}

/* Frames that fit into a WAV file, whose header counts bytes in 32 bits. */
static int64_t most_frames(int format, int channels)
{
    if ((format & SF_FORMAT_TYPEMASK) != SF_FORMAT_WAV)
        return INT64_MAX;
    return (INT64_C(0xffffffff) - 4096) / bytes_of(format) / channels;
}

int io_sound_format_like(tlnmf_ctx *ctx, const char *path, int like, int64_t frames, int channels)
{
    size_t length = strlen(path);
    int bits = bits_of(like);
    bool is_double = (like & SF_FORMAT_SUBMASK) == SF_FORMAT_DOUBLE;

    if (io_has_extension(path, length, ".flac"))
        return SF_FORMAT_FLAC | (bits == 16 ? SF_FORMAT_PCM_16 : SF_FORMAT_PCM_24);
    if (io_has_extension(path, length, ".w64"))
        return SF_FORMAT_W64 | sample_format(bits, is_double);
    if (strcmp(path, "-") != 0 && !io_has_extension(path, length, ".wav")) {
        io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: sound is written as .wav, .flac or .w64", path);
        return 0;
    }
    int format = SF_FORMAT_WAV | sample_format(bits, is_double);
    if (channels < 1 || frames <= most_frames(format, channels))
        return format;
    return SF_FORMAT_RF64 | sample_format(bits, is_double);
}

/* The approximate size of the file in bytes; for FLAC half the size of the samples. */
static int64_t size_of(const io_sound_info *info)
{
    int64_t frame = bytes_of(info->format) * info->channels;
    bool is_flac = (info->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC;

    if (frame < 1 || info->frames < 0 || info->frames > INT64_MAX / frame)
        return 0;
    return info->frames * frame / (is_flac ? 2 : 1);
}

/* ---- samples ------------------------------------------------------------------------------ */

enum { BLOCK = 2048 }; /* samples; more than a frame has channels */

/* Returns a 32-bit integer whose upper bits are the sample. libsndfile's own conversion from double
 * scales by 2^15 - 1 when writing but by 2^15 when reading, and truncates when it clips. */
static int quantise(tlnmf_io_writer *writer, double x)
{
    double top = ldexp(1, writer->bits - 1), y = nearbyint(x * top);

    if (y > top - 1 || y < -top) {
        writer->clipped++;
        y = y < 0 ? -top : top - 1;
    }
    return (int)ldexp(y, 32 - writer->bits);
}

static bool write_integers(tlnmf_io_writer *writer, const double *x, int64_t count)
{
    int block[BLOCK];
    int64_t most =
        (int64_t)(BLOCK / writer->channels) * writer->channels; /* libsndfile takes whole frames */

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

static bool append(tlnmf_ctx *ctx, tlnmf_io_writer *writer, const double *x, int64_t frames)
{
    int channels = writer->channels;
    const char *name = writer->output.name;

    if (frames > writer->most - writer->frames)
        return io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: %lld samples are more than a .wav file can hold",
                       name, (long long)(writer->frames + frames));
    for (int64_t i = 0; i < frames * channels; i++)
        if (!(fabs(x[i]) <= writer->largest))
            return io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: sample %lld, channel %lld is not finite",
                           name, (long long)(writer->frames + i / channels),
                           (long long)(i % channels));
    bool ok = writer->bits > 0 ? write_integers(writer, x, frames * channels)
                               : sf_writef_double(writer->sound, x, frames) == frames;
    writer->frames += frames;
    if (writer->bytes.why)
        return io_output_failed(ctx, &writer->output, writer->bytes.why);
    return ok ||
           io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: cannot write: %s", name, sf_strerror(writer->sound));
}

/* ---- opening ------------------------------------------------------------------------------ */

static bool open_sound(tlnmf_ctx *ctx, tlnmf_io_writer *writer, const io_sound_info *info)
{
    SF_INFO sf = {.samplerate = info->rate, .channels = info->channels, .format = info->format};

    writer->bytes.fd = writer->output.temporary ? writer->output.fd : -1;
    if (!sf_format_check(&sf))
        return io_fail(ctx, TLNMF_ERR_OUTPUT,
                       "%s: cannot write: this format does not support %d channels at %d Hz",
                       writer->output.name, info->channels, info->rate);
    if (writer->bytes.fd >= 0 && (info->format & SF_FORMAT_TYPEMASK) != SF_FORMAT_FLAC &&
        !io_reserve(writer->bytes.fd, size_of(info)))
        return io_output_failed(ctx, &writer->output, errno);
    writer->sound = io_sound_bytes_open(&writer->bytes, SFM_WRITE, &sf);
    if (writer->bytes.why)
        return io_output_failed(ctx, &writer->output, writer->bytes.why);
    if (!writer->sound)
        return io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: cannot write: %s", writer->output.name,
                       sf_strerror(NULL));
    /* The peak chunk carries the time of day. */
    sf_command(writer->sound, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
    return true;
}

/* ---- the calls ---------------------------------------------------------------------------- */

static bool make_record(tlnmf_ctx *ctx, tlnmf_io_writer *writer, const io_sound_info *info)
{
    const char *temporary = writer->output.temporary ? writer->output.temporary : "";
    tlnmf_record **record = &writer->record;

    return tlnmf_record_create(ctx, record) == TLNMF_OK &&
           tlnmf_record_set_integer(ctx, *record, "clipped", 0) == TLNMF_OK &&
           tlnmf_record_set_integer(ctx, *record, "bytes", size_of(info)) == TLNMF_OK &&
           tlnmf_record_set_real(ctx, *record, "step",
                                 writer->bits == 0 ? 0 : ldexp(1, 1 - writer->bits)) == TLNMF_OK &&
           tlnmf_record_set_text(ctx, *record, "temporary", temporary) == TLNMF_OK;
}

bool io_sound_create(tlnmf_ctx *ctx, const char *path, const io_sound_info *info,
                     tlnmf_io_writer **out)
{
    tlnmf_io_writer *writer = calloc(1, sizeof *writer);

    *out = NULL;
    if (!writer)
        return io_no_memory(ctx, path);
    *writer = (tlnmf_io_writer){
        .path = strdup(path),
        .output.fd = -1,
        .channels = info->channels,
        .bits = bits_of(info->format),
        .largest = bytes_of(info->format) == 8 ? DBL_MAX : FLT_MAX,
        .most = info->channels < 1 ? 0 : most_frames(info->format, info->channels)};
    bool ok =
        writer->path ? io_output_open(ctx, writer->path, &writer->output) : io_no_memory(ctx, path);
    if (ok && open_sound(ctx, writer, info) && make_record(ctx, writer, info)) {
        *out = writer;
        return true;
    }
    tlnmf_io_writer_abort(writer);
    return false;
}

tlnmf_error tlnmf_io_writer_create(tlnmf_ctx *ctx, const char *path, const tlnmf_sound *like,
                                   tlnmf_io_writer **out)
{
    IO_NEED_OUT(ctx, out, path);
    IO_NEED(ctx, like);
    double rate = tlnmf_record_get_real(tlnmf_sound_record(like), "rate");
    if (!(rate >= 1 && rate <= INT_MAX && rate == floor(rate)))
        return io_refuse(ctx, TLNMF_ERR_OUTPUT,
                         "%s: cannot write: the rate is %.10g Hz, sound files need an integer rate",
                         path, rate);
    io_sound_info info = io_sound_info_of(like);
    info.format = io_sound_format_like(ctx, path, info.format, info.frames, info.channels);
    return io_end(ctx, info.format != 0 && io_sound_create(ctx, path, &info, out));
}

tlnmf_error tlnmf_io_writer_append(tlnmf_ctx *ctx, tlnmf_io_writer *writer, const double *x,
                                   int64_t count)
{
    IO_NEED(ctx, writer);
    bool failed_before = writer->failed;
    writer->failed = true;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, x);
    if (count < 0)
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "count = %lld must not be negative",
                         (long long)count);
    tlnmf_error error = io_end(ctx, append(ctx, writer, x, count));
    tlnmf_error noted = tlnmf_record_set_integer(ctx, writer->record, "clipped", writer->clipped);
    writer->failed = failed_before || error != TLNMF_OK;
    return error != TLNMF_OK ? error : noted;
}

const tlnmf_record *tlnmf_io_writer_record(const tlnmf_io_writer *writer)
{
    return writer == NULL ? NULL : writer->record;
}

tlnmf_error tlnmf_io_writer_commit(tlnmf_ctx *ctx, tlnmf_io_writer *writer)
{
    IO_NEED(ctx, writer);
    if (ctx == NULL) {
        tlnmf_io_writer_abort(writer);
        return TLNMF_ERR_ARGUMENT;
    }
    const io_sound_bytes *bytes = &writer->bytes;
    int failed = sf_close(writer->sound), why = bytes->why;
    bool ok = false;
    writer->sound = NULL;
    if (!failed && !why && !writer->failed && bytes->fd < 0 &&
        !io_write_all(writer->output.fd, bytes->bytes, (size_t)bytes->size))
        why = errno;
    if (why)
        io_output_set_error(ctx, &writer->output, why);
    else if (writer->failed)
        io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: not written, because not all samples could be appended",
                writer->output.name);
    else if (failed)
        io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: cannot write: %s", writer->output.name,
                sf_error_number(failed));
    else
        ok = io_output_commit(ctx, &writer->output);
    tlnmf_io_writer_abort(writer);
    return io_end(ctx, ok);
}

void tlnmf_io_writer_abort(tlnmf_io_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->sound)
        sf_close(writer->sound);
    io_output_abort(&writer->output);
    tlnmf_record_free(writer->record);
    free(writer->bytes.bytes);
    free(writer->path);
    free(writer);
}
