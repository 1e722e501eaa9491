/* MATLAB files through matio: real, dense arrays, turned from columns first to rows first. */
#include "mat.h"
#include "h5.h"

#include <errno.h>
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

/* matio opens names only, so that bytes from a pipe take a detour over a file. */
static mat_t *open_bytes(const io_source *source, io_error *err)
{
    const char *directory = getenv("TMPDIR");
    char path[4096];
    mat_t *mat = NULL;

    snprintf(path, sizeof path, "%s/tlnmf.XXXXXX", directory && *directory ? directory : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0) {
        io_fail(err, IO_BAD_INPUT, "%s: %s: %s", source->name, path, strerror(errno));
        return NULL;
    }
    if (!io_write_all(fd, source->bytes, (size_t)source->size)) {
        io_fail(err, IO_BAD_INPUT, "%s: %s: %s", source->name, path, strerror(errno));
    } else if (io_h5_all_inside(path, source->name, err)) {
        mat = Mat_Open(path, MAT_ACC_RDONLY);
        if (!mat)
            io_fail_content(source, "not a MATLAB file", err);
    }
    close(fd);
    unlink(path);
    return mat;
}

/* matio fills up a file that ends early with whatever was in memory, so that we look ourselves. */
static bool check_complete(const io_source *source, mat_t *mat, io_error *err)
{
    if (Mat_GetVersion(mat) != MAT_FT_MAT5)
        return true;
    FILE *f = io_source_stream(source, err);
    if (!f)
        return false;
    bool ok = io_mat5_check(source, f, err);
    fclose(f);
    return ok;
}

mat_t *io_mat_open(const io_source *source, io_error *err)
{
    mat_t *mat = NULL;

    Mat_LogInitFunc("tlnmf", say_nothing);
    if (source->bytes)
        mat = open_bytes(source, err);
    else if (!io_h5_all_inside(source->path, source->name, err)) /* version 7.3 is HDF5 inside */
        return NULL;
    else if (!(mat = Mat_Open(source->path, MAT_ACC_RDONLY)))
        io_fail_content(source, "not a MATLAB file", err);
    if (mat && !check_complete(source, mat, err)) {
        Mat_Close(mat);
        mat = NULL;
    }
    return mat;
}

/* ---- looking ------------------------------------------------------------------------------ */

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

static bool list_variables(mat_t *mat, const char *name, io_listing *listing, io_error *err)
{
    matvar_t *var;
    bool ok = true;

    Mat_Rewind(mat);
    while (ok && (var = Mat_VarReadNextInfo(mat)) != NULL) {
        io_entry entry = {.name = var->name, .numeric = is_numeric(var)};
        snprintf(entry.dtype, sizeof entry.dtype, "%s",
                 var->isComplex ? "complex" : class_name(var->class_type));
        for (int d = 0; var->dims && d < var->rank && d < IO_LIST_DIM; d++)
            entry.dim[entry.ndim++] = (int64_t)var->dims[d];
        ok = !var->name || io_listing_add(listing, &entry);
        Mat_VarFree(var);
    }
    return ok || io_no_memory(err, name);
}

bool io_mat_list(const io_source *source, io_listing *listing, io_error *err)
{
    bool ok = false;

    H5E_BEGIN_TRY /* version 7.3 is HDF5 inside */
    {
        mat_t *mat = io_mat_open(source, err);
        ok = mat && list_variables(mat, source->name, listing, err);
        if (mat)
            Mat_Close(mat);
    }
    H5E_END_TRY
    return ok;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* The shape, believed only if the file is large enough for its elements: MATLAB stores small
 * integers in a byte, and deflate shrinks a byte 1032 times at best. Version 7.3 stores no fill
 * values at all, so that nothing can be said of it. */
static bool check_shape(const io_source *source, mat_t *mat, const matvar_t *var, io_array *out,
                        io_error *err)
{
    int64_t most = var->compression == MAT_COMPRESSION_NONE ? source->size
                   : source->size < INT64_MAX / 1032        ? 1032 * source->size
                                                            : INT64_MAX;

    if (!is_numeric(var))
        return io_fail(err, IO_BAD_INPUT, "%s: %s is %s, not an array of real numbers",
                       source->name, var->name,
                       var->isComplex ? "complex" : class_name(var->class_type));
    if (var->rank < 1 || var->rank > IO_MAX_DIM || !var->dims)
        return io_fail(err, IO_BAD_INPUT, "%s: %s has %d dimensions, at most %d are read",
                       source->name, var->name, var->rank, IO_MAX_DIM);
    out->ndim = var->rank;
    for (int d = 0; d < var->rank; d++)
        out->dim[d] = var->dims[d] <= INT64_MAX ? (int64_t)var->dims[d] : -1;
    int64_t count = io_count(out->ndim, out->dim);
    if (count < 0)
        return io_fail(err, IO_BAD_INPUT, "%s: %s claims more elements than can be counted",
                       source->name, var->name);
    if (!io_is_believable(count, source->size) ||
        (count > most && Mat_GetVersion(mat) != MAT_FT_MAT73))
        return io_fail(err, IO_BAD_INPUT, "%s: %s claims %lld elements, the file holds %lld bytes",
                       source->name, var->name, (long long)count, (long long)source->size);
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

static bool read_variable(const io_source *source, mat_t *mat, matvar_t *var, const io_place *place,
                          io_array *out, io_error *err)
{
    io_walk walk;

    if (!check_shape(source, mat, var, out, err))
        return false;
    int64_t count = io_count(out->ndim, out->dim);
    double *x = io_array_new(place, source->name, out->ndim, out->dim, err);
    if (!x)
        return false;
    size_t size = Mat_SizeOfClass((int)var->class_type);
    if (count > 0 && (Mat_VarReadDataAll(mat, var) != 0 || !var->data ||
                      (size_t)var->data_size != size || var->nbytes / size < (uint64_t)count)) {
        io_array_drop(place, x);
        return io_fail(err, IO_BAD_INPUT, "%s: %s cannot be read, the file is damaged",
                       source->name, var->name);
    }
    io_walk_start(&walk, out->ndim, out->dim);
    for (int64_t i = 0; i < count; i++)
        x[io_walk_next(&walk)] = element(var->data, var->class_type, i);
    out->x = x;
    return true;
}

static bool read_member(const io_source *source, mat_t *mat, const char *member,
                        const io_place *place, io_array *out, io_error *err)
{
    io_listing listing = {0};
    matvar_t *var = member ? Mat_VarReadInfo(mat, member) : NULL;
    bool ok = var || list_variables(mat, source->name, &listing, err);

    if (ok && !member) {
        member = io_listing_only(&listing, source->name, err);
        ok = member != NULL;
        var = ok ? Mat_VarReadInfo(mat, member) : NULL;
    }
    if (ok && !var)
        ok = io_fail_missing(&listing, source->name, "variable", member, err);
    ok = ok && read_variable(source, mat, var, place, out, err);
    Mat_VarFree(var);
    io_listing_free(&listing);
    return ok;
}

bool io_mat_read(const io_source *source, const char *member, const io_place *place, io_array *out,
                 io_error *err)
{
    bool ok = false;

    H5E_BEGIN_TRY /* version 7.3 is HDF5 inside */
    {
        mat_t *mat = io_mat_open(source, err);
        ok = mat && read_member(source, mat, member, place, out, err);
        if (mat)
            Mat_Close(mat);
    }
    H5E_END_TRY
    return ok;
}
