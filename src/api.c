/* Public functions that have no room of their own: checks and accessors, no maths. */
#include "linalg/linalg.h"
#include "search/plan.h"
#include "solve/newton.h"

#include <math.h>
#include <string.h>

void tl_start_init(tl_start *start)
{
    *start = (tl_start){.struct_size = sizeof *start};
}

/* 1 / eps must not overflow, nor sums of it. */
static bool is_floor(double eps)
{
    return eps >= 1e-304 && eps <= 1e304;
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
    return TLNMF_OK;
}

static tlnmf_error check_rank(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t K)
{
    if (K > data->M * data->N)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "k = %lld is more than the M N = %lld x %lld entries to fit", (long long)K,
                       (long long)data->M, (long long)data->N);
    return TLNMF_OK;
}

/* X in single precision is off by 6e-8 of a frame's norm. Next to sqrt(eps), below which V does not
 * matter, that must be little: measured on the paper's data, C is then good to 1e-5. */
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

/* Data that can be worked on, but not learnt from. */
static void warn_of_triviality(tlnmf_ctx *ctx, const tlnmf_data *data)
{
    if (data->N == 1)
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
    if (data->weighted)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "frames have weights in joint diagonalisation alone: C has none");
    t->opt = *settings;
    t->goal = goals[settings->method];
    if (t->goal == TL_GOAL_AUTO && settings->exchange) /* which does both anyway */
        t->goal = TL_GOAL_TL;
    TRY(resolve_eps(ctx, data, settings, &t->eps));
    return check_precision(ctx, data, settings, t->eps);
}

static tlnmf_error prepare_diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data,
                                       const tl_settings *settings, task *t)
{
    TRY(tl_check_struct_size(ctx, settings));
    t->opt = *settings;
    t->opt.k = 1; /* not used, and need not be given */
    t->opt.method = TL_METHOD_JD;
    t->opt.exchange = t->opt.certify = 0;
    t->goal = TL_GOAL_DIAGONALISE;
    TRY(tlnmf_settings_check(ctx, &t->opt));
    if (data->weighted && t->opt.solver != TL_ALGORITHM_FAST)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "weights of frames are for solver fast");
    TRY(resolve_eps(ctx, data, &t->opt, &t->eps));
    return check_precision(ctx, data, &t->opt, t->eps);
}

tlnmf_error tl_fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                      const tl_start *start, tl_callback callback, void *user, tl_result **out)
{
    task t = {0};
    *out = NULL;
    TRY(prepare_fit(ctx, data, settings, &t));
    warn_of_triviality(ctx, data);
    return tl_search(ctx, &(tl_task){t.goal, data, &t.opt, t.eps, start, callback, user, NULL},
                     out);
}

tlnmf_error tl_diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                              const tl_start *start, tl_callback callback, void *user,
                              tl_result **out)
{
    task t = {0};
    *out = NULL;
    TRY(prepare_diagonalise(ctx, data, settings, &t));
    warn_of_triviality(ctx, data);
    return tl_search(ctx, &(tl_task){t.goal, data, &t.opt, t.eps, start, callback, user, NULL},
                     out);
}

tlnmf_error tl_memory(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                         double *bytes)
{
    task t = {0};
    *bytes = 0.0;
    if (settings->struct_size == sizeof *settings && settings->k == 0)
        TRY(prepare_diagonalise(ctx, data, settings, &t));
    else
        TRY(prepare_fit(ctx, data, settings, &t));
    tl_plan plan = tl_plan_make(data, &t.opt, t.goal);
    *bytes = tl_plan_bytes(&plan, data, &t.opt, t.eps);
    return TLNMF_OK;
}

void tl_result_describe_sized(const tl_result *result, tl_info *info, size_t size)
{
    memcpy(info, &result->info, size < sizeof *info ? size : sizeof *info);
}

const double *(const tl_result *result)->Phi
{
    return result->Phi;
}

const double *(const tl_result *result)->W
{
    return result->W;
}

const double *(const tl_result *result)->H
{
    return result->H;
}

const double *(const tl_result *result)->energy
{
    return result->energy;
}

const tl_result *(const tl_result *result)->other
{
    return result->other;
}

const tl_trace_row *tl_result_trace(const tl_result *result, int64_t *length)
{
    *length = result->trace_length;
    return result->trace_length > 0 ? result->trace : NULL;
}

/* All finite, and none negative if `nonnegative`. */
static bool is_usable(int64_t count, const double *x, bool nonnegative)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i]) || (nonnegative && x[i] < 0.0))
            return false;
    return true;
}

tlnmf_error tl_evaluate(tlnmf_ctx *ctx, const tlnmf_data *data, const double *Phi,
                           const double *W, const double *H, int64_t K, double eps, double *C,
                           double *L, double *I, double *Ganti)
{
    if (K < 1 || !is_floor(eps))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "K = %lld, eps = %g: K must be at least 1, eps in [1e-304, 1e+304]",
                       (long long)K, eps);
    if (data->weighted)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "C = L + I holds for frames without weights");
    TRY(tl_check_size(ctx, "K", K));
    if (!is_usable(data->M * data->M, Phi, false) || !is_usable(data->M * K, W, true) ||
        !is_usable(K * data->N, H, true))
        return tl_fail(ctx, TLNMF_ERR_DATA, "Phi, W, H must be finite, W and H not negative");
    const tl_model model = {.data = data, .K = K, .eps = eps, .gamma = 1.0};
    tl_engine *e;
    TRY(tl_engine_cpu.create(ctx, &(tl_engine_spec){.model = &model}, &e));
    tl_engine_load(e, Phi, W, H);
    tl_values values = tl_engine_values(e, TL_C | TL_L | TL_I);
    *C = values.C;
    *L = values.L;
    *I = values.I;
    if (Ganti != NULL)
        tl_engine_gradient(e, TL_C, Ganti);
    e->ops->free(e);
    return TLNMF_OK;
}
