/* The writer of all files: a temporary file next to the target, synced and renamed. Also reads
 * whole files. */
#include "files.h"
#include "program.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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

void io_output_set_error(tlnmf_ctx *ctx, const io_output *output, int why)
{
    struct stat st;
    const char *target = output->target ? output->target : output->path;
    char *directory = why == ENOENT ? directory_of(target) : NULL;

    if (why == ENOMEM)
        io_no_memory(ctx, output->name);
    else if (directory && stat(directory, &st) != 0)
        io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: cannot write: %s (directory %s does not exist)",
                output->name, strerror(why), directory);
    else
        io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: cannot write: %s", output->name, strerror(why));
    free(directory);
}

/* The path that a symbolic link refers to; NULL with errno. */
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

/* ---- temporary files ---------------------------------------------------------------------- */

/* A temporary file is called .BASE.PID-NUMBER.tlnmf. BASE is the name of the target, cut to this
 * number of bytes so that the result is a legal name. The writer holds a lock on the file. */
enum { TEMPORARY_BASE = 200 };
static const char TEMPORARY_END[] = ".tlnmf";

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static const char *digits(const char *at)
{
    while (isdigit((unsigned char)*at))
        at++;
    return at;
}

/* ".BASE.PID-NUMBER.tlnmf", or ".BASE.process1.PID-NUMBER.tlnmf" of a file that belongs to BASE. A
 * user's ".BASE.2026-11" is not one. */
static bool is_temporary(const char *name, const char *base, size_t length)
{
    if (name[0] != '.' || strncmp(name + 1, base, length) != 0 || name[1 + length] != '.')
        return false;
    size_t all = strlen(name), end = strlen(TEMPORARY_END);
    if (all < length + 2 + end || strcmp(name + all - end, TEMPORARY_END) != 0)
        return false;
    const char *pid = name + all - end;
    while (pid[-1] != '.')
        pid--;
    const char *dash = digits(pid);
    return dash > pid && *dash == '-' && isdigit((unsigned char)dash[1]) &&
           strcmp(digits(dash + 1), TEMPORARY_END) == 0;
}

/* A file whose lock is free has no living writer. */
static void remove_if_free(int directory, const char *name)
{
    struct stat st;
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(directory, name, 0);
    close(fd);
}

/* Removes temporary files for this target that killed processes left behind. */
static void remove_stale(const char *path)
{
    const char *base = base_of(path);
    size_t length = strnlen(base, TEMPORARY_BASE);
    char *directory = directory_of(path);
    DIR *d = directory ? opendir(directory) : NULL;
    const struct dirent *entry;

    while (d && (entry = readdir(d)) != NULL)
        if (is_temporary(entry->d_name, base, length))
            remove_if_free(dirfd(d), entry->d_name);
    if (d)
        closedir(d);
    free(directory);
}

/* Locks a new temporary file, which shows that its writer lives. False if another process removed
 * it as stale before that. On file systems without locks, no file is considered stale. */
static bool claim(int fd)
{
    struct stat st;

    flock(fd, LOCK_EX | LOCK_NB);
    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* A new file next to the target; false leaves errno. open(2) applies the umask, mkstemp would
 * not. */
static bool open_beside(io_output *output)
{
    const char *target = output->target, *base = base_of(target);
    size_t capacity = strlen(target) + 64;
    char *path = malloc(capacity);
    int fd = -1;

    remove_stale(target);
    for (int attempt = 0; path && attempt < 1000; attempt++) {
        snprintf(path, capacity, "%.*s.%.*s.%ld-%d%s", (int)(base - target), target, TEMPORARY_BASE,
                 base, (long)getpid(), attempt, TEMPORARY_END);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 ? errno != EEXIST : claim(fd))
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

/* Some file systems cannot sync a directory, which is not an error. */
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

/* `old` is the file to be replaced, whose mode is kept. False leaves errno. */
static bool open_temporary(io_output *output, const struct stat *old)
{
    output->target = final_path(output->path);
    /* rename(2) would overwrite a write-protected file without asking. */
    if (!output->target || (old && access(output->target, W_OK) != 0))
        return false;
    return open_beside(output) && (!old || fchmod(output->fd, old->st_mode & 0777) == 0);
}

bool io_output_open(tlnmf_ctx *ctx, const char *path, io_output *out)
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
    io_output_set_error(ctx, out, why);
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

bool io_output_commit(tlnmf_ctx *ctx, io_output *output)
{
    bool ok = !output->temporary || fsync(output->fd) == 0 || errno == EINVAL || errno == ENOTSUP;
    int why = errno;

    /* The lock lasts until the file has its name, so that no process removes it as stale. */
    if (ok && output->temporary && rename(output->temporary, output->target) != 0) {
        ok = false;
        why = errno;
    }
    if (!output->standard && close(output->fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    output->fd = -1;
    if (ok && output->temporary) {
        sync_directory(output->target);
        free(output->temporary);
        output->temporary = NULL;
    } else if (!ok)
        io_output_set_error(ctx, output, why);
    io_output_abort(output);
    return ok;
}

bool io_publish(tlnmf_ctx *ctx, const char *path, const void *bytes, size_t size)
{
    io_output output;

    if (!io_output_open(ctx, path, &output))
        return false;
    if (io_write_all(output.fd, bytes, size))
        return io_output_commit(ctx, &output);
    io_output_set_error(ctx, &output, errno);
    io_output_abort(&output);
    return false;
}

/* Reads up to the end of a file of unknown size; false leaves errno. */
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
            buffer[used] = '\0';
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

bool io_slurp(tlnmf_ctx *ctx, const char *path, unsigned char **bytes, size_t *size)
{
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    size_t capacity = 1 << 16;

    *bytes = NULL;
    *size = 0;
    if (fd < 0)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s", name, strerror(errno));
    bool known = fstat(fd, &st) == 0;
    if (known && !standard && S_ISCHR(st.st_mode)) { /* /dev/zero and its like never end */
        close(fd);
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: a device, not a file", name);
    }
    /* One byte more than the file has, for the read that finds its end. */
    if (known && S_ISREG(st.st_mode))
        capacity = (size_t)st.st_size + 1;
    bool ok = read_all(fd, capacity, bytes, size);
    int why = errno;
    if (!standard)
        close(fd);
    if (!ok && why == ENOMEM)
        return io_no_memory(ctx, name);
    return ok || io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s", name, strerror(why));
}

/* ---- bytes that grow ---------------------------------------------------------------------- */

void io_buffer_add(io_buffer *buffer, const void *bytes, size_t size)
{
    if (size > buffer->capacity - buffer->size && !buffer->failed) {
        size_t capacity = buffer->size + size + buffer->capacity + 256;
        unsigned char *larger = realloc(buffer->bytes, capacity);
        buffer->failed = !larger;
        if (larger) {
            buffer->bytes = larger;
            buffer->capacity = capacity;
        }
    }
    if (buffer->failed || size == 0)
        return;
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

void io_buffer_add_number(io_buffer *buffer, uint64_t x, int size)
{
    unsigned char bytes[8];

    for (int i = 0; i < size; i++)
        bytes[i] = (unsigned char)(x >> 8 * i);
    io_buffer_add(buffer, bytes, (size_t)size);
}

void io_buffer_add_doubles(io_buffer *buffer, const double *x, int64_t count)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        io_buffer_add(buffer, x, (size_t)count * sizeof *x);
    for (int64_t i = 0; __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ && i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        io_buffer_add_number(buffer, bits, 8);
    }
}

bool io_buffer_publish(tlnmf_ctx *ctx, io_buffer *buffer, bool ok, const char *path)
{
    if (ok)
        ok = buffer->failed ? io_no_memory(ctx, path)
                            : io_publish(ctx, path, buffer->bytes, buffer->size);
    free(buffer->bytes);
    *buffer = (io_buffer){0};
    return ok;
}

/* ---- the calls ---------------------------------------------------------------------------- */

tlnmf_error tlnmf_io_write_file(tlnmf_ctx *ctx, const char *path, const void *bytes, size_t size)
{
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, bytes);
    return io_end(ctx, io_publish(ctx, path, bytes, size));
}

tlnmf_error tlnmf_io_write_record(tlnmf_ctx *ctx, const char *path, const tlnmf_record *record)
{
    size_t size = 0;

    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, record);
    IO_TRY(tlnmf_record_pack(ctx, record, NULL, &size));
    unsigned char *bytes = malloc(size);
    if (bytes == NULL)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory for %zu bytes", path, size);
    bool ok = tlnmf_record_pack(ctx, record, bytes, &size) == TLNMF_OK &&
              io_publish(ctx, path, bytes, size);
    free(bytes);
    return io_end(ctx, ok);
}

tlnmf_error tlnmf_io_read_record(tlnmf_ctx *ctx, const char *path, tlnmf_record **out)
{
    unsigned char *bytes;
    size_t size;

    IO_NEED_OUT(ctx, out, path);
    if (!io_slurp(ctx, path, &bytes, &size))
        return io_end(ctx, false);
    tlnmf_error error = tlnmf_record_unpack(ctx, bytes, size, out);
    free(bytes);
    if (error == TLNMF_ERR_DATA)
        return io_refuse(ctx, TLNMF_ERR_INPUT, "%s: not a record, or damaged or cut short", path);
    return error;
}

void tlnmf_io_remove(const char *path)
{
    struct stat status;

    if (path == NULL)
        return;
    if (lstat(path, &status) == 0 && (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)))
        unlink(path); /* never a device, which root could remove */
    remove_stale(path);
}
