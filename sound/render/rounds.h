/* Sound to stems, round by round. */
#ifndef TLNMF_SOUND_ROUNDS_H
#define TLNMF_SOUND_ROUNDS_H

#include "engine/updates.h"
#include "sound/model/blend.h"
#include "sound/render/envelope.h"

/* How to separate a sound. Outputs are numbered: the sources, or all components with
 * `components`; then the residual if there is one. They sum to the sound. */
typedef struct tl_separate_run {
    const tl_span *spans; /* NULL: every source may sound at any time */
    int64_t span_count, release;
    double eps;         /* 0: that of the first member */
    int32_t notes;      /* 1: this is the recording that was learnt from, whose gates are known */
    int32_t components; /* 1: one output per component */
    int32_t residual;   /* 1: a separate output for the part that no source explains */
    int64_t threads;
    tl_updater *updater; /* where H is fitted; NULL: here */
    /* Receives each output once, from its first frame to its last; NULL if only H is wanted. */
    int (*write)(int64_t output, int64_t first, int64_t count, const double *x, void *user);
    void *user;
    const tlnmf_record *named; /* its `names` are those of the outputs; NULL: they have none */
    double *unexplained;       /* receives the part of the power above the model; or NULL */
    int64_t *written;          /* receives the samples of each output that were written; or NULL */
    double *H;                 /* K x N, N = tl_frames_count(..); NULL if not wanted */
    tl_envelope_request envelope;
} tl_separate_run;

/* Separates sound, block by block. Stops early if a poll says so. TLNMF_ERR_CALLBACK if reading
 * or writing fails. */
tlnmf_error tl_blend_run(tlnmf_ctx *ctx, const tl_blend *blend, const tl_sound *sound,
                         const tl_separate_run *run);

#endif
