/* Fixed draws for integrals over activations: a Sobol sequence, scrambled by hashes, and the
 * inverse of the normal distribution function. No seed, no state: every run on every machine gets
 * the same numbers. */
#include "api/marginal.h"
#include "base/rng.h"

#include <math.h>

enum { DIRECTIONS = 6, SOBOL_DIMENSIONS = 16 }; /* 2^6 = HALF points */

/* Direction numbers of Joe and Kuo (new-joe-kuo-6.21201), the first six of each dimension. */
static const uint8_t directions[SOBOL_DIMENSIONS][DIRECTIONS] = {
    {1, 1, 1, 1, 1, 1},    {1, 3, 5, 15, 17, 51}, {1, 3, 3, 9, 29, 23},  {1, 3, 1, 5, 31, 29},
    {1, 1, 1, 11, 31, 55}, {1, 1, 3, 3, 25, 9},   {1, 3, 5, 13, 11, 37}, {1, 1, 5, 5, 17, 9},
    {1, 1, 5, 5, 5, 53},   {1, 1, 7, 11, 19, 37}, {1, 1, 5, 1, 1, 27},   {1, 1, 1, 3, 11, 43},
    {1, 3, 5, 5, 31, 35},  {1, 3, 3, 9, 7, 49},   {1, 1, 1, 15, 21, 21}, {1, 3, 1, 13, 27, 49},
};

static uint32_t reverse_bits(uint32_t x)
{
    uint32_t out = 0;
    for (int b = 0; b < 32; b++)
        out |= (x >> b & 1u) << (31 - b);
    return out;
}

/* Owen's nested scrambling by a hash (Burley, Practical Hash-based Owen Scrambling, 2020): a digit
 * depends on the higher digits only, so that a net stays a net. */
static uint32_t scramble(uint32_t x, uint32_t seed)
{
    x = reverse_bits(x) + seed;
    x ^= x * 0x6c50b47cu;
    x ^= x * 0xb82f1e52u;
    x ^= x * 0xc7afe638u;
    x ^= x * 0x8d22f6e6u;
    return reverse_bits(x);
}

/* The upper bits of SplitMix64 before its last step, with which docs/measurements was measured. */
static uint32_t seed_of(uint64_t i)
{
    uint32_t high = (uint32_t)(tl_splitmix64(i) >> 32);
    return high ^ (high >> 31);
}

/* Dimensions beyond the table repeat it with the points in another order. */
double tl_sobol(int64_t i, int64_t k)
{
    int64_t group = k / SOBOL_DIMENSIONS;
    uint32_t at = (uint32_t)i, x = 0;
    if (group > 0)
        at = scramble(at << (32 - DIRECTIONS), seed_of((uint64_t)group << 32)) >> (32 - DIRECTIONS);
    for (int b = 0; b < DIRECTIONS; b++)
        if (at >> b & 1u)
            x ^= (uint32_t)directions[k % SOBOL_DIMENSIONS][b] << (31 - b);
    return (scramble(x, seed_of((uint64_t)k)) + 0.5) * 0x1p-32;
}

static double polynomial(const double c[8], double x)
{
    double sum = c[7];
    for (int i = 6; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* Algorithm AS 241, PPND16 (Wichura 1988), without its branch for u < exp(-25). */
double tl_normal_quantile(double u)
{
    static const double a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                                1.9715909503065514427e3, 1.3731693765509461125e4,
                                4.5921953931549871457e4, 6.7265770927008700853e4,
                                3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[8] = {1.0,
                                4.2313330701600911252e1,
                                6.8718700749205790830e2,
                                5.3941960214247511077e3,
                                2.1213794301586595867e4,
                                3.9307895800092710610e4,
                                2.8729085735721942674e4,
                                5.2264952788528545610e3};
    static const double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                5.76949722146069140550e0,  3.64784832476320460504e0,
                                1.27045825245236838258e0,  2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[8] = {1.0,
                                2.05319162663775882187e0,
                                1.67638483018380384940e0,
                                6.89767334985100004550e-1,
                                1.48103976427480074590e-1,
                                1.51986665636164571966e-2,
                                5.47593808499534494600e-4,
                                1.05075007164441684324e-9};
    double q = u - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(a, r) / polynomial(b, r);
    }
    double r = sqrt(-log(q < 0.0 ? u : 1.0 - u)) - 1.6;
    double x = polynomial(c, r) / polynomial(d, r);
    return q < 0.0 ? -x : x;
}
