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
 * target. Of images, (S5): the reference itself, P_r e - r and e - r. */
typedef struct bss_energies {
    double target, projection, interference, artifacts, rest;
    double image, spatial, distortion;
} bss_energies;

/* What is projected. A source has `group` signals: 1, or with images one a channel, and P_r
 * projects on all of them. */
typedef struct bss_problem {
    int64_t sources, group, frames, filter;
    const bss_signal *reference, *estimate; /* sources x group */
} bss_problem;

/* Adds the energies of signal c of each source to energies[(c * sources + e) * sources + r]. */
tlnmf_error bss_project(tlnmf_ctx *ctx, const bss_problem *problem, bss_energies *energies);

#endif
