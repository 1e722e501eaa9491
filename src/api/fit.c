/* Fits and diagonalisations, from settings and records to a record: checks, starts, whitening,
 * memory and device. */
#include "api/api.h"
#include "base/record.h"
#include "engine/device.h"
#include "linalg/linalg.h"
#include "search/checkpoint.h"
#include "search/distribute.h"
#include "search/hop.h"
#include "search/plan.h"

#include <math.h>
#include <string.h>

bool tl_is_floor(double eps)
{
    return eps >= 1e-304 && eps <= 1e304;
}

/* (V + eps) / (Vhat + eps), and so C and its gradient, can be as large as the energy of a frame
 * divided by eps. If this exceeds the range of double, C is only noise, and steps cannot be
 * compared. */
tlnmf_error tl_check_range(tlnmf_ctx *ctx, const tlnmf_data *data, double eps)
{
    const double most = 1e300; /* leaves 1e8 for factors that are not counted here */
    double longest = tl_data_longest(data), ratio = longest / sqrt(eps);
    if (!(ratio * ratio * (double)data->M * (double)data->N <= most))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "frames of norm %.3g with eps = %.3g exceed the range of double: use a "
                       "larger eps",
                       longest, eps);
    return TLNMF_OK;
}

/* The floor that the settings ask for. */
static tlnmf_error resolve_eps(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                               double *eps)
{
    *eps = opt->eps > 0.0 ? opt->eps : tl_default_floor(data, opt);
    if (!tl_is_floor(*eps))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "eps-rel = %g of a mean power of %g is not a usable floor: rescale the data",
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

/* X in single precision has errors of 6e-8 of a frame's norm. They must be small compared with
 * sqrt(eps), below which V does not matter. On the paper's data, C is then accurate to 1e-5. */
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
            "precision mixed: eps = %.3g and frames of norm %.3g exceed the range of single "
            "precision: rescale the data",
            eps, longest);
    if (!(blur < most))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "precision mixed: V would lose too many digits: 6e-8 x %.3g (the longest "
                       "frame) / sqrt(eps = %.3g) is %.2g, not below %g",
                       longest, eps, blur, most);
    return TLNMF_OK;
}

/* The checked settings of one call, and the values derived from them. */
typedef struct task {
    tl_settings opt;
    tl_goal goal;
    double eps;
} task;

static tlnmf_error prepare_fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                               task *t)
{
    static const tl_goal goals[] = {TL_GOAL_TL, TL_GOAL_JD_NMF, TL_GOAL_NMF, TL_GOAL_AUTO};
    TRY(tlnmf_settings_check(ctx, settings));
    TRY(check_rank(ctx, data, settings->k));
    if (data->mask != NULL && settings->method != TL_METHOD_NMF)
        return tl_fail(
            ctx, TLNMF_ERR_OPTION,
            "a mask requires method nmf: if Phi is learnt, its rows do not correspond to those "
            "of the mask");
    TRY(tl_data_check_mask(ctx, data));
    t->opt = *settings;
    t->goal = goals[settings->method];
    if (t->goal == TL_GOAL_AUTO && settings->exchange) /* an exchange runs both methods anyway */
        t->goal = TL_GOAL_TL;
    return TLNMF_OK;
}

static tlnmf_error prepare_diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data,
                                       const tl_settings *settings, task *t)
{
    t->opt = *settings;
    t->opt.k = 1; /* not used */
    t->opt.method = TL_METHOD_JD;
    t->goal = TL_GOAL_JD;
    TRY(tlnmf_settings_check(ctx, settings));
    if (data->mask != NULL)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "a mask requires method nmf; diagonalisation does not accept one");
    return TLNMF_OK;
}

/* If the fit will whiten the data, its floor is not known yet; eps = infinity stands for it. */
static tlnmf_error prepare(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                           bool whitens, task *t)
{
    *t = (task){.eps = INFINITY};
    TRY(settings->task == TL_TASK_JD ? prepare_diagonalise(ctx, data, settings, t)
                                     : prepare_fit(ctx, data, settings, t));
    if (!whitens) {
        TRY(resolve_eps(ctx, data, &t->opt, &t->eps));
        TRY(check_precision(ctx, data, &t->opt, t->eps));
    }
    return tl_plan_device(ctx, data, t->goal, &t->opt);
}

tlnmf_error tl_fit_as(tlnmf_ctx *ctx, const tl_settings *settings, const tl_search_task *how,
                      tl_result **out)
{
    task t;
    tl_search_task search = *how;
    *out = NULL;
    TRY(tl_distribute_agree(ctx, how->data->frames_comm, how->starts_comm,
                            prepare(ctx, how->data, settings, false, &t)));
    bool keeps = t.goal == TL_GOAL_NMF;
    if (t.opt.starts == 0 &&
        tl_starts_are_same(&t.opt, t.goal == TL_GOAL_JD ? 0 : t.opt.k, keeps, how->start))
        t.opt.starts = 1;
    search.goal = t.goal;
    search.opt = &t.opt;
    search.eps = t.eps;
    return tl_search(ctx, &search, out);
}

tlnmf_error tl_fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                   const tl_start *start, tl_result **out)
{
    tl_warn_of_numbers(ctx, data, settings, NULL);
    return tl_fit_as(ctx, settings, &(tl_search_task){.data = data, .start = start}, out);
}

/* ---- starts ---------------------------------------------------------------------------------- */

/* Whether the library or a caller that saves models puts a value of this name into records. */
static bool is_result(const char *name)
{
    const char *known;
    if (strncmp(name, "option.", 7) == 0 || strncmp(name, "given.", 6) == 0)
        return true;
    if (strncmp(name, "other.", 6) == 0)
        name += 6;
    for (size_t i = 0; (known = tlnmf_result_name(i)) != NULL; i++)
        if (strcmp(name, known) == 0)
            return true;
    return false;
}

tlnmf_error tl_check_start_names(tlnmf_ctx *ctx, const tlnmf_record *record)
{
    static const char *const names[] = {"Phi", "W", "H"};
    const char *name;
    if (tlnmf_record_has(record, "outcome")) /* a model; files add names of their own */
        return TLNMF_OK;
    for (size_t i = 0; (name = tlnmf_record_name(record, i)) != NULL; i++) {
        if (is_result(name))
            continue;
        const char *near = tlnmf_nearest(name, names, 3);
        if (near != NULL)
            return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the start: unknown name %s; did you mean %s?",
                           name, near);
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT,
                       "the start: unknown name %s; a start has Phi, W and H", name);
    }
    return TLNMF_OK;
}

/* Reads the arrays of a start and checks their shapes against the data and the settings. */
static tlnmf_error read_start(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                              const tlnmf_record *record, tl_start *start)
{
    int64_t M = data->M, N = data->N, K = settings->k;
    *start = (tl_start){0};
    if (record == NULL)
        return TLNMF_OK;
    TRY(tl_check_start_names(ctx, record));
    TRY(tl_record_expect(ctx, record, "the start", "Phi", 2, (int64_t[]){M, M}, &start->Phi));
    if (settings->task == TL_TASK_JD)
        return TLNMF_OK;
    TRY(tl_record_expect(ctx, record, "the start", "W", 2, (int64_t[]){M, K}, &start->W));
    return tl_record_expect(ctx, record, "the start", "H", 2, (int64_t[]){K, N}, &start->H);
}

static tlnmf_error put_start(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                             int64_t p, tlnmf_record *start)
{
    int64_t M = data->M, N = data->N, K = settings->k;
    double *Phi, *W, *H;
    TRY(tl_record_new_array(ctx, start, "Phi", 2, (int64_t[]){M, M}, &Phi));
    TRY(tl_record_new_array(ctx, start, "W", 2, (int64_t[]){M, K}, &W));
    TRY(tl_record_new_array(ctx, start, "H", 2, (int64_t[]){K, N}, &H));
    return tl_draw_start(ctx, data, settings, p, Phi, W, H);
}

tlnmf_error tlnmf_draw_start(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                             int64_t p, tlnmf_record **start)
{
    TL_NEED_OUT(ctx, start);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, TL_TASK_FIT));
    TRY(tlnmf_settings_check(ctx, settings));
    TRY(tlnmf_record_create(ctx, start));
    return tl_record_keep_if(put_start(ctx, data, settings, p, *start), start);
}

/* ---- fits ------------------------------------------------------------------------------------ */

static tlnmf_error put_model(tlnmf_ctx *ctx, const tl_settings *settings, tl_result *result,
                             const tl_caveats *caveats, tlnmf_record **model)
{
    TRY(tl_model_record(ctx, settings, result, model));
    return tl_caveats_put(ctx, caveats, *model);
}

/* A fit or a diagonalisation, by the settings' task. `caveats` already has those of the data. */
static tlnmf_error fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                       const tlnmf_record *start_record, int wanted, tl_caveats *caveats,
                       tlnmf_record **model)
{
    tl_start start;
    tl_result *result;
    tl_scope outer;
    tl_units *units;
    TL_NEED_OUT(ctx, model);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, wanted));
    TRY(tl_distribute_agree(ctx, data->frames_comm, ctx->starts_comm,
                            read_start(ctx, data, settings, start_record, &start)));
    TRY(tl_units_create(ctx, data->frames_comm, ctx->starts_comm, &units));
    tl_search_task how = {.data = data,
                          .start = start_record == NULL ? NULL : &start,
                          .starts_comm = ctx->starts_comm,
                          .units = units,
                          .section = "fit"};
    tl_warn_of_numbers(ctx, data, settings, caveats);
    tl_monitor_enter(ctx->monitor, 0.0, NULL, &outer);
    tlnmf_error error = tl_fit_as(ctx, settings, &how, &result);
    if (error == TLNMF_OK) {
        tl_warn_of_result(ctx, &result->info, caveats);
        error = tl_distribute_agree(ctx, data->frames_comm, ctx->starts_comm,
                                    put_model(ctx, settings, result, caveats, model));
    }
    if (error == TLNMF_OK && settings->eps_check)
        error = tl_distribute_agree(ctx, data->frames_comm, ctx->starts_comm,
                                    tl_check_floor(ctx, &how, settings, *model));
    tl_monitor_leave(ctx->monitor, &outer);
    tl_units_free(units);
    return tl_record_keep_if(error, model);
}

static bool whitens(const tl_settings *settings)
{
    return settings->task == TL_TASK_JD && settings->whiten;
}

/* Adds Phi P (R x M) and back Phi' (M x R) of a diagonalisation of whitened data. */
static tlnmf_error put_unmixing(tlnmf_ctx *ctx, int64_t M, int64_t R, const double *P,
                                const double *back, tlnmf_record *model)
{
    const double *Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL);
    double *unmixing, *mixing;
    TRY(tl_record_new_array(ctx, model, "unmixing", 2, (int64_t[]){R, M}, &unmixing));
    TRY(tl_record_new_array(ctx, model, "mixing", 2, (int64_t[]){M, R}, &mixing));
    tl_gemm(TL_PLAIN, TL_PLAIN, R, M, R, 1.0, Phi, R, P, M, 0.0, unmixing, M);
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, R, R, 1.0, back, R, Phi, R, 0.0, mixing, R);
    return TLNMF_OK;
}

/* Joint diagonalisation in coordinates in which the mean covariance is the identity. */
static tlnmf_error diagonalise_whitened(tlnmf_ctx *ctx, const tlnmf_data *data,
                                        const tl_settings *settings, const tlnmf_record *start,
                                        tl_caveats *caveats, tlnmf_record **model)
{
    int64_t M = data->M;
    double *P, *back;
    void *block = NULL;
    tlnmf_data *white = NULL;
    tl_slot table[] = {TL_SLOT(P, M * M), TL_SLOT(back, M * M)};
    TRY(TL_ARENA(ctx, "whitening", table, &block));
    tlnmf_error error = tl_data_whiten(ctx, data, settings->rank_reduce, P, back, &white);
    error = tl_distribute_agree(ctx, data->frames_comm, ctx->starts_comm, error);
    if (error == TLNMF_OK)
        error = fit(ctx, white, settings, start, TL_TASK_JD, caveats, model);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(put_unmixing(ctx, M, white->M, P, back, *model), model);
    tlnmf_data_free(white);
    tl_release(&ctx->hooks, block);
    return error;
}

tlnmf_error tlnmf_fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                      const tlnmf_record *start, tlnmf_record **model)
{
    TL_NEED_OUT(ctx, model);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    tl_caveats caveats = {0};
    tl_warn_of_data(ctx, data, settings, &caveats);
    return fit(ctx, data, settings, start, TL_TASK_FIT, &caveats, model);
}

tlnmf_error tlnmf_diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                              const tlnmf_record *start, tlnmf_record **model)
{
    TL_NEED_OUT(ctx, model);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    tl_caveats caveats = {0};
    tl_warn_of_data(ctx, data, settings, &caveats);
    if (whitens(settings))
        return diagonalise_whitened(ctx, data, settings, start, &caveats, model);
    return fit(ctx, data, settings, start, TL_TASK_JD, &caveats, model);
}

int64_t tlnmf_usual_starts(const tlnmf_data *data, const tl_settings *settings,
                           const tlnmf_record *start)
{
    if (data == NULL || settings == NULL)
        return TLNMF_NO_INTEGER;
    bool learns_Phi = settings->method != TL_METHOD_NMF;
    bool given = tlnmf_record_has(start, "W") || tlnmf_record_has(start, "H") ||
                 (learns_Phi && tlnmf_record_has(start, "Phi"));
    bool searches = settings->task == TL_TASK_FIT && settings->solver == TL_ALGORITHM_FAST &&
                    settings->hops < 0 && !settings->exchange && !given;
    return searches && tl_is_tiny(data, settings) ? 0 : 1;
}

/* prepare() without messages in the log: the fit itself will log them. */
static tlnmf_error prepare_quietly(tlnmf_ctx *ctx, const tlnmf_data *data,
                                   const tl_settings *settings, task *t)
{
    tlnmf_ctx quiet = *ctx;
    quiet.log = NULL;
    tlnmf_error error = prepare(&quiet, data, settings, whitens(settings), t);
    return error == TLNMF_OK ? TLNMF_OK : tl_fail_as(ctx, error, &quiet);
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
    TRY(tl_comm_agree(ctx, data->frames_comm, prepare_quietly(ctx, data, settings, &t)));
    tl_plan plan = tl_plan_make(data, &t.opt, t.goal);
    *bytes = tl_plan_bytes(&plan, data, &t.opt, t.eps);
    if (tl_units_wanted(ctx, data->frames_comm))
        *bytes += tl_checkpoint_bytes(&plan, data, &t.opt);
    if (settings->eps_check) /* memory of the result, which is kept during the other fits, and of M
                                x M numbers */
        *bytes += 8.0 * ((double)data->M * (2.0 * (double)data->M + 1.0 + (double)t.opt.k) +
                         (double)t.opt.k * (double)data->N);
    if (whitens(settings)) /* the data again, and M x M arrays */
        *bytes += 8.0 * ((double)data->M * ((double)data->T + 12.0 * (double)data->M) +
                         2.0 * (double)data->N);
    return TLNMF_OK;
}

/* ---- the device ------------------------------------------------------------------------------ */

static tlnmf_error put_device(tlnmf_ctx *ctx, tlnmf_record *record)
{
    tl_device device;
    char why[TL_DEVICE_TEXT];
    const tl_device_library *library = tl_device_load(why);
    bool available = library != NULL && library->find(ctx->gpu, &device, why);
    TRY(tlnmf_record_set_integer(ctx, record, "available", available));
    if (!available)
        return tlnmf_record_set_text(ctx, record, "reason", why);
    TRY(tlnmf_record_set_text(ctx, record, "name", device.name));
    TRY(tlnmf_record_set_real(ctx, record, "memory", device.memory));
    return tlnmf_record_set_real(ctx, record, "memory_free", device.free);
}

tlnmf_error tlnmf_device(tlnmf_ctx *ctx, tlnmf_record **device)
{
    TL_NEED_OUT(ctx, device);
    TRY(tlnmf_record_create(ctx, device));
    return tl_record_keep_if(put_device(ctx, *device), device);
}
