/* A blend: several separators as one, with the candidates compared and the expected quality. */
#ifndef TLNMF_SOUND_BLEND_H
#define TLNMF_SOUND_BLEND_H

#include "sound/model/separator.h"

enum { TL_MEMBERS_MAX = 16, TL_TRIALS_MAX = 32 };

/* A candidate that was compared. */
typedef struct tl_trial {
    char what[120];  /* its transform, window, frames and components */
    double score;    /* SI-SDR in dB on remixes; NaN: not judged */
    double weight;   /* in the stems; 0: refused */
    const char *why; /* it was kept or refused */
} tl_trial;

/* The estimated quality of a separation (sound/judge). */
typedef struct tl_verdict {
    double agreement[TL_SOURCES_MAX]; /* mean SI-SDR in dB of the members' stems to each other */
    double share[TL_SOURCES_MAX];     /* of the energy of all stems */
    double overlap[TL_SOURCES_MAX];   /* part of the stem's energy where others may sound */
    double unexplained;               /* part of the recording's power that lies above the model */
    double coverage; /* part of the labelled time in the mixture that needs no transposed spectra */
    double expected[TL_SOURCES_MAX], low[TL_SOURCES_MAX], high[TL_SOURCES_MAX]; /* SI-SDR, dB */
} tl_verdict;

/* Each stem is the weighted mean of the members' stems. */
typedef struct tl_blend {
    tl_separator_info info; /* frames, basis, method: of the first member */
    int64_t members, trials;
    tl_separator *member[TL_MEMBERS_MAX];
    double weight[TL_MEMBERS_MAX]; /* sum to 1, the largest first */
    tl_trial trial[TL_TRIALS_MAX]; /* all candidates, refused ones included */
    tl_verdict verdict;
    tl_hooks hooks;
} tl_blend;

tlnmf_error tl_blend_new(tlnmf_ctx *ctx, tl_blend **out);
void tl_blend_free(tl_blend *blend);

#endif
