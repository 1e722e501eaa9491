/* Basin hopping: kick a minimum hard, descend again, keep what is lower. For small problems, whose
 * descents cost milliseconds and whose minima are many. */
#ifndef TLNMF_SEARCH_HOP_H
#define TLNMF_SEARCH_HOP_H

#include "base/rng.h"
#include "solve/solver.h"

typedef struct tl_hop {
    int64_t hops;
    double *Phi, *W, *H; /* the best so far */
    tlnmf_hooks hooks;
    void *block;
} tl_hop;

/* Whether descents cost next to nothing. */
bool tl_is_small(const tlnmf_data *data, int64_t K);

/* How many hops the settings ask for: what was given, else a few where the problem is small. */
int64_t tl_hop_count(const tlnmf_settings *opt, const tlnmf_data *data, int64_t K);

tlnmf_error tl_hop_create(tlnmf_ctx *ctx, const tl_model *model, int64_t hops, tl_hop *hop);
void tl_hop_free(tl_hop *hop);

/* From the minimum that the solver stands at, on C. The kicks depend on seed and start alone. */
void tl_hop_search(tl_hop *hop, tl_solver *solver, tl_run *run, uint64_t seed);

#endif
