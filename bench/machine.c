/* Rates of this machine: products, and reading memory. */
#include "machine.h"
#include "linalg/linalg.h"
#include "model/kernels.h"

#include <math.h>
#include <stdlib.h>

enum { REPEATS = 7 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(int count, double *x)
{
    qsort(x, (size_t)count, sizeof *x, by_value);
    return x[count / 2];
}

/* `count` arrays of `length` in one block; NULL without memory. */
static double *filled(tlnmf_ctx *ctx, int64_t count, int64_t length)
{
    double *x = tl_allocate(&ctx->hooks, (size_t)(count * length) * sizeof *x);
    for (int64_t i = 0; x != NULL && i < count * length; i++)
        x[i] = 1e-3 * (double)(i % 1000);
    return x;
}

double machine_gemm(tlnmf_ctx *ctx, int64_t n)
{
    double times[REPEATS], *A = filled(ctx, 3, n * n);
    if (A == NULL)
        return NAN;
    double *B = A + n * n, *C = B + n * n;
    for (int i = -1; i < REPEATS; i++) { /* the first one warms up */
        double since = tl_cpu_seconds();
        tl_gemm(TL_PLAIN, TL_PLAIN, n, n, n, 1.0, A, n, B, n, 0.0, C, n);
        times[i < 0 ? 0 : i] = tl_cpu_seconds() - since;
    }
    tl_release(&ctx->hooks, A);
    return 2.0 * (double)n * (double)n * (double)n / median(REPEATS, times);
}

double machine_read(tlnmf_ctx *ctx)
{
    const int64_t count = 16 << 20;
    double times[REPEATS], sum = 0.0, *x = filled(ctx, 2, count);
    if (x == NULL)
        return NAN;
    for (int i = 0; i < REPEATS; i++) {
        double since = tl_cpu_seconds();
        sum += tl_sum_product(count, x, 0.0, x + count);
        times[i] = tl_cpu_seconds() - since;
    }
    tl_release(&ctx->hooks, x);
    return sum > 0.0 ? 16.0 * (double)count / median(REPEATS, times) : NAN;
}
