/* Sound files as sounds that are read in pieces. Headers that announce too much are refused. */
#include "sound_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct sound_file {
    char *name; /* for messages */
    io_source source;
    io_sound_bytes bytes;
    SNDFILE *sound;
    SF_INFO info;
    sf_count_t at;        /* the next frame that libsndfile returns */
    pthread_mutex_t lock; /* several threads may read a sound, but not a handle of libsndfile */
    tlnmf_ctx *ctx;       /* its own, for the message of the last read */
    bool failed;
} sound_file;

enum { BLOCK = 1 << 16 }; /* samples per read while counting */

/* ---- the header --------------------------------------------------------------------------- */

/* If the header announces more bytes than the file has, libsndfile shortens the sound and logs
 * "data : 80000 (should be 39978)". Sizes near 2 and 4 GiB mark streams of unknown length. Sizes of
 * whole RIFF and FORM files are often 8 too large. */
static bool check_announced(const sound_file *file)
{
    const long long stream = 0x7f000000;
    char log[8192]; /* libsndfile keeps less */

    sf_command(file->sound, SFC_GET_LOG_INFO, log, sizeof log);
    for (char *next, *line = log; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *colon = strchr(line, ':'), *should = strstr(line, " (should be ");
        if (!colon || !should || strstr(line, "Bytes/sec") || strstr(line, "Block Align"))
            continue; /* the last two are not sizes, and are not used */
        long long announced = strtoll(colon + 1, NULL, 10), there = strtoll(should + 12, NULL, 10);
        bool whole = strstr(line, "RIFF") || strstr(line, "FORM") || strstr(line, "iff");
        if (announced < stream && announced > there + (whole ? 8 : 0))
            return io_fail(file->ctx, TLNMF_ERR_INPUT,
                           "%s: truncated: its header announces %lld bytes, the file has %lld",
                           file->name, announced, there);
    }
    return true;
}

/* Whether the header of the format may announce a wrong number of frames. */
static bool is_counted(int format)
{
    int container = format & SF_FORMAT_TYPEMASK;

    return container == SF_FORMAT_FLAC || container == SF_FORMAT_OGG ||
           container == SF_FORMAT_MPEG || container == SF_FORMAT_CAF;
}

static bool fail_short(const sound_file *file, int64_t frames)
{
    const char *why = sf_error(file->sound) ? sf_strerror(file->sound) : "cut short or damaged";

    return io_fail(file->ctx, TLNMF_ERR_INPUT, "%s: ends at frame %lld of %lld: %s", file->name,
                   (long long)frames, (long long)file->info.frames, why);
}

static size_t read_at(const sound_file *file, int64_t at, size_t count, unsigned char *to)
{
    const io_sound_bytes *bytes = &file->bytes;

    if (bytes->fd >= 0) {
        ssize_t n = pread(bytes->fd, to, count, (off_t)at);
        return n < 0 ? 0 : (size_t)n;
    }
    size_t left = at < bytes->size ? (size_t)(bytes->size - at) : 0;
    count = count < left ? count : left;
    if (count > 0)
        memcpy(to, bytes->bytes + at, count);
    return count;
}

/* An MP3 file announces its length only in a Xing, Info or VBRI header in the first MPEG frame,
 * after an ID3 tag. Without one libsndfile estimates the length from the size of the file. */
static bool is_estimated(const sound_file *file)
{
    static const char *const marks[] = {"Xing", "Info", "VBRI"};
    unsigned char head[64]; /* the mark follows at most 38 bytes of the frame */
    int64_t first = 0;

    if ((file->info.format & SF_FORMAT_TYPEMASK) != SF_FORMAT_MPEG)
        return false;
    if (read_at(file, 0, 10, head) == 10 && memcmp(head, "ID3", 3) == 0)
        first = 10 + ((int64_t)head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]);
    size_t size = read_at(file, first, sizeof head, head);
    for (size_t at = 0; at + 4 <= size; at++)
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            if (memcmp(head + at, marks[i], 4) == 0)
                return false;
    return true;
}

/* libsndfile stops at its estimate. If that is too low, more than the end of a frame is unread. */
static bool check_unread(const sound_file *file)
{
    const int64_t largest = 1441; /* bytes of an MPEG frame */
    const io_sound_bytes *bytes = &file->bytes;
    int64_t at = bytes->fd < 0 ? bytes->at : (int64_t)lseek(bytes->fd, 0, SEEK_CUR);
    int64_t size = bytes->fd < 0 ? bytes->size : (int64_t)lseek(bytes->fd, 0, SEEK_END);

    if (bytes->fd >= 0)
        lseek(bytes->fd, (off_t)at, SEEK_SET);
    return size - at <= 2 * largest ||
           io_fail(file->ctx, TLNMF_ERR_INPUT,
                   "%s: MP3 of variable bit rate without a length header: its end cannot be read. "
                   "Convert it to WAV",
                   file->name);
}

/* Decodes the whole file. */
static bool count_frames(sound_file *file)
{
    static const int64_t unknown = SF_COUNT_MAX;
    int channels = file->info.channels;
    double *block = malloc(BLOCK * sizeof *block);
    int64_t frames = 0, n;

    if (!block)
        return io_no_memory(file->ctx, file->name);
    do { /* stops exactly at the length, for check_unread() */
        n = file->info.frames - frames;
        n = sf_readf_double(file->sound, block, n < BLOCK / channels ? n : BLOCK / channels);
        frames += n;
    } while (n > 0);
    free(block);
    bool estimated = is_estimated(file);
    if (file->info.frames != unknown && frames < file->info.frames &&
        (sf_error(file->sound) || !estimated))
        return fail_short(file, frames);
    if (estimated && !check_unread(file))
        return false;
    file->info.frames = frames;
    file->at = frames;
    return true;
}

static bool check_info(sound_file *file)
{
    SF_INFO *info = &file->info;

    if (info->channels < 1 || info->channels > 1024)
        return io_fail(file->ctx, TLNMF_ERR_INPUT, "%s: %d channels are outside [1, 1024]",
                       file->name, info->channels);
    if (info->samplerate < 1)
        return io_fail(file->ctx, TLNMF_ERR_INPUT, "%s: the sample rate of %d Hz is invalid",
                       file->name, info->samplerate);
    if (!check_announced(file))
        return false;
    if ((is_counted(info->format) || info->frames == SF_COUNT_MAX) && !count_frames(file))
        return false;
    return info->frames > 0 ||
           io_fail(file->ctx, TLNMF_ERR_INPUT, "%s: holds no samples", file->name);
}

/* ---- open and close ----------------------------------------------------------------------- */

static bool open_bytes(sound_file *file)
{
    io_sound_bytes *bytes = &file->bytes;

    bytes->bytes = file->source.bytes;
    bytes->size = file->source.size;
    if (bytes->bytes)
        return true;
    bytes->fd = open(file->source.path, O_RDONLY | O_CLOEXEC);
    return bytes->fd >= 0 ||
           io_fail(file->ctx, TLNMF_ERR_INPUT, "%s: %s", file->name, strerror(errno));
}

static bool open_file(sound_file *file, const char *path)
{
    if (!io_source_look(file->ctx, path, &file->source))
        return false;
    file->name = strdup(file->source.name);
    if (!file->name)
        return io_no_memory(file->ctx, path);
    if (!open_bytes(file))
        return false;
    file->sound = io_sound_bytes_open(&file->bytes, SFM_READ, &file->info);
    if (file->sound)
        return check_info(file);
    if (sf_error(NULL) == SF_ERR_UNRECOGNISED_FORMAT)
        return io_fail(file->ctx, TLNMF_ERR_INPUT, "%s: unsupported audio format", file->name);
    const char *why = sf_strerror(NULL);
    if (strncmp(why, "Internal", 8) == 0) /* as of a sample rate of 0 */
        why = "the header of the sound file is invalid";
    return io_fail(file->ctx, TLNMF_ERR_INPUT, "%s: %s", file->name, why);
}

static void close_file(void *user)
{
    sound_file *file = user;

    if (file->sound)
        sf_close(file->sound);
    if (file->bytes.fd >= 0)
        close(file->bytes.fd);
    io_source_close(&file->source);
    tlnmf_ctx_free(file->ctx);
    pthread_mutex_destroy(&file->lock);
    free(file->name);
    free(file);
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool read_block(sound_file *file, int64_t first, int64_t frames, double *x)
{
    int channels = file->info.channels;

    if (first != file->at && sf_seek(file->sound, first, SEEK_SET) != first)
        return io_fail(file->ctx, TLNMF_ERR_INPUT, "%s: cannot seek to frame %lld: %s", file->name,
                       (long long)first, sf_strerror(file->sound));
    int64_t n = sf_readf_double(file->sound, x, frames);
    file->at = first + (n > 0 ? n : 0);
    if (n != frames)
        return fail_short(file, file->at);
    for (int64_t i = 0; i < frames * channels; i++)
        if (!isfinite(x[i]))
            return io_fail(file->ctx, TLNMF_ERR_INPUT,
                           "%s: sample %lld, channel %lld is not finite", file->name,
                           (long long)(first + i / channels), (long long)(i % channels));
    return true;
}

static int read_file(int64_t first, int64_t count, double *x, void *user)
{
    sound_file *file = user;

    pthread_mutex_lock(&file->lock);
    bool ok = read_block(file, first, count, x);
    file->failed = !ok;
    pthread_mutex_unlock(&file->lock);
    return ok ? 0 : 1;
}

/* Answers once for each failure, so that a later call that fails for another reason says so. */
static tlnmf_error why_not(char *text, size_t size, void *user)
{
    sound_file *file = user;

    pthread_mutex_lock(&file->lock);
    snprintf(text, size, "%s", tlnmf_message(file->ctx));
    tlnmf_error error = io_end(file->ctx, !file->failed);
    file->failed = false;
    pthread_mutex_unlock(&file->lock);
    return error;
}

/* ---- the sound ---------------------------------------------------------------------------- */

static tlnmf_error make_sound(tlnmf_ctx *ctx, const char *path, sound_file *file, tlnmf_sound **out)
{
    const SF_INFO *info = &file->info;

    IO_TRY(tlnmf_sound_create(ctx, info->frames, info->channels, info->samplerate, read_file, file,
                              out));
    tlnmf_error error = tlnmf_record_set_text(ctx, tlnmf_sound_notes(*out), "file", path);
    if (error == TLNMF_OK)
        error = tlnmf_record_set_integer(ctx, tlnmf_sound_notes(*out), "format", info->format);
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
    IO_NEED_OUT(ctx, out, path);
    sound_file *file = calloc(1, sizeof *file);
    if (file == NULL || pthread_mutex_init(&file->lock, NULL) != 0) {
        free(file);
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", path);
    }
    file->bytes.fd = -1;
    tlnmf_error error;
    if (tlnmf_ctx_create(&file->ctx) != TLNMF_OK)
        error = io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", path);
    else if (open_file(file, path))
        error = make_sound(ctx, path, file, out);
    else
        error = tlnmf_fail(ctx, tlnmf_last_error(file->ctx), tlnmf_message(file->ctx));
    if (error != TLNMF_OK)
        close_file(file);
    return error;
}

io_sound_info io_sound_info_of(const tlnmf_sound *sound)
{
    const tlnmf_record *record = tlnmf_sound_record(sound);
    int64_t format = tlnmf_record_get_integer(record, "format");

    return (io_sound_info){.frames = tlnmf_record_get_integer(record, "length"),
                           .channels = (int)tlnmf_record_get_integer(record, "channels"),
                           .rate = (int)tlnmf_record_get_real(record, "rate"),
                           .format = format == TLNMF_NO_INTEGER ? SF_FORMAT_FLOAT : (int)format};
}
