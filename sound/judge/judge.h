/* The quality of separators and of their stems, estimated without ground truth. */
#ifndef TLNMF_SOUND_JUDGE_H
#define TLNMF_SOUND_JUDGE_H

#include "engine/updates.h"
#include "sound/model/blend.h"

/* ---- remixes: mixtures of passages of the recording, whose parts are known (remix.c) --------- */

enum { TL_REMIXES = 4 }; /* at most; docs/internals/separation.md */

/* Pairs of passages of the recording in which no source sounds in both: their sum is a mixture
 * whose two parts are known. */
typedef struct tl_remix {
    int64_t count, channels, longest; /* longest: length of a pair */
    struct {
        uint64_t sources[2]; /* the sources that sound in each passage, one bit each */
        int64_t start[2];    /* where they are in the recording */
        int64_t length;      /* samples */
        int64_t trim;        /* samples in which a source outside the passage may still ring */
        double *x[2];        /* length x channels: the passages */
    } pair[TL_REMIXES];
    tl_updater *updater; /* set by the user: where H is fitted; NULL: here */
    tl_hooks hooks;
    void *memory;
} tl_remix;

/* There are no pairs (count = 0) if the schedule is blind or no two passages fit. Passages have
 * `shortest` to `longest` samples. */
tlnmf_error tl_remix_create(tlnmf_ctx *ctx, const tl_sound *sound, const tl_schedule *schedule,
                            int64_t shortest, int64_t longest, tl_remix *remix);
void tl_remix_free(tl_remix *remix);
/* The mean SI-SDR in dB of the parts as the separator recovers them; NaN without pairs. */
tlnmf_error tl_remix_judge(tlnmf_ctx *ctx, const tl_remix *remix, const tl_separator *separator,
                           double *score);

/* ---- the verdict on a blend (verdict.c) ------------------------------------------------------ */

/* What a verdict listens to. */
typedef struct tl_listener {
    tlnmf_ctx *ctx;
    const tl_sound *sound;
    const tl_schedule *schedule;
    double rate;         /* samples per second */
    tl_updater *updater; /* where H is fitted; NULL: here */
} tl_listener;

/* Separates the recording with each member: agreement, share and overlap. */
tlnmf_error tl_verdict_listen(const tl_listener *listener, const tl_separator *const *member,
                              int64_t members, tl_verdict *verdict);
/* For a run that was stopped: everything is unknown. */
void tl_verdict_unknown(int64_t sources, tl_verdict *verdict);
/* Withholds what to expect of these sources, one bit each. */
void tl_verdict_withhold(int64_t sources, uint64_t withheld, tl_verdict *verdict);
/* The SI-SDR to expect, from these and the score on remixes. It is unknown without remixes (NaN),
 * because candidates can agree and all be wrong, and if there is only one candidate to agree. */
void tl_verdict_expect(int64_t sources, double score, tl_verdict *verdict);
/* The same for a blind separation, from the misfit of an NMF with one component per source. */
void tl_verdict_expect_blind(int64_t sources, double misfit, tl_verdict *verdict);

#endif
