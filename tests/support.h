/* What the library's tests share: random problems and short checks. */
#ifndef TLNMF_TESTS_SUPPORT_H
#define TLNMF_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "tlnmf/tlnmf.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define assert_ok(ctx, call)                                                              \
    do {                                                                                  \
        tlnmf_error error_ = (call);                                                      \
        if (error_ != TLNMF_OK)                                                           \
            fail_msg("%s: %s (%s)", #call, tlnmf_message(ctx), tlnmf_error_name(error_)); \
    } while (0)

/* |a - b| <= tolerance, absolute; NaN fails. */
#define assert_near(a, b, tolerance)                                                           \
    do {                                                                                       \
        double a_ = (a), b_ = (b), tolerance_ = (tolerance);                                   \
        if (!(fabs(a_ - b_) <= tolerance_))                                                    \
            fail_msg("%s = %.17g, %s = %.17g: differ by %.3g, more than %.3g", #a, a_, #b, b_, \
                     fabs(a_ - b_), tolerance_);                                               \
    } while (0)

/* |a - b| <= tolerance |b|. */
#define assert_close(a, b, tolerance) assert_near(a, b, (tolerance)*fabs(b))

static inline tlnmf_ctx *new_ctx(void)
{
    tlnmf_ctx *ctx;
    assert_int_equal(tlnmf_ctx_create(NULL, &ctx), TLNMF_OK);
    return ctx;
}

static inline double *new_doubles(int64_t count)
{
    double *x = calloc((size_t)(count > 0 ? count : 1), sizeof *x);
    assert_non_null(x);
    return x;
}

static inline double *new_normals(tl_rng *rng, int64_t count)
{
    double *x = new_doubles(count);
    for (int64_t i = 0; i < count; i++)
        x[i] = tl_rng_normal(rng);
    return x;
}

static inline double *new_positives(tl_rng *rng, int64_t count)
{
    double *x = new_doubles(count);
    for (int64_t i = 0; i < count; i++)
        x[i] = fabs(tl_rng_normal(rng)) + 0.01;
    return x;
}

/* A whole number in [low, high]. */
static inline int64_t pick(tl_rng *rng, int64_t low, int64_t high)
{
    return low + (int64_t)(tl_rng_uniform(rng) * (double)(high - low + 1));
}

static inline double largest_difference(int64_t count, const double *a, const double *b)
{
    double worst = 0.0;
    for (int64_t i = 0; i < count; i++)
        worst = fmax(worst, isnan(a[i] - b[i]) ? INFINITY : fabs(a[i] - b[i]));
    return worst;
}

static inline double largest(int64_t count, const double *a)
{
    double worst = 0.0;
    for (int64_t i = 0; i < count; i++)
        worst = fmax(worst, fabs(a[i]));
    return worst;
}

#endif
