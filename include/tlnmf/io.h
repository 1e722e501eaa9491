/* tlnmf/io.h: reads and writes arrays, models, sound, label tracks and MIDI. Library libtlnmf_io.
 *
 * The rules of tlnmf/tlnmf.h apply. The messages of TLNMF_ERR_INPUT and TLNMF_ERR_OUTPUT name the
 * file. Paths are bytes without a particular encoding. Objects that a call returns come from the
 * context's allocator; HDF5, matio, libsndfile and jansson use malloc. Concurrent calls from
 * several threads need a thread-safe build of HDF5, such as Debian's.
 *
 * A *spec* names an array: `data.npy`, `data.h5:/group/Y`, `data.mat:Y`, or `-` for standard input
 * (reading) and standard output (writing). `:/path` or `:name` may be omitted if the file has
 * exactly one numeric array.
 *
 * Every file is written under a temporary name in the same folder, synced and renamed, so that it
 * is either complete or absent. This does not hold for devices, pipes and standard output. */
#ifndef TLNMF_IO_H
#define TLNMF_IO_H

#include "tlnmf/sound.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Reads .npy, .npz, HDF5, .mat, and text tables (.csv, .tsv, .txt): real numbers of any type.
 * `out` holds the array under the name `array` and, for a text table, the text `note`: the
 * separator, header and index column that were recognised. A suffix overrides this:
 * data.csv:header, :no-header, :index, :no-index, or two with a comma. `columns=A,B` or `drop=A,B`
 * at the end of the suffix chooses or omits columns, by name or by number from 1. Without it, a
 * table is refused if a column other than its index has a name such as time, Time (s), label, class
 * or subject. Empty cells, NA, n/a and null become NaN; then the text `missing` says where the
 * first one is. */
TLNMF_API tlnmf_error tlnmf_io_read_array(tlnmf_ctx *ctx, const char *spec, tlnmf_record **out);
/* Reads `count` indices of one axis, from index `first` on. Axes count from 0; negative axes count
 * from the end, -1 being the last. `out` also holds the shape of the whole array as the array
 * `shape` of one dimension; with count = 0 it holds nothing else. Only the range is read from .npy
 * and HDF5 files, so that part of a large array needs memory for that part only; other files are
 * read whole. A range outside the array gives TLNMF_ERR_INPUT. */
TLNMF_API tlnmf_error tlnmf_io_read_slice(tlnmf_ctx *ctx, const char *spec, int32_t axis,
                                          int64_t first, int64_t count, tlnmf_record **out);
/* Writes .npy (also for `-` and names without extension) or HDF5. In HDF5 files the array is /Y
 * unless the spec names a path. */
TLNMF_API tlnmf_error tlnmf_io_write_array(tlnmf_ctx *ctx, const char *spec, const double *x,
                                           int32_t dimensions, const int64_t *shape);

/* ---- models ---------------------------------------------------------------------------------- */

/* Writes everything that the record holds. The extension selects the format: .h5 (also `-` and
 * names without extension), .npz or .mat.
 *
 * Arrays are the datasets /Phi /W /H /X /V /unmixing /mixing, /trace/NAME, and /arrays/NAME for all
 * others. In .npz and .mat files they have the names of the record, with trace_C for trace.C and
 * two underscores for every other dot. MATLAB has no arrays of one dimension: in a .mat file, an
 * array {7} of a name that is not in the table of results is read back as {7, 1}.
 *
 * The summary is a JSON object: the dataset /summary (.h5), the member summary.json (.npz), or the
 * variable summary (.mat). If the record has a text `summary`, that text is the object, and its
 * member `record` holds the values of the record that it lacks. Otherwise the object holds all
 * integers, reals, texts and lists of texts of the record. A name with a dot is then a member of a
 * group: `option.x` is x in options. A real that is not finite is null.
 *
 * For readers without JSON, the scalars of the summary are also attributes of /, and those of its
 * members options and data are attributes of /options and /data. In .npz and .mat files its numbers
 * are also arrays. */
TLNMF_API tlnmf_error tlnmf_io_write_model(tlnmf_ctx *ctx, const char *path,
                                           const tlnmf_record *model);
/* Stores the next `count` numbers of an array, in C order, in x; returns nonzero on failure, which
 * ends the call with TLNMF_ERR_CALLBACK. tlnmf_fail with the context of the call names the cause.
 */
typedef int (*tlnmf_io_next_fn)(double *x, int64_t count, void *user);
/* The same with an H of K x N that comes in pieces, so that no process needs to hold all of it. The
 * record's own H is ignored. HDF5 files are written piece by piece; for .npz, .mat, standard
 * output, devices and pipes H is collected first. */
TLNMF_API tlnmf_error tlnmf_io_write_model_from(tlnmf_ctx *ctx, const char *path,
                                                const tlnmf_record *model, int64_t N,
                                                tlnmf_io_next_fn next, void *user);
/* Reads a model. The record holds the arrays, M, N (0: there is no H), K, the text `summary` if
 * there is one, and the scalars and lists of texts of the summary under the library's names (null
 * is NaN where the table of results has a real, else it is skipped). tlnmf_apply takes the model of
 * a fit, tlnmf_separate that of a separation. */
TLNMF_API tlnmf_error tlnmf_io_read_model(tlnmf_ctx *ctx, const char *path, tlnmf_record **model);

/* Describes a file: format, arrays with types and shapes, a model's summary, as a JSON object in
 * the text `json`. */
TLNMF_API tlnmf_error tlnmf_io_describe(tlnmf_ctx *ctx, const char *path, tlnmf_record **out);

/* ---- sound ----------------------------------------------------------------------------------- */

/* Opens a sound file in any format of libsndfile; `-` is standard input. It is read in pieces. A
 * call that reads a sample that is not finite fails with TLNMF_ERR_INPUT. The sound owns the open
 * file. Its record also holds `file`, the path, and `format`, a number that only
 * tlnmf_io_writer_create understands. */
TLNMF_API tlnmf_error tlnmf_io_open_sound(tlnmf_ctx *ctx, const char *path, tlnmf_sound **out);

/* Writes a signal in pieces. The extension (.wav, .flac, .w64; `-` is .wav) selects the container.
 * Channels, rate, expected length and sample format are those of `like`. If `like` is from
 * tlnmf_io_open_sound, integer formats keep at least as many bits, and lossy formats become 32-bit
 * floats. For any other sound the format is 32-bit float, in FLAC 24 bits. */
typedef struct tlnmf_io_writer tlnmf_io_writer;
TLNMF_API tlnmf_error tlnmf_io_writer_create(tlnmf_ctx *ctx, const char *path,
                                             const tlnmf_sound *like, tlnmf_io_writer **out);
/* Appends `count` samples of all channels. */
TLNMF_API tlnmf_error tlnmf_io_writer_append(tlnmf_ctx *ctx, tlnmf_io_writer *writer,
                                             const double *x, int64_t count);
/* Holds clipped (number of samples outside the range of the format), step (distance between two
 * values of an integer format; 0 for floats), bytes (estimated file size, reserved on disk; for
 * FLAC half the size of the samples, not reserved) and temporary (the file until the commit; "" for
 * standard output, devices and pipes). A program that exits on a signal must unlink `temporary`. */
TLNMF_API const tlnmf_record *tlnmf_io_writer_record(const tlnmf_io_writer *writer);
/* Gives the file its name. If an append has failed, the file would be incomplete: it is removed and
 * the call fails. Frees the writer, also on failure. */
TLNMF_API tlnmf_error tlnmf_io_writer_commit(tlnmf_ctx *ctx, tlnmf_io_writer *writer);
/* Removes the unfinished file and frees the writer. */
TLNMF_API void tlnmf_io_writer_abort(tlnmf_io_writer *writer_or_null);

/* ---- labels ---------------------------------------------------------------------------------- */

/* Reads an Audacity label track, one line per label: start TAB end TAB name. A spectral label has a
 * second line: \ TAB low TAB high. `track` holds the arrays start and end (seconds), low and
 * high (Hz; 0 for other labels), and the texts name. */
TLNMF_API tlnmf_error tlnmf_io_read_labels(tlnmf_ctx *ctx, const char *path, tlnmf_record **track);

/* ---- activations ----------------------------------------------------------------------------- */

/* Write the events of tlnmf_activations as a label track, or as a MIDI file with one track per
 * source of the model. */
TLNMF_API tlnmf_error tlnmf_io_write_labels(tlnmf_ctx *ctx, const char *path,
                                            const tlnmf_record *model, const tlnmf_record *events);
TLNMF_API tlnmf_error tlnmf_io_write_midi(tlnmf_ctx *ctx, const char *path,
                                          const tlnmf_record *model, const tlnmf_record *events);

/* ---- the report page ------------------------------------------------------------------------- */

/* Writes one HTML file that shows a model and needs no network: a description of the result,
 * players for the stems, pictures of V and W H, atoms, convergence, and all numbers. `model` comes
 * from a fit, a diagonalisation, a separation or tlnmf_io_read_model; missing values are omitted.
 * `about` may hold
 *   title       text: the heading [such as "TL-NMF with 3 components"]
 *   command     text: the command line that repeats the run [`repeat` of the summary]
 *   V           array {M, N}: the power of the coefficients, as tlnmf_apply returns it
 *   without     text: why there is no V
 *   recording   text: the sound file that was separated
 *   stems       texts: the files of its stems; stem_names: their names [those of the model]
 *   start, end, name   labels, as tlnmf_io_read_labels returns them
 *
 * Settings of task "report". If a stem is missing, unreadable or does not match the recording, the
 * page says so; this is not an error. */
TLNMF_API tlnmf_error tlnmf_io_write_report(tlnmf_ctx *ctx, const char *path,
                                            const tlnmf_record *model,
                                            const tlnmf_record *about_or_null,
                                            const tlnmf_settings *settings_or_null);

/* ---- whole files ----------------------------------------------------------------------------- */

/* Writes bytes to a file, all or nothing. `-` is standard output; devices and pipes are written in
 * place. */
TLNMF_API tlnmf_error tlnmf_io_write_file(tlnmf_ctx *ctx, const char *path, const void *bytes,
                                          size_t size);
/* Writes and reads a packed record (tlnmf_record_pack), such as a checkpoint. */
TLNMF_API tlnmf_error tlnmf_io_write_record(tlnmf_ctx *ctx, const char *path,
                                            const tlnmf_record *record);
TLNMF_API tlnmf_error tlnmf_io_read_record(tlnmf_ctx *ctx, const char *path, tlnmf_record **out);
/* The number of cores that the control group of this process allows, rounded up, for
 * tlnmf_ctx_set_threads; 0 if there is no limit or OMP_NUM_THREADS is set. */
TLNMF_API int32_t tlnmf_io_cores(void);

#ifdef __cplusplus
}
#endif
#endif
