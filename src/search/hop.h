/* Basin hopping: perturbs a minimum strongly, descends again and keeps the lower minimum. It is
 * used on small problems, which have many minima and whose descents take milliseconds. */
#ifndef TLNMF_SEARCH_HOP_H
#define TLNMF_SEARCH_HOP_H

#include "search/shelf.h"
#include "solve/solver.h"

/* Whether the problem is so small that descents take milliseconds; and whether it is so small that
 * many starts take a few seconds. */
bool tl_is_small(const tlnmf_data *data, int64_t K);
bool tl_is_tiny(const tlnmf_data *data, const tl_settings *opt);

/* The number of hops: the option if it is set, else a few for small problems. */
int64_t tl_hop_count(const tl_settings *opt, const tlnmf_data *data, int64_t K);

/* The arguments of a search by hops. The perturbations depend on seed and start number only. */
typedef struct tl_hops {
    int64_t count;
    tl_shelf *best; /* one place, for the best point so far */
    uint64_t seed;
    const tlnmf_data *data;
    double *H; /* K x all frames, if frames are distributed; else NULL */
} tl_hops;

/* Lowers C by hops from the engine's point, a minimum. */
void tl_hop_search(const tl_hops *hops, const tl_solver *solver, tl_engine *e, tl_run *run);

#endif
