/* Fixed orthogonal transforms. Angles are first reduced as integers, so that every entry is
 * accurate to an ulp at any size. */
#include "base/record.h"
#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

static const double TWO_PI = 6.283185307179586476925287;

/* cos(2 pi i / n) for any i >= 0. */
static double cos_of_turn(int64_t i, int64_t n)
{
    return cos(TWO_PI * (double)(i % n) / (double)n);
}

static double sin_of_turn(int64_t i, int64_t n)
{
    return sin(TWO_PI * (double)(i % n) / (double)n);
}

static void fill_dct(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    int64_t M = e->M;
    for (int64_t k = first; k < last; k++) {
        double scale = sqrt((k == 0 ? 1.0 : 2.0) / (double)M);
        for (int64_t m = 0; m < M; m++)
            e->out[k * M + m] = scale * cos_of_turn((2 * m + 1) * k, 4 * M);
    }
}

void tl_dct(int64_t M, double *Phi)
{
    enum { ENTRIES = 4096 }; /* a piece, some 50 us */
    tl_share(M, tl_max(1, ENTRIES / M), fill_dct, &(tl_elements){.out = Phi, .M = M});
}

void tl_dft(int64_t M, double *Phi)
{
    for (int64_t row = 0; row < M; row++) {
        int64_t k = (row + 1) / 2;
        bool alone = k == 0 || 2 * k == M; /* the sine is zero: no second row */
        bool sine = row % 2 == 0 && !alone;
        double scale = sqrt((alone ? 1.0 : 2.0) / (double)M);
        for (int64_t m = 0; m < M; m++)
            Phi[row * M + m] = scale * (sine ? sin_of_turn(m * k, M) : cos_of_turn(m * k, M));
    }
}

void tl_identity(int64_t M, double *Phi)
{
    memset(Phi, 0, (size_t)(M * M) * sizeof *Phi);
    for (int64_t m = 0; m < M; m++)
        Phi[m * M + m] = 1.0;
}

tlnmf_error tl_fixed_transform(tlnmf_ctx *ctx, tl_transform kind, int64_t M, double *Phi)
{
    if (M < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "M = %lld must be at least 1", (long long)M);
    size_t count;
    TRY(tl_count_elements(ctx, "Phi", 2, (int64_t[]){M, M}, &count));
    switch (kind) {
    case TL_TRANSFORM_DCT:
        tl_dct(M, Phi);
        return TLNMF_OK;
    case TL_TRANSFORM_DFT:
        tl_dft(M, Phi);
        return TLNMF_OK;
    case TL_TRANSFORM_IDENTITY:
        tl_identity(M, Phi);
        return TLNMF_OK;
    default:
        return tl_fail(ctx, TLNMF_ERR_OPTION, "transform %d is not a fixed matrix", (int)kind);
    }
}

tlnmf_error tlnmf_transform_matrix(tlnmf_ctx *ctx, const char *kind, int64_t M, double *Phi)
{
    static const char *const names[] = {"dct", "dft", "identity"};
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, kind);
    TL_NEED(ctx, Phi);
    for (int i = 0; i < 3; i++)
        if (strcmp(kind, names[i]) == 0)
            return tl_fixed_transform(ctx, (tl_transform)(TL_TRANSFORM_DCT + i), M, Phi);
    return tl_fail(ctx, TLNMF_ERR_OPTION, "transform = %s is not one of dct|dft|identity", kind);
}
