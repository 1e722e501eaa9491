/* Multiplicative updates by matrix products, for dictionaries. */
#ifndef TLNMF_SOUND_FACTORS_H
#define TLNMF_SOUND_FACTORS_H

#include "base/monitor.h"
#include "engine/updates.h"
#include "linalg/linalg.h"

/* The multiplicative updates (7)-(9) by matrix products, for W with many columns of which some
 * stay. Frames in which H is zero keep their zeros. */
typedef struct tl_factors {
    int64_t rows, N, K; /* of the current V; at most the capacity of the buffers */
    double eps;
    double *U;               /* rows x 2 N: (V + eps) U^2 and U; or rows x N: 1 / (W H + eps) */
    double *sums;            /* 2 K x N, or 2 rows x K: numerators, each above its denominators */
    double *W_free, *H_free; /* the columns of W that are updated, and their rows of H */
    tl_updater *updater;     /* computes instead; NULL: the cpu does */
} tl_factors;

enum { TL_FACTORS_SLOTS = 4 };
/* For K columns, of which at most `free` are updated at a time. */
void tl_factors_slots(tl_factors *f, int64_t rows, int64_t N, int64_t K, int64_t free,
                      tl_slot slots[TL_FACTORS_SLOTS]);
/* U at W, H, rows x N. */
void tl_factors_weigh(const tl_factors *f, const double *W, const double *H);
/* A run of updates, of the sizes and with the floor of `f`. A poll of the context's
 * monitor may end it. */
tlnmf_error tl_factors_run(tlnmf_ctx *ctx, const tl_factors *f, const tl_updates *u);

#endif
