/* Data whose frames are shared out over machines: what all machines must know of them. */
#include "data/data.h"

#include <float.h>
#include <math.h>

tlnmf_error tl_data_check_power(tlnmf_ctx *ctx, double mean, double largest)
{
    if (largest == 0.0)
        return tl_fail(ctx, TLNMF_ERR_DATA, "the data are all zeros: there is nothing to learn");
    if (!(isfinite(mean) && mean >= DBL_MIN))
        return tl_fail(
            ctx, TLNMF_ERR_DATA,
            "the power of the data does not fit a double (largest entry %g): rescale them",
            largest);
    return TLNMF_OK;
}

/* The frames of all machines before this one. */
static int64_t frames_before(tl_sums *sums, int64_t N)
{
    enum { AT_A_TIME = 64 };
    double before = 0.0;
    for (int first = 0; first < sums->size; first += AT_A_TIME) {
        double each[AT_A_TIME] = {0.0};
        int count = (int)tl_min(AT_A_TIME, sums->size - first), here = sums->rank - first;
        if (here >= 0 && here < count)
            each[here] = (double)N;
        tl_sums_call(sums, each, count);
        for (int i = 0; i < count && i < here; i++)
            before += each[i];
    }
    return (int64_t)before;
}

static tlnmf_error join(tlnmf_ctx *ctx, tl_sums *sums, tlnmf_data *data, double *mean)
{
    double N = (double)data->N;
    double x[] = {N, *mean * N, (double)data->M, (double)data->T, (double)data->S};
    double largest = tl_sums_max(sums, *mean);
    data->sums = sums;
    data->first = frames_before(sums, data->N);
    tl_sums_add(sums, x, sizeof x / sizeof *x);
    data->all = (int64_t)x[0];
    data->columns = (int64_t)x[3];
    *mean = x[0] > 0.0 ? x[1] / x[0] : 0.0;
    if (data->all < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "no machine has a frame");
    if (x[2] != (double)data->M * sums->size || x[4] != (double)data->S * sums->size)
        return tl_fail(ctx, TLNMF_ERR_SHAPE,
                       "machines have frames of different shapes: M = %lld, "
                       "S = %lld here",
                       (long long)data->M, (long long)data->S);
    return tl_data_check_power(ctx, *mean, largest);
}

tlnmf_error tl_data_join(tlnmf_ctx *ctx, tlnmf_error error, tlnmf_data *data, double *mean)
{
    tl_sums *sums = ctx->frames;
    if (sums == NULL)
        return error;
    TRY(tl_sums_agree(ctx, sums, error));
    return tl_sums_agree(ctx, sums, join(ctx, sums, data, mean));
}
