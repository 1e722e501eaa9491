/* tlnmf_likelihood: scores new data with a model, all frames of the data over threads. */
#include "api/marginal.h"
#include "base/monitor.h"
#include "base/record.h"
#include "linalg/linalg.h"
#include "model/kernels.h"

#include <math.h>

/* One call. */
typedef struct frame_scores {
    tlnmf_ctx *ctx;
    const tlnmf_data *data;
    const tl_marginal *marginal;
    const double *V; /* M x N */
    double *scratch; /* for each thread: M numbers and those of a frame */
    int64_t each;    /* their number */
    double *out;
} frame_scores;

static void score_frames(int64_t first, int64_t last, void *arg)
{
    const frame_scores *s = arg;
    const tlnmf_data *data = s->data;
    double *y = s->scratch + tl_thread_index() * s->each;
    for (int64_t n = first; n < last && !tl_poll(s->ctx->monitor); n++) {
        double S = data->present[n] > 0.0 ? data->present[n] : (double)data->S;
        for (int64_t m = 0; m < data->M; m++)
            y[m] = s->V[m * data->N + n] + s->marginal->eps;
        s->out[n] =
            tl_data_is_silent(data, n) ? NAN : tl_marginal_frame(s->marginal, y, S, y + data->M);
    }
}

static tlnmf_error score_all(void *arg)
{
    enum { GRAIN = 4 };
    frame_scores *s = arg;
    void *memory;
    s->each = s->data->M + tl_marginal_scratch(s->marginal);
    tl_slot table[] = {TL_SLOT(s->scratch, s->each * tl_threads_here())};
    TRY(TL_ARENA(s->ctx, "the likelihood of frames", table, &memory));
    tl_share(s->data->N, GRAIN, score_frames, s);
    tl_release(&s->ctx->hooks, memory);
    int why = tl_stopped(s->ctx->monitor);
    return why == 0 ? TLNMF_OK
                    : tl_fail(s->ctx, TLNMF_ERR_CALLBACK, "%s while frames were being scored",
                              why == TLNMF_OUTCOME_TIME ? "max-seconds passed" : "stopped");
}

/* The mean over the frames, by their weights, per entry of V. Weights have a positive sum. */
static tlnmf_error take_mean(tlnmf_ctx *ctx, const tlnmf_data *data, const double *x, double *mean)
{
    double sum = 0.0, weights = 0.0;
    for (int64_t n = 0; n < data->N; n++) {
        double weight = data->weighted ? data->weight[n] : 1.0;
        if (tl_data_is_silent(data, n))
            continue;
        if (!isfinite(x[n]))
            return tl_fail(ctx, TLNMF_ERR_NUMERIC,
                           "the likelihood of frame %lld left the range of double", (long long)n);
        sum += weight * x[n];
        weights += weight;
    }
    *mean = sum / (weights * (double)data->M);
    return TLNMF_OK;
}

tlnmf_error tl_marginal_data(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_model_point *model,
                             int64_t model_frames, const tl_settings *how, double *out,
                             double *mean)
{
    int64_t M = data->M, N = data->N;
    double *X, *V;
    void *memory;
    tl_marginal marginal;
    tl_scope outer;
    tl_slot table[] = {TL_SLOT(X, M * tl_max(data->T, 1)), TL_SLOT(V, M * N)};
    TRY(TL_SCRATCH(ctx, "the coefficients", table, &memory));
    if (data->T > 0)
        tl_gemm(TL_PLAIN, TL_PLAIN, M, data->T, M, 1.0, model->Phi, M, data->R, data->T, 0.0, X,
                data->T);
    tl_power(data, X, V);
    tlnmf_error error = tl_marginal_create(ctx, M, model, model_frames, &marginal);
    if (error == TLNMF_OK) {
        frame_scores s = {.ctx = ctx, .data = data, .marginal = &marginal, .V = V, .out = out};
        tl_monitor_enter(ctx->monitor, how->max_seconds, NULL, &outer);
        error = tl_with_threads(tl_thread_count(how->threads), score_all, &s);
        tl_monitor_leave(ctx->monitor, &outer);
        tl_marginal_free(&marginal);
    }
    tl_release(&ctx->hooks, memory);
    return error == TLNMF_OK ? take_mean(ctx, data, out, mean) : error;
}

/* H of the fit, whose row means are those of the prior. */
static tlnmf_error read_H(tlnmf_ctx *ctx, const tlnmf_record *model, tl_model_point *point,
                          int64_t *frames)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank = 0;
    point->H = tlnmf_record_get_array(model, "H", &rank, shape);
    if (point->H == NULL || rank != 2 || shape[0] != point->K || shape[1] < 1)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT,
                       "the model must contain H with %lld rows: the prior of activations needs it",
                       (long long)point->K);
    if (!tl_is_usable(shape[0] * shape[1], point->H, true))
        return tl_fail(ctx, TLNMF_ERR_DATA, "the model: H must be finite and not negative");
    *frames = shape[1];
    return TLNMF_OK;
}

static tlnmf_error check_data(tlnmf_ctx *ctx, const tlnmf_data *data)
{
    if (data->S < 1)
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "covariances have no likelihood: their number of realisations is not known");
    if (data->mask != NULL || data->frames_comm != NULL)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "the likelihood is not computed for data with a mask or for frames that are "
                       "distributed over processes");
    return TLNMF_OK;
}

tlnmf_error tlnmf_likelihood(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_data *data,
                             const tl_settings *settings, tlnmf_record **likelihood)
{
    const double log_2_pi = 1.8378770664093454836;
    tl_model_point point = {0};
    int64_t frames = 0;
    double *x, *own_Phi, mean = 0.0;
    TL_NEED_OUT(ctx, likelihood);
    TL_NEED(ctx, model);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, TL_TASK_APPLY));
    TRY(tlnmf_settings_check(ctx, settings));
    TRY(check_data(ctx, data));
    TRY(tl_read_point(ctx, data, model, "the model", false, &point));
    TRY(tl_check_range(ctx, data, point.eps));
    TRY(read_H(ctx, model, &point, &frames));
    TRY(tl_check_model(ctx, data->M, &point, &own_Phi));
    tlnmf_error error = tlnmf_record_create(ctx, likelihood);
    if (error == TLNMF_OK)
        error = tl_record_new_array(ctx, *likelihood, "log_likelihood", 1, &data->N, &x);
    if (error == TLNMF_OK)
        error = tl_marginal_data(ctx, data, &point, frames, settings, x, &mean);
    if (error == TLNMF_OK) {
        for (int64_t n = 0; n < data->N; n++)
            x[n] = -0.5 * (x[n] + (double)data->M * log_2_pi);
        error = tlnmf_record_set_real(ctx, *likelihood, "mean_log_likelihood",
                                      -0.5 * (double)data->M * (mean + log_2_pi));
    }
    if (error == TLNMF_OK)
        error = tlnmf_record_set_real(ctx, *likelihood, "eps", point.eps);
    tl_release(&ctx->hooks, own_Phi);
    return tl_record_keep_if(error, likelihood);
}
