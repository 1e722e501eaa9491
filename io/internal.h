/* What the readers and writers of io/ share; nobody outside includes it. */
#ifndef TLNMF_IO_INTERNAL_H
#define TLNMF_IO_INTERNAL_H

#include "io.h"

#include <stdio.h>

/* ---- sizes -------------------------------------------------------------------------------- */

/* The number of elements of a shape, or -1 when it does not fit in an int64_t. */
int64_t io_count(int ndim, const int64_t *dim);

/* Memory for the numbers of an array, from the place if there is one, else from malloc. A claim
 * beyond the machine's memory is refused before it is tried: an overcommitting system would grant
 * it and kill the process later. */
double *io_array_new(const io_place *place_or_null, const char *name, int ndim, const int64_t *dim,
                     io_error *err);
/* After a failed read: frees what io_array_new got from malloc. */
void io_array_drop(const io_place *place_or_null, double *x);

/* The whole array has this shape: sets slice->ndim and dim, counts a negative axis from 0, and
 * gives the shape of the range. False if the range is not inside. */
bool io_slice_fit(io_slice *slice, const char *name, int ndim, const int64_t *dim, int64_t *dim_out,
                  io_error *err);
/* Where the range lies in an array in C order: `runs` runs of `length` numbers, the first at
 * `offset`, the next `stride` later. */
typedef struct io_runs {
    int64_t runs, length, stride, offset;
} io_runs;
/* `fortran`: the array is stored in the order of columns. */
io_runs io_slice_runs(const io_slice *slice, bool fortran);

/* Whether `stored` bytes can hold an array of `count` doubles: it is small, or at most 200 times as
 * large as they are. A few bytes that claim gigabytes are refused. */
bool io_is_believable(int64_t count, int64_t stored);

/* Visits a column-major array in the order of its storage; each step gives the offset in C order.
 */
typedef struct io_walk {
    int ndim;
    int64_t dim[IO_MAX_DIM], stride[IO_MAX_DIM], at[IO_MAX_DIM], offset;
} io_walk;

void io_walk_start(io_walk *walk, int ndim, const int64_t *dim);
int64_t io_walk_next(io_walk *walk);

#define io_no_memory(err, name) io_fail(err, IO_NO_MEMORY, "%s: out of memory", name)

/* ---- inputs ------------------------------------------------------------------------------- */

typedef enum io_format {
    IO_FORMAT_UNKNOWN,
    IO_FORMAT_NPY,
    IO_FORMAT_HDF5,
    IO_FORMAT_MAT,
    IO_FORMAT_NPZ,
    IO_FORMAT_TEXT
} io_format;

/* An input as its reader wants it: a regular file by its path, so that only the asked part is read;
 * a pipe, a device or standard input as bytes. */
typedef struct io_source {
    const char *path;
    const char *name;     /* for messages: the path, or "standard input" */
    unsigned char *bytes; /* NULL for a regular file */
    int64_t size;         /* of the file or of the bytes, never 0 */
    unsigned char head[128];
    size_t head_size;
    io_format format; /* by the extension if we know it, else by the first bytes */
} io_source;

bool io_source_open(const char *path, io_source *out, io_error *err);
/* Without asking what format it is. */
bool io_source_look(const char *path, io_source *out, io_error *err);
void io_source_close(io_source *source);

/* From its first byte; fclose when done. NULL with `err` filled in. */
FILE *io_source_stream(const io_source *source, io_error *err);

/* "NAME: WHAT (it starts with ...)" */
bool io_fail_content(const io_source *source, const char *what, io_error *err);

/* The format that the extension of the first `length` characters of a name stands for. */
io_format io_format_of_name(const char *name, size_t length);

bool io_has_extension(const char *name, size_t length, const char *extension);

/* Retries interrupted and short writes; false leaves errno. */
bool io_write_all(int fd, const void *bytes, size_t size);

/* ---- outputs ------------------------------------------------------------------------------ */

/* The one atomic writer: a temporary beside the target, synced and renamed by the commit. Standard
 * output, devices and pipes are written in place (`temporary` is NULL) and cannot seek. */
typedef struct io_output {
    const char *path, *name; /* the name is for messages */
    char *target, *temporary;
    int fd;
    bool standard; /* output: not ours to close */
} io_output;

/* `path` must outlive the output. Each failure fills in `err` and leaves nothing behind. */
bool io_output_open(const char *path, io_output *out, io_error *err);
bool io_output_commit(io_output *output, io_error *err);
void io_output_abort(io_output *output);
/* After a failed write: the message for errno = why. */
#define io_output_failed(...) (io_output_set_error(__VA_ARGS__), io_false())
void io_output_set_error(const io_output *output, int why, io_error *err);

/* A temporary is called .BASE.PID-NUMBER, its base cut to this many bytes. */
enum { IO_TEMPORARY_BASE = 200 };
/* Locks a temporary that was just made, as a sign that its writer lives; false if somebody took it
 * for a stale one before that and removed it. */
bool io_claim_temporary(int fd);
/* Removes temporaries for `base` whose writers are dead. */
void io_remove_stale(const char *directory, const char *base);
void io_remove_stale_of(const char *path); /* beside this file */

/* Reserves disk space for a file that is being written, its size unchanged. False leaves errno:
 * there is no space, or a limit is below it. True where the file system cannot say. */
bool io_reserve(int fd, int64_t bytes);

/* ---- bytes that grow ---------------------------------------------------------------------- */

typedef struct io_buffer {
    unsigned char *bytes;
    size_t size, capacity;
    bool failed; /* out of memory: what was added since is lost */
} io_buffer;

void io_buffer_add(io_buffer *buffer, const void *bytes, size_t size);
/* Publishes and frees; `ok` = false only frees and is false. */
bool io_buffer_publish(io_buffer *buffer, bool ok, const char *path, io_error *err);

/* ---- sound in memory ---------------------------------------------------------------------- */

typedef enum io_packing { IO_PACKED_FLAC, IO_PACKED_VORBIS } io_packing;

/* Packs a sound file into memory, or one of every so many of its seconds. Where that takes more
 * than `most` bytes it returns true with an empty buffer; free(out->bytes) when done. */
bool io_sound_encode(const char *path, io_packing packing, int every, size_t most, io_buffer *out,
                     io_error *err);

/* ---- what a file holds -------------------------------------------------------------------- */

enum { IO_LIST_DIM = 32 }; /* HDF5 allows as many */

typedef struct io_entry {
    char *name;
    char dtype[16];
    bool numeric; /* real numbers: io_array_read takes it */
    int ndim;
    int64_t dim[IO_LIST_DIM];
} io_entry;

typedef struct io_listing {
    size_t count, capacity;
    io_entry *entry;
} io_listing;

/* Copies the entry and its name; false when out of memory. */
bool io_listing_add(io_listing *listing, const io_entry *entry);
void io_listing_free(io_listing *listing);

/* The one numeric entry, or NULL with an error that names what there is. */
const char *io_listing_only(const io_listing *listing, const char *name, io_error *err);

/* "NAME: no WHAT MEMBER (it has ...)" */
#define io_fail_missing(...) (io_set_missing(__VA_ARGS__), io_false())
void io_set_missing(const io_listing *listing, const char *name, const char *what,
                    const char *member, io_error *err);

/* ---- the formats: a reader, a lister, a writer -------------------------------------------- */

/* With a slice, only that range of an axis (also below). */
bool io_npy_read(const io_source *source, io_slice *slice_or_null, const io_place *place,
                 io_array *out, io_error *err);
bool io_npy_list(const io_source *source, io_listing *listing, io_error *err);
/* The bytes of the file; free(*bytes) when done. False when out of memory. */
bool io_npy_encode(const io_array *array, unsigned char **bytes, size_t *size);
bool io_npy_write(const char *path, const io_array *array, io_error *err);

/* `member` names the array, or is NULL for the only one. */
bool io_hdf5_read(const io_source *source, const char *member, io_slice *slice_or_null,
                  const io_place *place, io_array *out, io_error *err);
bool io_hdf5_write(const char *path, const char *member, const io_array *array, io_error *err);

bool io_mat_read(const io_source *source, const char *member, const io_place *place, io_array *out,
                 io_error *err);
/* That a version 5 file is whole: elements up to its end, compressed ones with their checksums,
 * arrays with as many numbers as their shapes say (mat5.c). */
bool io_mat5_check(const io_source *source, FILE *f, io_error *err);
bool io_mat_list(const io_source *source, io_listing *listing, io_error *err);

bool io_npz_read(const io_source *source, const char *member, const io_place *place, io_array *out,
                 io_error *err);
bool io_npz_list(const io_source *source, io_listing *listing, io_error *err);

/* What is said of a table's first line and first column. */
typedef enum io_answer_to { IO_AUTO, IO_YES, IO_NO } io_answer_to;
typedef struct io_table_words {
    io_answer_to header, index;
} io_table_words;

/* "header,no-index" and their like; false for any other text. */
bool io_table_words_read(const char *text, io_table_words *words);
/* The note of the array says what was recognised. `words` may be NULL. */
bool io_csv_read(const io_source *source, const char *words, const io_place *place, io_array *out,
                 io_error *err);
bool io_csv_list(const io_source *source, io_listing *listing, io_error *err);

#endif
