/* Reads HDF5: lists of datasets, arrays of real numbers, summaries of models. */
#include "h5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The core driver needs a name for a file in memory. No file can exist below /dev/null. */
#define IN_MEMORY "/dev/null/tlnmf-input"

static bool open_hdf5(tlnmf_ctx *ctx, io_file *file)
{
    const io_source *source = &file->source;

    file->errors = io_h5_silence();
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    bool ok = fapl >= 0 && H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG) >= 0;
    if (source->bytes)
        ok = ok && H5Pset_fapl_core(fapl, 1 << 20, 0) >= 0 &&
             H5Pset_file_image(fapl, source->bytes, (size_t)source->size) >= 0;
    if (ok)
        file->hdf5 = H5Fopen(source->bytes ? IN_MEMORY : source->path, H5F_ACC_RDONLY, fapl);
    io_h5_close(fapl);
    if (file->hdf5 >= 0)
        return true;
    io_h5_restore(&file->errors);
    if (memcmp(source->head, "\x89HDF", 4) != 0)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: not an HDF5 file", source->name);
    return io_fail(ctx, TLNMF_ERR_INPUT, "%s: a damaged or unfinished HDF5 file", source->name);
}

/* Also closes everything that is open in the file. */
static void close_hdf5(io_file *file)
{
    H5Fclose(file->hdf5);
    io_h5_restore(&file->errors);
}

/* ---- lists ---------------------------------------------------------------------------------- */

static const char *class_name(H5T_class_t class)
{
    static const char *const names[] = {
        [H5T_STRING] = "string",       [H5T_COMPOUND] = "compound", [H5T_ENUM] = "enum",
        [H5T_REFERENCE] = "reference", [H5T_VLEN] = "vlen",         [H5T_ARRAY] = "array"};
    bool known = class >= 0 && (size_t) class < sizeof names / sizeof *names && names[class];

    return known ? names[class] : "opaque";
}

/* Whether these are booleans as h5py writes them: bytes with the names FALSE and TRUE. */
static bool is_boolean(hid_t type)
{
    signed char no = 1, yes = 0;
    return H5Tget_class(type) == H5T_ENUM && H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 &&
           H5Tenum_valueof(type, "FALSE", &no) >= 0 && H5Tenum_valueof(type, "TRUE", &yes) >= 0 &&
           no == 0 && yes == 1;
}

/* Whether these are complex numbers as h5py and MATLAB write them: two numbers, r or real first. */
static bool is_complex(hid_t type)
{
    if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2)
        return false;
    char *first = H5Tget_member_name(type, 0);
    bool real = first && (strcmp(first, "r") == 0 || strcmp(first, "real") == 0);
    H5free_memory(first);
    return real && H5Tget_member_class(type, 0) == H5T_FLOAT &&
           H5Tget_member_class(type, 1) == H5T_FLOAT;
}

static bool describe_type(hid_t dataset, io_entry *entry)
{
    hid_t type = H5Dget_type(dataset);
    H5T_class_t class = H5Tget_class(type);

    /* Numbers have at most 16 bytes, but HDF5 converts any length that a file declares. */
    entry->numeric = (class == H5T_FLOAT || class == H5T_INTEGER) && H5Tget_size(type) <= 16;
    if (entry->numeric)
        snprintf(entry->dtype, sizeof entry->dtype, "%s%zu",
                 class == H5T_FLOAT                  ? "float"
                 : H5Tget_sign(type) == H5T_SGN_NONE ? "uint"
                                                     : "int",
                 8 * H5Tget_size(type));
    else if (is_boolean(type)) {
        entry->numeric = true;
        snprintf(entry->dtype, sizeof entry->dtype, "bool");
    } else
        snprintf(entry->dtype, sizeof entry->dtype, "%s",
                 is_complex(type) ? "complex" : class_name(class));
    io_h5_close(type);
    return type >= 0;
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
    io_h5_close(space);
    return ok;
}

static bool describe(hid_t dataset, io_entry *entry)
{
    return describe_type(dataset, entry) && describe_shape(dataset, entry);
}

enum { LONGEST_PATH = 1024 };

typedef struct visitor {
    io_listing *listing;
    size_t seen;
    bool out_of_memory;
} visitor;

/* Datasets that are damaged or of an unknown kind are skipped. */
static bool add_dataset(hid_t root, const char *path, io_listing *listing)
{
    char name[LONGEST_PATH + 2];
    io_entry entry = {.name = name};
    const char *outside;
    hid_t dataset = io_h5_open_inside(root, path, &outside);
    bool known = dataset >= 0 && describe(dataset, &entry);

    io_h5_close(dataset);
    if (outside)
        snprintf(entry.dtype, sizeof entry.dtype, "%s", outside);
    snprintf(name, sizeof name, "/%s", path);
    return (!known && !outside) || io_listing_add(listing, &entry);
}

/* A damaged file can make a group its own member, so the walk is limited. */
static herr_t visit(hid_t root, const char *path, const H5O_info_t *info, void *data)
{
    enum { MOST_OBJECTS = 1000000 };
    visitor *v = data;

    if (++v->seen > MOST_OBJECTS || strlen(path) > LONGEST_PATH)
        return -1;
    if (info->type == H5O_TYPE_DATASET && !add_dataset(root, path, v->listing)) {
        v->out_of_memory = true;
        return -1;
    }
    return 0;
}

static bool list_hdf5(tlnmf_ctx *ctx, io_file *file, io_listing *listing)
{
    visitor v = {.listing = listing};
    herr_t status = H5Ovisit(file->hdf5, H5_INDEX_NAME, H5_ITER_INC, visit, &v);

    if (v.out_of_memory)
        return io_no_memory(ctx, file->source.name);
    return status >= 0 ||
           io_fail(ctx, TLNMF_ERR_INPUT, "%s: a damaged HDF5 file, its contents cannot be listed",
                   file->source.name);
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool check(tlnmf_ctx *ctx, hid_t dataset, const char *name, const char *path, int *ndim,
                  int64_t *dim)
{
    io_entry entry = {0};

    if (!describe(dataset, &entry))
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s is damaged", name, path);
    if (strcmp(entry.dtype, "complex") == 0)
        return io_fail(ctx, TLNMF_ERR_INPUT, IO_COMPLEX, name, path);
    if (!entry.numeric)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s holds %s values, not real numbers", name, path,
                       entry.dtype);
    if (entry.ndim == 0)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s is a single number, not an array", name, path);
    if (entry.ndim > IO_MAX_DIM)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s has %d dimensions, at most %d are read", name,
                       path, entry.ndim, IO_MAX_DIM);
    if (io_count(entry.ndim, entry.dim) < 0)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s claims more elements than can be counted",
                       name, path);
    *ndim = entry.ndim;
    memcpy(dim, entry.dim, IO_MAX_DIM * sizeof *dim);
    return true;
}

/* Opens a dataset of real numbers and gives its shape; negative on failure. */
static hid_t open_dataset(tlnmf_ctx *ctx, io_file *file, const char *path, int *ndim, int64_t *dim)
{
    const char *outside;
    hid_t dataset = io_h5_open_inside(file->hdf5, path, &outside);

    if (dataset >= 0 && check(ctx, dataset, file->source.name, path, ndim, dim))
        return dataset;
    if (outside)
        io_h5_fail_outside(ctx, file->source.name, path, outside);
    else if (dataset < 0)
        io_file_lacks(ctx, file, path);
    io_h5_close(dataset);
    return H5I_INVALID_HID;
}

/* Replaces bytes at the start of x by numbers. */
static void widen(const io_h5_range *range, double *x)
{
    const unsigned char *bytes = (const unsigned char *)x;
    hsize_t count = 1;
    for (int d = 0; d < range->ndim; d++)
        count *= range->count[d];
    while (count-- > 0) /* from the end: no byte is overwritten before it is read */
        x[count] = bytes[count] != 0;
}

/* Reads a range of an open dataset. HDF5 does not convert booleans to numbers. */
static bool fill_range(hid_t dataset, const io_h5_range *range, double *x)
{
    hid_t in_file = H5Dget_space(dataset), here = H5Screate_simple(range->ndim, range->count, NULL);
    hid_t type = H5Dget_type(dataset);
    bool booleans = is_boolean(type);
    bool ok =
        in_file >= 0 && here >= 0 &&
        H5Sselect_hyperslab(in_file, H5S_SELECT_SET, range->first, NULL, range->count, NULL) >= 0 &&
        H5Dread(dataset, booleans ? type : H5T_NATIVE_DOUBLE, here, in_file, H5P_DEFAULT, x) >= 0;

    if (ok && booleans)
        widen(range, x);
    io_h5_close(type);
    io_h5_close(in_file);
    io_h5_close(here);
    return ok;
}

/* The number of indices of the first axis to read at once: about 8 MB, in whole chunks. */
static hsize_t rows_at_once(hid_t dataset, const io_h5_range *range)
{
    const hsize_t numbers = 1 << 20;
    hsize_t row = 1, chunk[H5S_MAX_RANK] = {1};
    hid_t layout = H5Dget_create_plist(dataset);

    for (int d = 1; d < range->ndim; d++)
        row *= range->count[d];
    if (layout >= 0 && H5Pget_layout(layout) == H5D_CHUNKED &&
        H5Pget_chunk(layout, H5S_MAX_RANK, chunk) < 1)
        chunk[0] = range->count[0];
    io_h5_close(layout);
    hsize_t whole = chunk[0] > 0 ? chunk[0] : 1;
    return (numbers / (row > 0 ? row : 1) / whole + 1) * whole;
}

/* Calls fill_range for parts, and polls in between. */
static bool fill_in_parts(tlnmf_ctx *ctx, const char *name, const char *path, hid_t dataset,
                          const io_h5_range *range, double *x)
{
    hsize_t at_once = rows_at_once(dataset, range), rows = range->count[0], row = 1;
    io_h5_range part = *range;

    for (int d = 1; d < range->ndim; d++)
        row *= range->count[d];
    for (hsize_t i = 0; i < rows; i += part.count[0]) {
        part.first[0] = range->first[0] + i;
        part.count[0] = rows - i < at_once ? rows - i : at_once;
        if (!fill_range(dataset, &part, x + i * row))
            return io_fail(ctx, TLNMF_ERR_INPUT,
                           "%s: %s cannot be read, it is damaged or needs a filter that is missing",
                           name, path);
        if (!io_goes_on(ctx, name, (i + part.count[0]) * row * sizeof *x, rows * row * sizeof *x))
            return false;
    }
    return true;
}

static bool read_range(tlnmf_ctx *ctx, hid_t dataset, const char *name, const char *path,
                       const io_h5_range *range, const io_target *to)
{
    int64_t dim[IO_MAX_DIM];

    for (int d = 0; d < range->ndim; d++)
        dim[d] = (int64_t)range->count[d];
    double *x = io_array_new(ctx, to, name, range->ndim, dim);
    if (!x)
        return false;
    if (!io_h5_chunks_are_whole(dataset, range))
        return io_fail(ctx, TLNMF_ERR_INPUT,
                       "%s: %s is damaged: the size of a chunk does not match its shape", name,
                       path);
    return io_goes_on(ctx, name, 0, 0) &&
           (io_count(range->ndim, dim) == 0 || fill_in_parts(ctx, name, path, dataset, range, x));
}

static bool read_hdf5(tlnmf_ctx *ctx, io_file *file, const char *path, io_slice *slice,
                      const io_target *to)
{
    int ndim;
    int64_t dim[IO_MAX_DIM], part[IO_MAX_DIM];
    hid_t dataset = open_dataset(ctx, file, path, &ndim, dim);

    if (dataset < 0)
        return false;
    memcpy(part, dim, sizeof part);
    bool ok = !slice || io_slice_fit(ctx, slice, file->source.name, ndim, dim, part);
    if (ok && !(slice && slice->count == 0)) {
        io_h5_range range = {.ndim = ndim};
        for (int d = 0; d < ndim; d++)
            range.count[d] = (hsize_t)part[d];
        if (slice)
            range.first[slice->axis] = (hsize_t)slice->first;
        ok = read_range(ctx, dataset, file->source.name, path, &range, to);
    }
    io_h5_close(dataset);
    return ok;
}

/* ---- models ------------------------------------------------------------------------------- */

/* Reads one string of fixed length. Its size can be trusted because all of it is in the file. */
static bool read_string(tlnmf_ctx *ctx, hid_t dataset, const char *name, char **text)
{
    hid_t type = dataset >= 0 ? H5Dget_type(dataset) : -1;
    size_t size = type >= 0 ? H5Tget_size(type) : 0;
    bool ok = type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
              H5Dget_storage_size(dataset) == size;

    if (!ok)
        io_refuse(ctx, TLNMF_ERR_INPUT, "%s: /summary is not a text", name);
    else if (!(*text = calloc(size + 1, 1)))
        ok = io_no_memory(ctx, name);
    else if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *text) < 0)
        ok = io_fail(ctx, TLNMF_ERR_INPUT, "%s: /summary cannot be read", name);
    io_h5_close(type);
    return ok;
}

static bool read_summary(tlnmf_ctx *ctx, io_file *file, char **text)
{
    const char *outside;

    *text = NULL;
    if (H5Lexists(file->hdf5, "/summary", H5P_DEFAULT) <= 0)
        return true;
    hid_t dataset = io_h5_open_inside(file->hdf5, "/summary", &outside);
    bool ok = read_string(ctx, dataset, file->source.name, text);
    io_h5_close(dataset);
    if (!ok) {
        free(*text);
        *text = NULL;
    }
    return ok;
}

/* Reads an integer attribute of /; false if it is missing or not an integer. */
static bool get_integer(hid_t file, const char *name, int64_t *value)
{
    hid_t attribute = H5Aexists(file, name) > 0 ? H5Aopen(file, name, H5P_DEFAULT) : -1;
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    bool ok = type >= 0 && H5Tget_class(type) == H5T_INTEGER && space >= 0 &&
              H5Sget_simple_extent_npoints(space) == 1 &&
              H5Aread(attribute, H5T_NATIVE_INT64, value) >= 0;

    io_h5_close(space);
    io_h5_close(type);
    io_h5_close(attribute);
    return ok;
}

bool io_hdf5_is_model(const io_file *file)
{
    char text[sizeof IO_H5_FORMAT] = "";

    if (file->hdf5 < 0)
        return false;
    hid_t attribute =
        H5Aexists(file->hdf5, "format") > 0 ? H5Aopen(file->hdf5, "format", H5P_DEFAULT) : -1;
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    bool ok = type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
              H5Tget_size(type) == sizeof IO_H5_FORMAT - 1 &&
              H5Aget_storage_size(attribute) < sizeof text && H5Aread(attribute, type, text) >= 0 &&
              strcmp(text, IO_H5_FORMAT) == 0;
    io_h5_close(type);
    io_h5_close(attribute);
    return ok;
}

bool io_hdf5_check_model(tlnmf_ctx *ctx, const io_file *file, int64_t sizes[3])
{
    static const char *const names[] = {"M", "N", "K"};
    const char *name = file->source.name;
    int64_t version = 0;

    if (!io_hdf5_is_model(file))
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: an HDF5 file, but not a model", name);
    if (!get_integer(file->hdf5, "format_version", &version) || version < 1)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: a model without a valid format version", name);
    if (version > IO_H5_VERSION)
        return io_fail(ctx, TLNMF_ERR_INPUT,
                       "%s: format version %lld is newer than this program understands (%d)", name,
                       (long long)version, IO_H5_VERSION);
    for (int i = 0; i < 3; i++)
        if (!get_integer(file->hdf5, names[i], &sizes[i]) || sizes[i] < 0)
            sizes[i] = -1;
    return io_h5_refers_inside(ctx, file->hdf5, name);
}

const io_format_calls io_hdf5_calls = {.name = "hdf5",
                                       .member = "dataset",
                                       .open = open_hdf5,
                                       .close = close_hdf5,
                                       .list = list_hdf5,
                                       .read = read_hdf5,
                                       .text = read_summary};
