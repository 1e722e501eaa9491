/* HDF5 inside io/: what arrays, models and descriptions have in common.
 *
 * None of these functions silences HDF5's own messages: their callers run them between
 * H5E_BEGIN_TRY and H5E_END_TRY, once at the door. */
#ifndef TLNMF_IO_H5_H
#define TLNMF_IO_H5_H

#define H5_USE_110_API /* the same calls with every later HDF5 */
#include <hdf5.h>

#include "internal.h"

/* ---- reading ------------------------------------------------------------------------------ */

/* Negative with `err` filled in when it is no HDF5 file; H5Fclose also closes what it left open. */
hid_t io_h5_open(const io_source *source, io_error *err);

bool io_h5_list(hid_t file, const char *name, io_listing *listing, io_error *err);

/* Opens a dataset of real numbers with 1 to IO_MAX_DIM dimensions and tells its shape;
 * negative with `err` filled in. H5Dclose when done. */
hid_t io_h5_dataset(hid_t file, const char *name, const char *path, io_array *shape, io_error *err);

bool io_h5_read(hid_t file, const char *name, const char *path, const io_place *place_or_null,
                io_array *out, io_error *err);

/* Elements of an open dataset as `native`, into a buffer the caller has sized by its shape. */
bool io_h5_fill(hid_t dataset, const char *name, const char *path, hid_t native, void *buffer,
                io_error *err);

/* ---- what is believed (h5_trust.c) -------------------------------------------------------- */

/* Where the numbers of a dataset are. Only those in the file itself are read: a file from somebody
 * else could name any other file of this machine. */
typedef enum io_h5_place {
    IO_H5_INSIDE,
    IO_H5_DAMAGED, /* or not there */
    IO_H5_LINK,    /* behind an external link */
    IO_H5_EXTERNAL,
    IO_H5_VIRTUAL
} io_h5_place;

/* Negative unless the dataset is in the file. */
hid_t io_h5_open_inside(hid_t file, const char *path, io_h5_place *place);
const char *io_h5_place_name(io_h5_place place); /* "a virtual dataset" */
/* Whether there is a link of this name; none to other files is followed. */
bool io_h5_has(hid_t file, const char *path);
/* That nothing in the file refers to other files, for readers that would follow; true for a file
 * that is not HDF5. */
bool io_h5_all_inside(const char *path, const char *name, io_error *err);
/* Whether the bytes that the dataset stores are enough for `count` elements. */
bool io_h5_is_believable(hid_t dataset, int64_t count);
/* Elements of a dataset. */
typedef struct io_h5_range {
    int ndim;
    hsize_t first[IO_MAX_DIM], count[IO_MAX_DIM];
} io_h5_range;

/* Whether every stored chunk of the range has the bytes of its shape (h5_chunks.c); chunks behind
 * filters other than shuffle, deflate and Fletcher's checksum are taken as they are. */
bool io_h5_chunks_are_whole(hid_t dataset, const io_h5_range *range);

/* ---- building a file ---------------------------------------------------------------------- */

/* A file under construction. The first failure sticks and io_h5_finish reports it, so that the
 * calls between need no checks. */
typedef struct io_h5_out {
    hid_t file, dcpl, gcpl;
    const char *culprit; /* NULL while all is well */
} io_h5_out;

void io_h5_begin(io_h5_out *out); /* in memory */
/* In a file that is there, and is opened by its name: for data that memory does not hold. */
void io_h5_begin_file(io_h5_out *out, const char *path);
void io_h5_group(io_h5_out *out, const char *path);
void io_h5_put(io_h5_out *out, const char *path, hid_t stored, hid_t native, int ndim,
               const int64_t *dim, const void *data);
/* A matrix that comes in pieces. */
void io_h5_put_pieces(io_h5_out *out, const char *path, int64_t rows, int64_t cols,
                      io_pieces *pieces);
void io_h5_put_text(io_h5_out *out, const char *path, const char *text);
void io_h5_attribute(io_h5_out *out, const char *object, const char *name, hid_t stored,
                     hid_t native, const void *value);
void io_h5_attribute_text(io_h5_out *out, const char *object, const char *name, const char *text);

/* Publishes the file under `path` and frees everything, whatever happened before. */
bool io_h5_finish(io_h5_out *out, const char *path, io_error *err);
/* The same for io_h5_begin_file, without publishing: all of it is in the file. */
bool io_h5_finish_file(io_h5_out *out, const char *path, io_error *err);

/* ---- models ------------------------------------------------------------------------------- */

bool io_h5_is_model(hid_t file);

/* The summary of a model, an empty object if it has none; NULL with `err` filled in. */
json_t *io_h5_summary(hid_t file, const char *name, io_error *err);

#endif
