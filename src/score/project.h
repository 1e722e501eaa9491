/* The projections behind the scores; bss.c turns their energies into decibels. */
#ifndef TLNMF_SCORE_PROJECT_H
#define TLNMF_SCORE_PROJECT_H

#include "base/base.h"
#include "score/score.h"

/* One channel of a signal: sample t is scale * x[t * stride]. */
typedef struct bss_signal {
    const double *x;
    int64_t stride;
    double scale;
} bss_signal;

static inline double bss_sample(const bss_signal *signal, int64_t t)
{
    return signal->scale * signal->x[t * signal->stride];
}

/* The energies of an estimate for one reference, docs/spec.md (S2): target P_r e, projection on all
 * references P e, interference P e - P_r e, artifacts e - P e, and e - P_r e, all that is not
 * target. */
typedef struct bss_energies {
    double target, projection, interference, artifacts, rest;
} bss_energies;

/* Adds the energies of one channel to energies[e * sources + r]. */
tlnmf_error bss_project(tlnmf_ctx *ctx, int64_t sources, int64_t frames, int64_t filter,
                        const bss_signal *reference, const bss_signal *estimate,
                        bss_energies *energies);

#endif
