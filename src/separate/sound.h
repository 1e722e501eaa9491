/* A recording and who sounds in it when, as an object. */
#ifndef TLNMF_SEPARATE_SOUND_H
#define TLNMF_SEPARATE_SOUND_H

#include "separate/types.h"
#include "tlnmf/sound.h"

struct tlnmf_sound {
    tl_sound sound;
    double rate;
    tl_span *span; /* the labels, in samples */
    int64_t span_count, span_capacity;
    char *name[TL_SOURCES_MAX]; /* of the sources that are named */
    int64_t sources;
    tlnmf_record *record;
    void *array; /* what tlnmf_sound_from_array reads through; or NULL */
    void (*close)(void *owned);
    tlnmf_why why;
    void *owned; /* by the sound, for close and why, which may be NULL */
    tl_hooks hooks;
};

/* For the end of a call that has read the sound: `error`, or, if it was a read that failed, what
 * the owner of the sound says about that. */
tlnmf_error tl_sound_explain(tlnmf_ctx *ctx, const tlnmf_sound *sound, tlnmf_error error);

#endif
