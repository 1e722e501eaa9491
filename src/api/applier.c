/* The applier: fits H to one frame at a time at the Phi and W of a model. Creating it checks the
 * model and allocates; a frame does neither. */
#include "api/api.h"
#include "linalg/linalg.h"
#include "solve/solver.h"

#include <math.h>

struct tlnmf_applier {
    int64_t M, K;
    double eps;
    tl_settings settings; /* J, tol, grad-tol */
    tlnmf_data *data;     /* one frame of one column, whose R is the frame to fit */
    tl_engine *engine;    /* holds Phi and W */
    tl_hooks hooks;
};

/* The frame length that a model is for; tl_read_point() checks the shapes. */
static tlnmf_error read_size(tlnmf_ctx *ctx, const tlnmf_record *model, int64_t *M)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    const double *Phi = tlnmf_record_get_array(model, "Phi", &rank, shape);
    if (Phi == NULL || rank != 2 || shape[0] < 1)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the model has no Phi");
    *M = shape[0];
    return TLNMF_OK;
}

static tlnmf_error open_engine(tlnmf_ctx *ctx, const tlnmf_record *record, tlnmf_applier *a)
{
    tl_model_point point = {0};
    double *own_Phi;
    TRY(read_size(ctx, record, &a->M));
    TRY(tl_data_new(ctx, a->M, 1, 1, &a->data));
    a->data->S = 1;
    a->data->offset[1] = 1;
    a->data->weight[0] = 1.0;
    tl_data_note_one_each(a->data);
    TRY(tl_read_point(ctx, a->data, record, "the model", false, &point));
    TRY(tl_check_model(ctx, a->M, &point, &own_Phi));
    a->K = point.K;
    a->eps = point.eps;
    const tl_model model = {.data = a->data, .K = a->K, .eps = a->eps, .gamma = 1.0};
    const tl_engine_spec spec = {.model = &model, .moves = TL_H};
    tlnmf_error error = tl_engine_of(NULL)->create(ctx, &spec, &a->engine);
    if (error == TLNMF_OK)
        tl_engine_load(a->engine, point.Phi, point.W, NULL);
    tl_release(&ctx->hooks, own_Phi);
    return error;
}

tlnmf_error tlnmf_applier_create(tlnmf_ctx *ctx, const tlnmf_record *model,
                                 const tl_settings *settings, tlnmf_applier **out)
{
    tlnmf_applier *a;
    TL_NEED_OUT(ctx, out);
    TL_NEED(ctx, model);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, TL_TASK_APPLY));
    TRY(tlnmf_settings_check(ctx, settings));
    if (settings->device == TL_DEVICE_GPU)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "an applier computes on the cpu, not on the gpu");
    a = tl_allocate(&ctx->hooks, sizeof *a);
    if (a == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for an applier");
    *a = (tlnmf_applier){.settings = *settings, .hooks = ctx->hooks};
    tlnmf_error error = open_engine(ctx, model, a);
    if (error != TLNMF_OK) {
        tlnmf_applier_free(a);
        return error;
    }
    *out = a;
    return TLNMF_OK;
}

void tlnmf_applier_free(tlnmf_applier *a)
{
    if (a == NULL)
        return;
    if (a->engine != NULL)
        a->engine->ops->free(a->engine);
    tlnmf_data_free(a->data);
    tl_hooks hooks = a->hooks;
    tl_release(&hooks, a);
}

/* One frame. */
typedef struct frame {
    tlnmf_applier *a;
    double share; /* the start of every entry of h; 0: a silent frame */
    double *h, *x;
} frame;

/* Phi and W stay; X and V follow from the frame in R. */
static tlnmf_error start_flat(const tl_point *point, void *user)
{
    const frame *f = user;
    int64_t M = point->M;
    for (int64_t k = 0; k < point->K; k++)
        point->H[k] = f->share;
    if (f->x != NULL)
        tl_gemm(TL_PLAIN, TL_PLAIN, M, 1, M, 1.0, point->Phi, M, f->a->data->R, 1, 0.0, f->x, 1);
    return TLNMF_OK;
}

static tlnmf_error fit_frame(void *user)
{
    const frame *f = user;
    tl_engine *e = f->a->engine;
    tl_run run = {.opt = &f->a->settings};
    TRY(tl_engine_fill(e, TL_PHI | TL_H, start_flat, user));
    if (f->share > 0.0)
        tl_fast_activations(e, &run);
    tl_engine_store(e, NULL, NULL, f->h);
    return TLNMF_OK;
}

/* Copies y into the data and returns its power; NaN if it has a NaN, Inf if it is out of range. */
static double load(tlnmf_applier *a, const double *y)
{
    double power = 0.0;
    for (int64_t m = 0; m < a->M; m++) {
        a->data->R[m] = y[m];
        power += y[m] * y[m];
    }
    return power;
}

tlnmf_error tlnmf_applier_frame(tlnmf_ctx *ctx, tlnmf_applier *applier, const double *y, double *h,
                                double *x)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, applier);
    TL_NEED(ctx, y);
    TL_NEED(ctx, h);
    tlnmf_applier *a = applier;
    double power = load(a, y);
    if (!isfinite(power))
        return tl_fail(ctx, TLNMF_ERR_DATA, "the frame has NaN, infinite or too large numbers");
    a->data->mean_power = a->engine->mean_power = power / (double)a->M;
    TRY(tl_check_range(ctx, a->data, a->eps));
    bool silent = !tl_data_is_trim(a->data, a->eps); /* the floor hides the frame */
    frame f = {a, silent ? 0.0 : (power + a->eps) / (double)a->K, h, x};
    TRY(tl_with_threads(1, fit_frame, &f));
    for (int64_t k = 0; k < a->K; k++)
        if (!isfinite(h[k]))
            return tl_fail(ctx, TLNMF_ERR_NUMERIC, "h left the range of double: rescale the frame");
    return TLNMF_OK;
}
