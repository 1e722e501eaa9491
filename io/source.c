/* Inputs: regular files by path, pipes and standard input as bytes; their formats. */
#include "files.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

bool io_has_extension(const char *name, size_t length, const char *extension)
{
    size_t n = strlen(extension);

    return length > n && strncasecmp(name + length - n, extension, n) == 0;
}

bool io_has_no_extension(const char *path)
{
    const char *slash = strrchr(path, '/');

    return !strchr(slash ? slash : path, '.');
}

io_format io_format_of_name(const char *name, size_t length)
{
    static const struct {
        const char *extension;
        io_format format;
    } known[] = {{".npy", IO_FORMAT_NPY},  {".h5", IO_FORMAT_HDF5},  {".hdf5", IO_FORMAT_HDF5},
                 {".hdf", IO_FORMAT_HDF5}, {".mat", IO_FORMAT_MAT},  {".npz", IO_FORMAT_NPZ},
                 {".csv", IO_FORMAT_TEXT}, {".tsv", IO_FORMAT_TEXT}, {".txt", IO_FORMAT_TEXT}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (io_has_extension(name, length, known[i].extension))
            return known[i].format;
    return IO_FORMAT_UNKNOWN;
}

/* Whether the input is text that begins with a number, a quote or a comment. */
static bool looks_like_numbers(const io_source *source)
{
    size_t n = 0;

    while (n < source->head_size && isspace(source->head[n]))
        n++;
    if (n == source->head_size || (!isdigit(source->head[n]) && !strchr("+-.\"#", source->head[n])))
        return false;
    for (; n < source->head_size; n++)
        if (!isprint(source->head[n]) && !isspace(source->head[n]))
            return false;
    return true;
}

static io_format format_of_content(const io_source *source)
{
    static const struct {
        const char *magic;
        size_t size;
        io_format format;
    } known[] = {{"\x93NUMPY", 6, IO_FORMAT_NPY},
                 {"\x89HDF\r\n\x1a\n", 8, IO_FORMAT_HDF5},
                 {"MATLAB", 6, IO_FORMAT_MAT},
                 {"PK\x03\x04", 4, IO_FORMAT_NPZ}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (source->head_size >= known[i].size &&
            memcmp(source->head, known[i].magic, known[i].size) == 0)
            return known[i].format;
    return looks_like_numbers(source) ? IO_FORMAT_TEXT : IO_FORMAT_UNKNOWN;
}

static bool read_head(tlnmf_ctx *ctx, io_source *source)
{
    FILE *f = fopen(source->path, "rb");

    if (!f)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s", source->name, strerror(errno));
    source->head_size = fread(source->head, 1, sizeof source->head, f);
    bool ok = !ferror(f);
    int why = errno;
    fclose(f);
    return ok || io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s", source->name, strerror(why));
}

static bool read_bytes(tlnmf_ctx *ctx, io_source *source)
{
    size_t size;

    if (!io_slurp(ctx, source->path, &source->bytes, &size))
        return false;
    source->size = (int64_t)size;
    source->head_size = size < sizeof source->head ? size : sizeof source->head;
    memcpy(source->head, source->bytes, source->head_size);
    return true;
}

/* Says why there is no file `path`. If the file before its last colon exists, the rest was meant as
 * a suffix. */
static bool refuse_missing(tlnmf_ctx *ctx, const char *path)
{
    int why = errno;
    const char *colon = strrchr(path, ':');
    size_t length = colon ? (size_t)(colon - path) : 0;
    char before[4096];
    struct stat st;

    if (why == ENOENT && length > 0 && length < sizeof before) {
        memcpy(before, path, length);
        before[length] = '\0';
        if (stat(before, &st) == 0)
            return io_fail(ctx, TLNMF_ERR_INPUT,
                           "%s: \"%s\" is not a suffix; text tables take header, no-header, index, "
                           "no-index, columns= and drop=",
                           before, colon + 1);
    }
    return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s", path, strerror(why));
}

bool io_source_look(tlnmf_ctx *ctx, const char *path, io_source *out)
{
    bool standard = strcmp(path, "-") == 0;
    struct stat st = {0};

    *out = (io_source){.path = path, .name = standard ? "standard input" : path};
    if (!standard && stat(path, &st) != 0)
        return refuse_missing(ctx, path);
    out->size = (int64_t)st.st_size;
    if (!(!standard && S_ISREG(st.st_mode) ? read_head(ctx, out) : read_bytes(ctx, out)))
        return false;
    if (out->head_size > 0)
        return true;
    io_source_close(out);
    return io_fail(ctx, TLNMF_ERR_INPUT, "%s: empty file", out->name);
}

bool io_source_open(tlnmf_ctx *ctx, const char *path, io_source *out)
{
    if (!io_source_look(ctx, path, out))
        return false;
    out->format = io_format_of_name(path, strlen(path));
    if (out->format == IO_FORMAT_UNKNOWN)
        out->format = format_of_content(out);
    if (out->format != IO_FORMAT_UNKNOWN)
        return true;
    bool is_record = out->head_size >= 8 && memcmp(out->head, "tlnmfrec", 8) == 0;
    io_source_close(out);
    return io_fail(ctx, TLNMF_ERR_INPUT,
                   is_record
                       ? "%s: a checkpoint, which only --resume reads"
                       : "%s: unknown format; .npy, .npz, HDF5, MATLAB and text tables are read",
                   out->name);
}

void io_source_close(io_source *source)
{
    free(source->bytes);
    source->bytes = NULL;
}

FILE *io_source_stream(tlnmf_ctx *ctx, const io_source *source)
{
    FILE *f = source->bytes ? fmemopen(source->bytes, (size_t)source->size, "rb")
                            : fopen(source->path, "rb");

    if (!f)
        io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s", source->name, strerror(errno));
    return f;
}
