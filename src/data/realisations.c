/* What data were made of: an array of the caller's, which a comparison keeps part of aside. */
#include "data/data.h"

/* Whether data of S realisations and N frames can come from an array of this shape: as it is, with
 * the B frames around each frame, or with every B frames as realisations of one. */
static bool fits(const tlnmf_data *data, const int64_t shape[3])
{
    if (shape[0] < 1 || shape[1] != data->M || data->S < 1 || data->S % shape[0] != 0)
        return false;
    int64_t B = data->S / shape[0];
    return data->N == shape[2] || data->N == (shape[2] + B - 1) / B;
}

tlnmf_error tlnmf_data_set_realisations(tlnmf_ctx *ctx, tlnmf_data *data, const double *Y,
                                        const int64_t shape[3])
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    TL_NEED(ctx, shape);
    data->Y = NULL;
    if (Y == NULL)
        return TLNMF_OK;
    if (!fits(data, shape))
        return tl_fail(ctx, TLNMF_ERR_SHAPE,
                       "%lld realisations of %lld frames of length %lld were not made of an array "
                       "(%lld, %lld, %lld)",
                       (long long)data->S, (long long)data->N, (long long)data->M,
                       (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    data->Y = Y;
    for (int i = 0; i < 3; i++)
        data->made_of[i] = shape[i];
    return TLNMF_OK;
}
