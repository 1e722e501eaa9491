/* The one writer of files: a temporary beside the target, synced, renamed; and whole files in. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool io_write_all(int fd, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* "out" for out/x, "/" for /x, "." for x. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

void io_output_set_error(const io_output *output, int why, io_error *err)
{
    struct stat st;
    const char *target = output->target ? output->target : output->path;
    char *directory = why == ENOENT ? directory_of(target) : NULL;

    if (why == ENOMEM)
        io_no_memory(err, output->name);
    else if (directory && stat(directory, &st) != 0)
        io_fail(err, IO_NO_OUTPUT, "%s: cannot write: %s (directory %s does not exist)",
                output->name, strerror(why), directory);
    else
        io_fail(err, IO_NO_OUTPUT, "%s: cannot write: %s", output->name, strerror(why));
    free(directory);
}

/* What a symbolic link says, seen from where the link lies; NULL with errno. */
static char *follow(const char *link)
{
    char text[PATH_MAX];
    ssize_t n = readlink(link, text, sizeof text - 1);

    if (n < 0)
        return NULL;
    text[n] = '\0';
    const char *slash = strrchr(link, '/');
    size_t prefix = text[0] == '/' || !slash ? 0 : (size_t)(slash - link) + 1;
    char *path = malloc(prefix + (size_t)n + 1);
    if (path) {
        memcpy(path, link, prefix);
        memcpy(path + prefix, text, (size_t)n + 1);
    }
    return path;
}

/* The file behind all symbolic links, which need not exist yet; NULL with errno. */
static char *final_path(const char *path)
{
    char *at = strdup(path);
    struct stat st;

    for (int links = 0; at && lstat(at, &st) == 0 && S_ISLNK(st.st_mode); links++) {
        char *next = links < 40 ? follow(at) : NULL;
        int why = links < 40 ? errno : ELOOP;
        free(at);
        at = next;
        errno = why;
    }
    return at;
}

void io_remove_stale_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = directory_of(path);

    if (directory)
        io_remove_stale(directory, slash ? slash + 1 : path);
    free(directory);
}

/* A new file beside the target; false leaves errno. open(2) applies the umask, which mkstemp would
 * not. The name is cut so that the longest legal name still gives a legal one. */
static bool open_beside(io_output *output)
{
    const char *target = output->target, *slash = strrchr(target, '/');
    const char *base = slash ? slash + 1 : target;
    size_t capacity = strlen(target) + 64;
    char *path = malloc(capacity);
    int fd = -1;

    io_remove_stale_of(target);
    for (int attempt = 0; path && attempt < 1000; attempt++) {
        snprintf(path, capacity, "%.*s.%.*s.%ld-%d", (int)(base - target), target,
                 IO_TEMPORARY_BASE, base, (long)getpid(), attempt);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 ? errno != EEXIST : io_claim_temporary(fd))
            break;
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    if (fd >= 0) {
        output->temporary = path;
        output->fd = fd;
        return true;
    }
    int why = errno;
    free(path);
    errno = why;
    return false;
}

/* The rename is what counts; a file system that cannot sync a directory is no reason to fail. */
static void sync_directory(const char *target)
{
    char *directory = directory_of(target);
    int fd = directory ? open(directory, O_RDONLY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(directory);
}

static bool sync_file(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
}

/* `old` is the file in the way, whose mode stays. False leaves errno. */
static bool open_temporary(io_output *output, const struct stat *old)
{
    output->target = final_path(output->path);
    /* rename(2) would overwrite a write-protected file without asking. */
    if (!output->target || (old && access(output->target, W_OK) != 0))
        return false;
    return open_beside(output) && (!old || fchmod(output->fd, old->st_mode & 0777) == 0);
}

bool io_output_open(const char *path, io_output *out, io_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    struct stat st;

    *out = (io_output){.path = path, .name = standard ? "standard output" : path, .fd = -1};
    out->standard = standard;
    if (standard) {
        out->fd = STDOUT_FILENO;
        return true;
    }
    bool exists = stat(path, &st) == 0, in_place = exists && !S_ISREG(st.st_mode);
    if (in_place)
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
    if (in_place ? out->fd >= 0 : open_temporary(out, exists ? &st : NULL))
        return true;
    int why = errno;
    io_output_set_error(out, why, err);
    io_output_abort(out);
    return false;
}

void io_output_abort(io_output *output)
{
    if (output->fd >= 0 && !output->standard)
        close(output->fd);
    if (output->temporary)
        unlink(output->temporary);
    free(output->temporary);
    free(output->target);
    *output = (io_output){.fd = -1};
}

bool io_output_commit(io_output *output, io_error *err)
{
    bool ok = !output->temporary || sync_file(output->fd);
    int why = errno;

    if (!output->standard && close(output->fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    output->fd = -1;
    if (ok && output->temporary && rename(output->temporary, output->target) != 0) {
        ok = false;
        why = errno;
    }
    if (ok && output->temporary) {
        sync_directory(output->target);
        free(output->temporary);
        output->temporary = NULL;
    } else if (!ok)
        io_output_set_error(output, why, err);
    io_output_abort(output);
    return ok;
}

bool io_publish(const char *path, const void *bytes, size_t size, io_error *err)
{
    io_output output;

    if (!io_output_open(path, &output, err))
        return false;
    if (io_write_all(output.fd, bytes, size))
        return io_output_commit(&output, err);
    io_output_set_error(&output, errno, err);
    io_output_abort(&output);
    return false;
}

/* Until the end, for sizes nobody announced; false leaves errno. */
static bool read_all(int fd, size_t capacity, unsigned char **bytes, size_t *size)
{
    unsigned char *buffer = malloc(capacity);
    size_t used = 0;

    while (buffer) {
        if (used == capacity) {
            unsigned char *larger = capacity <= SIZE_MAX / 2 ? realloc(buffer, 2 * capacity) : NULL;
            if (!larger)
                break;
            buffer = larger;
            capacity *= 2;
        }
        ssize_t n = read(fd, buffer + used, capacity - used);
        if (n == 0) {
            *bytes = buffer;
            *size = used;
            return true;
        }
        if (n > 0)
            used += (size_t)n;
        else if (errno != EINTR) {
            int why = errno;
            free(buffer);
            errno = why;
            return false;
        }
    }
    free(buffer);
    errno = ENOMEM;
    return false;
}

bool io_slurp(const char *path, unsigned char **bytes, size_t *size, io_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    size_t capacity = 1 << 16;

    *bytes = NULL;
    *size = 0;
    if (fd < 0)
        return io_fail(err, IO_BAD_INPUT, "%s: %s", name, strerror(errno));
    /* One byte more than a regular file holds: the read that finds its end needs no growth. */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        capacity = (size_t)st.st_size + 1;
    bool ok = read_all(fd, capacity, bytes, size);
    int why = errno;
    if (!standard)
        close(fd);
    if (!ok && why == ENOMEM)
        return io_no_memory(err, name);
    return ok || io_fail(err, IO_BAD_INPUT, "%s: %s", name, strerror(why));
}
