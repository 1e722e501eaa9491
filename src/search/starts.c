/* Starts: checks of given arrays, random draws, normalisation. */
#include "search/starts.h"

#include <math.h>
#include <string.h>

static const double ORTHOGONAL_ALREADY = 1e-12;

int64_t tl_starts_most(const tl_settings *opt)
{
    return opt->starts > 0 ? opt->starts : TL_AUTO_MOST;
}

static tl_transform transform_of(const tl_settings *opt, bool keeps_transform)
{
    if (opt->transform != TL_TRANSFORM_AUTO)
        return (tl_transform)opt->transform;
    return keeps_transform ? TL_TRANSFORM_DCT : TL_TRANSFORM_RANDOM;
}

bool tl_starts_are_same(const tl_settings *opt, int64_t K, bool keeps_transform,
                        const tl_start *given_or_null)
{
    const tl_start given = given_or_null != NULL ? *given_or_null : (tl_start){0};
    bool draws_Phi = given.Phi == NULL && transform_of(opt, keeps_transform) == TL_TRANSFORM_RANDOM;
    return !draws_Phi && (K == 0 || (given.W != NULL && given.H != NULL));
}

tlnmf_error tl_check_Phi(tlnmf_ctx *ctx, const char *name, int64_t M, const double *Phi,
                         bool *rounded)
{
    const double most = 1e-5, printed = 1e-8; /* with nine digits */
    double off;
    for (int64_t i = 0; i < M * M; i++)
        if (!isfinite(Phi[i]))
            return tl_fail(ctx, TLNMF_ERR_DATA, "%s is not finite at row %lld, column %lld", name,
                           (long long)(i / M), (long long)(i % M));
    TRY(tl_check_orthogonal_to(ctx, name, M, Phi, most, &off));
    bool is_fold = ctx->monitor != NULL && ctx->monitor->folds > 0; /* the fit after it warns */
    *rounded = off > printed;
    if (*rounded && !is_fold)
        tl_log(ctx, TLNMF_LOG_WARNING,
               "%s is orthogonal only to %.2g: the nearest orthogonal matrix is used", name, off);
    return TLNMF_OK;
}

static tlnmf_error check_factor(tlnmf_ctx *ctx, const char *name, int64_t rows, int64_t columns,
                                const double *x)
{
    for (int64_t i = 0; i < rows * columns; i++)
        if (!(x[i] >= 0.0 && isfinite(x[i])))
            return tl_fail(
                ctx, TLNMF_ERR_DATA,
                "the given %s must be finite and not negative: row %lld, column %lld is %g", name,
                (long long)(i / columns), (long long)(i % columns), x[i]);
    return TLNMF_OK;
}

static double column_sum(int64_t M, int64_t K, const double *W, int64_t k)
{
    double sum = 0.0;
    for (int64_t m = 0; m < M; m++)
        sum += W[m * K + k];
    return sum;
}

/* Neither W H of a given start nor the column sums of W may overflow. */
static tlnmf_error check_range(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t K,
                               const tl_start *given)
{
    const double most = 1e300;
    for (int64_t k = 0; k < K; k++) {
        double sum = column_sum(data->M, K, given->W, k), largest = 0.0;
        for (int64_t n = 0; given->H != NULL && n < data->N; n++)
            largest = fmax(largest, given->H[k * data->N + n]);
        if (!(sum <= most && sum * largest * (double)K <= most))
            return tl_fail(ctx, TLNMF_ERR_DATA,
                           "component %lld of the given start is too large: column of W with sum "
                           "%.3g, row of H up to %.3g",
                           (long long)k, sum, largest);
    }
    return TLNMF_OK;
}

static tlnmf_error check_given(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t K,
                               const tl_settings *opt, const tl_start *given)
{
    bool rounded; /* fill_Phi() orthogonalises it */
    if (given->Phi != NULL)
        TRY(tl_check_Phi(ctx, "the given Phi", data->M, given->Phi, &rounded));
    if (K > 0 && given->W != NULL) {
        TRY(check_factor(ctx, "W", data->M, K, given->W));
        for (int64_t k = 0; k < K; k++)
            if (!(column_sum(data->M, K, given->W, k) > 0.0))
                return tl_fail(ctx, TLNMF_ERR_DATA, "column %lld of the given W is all zeros",
                               (long long)k);
    }
    if (K > 0 && given->H != NULL)
        TRY(check_factor(ctx, "H", K, data->N, given->H));
    if (K > 0 && given->W != NULL)
        TRY(check_range(ctx, data, K, given));
    bool all = given->Phi != NULL && (K == 0 || (given->W != NULL && given->H != NULL));
    if (all && opt->starts > 1)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "starts = %lld, but the given start leaves nothing to draw at random",
                       (long long)opt->starts);
    return TLNMF_OK;
}

static void draw(tl_rng *rng, int64_t count, double *x)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = tl_rng_normal(rng);
}

/* Every process draws H of all frames and keeps its own. */
static void draw_H(tl_rng *rng, const tl_starts *starts, const tl_point *point)
{
    for (int64_t k = 0; k < point->K; k++)
        for (int64_t n = 0; n < starts->all; n++) {
            double x = tl_rng_normal(rng);
            int64_t here = n - starts->first;
            if (here >= 0 && here < point->N)
                point->H[k * point->N + here] = x;
        }
}

/* numpy has one stream for all starts. Runs through it once and stores its state at each start. */
static tlnmf_error note_streams(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t K,
                                tl_starts *starts)
{
    tl_slot table[] = {TL_SLOT(starts->streams, tl_starts_most(starts->opt))};
    enum { BATCH = 4096 };
    TRY(TL_ARENA(ctx, "the starts' random streams", table, &starts->block));
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_NUMPY, starts->opt->seed, 0);
    int64_t draws = data->M * data->M + data->M * K + K * data->all;
    for (int64_t p = 0; p < tl_starts_most(starts->opt); p++) {
        starts->streams[p] = rng;
        for (int64_t i = 0; i < draws && !tl_poll(ctx->monitor); i += BATCH)
            for (int64_t j = i; j < tl_min(i + BATCH, draws); j++)
                tl_rng_normal(&rng);
    }
    return TLNMF_OK;
}

tlnmf_error tl_starts_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                             int64_t K, bool keeps_transform, const tl_start *given,
                             tl_starts *starts)
{
    *starts = (tl_starts){.opt = opt,
                          .mean_power = data->mean_power,
                          .first = data->first,
                          .all = data->all,
                          .hooks = ctx->hooks};
    if (given != NULL) {
        starts->given = *given;
        TRY(check_given(ctx, data, K, opt, given));
    }
    starts->transform = transform_of(opt, keeps_transform);
    if (opt->stream == TL_STREAM_NUMPY)
        return note_streams(ctx, data, K, starts);
    return TLNMF_OK;
}

void tl_starts_free(tl_starts *starts)
{
    tl_release(&starts->hooks, starts->block);
}

bool tl_starts_draw_Phi(const tl_starts *starts)
{
    return starts->given.Phi == NULL && starts->transform == TL_TRANSFORM_RANDOM;
}

static tlnmf_error orthogonalise(tlnmf_ctx *ctx, const tl_point *point)
{
    if (point->orthogonalise != NULL && point->orthogonalise(point))
        return TLNMF_OK;
    return tl_polar_with(ctx, point->skew, point->lent, point->Phi);
}

/* On entry Phi holds Gaussian draws, which only TL_TRANSFORM_RANDOM uses. */
static tlnmf_error fill_Phi(tlnmf_ctx *ctx, const tl_starts *starts, const tl_point *point)
{
    int64_t M = point->M;
    if (starts->given.Phi != NULL) {
        memcpy(point->Phi, starts->given.Phi, (size_t)(M * M) * sizeof(double));
        return tl_orthogonality(M, point->Phi, point->Q) <= ORTHOGONAL_ALREADY
                   ? TLNMF_OK
                   : orthogonalise(ctx, point);
    }
    if (starts->transform != TL_TRANSFORM_RANDOM)
        return tl_fixed_transform(ctx, starts->transform, M, point->Phi);
    /* If the call must end before Phi is drawn, its result is the DCT, which takes no time. */
    point->skew->monitor = ctx->monitor;
    tlnmf_error error = orthogonalise(ctx, point);
    point->skew->monitor = NULL;
    return error == TLNMF_ERR_CALLBACK ? tl_fixed_transform(ctx, TL_TRANSFORM_DCT, M, point->Phi)
                                       : error;
}

static void shift_magnitudes(int64_t count, double scale, double *x)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = scale * (fabs(x[i]) + 1.0);
}

/* The reference's H ignores the units of the data. With our own stream H is scaled so that W H has
 * the power of the data; with numpy's stream it stays as in the reference. */
static double scale_of_H(const tl_starts *starts, const tl_point *point)
{
    const double mean_draw = 1.7978845608028654; /* of |randn| + 1 */
    if (starts->opt->stream == TL_STREAM_NUMPY)
        return 1.0;
    return starts->mean_power * (double)point->M / ((double)point->K * mean_draw);
}

/* Scales the columns of W to sum 1. A given H is rescaled to keep W H. A drawn H stays as it is, as
 * in the reference. */
static void normalise_start(const tl_point *point, bool rescale_H)
{
    for (int64_t k = 0; k < point->K; k++) {
        double c = column_sum(point->M, point->K, point->W, k);
        for (int64_t m = 0; m < point->M; m++)
            point->W[m * point->K + k] /= c;
        for (int64_t n = 0; rescale_H && n < point->N; n++)
            point->H[k * point->N + n] *= c;
    }
}

tlnmf_error tl_starts_fill(tlnmf_ctx *ctx, const tl_starts *starts, int64_t p,
                           const tl_point *point)
{
    int64_t M = point->M, N = point->N, K = point->K;
    tl_rng rng;
    if (starts->streams != NULL)
        rng = starts->streams[p];
    else
        tl_rng_seed(&rng, TL_STREAM_OWN, starts->opt->seed, (uint64_t)p);
    /* All three are drawn even if one is given, so that the others do not depend on it. */
    draw(&rng, M * M, point->Phi);
    draw(&rng, M * K, point->W);
    draw_H(&rng, starts, point);
    shift_magnitudes(M * K, 1.0, point->W);
    shift_magnitudes(K * N, K > 0 ? scale_of_H(starts, point) : 1.0, point->H);
    TRY(fill_Phi(ctx, starts, point));
    if (K == 0)
        return TLNMF_OK;
    if (starts->given.W != NULL)
        memcpy(point->W, starts->given.W, (size_t)(M * K) * sizeof(double));
    if (starts->given.H != NULL)
        memcpy(point->H, starts->given.H, (size_t)(K * N) * sizeof(double));
    normalise_start(point, starts->given.W != NULL && starts->given.H != NULL);
    return TLNMF_OK;
}

tlnmf_error tl_draw_start(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                          int64_t p, double *Phi, double *W, double *H)
{
    TRY(tlnmf_settings_check(ctx, settings));
    if (p < 0 || p >= tl_starts_most(settings))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "start %lld of %lld does not exist", (long long)p,
                       (long long)tl_starts_most(settings));
    enum { OWN = 3 };
    int64_t M = data->M, K = settings->k;
    tl_skew skew;
    tl_point point = {.M = M, .N = data->N, .K = K, .Phi = Phi, .W = W, .H = H, .skew = &skew};
    tl_slot table[OWN + TL_SKEW_SLOTS] = {TL_SLOT(point.Q, M * M), TL_SLOT(point.lent.a, M * M),
                                          TL_SLOT(point.lent.b, M * M)};
    tl_skew_slots(&skew, M, table + OWN);
    tl_starts starts;
    void *block;
    TRY(TL_ARENA(ctx, "a start", table, &block));
    tlnmf_error error = tl_starts_create(ctx, data, settings, K, false, NULL, &starts);
    if (error == TLNMF_OK)
        error = tl_starts_fill(ctx, &starts, p, &point);
    tl_starts_free(&starts);
    tl_release(&ctx->hooks, block);
    return error;
}
