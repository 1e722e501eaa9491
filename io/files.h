/* Readers and writers of files, for the public functions of tlnmf/io.h. Only io/, report/ and the
 * tests include it.
 *
 * Every function that takes a context returns true, or false after tlnmf_fail: the message names
 * the file. A public function ends with io_end(ctx, ok). */
#ifndef TLNMF_IO_FILES_H
#define TLNMF_IO_FILES_H

#include "tlnmf/io.h"

#include <jansson.h>
#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- failures ----------------------------------------------------------------------------- */

/* Stores the message and returns the error. */
tlnmf_error io_refuse(tlnmf_ctx *ctx_or_null, tlnmf_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, but false. A macro, so that static analysis of one file sees the value. */
#define io_fail(...) (io_refuse(__VA_ARGS__), io_false())
static inline bool io_false(void)
{
    return false;
}

/* Readers call it every few MB: false with a message if the progress function asks to stop. */
#define io_goes_on(ctx, name, done, total) \
    (tlnmf_poll(ctx, "read", (double)(done), (double)(total)) == 0 || io_stopped(ctx, name))
#define io_stopped(ctx, name) io_fail(ctx, TLNMF_ERR_CALLBACK, "%s: reading was interrupted", name)
/* The message about a struct: the file, the variable, the variable again. */
#define IO_STRUCT             "%s: %s is a struct: save a field as a variable of its own, as in Y = %s.data"
/* The message about complex numbers, with the name of the file and what is complex. */
#define IO_COMPLEX                                                                              \
    "%s: %s is complex: save the real and the imaginary part as two realisations, or save its " \
    "power, the squared magnitude, and use --input power"
#define io_no_memory(ctx, name) io_fail(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", name)

static inline tlnmf_error io_end(const tlnmf_ctx *ctx, bool ok)
{
    return ok ? TLNMF_OK : tlnmf_last_error(ctx);
}

/* Frees the record and clears the pointer unless ok. */
tlnmf_error io_end_record(const tlnmf_ctx *ctx, bool ok, tlnmf_record **record);

/* Returns TLNMF_ERR_ARGUMENT from a public function if the argument is NULL; the message names it.
 */
#define IO_NEED(ctx, argument)                                                    \
    do {                                                                          \
        if ((argument) == NULL)                                                   \
            return io_refuse((ctx), TLNMF_ERR_ARGUMENT, "%s is NULL", #argument); \
    } while (0)

/* The same for a public function that returns an object: clears it first. */
#define IO_NEED_OUT(ctx, out, argument) \
    IO_NEED(ctx, out);                  \
    *(out) = NULL;                      \
    IO_NEED(ctx, ctx);                  \
    IO_NEED(ctx, argument)

/* Returns the error from the calling function, if there is one. */
#define IO_TRY(call)                     \
    do {                                 \
        tlnmf_error try_error_ = (call); \
        if (try_error_ != TLNMF_OK)      \
            return try_error_;           \
    } while (0)

/* ---- arrays ------------------------------------------------------------------------------- */

enum { IO_MAX_DIM = TLNMF_MAX_DIMENSIONS };

/* An array to be written: doubles in C order, the last index runs fastest. */
typedef struct io_array {
    int ndim;
    int64_t dim[IO_MAX_DIM];
    const double *x;
} io_array;

/* The array of a record that a reader fills. */
typedef struct io_target {
    tlnmf_record *record;
    const char *name;
} io_target;

/* A range of one axis, to read instead of the whole array. */
typedef struct io_slice {
    int axis;             /* from 0; negative: from the end, -1 is the last */
    int64_t first, count; /* count = 0: no numbers, only the shape */
    int ndim;             /* output: the shape of the whole array */
    int64_t dim[IO_MAX_DIM];
} io_slice;

/* The number of elements of a shape; -1 if it does not fit in an int64_t. */
int64_t io_count(int ndim, const int64_t *dim);
/* malloc() of count + 1 elements, so never of 0 bytes. NULL also if they exceed the address space.
 */
void *io_allocate(int64_t count, size_t size);

/* Makes the array of the target; NULL on failure. Refuses more than the machine's memory: a system
 * that overcommits would grant it and kill the process later. */
double *io_array_new(tlnmf_ctx *ctx, const io_target *to, const char *file, int ndim,
                     const int64_t *dim);

/* Takes the shape of the whole array: sets slice->ndim and dim, makes a negative axis positive, and
 * returns the shape of the range. False if the range is outside the array. */
bool io_slice_fit(tlnmf_ctx *ctx, io_slice *slice, const char *name, int ndim, const int64_t *dim,
                  int64_t *dim_out);
/* The place of a range in an array: `runs` runs of `length` numbers, the first at `offset`, each
 * following one `stride` later. */
typedef struct io_runs {
    int64_t runs, length, stride, offset;
} io_runs;
/* `fortran`: the array is in column-major order. */
io_runs io_slice_runs(const io_slice *slice, bool fortran);

/* Visits a column-major array in storage order; each step returns the offset in C order. */
typedef struct io_walk {
    int ndim;
    int64_t dim[IO_MAX_DIM], stride[IO_MAX_DIM], at[IO_MAX_DIM], offset;
} io_walk;

void io_walk_start(io_walk *walk, int ndim, const int64_t *dim);
int64_t io_walk_next(io_walk *walk);

/* ---- inputs ------------------------------------------------------------------------------- */

typedef enum io_format {
    IO_FORMAT_UNKNOWN,
    IO_FORMAT_NPY,
    IO_FORMAT_HDF5,
    IO_FORMAT_MAT,
    IO_FORMAT_NPZ,
    IO_FORMAT_TEXT
} io_format;

/* An input: a regular file by its path, so that part of it can be read; a pipe, a device or
 * standard input as bytes. */
typedef struct io_source {
    const char *path;
    const char *name;     /* for messages: the path, or "standard input" */
    unsigned char *bytes; /* NULL for a regular file */
    int64_t size;         /* of the file or of the bytes, never 0 */
    unsigned char head[128];
    size_t head_size;
    io_format format; /* by the extension if it is known, else by the first bytes */
} io_source;

bool io_source_open(tlnmf_ctx *ctx, const char *path, io_source *out);
/* The same without the format. */
bool io_source_look(tlnmf_ctx *ctx, const char *path, io_source *out);
void io_source_close(io_source *source);

/* Opens the input as a stream; fclose when done. NULL on failure. */
FILE *io_source_stream(tlnmf_ctx *ctx, const io_source *source);

/* The format of the extension of a name, which has `length` characters. */
io_format io_format_of_name(const char *name, size_t length);

/* True for /dev/stdout, most pipes, and `-`. */
bool io_has_no_extension(const char *path);
bool io_has_extension(const char *name, size_t length, const char *extension);

/* Reads a whole file, or standard input for `-`; a zero byte follows it. free(*bytes) when done. */
bool io_slurp(tlnmf_ctx *ctx, const char *path, unsigned char **bytes, size_t *size);

/* Retries interrupted and short writes; false leaves errno. */
bool io_write_all(int fd, const void *bytes, size_t size);

/* ---- outputs ------------------------------------------------------------------------------ */

/* An output file: a temporary file next to the target, which the commit syncs and renames. Standard
 * output, devices and pipes are written in place (`temporary` is NULL) and cannot seek. */
typedef struct io_output {
    const char *path, *name; /* the name is for messages */
    char *target, *temporary;
    int fd;
    bool standard; /* standard output, which stays open */
} io_output;

/* Publishes bytes under their final name, all or nothing. */
bool io_publish(tlnmf_ctx *ctx, const char *path, const void *bytes, size_t size);

/* `path` must outlive the output. A failure leaves nothing behind. */
bool io_output_open(tlnmf_ctx *ctx, const char *path, io_output *out);
bool io_output_commit(tlnmf_ctx *ctx, io_output *output);
void io_output_abort(io_output *output);
/* After a failed write: the message for errno = why. */
#define io_output_failed(...) (io_output_set_error(__VA_ARGS__), io_false())
void io_output_set_error(tlnmf_ctx *ctx, const io_output *output, int why);

/* Reserves disk space for an open file without changing its size. False leaves errno: the space is
 * missing, or a limit is lower. True if the file system does not support it. */
bool io_reserve(int fd, int64_t bytes);

/* ---- growing buffers ---------------------------------------------------------------------- */

typedef struct io_buffer {
    unsigned char *bytes;
    size_t size, capacity;
    bool failed; /* out of memory: later additions are lost */
} io_buffer;

void io_buffer_add(io_buffer *buffer, const void *bytes, size_t size);
/* The lowest `size` bytes of x, little-endian. */
void io_buffer_add_number(io_buffer *buffer, uint64_t x, int size);
void io_buffer_add_doubles(io_buffer *buffer, const double *x, int64_t count);
/* Publishes and frees the buffer; only frees it and returns false if !ok. */
bool io_buffer_publish(tlnmf_ctx *ctx, io_buffer *buffer, bool ok, const char *path);

/* ---- lists of arrays ---------------------------------------------------------------------- */

enum { IO_LIST_DIM = 32 }; /* the limit of HDF5 */

typedef struct io_entry {
    char *name;
    char dtype[16];
    bool numeric; /* real numbers, which can be read */
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

/* ---- open files --------------------------------------------------------------------------- */

/* How HDF5 prints its errors (h5.h). */
typedef struct io_h5_errors {
    int (*print)(int64_t stack, void *user);
    void *user;
    bool silenced;
} io_h5_errors;

/* A file with named arrays, open for reading. The calls of its format work on it. */
typedef struct io_file {
    io_source source;
    const struct io_format_calls *calls;
    void *handle;      /* of the format's library */
    int64_t hdf5;      /* the same for HDF5, whose handles are numbers */
    const char *words; /* with which a text table is listed; NULL: all columns */
    io_h5_errors errors;
} io_file;

typedef struct io_format_calls {
    const char *name;   /* of the format */
    const char *member; /* the format's word for an array; NULL: a file has one array */
    bool (*open)(tlnmf_ctx *ctx, io_file *file); /* NULL: the source is enough */
    void (*close)(io_file *file);
    bool (*list)(tlnmf_ctx *ctx, io_file *file, io_listing *listing);
    /* Reads one array. Only HDF5 and .npy get a slice. */
    bool (*read)(tlnmf_ctx *ctx, io_file *file, const char *member, io_slice *slice_or_null,
                 const io_target *to);
    /* The text of a model's summary, or NULL if it is missing; free() it. */
    bool (*text)(tlnmf_ctx *ctx, io_file *file, char **text);
} io_format_calls;

extern const io_format_calls io_npy_calls, io_csv_calls, io_hdf5_calls, io_mat_calls, io_npz_calls;

/* `data.h5:/Y` is a path and a member, `12:30.npy` a path alone. free() the path; NULL: no memory.
 */
char *io_split_spec(tlnmf_ctx *ctx, const char *spec, const char **member);
bool io_file_open(tlnmf_ctx *ctx, const char *path, io_file *out);
void io_file_close(io_file *file);
/* "NAME: no dataset MEMBER (it has ...)"; always false. */
bool io_file_lacks(tlnmf_ctx *ctx, io_file *file, const char *member);

void io_npy_encode(io_buffer *file, const io_array *array);
bool io_npy_list_bytes(tlnmf_ctx *ctx_or_null, const io_source *source, io_entry *entry);
bool io_hdf5_write(tlnmf_ctx *ctx, const char *path, const char *member, const io_array *array);
/* Whether the options after the name of a text table are valid, such as "header,drop=time". */
bool io_table_words_valid(const char *text);
/* Checks that a MATLAB file of version 5 is complete: its elements reach its end, checksums match,
 * and arrays have the number of elements of their shapes (mat5.c). */
bool io_mat5_check(tlnmf_ctx *ctx, const io_source *source, FILE *f);

/* ---- models ------------------------------------------------------------------------------- */

/* A matrix that need not be in memory. next() stores its next numbers, in C order, and returns
 * nonzero on failure. */
enum { IO_PIECE = 65536 }; /* numbers per call: 512 kB */
typedef struct io_pieces {
    tlnmf_io_next_fn next;
    void *user;
    double *room;      /* for IO_PIECE numbers, or for all */
    const double *all; /* the whole matrix if it was collected, else NULL */
    const char *fault; /* why the matrix cannot be written, or NULL */
    tlnmf_error error; /* of the fault: CALLBACK if next() failed, OUTPUT for a bad number */
    tlnmf_ctx *ctx;    /* of the call */
    char cause[TLNMF_MESSAGE_SIZE];
} io_pieces;

/* Gets the next numbers, all finite; false sets the fault. */
bool io_pieces_next(io_pieces *pieces, double *x, int64_t count);

/* A model to be written: all arrays of a record, and the summary. */
typedef struct io_model {
    const tlnmf_record *record;
    int64_t M, N, K;
    io_pieces *H;    /* written instead of the record's H, as K x N; or NULL */
    json_t *summary; /* an object */
    char *text;      /* the same as text */
} io_model;

/* Finds the next array from *index on; false at the end. An H in pieces has x = NULL unless it was
 * collected. */
bool io_model_next(const io_model *model, size_t *index, const char **name, io_array *array);
/* Calls put() for each array under its name in .npz and .mat files, then for each number of the
 * summary, as arrays without dimensions. */
void io_model_put_flat(const io_model *model,
                       void (*put)(void *file, const char *name, const io_array *array),
                       void *file);

bool io_hdf5_model_write(tlnmf_ctx *ctx, const char *path, const io_model *model);
bool io_npz_model_write(tlnmf_ctx *ctx, const char *path, const io_model *model);
bool io_mat_model_write(tlnmf_ctx *ctx, const char *path, const io_model *model);

/* Whether an open HDF5 file is a model. */
bool io_hdf5_is_model(const io_file *file);
/* Checks that it is a model of a known version and refers to no other file, and sets the sizes that
 * it declares (-1: missing). */
bool io_hdf5_check_model(tlnmf_ctx *ctx, const io_file *file, int64_t sizes[3]);

/* Makes the summary of a model (summary_json.c) as tlnmf_io_write_model describes it. */
bool io_summary_from(tlnmf_ctx *ctx, const tlnmf_record *record, json_t **out);
/* Stores the numbers, texts and lists of texts of a summary in a record; null becomes NaN if the
 * name is a real. Members of `separation`, which the program writes, get the names that
 * tlnmf_separate reads. Keys that are not valid names are skipped. */
bool io_summary_to(tlnmf_ctx *ctx, const json_t *summary, tlnmf_record *record);
/* Parses the text of a summary. Messages begin with "FILE: WHAT". */
bool io_summary_parse(tlnmf_ctx *ctx, const char *file, const char *what, const char *text,
                      json_t **out);

/* Index of a name in the table of results, without `other.`; tlnmf_result_count() if unknown. */
size_t io_result_index(const char *name);
/* Checks the shapes of a model's arrays against the table of results and each other. */
tlnmf_error io_check_shapes(tlnmf_ctx *ctx, const char *file, const tlnmf_record *model);

/* Makes a JSON string. If the text is not UTF-8, as in a file name, '?' replaces bytes that are not
 * ASCII. NULL when out of memory. */
json_t *io_json_text(const char *text);

/* ---- sound -------------------------------------------------------------------------------- */

/* `format` is libsndfile's format word (container | sample format). */
typedef struct io_sound_info {
    int64_t frames;
    int channels, rate, format;
} io_sound_info;

io_sound_info io_sound_info_of(const tlnmf_sound *sound);
/* The format for writing sound of the format `like` to `path`, as tlnmf_io_writer_create describes
 * it; RF64 if a .wav file would exceed its 32-bit sizes. 0 if the extension is unknown. */
int io_sound_format_like(tlnmf_ctx *ctx, const char *path, int like, int64_t frames, int channels);
/* info->frames is the expected length. The writer does not write time stamps. */
bool io_sound_create(tlnmf_ctx *ctx, const char *path, const io_sound_info *info,
                     tlnmf_io_writer **out);

/* ---- sound in memory ---------------------------------------------------------------------- */

typedef enum io_packing { IO_PACKED_FLAC, IO_PACKED_VORBIS } io_packing;

/* Encodes a sound file in memory, or one second of every `every`. If this takes more than `most`
 * bytes, it returns true with an empty buffer. free(out->bytes) when done. */
bool io_sound_encode(tlnmf_ctx *ctx, const char *path, io_packing packing, int every, size_t most,
                     io_buffer *out);

/* ---- deflate ------------------------------------------------------------------------------ */

/* Inflates to exactly `size` bytes, which are stored unless `out` is NULL; false if there are more
 * or fewer. Bytes after the stream are ignored. `window` is zlib's windowBits. */
bool io_inflate(const unsigned char *in, size_t in_size, int window, unsigned char *out,
                uint64_t size);

/* ---- cores -------------------------------------------------------------------------------- */

/* The number of cores that control groups allow, rounded up; 0: no limit. `groups` is
 * /proc/self/cgroup, `mount` the folder where control groups (version 1 or 2) are mounted. */
int io_cores_of_groups(const char *groups, const char *mount);

/* ---- text --------------------------------------------------------------------------------- */

/* The length of the UTF-8 character at `at` < end, and its code point; 0 if it is invalid or 0. */
size_t io_utf8(const char *at, const char *end, uint32_t *code);
/* Control characters, which a terminal may execute, and marks that change the direction of text,
 * which can make a name look like another one. */
bool io_is_unsafe(uint32_t code);
/* Reads digits with a decimal point or comma and perhaps an exponent. strtod accepts more. Call it
 * in the C locale. */
bool io_decimal(const char *at, const char *end, double *x);
/* Switches this thread to decimal points, until the locale is restored. */
locale_t io_enter_c_locale(void);
void io_leave_c_locale(locale_t before);

#endif
