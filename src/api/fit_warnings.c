/* Warnings about data and settings that defeat the model, and the default floor. */
#include "api/api.h"

#include <math.h>

/* Whether Phi is learnt. With a fixed Phi the data may be amplitudes, which have a mean. */
static bool learns(const tl_settings *opt)
{
    return opt->task == TL_TASK_JD || opt->method != TL_METHOD_NMF;
}

double tl_default_floor(const tlnmf_data *data, const tl_settings *opt)
{
    return opt->eps_rel * (learns(opt) ? tl_data_centred_power(data) : data->mean_power);
}

/* (C = L + I) assumes frames of mean 0: an offset becomes the strongest atom. */
static void warn_of_offset(const tlnmf_ctx *ctx, const tlnmf_data *data, tl_caveats *caveats)
{
    double offset = tl_data_offset(data);
    if (tl_data_drift(data) > 0.0)
        tl_caveats_warn(
            ctx, caveats,
            "the mean frames of the realisations have %.3g %% of the power: if these are offsets "
            "or drifts, subtract from each entry of each realisation its mean over the frames",
            100.0 * offset);
    else if (offset > 0.0)
        tl_caveats_warn(
            ctx, caveats,
            "the mean frame has %.3g %% of the power: if it is an offset, subtract from each entry "
            "of the frames its mean over all frames and realisations",
            100.0 * offset);
}

/* Frames are the columns of tlnmf_fit and the rows of the estimators: the words fit both. */
static void warn_of_constant_rows(const tlnmf_ctx *ctx, const tlnmf_data *data, tl_caveats *caveats)
{
    long long count = data->constant_rows, first = data->first_constant;
    if (count == 1)
        tl_caveats_warn(ctx, caveats, "entry %lld of the frames is constant: omit it", first);
    else if (count > 1)
        tl_caveats_warn(ctx, caveats,
                        "%lld entries of the frames are constant, the first is entry %lld: omit "
                        "them",
                        count, first);
}

/* The default floor is a share of the mean power, which one artefact or one bad channel can raise
 * above the power of all the rest: it vanishes, and the fit looks perfect. Whitening removes the
 * scales of rows. */
static void warn_of_outlier(const tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                            tl_caveats *caveats)
{
    const double most = 0.9;   /* docs/measurements/constants.md */
    const double usual = 0.01; /* the default of eps-rel */
    const int64_t least_rows = 4, least_frames = 10;
    int64_t where = 0;
    if (opt->eps > 0.0 || opt->eps_rel < usual || tl_data_offset(data) > 0.0)
        return;
    double share = data->all >= least_frames ? tl_data_strongest_frame(data, &where) : 0.0;
    if (share > most) {
        tl_caveats_warn(ctx, caveats,
                        "frame %lld has %.3g %% of the power, so the default eps may hide the "
                        "others: if it is an artefact, omit it or mark it as missing; otherwise "
                        "set eps",
                        (long long)where, 100.0 * share);
        return;
    }
    share = data->M >= least_rows && !opt->whiten ? tl_data_strongest_row(data, &where) : 0.0;
    if (share > most)
        tl_caveats_warn(ctx, caveats,
                        "entry %lld of the frames has %.3g %% of the power, so the default eps may "
                        "hide the others: omit it if it is a bad channel; otherwise scale the "
                        "entries to similar power, or set eps",
                        (long long)where, 100.0 * share);
}

/* Phi has M (M - 1) / 2 free parameters. The paper's notes have M = 200 and N = 151. */
static void warn_of_shape(const tlnmf_ctx *ctx, const tlnmf_data *data, tl_caveats *caveats)
{
    const int64_t most = 2;
    long long M = data->M, N = data->all;
    if (data->S > 0 && N > 1 && M > most * N)
        tl_caveats_warn(ctx, caveats,
                        "frames of length %lld, but only %lld frames: check the order of the axes",
                        M, N);
}

void tl_warn_of_data(const tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                     tl_caveats *caveats)
{
    int64_t least = tl_min(data->M, data->all);
    if (learns(opt)) {
        warn_of_offset(ctx, data, caveats);
        warn_of_constant_rows(ctx, data, caveats);
        warn_of_outlier(ctx, data, opt, caveats);
        warn_of_shape(ctx, data, caveats);
    }
    if (opt->task == TL_TASK_FIT && opt->k > least && (opt->k - 1) / data->M < data->all)
        tl_caveats_warn(ctx, caveats, "k is above min(M, N) = %lld: W H can fit any V exactly",
                        (long long)least);
}

/* V in double precision has errors of 2.2e-16 of a frame's norm, which must be small compared with
 * sqrt(eps), as in check_precision() of fit.c. There is no higher precision: this is a warning. */
static void warn_of_noise(const tlnmf_ctx *ctx, const tlnmf_data *data, double eps,
                          tl_caveats *caveats)
{
    const double most = 1e-3;
    double longest = tl_data_longest(data), blur = 2.2e-16 * longest / sqrt(eps);
    if (!(blur < most))
        tl_caveats_warn(
            ctx, caveats,
            "C is rounding noise: 2.2e-16 x %.3g (the longest frame) / sqrt(eps = %.3g) is %.2g, "
            "not below %g: use a larger eps",
            longest, eps, blur, most);
}

void tl_warn_of_numbers(const tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                        tl_caveats *caveats)
{
    if (data->all == 1)
        tl_caveats_warn(ctx, caveats,
                        "one frame only: W H can always fit it, nothing is learnt from it");
    if (data->M == 1)
        tl_caveats_warn(ctx, caveats, "frames of length 1: the transform can only change a sign");
    warn_of_noise(ctx, data, opt->eps > 0.0 ? opt->eps : tl_default_floor(data, opt), caveats);
}

void tl_warn_of_result(const tlnmf_ctx *ctx, const tl_info *info, tl_caveats *caveats)
{
    if (info->hidden > TL_HIDDEN_MOST)
        tl_caveats_warn(
            ctx, caveats,
            "eps = %.3g hides the data: entries of V below it have %.3g %% of the power; use a "
            "smaller eps, unless eps is the power of the noise",
            info->eps, fmin(100.0 * info->hidden, 100.0));
}
