/* How a blend is learnt. */
#ifndef TLNMF_SOUND_COURSE_H
#define TLNMF_SOUND_COURSE_H

#include "base/monitor.h"
#include "search/units.h"
#include "sound/judge/judge.h"
#include "sound/judge/label_checks.h"
#include "sound/learn/learn_options.h"
#include "sound/signal/scene.h"

/* ---- before learning ------------------------------------------------------------------------- */

/* How many sounds explain a recording without labels (blind.c). */
enum { TL_LOOK_MOST = 6 };
typedef struct tl_look {
    double misfit[TL_LOOK_MOST + 1]; /* of each number of components; NaN: not tried */
    int64_t sounds; /* the least number of components that explain it; TL_LOOK_MOST + 1: more */
} tl_look;

tlnmf_error tl_look_at(tlnmf_ctx *ctx, const tl_sound *sound, const tl_learn_options *options,
                       tl_look *look);

/* Labels, and sound that no label covers (unlabelled.c). */
typedef struct tl_unlabelled {
    tl_span *spans; /* the labels, then spans of every source where sound has no label */
    int64_t count;
    double seconds; /* of sound without a label that is not quiet */
    double energy;  /* its fraction of the energy */
    char text[224]; /* says so; "": there is none */
    tl_hooks hooks;
    void *memory;
} tl_unlabelled;

/* `silent`: only the labels count. `warn`: the text goes to the log. */
tlnmf_error tl_unlabelled_find(tlnmf_ctx *ctx, const tlnmf_sound *sound,
                               const tl_schedule *schedule, bool silent, bool warn,
                               tl_unlabelled *found);
void tl_unlabelled_free(tl_unlabelled *found);
/* The same, then checks the labels. New warnings go to the log; the caveats also have those about
 * labels that end after the sound. */
tlnmf_error tl_labels_look(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_schedule *schedule,
                           bool silent, tl_unlabelled *found, tl_caveats *caveats);

/* ---- learning -------------------------------------------------------------------------------- */

/* The state that both ways of learning share. */
typedef struct tl_course {
    tlnmf_ctx *ctx;   /* its memory is released before the call ends */
    tl_hooks lasting; /* memory of the result */
    const tl_sound *sound;
    tl_schedule schedule;
    const tl_learn_options *opt;
    tl_units *units;   /* finished candidates (keep.h); NULL: there is no checkpoint */
    tl_scene scene[2]; /* frames of two lengths */
    tl_remix remix;
    tl_blend *blend; /* to be filled in */
} tl_course;

/* Creates scene[place], whose frames are `times` as long as the options ask for. */
tlnmf_error tl_course_scene(tl_course *course, int place, int64_t times);
/* Sets the blend's info from its members, once these are known. */
void tl_course_describe(tl_course *course);
/* Separates the recording with each of these separators and fills in the blend's verdict. */
tlnmf_error tl_course_listen(tl_course *course, const tl_separator *const *member, int64_t members);

/* The two ways: one transform, window and frame length, chosen among candidates (candidates.c); or
 * several dictionaries from passages in which a source is alone (guided.c). */
typedef tlnmf_error (*tl_way)(tl_course *course);
tlnmf_error tl_learn_candidates(tl_course *course);
tlnmf_error tl_learn_guided(tl_course *course);

/* tl_learn_guided learns and judges so many candidates at a time; tl_learn_candidates tries so many
 * components per source if the options do not set their number. */
enum { TL_CANDIDATES_AT_ONCE = 6, TL_PER_SOURCE_TRIED = 3 };

/* Learns a blend. Without spans it learns blindly. If way_or_null is NULL, the options and spans
 * decide. The outcome is that of tl_separator. */
tlnmf_error tl_blend_learn(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *spans,
                           int64_t span_count, const tl_learn_options *options,
                           tl_units *units_or_null, tl_way way_or_null, tl_blend **out);

#endif
