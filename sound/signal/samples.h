/* A recording and the labels of its sources. */
#ifndef TLNMF_SOUND_SAMPLES_H
#define TLNMF_SOUND_SAMPLES_H

#include "base/caveats.h"
#include "sound/signal/schedule.h"
#include "tlnmf/sound.h"

/* The number of samples in so many seconds, rounded to the nearest. */
int64_t tl_samples(double seconds, double rate);

/* ---- recordings ------------------------------------------------------------------------------ */

/* Sound that is read in pieces: `count` samples of all channels from `first` on. */
typedef struct tl_sound {
    int64_t length, channels;
    int (*read)(int64_t first, int64_t count, double *x, void *user);
    void *user;
} tl_sound;

/* Reads samples first .. first+length-1 of the stretch as far as the sound has them; the others are
 * zero. TLNMF_ERR_CALLBACK if the callback fails, TLNMF_ERR_DATA for a sample that is not finite.
 */
tlnmf_error tl_sound_read(tlnmf_ctx *ctx, const tl_sound *sound, tl_stretch *stretch);
/* energy[h], h < hops: the sum of squares of samples h hop .. (h + 1) hop - 1, all channels. */
tlnmf_error tl_sound_energies(tlnmf_ctx *ctx, const tl_sound *sound, int64_t hop, int64_t hops,
                              double *energy);
/* The mean square of all samples. */
tlnmf_error tl_sound_power(tlnmf_ctx *ctx, const tl_sound *sound, double *power);

struct tlnmf_sound {
    tl_sound sound;
    double rate;
    tl_span *span; /* the labels, in samples */
    int64_t span_count, span_capacity;
    char *name[TL_SOURCES_MAX]; /* of the sources that are named */
    int64_t sources;
    tl_caveats caveats; /* about labels that end after the sound; they are in the log already */
    tlnmf_record *record;
    const double *array; /* the caller's samples (tlnmf_sound_from_array), or NULL */
    void (*close)(void *owned);
    tlnmf_why_fn why;
    void *owned; /* by the sound, for close and why, which may be NULL */
    tl_hooks hooks;
};

/* Ends a call that has read the sound. Returns `error` or, if a read failed, the error that the
 * owner of the sound reports. */
tlnmf_error tl_sound_explain(tlnmf_ctx *ctx, const tlnmf_sound *sound, tlnmf_error error);

#endif
