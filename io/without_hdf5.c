/* Replaces the HDF5 files of io/ in a build with TLNMF_HDF5=OFF: says that the format is missing.
 */
#include "files.h"

static bool refuse(tlnmf_ctx *ctx, tlnmf_error error, const char *name, const char *instead)
{
    return io_fail(ctx, error,
                   "%s: this build of libtlnmf_io has no HDF5 (TLNMF_HDF5=OFF); use %s instead",
                   name, instead);
}

static bool open_hdf5(tlnmf_ctx *ctx, io_file *file)
{
    return refuse(ctx, TLNMF_ERR_INPUT, file->source.name, ".npy or .npz");
}

const io_format_calls io_hdf5_calls = {.name = "hdf5", .member = "dataset", .open = open_hdf5};

bool io_hdf5_write(tlnmf_ctx *ctx, const char *path, const char *member, const io_array *array)
{
    (void)member;
    (void)array;
    return refuse(ctx, TLNMF_ERR_OUTPUT, path, ".npy");
}

bool io_hdf5_model_write(tlnmf_ctx *ctx, const char *path, const io_model *model)
{
    (void)model;
    return refuse(ctx, TLNMF_ERR_OUTPUT, path, ".npz or .mat");
}

bool io_hdf5_is_model(const io_file *file)
{
    (void)file;
    return false;
}

/* No file is open as HDF5, so nothing calls it. */
bool io_hdf5_check_model(tlnmf_ctx *ctx, const io_file *file, int64_t sizes[3])
{
    (void)sizes;
    return refuse(ctx, TLNMF_ERR_INPUT, file->source.name, ".npz");
}
