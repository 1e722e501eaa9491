/* Reading HDF5: what is inside, and arrays of real numbers. */
#include "h5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The core driver needs a name for what is in memory; below /dev/null nothing can exist. */
#define IN_MEMORY "/dev/null/tlnmf-input"

hid_t io_h5_open(const io_source *source, io_error *err)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file = H5I_INVALID_HID;
    bool ok = fapl >= 0 && H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG) >= 0;

    if (source->bytes)
        ok = ok && H5Pset_fapl_core(fapl, 1 << 20, 0) >= 0 &&
             H5Pset_file_image(fapl, source->bytes, (size_t)source->size) >= 0;
    if (ok)
        file = H5Fopen(source->bytes ? IN_MEMORY : source->path, H5F_ACC_RDONLY, fapl);
    H5Pclose(fapl);
    if (file >= 0)
        return file;
    if (memcmp(source->head, "\x89HDF", 4) == 0)
        io_fail(err, IO_BAD_INPUT, "%s: a damaged or unfinished HDF5 file", source->name);
    else
        io_fail_content(source, "not an HDF5 file", err);
    return H5I_INVALID_HID;
}

/* ---- what is inside ----------------------------------------------------------------------- */

static const char *class_name(H5T_class_t class)
{
    switch (class) {
    case H5T_STRING:
        return "string";
    case H5T_COMPOUND:
        return "compound";
    case H5T_ENUM:
        return "enum";
    case H5T_REFERENCE:
        return "reference";
    case H5T_VLEN:
        return "vlen";
    case H5T_ARRAY:
        return "array";
    default:
        return "opaque";
    }
}

static bool describe_type(hid_t dataset, io_entry *entry)
{
    hid_t type = H5Dget_type(dataset);
    H5T_class_t class = H5Tget_class(type);

    /* No machine has numbers of more than 16 bytes, but HDF5 converts any length a file claims. */
    entry->numeric = (class == H5T_FLOAT || class == H5T_INTEGER) && H5Tget_size(type) <= 16;
    if (entry->numeric)
        snprintf(entry->dtype, sizeof entry->dtype, "%s%zu",
                 class == H5T_FLOAT                  ? "float"
                 : H5Tget_sign(type) == H5T_SGN_NONE ? "uint"
                                                     : "int",
                 8 * H5Tget_size(type));
    else
        snprintf(entry->dtype, sizeof entry->dtype, "%s", class_name(class));
    return type >= 0 && H5Tclose(type) >= 0;
}

/* A size beyond int64_t becomes -1. */
static bool describe_shape(hid_t dataset, io_entry *entry)
{
    hid_t space = H5Dget_space(dataset);
    hsize_t dim[H5S_MAX_RANK];
    int ndim = H5Sget_simple_extent_ndims(space);
    bool ok = ndim >= 0 && ndim <= IO_LIST_DIM && H5Sget_simple_extent_dims(space, dim, NULL) >= 0;

    for (int d = 0; ok && d < ndim; d++)
        entry->dim[d] = dim[d] <= INT64_MAX ? (int64_t)dim[d] : -1;
    entry->ndim = ndim;
    if (space >= 0)
        H5Sclose(space);
    return ok;
}

static bool describe(hid_t dataset, io_entry *entry)
{
    return describe_type(dataset, entry) && describe_shape(dataset, entry);
}

typedef struct visitor {
    io_listing *listing;
    size_t seen;
    bool out_of_memory;
} visitor;

static bool add_dataset(hid_t root, const char *path, io_listing *listing)
{
    io_entry entry = {0};
    io_h5_place place;
    hid_t dataset = io_h5_open_inside(root, path, &place);
    bool known = dataset >= 0 && describe(dataset, &entry);

    if (place == IO_H5_EXTERNAL || place == IO_H5_VIRTUAL) {
        snprintf(entry.dtype, sizeof entry.dtype, "%s",
                 place == IO_H5_VIRTUAL ? "virtual" : "external");
        known = true;
    }

    if (dataset >= 0)
        H5Dclose(dataset);
    if (!known) /* damaged, or of a kind from the future: not for us, and no reason to stop */
        return true;
    size_t size = strlen(path) + 2;
    entry.name = malloc(size);
    if (!entry.name)
        return false;
    snprintf(entry.name, size, "/%s", path);
    bool ok = io_listing_add(listing, &entry);
    free(entry.name);
    return ok;
}

/* A damaged file can make a group its own member: the walk must end. */
static herr_t visit(hid_t root, const char *path, const H5O_info_t *info, void *data)
{
    enum { MOST_OBJECTS = 1000000, LONGEST_PATH = 1024 };
    visitor *v = data;

    if (++v->seen > MOST_OBJECTS || strlen(path) > LONGEST_PATH)
        return -1;
    if (info->type == H5O_TYPE_DATASET && !add_dataset(root, path, v->listing)) {
        v->out_of_memory = true;
        return -1;
    }
    return 0;
}

bool io_h5_list(hid_t file, const char *name, io_listing *listing, io_error *err)
{
    visitor v = {.listing = listing};

    if (H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &v) >= 0)
        return true;
    if (v.out_of_memory)
        return io_no_memory(err, name);
    return io_fail(err, IO_BAD_INPUT, "%s: a damaged HDF5 file, its contents cannot be listed",
                   name);
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool no_dataset(hid_t file, const char *name, const char *path, io_error *err)
{
    io_listing listing = {0};

    if (io_h5_list(file, name, &listing, err))
        io_fail_missing(&listing, name, "dataset", path, err);
    io_listing_free(&listing);
    return false;
}

static bool check(hid_t dataset, const char *name, const char *path, io_array *shape, io_error *err)
{
    io_entry entry = {0};

    if (!describe(dataset, &entry))
        return io_fail(err, IO_BAD_INPUT, "%s: %s is damaged", name, path);
    if (!entry.numeric)
        return io_fail(err, IO_BAD_INPUT, "%s: %s holds %s values, not real numbers", name, path,
                       entry.dtype);
    if (entry.ndim == 0)
        return io_fail(err, IO_BAD_INPUT, "%s: %s is a single number, not an array", name, path);
    if (entry.ndim > IO_MAX_DIM)
        return io_fail(err, IO_BAD_INPUT, "%s: %s has %d dimensions, at most %d are read", name,
                       path, entry.ndim, IO_MAX_DIM);
    if (io_count(entry.ndim, entry.dim) < 0)
        return io_fail(err, IO_BAD_INPUT, "%s: %s claims more elements than can be counted", name,
                       path);
    if (!io_h5_is_believable(dataset, io_count(entry.ndim, entry.dim)))
        return io_fail(
            err, IO_BAD_INPUT,
            "%s: %s claims %lld elements (or chunks as large), far beyond the %lld bytes "
            "that are stored",
            name, path, (long long)io_count(entry.ndim, entry.dim),
            (long long)H5Dget_storage_size(dataset));
    *shape = (io_array){.ndim = entry.ndim};
    memcpy(shape->dim, entry.dim, sizeof shape->dim);
    return true;
}

hid_t io_h5_dataset(hid_t file, const char *name, const char *path, io_array *shape, io_error *err)
{
    io_h5_place place;
    hid_t dataset = io_h5_open_inside(file, path, &place);

    if (dataset < 0) {
        if (place == IO_H5_DAMAGED)
            no_dataset(file, name, path, err);
        else
            io_fail(err, IO_BAD_INPUT, "%s: %s is %s: only what is in the file itself is read",
                    name, path, io_h5_place_name(place));
        return dataset;
    }
    if (check(dataset, name, path, shape, err))
        return dataset;
    H5Dclose(dataset);
    return H5I_INVALID_HID;
}

static bool cannot_fill(const char *name, const char *path, io_error *err)
{
    return io_fail(err, IO_BAD_INPUT,
                   "%s: %s cannot be read, it is damaged or needs a filter that is missing", name,
                   path);
}

bool io_h5_fill(hid_t dataset, const char *name, const char *path, hid_t native, void *buffer,
                io_error *err)
{
    return H5Dread(dataset, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer) >= 0 ||
           cannot_fill(name, path, err);
}

/* So many elements as the array has, from this one of an axis on. */
static io_h5_range range_of(const io_array *array, int axis, int64_t first)
{
    io_h5_range range = {.ndim = array->ndim};

    for (int d = 0; d < array->ndim; d++)
        range.count[d] = (hsize_t)array->dim[d];
    range.first[axis] = (hsize_t)first;
    return range;
}

static bool check_chunks(hid_t dataset, const char *name, const char *path,
                         const io_h5_range *range, io_error *err)
{
    return io_h5_chunks_are_whole(dataset, range) ||
           io_fail(err, IO_BAD_INPUT,
                   "%s: %s is damaged: its chunks hold fewer or more bytes than their shape", name,
                   path);
}

bool io_h5_read(hid_t file, const char *name, const char *path, const io_place *place,
                io_array *out, io_error *err)
{
    io_array array;
    hid_t dataset = io_h5_dataset(file, name, path, &array, err);

    if (dataset < 0)
        return false;
    int64_t count = io_count(array.ndim, array.dim);
    io_h5_range all = range_of(&array, 0, 0);
    array.x = check_chunks(dataset, name, path, &all, err)
                  ? io_array_new(place, name, array.ndim, array.dim, err)
                  : NULL;
    bool ok =
        array.x && (count == 0 || io_h5_fill(dataset, name, path, H5T_NATIVE_DOUBLE, array.x, err));
    H5Dclose(dataset);
    if (ok)
        *out = array;
    else
        io_array_drop(place, array.x);
    return ok;
}

/* The range of an open dataset, which has elements, to x. */
static bool fill_range(hid_t dataset, const io_h5_range *range, double *x)
{
    hid_t in_file = H5Dget_space(dataset), here = H5Screate_simple(range->ndim, range->count, NULL);
    bool ok =
        in_file >= 0 && here >= 0 &&
        H5Sselect_hyperslab(in_file, H5S_SELECT_SET, range->first, NULL, range->count, NULL) >= 0 &&
        H5Dread(dataset, H5T_NATIVE_DOUBLE, here, in_file, H5P_DEFAULT, x) >= 0;
    if (in_file >= 0)
        H5Sclose(in_file);
    if (here >= 0)
        H5Sclose(here);
    return ok;
}

static bool read_slice(hid_t file, const char *name, const char *path, io_slice *slice,
                       const io_place *place, io_array *out, io_error *err)
{
    io_array whole, range;
    hid_t dataset = io_h5_dataset(file, name, path, &whole, err);

    if (dataset < 0)
        return false;
    range = whole;
    bool ok = io_slice_fit(slice, name, whole.ndim, whole.dim, range.dim, err);
    if (ok && slice->count > 0) {
        io_h5_range part = range_of(&range, slice->axis, slice->first);
        range.x = check_chunks(dataset, name, path, &part, err)
                      ? io_array_new(place, name, range.ndim, range.dim, err)
                      : NULL;
        ok = range.x && (io_count(range.ndim, range.dim) == 0 ||
                         fill_range(dataset, &part, range.x) || cannot_fill(name, path, err));
    }
    H5Dclose(dataset);
    if (ok)
        *out = range;
    else
        io_array_drop(place, range.x);
    return ok;
}

static bool read_member(hid_t file, const char *name, const char *member, io_slice *slice,
                        const io_place *place, io_array *out, io_error *err)
{
    io_listing listing = {0};
    bool ok = member || io_h5_list(file, name, &listing, err);

    if (ok && !member)
        member = io_listing_only(&listing, name, err);
    ok = ok && member &&
         (slice ? read_slice(file, name, member, slice, place, out, err)
                : io_h5_read(file, name, member, place, out, err));
    io_listing_free(&listing);
    return ok;
}

bool io_hdf5_read(const io_source *source, const char *member, io_slice *slice,
                  const io_place *place, io_array *out, io_error *err)
{
    bool ok = false;

    H5E_BEGIN_TRY
    {
        hid_t file = io_h5_open(source, err);
        ok = file >= 0 && read_member(file, source->name, member, slice, place, out, err);
        if (file >= 0)
            H5Fclose(file);
    }
    H5E_END_TRY
    return ok;
}
