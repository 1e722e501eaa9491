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
    void (*close)(void *user); /* called once with sound.user when the sound is freed; or NULL */
    tl_hooks hooks;
};

#endif
