/* The frames of a recording to learn from. */
#ifndef TLNMF_SOUND_SCENE_H
#define TLNMF_SOUND_SCENE_H

#include "sound/signal/samples.h"

/* The frames to learn from, with their samples. */
typedef struct tl_scene {
    const tl_sound *sound;
    tl_schedule schedule;
    tl_frames layout; /* length, hop, shifts, window */
    int64_t frames;   /* how many there are */
    int64_t *n;       /* frames: their numbers in the recording, ascending */
    uint64_t *active; /* frames: the sources that may sound in each */
    double *samples;  /* frames x (M + hop - 1) x channels: each frame at all shifts */
    tl_hooks hooks;
    void *memory;
} tl_scene;

/* At most `most` frames. A silent sound is an error: there is nothing to learn from. */
tlnmf_error tl_scene_create(tlnmf_ctx *ctx, const tl_sound *sound, const tl_schedule *schedule,
                            const tl_frames *layout, int64_t most, tl_scene *scene);
void tl_scene_free(tl_scene *scene);
tl_stretch tl_scene_stretch(const tl_scene *scene, int64_t i); /* the samples of frame i */

#endif
