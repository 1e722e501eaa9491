/* Arrays: which format a spec means, in and out. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* `data.h5:/Y` is a path and a member, `12:30.npy` a path alone: the colon counts only after the
 * name of a file that can have members, or before words on a table, as in `data.csv:no-header`.
 * NULL when out of memory. */
static char *split_spec(const char *spec, const char **member)
{
    const char *colon = strrchr(spec, ':');
    size_t length = strlen(spec);

    *member = NULL;
    if (colon) {
        io_format format = io_format_of_name(spec, (size_t)(colon - spec));
        io_table_words words;
        if (format == IO_FORMAT_HDF5 || format == IO_FORMAT_MAT || format == IO_FORMAT_NPZ ||
            (colon[1] && io_table_words_read(colon + 1, &words))) {
            length = (size_t)(colon - spec);
            if (colon[1])
                *member = colon + 1;
        }
    }
    return strndup(spec, length);
}

static bool read_whole(const io_source *source, const char *member, const io_place *place,
                       io_array *out, io_error *err)
{
    io_table_words words;

    if (member && io_table_words_read(member, &words) && source->format == IO_FORMAT_NPY)
        return io_fail(err, IO_BAD_INPUT, "%s: not a table as text, which alone has a %s",
                       source->name, member);
    switch (source->format) {
    case IO_FORMAT_NPY:
        return io_npy_read(source, NULL, place, out, err);
    case IO_FORMAT_NPZ:
        return io_npz_read(source, member, place, out, err);
    case IO_FORMAT_TEXT:
        return io_csv_read(source, member, place, out, err);
    case IO_FORMAT_HDF5:
        return io_hdf5_read(source, member, NULL, place, out, err);
    default:
        return io_mat_read(source, member, place, out, err);
    }
}

/* The range of a whole array. */
static bool cut(const char *name, const io_array *whole, io_slice *slice, const io_place *place,
                io_array *out, io_error *err)
{
    *out = (io_array){.ndim = whole->ndim};
    memcpy(out->note, whole->note, sizeof out->note);
    if (!io_slice_fit(slice, name, whole->ndim, whole->dim, out->dim, err))
        return false;
    if (slice->count == 0)
        return true;
    io_runs r = io_slice_runs(slice, false);
    out->x = io_array_new(place, name, out->ndim, out->dim, err);
    for (int64_t i = 0; out->x && i < r.runs; i++)
        memcpy(out->x + i * r.length, whole->x + r.offset + i * r.stride,
               (size_t)r.length * sizeof *out->x);
    return out->x != NULL;
}

static bool read_range(const io_source *source, const char *member, io_slice *slice,
                       const io_place *place, io_array *out, io_error *err)
{
    io_array whole;

    if (source->format == IO_FORMAT_NPY)
        return io_npy_read(source, slice, place, out, err);
    if (source->format == IO_FORMAT_HDF5)
        return io_hdf5_read(source, member, slice, place, out, err);
    if (!read_whole(source, member, NULL, &whole, err))
        return false;
    bool ok = cut(source->name, &whole, slice, place, out, err);
    io_array_free(&whole);
    return ok;
}

bool io_array_read_slice(const char *spec, io_slice *slice, const io_place *place, io_array *out,
                         io_error *err)
{
    const char *member;
    char *path = split_spec(spec, &member);
    io_source source;
    bool ok = false;

    *out = (io_array){0};
    if (!path)
        return io_no_memory(err, spec);
    if (io_source_open(path, &source, err)) {
        ok = slice ? read_range(&source, member, slice, place, out, err)
                   : read_whole(&source, member, place, out, err);
        io_source_close(&source);
    }
    if (!ok)
        *out = (io_array){0}; /* the readers have given their memory back */
    free(path);
    return ok;
}

bool io_array_read(const char *spec, const io_place *place, io_array *out, io_error *err)
{
    return io_array_read_slice(spec, NULL, place, out, err);
}

/* A name without any extension, such as /dev/stdout or a pipe, gets .npy, as `-` does. */
static bool has_no_extension(const char *path)
{
    const char *slash = strrchr(path, '/');

    return !strchr(slash ? slash : path, '.');
}

bool io_array_write(const char *spec, const io_array *array, io_error *err)
{
    const char *member;
    char *path = split_spec(spec, &member);

    if (!path)
        return io_no_memory(err, spec);
    io_format format = io_format_of_name(path, strlen(path));
    bool ok;
    if (format == IO_FORMAT_HDF5)
        ok = io_hdf5_write(path, member ? member : "/Y", array, err);
    else if (format == IO_FORMAT_NPY || has_no_extension(path))
        ok = io_npy_write(path, array, err);
    else
        ok = io_fail(err, IO_NO_OUTPUT, "%s: arrays are written as .npy or .h5", path);
    free(path);
    return ok;
}

void io_array_free(io_array *array)
{
    if (!array)
        return;
    free(array->x);
    *array = (io_array){0};
}
