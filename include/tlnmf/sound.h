/* tlnmf/sound.h: frames of a signal, separation of recordings, scores.
 *
 * The rules of tlnmf/tlnmf.h hold here, too. Signals of several channels are interleaved:
 * x[t * channels + c]. A time is a number of samples, counted from 0. */
#ifndef TLNMF_SOUND_H
#define TLNMF_SOUND_H

#include "tlnmf/tlnmf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- frames of a signal ---------------------------------------------------------------------- */

/* A frame has `frame` samples, and a new one begins every `hop` samples. The frames displaced by s
 * hop / shifts, s = 0 .. shifts-1, are realisations that share H. Settings of task "frames" or
 * "separate". */

/* The number of frames N of a signal of `length` samples, which is padded with zeros at both
 * ends. */
TLNMF_API tlnmf_error tlnmf_frames_count(tlnmf_ctx *ctx, const tlnmf_settings *settings,
                                         int64_t length, int64_t *N);
/* The window, `frame` numbers. */
TLNMF_API tlnmf_error tlnmf_frames_window(tlnmf_ctx *ctx, const tlnmf_settings *settings,
                                          double *w);
/* Y has the shape {shifts, frame, N}, as tlnmf_data_from_realisations takes it. */
TLNMF_API tlnmf_error tlnmf_frames_analyse(tlnmf_ctx *ctx, const tlnmf_settings *settings,
                                           const double *x, int64_t length, double *Y);
/* Reconstructs the signal by weighted overlap-add over frames and shifts, exact to rounding. */
TLNMF_API tlnmf_error tlnmf_frames_synthesise(tlnmf_ctx *ctx, const tlnmf_settings *settings,
                                              const double *Y, int64_t length, double *x);

/* ---- sounds ---------------------------------------------------------------------------------- */

/* A recording, and which source sounds in it when (its labels). */
typedef struct tlnmf_sound tlnmf_sound;

/* Writes `count` samples of all channels, from sample `first` on, to x. Return nonzero on failure:
 * the call then ends with TLNMF_ERR_CALLBACK. It runs in the thread of the call that reads the
 * sound. */
typedef int (*tlnmf_read)(int64_t first, int64_t count, double *x, void *user);

/* A recording that is read in pieces, so that it need not be in memory. rate is in Hz. */
TLNMF_API tlnmf_error tlnmf_sound_create(tlnmf_ctx *ctx, int64_t length, int64_t channels,
                                         double rate, tlnmf_read read, void *user,
                                         tlnmf_sound **out);
/* Refers to x (length * channels numbers), which must outlive the sound. */
TLNMF_API tlnmf_error tlnmf_sound_from_array(tlnmf_ctx *ctx, const double *x, int64_t length,
                                             int64_t channels, double rate, tlnmf_sound **out);
/* The sound at another rate, by band-limited interpolation as it is read. It refers to `sound`,
 * which must outlive it, and has no labels yet. */
TLNMF_API tlnmf_error tlnmf_sound_resample(tlnmf_ctx *ctx, const tlnmf_sound *sound, double rate,
                                           tlnmf_sound **out);
/* Adds a label: the source `name` sounds from `start` to `end`, in seconds. Sources are numbered in
 * the order in which they are first named; spaces around a name are ignored. Labels are clipped to
 * the sound, with a warning to the log. Add labels before threads share the sound. */
TLNMF_API tlnmf_error tlnmf_sound_add_label(tlnmf_ctx *ctx, tlnmf_sound *sound, const char *name,
                                            double start, double end);
/* Adds all labels of a track: a record with the arrays start and end and the texts name, all of one
 * length, as tlnmf_io_read_labels returns it. If it has the arrays low and high (Hz), a source is
 * kept out of the frequencies that its labels leave out; high = 0: the label holds all of them. A
 * source with no label inside the sound is an error. */
TLNMF_API tlnmf_error tlnmf_sound_add_labels(tlnmf_ctx *ctx, tlnmf_sound *sound,
                                             const tlnmf_record *track);
/* length, channels, rate, labels (how many), names (of the sources). */
TLNMF_API const tlnmf_record *tlnmf_sound_record(const tlnmf_sound *sound);
/* Reads `count` samples of all channels from sample `first` on; the range must lie in the sound. */
TLNMF_API tlnmf_error tlnmf_sound_read(tlnmf_ctx *ctx, const tlnmf_sound *sound, int64_t first,
                                       int64_t count, double *x);
/* Mean of the squared samples. */
TLNMF_API tlnmf_error tlnmf_sound_power(tlnmf_ctx *ctx, const tlnmf_sound *sound, double *power);
TLNMF_API void tlnmf_sound_free(tlnmf_sound *sound);

/* For libraries that create sounds, as libtlnmf_io does from files: the record of the sound, to add
 * values to before others use the sound. */
TLNMF_API tlnmf_record *tlnmf_sound_notes(tlnmf_sound *sound);
/* Explains the last failed read: writes a message of at most `size` bytes and returns the error
 * with which the call ends, instead of TLNMF_ERR_CALLBACK. Returns TLNMF_OK if that read did not
 * fail. */
typedef tlnmf_error (*tlnmf_why)(char *text, size_t size, void *user);
/* The sound takes ownership of `user`: close(user) is called once, when the sound is freed. A call
 * that fails while it reads the sound calls why_or_null. */
TLNMF_API void tlnmf_sound_own(tlnmf_sound *sound, void (*close)(void *user), tlnmf_why why_or_null,
                               void *user);

/* ---- separation ------------------------------------------------------------------------------ */

/* Learns a model of the sound's sources, from its labels if it has any, else blindly. Settings of
 * task "separate". The progress counts candidates (stage "choose") and the iterations of each. The
 * model holds Phi, W, eps, the parameters of the frames, the names of the sources, and how well the
 * model separated remixed parts of the recording. */
TLNMF_API tlnmf_error tlnmf_separate(tlnmf_ctx *ctx, const tlnmf_sound *sound,
                                     const tlnmf_settings *settings, tlnmf_record **model);
/* Estimate of the bytes that learning and separating will take. */
TLNMF_API tlnmf_error tlnmf_separate_memory(tlnmf_ctx *ctx, const tlnmf_sound *sound,
                                            const tlnmf_settings *settings, double *bytes);

/* Receives each stem in order, `count` samples of all channels at a time. Return nonzero on
 * failure: the call then ends with TLNMF_ERR_CALLBACK. It runs in the thread of the call. */
typedef int (*tlnmf_write)(int64_t stem, int64_t first, int64_t count, const double *x, void *user);

/* What tlnmf_stems will return: `stems` (how many), `names` (of the stems: the sources, or with
 * `components` the components of each; then "residual" if asked for), N. */
TLNMF_API tlnmf_error tlnmf_stems_plan(tlnmf_ctx *ctx, const tlnmf_record *model,
                                       const tlnmf_sound *sound, const tlnmf_settings *settings,
                                       tlnmf_record **plan);
/* Separates a sound with a model, block by block. The memory does not depend on the length, except
 * for H. The stems sum to the sound. H is fitted at fixed Phi and W; if the sound has labels, a
 * source is zero outside its own. Settings of task "stems". The progress counts frames (stage
 * "stems"). `report` holds the outcome, the floor that was used, and H if asked for. */
TLNMF_API tlnmf_error tlnmf_stems(tlnmf_ctx *ctx, const tlnmf_record *model,
                                  const tlnmf_sound *sound, const tlnmf_settings *settings,
                                  tlnmf_write write_or_null, void *user, tlnmf_record **report);
/* The same into memory: stems[stem][t][c], as many stems as tlnmf_stems_plan says. */
TLNMF_API tlnmf_error tlnmf_stems_array(tlnmf_ctx *ctx, const tlnmf_record *model,
                                        const tlnmf_sound *sound, const tlnmf_settings *settings,
                                        double *stems, tlnmf_record **report);
/* The notes of each source: arrays of equal length source, begin, end (seconds), level (largest
 * power), key (MIDI number of the pitch). Found from the envelopes and H of the report; from H
 * alone if there are no envelopes (no stems were written, or one per component). */
TLNMF_API tlnmf_error tlnmf_activations(tlnmf_ctx *ctx, const tlnmf_record *model,
                                        const tlnmf_sound *sound, const tlnmf_record *report,
                                        tlnmf_record **events);

/* ---- scores ---------------------------------------------------------------------------------- */

/* Scores estimates against the true sources: SDR, SIR, SAR of BSS Eval 3 and SI-SDR, (S1)-(S4), in
 * dB. reference and estimate have the shape {sources, length, channels}. Settings of task "score".
 * `scores` holds sdr, sir, sar, si_sdr with the shape {sources, channels + 1}, whose last column is
 * for all channels together; match {sources}, the estimate of each reference; state {sources,
 * channels + 1}: 0 scored, 1 silent reference, 2 silent estimate (NaN scores); and the means
 * mean_sdr, mean_sir, mean_sar, mean_si_sdr. With `images`, sdr, sir and sar follow
 * bss_eval_images, and isr is set. With `framewise`, frame_sdr {windows, sources} (also _sir, _sar,
 * _si_sdr, _isr) scores each window over all channels, and median_sdr {sources} (likewise) is the
 * median over windows. */
TLNMF_API tlnmf_error tlnmf_score(tlnmf_ctx *ctx, const double *reference, const double *estimate,
                                  const int64_t shape[3], const tlnmf_settings *settings,
                                  tlnmf_record **scores);

#ifdef __cplusplus
}
#endif
#endif
