/* Models of a separation as records. */
#ifndef TLNMF_SEPARATE_MODEL_H
#define TLNMF_SEPARATE_MODEL_H

#include "separate/separate.h"
#include "separate/sound.h"

/* Fills in the record: only what was learnt, no matrix of a transform that is fixed. `power` is the
 * mean square of the sound. */
tlnmf_error tl_blend_to_record(tlnmf_ctx *ctx, const tl_blend *blend, const tlnmf_sound *sound,
                               double power, tlnmf_record *model);
/* The other way round. A record without `members` is one member with its Phi and W. */
tlnmf_error tl_blend_from_record(tlnmf_ctx *ctx, const tlnmf_record *model, tl_blend **out);

#endif
