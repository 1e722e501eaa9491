/* Scores of a separation: SDR, SIR, SAR of BSS Eval 3, SI-SDR, and which estimate belongs to which
 * reference. Reads no files. Signals are x[sample * channels + channel]. */
#ifndef TLNMF_SOUND_SCORE_H
#define TLNMF_SOUND_SCORE_H

#include "tlnmf/tlnmf.h"

#include <stdbool.h>

/* ---- BSS Eval (bss.c) ------------------------------------------------------------------------ */

typedef enum tl_score_state {
    TL_SCORED = 0,
    TL_SILENT_REFERENCE = 1, /* nothing to compare with: the figures are NaN */
    TL_SILENT_ESTIMATE = 2,  /* nothing to score: the figures are NaN */
} tl_score_state;

/* In dB, docs/spec.md (S1)-(S5); infinite where a part is absent (sir of a single source). */
typedef struct tl_score {
    tl_score_state state;
    double sdr, sir, sar, si_sdr;
    double isr; /* of images; else NaN */
} tl_score;

/* `sources` references and as many estimates, all of the same length and channels. */
typedef struct tl_score_signals {
    int64_t sources, frames; /* frames: samples of each channel */
    int channels;
    const double *const *reference, *const *estimate;
} tl_score_signals;

/* How to score. */
typedef struct tl_score_rules {
    int64_t filter; /* taps of the distortion filters */
    bool permute, images;
    bool is_part; /* one of many evaluations of a call, which sets the progress itself */
} tl_score_rules;

/* SDR, SIR, SAR of BSS Eval 3, and SI-SDR; with `images` SDR, ISR, SIR and SAR of its images:
 * every channel is projected on all channels of the references, and level and channel matter.
 * match[r] is the estimate of reference r: r itself, or with `permute` that of the assignment
 * with the largest mean SIR (SDR, if only one reference is not silent). scores[r * (channels +
 * 1) + c] is that of channel c, and for c = channels that of all channels together: energies are
 * summed before ratios are taken. */
tlnmf_error tl_score_evaluate(tlnmf_ctx *ctx, const tl_score_signals *separation,
                              const tl_score_rules *rules, int64_t *match, tl_score *scores);

/* The mean of a figure (0: SDR, then SIR, SAR, SI-SDR, ISR) over the scored ones among rows 0,
 * stride, 2 stride, ..; NaN if none is scored. */
double tl_score_mean(int64_t count, int64_t stride, const tl_score *scores, int figure);

/* ---- SI-SDR (si_sdr.c) ----------------------------------------------------------------------- */

/* A reference and its estimate. Scales are powers of two that keep squares in the range of a
 * double; SI-SDR does not depend on them. */
typedef struct tl_si_sdr_pair {
    const double *reference, *estimate;
    double reference_scale, estimate_scale;
    int64_t samples, channels;
    int64_t first, last; /* the channels to compare are first .. last-1 */
} tl_si_sdr_pair;

/* (S4) in dB, for reports. The error is summed sample by sample, which is exact at any level.
 * Infinite if there is no error; neither signal may be silent. */
double tl_si_sdr(const tl_si_sdr_pair *pair);

/* (S4) in dB, for comparing candidates: one pass, limited to the range below. A silent estimate
 * gets the lowest value; with a silent reference every estimate gets the highest. */
#define TL_SI_SDR_LEAST (-30.0)
#define TL_SI_SDR_MOST  60.0
double tl_si_sdr_bounded(const tl_si_sdr_pair *pair);

/* 10 log10(a / b). Infinite for b = 0, even if a = 0: no error, as in mir_eval. */
double tl_decibels(double a, double b);

#endif
