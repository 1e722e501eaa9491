/* One rotation (14): its two sums, its angle, and the rotation of the rows. For src/engine's
 * sweeps only. */
#ifndef TLNMF_ENGINE_ROTATION_H
#define TLNMF_ENGINE_ROTATION_H

#include "base/base.h"

#include <math.h>

/* The two loops in both precisions: p and D of (14) for one pair, where x and u are rows of X and
 * of the weights; then the rotation of rows of X and of Phi. */
/* NOLINTBEGIN(bugprone-macro-parentheses): `real` is a type */
#define TL_ROTATION_LOOPS(real, precision)                                                         \
    static inline __attribute__((always_inline)) void pair_sums_##precision(                       \
        int64_t length, const real *restrict xa, const real *restrict xb, const real *restrict ua, \
        const real *restrict ub, double *p_out, double *D_out)                                     \
    {                                                                                              \
        real p = 0, D = 0;                                                                         \
        _Pragma("omp simd reduction(+ : p, D)") for (int64_t t = 0; t < length; t++)               \
        {                                                                                          \
            real d = ua[t] - ub[t];                                                                \
            p += d * (xa[t] - xb[t]) * (xa[t] + xb[t]);                                            \
            D += d * xa[t] * xb[t];                                                                \
        }                                                                                          \
        *p_out = (double)p;                                                                        \
        *D_out = (double)D;                                                                        \
    }                                                                                              \
    static inline __attribute__((always_inline)) void turn_##precision(                            \
        int64_t length, real c, real s, real *restrict a, real *restrict b)                        \
    {                                                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < length; i++)                                   \
        {                                                                                          \
            real x = a[i], y = b[i];                                                               \
            a[i] = c * x + s * y;                                                                  \
            b[i] = c * y - s * x;                                                                  \
        }                                                                                          \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
TL_ROTATION_LOOPS(double, double)
TL_ROTATION_LOOPS(float, single)

/* With x_a' = c x_a + s x_b, x_b' = c x_b - s x_a the sum is const + (p/2) cos 2t + D sin 2t, which
 * is least at cos 2t = -p/2r, sin 2t = -D/r. The angle is halved from the larger of c and s, which
 * loses no digits. Returns by how much the sum falls. If that is mere rounding, c = 1 and s = 0. */
static inline __attribute__((always_inline)) double tl_rotation(double p, double D, double least,
                                                                double *c, double *s)
{
    double r = sqrt(0.25 * p * p + D * D);
    double gain = 0.5 * p + r;
    bool turns = gain > least && gain > 1e-16 * r;
    double cos2 = turns ? -0.5 * p / r : 1.0, sin2 = turns ? -D / r : 0.0;
    double large = sqrt(0.5 * (1.0 + fabs(cos2))), small = 0.5 * fabs(sin2) / large;
    *c = cos2 >= 0.0 ? large : small;
    *s = copysign(cos2 >= 0.0 ? small : large, sin2);
    return turns ? gain : 0.0;
}

#endif
