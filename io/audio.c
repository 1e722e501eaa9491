#include "internal.h"

#include <float.h>
#include <math.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>

/* ---- a file in memory, for libsndfile to write to ----------------------------------------- */

typedef struct memory_file {
    unsigned char *bytes;
    sf_count_t size, capacity, at;
    bool failed;
} memory_file;

static sf_count_t get_length(void *user)
{
    return ((memory_file *)user)->size;
}

static sf_count_t tell(void *user)
{
    return ((memory_file *)user)->at;
}

static sf_count_t seek(sf_count_t offset, int whence, void *user)
{
    memory_file *file = user;
    sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file->at : file->size;

    if (offset < -from || offset > file->size - from)
        return -1;
    return file->at = from + offset;
}

static sf_count_t get(void *bytes, sf_count_t count, void *user)
{
    memory_file *file = user;
    sf_count_t n = count < file->size - file->at ? count : file->size - file->at;

    if (n <= 0)
        return 0;
    memcpy(bytes, file->bytes + file->at, (size_t)n);
    file->at += n;
    return n;
}

static sf_count_t put(const void *bytes, sf_count_t count, void *user)
{
    memory_file *file = user;
    sf_count_t end = file->at + count;

    if (count <= 0)
        return 0;
    if (end > file->capacity) {
        sf_count_t capacity = end + end / 2 + 4096;
        unsigned char *larger = realloc(file->bytes, (size_t)capacity);
        if (!larger) {
            file->failed = true;
            return 0;
        }
        file->bytes = larger;
        file->capacity = capacity;
    }
    memcpy(file->bytes + file->at, bytes, (size_t)count);
    file->at = end;
    if (end > file->size)
        file->size = end;
    return count;
}

/* ---- sound -------------------------------------------------------------------------------- */

static int format_of(const char *path)
{
    size_t length = strlen(path);

    if (strcmp(path, "-") == 0 || io_has_extension(path, length, ".wav"))
        return SF_FORMAT_WAV | SF_FORMAT_FLOAT;
    return io_has_extension(path, length, ".flac") ? SF_FORMAT_FLAC | SF_FORMAT_PCM_24 : 0;
}

static bool check(const char *path, const double *x, int64_t frames, int channels, int format,
                  io_error *err)
{
    if (!format)
        return io_fail(err, IO_NO_OUTPUT, "%s: sound is written as .wav or .flac", path);
    if (frames < 1 || channels < 1)
        return io_fail(err, IO_NO_OUTPUT, "%s: no samples to write", path);
    /* The sizes in a WAV header have 32 bits. */
    if ((format & SF_FORMAT_TYPEMASK) == SF_FORMAT_WAV &&
        frames > (INT64_C(0xffffffff) - 4096) / 4 / channels)
        return io_fail(err, IO_NO_OUTPUT, "%s: %lld frames are more than a .wav file can hold",
                       path, (long long)frames);
    for (int64_t i = 0; i < frames * channels; i++)
        if (!(fabs(x[i]) <= FLT_MAX))
            return io_fail(err, IO_NO_OUTPUT, "%s: frame %lld, channel %lld is not finite", path,
                           (long long)(i / channels), (long long)(i % channels));
    return true;
}

static bool encode(memory_file *file, const char *path, const double *x, int64_t frames,
                   SF_INFO *info, io_error *err)
{
    SF_VIRTUAL_IO calls = {get_length, seek, get, put, tell};
    SNDFILE *sound = sf_open_virtual(&calls, SFM_WRITE, info, file);

    if (!sound)
        return io_fail(err, IO_NO_OUTPUT, "%s: cannot write: %s", path, sf_strerror(NULL));
    /* The peak chunk carries the time of day; without clipping, loud samples would wrap around. */
    sf_command(sound, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
    sf_command(sound, SFC_SET_CLIPPING, NULL, SF_TRUE);
    bool ok = sf_writef_double(sound, x, frames) == frames;
    if (!ok && !file->failed)
        io_fail(err, IO_NO_OUTPUT, "%s: cannot write: %s", path, sf_strerror(sound));
    sf_close(sound);
    return file->failed ? io_no_memory(err, path) : ok;
}

bool io_audio_write(const char *path, const double *x, int64_t frames, int channels, int rate,
                    io_error *err)
{
    int format = format_of(path);
    SF_INFO info = {.samplerate = rate, .channels = channels, .format = format};
    memory_file file = {0};

    bool ok = check(path, x, frames, channels, format, err) &&
              encode(&file, path, x, frames, &info, err) &&
              io_publish(path, file.bytes, (size_t)file.size, err);
    free(file.bytes);
    return ok;
}
