/* Reads NumPy's .npz files, archives of .npy files, and writes models as such files. */
#include "zip.h"

#include <stdlib.h>
#include <string.h>

static const char SUMMARY[] = "summary.json"; /* numpy.load reads it as bytes */

static bool open_npz(tlnmf_ctx *ctx, io_file *file)
{
    io_zip *zip = malloc(sizeof *zip);

    if (!zip)
        return io_no_memory(ctx, file->source.name);
    file->handle = zip;
    if (io_zip_open(ctx, &file->source, zip))
        return true;
    io_zip_close(zip);
    free(zip);
    return false;
}

static void close_npz(io_file *file)
{
    io_zip_close(file->handle);
    free(file->handle);
}

/* The number of bytes of a member's name without .npy. */
static size_t stem_of(const io_zip_member *m)
{
    size_t length = strlen(m->name);

    return length > 4 && strcmp(m->name + length - 4, ".npy") == 0 ? length - 4 : length;
}

/* `Y` and `Y.npy` both mean the member Y.npy, as in numpy. */
static bool is_named(const io_zip_member *m, const char *name)
{
    size_t length = strlen(name);

    return strcmp(m->name, name) == 0 ||
           (length == stem_of(m) && strncmp(m->name, name, length) == 0);
}

/* A member as a source for the reader of .npy files; free its bytes when done. */
static bool open_member(tlnmf_ctx *ctx, const io_zip *zip, const io_zip_member *m, char *name,
                        size_t size, io_source *out)
{
    snprintf(name, size, "%s:%s", zip->source->name, m->name);
    *out = (io_source){.path = name, .name = name, .size = m->size, .format = IO_FORMAT_NPY};
    if (!io_zip_extract(ctx, zip, m, &out->bytes))
        return false;
    out->head_size = (size_t)m->size < sizeof out->head ? (size_t)m->size : sizeof out->head;
    memcpy(out->head, out->bytes, out->head_size);
    return true;
}

enum { NAME_SIZE = 4096 };

/* Members that are not arrays of numbers are also listed. */
static bool list_npz(tlnmf_ctx *ctx, io_file *file, io_listing *listing)
{
    const io_zip *zip = file->handle;

    for (size_t i = 0; i < zip->count; i++) {
        char name[NAME_SIZE];
        io_source inner;
        io_entry entry = {.dtype = "other"};
        if (!open_member(ctx, zip, &zip->member[i], name, sizeof name, &inner))
            return false;
        io_npy_list_bytes(NULL, &inner, &entry);
        entry.name = strndup(zip->member[i].name, stem_of(&zip->member[i]));
        bool ok = entry.name && io_listing_add(listing, &entry);
        free(entry.name);
        free(inner.bytes);
        if (!ok)
            return io_no_memory(ctx, file->source.name);
    }
    return true;
}

static bool read_npz(tlnmf_ctx *ctx, io_file *file, const char *member, io_slice *slice,
                     const io_target *to)
{
    const io_zip *zip = file->handle;
    const io_zip_member *found = NULL;
    char name[NAME_SIZE];
    io_file inner = {0};

    (void)slice;
    for (size_t i = 0; i < zip->count; i++)
        if (is_named(&zip->member[i], member))
            found = &zip->member[i];
    if (!found)
        return io_file_lacks(ctx, file, member);
    if (!open_member(ctx, zip, found, name, sizeof name, &inner.source))
        return false;
    bool ok = io_npy_calls.read(ctx, &inner, NULL, NULL, to);
    free(inner.source.bytes);
    return ok;
}

static bool read_summary(tlnmf_ctx *ctx, io_file *file, char **text)
{
    const io_zip *zip = file->handle;
    unsigned char *bytes;

    *text = NULL;
    for (size_t i = 0; i < zip->count && !*text; i++) {
        if (strcmp(zip->member[i].name, SUMMARY) != 0)
            continue;
        if (!io_zip_extract(ctx, zip, &zip->member[i], &bytes))
            return false;
        *text = strndup((char *)bytes, (size_t)zip->member[i].size);
        free(bytes);
        if (!*text)
            return io_no_memory(ctx, file->source.name);
    }
    return true;
}

const io_format_calls io_npz_calls = {.name = "npz",
                                      .member = "array",
                                      .open = open_npz,
                                      .close = close_npz,
                                      .list = list_npz,
                                      .read = read_npz,
                                      .text = read_summary};

/* ---- writing ------------------------------------------------------------------------------ */

static void put(void *file, const char *name, const io_array *array)
{
    io_zip_out *zip = file;
    io_buffer npy = {0};
    char member[128];

    snprintf(member, sizeof member, "%s.npy", name);
    io_npy_encode(&npy, array);
    zip->file.failed = zip->file.failed || npy.failed;
    io_zip_add(zip, member, npy.bytes, npy.size);
    free(npy.bytes);
}

bool io_npz_model_write(tlnmf_ctx *ctx, const char *path, const io_model *model)
{
    io_zip_out zip = {0};

    io_model_put_flat(model, put, &zip);
    io_zip_add(&zip, SUMMARY, model->text, strlen(model->text));
    return io_zip_finish(ctx, &zip, path);
}
