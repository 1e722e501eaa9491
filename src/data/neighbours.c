/* Neighbouring frames as realisations of one another: the local averages that the paper's
 * conclusion proposes for S = 1. Also the array that data were made of, parts of which a comparison
 * holds out. */
#include "base/record.h"
#include "data/data.h"
#include "linalg/linalg.h"

#include <math.h>

/* (15), (16): column n of realisation s B + i is frame first + i of realisation s. Near the ends
 * there are fewer than B frames: the missing ones are 0, and the others are scaled up, so that the
 * result is their mean. */
static void lay_out(const double *Y, const int64_t shape[3], tlnmf_neighbours kind, int64_t B,
                    int64_t frames, double *out)
{
    int64_t S = shape[0], M = shape[1], N = shape[2];
    for (int64_t n = 0; n < frames; n++) {
        int64_t from = kind == TLNMF_NEIGHBOURS_BLOCKS ? n * B : n - (B - 1) / 2;
        int64_t first = tl_max(from, 0), end = tl_min(from + B, N);
        double weight = sqrt((double)B / (double)(end - first));
        for (int64_t s = 0; s < S; s++)
            for (int64_t i = first; i < end; i++)
                for (int64_t m = 0; m < M; m++)
                    out[((s * B + i - first) * M + m) * frames + n] =
                        weight * Y[(s * M + m) * N + i];
    }
}

tlnmf_error tlnmf_data_from_neighbours(tlnmf_ctx *ctx, const double *Y, const int64_t shape[3],
                                       tlnmf_neighbours kind, int64_t B, tlnmf_data **out)
{
    const char *name = kind == TLNMF_NEIGHBOURS_BLOCKS ? "block" : "moving";
    TL_NEED_OUT(ctx, out);
    TL_NEED(ctx, Y);
    TL_NEED(ctx, shape);
    int64_t S = shape[0], M = shape[1], N = shape[2];
    if (S < 1 || M < 1 || N < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "S = %lld, M = %lld, N = %lld: all must be at least 1",
                       (long long)S, (long long)M, (long long)N);
    if (kind != TLNMF_NEIGHBOURS_BLOCKS && kind != TLNMF_NEIGHBOURS_MOVING)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "kind = %d is neither TLNMF_NEIGHBOURS_BLOCKS nor TLNMF_NEIGHBOURS_MOVING",
                       (int)kind);
    if (B < 1 || B > N)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "%s = %lld is outside [1, %lld], the number of frames", name, (long long)B,
                       (long long)N);
    if (kind == TLNMF_NEIGHBOURS_MOVING && ctx->frames_comm != NULL)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "moving cannot be used with distributed frames: "
                       "neighbours may be on another process");
    int64_t frames = kind == TLNMF_NEIGHBOURS_BLOCKS ? (N - 1) / B + 1 : N;
    size_t count;
    TRY(tl_check_size(ctx, "S", S));
    TRY(tl_check_size(ctx, "the neighbours", B));
    TRY(tl_check_size(ctx, "S times the neighbours", S * B));
    TRY(tl_count_elements(ctx, "Y", 3, shape, &count));
    TRY(tl_count_elements(ctx, "the neighbouring frames", 3, (int64_t[]){S * B, M, frames},
                          &count));
    double *laid;
    void *block;
    tl_slot table[] = {TL_SLOT(laid, (int64_t)count)};
    TRY(TL_ARENA(ctx, "the neighbouring frames", table, &block));
    lay_out(Y, shape, kind, B, frames, laid);
    tlnmf_error error = tlnmf_data_from_realisations(ctx, laid, (int64_t[]){S * B, M, frames}, out);
    tl_release(&ctx->hooks, block);
    if (error == TLNMF_OK)
        error = tl_data_note_mean(ctx, *out, Y, shape);
    if (error == TLNMF_OK) {
        (*out)->overlapping = kind == TLNMF_NEIGHBOURS_MOVING && B > 1;
    } else {
        tlnmf_data_free(*out);
        *out = NULL;
    }
    return error;
}

/* Whether data of S realisations and N frames can come from an array of this shape: unchanged, or
 * by one of the two kinds of neighbours. */
static bool fits(const tlnmf_data *data, const int64_t shape[3])
{
    int64_t S = data->S / data->dof;
    if (shape[0] < 1 || shape[1] != data->M || S < 1 || S % shape[0] != 0)
        return false;
    int64_t B = S / shape[0];
    return data->N == shape[2] || (shape[2] > 0 && data->N == (shape[2] - 1) / B + 1);
}

tlnmf_error tlnmf_data_set_realisations(tlnmf_ctx *ctx, tlnmf_data *data, const double *Y,
                                        const int64_t shape[3])
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    if (Y != NULL)
        TL_NEED(ctx, shape);
    if (Y != NULL && !fits(data, shape))
        return tl_fail(ctx, TLNMF_ERR_SHAPE,
                       "%lld realisations of %lld frames of length %lld cannot come from an array "
                       "(%lld, %lld, %lld)",
                       (long long)data->S, (long long)data->N, (long long)data->M,
                       (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    data->Y = Y;
    for (int i = 0; Y != NULL && i < 3; i++)
        data->made_of[i] = shape[i];
    return TLNMF_OK;
}
