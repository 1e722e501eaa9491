/* Distances between transforms: between their rows, or between the spaces that rows span. */
#include "linalg/linalg.h"
#include "tlnmf/paper.h"

#include <math.h>

static tlnmf_error check_finite(tlnmf_ctx *ctx, int64_t count, const double *x)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return tl_fail(ctx, TLNMF_ERR_DATA, "a transform has an entry that is not finite");
    return TLNMF_OK;
}

/* (20) The best order of rows maximises the sum of |<phi_i, phibar_j>|, since |phi - s phibar|^2 =
 * 2 - 2 s <phi, phibar> for rows of norm 1. */
static double distance_of(int64_t M, const double *Phi, const double *Phibar, const double *product,
                          const int64_t *match)
{
    double sum = 0.0;
    for (int64_t i = 0; i < M; i++) {
        double sign = product[i * M + match[i]] > 0.0 ? 1.0 : -1.0; /* product is -Phi Phibar' */
        for (int64_t m = 0; m < M; m++) {
            double d = Phi[i * M + m] + sign * Phibar[match[i] * M + m];
            sum += d * d;
        }
    }
    return sqrt(sum);
}

tlnmf_error tlnmf_transform_distance(tlnmf_ctx *ctx, int64_t M, const double *Phi,
                                     const double *Phibar, double *distance)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, Phi);
    TL_NEED(ctx, Phibar);
    TL_NEED(ctx, distance);
    if (M < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "M = %lld must be at least 1", (long long)M);
    TRY(tl_check_size(ctx, "M", M));
    TRY(check_finite(ctx, M * M, Phi));
    TRY(check_finite(ctx, M * M, Phibar));
    double *product, *cost;
    int64_t *match;
    void *block;
    tl_slot table[] = {TL_SLOT(product, M * M), TL_SLOT(cost, M * M), TL_SLOT(match, M)};
    TRY(TL_ARENA(ctx, "a distance", table, &block));
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, M, M, -1.0, Phi, M, Phibar, M, 0.0, product, M);
    for (int64_t i = 0; i < M * M; i++)
        cost[i] = -fabs(product[i]);
    tlnmf_error error = tl_assign(ctx, M, cost, match);
    if (error == TLNMF_OK)
        *distance = distance_of(M, Phi, Phibar, product, match);
    tl_release(&ctx->hooks, block);
    return error;
}

/* The rows whose spans are compared. */
typedef struct spans {
    int64_t count, M;
    const double *A, *B; /* count x M, orthonormal rows */
    double *D, *small;   /* scratch: count x M, count x count */
} spans;

/* (21) The squared sines are the eigenvalues of D D', D = B - B A' A. This is accurate for small
 * angles, whose cosines all round to 1. */
static tlnmf_error angles_of(tlnmf_ctx *ctx, const spans *s, double *angles)
{
    int64_t count = s->count, M = s->M;
    const double *A = s->A, *B = s->B;
    double *D = s->D, *small = s->small;
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, count, count, M, 1.0, B, M, A, M, 0.0, small, count);
    tl_copy(D, B, count * M);
    tl_gemm(TL_PLAIN, TL_PLAIN, count, M, count, -1.0, small, count, A, M, 1.0, D, M);
    tl_gram(count, M, 1.0, D, small);
    tl_eigen eigen;
    TRY(tl_eigen_create(ctx, count, &eigen));
    tlnmf_error error = tl_eigen_solve(ctx, &eigen, small);
    for (int64_t i = 0; error == TLNMF_OK && i < count; i++)
        angles[i] = asin(sqrt(fmin(1.0, fmax(0.0, eigen.lambda[i]))));
    tl_eigen_free(&eigen);
    return error;
}

tlnmf_error tlnmf_principal_angles(tlnmf_ctx *ctx, int64_t count, int64_t M, const double *A,
                                   const double *B, double *angles)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, A);
    TL_NEED(ctx, B);
    TL_NEED(ctx, angles);
    if (count < 1 || count > M)
        return tl_fail(ctx, TLNMF_ERR_SHAPE,
                       "%lld rows of length %lld: the number of rows must be 1 to %lld",
                       (long long)count, (long long)M, (long long)M);
    TRY(tl_check_size(ctx, "M", M));
    TRY(check_finite(ctx, count * M, A));
    TRY(check_finite(ctx, count * M, B));
    double *D, *small;
    void *block;
    tl_slot table[] = {TL_SLOT(D, count * M), TL_SLOT(small, count * count)};
    TRY(TL_ARENA(ctx, "principal angles", table, &block));
    tlnmf_error error = angles_of(ctx, &(spans){count, M, A, B, D, small}, angles);
    tl_release(&ctx->hooks, block);
    return error;
}
