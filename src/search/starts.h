/* The starts of runs: given arrays, fixed transforms, random draws. */
#ifndef TLNMF_SEARCH_STARTS_H
#define TLNMF_SEARCH_STARTS_H

#include "base/rng.h"
#include "engine/engine.h"
#include "search/result.h"

typedef struct tl_starts {
    const tl_settings *opt;
    tl_start given;
    tl_transform transform; /* never AUTO */
    double mean_power;      /* mean of the squared data */
    int64_t first, all;     /* index of the first frame here; number of all frames */
    tl_rng *streams;        /* numpy: the state of the one stream at each start; else NULL */
    tl_hooks hooks;
    void *block;
} tl_starts;

/* starts = auto: starts run in waves. The search ends after the first wave after which enough
 * starts have found the best minimum. This does not depend on the number of threads and processes.
 */
enum { TL_AUTO_WAVE = 4, TL_AUTO_ENOUGH = 3, TL_AUTO_MOST = 50 };
/* The largest number of random starts. */
int64_t tl_starts_most(const tl_settings *opt);
/* Whether all starts are the same: nothing of them is drawn. */
bool tl_starts_are_same(const tl_settings *opt, int64_t K, bool keeps_transform,
                        const tl_start *given_or_null);

/* Checks that Phi is finite and orthogonal to 1e-5, as it is in single precision. If not to 1e-8,
 * *rounded is set and a warning says that the nearest orthogonal matrix is used, which the caller
 * must do. Messages call Phi `name`. */
tlnmf_error tl_check_Phi(tlnmf_ctx *ctx, const char *name, int64_t M, const double *Phi,
                         bool *rounded);

/* Checks the values of the given arrays; the caller has checked their shapes. */
tlnmf_error tl_starts_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                             int64_t K, bool keeps_transform, const tl_start *given,
                             tl_starts *starts);
void tl_starts_free(tl_starts *starts);

/* Whether each start draws a random Phi. */
bool tl_starts_draw_Phi(const tl_starts *starts);

/* Writes start number p to the point. */
tlnmf_error tl_starts_fill(tlnmf_ctx *ctx, const tl_starts *starts, int64_t p,
                           const tl_point *point);

#endif
