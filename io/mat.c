/* Reads MATLAB files with matio: real, dense arrays, converted from column-major to C order. */
#include "h5.h"

#include <errno.h>
#include <matio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say_nothing(int level, char *message)
{
    (void)level;
    (void)message;
}

/* ---- opening ------------------------------------------------------------------------------ */

/* For a file that ends early, matio returns uninitialised memory, so we check the file ourselves.
 */
static bool check_complete(tlnmf_ctx *ctx, const io_source *source, mat_t *mat)
{
    if (Mat_GetVersion(mat) != MAT_FT_MAT5)
        return true;
    FILE *f = io_source_stream(ctx, source);
    if (!f)
        return false;
    bool ok = io_mat5_check(ctx, source, f);
    fclose(f);
    return ok;
}

/* Opens version 7.3 with HDF5 as well. */
static mat_t *open_path(tlnmf_ctx *ctx, const io_source *source, const char *path, int64_t *hdf5)
{
    mat_t *mat = NULL;

    if (io_h5_all_inside(ctx, path, source->name) && !(mat = Mat_Open(path, MAT_ACC_RDONLY)))
        io_fail(ctx, TLNMF_ERR_INPUT, "%s: not a MATLAB file", source->name);
    if (mat && !check_complete(ctx, source, mat)) {
        Mat_Close(mat);
        mat = NULL;
    }
    if (mat && Mat_GetVersion(mat) == MAT_FT_MAT73)
        *hdf5 = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    return mat;
}

/* matio and HDF5 open files by name only, so bytes from a pipe go through a temporary file. */
static mat_t *open_bytes(tlnmf_ctx *ctx, const io_source *source, int64_t *hdf5)
{
    const char *directory = getenv("TMPDIR");
    char path[4096];
    mat_t *mat = NULL;

    snprintf(path, sizeof path, "%s/tlnmf.XXXXXX", directory && *directory ? directory : "/tmp");
    int fd = mkstemp(path);
    if (fd >= 0 && io_write_all(fd, source->bytes, (size_t)source->size))
        mat = open_path(ctx, source, path, hdf5);
    else
        io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s: %s", source->name, path, strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    return mat;
}

/* Version 7.3 is HDF5 inside. */
static bool open_file(tlnmf_ctx *ctx, io_file *file)
{
    file->errors = io_h5_silence();
    Mat_LogInitFunc("tlnmf", say_nothing);
    file->handle = file->source.bytes
                       ? open_bytes(ctx, &file->source, &file->hdf5)
                       : open_path(ctx, &file->source, file->source.path, &file->hdf5);
    if (!file->handle)
        io_h5_restore(&file->errors);
    return file->handle != NULL;
}

static void close_file(io_file *file)
{
    if (file->hdf5 >= 0)
        H5Fclose(file->hdf5);
    Mat_Close(file->handle);
    io_h5_restore(&file->errors);
}

/* ---- listing ------------------------------------------------------------------------------ */

static const char *class_name(enum matio_classes class)
{
    static const char *const names[] = {
        "empty", "cell",  "struct", "object", "char",   "sparse", "float64", "float32",  "int8",
        "uint8", "int16", "uint16", "int32",  "uint32", "int64",  "uint64",  "function", "opaque"};

    return (size_t) class < sizeof names / sizeof names[0] ? names[class] : "unknown";
}

static bool is_numeric(const matvar_t *var)
{
    return var->class_type >= MAT_C_DOUBLE && var->class_type <= MAT_C_UINT64 && !var->isComplex;
}

/* Other programs write version 7.3 without the attribute MATLAB_class, or in a form that matio does
 * not read: the variable then has no class. If it holds numbers, HDF5 converts them. */
static void find_class(const io_file *file, matvar_t *var)
{
    if (!var || !var->name || var->class_type != MAT_C_EMPTY || var->isComplex || file->hdf5 < 0)
        return;
    hid_t dataset = H5Dopen2(file->hdf5, var->name, H5P_DEFAULT);
    hid_t type = dataset >= 0 ? H5Dget_type(dataset) : H5I_INVALID_HID;
    H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    if ((class == H5T_FLOAT || class == H5T_INTEGER) && H5Tget_size(type) <= 16) {
        var->class_type = MAT_C_DOUBLE;
        var->data_type = MAT_T_DOUBLE;
    }
    io_h5_close(type);
    io_h5_close(dataset);
}

/* matio stops at a variable whose MATLAB_class has variable length. */
static bool check_found(tlnmf_ctx *ctx, const io_file *file, const io_listing *listing)
{
    H5G_info_t root;
    return listing->count > 0 || file->hdf5 < 0 || H5Gget_info(file->hdf5, &root) < 0 ||
           root.nlinks == 0 ||
           io_fail(ctx, TLNMF_ERR_INPUT,
                   "%s: no variable has an attribute MATLAB_class that can be read; write it as a "
                   "string of fixed length (in h5py: numpy.bytes_(\"double\"))",
                   file->source.name);
}

static bool list_mat(tlnmf_ctx *ctx, io_file *file, io_listing *listing)
{
    mat_t *mat = file->handle;
    matvar_t *var;
    bool ok = true;

    Mat_Rewind(mat);
    while (ok && (var = Mat_VarReadNextInfo(mat)) != NULL) {
        find_class(file, var);
        io_entry entry = {.name = var->name, .numeric = is_numeric(var)};
        snprintf(entry.dtype, sizeof entry.dtype, "%s",
                 var->isComplex ? "complex" : class_name(var->class_type));
        for (int d = 0; var->dims && d < var->rank && d < IO_LIST_DIM; d++)
            entry.dim[entry.ndim++] = (int64_t)var->dims[d];
        ok = !var->name || io_listing_add(listing, &entry);
        Mat_VarFree(var);
    }
    return ok ? check_found(ctx, file, listing) : io_no_memory(ctx, file->source.name);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Checks the shape against the size of the file, because matio returns uninitialised memory for a
 * file of version 4 that is too short. An element takes at least one byte, which deflate shrinks by
 * 1032 at most. Files of version 7.3 are exempt: HDF5 need not store fill values. */
static bool check_shape(tlnmf_ctx *ctx, const io_source *source, mat_t *mat, const matvar_t *var,
                        int64_t *dim)
{
    int64_t most = var->compression == MAT_COMPRESSION_NONE ? source->size
                   : source->size < INT64_MAX / 1032        ? 1032 * source->size
                                                            : INT64_MAX;

    if (var->isComplex)
        return io_fail(ctx, TLNMF_ERR_INPUT, IO_COMPLEX, source->name, var->name);
    if (var->class_type == MAT_C_STRUCT)
        return io_fail(ctx, TLNMF_ERR_INPUT, IO_STRUCT, source->name, var->name, var->name);
    if (!is_numeric(var))
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s is %s, not an array of real numbers",
                       source->name, var->name, class_name(var->class_type));
    if (var->rank < 1 || var->rank > IO_MAX_DIM || !var->dims)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s has %d dimensions, at most %d are read",
                       source->name, var->name, var->rank, IO_MAX_DIM);
    for (int d = 0; d < var->rank; d++) {
        const uint64_t size = var->dims[d];
        dim[d] = size <= INT64_MAX ? (int64_t)size : -1;
    }
    int64_t count = io_count(var->rank, dim);
    if (count < 0)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s claims more elements than can be counted",
                       source->name, var->name);
    if (count > most && Mat_GetVersion(mat) != MAT_FT_MAT73)
        return io_fail(ctx, TLNMF_ERR_INPUT,
                       "%s: %s claims %lld elements, the file holds %lld bytes", source->name,
                       var->name, (long long)count, (long long)source->size);
    return true;
}

static double element(const void *data, enum matio_classes class, int64_t i)
{
    switch (class) {
    case MAT_C_SINGLE:
        return ((const float *)data)[i];
    case MAT_C_INT8:
        return ((const int8_t *)data)[i];
    case MAT_C_UINT8:
        return ((const uint8_t *)data)[i];
    case MAT_C_INT16:
        return ((const int16_t *)data)[i];
    case MAT_C_UINT16:
        return ((const uint16_t *)data)[i];
    case MAT_C_INT32:
        return ((const int32_t *)data)[i];
    case MAT_C_UINT32:
        return ((const uint32_t *)data)[i];
    case MAT_C_INT64:
        return (double)((const int64_t *)data)[i];
    case MAT_C_UINT64:
        return (double)((const uint64_t *)data)[i];
    default:
        return ((const double *)data)[i];
    }
}

static bool read_variable(tlnmf_ctx *ctx, const io_source *source, mat_t *mat, matvar_t *var,
                          const io_target *to)
{
    int64_t dim[IO_MAX_DIM];
    io_walk walk;

    if (!check_shape(ctx, source, mat, var, dim))
        return false;
    int64_t count = io_count(var->rank, dim);
    double *x = io_array_new(ctx, to, source->name, var->rank, dim);
    if (!x)
        return false;
    size_t size = Mat_SizeOfClass((int)var->class_type);
    if (count > 0 && (Mat_VarReadDataAll(mat, var) != 0 || !var->data ||
                      (size_t)var->data_size != size || var->nbytes / size < (uint64_t)count))
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s cannot be read, the file is damaged",
                       source->name, var->name);
    io_walk_start(&walk, var->rank, dim);
    for (int64_t i = 0; i < count; i++)
        x[io_walk_next(&walk)] = element(var->data, var->class_type, i);
    return true;
}

static bool read_mat(tlnmf_ctx *ctx, io_file *file, const char *member, io_slice *slice,
                     const io_target *to)
{
    (void)slice;
    matvar_t *var = Mat_VarReadInfo(file->handle, member);
    find_class(file, var);
    bool ok = var ? read_variable(ctx, &file->source, file->handle, var, to)
                  : io_file_lacks(ctx, file, member);
    Mat_VarFree(var);
    return ok;
}

/* Takes one byte per character: our JSON is ASCII. */
static bool read_summary(tlnmf_ctx *ctx, io_file *file, char **text)
{
    bool ok = true;

    *text = NULL;
    matvar_t *var = Mat_VarRead(file->handle, "summary");
    if (var && var->class_type == MAT_C_CHAR && var->data &&
        (var->data_size == 1 || var->data_size == 2)) {
        size_t count = var->nbytes / (size_t)var->data_size;
        *text = calloc(count + 1, 1);
        for (size_t i = 0; *text && i < count; i++)
            (*text)[i] = var->data_size == 2 ? (char)((const uint16_t *)var->data)[i]
                                             : ((const char *)var->data)[i];
        ok = *text || io_no_memory(ctx, file->source.name);
    }
    Mat_VarFree(var);
    return ok;
}

const io_format_calls io_mat_calls = {.name = "mat",
                                      .member = "variable",
                                      .open = open_file,
                                      .close = close_file,
                                      .list = list_mat,
                                      .read = read_mat,
                                      .text = read_summary};
