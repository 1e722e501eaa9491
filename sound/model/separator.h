/* A separator: the learnt transform, W and the owners of its columns. */
#ifndef TLNMF_SOUND_SEPARATOR_H
#define TLNMF_SOUND_SEPARATOR_H

#include "sound/signal/samples.h"

enum { TL_PER_SOURCE_MAX = 16 };

typedef struct tl_separator_info {
    tl_frames frames;
    int64_t sources, per_source;
    int32_t method;        /* TL, JD or NMF */
    int32_t basis;         /* never AUTO */
    double eps;            /* the floor */
    double mean_power;     /* of the windowed frames that it was learnt from */
    double score;          /* SI-SDR in dB on remixed parts of the recording; NaN: there are none */
    double C;              /* of the frames learnt from */
    int64_t learn_frames;  /* number of frames learnt from */
    int64_t band, remixes; /* rows learnt; pairs of parts behind the score */
    int64_t candidates;    /* number of candidates compared */
    int64_t J;             /* iterations of learning; 0: the transform is fixed */
    int32_t outcome;
} tl_separator_info;

/* A learnt model. info.outcome is one of three:
 *   TLNMF_OUTCOME_ITERATIONS   all candidates were tried;
 *   TLNMF_OUTCOME_CANCELLED    it is the best of the candidates tried before a stop;
 *   TLNMF_OUTCOME_NOT_RUN      it was read from a model. */
typedef struct tl_separator {
    tl_separator_info info;
    int64_t M, K;
    int64_t rows;   /* of V and W: M, or M / 2 + 1 without Phi */
    double *Phi;    /* M x M; NULL: the DFT, with one row of V for cosine and sine */
    double *W;      /* rows x K */
    int64_t *owner; /* K: the source of each column of W */
    int64_t *gate;  /* K: the gate of a column that only serves certain notes; -1: none */
    tl_span *open;  /* when gates are open; `source` is the number of the gate */
    int64_t opens;
    tl_hooks hooks;
    void *memory;
} tl_separator;

typedef struct tl_separator_shape {
    int64_t M, K, opens;
    bool spectral; /* no Phi */
} tl_separator_shape;

/* With Phi and W to be filled in. Columns have no gate and belong to source 0. */
tlnmf_error tl_separator_new(tlnmf_ctx *ctx, const tl_separator_shape *shape, tl_separator **out);
/* The numbers of sources and of components per source, which is at least `least`. */
tlnmf_error tl_separator_check_sources(tlnmf_ctx *ctx, const tl_separator_info *info, int least);
void tl_separator_free(tl_separator *separator);

#endif
