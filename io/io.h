/* Readers and writers of files, below the public functions of tlnmf/io.h (api*.c), which say what a
 * *spec* is. They know nothing of records and contexts.
 *
 * Every function returns true, or false with `err` filled in; `err->text` names the culprit. */
#ifndef TLNMF_IO_IO_H
#define TLNMF_IO_IO_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum io_fault { IO_NONE = 0, IO_BAD_INPUT, IO_NO_OUTPUT, IO_NO_MEMORY } io_fault;

typedef struct io_error {
    io_fault fault;
    char text[512];
} io_error;

/* Fills `err` and is false, so that a caller can write `return io_fail(...)`. A macro, so that
 * static analysis of one file sees that it is. */
#define io_fail(...) (io_set_error(__VA_ARGS__), io_false())
void io_set_error(io_error *err, io_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline bool io_false(void)
{
    return false;
}

/* ---- arrays ------------------------------------------------------------------------------- */

enum { IO_MAX_DIM = 8 };

/* Doubles in C order: the last index runs fastest. */
typedef struct io_array {
    int ndim;
    int64_t dim[IO_MAX_DIM];
    double *x;
    char note[384]; /* what the reader of a text has decided; "" elsewhere */
} io_array;

/* Where an array goes that is read: make() gives memory for its numbers, or NULL with `err` filled
 * in. The memory belongs to whoever gave it, also when reading fails. */
typedef struct io_place {
    double *(*make)(void *user, const char *name, int ndim, const int64_t *dim, io_error *err);
    void *user;
} io_place;

/* From .npy, .npz, HDF5, .mat, CSV and TSV: real numbers of any type, as the extension or else the
 * content says.
 * Without a place out->x is malloc's, for io_array_free. */
bool io_array_read(const char *spec, const io_place *place_or_null, io_array *out, io_error *err);
/* A range of one axis, to read instead of the whole array. */
typedef struct io_slice {
    int axis;             /* from 0; negative: from the end, -1 is the last */
    int64_t first, count; /* count = 0: no numbers, only the shape */
    int ndim;             /* these two are set: the shape of the whole array */
    int64_t dim[IO_MAX_DIM];
} io_slice;

/* Only the range is read from .npy and HDF5; other files are read whole and cut. out->dim is that
 * of the range; out->x is NULL if count = 0. */
bool io_array_read_slice(const char *spec, io_slice *slice_or_null, const io_place *place_or_null,
                         io_array *out, io_error *err);
/* To .npy (also `-` and names without extension) and HDF5, there under /Y unless the spec says. */
bool io_array_write(const char *spec, const io_array *array, io_error *err);
void io_array_free(io_array *array);

/* ---- whole files -------------------------------------------------------------------------- */

/* Bytes under their final name, all or nothing: written and synced beside it, then renamed.
 * `-` is standard output; a device or a pipe is written in place. */
bool io_publish(const char *path, const void *bytes, size_t size, io_error *err);

/* The whole of a file, or of standard input for `-`; free(*bytes) when done. */
bool io_slurp(const char *path, unsigned char **bytes, size_t *size, io_error *err);

/* ---- sound -------------------------------------------------------------------------------- */

/* Samples are x[frame * channels + channel], full scale is [-1, 1]. `format` is libsndfile's format
 * word (container | sample format); users pass it on and need not look inside. */
typedef struct io_sound_info {
    int64_t frames;
    int channels, rate, format;
} io_sound_info;

/* A sound file in any format of libsndfile, or standard input for `-`, read block by block. Refused
 * with a message: no sound, no samples, a file cut short, a sample that is not finite. Where a
 * header cannot be trusted (compressed formats) opening decodes the file once to count its frames,
 * so that info->frames is what can be read. */
typedef struct io_sound_reader io_sound_reader;
bool io_sound_open(const char *path, io_sound_reader **out, io_sound_info *info, io_error *err);
/* Exactly `frames` frames from number `first` on, or an error; each sample is finite. */
bool io_sound_read_at(io_sound_reader *reader, int64_t first, int64_t frames, double *x,
                      io_error *err);
void io_sound_close(io_sound_reader *reader); /* NULL is fine */

/* The format in which `path` (.wav, .flac, .w64; `-` is .wav) holds sound that came as `like`:
 * whole numbers stay whole numbers of at least as many bits, floating point stays so where the
 * container has it, lossy formats become 32-bit floats, and a .wav too large for its 32-bit sizes
 * is an RF64. 0 with `err` filled in for another extension. */
int io_sound_format_like(const char *path, int like, int64_t frames, int channels, io_error *err);
/* 2^-(bits - 1), or 0 for floating point: how far apart two values of a format are. */
double io_sound_step(int format);

/* Writing block by block, all or nothing: beside the final name until the commit. Samples are
 * rounded to nearest, without dither, and clipped where the format ends: the writer counts how many
 * were. No time stamps. info->frames only says how large the file will be. */
typedef struct io_sound_writer io_sound_writer;
bool io_sound_create(const char *path, const io_sound_info *info, io_sound_writer **out,
                     io_error *err);
/* About how many bytes a file like this takes; of FLAC, half of the samples' bytes. */
int64_t io_sound_size(const io_sound_info *info);
bool io_sound_append(io_sound_writer *writer, const double *x, int64_t frames, io_error *err);
int64_t io_sound_clipped(const io_sound_writer *writer);
/* The file that is written until the commit; "" where the output is written in place. */
const char *io_sound_temporary(const io_sound_writer *writer);
/* Either ends the writer, also when the commit fails. */
bool io_sound_commit(io_sound_writer *writer, io_error *err);
void io_sound_abort(io_sound_writer *writer); /* NULL is fine */

/* ---- label tracks ------------------------------------------------------------------------- */

/* Seconds; start == end is a point. The name is UTF-8, as it was in the file, perhaps empty. */
typedef struct io_label {
    double start, end;
    char *name;
    double low, high; /* Hz, of a spectral label; high = 0: it has none */
} io_label;

typedef struct io_labels {
    int64_t count;
    io_label *label;
} io_labels;

/* Audacity's: a line `start TAB end TAB name` each; lines that start with a backslash (the spectral
 * range of the label before) and empty lines are passed over. Times may have a decimal comma. A
 * message names the line. `-` is standard input. A track without labels is refused. */
bool io_labels_read(const char *path, io_labels *out, io_error *err);
bool io_labels_write(const char *path, const io_labels *labels, io_error *err);
void io_labels_free(io_labels *labels);

/* A name for a file without extension from each of the names: no directory, no control character,
 * nothing that Windows reserves, not empty, at most 120 bytes, and no two that differ only in the
 * case of ASCII letters. stems[i] is the caller's to free(); all are NULL on failure. */
bool io_safe_stems(const char *const *names, int64_t count, char **stems, io_error *err);

/* ---- MIDI --------------------------------------------------------------------------------- */

typedef struct io_note {
    double start, end; /* seconds */
    int key, velocity; /* 0 .. 127 (60 is middle C), 1 .. 127 */
} io_note;

typedef struct io_midi_track {
    const char *name; /* may be NULL */
    int channel;      /* 0 .. 15 */
    int64_t count;
    const io_note *note; /* in any order */
} io_midi_track;

/* A Standard MIDI File of format 1, 960 ticks a beat: a track with the tempo, then these. A note
 * ends where the next one on the same key begins. */
bool io_midi_write(const char *path, double beats_per_minute, const io_midi_track *track,
                   int64_t tracks, io_error *err);

/* ---- models ------------------------------------------------------------------------------- */

/* The columns of a trace, as datasets: /trace/stage, iteration, C, L, I, step, and seconds, which
 * files of version 0.1 do not have. */
enum { IO_TRACE_COLUMNS = 9, IO_TRACE_NEEDED = 6 };
extern const char *const io_trace_paths[IO_TRACE_COLUMNS];
/* What the numbers of /trace/stage mean: an attribute of it. */
#define IO_STAGE_CODES "0 tl, 1 jd, 2 nmf"

/* Arrays that a model may hold beside Phi, W, H: coefficients X and V of an application, and what a
 * diagonalisation of whitened data comes to. */
enum { IO_COEFFICIENTS = 4 };
extern const char *const io_coefficient_paths[IO_COEFFICIENTS];

/* An array of a model beside Phi, W and H. */
enum { IO_EXTRA_NAME = 64 };
typedef struct io_extra {
    char name[IO_EXTRA_NAME];
    int ndim;
    int64_t dim[4];
    double *x;
} io_extra;

/* What a fit, a diagonalisation or a separation leaves behind. */
/* A matrix that is not in memory. next() gives its next numbers, in C order, and returns nonzero
 * where it cannot. */
enum {
    IO_PIECE = 65536
}; /* numbers at a time: 512 kB, beside which the cost of a call is nothing */
typedef struct io_pieces {
    int (*next)(double *x, int64_t count, void *user);
    void *user;
    double *room;      /* for IO_PIECE numbers */
    const char *fault; /* what was wrong with the matrix; NULL: nothing */
} io_pieces;

typedef struct io_model {
    int64_t M, N, K;     /* K = 0: a transform alone; N = 0: W, but no H */
    double *Phi, *W, *H; /* M x M, M x K, K x N, C order; W and H may be NULL, and so may Phi if
                            there are extras: the members of a separation */
    io_pieces *H_pieces; /* in the place of H, for writing; or NULL */
    int64_t extras;
    io_extra *extra;      /* datasets /arrays/<name> */
    int64_t trace_length; /* 0: no trace */
    double *trace[IO_TRACE_COLUMNS];
    io_array coefficient[IO_COEFFICIENTS]; /* x is NULL where there is none */
    json_t *summary; /* what `--json` prints: results, `options`, `data`, versions */
} io_model;

/* One HDF5 file: datasets /Phi /W /H, /X /V, /arrays/.., /trace/.., the summary as JSON text in
 * /summary and, for people without a JSON reader, its scalars as attributes of /, and those of its
 * members `options` and `data` as attributes of /options and /data. The attributes format,
 * format_version, M, N and K of / are ours and win over members of the summary with these names. No
 * time stamps. Phi, W and H must be finite, for writing and for reading; the trace need not. After
 * reading, `summary` is an object, empty if the file has none. */
bool io_model_write(const char *path, const io_model *model, io_error *err);
/* Whether this file takes an H in pieces. */
bool io_model_takes_pieces(const char *path);
bool io_model_read(const char *path, io_model *out, io_error *err);
void io_model_free(io_model *model);

/* ---- looking at a file -------------------------------------------------------------------- */

/* What `info` tells of any file we can read: format, arrays with their types and shapes, and for a
 * model its summary. Returns a new JSON object, or NULL with `err` filled in. */
json_t *io_describe(const char *path, io_error *err);

/* JSON is UTF-8, names of files need not be: what is not ASCII in those becomes '?'. NULL when out
 * of memory. */
json_t *io_json_text(const char *text);

#endif
