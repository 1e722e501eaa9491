/* Two random number generators with one interface.
 *
 * TL_STREAM_NUMPY is numpy.random.RandomState (MT19937 with init_genrand seeding), draw for draw,
 * so that the reference's data and starts can be reproduced. TL_STREAM_OWN is xoshiro256++
 * (Blackman and Vigna), seeded by SplitMix64 from (seed, stream): fast, with 32 bytes of state.
 * Every start has its own independent stream, so a multi-start search gives the same result at any
 * number of threads. */
#ifndef TLNMF_BASE_RNG_H
#define TLNMF_BASE_RNG_H

#include "base/settings.h"

typedef struct tl_rng {
    tl_stream kind;
    uint32_t mt[624];
    int mt_next;
    uint64_t xo[4];
    bool has_spare; /* the polar method makes Gaussians in pairs */
    double spare;
} tl_rng;

/* `stream` selects one of many independent streams of a seed. numpy has only one and ignores it. */
void tl_rng_seed(tl_rng *rng, tl_stream kind, uint64_t seed, uint64_t stream);
double tl_rng_uniform(tl_rng *rng); /* [0, 1), 53 bits */
double tl_rng_normal(tl_rng *rng);
/* The mean of `count` squared Gaussians, count >= 1. */
double tl_rng_mean_square(tl_rng *rng, int64_t count);

/* Number i of the SplitMix64 sequence of seed 0: a hash of i. */
uint64_t tl_splitmix64(uint64_t i);

/* RandomState takes 32-bit seeds only. */
tlnmf_error tl_check_numpy_seed(tlnmf_ctx *ctx, uint64_t seed);

#endif
