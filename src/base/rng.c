/* MT19937 as numpy seeds it, xoshiro256++, and Gaussians from either. */
#include "base/rng.h"

#include <math.h>

/* ---- MT19937 (Matsumoto and Nishimura), as numpy's RandomState seeds and reads it ------------ */

static void mt_seed(tl_rng *rng, uint32_t seed)
{
    rng->mt[0] = seed;
    for (uint32_t i = 1; i < 624; i++)
        rng->mt[i] = 1812433253u * (rng->mt[i - 1] ^ (rng->mt[i - 1] >> 30)) + i;
    rng->mt_next = 624;
}

static void mt_refill(uint32_t *mt)
{
    for (int i = 0; i < 624; i++) {
        uint32_t y = (mt[i] & 0x80000000u) | (mt[(i + 1) % 624] & 0x7fffffffu);
        mt[i] = mt[(i + 397) % 624] ^ (y >> 1) ^ ((y & 1u) ? 0x9908b0dfu : 0u);
    }
}

static uint32_t mt_next(tl_rng *rng)
{
    if (rng->mt_next == 624) {
        mt_refill(rng->mt);
        rng->mt_next = 0;
    }
    uint32_t y = rng->mt[rng->mt_next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* ---- xoshiro256++ ---------------------------------------------------------------------------- */

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t tl_splitmix64(uint64_t i)
{
    uint64_t state = i * 0x9e3779b97f4a7c15u;
    return splitmix64(&state);
}

static void xo_seed(tl_rng *rng, uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;
    uint64_t mixed = splitmix64(&state);
    state = mixed ^ (stream * 0xd1342543de82ef95u + 1);
    for (int i = 0; i < 4; i++)
        rng->xo[i] = splitmix64(&state);
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static uint64_t xo_next(uint64_t *s)
{
    uint64_t result = rotl(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

/* ---- both generators ------------------------------------------------------------------------- */

void tl_rng_seed(tl_rng *rng, tl_stream kind, uint64_t seed, uint64_t stream)
{
    *rng = (tl_rng){.kind = kind};
    if (kind == TL_STREAM_NUMPY)
        mt_seed(rng, (uint32_t)seed);
    else
        xo_seed(rng, seed, stream);
}

double tl_rng_uniform(tl_rng *rng)
{
    if (rng->kind == TL_STREAM_NUMPY) {
        uint32_t a = mt_next(rng) >> 5, b = mt_next(rng) >> 6;
        return (a * 67108864.0 + b) / 9007199254740992.0;
    }
    return (double)(xo_next(rng->xo) >> 11) * 0x1p-53;
}

/* Marsaglia's polar method. The second of a pair is kept for the next call, as RandomState.randn
 * does. */
double tl_rng_normal(tl_rng *rng)
{
    if (rng->has_spare) {
        rng->has_spare = false;
        return rng->spare;
    }
    double x1, x2, r2;
    do {
        x1 = 2.0 * tl_rng_uniform(rng) - 1.0;
        x2 = 2.0 * tl_rng_uniform(rng) - 1.0;
        r2 = x1 * x1 + x2 * x2;
    } while (r2 >= 1.0 || r2 == 0.0);
    double f = sqrt(-2.0 * log(r2) / r2);
    rng->spare = f * x1;
    rng->has_spare = true;
    return f * x2;
}

/* 2 / count times a gamma variate of shape count / 2, by the method of Marsaglia and Tsang (2000),
 * which needs a shape of at least 1. */
double tl_rng_mean_square(tl_rng *rng, int64_t count)
{
    double shape = 0.5 * (double)count, d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d), z, v, u;
    if (count == 1) {
        z = tl_rng_normal(rng);
        return z * z;
    }
    do {
        do {
            z = tl_rng_normal(rng);
            v = 1.0 + c * z;
        } while (v <= 0.0);
        v = v * v * v;
        u = tl_rng_uniform(rng);
    } while (log(u) >= 0.5 * z * z + d * (1.0 - v + log(v)));
    return d * v / shape;
}

tlnmf_error tl_check_numpy_seed(tlnmf_ctx *ctx, uint64_t seed)
{
    if (seed > UINT32_MAX)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "seed = %llu: numpy's stream takes seeds up to %u",
                       (unsigned long long)seed, UINT32_MAX);
    return TLNMF_OK;
}
