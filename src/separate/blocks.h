/* Finished blocks of stems, kept in checkpoints as their H: fitting it is more than half of the
 * work, and it takes little space. A run that goes on takes it, makes the stems again from the
 * beginning, and ends in the same bits. All functions but create take NULL: then nothing is kept.
 */
#ifndef TLNMF_SEPARATE_BLOCKS_H
#define TLNMF_SEPARATE_BLOCKS_H

#include "separate/separate.h"
#include "separate/sound.h"

/* What the stems are of. All of it must outlive the blocks. */
typedef struct tl_blocks_of {
    const tl_blend *blend;
    const tl_sound *sound;
    const tl_settings *settings; /* of task "stems" */
    const tl_separate_run *run;  /* its spans */
} tl_blocks_of;

/* NULL if the context neither saves nor resumes. An error if the state to go on from is of another
 * model, sound, labels, options or version; the message names the field. */
tlnmf_error tl_blocks_create(tlnmf_ctx *ctx, const tl_blocks_of *of, tl_blocks **out);
void tl_blocks_free(tl_blocks *blocks);

/* The next block of a lane: `numbers` entries of H, of which those that may not sound are 0 and not
 * kept. Lanes may be on different threads. False: it was not finished before. */
bool tl_blocks_take(tl_blocks *blocks, int64_t lane, int64_t numbers, const bool *may_sound,
                    double *H);
/* The block is finished. */
void tl_blocks_put(tl_blocks *blocks, int64_t lane, int64_t numbers, const bool *may_sound,
                   const double *H);
/* Between rounds, on the thread of the call: saves what there is if it is time to, or at once. */
void tl_blocks_save(tl_blocks *blocks, bool at_once);

#endif
