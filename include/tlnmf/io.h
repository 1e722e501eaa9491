/* tlnmf/io.h: files in and out: arrays, models, sound, label tracks, MIDI. Library libtlnmf_io.
 *
 * The rules of tlnmf/tlnmf.h hold here, too. TLNMF_ERR_INPUT and TLNMF_ERR_OUTPUT come with a
 * message that names the file. Paths are bytes, in no particular encoding. Objects that a call
 * returns come from the context's allocator; HDF5, matio, libsndfile, jansson and their buffers use
 * malloc. Calls from several threads at once need a thread-safe build of HDF5, such as Debian's.
 *
 * A *spec* names an array: `data.npy`, `data.h5:/group/Y`, `data.mat:Y`, or `-` for standard input
 * (reading) and standard output (writing). `:/path` or `:name` may be left out if the file holds
 * exactly one numeric array.
 *
 * Every file is written under a temporary name beside its final one, synced and renamed: it is
 * there whole or not at all. */
#ifndef TLNMF_IO_H
#define TLNMF_IO_H

#include "tlnmf/sound.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Reads .npy, .npz, HDF5, .mat, and tables as text (.csv, .tsv, .txt): real numbers of any type.
 * `out` holds the array under the name `array` and, for a text table, the text `note`: the
 * separator, header and index column that were recognised. A suffix overrides this:
 * data.csv:header, :no-header, :index, :no-index, or two with a comma. */
TLNMF_API tlnmf_error tlnmf_io_read_array(tlnmf_ctx *ctx, const char *spec, tlnmf_record **out);
/* Reads `count` indices of one axis from number `first` on; axes count from 0, negative ones from
 * the end, -1 is the last. `out` also holds the shape of the whole array, as the array `shape` of
 * rank 1; with count = 0 that is all. Only the range is read from .npy and HDF5 files, so that a
 * process that wants part of a large array needs memory for that part; other files are read whole
 * and cut. A range outside the array gives TLNMF_ERR_INPUT. */
TLNMF_API tlnmf_error tlnmf_io_read_slice(tlnmf_ctx *ctx, const char *spec, int32_t axis,
                                          int64_t first, int64_t count, tlnmf_record **out);
/* Writes .npy (also `-` and names without extension) or HDF5, there as /Y unless the spec names a
 * path. */
TLNMF_API tlnmf_error tlnmf_io_write_array(tlnmf_ctx *ctx, const char *spec, const double *x,
                                           int32_t rank, const int64_t *shape);

/* ---- models ---------------------------------------------------------------------------------- */

/* By the extension: .h5 (also `-` and names without one), .npz or .mat; others are refused. An HDF5
 * file has datasets /Phi /W /H, /X /V /unmixing /mixing and /trace/..., as far as the record has
 * them, and a JSON object in the text /summary: the text `summary` of the record if it has one,
 * else an object made from its integers, reals, texts and lists of texts. There `option.x` is x in
 * options, any other name with a dot likewise, and a real that is not finite is null. The scalars
 * of the summary are also attributes of /, and those of its members options and data of /options
 * and /data. Other arrays of the record are not written. A .npz or .mat file has the same arrays
 * (trace_C for /trace/C), the numbers of the summary, and the summary as summary.json or as the
 * text summary. */
TLNMF_API tlnmf_error tlnmf_io_write_model(tlnmf_ctx *ctx, const char *path,
                                           const tlnmf_record *model);
/* The next `count` numbers of an array, in C order, into x; nonzero: they cannot be had. */
typedef int tlnmf_io_next(double *x, int64_t count, void *user);
/* The same with an H of K x N that comes in pieces, so that no machine needs to hold all of it: the
 * record's own H is not looked at. An HDF5 file is written piece by piece; of .npz, .mat, standard
 * output, devices and pipes H is held. */
TLNMF_API tlnmf_error tlnmf_io_write_model_from(tlnmf_ctx *ctx, const char *path,
                                                const tlnmf_record *model, int64_t N,
                                                tlnmf_io_next *next, void *user);
/* Reads a model. The record holds the arrays, M, N (0: there is no H), K, the text `summary` if
 * there is one, and the scalars and lists of texts of the summary under the library's names (null
 * is left out). tlnmf_apply takes any model, tlnmf_stems any model of a separation. */
TLNMF_API tlnmf_error tlnmf_io_read_model(tlnmf_ctx *ctx, const char *path, tlnmf_record **model);

/* Describes a file: format, arrays with types and shapes, a model's summary, as a JSON object in
 * the text `json`. */
TLNMF_API tlnmf_error tlnmf_io_describe(tlnmf_ctx *ctx, const char *path, tlnmf_record **out);

/* ---- foreign files -----------------------------------------------------------------------------
 */

/* HDF5 and MATLAB files are read by large libraries that damaged files can crash, stall or bloat.
 * In a process of its own such a file can do no harm: `helper` is a program that answers `HELPER
 * --read WHAT SPEC` by `return tlnmf_io_serve(WHAT, SPEC)` (the program tlnmf does). It is started
 * with posix_spawn, works under limits on memory, time and system calls (seccomp on Linux), and
 * hands over a packed record. If it crashes or exceeds a limit, the call returns TLNMF_ERR_INPUT.
 *
 * `what` is "array", "model" or "describe", for what tlnmf_io_read_array, tlnmf_io_read_model and
 * tlnmf_io_describe answer, or "slice AXIS FIRST COUNT" (such as "slice -1 0 100"), for
 * tlnmf_io_read_slice. .npy files are always read in this process; so are all files if
 * helper is NULL or cannot be started. `stop` is called twenty times a second; nonzero ends the
 * read with TLNMF_ERR_INPUT. */
typedef int tlnmf_io_stop(void *user);
TLNMF_API tlnmf_error tlnmf_io_read_apart(tlnmf_ctx *ctx, const char *helper_or_null,
                                          const char *what, const char *spec,
                                          tlnmf_io_stop *stop_or_null, void *user,
                                          tlnmf_record **out);
/* For the helper: returns its exit code. Call _exit with it: on damaged files libhdf5 may loop in
 * its exit handlers. Limits are set for the whole process. */
TLNMF_API int tlnmf_io_serve(const char *what, const char *spec);

/* ---- sound ----------------------------------------------------------------------------------- */

/* Opens a sound file in any format of libsndfile, which is read in pieces; `-` is standard input. A
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
/* `count` samples of all channels. */
TLNMF_API tlnmf_error tlnmf_io_writer_append(tlnmf_ctx *ctx, tlnmf_io_writer *writer,
                                             const double *x, int64_t count);
/* clipped (number of samples outside the range of the format), step (distance of two values of an
 * integer format; 0 for floats), bytes (estimated file size, reserved on disk; for FLAC half
 * the size of the samples, not reserved), temporary (the file that is written until the commit; ""
 * for standard output, devices and pipes). A program that ends at once on a signal unlinks
 * `temporary`. */
TLNMF_API const tlnmf_record *tlnmf_io_writer_record(const tlnmf_io_writer *writer);
/* Publishes the file and frees the writer, also when publishing fails. */
TLNMF_API tlnmf_error tlnmf_io_writer_commit(tlnmf_ctx *ctx, tlnmf_io_writer *writer);
/* Leaves no file behind and frees the writer. */
TLNMF_API void tlnmf_io_writer_abort(tlnmf_io_writer *writer_or_null);

/* ---- labels ---------------------------------------------------------------------------------- */

/* Reads an Audacity label track, one line per label: start TAB end TAB name. A spectral label has a
 * second line: \ TAB low TAB high. `track` holds the arrays start and end, in seconds, low and
 * high, in Hz (0 without), and the texts name. */
TLNMF_API tlnmf_error tlnmf_io_read_labels(tlnmf_ctx *ctx, const char *path, tlnmf_record **track);

/* ---- activations ----------------------------------------------------------------------------- */

/* Write the events of tlnmf_activations as a label track, or as a MIDI file with one track per
 * source of the model. */
TLNMF_API tlnmf_error tlnmf_io_write_labels(tlnmf_ctx *ctx, const char *path,
                                            const tlnmf_record *model, const tlnmf_record *events);
TLNMF_API tlnmf_error tlnmf_io_write_midi(tlnmf_ctx *ctx, const char *path,
                                          const tlnmf_record *model, const tlnmf_record *events);

/* ---- the report page ------------------------------------------------------------------------- */

/* Writes one HTML file that shows a model, opens without a network and can be sent around: the
 * result in plain words, players for the stems, pictures of V and W H, atoms, convergence, all
 * numbers. `model` is what a fit, a diagonalisation or a separation returned, or what
 * tlnmf_io_read_model read; what it lacks is left out. `about` may hold
 *   title       text: the heading
 *   command     text: the command line that repeats the run [`repeat` of the summary]
 *   V           array {M, N}: the power of the coefficients, as tlnmf_apply returns it
 *   without     text: why there is no V
 *   recording   text: the sound file that was taken apart
 *   stems       texts: the files of its stems; stem_names: what they are called [the model's names]
 *   start, end, name   labels, as tlnmf_io_read_labels returns them
 * Settings of task "report". A stem that is missing, unreadable or not like the recording is no
 * error: the page says so. */
TLNMF_API tlnmf_error tlnmf_io_write_report(tlnmf_ctx *ctx, const char *path,
                                            const tlnmf_record *model,
                                            const tlnmf_record *about_or_null,
                                            const tlnmf_settings *settings_or_null);

/* A page of figures in the same visual language. `json` is an object with the texts title and lead,
 * the list figures ({title, panels: [{title, x, y, xLog, yLog, series: [{label, x, y, points,
 * dashed}]}]}; x and y of a panel are its labels, of a series its numbers) and the list rows
 * ({experiment, what, published, ours, claim, holds}), which becomes a table of claims. */
TLNMF_API tlnmf_error tlnmf_io_write_figures(tlnmf_ctx *ctx, const char *path, const char *json);

/* ---- whole files ----------------------------------------------------------------------------- */

/* Writes bytes to a file, all or nothing. `-` is standard output; devices and pipes are written in
 * place. */
TLNMF_API tlnmf_error tlnmf_io_write_file(tlnmf_ctx *ctx, const char *path, const void *bytes,
                                          size_t size);
/* A record as a file, packed (tlnmf_record_pack): a checkpoint, or what else a program keeps. */
TLNMF_API tlnmf_error tlnmf_io_write_record(tlnmf_ctx *ctx, const char *path,
                                            const tlnmf_record *record);
TLNMF_API tlnmf_error tlnmf_io_read_record(tlnmf_ctx *ctx, const char *path, tlnmf_record **out);
/* Removes a regular file or a link, and the temporaries of writers that were killed while they
 * wrote it. */
TLNMF_API void tlnmf_io_remove(const char *path);
/* Disk space for a file that will be written after a long run. Fails as writing would: no space, a
 * limit, a directory that is not there, a name that is too long. It leaves nothing behind, however
 * the process ends; release it just before the file is written. Nothing is reserved for `-`,
 * devices and pipes, nor where the file system cannot. */
typedef struct tlnmf_io_reservation tlnmf_io_reservation;
TLNMF_API tlnmf_error tlnmf_io_reserve(tlnmf_ctx *ctx, const char *path, int64_t bytes,
                                       tlnmf_io_reservation **out);
TLNMF_API void tlnmf_io_release(tlnmf_io_reservation *reservation_or_null);
/* The cores that the control group of this process has, rounded up; 0: as many as the machine, or
 * OMP_NUM_THREADS says how many threads there are to be. For tlnmf_ctx_set_threads. */
TLNMF_API int32_t tlnmf_io_cores(void);

/* Makes file names without extension from any texts (the list `names` of the record): no directory,
 * no control character, no name that an operating system reserves, no two alike. `safe` holds them
 * as the list `names`. */
TLNMF_API tlnmf_error tlnmf_io_safe_names(tlnmf_ctx *ctx, const tlnmf_record *names,
                                          tlnmf_record **safe);

#ifdef __cplusplus
}
#endif
#endif
