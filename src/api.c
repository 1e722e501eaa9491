/* The public calls of tlnmf.h: checks, and records in and out; no maths. */
#include "api.h"
#include "base/record.h"
#include "engine/device.h"
#include "linalg/linalg.h"
#include "search/plan.h"
#include "search/share.h"
#include "solve/newton.h"

#include <math.h>
#include <string.h>

/* Neither 1 / eps nor sums of it may overflow. */
static bool is_floor(double eps)
{
    return eps >= 1e-304 && eps <= 1e304;
}

/* (V + eps) / (Vhat + eps), and so C and its gradient, can be as large as the energy of a frame
 * over eps. Where this leaves the range of double, C is noise throughout, and steps cannot be
 * compared.
 */
tlnmf_error tl_check_range(tlnmf_ctx *ctx, const tlnmf_data *data, double eps)
{
    const double most = 1e300; /* leaves 1e8 for factors that are not counted here */
    double longest = tl_data_longest(data), ratio = longest / sqrt(eps);
    if (!(ratio * ratio * (double)data->M * (double)data->N <= most))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "frames as long as %.3g beside eps = %.3g leave the range of double: a "
                       "larger eps is needed",
                       longest, eps);
    return TLNMF_OK;
}

/* The floor that the settings ask for. */
static tlnmf_error resolve_eps(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                               double *eps)
{
    *eps = opt->eps > 0.0 ? opt->eps : opt->eps_rel * data->mean_power;
    if (!is_floor(*eps))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "eps-rel = %g of a mean power of %g is no usable floor: rescale the data",
                       opt->eps_rel, data->mean_power);
    return tl_check_range(ctx, data, *eps);
}

static tlnmf_error check_rank(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t K)
{
    if (K > data->M * data->all)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "k = %lld is more than the M N = %lld x %lld entries to fit", (long long)K,
                       (long long)data->M, (long long)data->all);
    return TLNMF_OK;
}

/* X in single precision has errors of 6e-8 of a frame's norm. They must be small beside sqrt(eps),
 * below which V does not matter. On the paper's data, C is then accurate to 1e-5. */
static tlnmf_error check_precision(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                                   double eps)
{
    const double most = 1e-3;
    if (opt->precision != TL_PRECISION_MIXED)
        return TLNMF_OK;
    double longest = tl_data_longest(data), blur = 6e-8 * longest / sqrt(eps);
    if (!(eps >= 1e-30 && longest <= 1e15))
        return tl_fail(
            ctx, TLNMF_ERR_OPTION,
            "precision mixed: eps = %.3g and frames as long as %.3g do not fit the range "
            "of single precision: rescale the data",
            eps, longest);
    if (!(blur < most))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "precision mixed: single precision would blur V: 6e-8 x %.3g (the longest "
                       "frame) / sqrt(eps = %.3g) is %.2g, not below %g",
                       longest, eps, blur, most);
    return TLNMF_OK;
}

/* The same rule for double precision. There is nothing better, so the run goes on with a warning.
 */
static void warn_of_noise(tlnmf_ctx *ctx, const tlnmf_data *data, double eps)
{
    const double most = 1e-3;
    double longest = tl_data_longest(data), blur = 2.2e-16 * longest / sqrt(eps);
    if (!(blur < most))
        tl_log(
            ctx, TLNMF_LOG_WARNING,
            "C is rounding noise: 2.2e-16 x %.3g (the longest frame) / sqrt(eps = %.3g) is %.2g, "
            "not below %g: a larger eps is needed",
            longest, eps, blur, most);
}

/* Warns about data from which nothing can be learnt. */
static void warn_of_triviality(tlnmf_ctx *ctx, const tlnmf_data *data)
{
    if (data->all == 1)
        tl_log(ctx, TLNMF_LOG_WARNING,
               "one frame only: W H can always fit it, nothing is learnt from it");
    if (data->M == 1)
        tl_log(ctx, TLNMF_LOG_WARNING, "frames of length 1: the transform can only change a sign");
}

/* The settings of one call, checked, and what follows from them. */
typedef struct task {
    tl_settings opt;
    tl_goal goal;
    double eps;
} task;

static tlnmf_error prepare_fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                               task *t)
{
    static const tl_goal goals[] = {TL_GOAL_TL, TL_GOAL_JD, TL_GOAL_NMF, TL_GOAL_AUTO};
    TRY(tlnmf_settings_check(ctx, settings));
    TRY(check_rank(ctx, data, settings->k));
    if (settings->newton && data->M > TL_NEWTON_MOST_M)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "newton is for frames of length %d at most, not %lld",
                       TL_NEWTON_MOST_M, (long long)data->M);
    if (data->mask != NULL && settings->method != TL_METHOD_NMF)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "a mask is for method nmf: while Phi is learnt, its rows and those of the "
                       "mask have nothing in common");
    TRY(tl_data_check_mask(ctx, data));
    t->opt = *settings;
    t->goal = goals[settings->method];
    if (t->goal == TL_GOAL_AUTO && settings->exchange) /* an exchange runs both methods anyway */
        t->goal = TL_GOAL_TL;
    TRY(resolve_eps(ctx, data, settings, &t->eps));
    return check_precision(ctx, data, settings, t->eps);
}

static tlnmf_error prepare_diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data,
                                       const tl_settings *settings, task *t)
{
    t->opt = *settings;
    t->opt.k = 1; /* not used */
    t->opt.method = TL_METHOD_JD;
    t->goal = TL_GOAL_DIAGONALISE;
    TRY(tlnmf_settings_check(ctx, settings));
    if (data->mask != NULL)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "a mask is for method nmf, not for diagonalisation");
    TRY(resolve_eps(ctx, data, &t->opt, &t->eps));
    return check_precision(ctx, data, &t->opt, t->eps);
}

static tlnmf_error prepare(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                           task *t)
{
    *t = (task){0};
    TRY(settings->task == TL_TASK_JD ? prepare_diagonalise(ctx, data, settings, t)
                                     : prepare_fit(ctx, data, settings, t));
    return tl_plan_device(ctx, data, t->goal, &t->opt);
}

tlnmf_error tl_fit_as(tlnmf_ctx *ctx, const tl_settings *settings, const tl_search_task *how,
                      tl_result **out)
{
    task t;
    tl_search_task search = *how;
    *out = NULL;
    TRY(tl_share_error(ctx, how->data->sums, how->machines, prepare(ctx, how->data, settings, &t)));
    warn_of_triviality(ctx, how->data);
    warn_of_noise(ctx, how->data, t.eps);
    search.goal = t.goal;
    search.opt = &t.opt;
    search.eps = t.eps;
    return tl_search(ctx, &search, out);
}

tlnmf_error tl_fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                   const tl_start *start, tl_callback callback, void *user, tl_result **out)
{
    return tl_fit_as(
        ctx, settings,
        &(tl_search_task){.data = data, .start = start, .callback = callback, .user = user}, out);
}

/* ---- starts ---------------------------------------------------------------------------------- */

/* Reads the arrays of a start and checks their shapes against the data and the settings. */
static tlnmf_error read_start(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                              const tlnmf_record *record, tl_start *start)
{
    int64_t M = data->M, N = data->N, K = settings->k;
    *start = (tl_start){0};
    if (record == NULL)
        return TLNMF_OK;
    TRY(tl_record_expect(ctx, record, "the start", "Phi", 2, (int64_t[]){M, M}, &start->Phi));
    if (settings->task == TL_TASK_JD)
        return TLNMF_OK;
    TRY(tl_record_expect(ctx, record, "the start", "W", 2, (int64_t[]){M, K}, &start->W));
    return tl_record_expect(ctx, record, "the start", "H", 2, (int64_t[]){K, N}, &start->H);
}

tlnmf_error tlnmf_draw_start(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                             int64_t p, tlnmf_record **start)
{
    double *Phi, *W, *H;
    TL_NEED(ctx, start);
    *start = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, TL_TASK_FIT));
    TRY(tlnmf_settings_check(ctx, settings));
    int64_t M = data->M, N = data->N, K = settings->k;
    TRY(tlnmf_record_create(ctx, start));
    tlnmf_error error = tl_record_new_array(ctx, *start, "Phi", 2, (int64_t[]){M, M}, &Phi);
    if (error == TLNMF_OK)
        error = tl_record_new_array(ctx, *start, "W", 2, (int64_t[]){M, K}, &W);
    if (error == TLNMF_OK)
        error = tl_record_new_array(ctx, *start, "H", 2, (int64_t[]){K, N}, &H);
    if (error == TLNMF_OK)
        error = tl_draw_start(ctx, data, settings, p, Phi, W, H);
    return tl_record_keep_if(error, start);
}

/* ---- fits ------------------------------------------------------------------------------------ */

/* A fit or a diagonalisation, by the settings' task. */
static tlnmf_error fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                       const tlnmf_record *start_record, int wanted, tlnmf_record **model)
{
    tl_start start;
    tl_result *result;
    tl_reporter reporter;
    tl_floor_check check = {0};
    TL_NEED(ctx, model);
    *model = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, wanted));
    TRY(tl_share_error(ctx, data->sums, ctx->starts,
                       read_start(ctx, data, settings, start_record, &start)));
    tlnmf_error error =
        tl_share_error(ctx, data->sums, ctx->starts, tl_reporter_create(ctx, &reporter));
    tl_search_task how = {.data = data,
                          .start = start_record == NULL ? NULL : &start,
                          .callback = tl_reporter_callback(&reporter),
                          .user = &reporter,
                          .machines = ctx->starts,
                          .keeping = &ctx->keeping};
    if (error == TLNMF_OK)
        error = tl_fit_as(ctx, settings, &how, &result);
    if (error == TLNMF_OK && settings->eps_check) {
        error = tl_check_floor(ctx, &how, settings, result, &check);
        if (error != TLNMF_OK)
            tl_result_free(result);
    }
    tl_reporter_free(&reporter);
    if (error != TLNMF_OK)
        return error;
    error = tl_model_record(ctx, settings, result, model);
    if (error == TLNMF_OK)
        error = tl_put_floor_check(ctx, &check, *model);
    return tl_record_keep_if(tl_share_error(ctx, data->sums, ctx->starts, error), model);
}

/* Phi P and back Phi' of a diagonalisation of whitened data. */
static tlnmf_error put_unmixing(tlnmf_ctx *ctx, int64_t M, const double *P, const double *back,
                                tlnmf_record *model)
{
    const double *Phi = tlnmf_get_array(model, "Phi", NULL, NULL);
    const int64_t shape[] = {M, M};
    double *unmixing, *mixing;
    TRY(tl_record_new_array(ctx, model, "unmixing", 2, shape, &unmixing));
    TRY(tl_record_new_array(ctx, model, "mixing", 2, shape, &mixing));
    tl_gemm(TL_PLAIN, TL_PLAIN, M, M, M, 1.0, Phi, M, P, M, 0.0, unmixing, M);
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, M, M, 1.0, back, M, Phi, M, 0.0, mixing, M);
    return TLNMF_OK;
}

/* Joint diagonalisation in coordinates in which the mean covariance is the identity. */
static tlnmf_error diagonalise_whitened(tlnmf_ctx *ctx, const tlnmf_data *data,
                                        const tl_settings *settings, const tlnmf_record *start,
                                        tlnmf_record **model)
{
    int64_t M = data->M;
    double *P, *back;
    void *block = NULL;
    tlnmf_data *white = NULL;
    tl_slot table[] = {TL_SLOT(P, M * M), TL_SLOT(back, M * M)};
    TRY(TL_ARENA(ctx, "whitening", table, &block));
    tlnmf_error error = tl_data_whiten(ctx, data, P, back, &white);
    error = tl_share_error(ctx, data->sums, ctx->starts, error);
    if (error == TLNMF_OK)
        error = fit(ctx, white, settings, start, TL_TASK_JD, model);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(put_unmixing(ctx, M, P, back, *model), model);
    tlnmf_data_free(white);
    tl_release(&ctx->hooks, block);
    return error;
}

tlnmf_error tlnmf_fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                      const tlnmf_record *start, tlnmf_record **model)
{
    return fit(ctx, data, settings, start, TL_TASK_FIT, model);
}

tlnmf_error tlnmf_diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                              const tlnmf_record *start, tlnmf_record **model)
{
    TL_NEED(ctx, model);
    *model = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    if (settings->task == TL_TASK_JD && settings->whiten)
        return diagonalise_whitened(ctx, data, settings, start, model);
    return fit(ctx, data, settings, start, TL_TASK_JD, model);
}

tlnmf_error tlnmf_memory(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                         double *bytes)
{
    task t;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    TL_NEED(ctx, bytes);
    *bytes = 0.0;
    TRY(tl_settings_need(ctx, settings, TL_TASK_FIT | TL_TASK_JD));
    tlnmf_log log = ctx->log;
    ctx->log = NULL; /* the fit itself will warn */
    tlnmf_error error = prepare(ctx, data, settings, &t);
    ctx->log = log;
    if (error != TLNMF_OK)
        return error;
    tl_plan plan = tl_plan_make(data, &t.opt, t.goal);
    *bytes = tl_plan_bytes(&plan, data, &t.opt, t.eps);
    if (ctx->keeping.save != NULL || ctx->keeping.resume != NULL) /* states, and where they go */
        *bytes *= 3.0;
    if (settings
            ->eps_check) /* the result is there while neighbours are fitted, and M x M numbers */
        *bytes += 8.0 * ((double)data->M * (2.0 * (double)data->M + 1.0 + (double)t.opt.k) +
                         (double)t.opt.k * (double)data->N);
    if (settings->task == TL_TASK_JD && settings->whiten) /* the data again, and M x M arrays */
        *bytes += 8.0 * ((double)data->M * ((double)data->T + 12.0 * (double)data->M) +
                         2.0 * (double)data->N);
    return TLNMF_OK;
}

/* ---- devices --------------------------------------------------------------------------------- */

static tlnmf_error put_device(tlnmf_ctx *ctx, tlnmf_record *record)
{
    tl_device device;
    char why[TL_DEVICE_TEXT];
    const tl_device_library *library = tl_device_load(why);
    bool available = library != NULL && library->find(&device, why);
    TRY(tlnmf_set_integer(ctx, record, "available", available));
    if (!available)
        return tlnmf_set_text(ctx, record, "reason", why);
    TRY(tlnmf_set_text(ctx, record, "name", device.name));
    TRY(tlnmf_set_real(ctx, record, "memory", device.memory));
    return tlnmf_set_real(ctx, record, "memory_free", device.free);
}

tlnmf_error tlnmf_device(tlnmf_ctx *ctx, tlnmf_record **device)
{
    TL_NEED(ctx, device);
    *device = NULL;
    TL_NEED(ctx, ctx);
    TRY(tlnmf_record_create(ctx, device));
    return tl_record_keep_if(put_device(ctx, *device), device);
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* All finite, and none negative if `nonnegative`. */
static bool is_usable(int64_t count, const double *x, bool nonnegative)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i]) || (nonnegative && x[i] < 0.0))
            return false;
    return true;
}

/* What evaluate_alone works on. */
typedef struct evaluation {
    tlnmf_ctx *ctx;
    const tl_model *model;
    const tl_model_point *point;
    tl_point_values *values;
    double *Ganti;
} evaluation;

static tlnmf_error evaluate_alone(void *arg)
{
    evaluation *v = arg;
    tl_engine *e;
    const tl_engine_spec spec = {.model = v->model, .sums = v->model->data->sums};
    TRY(tl_sums_agree(v->ctx, spec.sums, tl_engine_of(NULL)->create(v->ctx, &spec, &e)));
    tl_engine_load(e, v->point->Phi, v->point->W, v->point->H);
    tl_values all = tl_engine_values(e, TL_C | TL_L | TL_I);
    *v->values = (tl_point_values){all.C, all.L, all.I};
    if (v->Ganti != NULL)
        tl_engine_gradient(e, TL_C, v->Ganti);
    tlnmf_error error = tl_engine_error(v->ctx, e, "the evaluation");
    e->ops->free(e);
    return error;
}

tlnmf_error tl_evaluate(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_model_point *point,
                        tl_point_values *values, double *Ganti)
{
    int64_t M = data->M, K = point->K;
    if (K < 1 || !is_floor(point->eps))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "K = %lld, eps = %g: K must be at least 1, eps in [1e-304, 1e+304]",
                       (long long)K, point->eps);
    TRY(tl_check_size(ctx, "K", K));
    if (!is_usable(M * M, point->Phi, false) || !is_usable(M * K, point->W, true) ||
        !is_usable(K * data->N, point->H, true))
        return tl_fail(ctx, TLNMF_ERR_DATA, "Phi, W, H must be finite, W and H not negative");
    const tl_model model = {.data = data, .K = K, .eps = point->eps, .gamma = 1.0};
    /* One thread: a pool of threads left behind would make the host's next fork hang, and the
     * values would depend on their number. */
    return tl_with_threads(1, evaluate_alone, &(evaluation){ctx, &model, point, values, Ganti});
}

tlnmf_error tl_read_point(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_record *record,
                          const char *what, bool needs_H, tl_model_point *point)
{
    int64_t M = data->M, N = data->N, shape[TLNMF_MAX_RANK];
    TRY(tl_record_expect(ctx, record, what, "Phi", 2, (int64_t[]){M, M}, &point->Phi));
    tlnmf_get_array(record, "W", NULL, shape);
    point->K = shape[1];
    TRY(tl_record_expect(ctx, record, what, "W", 2, (int64_t[]){M, point->K}, &point->W));
    if (needs_H)
        TRY(tl_record_expect(ctx, record, what, "H", 2, (int64_t[]){point->K, N}, &point->H));
    if (point->Phi == NULL || point->W == NULL || (needs_H && point->H == NULL))
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "%s has no %s", what,
                       point->Phi == NULL ? "Phi"
                       : point->W == NULL ? "W"
                                          : "H");
    point->eps = tlnmf_get_real(record, "eps");
    if (!is_floor(point->eps))
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "%s: eps = %g is no usable floor", what,
                       point->eps);
    return TLNMF_OK;
}

tlnmf_error tlnmf_evaluate(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_record *point_record,
                           tlnmf_record **values)
{
    tl_model_point point = {0};
    tl_point_values v = {0};
    double *gradient = NULL;
    TL_NEED(ctx, values);
    *values = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    TL_NEED(ctx, point_record);
    TRY(tl_read_point(ctx, data, point_record, "the point", true, &point));
    TRY(tlnmf_record_create(ctx, values));
    tlnmf_error error =
        tl_record_new_array(ctx, *values, "gradient", 2, (int64_t[]){data->M, data->M}, &gradient);
    if (error == TLNMF_OK)
        error = tl_evaluate(ctx, data, &point, &v, gradient);
    if (error == TLNMF_OK)
        error = tlnmf_set_real(ctx, *values, "C", v.C);
    if (error == TLNMF_OK)
        error = tlnmf_set_real(ctx, *values, "L", v.L);
    if (error == TLNMF_OK)
        error = tlnmf_set_real(ctx, *values, "I", v.I);
    return tl_record_keep_if(error, values);
}
