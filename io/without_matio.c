/* Replaces the reader of MATLAB files in a build with TLNMF_MATIO=OFF: says that it is missing. */
#include "files.h"

static bool open_mat(tlnmf_ctx *ctx, io_file *file)
{
    return io_fail(ctx, TLNMF_ERR_INPUT,
                   "%s: this build of libtlnmf_io cannot read MATLAB files (TLNMF_MATIO=OFF); "
                   "store arrays as .npy or .npz, and models as .npz",
                   file->source.name);
}

const io_format_calls io_mat_calls = {.name = "mat", .member = "variable", .open = open_mat};
