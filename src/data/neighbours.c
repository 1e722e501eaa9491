/* Neighbouring frames as realisations of one another: the local averages that the paper's
 * conclusion proposes for S = 1. */
#include "data/data.h"
#include "linalg/linalg.h"

#include <math.h>

/* Frames first .. end-1 of the data make up one frame of the average. */
typedef struct span {
    int64_t first, end;
} span;

static span frames_of(tlnmf_neighbours kind, int64_t B, int64_t N, int64_t n)
{
    int64_t first = kind == TLNMF_NEIGHBOURS_BLOCKS ? n * B : n - (B - 1) / 2;
    return (span){tl_max(first, 0), tl_min(first + B, N)};
}

/* (15), (16): column n of realisation s B + i is frame first + i of realisation s. Near the ends
 * there are fewer than B frames: the missing ones are 0, and the others are scaled up, so that the
 * result is their mean. */
static void lay_out(const double *Y, const int64_t shape[3], tlnmf_neighbours kind, int64_t B,
                    int64_t frames, double *out)
{
    int64_t S = shape[0], M = shape[1], N = shape[2];
    for (int64_t n = 0; n < frames; n++) {
        span at = frames_of(kind, B, N, n);
        double weight = sqrt((double)B / (double)(at.end - at.first));
        for (int64_t s = 0; s < S; s++)
            for (int64_t i = at.first; i < at.end; i++)
                for (int64_t m = 0; m < M; m++)
                    out[((s * B + i - at.first) * M + m) * frames + n] =
                        weight * Y[(s * M + m) * N + i];
    }
}

tlnmf_error tlnmf_data_from_neighbours(tlnmf_ctx *ctx, const double *Y, const int64_t shape[3],
                                       tlnmf_neighbours kind, int64_t B, tlnmf_data **out)
{
    const char *name = kind == TLNMF_NEIGHBOURS_BLOCKS ? "block" : "moving";
    TL_NEED(ctx, out);
    *out = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, Y);
    TL_NEED(ctx, shape);
    int64_t S = shape[0], M = shape[1], N = shape[2];
    if (S < 1 || M < 1 || N < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "S = %lld, M = %lld, N = %lld: at least 1 each",
                       (long long)S, (long long)M, (long long)N);
    if (kind != TLNMF_NEIGHBOURS_BLOCKS && kind != TLNMF_NEIGHBOURS_MOVING)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "there is no kind %d of neighbours", (int)kind);
    if (B < 1 || B > N)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "%s = %lld is outside [1, %lld], the frames there are", name, (long long)B,
                       (long long)N);
    if (kind == TLNMF_NEIGHBOURS_MOVING && ctx->frames != NULL)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "moving: the frames are shared out over machines, "
                       "and neighbours lie on others");
    TRY(tl_check_size(ctx, "S", S));
    TRY(tl_check_size(ctx, "S times the neighbours", S * B));
    int64_t frames = kind == TLNMF_NEIGHBOURS_BLOCKS ? (N + B - 1) / B : N, count;
    if (__builtin_mul_overflow(S * B, M, &count) || __builtin_mul_overflow(count, frames, &count))
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE, "%lld x %lld x %lld numbers would not fit",
                       (long long)S * (long long)B, (long long)M, (long long)frames);
    double *laid;
    void *block;
    tl_slot table[] = {TL_SLOT(laid, count)};
    TRY(TL_ARENA(ctx, "the neighbouring frames", table, &block));
    lay_out(Y, shape, kind, B, frames, laid);
    tlnmf_error error = tlnmf_data_from_realisations(ctx, laid, (int64_t[]){S * B, M, frames}, out);
    tl_release(&ctx->hooks, block);
    return error;
}
