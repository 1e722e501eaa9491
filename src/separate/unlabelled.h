/* Stretches of a recording that no label covers. */
#ifndef TLNMF_SEPARATE_UNLABELLED_H
#define TLNMF_SEPARATE_UNLABELLED_H

#include "separate/separate.h"

typedef struct tl_unlabelled {
    tl_span *spans; /* the labels, and one for every source where there is sound but no label */
    int64_t count;
    double samples, energy; /* of what has no label and is not quiet: how long; part of all */
    tl_hooks hooks;
    void *memory;
} tl_unlabelled;

tlnmf_error tl_unlabelled_find(tlnmf_ctx *ctx, const tl_sound *sound, const tl_schedule *schedule,
                               double rate, tl_unlabelled *found);
void tl_unlabelled_free(tl_unlabelled *found);
/* Says to the log how much that is; `silent`: it is taken for silence. */
void tl_unlabelled_warn(tlnmf_ctx *ctx, const tl_unlabelled *found, double rate, bool silent);

#endif
