/* Options of learning: the settings, and the values derived from them for a recording. */
#ifndef TLNMF_SOUND_LEARN_OPTIONS_H
#define TLNMF_SOUND_LEARN_OPTIONS_H

#include "engine/updates.h"
#include "sound/signal/frames.h"

typedef struct tl_learn_options {
    tl_settings set; /* of task "learn", as the caller gave them; the rest follows from them */
    tl_frames frames;
    int64_t sources;
    double rate;         /* samples per second */
    int64_t release;     /* samples for which a source may ring after its span */
    int64_t band;        /* rows of the transform to learn; 0: the rows with most of the energy */
    int64_t J;           /* outer iterations of learning */
    int32_t any_window;  /* 1: frames.window may be replaced by the sine window */
    int32_t any_length;  /* 1: frames and hop may be twice as long */
    int32_t any_J;       /* 1: half or twice the iterations, if that separates better */
    tl_updater *updater; /* where updates run; NULL: here */
} tl_learn_options;

/* The floor: eps_rel of the mean power. An error if 1 / eps is not a usable number. */
tlnmf_error tl_learn_floor(tlnmf_ctx *ctx, const tl_learn_options *options, double mean_power,
                           double *eps);
/* Whether the options allow dictionaries from solos (guided.c), which use fixed transforms and
 * choose their own number of columns. */
bool tl_learn_may_use_solos(const tl_learn_options *options);
/* An upper bound on the bytes that learning and running take. */
double tl_learn_memory(const tl_learn_options *options, int64_t length, int64_t channels);
/* The sizes of the largest run of updates while learning. */
tl_updates tl_learn_largest_updates(const tl_learn_options *options, int64_t length);

#endif
