/* Several separators over one recording. */
#ifndef TLNMF_SOUND_PASSES_H
#define TLNMF_SOUND_PASSES_H

#include "sound/render/frame_block.h"

/* Frames of the longest hop in a round. */
enum { TL_ROUND = 32 };

/* One separator on its way through the recording. */
typedef struct tl_pass {
    const tl_separator *separator;
    tl_framing framing;
    tl_frame_block block;
    int64_t N, n;         /* number of frames; frames done */
    int64_t done;         /* samples before this are complete */
    double *sums;         /* (outputs - 1) x capacity x channels: outputs from `base` on */
    tl_span_index open;   /* when gates are open */
    bool *may_sound;      /* K x block capacity */
    uint64_t *barred;     /* rows x block capacity, or NULL: no label has frequencies */
    double *H;            /* K x N, or NULL: where H goes */
    double power, excess; /* sums over the frames so far: of V, and of V above W H + eps */
    tlnmf_ctx ctx;        /* with a message of its own */
    tlnmf_error error;
} tl_pass;

/* Separates a sound with several separators, in rounds of samples. */
typedef struct tl_passes {
    tlnmf_ctx *ctx;
    const tl_sound *sound;
    tl_schedule schedule;
    bool notes;          /* gates open as the separator says; else columns with gates are silent */
    int64_t first, last; /* the samples first .. last-1 are separated */
    int64_t count, outputs, capacity, round;
    int32_t components, residual;
    tl_updater *updater; /* where H is fitted; NULL: here */
    bool silent;         /* only H is wanted */
    int64_t base;        /* the first sample in the buffers */
    int64_t ready;       /* samples before this are complete in all passes */
    int64_t target;      /* ready at the end of the round */
    double *in;          /* capacity x channels: the sound from `base` on */
    double *next;        /* the same from `target` on, which is read while the passes work */
    bool fetched;        /* `next` is what the next round begins with */
    tlnmf_error failed;  /* of reading ahead */
    /* Other work of the caller's thread during a round, or NULL. If it returns false, no sound is
     * read ahead. */
    bool (*beside)(void *arg);
    void *beside_arg;
    tl_pass *pass;
    tl_hooks hooks;
    void *memory, *buffers;
} tl_passes;

/* The caller sets ctx, sound, schedule, notes, first, last, components, residual, updater and
 * silent; create fills in the rest. */
tlnmf_error tl_passes_create(tl_passes *passes, const tl_separator *const *separator, int64_t count,
                             double eps_scale);
void tl_passes_free(tl_passes *passes);
/* Works until more samples are ready: base .. ready-1, in `in` and in each pass's sums. False at
 * the end. */
tlnmf_error tl_passes_advance(tl_passes *passes, bool *more);
/* The part of the power so far that lies above the model, mean of the passes. */
double tl_passes_unexplained(const tl_passes *passes);
/* Output `output` of a pass, all but the last one, from sample `base` on. */
double *tl_pass_output(const tl_passes *passes, const tl_pass *pass, int64_t output);

#endif
