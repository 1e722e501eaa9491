/* Finished candidates of a separation, in checkpoints. A resumed call takes them instead of
 * learning them again. All functions but the first do nothing if u is NULL. Several threads may
 * put. */
#ifndef TLNMF_SOUND_KEEP_H
#define TLNMF_SOUND_KEEP_H

#include "search/units.h"
#include "sound/model/separator.h"

/* NULL if the context neither saves nor resumes. An error if the state to resume is of another
 * sound, other labels, options or another version. It reads the sound. */
tlnmf_error tl_keep_create(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_settings *settings,
                           tl_units **out);

/* *found: candidate `number` is finished. The caller frees its model, which is NULL if it was
 * dropped. */
tlnmf_error tl_keep_take(tl_units *u, int64_t number, tl_separator_info *info, tl_separator **model,
                         bool *found);
/* The candidate is finished. Its info receives the score. */
void tl_keep_put(tl_units *u, int64_t number, const tl_separator *model, double score);
/* The model of a candidate is no longer needed. */
void tl_keep_drop(tl_units *u, int64_t number);

#endif
