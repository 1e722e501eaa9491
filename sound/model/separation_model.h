/* Models of a separation as records. */
#ifndef TLNMF_SOUND_SEPARATION_MODEL_H
#define TLNMF_SOUND_SEPARATION_MODEL_H

#include "sound/model/blend.h"

/* Fills in the record. It holds only learnt values, not the matrix of a fixed transform. `power`
 * is the mean square of the sound. */
tlnmf_error tl_blend_to_record(tlnmf_ctx *ctx, const tl_blend *blend, const tlnmf_sound *sound,
                               double power, tlnmf_record *model);
/* Converts a record to a blend. A record without `members` is one member with its Phi and W. */
tlnmf_error tl_blend_from_record(tlnmf_ctx *ctx, const tlnmf_record *model, tl_blend **out);

/* One member: the arrays "PREFIX.W", .. of the record, which do not hold its info. Reading checks
 * them. */
tlnmf_error tl_separator_to_record(tlnmf_ctx *ctx, const tl_separator *separator,
                                   const char *prefix, tlnmf_record *record);
tlnmf_error tl_separator_from_record(tlnmf_ctx *ctx, const tlnmf_record *record, const char *prefix,
                                     const tl_separator_info *info, tl_separator **out);

#endif
