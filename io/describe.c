/* Describes a file as a JSON object. */
#include "files.h"

#include <stdlib.h>
#include <string.h>

json_t *io_json_text(const char *name)
{
    json_t *text = json_string(name);

    if (text)
        return text;
    char *ascii = strdup(name);
    for (char *c = ascii; c && *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    text = ascii ? json_string(ascii) : NULL;
    free(ascii);
    return text;
}

/* Whether the summary of a model holds this variable of a .npz or .mat file. */
static bool is_in_summary(const json_t *summary, const char *name)
{
    static const char *const itself[] = {"/summary", "summary.json", "summary"};
    for (size_t i = 0; i < sizeof itself / sizeof *itself; i++)
        if (strcmp(name, itself[i]) == 0)
            return true;
    return json_is_number(json_object_get(summary, name)) ||
           json_is_null(json_object_get(summary, name));
}

static json_t *arrays_of(const io_listing *listing, const json_t *summary)
{
    json_t *arrays = json_array();
    bool ok = arrays != NULL;

    for (size_t i = 0; ok && i < listing->count; i++) {
        const io_entry *entry = &listing->entry[i];
        if (summary && is_in_summary(summary, entry->name))
            continue;
        json_t *shape = json_array();
        for (int d = 0; d < entry->ndim; d++)
            json_array_append_new(shape, json_integer(entry->dim[d]));
        ok = json_array_size(shape) == (size_t)entry->ndim;
        json_t *item = json_pack("{s:o, s:s, s:o}", "name", io_json_text(entry->name), "dtype",
                                 entry->dtype, "shape", shape);
        ok = json_array_append_new(arrays, item) == 0 && ok;
    }
    if (ok)
        return arrays;
    json_decref(arrays);
    return NULL;
}

/* The summary of a file that is a model of ours, else NULL. */
static bool find_summary(tlnmf_ctx *ctx, io_file *file, const io_listing *listing, json_t **summary)
{
    bool is_model = io_hdf5_is_model(file);
    char *text = NULL;

    if (file->hdf5 < 0)
        for (size_t i = 0; i < listing->count; i++)
            is_model = is_model || strcmp(listing->entry[i].name, "Phi") == 0 ||
                       strcmp(listing->entry[i].name, "members") == 0;
    if (!is_model || !file->calls->text)
        return true;
    if (!file->calls->text(ctx, file, &text))
        return false;
    bool ok = true;
    if (file->hdf5 >= 0 && text)
        ok = io_summary_parse(ctx, file->source.name, "/summary", text, summary);
    else
        *summary = file->hdf5 >= 0 ? json_object() : text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    if (!json_is_object(*summary)) { /* not a summary of ours */
        json_decref(*summary);
        *summary = NULL;
    }
    return ok;
}

static json_t *describe(tlnmf_ctx *ctx, io_file *file)
{
    io_listing listing = {0};
    json_t *summary = NULL, *result = NULL;

    if (file->calls->list(ctx, file, &listing) && find_summary(ctx, file, &listing, &summary)) {
        json_t *arrays = arrays_of(&listing, summary);
        const char *format = file->hdf5 >= 0 && summary ? "tlnmf-model" : file->calls->name;
        result =
            json_pack("{s:o, s:s, s:I, s:o}", "file", io_json_text(file->source.name), "format",
                      format, "bytes", (json_int_t)file->source.size, "arrays", arrays);
        if (result && summary && json_object_set(result, "summary", summary) != 0) {
            json_decref(result);
            result = NULL;
        }
        if (!result)
            io_no_memory(ctx, file->source.name);
    }
    json_decref(summary);
    io_listing_free(&listing);
    return result;
}

tlnmf_error tlnmf_io_describe(tlnmf_ctx *ctx, const char *path, tlnmf_record **out)
{
    io_file file;
    json_t *object = NULL;
    const char *words;

    IO_NEED_OUT(ctx, out, path);
    char *name = io_split_spec(ctx, path, &words);
    if (name && io_file_open(ctx, name, &file)) {
        file.words = words;
        object = describe(ctx, &file);
        io_file_close(&file);
    }
    free(name);
    char *text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
    bool ok = text && tlnmf_record_create(ctx, out) == TLNMF_OK &&
              tlnmf_record_set_text(ctx, *out, "json", text) == TLNMF_OK;
    if (object && !text)
        io_no_memory(ctx, path);
    free(text);
    json_decref(object);
    return io_end_record(ctx, ok, out);
}
