/* Basin hopping: kick a minimum hard, descend again, keep what is lower. For small problems, whose
 * descents cost milliseconds and whose minima are many. */
#ifndef TLNMF_SEARCH_HOP_H
#define TLNMF_SEARCH_HOP_H

#include "search/shelf.h"
#include "solve/solver.h"

/* Whether descents cost next to nothing. */
bool tl_is_small(const tlnmf_data *data, int64_t K);

/* How many hops the settings ask for: what was given, else a few where the problem is small. */
int64_t tl_hop_count(const tl_settings *opt, const tlnmf_data *data, int64_t K);

/* From the minimum that the engine stands at, on C; the shelf has one place, for the best so far.
 * The kicks depend on seed and start alone. */
void tl_hop_search(int64_t hops, tl_shelf *best_point, const tl_solver *solver, tl_engine *e,
                   tl_run *run, uint64_t seed);

#endif
