/* Virtual files for libsndfile: descriptors, and bytes in memory. */
#include "sound_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sf_count_t get_length(void *user)
{
    io_sound_bytes *file = user;

    if (file->fd < 0)
        return file->size;
    off_t at = lseek(file->fd, 0, SEEK_CUR), end = lseek(file->fd, 0, SEEK_END);
    return lseek(file->fd, at, SEEK_SET) < 0 ? -1 : end;
}

static sf_count_t tell(void *user)
{
    io_sound_bytes *file = user;

    return file->fd < 0 ? file->at : lseek(file->fd, 0, SEEK_CUR);
}

static sf_count_t seek(sf_count_t offset, int whence, void *user)
{
    io_sound_bytes *file = user;

    if (file->fd >= 0)
        return lseek(file->fd, offset, whence);
    sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file->at : file->size;
    if (offset < -from || offset > file->size - from)
        return -1;
    return file->at = from + offset;
}

static sf_count_t get(void *bytes, sf_count_t count, void *user)
{
    io_sound_bytes *file = user;

    if (count <= 0)
        return 0;
    if (file->fd >= 0) {
        ssize_t n;
        do
            n = read(file->fd, bytes, (size_t)count);
        while (n < 0 && errno == EINTR);
        return n < 0 ? 0 : n;
    }
    sf_count_t n = count < file->size - file->at ? count : file->size - file->at;
    if (n <= 0)
        return 0;
    memcpy(bytes, file->bytes + file->at, (size_t)n);
    file->at += n;
    return n;
}

/* Enlarges the buffer to hold the bytes up to `end`. */
static bool grow(io_sound_bytes *file, int64_t end)
{
    if (end <= file->capacity)
        return true;
    int64_t capacity = end + end / 2 + 4096;
    unsigned char *larger =
        (uint64_t)capacity <= SIZE_MAX ? realloc(file->bytes, (size_t)capacity) : NULL;
    if (!larger)
        return false;
    file->bytes = larger;
    file->capacity = capacity;
    return true;
}

static sf_count_t put(const void *bytes, sf_count_t count, void *user)
{
    io_sound_bytes *file = user;

    if (count <= 0 || file->why)
        return 0;
    if (file->fd >= 0 ? !io_write_all(file->fd, bytes, (size_t)count)
                      : !grow(file, file->at + count)) {
        file->why = file->fd >= 0 ? errno : ENOMEM;
        return 0;
    }
    if (file->fd < 0) {
        memcpy(file->bytes + file->at, bytes, (size_t)count);
        file->at += count;
        if (file->at > file->size)
            file->size = file->at;
    }
    return count;
}

SNDFILE *io_sound_bytes_open(io_sound_bytes *bytes, int mode, SF_INFO *info)
{
    SF_VIRTUAL_IO calls = {get_length, seek, get, put, tell};

    return sf_open_virtual(&calls, mode, info, bytes);
}
