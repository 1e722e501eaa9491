/* What is in a file, as a JSON object. */
#include "h5.h"
#include "model.h"

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

/* Whether the summary of a model tells this, which .npz and .mat files have as variables, too. */
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

static bool look_into_hdf5(const io_source *source, io_listing *listing, json_t **summary,
                           io_error *err)
{
    bool ok = false;

    H5E_BEGIN_TRY
    {
        hid_t file = io_h5_open(source, err);
        ok = file >= 0 && io_h5_list(file, source->name, listing, err);
        if (ok && io_h5_is_model(file)) {
            *summary = io_h5_summary(file, source->name, err);
            ok = *summary != NULL;
        }
        if (file >= 0)
            H5Fclose(file);
    }
    H5E_END_TRY
    return ok;
}

/* The summary of a set of arrays that is a model of ours, else NULL. */
static bool look_for_summary(const io_source *source, const io_listing *listing,
                             bool (*get)(const io_source *, char **, io_error *), json_t **summary,
                             io_error *err)
{
    bool has_Phi = false;
    char *text = NULL;

    for (size_t i = 0; i < listing->count; i++)
        has_Phi = has_Phi || strcmp(listing->entry[i].name, "Phi") == 0;
    if (has_Phi && !get(source, &text, err))
        return false;
    *summary = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    if (!json_is_object(*summary)) { /* of somebody else */
        json_decref(*summary);
        *summary = NULL;
    }
    return true;
}

static json_t *describe(const io_source *source, io_error *err)
{
    io_listing listing = {0};
    json_t *summary = NULL, *result = NULL;
    const char *format;
    bool ok;

    if (source->format == IO_FORMAT_NPY) {
        format = "npy";
        ok = io_npy_list(source, &listing, err);
    } else if (source->format == IO_FORMAT_NPZ) {
        format = "npz";
        ok = io_npz_list(source, &listing, err) &&
             look_for_summary(source, &listing, io_npz_summary, &summary, err);
    } else if (source->format == IO_FORMAT_TEXT) {
        format = "text";
        ok = io_csv_list(source, &listing, err);
    } else if (source->format == IO_FORMAT_MAT) {
        format = "mat";
        ok = io_mat_list(source, &listing, err) &&
             look_for_summary(source, &listing, io_mat_summary, &summary, err);
    } else {
        ok = look_into_hdf5(source, &listing, &summary, err);
        format = summary ? "tlnmf-model" : "hdf5";
    }
    if (ok) {
        json_t *arrays = arrays_of(&listing, summary);
        result = json_pack("{s:o, s:s, s:I, s:o}", "file", io_json_text(source->name), "format",
                           format, "bytes", (json_int_t)source->size, "arrays", arrays);
        if (result && summary && json_object_set(result, "summary", summary) != 0) {
            json_decref(result);
            result = NULL;
        }
        if (!result)
            io_no_memory(err, source->name);
    }
    json_decref(summary);
    io_listing_free(&listing);
    return result;
}

json_t *io_describe(const char *path, io_error *err)
{
    io_source source;

    if (!io_source_open(path, &source, err))
        return NULL;
    json_t *result = describe(&source, err);
    io_source_close(&source);
    return result;
}
