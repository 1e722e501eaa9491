/* tlnmf_apply: fits H to new data at the Phi and W of a model. */
#include "api/goodness.h"
#include "base/record.h"
#include "engine/device.h"
#include "linalg/linalg.h"
#include "model/kernels.h"
#include "search/starts.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

/* The state of one call. */
typedef struct work {
    tlnmf_ctx *ctx;
    const tlnmf_data *data; /* the data without the columns that the floor hides */
    const tl_settings *settings;
    const tl_model_point *model; /* H is that of the fit if the frames match, else NULL */
    double C;                    /* C of the fit; NaN if it is not known */
    double I_per_entry;          /* of the fit; NaN if it is not known */
    tl_fitted own;               /* the data of the fit */
    tlnmf_record *out;
} work;

void tl_flat_start(const tlnmf_data *data, int64_t K, double eps, double *H)
{
    for (int64_t n = 0; n < data->N; n++) {
        double power = 0.0;
        for (int64_t m = 0; m < data->M; m++)
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                power += data->R[m * data->T + t] * data->R[m * data->T + t];
        /* At V = 0, H = 0 is the minimum; iterations would only come near it. */
        bool zero = power == 0.0 || tl_data_is_silent(data, n);
        for (int64_t k = 0; k < K; k++)
            H[k * data->N + n] = zero ? 0.0 : (power + eps) / (double)K;
    }
}

/* Whether the model was fitted to these data: C at its Phi, W and H then equals the C of the fit up
 * to rounding (1e-11 of the terms of the sum). Leaves H in the engine. */
static bool is_own_data(const work *w, tl_engine *e)
{
    double size = (double)w->data->M * (double)w->data->N;
    if (w->model->H == NULL || !isfinite(w->C))
        return false;
    tl_engine_load(e, w->model->Phi, w->model->W, w->model->H);
    return fabs(tl_engine_values(e, TL_C).C - w->C) <= 1e-11 * (fabs(w->C) + size);
}

/* Fits H in the engine. On the data of the fit it returns the fitted H unchanged, because a search
 * from another start could end in another minimum. */
static bool find_H(const work *w, tl_engine *e, tl_run *run, double *H)
{
    if (is_own_data(w, e)) {
        run->outcome = TLNMF_OUTCOME_CONVERGED;
        return true;
    }
    tl_flat_start(w->data, w->model->K, w->model->eps, H);
    tl_engine_load(e, w->model->Phi, w->model->W, H);
    tl_fast_activations(e, run);
    return false;
}

static tlnmf_error put_values(const work *w, const tl_run *run, tl_values v)
{
    TRY(tlnmf_record_set_real(w->ctx, w->out, "C", v.C));
    TRY(tlnmf_record_set_real(w->ctx, w->out, "L", v.L));
    TRY(tlnmf_record_set_real(w->ctx, w->out, "I", v.I));
    TRY(tlnmf_record_set_real(w->ctx, w->out, "eps", w->model->eps));
    TRY(tlnmf_record_set_integer(w->ctx, w->out, "iterations", run->iterations));
    TRY(tlnmf_record_set_integer(w->ctx, w->out, "outcome_code", run->outcome));
    return tl_record_refer_text(w->ctx, w->out, "outcome", tlnmf_outcome_name(run->outcome));
}

static tlnmf_error put_verdict(const work *w, double I, const tl_goodness *g)
{
    double entries = tl_data_entries(w->data);
    TRY(tlnmf_record_set_real(w->ctx, w->out, "entries", entries));
    TRY(tlnmf_record_set_real(w->ctx, w->out, "I_per_entry", I / entries));
    TRY(tlnmf_record_set_real(w->ctx, w->out, "model_I_per_entry", w->I_per_entry));
    TRY(tlnmf_record_set_real(w->ctx, w->out, "excess", g->excess));
    TRY(tlnmf_record_set_real(w->ctx, w->out, "excess_error", g->error));
    TRY(tlnmf_record_set_real(w->ctx, w->out, "excess_tails",
                              isfinite(g->excess) ? g->tails : NAN));
    TRY(tlnmf_record_set_real(w->ctx, w->out, "excess_random", g->random));
    return tl_record_refer_text(w->ctx, w->out, "fits", g->words);
}

/* Says whether the model fits the data. The data of the fit need no test. */
static tlnmf_error judge(const work *w, const tl_run *run, bool own, const double *H, double I)
{
    tl_goodness g = {NAN, NAN, NAN, 0.0, "about as well as its own data"};
    tl_model_point point = *w->model;
    point.H = H;
    const tl_goodness_task task = {.data = w->data,
                                   .model = &point,
                                   .own = w->own,
                                   .converged = run->outcome == TLNMF_OUTCOME_CONVERGED ||
                                                run->outcome == TLNMF_OUTCOME_STATIONARY ||
                                                run->outcome == TLNMF_OUTCOME_LINE_SEARCH,
                                   .settings = w->settings};
    TRY(tlnmf_record_set_integer(w->ctx, w->out, "own_data", own));
    if (!own)
        TRY(tl_goodness_test(w->ctx, &task, &g));
    return put_verdict(w, I, &g);
}

/* Adds X = Phi R and V to the record, if keep-x and keep-v are set. */
static tlnmf_error put_coefficients(const work *w)
{
    const tlnmf_data *data = w->data;
    int64_t M = data->M, N = data->N, T = data->T;
    double *X = NULL, *V;
    void *block = NULL;
    if (!w->settings->keep_X && !w->settings->keep_V)
        return TLNMF_OK;
    tl_slot table[] = {TL_SLOT(X, w->settings->keep_X ? 0 : M * T)};
    TRY(TL_ARENA(w->ctx, "the coefficients", table, &block));
    tlnmf_error error = TLNMF_OK;
    if (w->settings->keep_X)
        error = tl_record_new_array(w->ctx, w->out, "X", 2, (int64_t[]){M, T}, &X);
    if (error == TLNMF_OK)
        tl_gemm(TL_PLAIN, TL_PLAIN, M, T, M, 1.0, w->model->Phi, M, data->R, T, 0.0, X, T);
    if (error == TLNMF_OK && w->settings->keep_V)
        error = tl_record_new_array(w->ctx, w->out, "V", 2, (int64_t[]){M, N}, &V);
    if (error == TLNMF_OK && w->settings->keep_V)
        tl_power(data, X, V);
    tl_release(&w->ctx->hooks, block);
    return error;
}

/* Fits H on an engine. */
static tlnmf_error run_engine(const work *w, tl_run *run, double *H, tl_values *values, bool *own)
{
    int64_t K = w->model->K;
    tl_engine *e = NULL;
    const tl_model model = {.data = w->data, .K = K, .eps = w->model->eps, .gamma = 1.0};
    const tl_engine_spec spec = {
        .model = &model, .moves = TL_H, .frames_comm = w->data->frames_comm};
    tl_settings opt = *w->settings;
    tlnmf_error error = tl_device_choose(w->ctx, &spec, &opt);
    if (error == TLNMF_OK)
        error = tl_engine_of(&opt)->create(w->ctx, &spec, &e);
    error = tl_comm_agree(w->ctx, spec.frames_comm, error);
    if (error == TLNMF_OK && e != NULL) {
        e->monitor = w->ctx->monitor;
        *own = find_H(w, e, run, H);
        tl_engine_store(e, NULL, NULL, H);
        if (*own) /* the engine keeps sqrt H, and squaring rounds */
            tl_copy(H, w->model->H, K * w->data->N);
        *values = tl_engine_values(e, TL_C | TL_L | TL_I);
        error = tl_engine_error(w->ctx, e, "fitting H");
    }
    if (e != NULL)
        e->ops->free(e);
    return error;
}

/* Fits H and fills the record. */
static tlnmf_error fit_H(void *arg)
{
    const work *w = arg;
    double *H;
    tl_values values = {0};
    tl_scope outer;
    bool own = false;
    tl_run run = {.opt = w->settings, .monitor = w->ctx->monitor};
    TRY(tl_record_new_array(w->ctx, w->out, "H", 2, (int64_t[]){w->model->K, w->data->N}, &H));
    tl_monitor_enter(w->ctx->monitor, w->settings->max_seconds, w->data->frames_comm, &outer);
    tlnmf_error error = run_engine(w, &run, H, &values, &own);
    if (error == TLNMF_OK)
        error = isfinite(values.C) ? put_values(w, &run, values)
                                   : tl_fail(w->ctx, TLNMF_ERR_NUMERIC,
                                             "H left the range of double: rescale the data");
    if (error == TLNMF_OK)
        error = judge(w, &run, own, H, values.I);
    tl_monitor_leave(w->ctx->monitor, &outer);
    return error == TLNMF_OK ? put_coefficients(w) : error;
}

/* The H of the fit and its number of frames; NULL if it is missing or not usable. */
static const double *own_H(const tlnmf_record *model, int64_t K, int64_t *N)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    const double *H = tlnmf_record_get_array(model, "H", &rank, shape);
    if (H == NULL || rank != 2 || shape[0] != K || !tl_is_usable(K * shape[1], H, true))
        return NULL;
    *N = shape[1];
    return H;
}

/* The data of the fit. Models of earlier versions lack the number of realisations, and the model of
 * one process that distributes frames has the H of a part of them. */
static tl_fitted read_own(const tlnmf_record *model, int64_t K)
{
    tl_fitted own = {.S = -1, .I = tlnmf_record_get_real(model, "I")};
    const char *method = tlnmf_record_get_text(model, "method");
    own.H = own_H(model, K, &own.N);
    own.Phi_learnt = method == NULL || strcmp(method, "nmf") != 0;
    if (tlnmf_record_has(model, "realisations") && tlnmf_record_get_integer(model, "N") == own.N)
        own.S = tl_max(tlnmf_record_get_integer(model, "realisations"), -1);
    return own;
}

/* I per entry of the data of the fit. Models of earlier versions lack the number of entries. */
static double own_I_per_entry(const tlnmf_record *model)
{
    double entries = tlnmf_record_get_real(model, "entries");
    if (!isfinite(entries))
        entries = tlnmf_record_get_real(model, "M") * tlnmf_record_get_real(model, "N");
    return tlnmf_record_get_real(model, "I") / entries;
}

tlnmf_error tl_check_model(tlnmf_ctx *ctx, int64_t M, tl_model_point *model, double **own)
{
    bool rounded;
    *own = NULL;
    if (!tl_is_usable(M * model->K, model->W, true))
        return tl_fail(ctx, TLNMF_ERR_DATA, "the model: W must be finite and not negative");
    TRY(tl_check_Phi(ctx, "the model's Phi", M, model->Phi, &rounded));
    if (!rounded)
        return TLNMF_OK;
    double *Phi = tl_allocate(&ctx->hooks, (size_t)(M * M) * sizeof *Phi);
    if (Phi == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for Phi");
    tl_copy(Phi, model->Phi, M * M);
    tlnmf_error error = tl_polar(ctx, M, Phi);
    if (error == TLNMF_OK)
        model->Phi = *own = Phi;
    else
        tl_release(&ctx->hooks, Phi);
    return error;
}

tlnmf_error tlnmf_apply(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_data *data,
                        const tl_settings *settings, tlnmf_record **applied)
{
    tl_model_point point = {0};
    tlnmf_data *trimmed = NULL;
    double *own_Phi;
    TL_NEED_OUT(ctx, applied);
    TL_NEED(ctx, model);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, TL_TASK_APPLY));
    TRY(tlnmf_settings_check(ctx, settings));
    TRY(tl_read_point(ctx, data, model, "the model", false, &point));
    TRY(tl_check_range(ctx, data, point.eps));
    tl_fitted own = read_own(model, point.K);
    point.H = own.N == data->N ? own.H : NULL;
    TRY(tl_check_model(ctx, data->M, &point, &own_Phi));
    tlnmf_error error = tl_data_trim(ctx, data, point.eps, &trimmed);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(ctx, applied);
    if (error == TLNMF_OK) {
        work w = {.ctx = ctx,
                  .data = trimmed != NULL ? trimmed : data,
                  .settings = settings,
                  .model = &point,
                  .C = tlnmf_record_get_real(model, "C"),
                  .I_per_entry = own_I_per_entry(model),
                  .own = own,
                  .out = *applied};
        error = tl_record_keep_if(tl_with_threads(tl_thread_count(settings->threads), fit_H, &w),
                                  applied);
    }
    tlnmf_data_free(trimmed);
    tl_release(&ctx->hooks, own_Phi);
    return error;
}
