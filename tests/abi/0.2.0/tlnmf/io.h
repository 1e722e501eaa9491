/* tlnmf/io.h: files in and out: arrays, models, sound, label tracks, MIDI. Library libtlnmf_io.
 *
 * The rules of tlnmf/tlnmf.h hold here, too: the message of a failed call names the file.
 *
 * A *spec* names an array: `data.npy`, `data.h5:/group/Y`, `data.mat:Y`, or `-` for standard input
 * (reading) and standard output (writing). Without `:/path` or `:name`, a file that holds exactly
 * one numeric array means that array.
 *
 * Every file is written beside its final name, synced and renamed: it is there whole or not at
 * all. */
#ifndef TLNMF_IO_H
#define TLNMF_IO_H

#include "tlnmf/sound.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Reads .npy, HDF5 and .mat, real numbers of any type. `out` holds the array under the name
 * `array`. */
TLNMF_API tlnmf_error tlnmf_io_read_array(tlnmf_ctx *ctx, const char *spec, tlnmf_record **out);
/* To .npy (also `-` and names without extension) and HDF5, there under /Y unless the spec says. */
TLNMF_API tlnmf_error tlnmf_io_write_array(tlnmf_ctx *ctx, const char *spec, const double *x,
                                           int32_t rank, const int64_t *shape);

/* ---- models ---------------------------------------------------------------------------------- */

/* One HDF5 file: datasets /Phi /W /H and /trace/..., the numbers and texts as attributes of /
 * (those named `option.x` of /options, `data.x` of /data), and a JSON text of them all in /summary,
 * which is the text `summary` of the record if it has one. */
TLNMF_API tlnmf_error tlnmf_io_write_model(tlnmf_ctx *ctx, const char *path,
                                           const tlnmf_record *model);
TLNMF_API tlnmf_error tlnmf_io_read_model(tlnmf_ctx *ctx, const char *path, tlnmf_record **model);

/* What is in a file: format, arrays with types and shapes, a model's summary, as a JSON object in
 * the text `json`. */
TLNMF_API tlnmf_error tlnmf_io_describe(tlnmf_ctx *ctx, const char *path, tlnmf_record **out);

/* ---- sound ----------------------------------------------------------------------------------- */

/* A sound file in any format of libsndfile, read piece by piece; `-` is standard input. Every
 * sample is checked to be finite. The sound owns the open file. Its record also holds `file`. */
TLNMF_API tlnmf_error tlnmf_io_open_sound(tlnmf_ctx *ctx, const char *path, tlnmf_sound **out);

/* Writing a signal piece by piece. The extension (.wav, .flac, .w64; `-` is .wav) names the
 * container. The sample format is that of `like`, a sound of tlnmf_io_open_sound: whole numbers
 * stay whole numbers of at least as many bits, lossy formats become 32-bit floats; channels, rate
 * and expected length are those of `like`, too. For any other sound it is 32-bit float, in FLAC 24
 * bits. */
typedef struct tlnmf_io_writer tlnmf_io_writer;
TLNMF_API tlnmf_error tlnmf_io_writer_create(tlnmf_ctx *ctx, const char *path,
                                             const tlnmf_sound *like, tlnmf_io_writer **out);
/* `count` samples of all channels. */
TLNMF_API tlnmf_error tlnmf_io_writer_append(tlnmf_ctx *ctx, tlnmf_io_writer *writer,
                                             const double *x, int64_t count);
/* clipped (samples that did not fit the format), step (distance of two values of a whole-number
 * format; 0 for floats). */
TLNMF_API const tlnmf_record *tlnmf_io_writer_record(const tlnmf_io_writer *writer);
/* Publishes the file and frees the writer, also when publishing fails. */
TLNMF_API tlnmf_error tlnmf_io_writer_commit(tlnmf_ctx *ctx, tlnmf_io_writer *writer);
/* Leaves no file behind and frees the writer. */
TLNMF_API void tlnmf_io_writer_abort(tlnmf_io_writer *writer_or_null);

/* ---- labels ---------------------------------------------------------------------------------- */

/* An Audacity label track, start TAB end TAB name a line. `track` holds the arrays start and end,
 * in seconds, and the texts name. */
TLNMF_API tlnmf_error tlnmf_io_read_labels(tlnmf_ctx *ctx, const char *path, tlnmf_record **track);

/* ---- activations ----------------------------------------------------------------------------- */

/* The events of tlnmf_activations as a label track or as a MIDI file with a track for each of the
 * model's sources. */
TLNMF_API tlnmf_error tlnmf_io_write_labels(tlnmf_ctx *ctx, const char *path,
                                            const tlnmf_record *model, const tlnmf_record *events);
TLNMF_API tlnmf_error tlnmf_io_write_midi(tlnmf_ctx *ctx, const char *path,
                                          const tlnmf_record *model, const tlnmf_record *events);

/* ---- whole files ----------------------------------------------------------------------------- */

/* Bytes under their final name, all or nothing; `-` is standard output; a device or a pipe is
 * written in place. */
TLNMF_API tlnmf_error tlnmf_io_write_file(tlnmf_ctx *ctx, const char *path, const void *bytes,
                                          size_t size);
/* Names for files without extension from any texts (the list `names` of the record): no directory,
 * no control character, nothing that an operating system reserves, no two alike. `safe` holds them
 * as the list `names`. */
TLNMF_API tlnmf_error tlnmf_io_safe_names(tlnmf_ctx *ctx, const tlnmf_record *names,
                                          tlnmf_record **safe);

#ifdef __cplusplus
}
#endif
#endif
