/* tlnmf/sound.h: frames of a signal, separation of recordings, scores.
 *
 * The rules of tlnmf/tlnmf.h apply. Signals of several channels are interleaved:
 * x[t * channels + c]. Times are sample numbers, counted from 0, unless seconds are named. */
#ifndef TLNMF_SOUND_H
#define TLNMF_SOUND_H

#include "tlnmf/tlnmf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- frames of a signal ---------------------------------------------------------------------- */

/* A frame has `frame` samples, and a new frame begins every `hop` samples. Frames displaced by
 * s hop / shifts, s = 0 .. shifts-1, are realisations that share H. Settings of task "frames" or
 * "learn". */

/* The number of frames N of a signal of `length` samples, which is padded with zeros at both
 * ends. A negative length is TLNMF_ERR_SHAPE. */
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

/* Writes `count` samples of all channels, from sample `first` on, to x. If it returns nonzero, the
 * call that reads the sound returns TLNMF_ERR_CALLBACK. It runs in the thread of that call. To name
 * the cause in the message of the call, pass it to tlnmf_fail with the context of the call. */
typedef int (*tlnmf_read_fn)(int64_t first, int64_t count, double *x, void *user);

/* Creates a sound that is read in pieces, so that it need not be in memory. rate is in Hz. */
TLNMF_API tlnmf_error tlnmf_sound_create(tlnmf_ctx *ctx, int64_t length, int64_t channels,
                                         double rate, tlnmf_read_fn read, void *user,
                                         tlnmf_sound **out);
/* Refers to x (length * channels numbers), which must outlive the sound. */
TLNMF_API tlnmf_error tlnmf_sound_from_array(tlnmf_ctx *ctx, const double *x, int64_t length,
                                             int64_t channels, double rate, tlnmf_sound **out);
/* Creates the sound at another rate, by band-limited interpolation while it is read. It refers to
 * `sound`, which must outlive it, and has no labels. */
TLNMF_API tlnmf_error tlnmf_sound_resample(tlnmf_ctx *ctx, const tlnmf_sound *sound, double rate,
                                           tlnmf_sound **out);
/* Adds a label: the source `name` sounds from `start` to `end`, in seconds. Sources are numbered in
 * the order in which they are first named; spaces around a name are ignored. A label that ends
 * after the sound is cut, with a warning to the log; one that starts below 0 or contains no sample
 * is TLNMF_ERR_DATA. Add labels before threads share the sound. */
TLNMF_API tlnmf_error tlnmf_sound_add_label(tlnmf_ctx *ctx, tlnmf_sound *sound, const char *name,
                                            double start, double end);
/* Adds all labels of a track: a record with the arrays start and end and the texts name, all of one
 * length, as tlnmf_io_read_labels returns it. If it has the arrays low and high (Hz), a source
 * may sound only at the frequencies of its labels; high = 0 means all frequencies. A source with no
 * label inside the sound is an error. */
TLNMF_API tlnmf_error tlnmf_sound_add_labels(tlnmf_ctx *ctx, tlnmf_sound *sound,
                                             const tlnmf_record *track);
/* Holds length, channels, rate, labels (their number) and names (of the sources). */
TLNMF_API const tlnmf_record *tlnmf_sound_record(const tlnmf_sound *sound);
/* Reads `count` samples of all channels from sample `first` on; the range must lie in the sound. */
TLNMF_API tlnmf_error tlnmf_sound_read(tlnmf_ctx *ctx, const tlnmf_sound *sound, int64_t first,
                                       int64_t count, double *x);
/* Mean of the squared samples. */
TLNMF_API tlnmf_error tlnmf_sound_power(tlnmf_ctx *ctx, const tlnmf_sound *sound, double *power);
TLNMF_API void tlnmf_sound_free(tlnmf_sound *sound);

/* For libraries that create sounds, as libtlnmf_io does from files: the record of the sound, to
 * which values can be added before the sound is used. */
TLNMF_API tlnmf_record *tlnmf_sound_notes(tlnmf_sound *sound);
/* Explains the last failed read: writes a message of at most `size` bytes and returns the error
 * that the call returns instead of TLNMF_ERR_CALLBACK. Returns TLNMF_OK if the read did not fail.
 */
typedef tlnmf_error (*tlnmf_why_fn)(char *text, size_t size, void *user);
/* The sound takes ownership of `user`: close(user) is called once, when the sound is freed. A call
 * that fails while it reads the sound calls why_or_null. */
TLNMF_API void tlnmf_sound_own(tlnmf_sound *sound, void (*close)(void *user),
                               tlnmf_why_fn why_or_null, void *user);

/* ---- separation ------------------------------------------------------------------------------ */

/* Learning and separating run a fixed number of iterations and do not test for convergence. The
 * outcome of a complete run is TLNMF_OUTCOME_ITERATIONS, that of a stopped one
 * TLNMF_OUTCOME_CANCELLED. */

/* Learns a model of the sources of a sound, from its labels if it has any, otherwise blindly.
 * Settings of task "learn". The progress counts candidates (stage "choose") and the iterations of
 * each. The model holds eps, the parameters of the frames, the names of the sources, and how well
 * it separated remixed parts of the recording. Its candidates are arrays of the groups member.0,
 * member.1, ..; a model of one candidate may hold Phi and W instead. Only tlnmf_separate and the
 * files read it. If the progress function stops the call, the model holds what was learnt so far.
 */
TLNMF_API tlnmf_error tlnmf_learn_sources(tlnmf_ctx *ctx, const tlnmf_sound *sound,
                                          const tlnmf_settings *settings, tlnmf_record **model);
/* Upper estimate of the bytes that learning and separating allocate. It assumes the largest
 * candidate that the settings allow. Most runs use much less. */
TLNMF_API tlnmf_error tlnmf_learn_sources_memory(tlnmf_ctx *ctx, const tlnmf_sound *sound,
                                                 const tlnmf_settings *settings, double *bytes);

/* Receives the next `count` samples of all channels of a stem. If it returns nonzero, the call
 * returns TLNMF_ERR_CALLBACK. It runs in the thread of the call. tlnmf_fail names the cause, as in
 * tlnmf_read_fn. */
typedef int (*tlnmf_write_fn)(int64_t stem, int64_t first, int64_t count, const double *x,
                              void *user);

/* Describes the stems that tlnmf_separate will return: `stems` (their number), `names` and N. The
 * stems are the sources, or with the option components the components of each, followed by
 * "residual" if that option is set. */
TLNMF_API tlnmf_error tlnmf_separate_plan(tlnmf_ctx *ctx, const tlnmf_record *model,
                                          const tlnmf_sound *sound, const tlnmf_settings *settings,
                                          tlnmf_record **plan);
/* Separates a sound with a model, block by block. The memory does not depend on the length, except
 * for H. The stems sum to the sound. H is fitted at fixed Phi and W; if the sound has labels, a
 * source is zero in the frames that do not overlap its labels, extended by the option release (the
 * option unlabelled says what happens where there is no label). Settings of task "separate". The
 * progress counts frames (stage "stems"). `report` holds the outcome, the floor eps, and `written`:
 * samples 0 .. written-1 of every stem were written, the whole sound unless the run was stopped. If
 * the option keep-h is set, it also holds H and the envelopes of the stems. */
TLNMF_API tlnmf_error tlnmf_separate(tlnmf_ctx *ctx, const tlnmf_record *model,
                                     const tlnmf_sound *sound, const tlnmf_settings *settings,
                                     tlnmf_write_fn write_or_null, void *user,
                                     tlnmf_record **report);
/* The same into memory: stems[stem][t][c]. tlnmf_separate_plan returns the number of stems. Of a
 * stopped run, t = written and later samples of every stem are unchanged. */
TLNMF_API tlnmf_error tlnmf_separate_array(tlnmf_ctx *ctx, const tlnmf_record *model,
                                           const tlnmf_sound *sound, const tlnmf_settings *settings,
                                           double *stems, tlnmf_record **report);
/* Finds the notes of each source: the arrays source, begin, end (seconds), level (largest power)
 * and key (MIDI number of the pitch), all of one length. `report` is from tlnmf_separate with the
 * option keep-h, because H is needed. Its envelopes are used if it has any. It has none if no write
 * function was given, or with the option components. */
TLNMF_API tlnmf_error tlnmf_activations(tlnmf_ctx *ctx, const tlnmf_record *model,
                                        const tlnmf_sound *sound, const tlnmf_record *report,
                                        tlnmf_record **events);

/* The power V at the model's transform, for pictures. `out` holds
 *   frequency   {rows of V}: frequencies of the rows, divided by the sample rate
 *   Phi         {M, M}: only if the transform is a matrix that the model does not hold
 *   V           {rows, columns}: only if there is a sound. The columns are its frames 0, stride,
 *               2 stride, ...; V is the mean over the channels.
 * Without a sound, `model` may be any model with Phi. */
TLNMF_API tlnmf_error tlnmf_spectrogram(tlnmf_ctx *ctx, const tlnmf_record *model,
                                        const tlnmf_sound *sound_or_null, int64_t stride,
                                        int64_t columns, tlnmf_record **out);

/* ---- scores ---------------------------------------------------------------------------------- */

/* Scores estimates against the true sources: SDR, SIR, SAR of BSS Eval 3 and SI-SDR, (S1)-(S4), in
 * dB. reference and estimate have the shape {sources, length, channels}. Settings of task "score".
 * `scores` holds sdr, sir, sar, si_sdr with the shape {sources, channels + 1}, whose last column is
 * for all channels together; match {sources}, the estimate of each reference; state {sources,
 * channels + 1}: 0 scored, 1 silent reference, 2 silent estimate (NaN scores); and the means
 * mean_sdr, mean_sir, mean_sar, mean_si_sdr. With `images`, sdr, sir and sar follow
 * bss_eval_images, and isr is set. With `framewise`, frame_sdr {windows, sources} (also _sir, _sar,
 * _si_sdr, _isr) scores each window over all channels, and median_sdr {sources} (likewise) is the
 * median over windows. A sample that is not finite, or whose square is not, is TLNMF_ERR_DATA. The
 * stages of the progress are "score" and "score windows". A stopped call returns
 * TLNMF_ERR_CALLBACK; it cannot stop inside the factorisation of a matrix of sources x filter rows.
 */
TLNMF_API tlnmf_error tlnmf_score(tlnmf_ctx *ctx, const double *reference, const double *estimate,
                                  const int64_t shape[3], const tlnmf_settings *settings,
                                  tlnmf_record **scores);

#ifdef __cplusplus
}
#endif
#endif
