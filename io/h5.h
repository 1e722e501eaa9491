/* HDF5 inside io/. */
#ifndef TLNMF_IO_H5_H
#define TLNMF_IO_H5_H

#define H5_USE_110_API /* the same calls with every later HDF5 */
#include <hdf5.h>

#include "files.h"

/* Closes any object but a file; negative: nothing to close. */
static inline void io_h5_close(hid_t id)
{
    if (id >= 0)
        H5Idec_ref(id);
}

/* Stops HDF5 from printing its errors, until the return value is restored. Open files and files
 * under construction do this. */
io_h5_errors io_h5_silence(void);
void io_h5_restore(const io_h5_errors *errors);

/* ---- reading: nothing outside the file (h5_trust.c) --------------------------------------- */

/* Opens a dataset whose numbers are in the file itself; negative on failure. Others are refused,
 * because a foreign file could name any other file of this machine: *outside is then "an external
 * link", "external" or "virtual", else NULL. */
hid_t io_h5_open_inside(hid_t file, const char *path, const char **outside);
/* Sets the message for such a dataset; always false. */
bool io_h5_fail_outside(tlnmf_ctx *ctx, const char *name, const char *path, const char *outside);
/* Checks that nothing in the file refers to other files, for libraries that would follow. */
bool io_h5_refers_inside(tlnmf_ctx *ctx, hid_t file, const char *name);
/* The same by its path; true for a file that is not HDF5. */
bool io_h5_all_inside(tlnmf_ctx *ctx, const char *path, const char *name);
/* Elements of a dataset. */
typedef struct io_h5_range {
    int ndim;
    hsize_t first[IO_MAX_DIM], count[IO_MAX_DIM];
} io_h5_range;

/* Whether every stored chunk of the range has the bytes of its shape (h5_chunks.c); chunks behind
 * filters other than shuffle, deflate and Fletcher's checksum are taken as they are. */
bool io_h5_chunks_are_whole(hid_t dataset, const io_h5_range *range);

/* ---- models ------------------------------------------------------------------------------- */

/* Attributes `format` and `format_version` of a model. */
#define IO_H5_FORMAT "tlnmf-model"
enum { IO_H5_VERSION = 1 };

#endif
