/* Files in and out: arrays, sound, models. The program's room; the library never includes it.
 *
 * A *spec* names an array: `data.npy`, `data.h5:/group/Y`, `data.mat:Y`, or `-` for standard input
 * (reading) and standard output (writing). Without `:/path` or `:name` a file that holds exactly
 * one numeric array means that array.
 *
 * Every function returns true, or false with `err` filled in; `err->text` names the culprit. */
#ifndef TLNMF_IO_IO_H
#define TLNMF_IO_IO_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum io_fault {
    IO_NONE = 0,
    IO_BAD_INPUT = 3, /* the numbers are the program's exit codes */
    IO_NO_OUTPUT = 5,
    IO_NO_MEMORY = 6,
} io_fault;

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
} io_array;

/* From .npy, HDF5 and .mat: real numbers of any type, as the extension or else the content says.
 * To .npy (also `-` and names without extension) and HDF5, there under /Y unless the spec says. */
bool io_array_read(const char *spec, io_array *out, io_error *err);
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
 * word (container | sample format); io/io.h's users pass it on and need not look inside. */
typedef struct io_audio_info {
    int64_t frames;
    int channels, rate, format;
} io_audio_info;

typedef struct io_audio {
    int64_t frames;
    int channels, rate;
    int format;
    double *x;
} io_audio;

/* The whole of a sound file in any format of libsndfile, or of standard input for `-`. Refused with
 * a message: no sound, no samples, a file cut short, a sample that is not finite. What is allocated
 * follows what has been read, never the header alone. */
bool io_audio_read(const char *path, io_audio *out, io_error *err);
void io_audio_free(io_audio *audio);

/* The same, block by block. Where a header cannot be trusted (compressed formats) opening decodes
 * the file once to count its frames, so that info->frames is what can be read. */
typedef struct io_audio_reader io_audio_reader;
bool io_audio_open(const char *path, io_audio_reader **out, io_audio_info *info, io_error *err);
/* Exactly `frames` frames from number `first` on, or an error; each sample is finite. */
bool io_audio_read_at(io_audio_reader *reader, int64_t first, int64_t frames, double *x,
                      io_error *err);
void io_audio_close(io_audio_reader *reader); /* NULL is fine */

/* The format in which `path` (.wav, .flac, .w64; `-` is .wav) holds sound that came as `like`:
 * whole numbers stay whole numbers of at least as many bits, floating point stays so where the
 * container has it, lossy formats become 32-bit floats, and a .wav too large for its 32-bit sizes
 * is an RF64. 0 with `err` filled in for another extension. */
int io_audio_format_like(const char *path, int like, int64_t frames, int channels, io_error *err);
/* 2^-(bits - 1), or 0 for floating point: how far apart two values of a format are. */
double io_audio_step(int format);

/* Writing block by block, all or nothing: beside the final name until the commit. Samples are
 * rounded to nearest, without dither, and clipped where the format ends: the writer counts how many
 * were. No time stamps. info->frames only says how large the file will be. */
typedef struct io_audio_writer io_audio_writer;
bool io_audio_create(const char *path, const io_audio_info *info, io_audio_writer **out,
                     io_error *err);
bool io_audio_append(io_audio_writer *writer, const double *x, int64_t frames, io_error *err);
int64_t io_audio_clipped(const io_audio_writer *writer);
/* Either ends the writer, also when the commit fails. */
bool io_audio_commit(io_audio_writer *writer, io_error *err);
void io_audio_abort(io_audio_writer *writer); /* NULL is fine */

/* All at once; the format follows from the extension (.wav and `-`: 32-bit float; .flac: 24 bits;
 * .w64: 32-bit float). *clipped, if asked for, is the number of samples that did not fit. */
bool io_audio_write(const char *path, const double *x, int64_t frames, int channels, int rate,
                    int64_t *clipped, io_error *err);

/* ---- label tracks ------------------------------------------------------------------------- */

/* Seconds; start == end is a point. The name is UTF-8, as it was in the file, perhaps empty. */
typedef struct io_label {
    double start, end;
    char *name;
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

typedef struct io_trace_row {
    int64_t stage, iteration;
    double C, L, I, step;
} io_trace_row;

/* What `fit` and `jd` leave behind. K = 0: a transform alone, W and H are NULL. */
typedef struct io_model {
    int64_t M, N, K;
    double *Phi, *W, *H;  /* M x M, M x K, K x N, C order */
    int64_t trace_length; /* 0: no trace */
    io_trace_row *trace;
    json_t *summary; /* what `--json` prints: results, `options`, `data`, versions */
} io_model;

/* One HDF5 file: datasets /Phi /W /H, /trace/{stage,iteration,C,L,I,step}, the summary as JSON text
 * in /summary and, for people without a JSON reader, its scalars as attributes of /, and those of
 * its members `options` and `data` as attributes of /options and /data. The attributes format,
 * format_version, M, N and K of / are ours and win over members of the summary with these names.
 * No time stamps. Phi, W and H must be finite, for writing and for reading; the trace need not.
 * After reading, `summary` is an object, empty if the file has none. */
bool io_model_write(const char *path, const io_model *model, io_error *err);
bool io_model_read(const char *path, io_model *out, io_error *err);
void io_model_free(io_model *model);

/* ---- looking at a file -------------------------------------------------------------------- */

/* What `info` tells of any file we can read: format, arrays with their types and shapes, and for a
 * model its summary. Returns a new JSON object, or NULL with `err` filled in. */
json_t *io_describe(const char *path, io_error *err);

#endif
