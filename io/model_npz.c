/* Models as .npz files: Phi.npy, W.npy, .. and summary.json, which numpy.load reads as bytes. */
#include "model.h"
#include "zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char SUMMARY[] = "summary.json";

static bool put(io_parts_out *out, const char *name, const io_array *array)
{
    io_zip_out *zip = out->file;
    unsigned char *bytes;
    size_t size;
    char member[64];
    io_array one = *array;

    if (io_count(one.ndim, one.dim) == 1 && one.ndim == 2 && strcmp(name, "Phi") != 0 &&
        strcmp(name, "W") != 0 && strcmp(name, "H") != 0)
        one.ndim = 0; /* a number, not a matrix of one */
    if (!io_npy_encode(&one, &bytes, &size))
        return false;
    snprintf(member, sizeof member, "%s.npy", name);
    io_zip_add(zip, member, bytes, size);
    free(bytes);
    return true;
}

static bool put_text(io_parts_out *out, const char *text)
{
    io_zip_add(out->file, SUMMARY, text, strlen(text));
    return true;
}

static bool finish(io_parts_out *out, bool ok, const char *path, io_error *err)
{
    io_zip_out *zip = out->file;

    zip->file.failed = zip->file.failed || !ok;
    return io_zip_finish(zip, path, err);
}

bool io_npz_model_write(const char *path, const io_model *model, io_error *err)
{
    io_zip_out zip = {0};
    io_parts_out out = {put, put_text, finish, &zip};

    return io_model_write_parts(path, model, &out, err);
}

bool io_npz_summary(const io_source *source, char **text, io_error *err)
{
    io_zip zip;
    unsigned char *bytes = NULL;
    bool ok = io_zip_open(source, &zip, err);

    *text = NULL;

    for (size_t i = 0; ok && i < zip.count; i++)
        if (strcmp(zip.member[i].name, SUMMARY) == 0 && !bytes) {
            ok = io_zip_extract(&zip, &zip.member[i], &bytes, err);
            *text = ok ? strndup((char *)bytes, (size_t)zip.member[i].size) : NULL;
            ok = ok && (*text || io_no_memory(err, source->name));
        }
    free(bytes);
    io_zip_close(&zip);
    return ok;
}

bool io_npz_model_read(const io_source *source, io_model *model, io_error *err)
{
    io_parts_in in = {.list = io_npz_list, .read = io_npz_read, .text = io_npz_summary};

    return io_model_read_parts(source, &in, model, err);
}
