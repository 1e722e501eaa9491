/* Numbers from sound: Fourier transforms, scores of a separation. The program's room, as io is; it
 * knows no files. Signals are x[frame * channels + channel]. */
#ifndef TLNMF_AUDIO_AUDIO_H
#define TLNMF_AUDIO_AUDIO_H

#include "tlnmf/tlnmf.h"

#include <stdbool.h>

/* ---- scores (bss.c) -------------------------------------------------------------------------- */

typedef enum audio_score_state {
    AUDIO_SCORED = 0,
    AUDIO_SILENT_REFERENCE = 1, /* nothing to compare with: the figures are NaN */
    AUDIO_SILENT_ESTIMATE = 2,  /* nothing to score: the figures are NaN */
} audio_score_state;

/* In dB, docs/spec.md (S1)-(S4); infinite where a part is absent (sir of a single source). */
typedef struct audio_score {
    audio_score_state state;
    double sdr, sir, sar, si_sdr;
} audio_score;

/* `sources` references and as many estimates, all of the same length and channels. */
typedef struct audio_separation {
    int64_t sources, frames;
    int channels;
    const double *const *reference, *const *estimate;
} audio_separation;

enum { AUDIO_FILTER = 512, AUDIO_FILTER_MAX = 4096 };

/* SDR, SIR, SAR of BSS Eval 3 with distortion filters of `filter` taps, and SI-SDR.
 * match[r] is the estimate of reference r: r itself, or with `permute` that of the assignment with
 * the largest mean SIR (SDR, if only one reference is not silent). scores[r * (channels + 1) + c]
 * is that of channel c, and for c = channels that of all channels together: energies are summed
 * before ratios are taken. */
tlnmf_error audio_evaluate(tlnmf_ctx *ctx, const audio_separation *separation, int64_t filter,
                           bool permute, int64_t *match, audio_score *scores);

/* The mean of the scored ones among rows 0, stride, 2 stride, ..; NaN if there is none. */
audio_score audio_mean_score(int64_t count, int64_t stride, const audio_score *scores);

/* column[row]: the assignment of n rows to n columns with the largest sum of score[row * n +
 * column], by the Hungarian algorithm. Infinities count as +-10^4, NaN as -10^4. */
tlnmf_error audio_assign(tlnmf_ctx *ctx, int64_t n, const double *score, int64_t *column);

#endif
