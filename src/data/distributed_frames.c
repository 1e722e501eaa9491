/* Data whose frames are distributed over processes: the facts that all processes must know. */
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

/* The frames of all processes before this one. */
static int64_t frames_before(tl_comm *frames_comm, int64_t N)
{
    enum { AT_A_TIME = 64 };
    double before = 0.0;
    for (int first = 0; first < frames_comm->size; first += AT_A_TIME) {
        double each[AT_A_TIME] = {0.0};
        int count = (int)tl_min(AT_A_TIME, frames_comm->size - first),
            here = frames_comm->rank - first;
        if (here >= 0 && here < count)
            each[here] = (double)N;
        tl_comm_add(frames_comm, each, count);
        for (int i = 0; i < count && i < here; i++)
            before += each[i];
    }
    return (int64_t)before;
}

static tlnmf_error join(tlnmf_ctx *ctx, tl_comm *frames_comm, tlnmf_data *data, double *mean)
{
    double N = (double)data->N;
    double x[] = {N, *mean * N, (double)data->M, (double)data->T, (double)data->S};
    double largest = tl_comm_max(frames_comm, *mean);
    data->frames_comm = frames_comm;
    data->first = frames_before(frames_comm, data->N);
    tl_comm_add(frames_comm, x, sizeof x / sizeof *x);
    data->all = (int64_t)x[0];
    data->columns = (int64_t)x[3];
    *mean = x[0] > 0.0 ? x[1] / x[0] : 0.0;
    if (data->all < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "no process has a frame");
    if (x[2] != (double)data->M * frames_comm->size || x[4] != (double)data->S * frames_comm->size)
        return tl_fail(ctx, TLNMF_ERR_SHAPE,
                       "processes have frames of different shapes: M = %lld, "
                       "S = %lld here",
                       (long long)data->M, (long long)data->S);
    return tl_data_check_power(ctx, *mean, largest);
}

tlnmf_error tl_data_join(tlnmf_ctx *ctx, tlnmf_error error, tlnmf_data *data, double *mean)
{
    tl_comm *frames_comm = ctx->frames_comm;
    if (frames_comm == NULL)
        return error;
    TRY(tl_comm_agree(ctx, frames_comm, error));
    return tl_comm_agree(ctx, frames_comm, join(ctx, frames_comm, data, mean));
}
