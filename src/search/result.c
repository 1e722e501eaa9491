/* The result of a fit: creation, values, comparison of both methods. */
#include "search/search.h"
#include "search/starts.h"

#include <math.h>
#include <string.h>

void tl_trace_values(const tl_trace_row *row, double x[TL_TRACE_COLUMNS])
{
    const double values[TL_TRACE_COLUMNS] = {(double)row->stage,
                                             (double)row->iteration,
                                             row->C,
                                             row->L,
                                             row->I,
                                             row->step,
                                             row->gradient,
                                             row->seconds,
                                             (double)row->start};
    memcpy(x, values, sizeof values);
}

/* A number of a forged checkpoint may not fit an integer. */
static int64_t integer_of(double x)
{
    return fabs(x) < 1e18 ? (int64_t)x : 0;
}

tl_trace_row tl_trace_of_values(const double x[TL_TRACE_COLUMNS])
{
    return (tl_trace_row){integer_of(x[0]), integer_of(x[1]), x[2], x[3], x[4], x[5], x[6], x[7],
                          integer_of(x[8])};
}

tlnmf_error tl_trace_create(tlnmf_ctx *ctx, int64_t rows, tl_trace_row **out)
{
    *out = NULL;
    if (rows == 0)
        return TLNMF_OK;
    size_t bytes;
    if (__builtin_mul_overflow(rows, sizeof **out, &bytes))
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE, "a trace of %lld rows would not fit",
                       (long long)rows);
    *out = tl_allocate(&ctx->hooks, bytes); /* not zeroed: only the rows in use take memory */
    if (*out == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for a trace of %lld rows",
                       (long long)rows);
    return TLNMF_OK;
}

int64_t tl_result_scores(const tl_settings *opt)
{
    return (opt->exchange ? 2 : 1) * tl_starts_most(opt) + 1;
}

tlnmf_error tl_result_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                             int64_t K, int64_t trace_capacity, tl_result **out)
{
    int64_t M = data->M, N = data->N;
    tl_result *result, shell = {.hooks = ctx->hooks,
                                .trace_capacity = trace_capacity,
                                .scores = tl_result_scores(opt)};
    *out = NULL;
    tl_slot table[] = {TL_SLOT(result, 1),       TL_SLOT(shell.Phi, M * M),
                       TL_SLOT(shell.W, M * K),  TL_SLOT(shell.H, K * N),
                       TL_SLOT(shell.energy, M), TL_SLOT(shell.score, shell.scores)};
    TRY(TL_ARENA(ctx, "the result", table, &shell.block));
    tlnmf_error error = tl_trace_create(ctx, trace_capacity, &shell.trace);
    if (error != TLNMF_OK) {
        tl_release(&ctx->hooks, shell.block);
        return error;
    }
    shell.info = (tl_info){.M = M,
                           .N = N,
                           .all = data->all,
                           .first = data->first,
                           .entries = tl_data_entries(data),
                           .realisations = tl_data_replicates(data),
                           .missing = data->missing,
                           .offset = tl_data_offset(data),
                           .K = K,
                           .C = INFINITY,
                           .L = INFINITY,
                           .I = INFINITY,
                           .starts = opt->exchange ? 2 * opt->starts : opt->starts,
                           .best_start = -1,
                           .certificate = NAN,
                           .C_tl = NAN,
                           .I_tl = NAN,
                           .C_jd = NAN,
                           .L_jd = NAN,
                           .I_jd = NAN,
                           .chain = -1};
    for (int64_t p = 0; p < shell.scores; p++)
        shell.score[p] = NAN;
    *result = shell;
    *out = result;
    return TLNMF_OK;
}

void tl_result_free(tl_result *result)
{
    if (result == NULL)
        return;
    tl_result_free(result->other);
    tl_hooks hooks = result->hooks; /* the block holds the object itself */
    tl_release(&hooks, result->trace);
    tl_release(&hooks, result->block);
}

void tl_result_store(tl_result *result, const tl_engine *e, tl_values values)
{
    tl_engine_store(e, result->Phi, result->W, result->H);
    result->info.C = values.C;
    result->info.L = values.L;
    result->info.I = values.I;
}

void tl_result_count(tl_result *result, double best)
{
    /* docs/measurements/constants.md */
    const double per_entry = 1e-6, relative = 1e-8;
    tl_info *info = &result->info;
    for (int64_t p = 0; p < result->scores; p++)
        best = fmin(best, result->score[p]);
    double most = best + per_entry * info->entries + relative * fabs(best);
    info->completed = info->agree = 0;
    for (int64_t p = 0; p < result->scores; p++) {
        info->completed += !isnan(result->score[p]);
        info->agree += result->score[p] <= most;
    }
}

/* ---- reported values ------------------------------------------------------------------------- */

/* The L that JD reaches from the current Phi. */
static double descend_L(const tl_settings *opt, tl_monitor *monitor, tl_engine *e, int32_t *outcome)
{
    tl_run run = {.opt = opt, .monitor = monitor};
    tl_solver_of(opt)->jd(e, &run);
    *outcome = (int32_t)run.outcome;
    return tl_engine_values(e, TL_L).L;
}

/* If the floor is low and frames with a weight have singular covariances, L has many minima, and
 * one descent does not find the lowest. `low` is the fraction of the mean power at which fast.c
 * begins its continuation: a lower floor does not smooth L enough. */
static bool is_hard(const tl_info *info, const tl_settings *opt, const tl_engine *e)
{
    const double low = 0.05;
    return info->singular && e->eps < low * e->mean_power && !opt->continuation;
}

/* Why the certificate, which assumes that the run found the least L, may be wrong or worthless.
 * Data that defeat the model are checked first, then a diagonalisation that did not finish, since
 * it explains the other reasons. */
static tl_doubt doubt_of(const tl_info *info, tl_goal goal, const tl_settings *opt,
                         const tl_engine *e)
{
    const double rounding = 1e-9;
    if (info->offset > 0.0)
        return TL_DOUBT_OFFSET;
    if (info->hidden > TL_HIDDEN_MOST)
        return TL_DOUBT_HIDDEN;
    if (info->jd_outcome == TLNMF_OUTCOME_TIME || info->jd_outcome == TLNMF_OUTCOME_CANCELLED ||
        info->jd_outcome == TLNMF_OUTCOME_NOT_RUN)
        return TL_DOUBT_CUT;
    if (info->jd_outcome == TLNMF_OUTCOME_ITERATIONS)
        return TL_DOUBT_ITERATIONS;
    if (goal == TL_GOAL_TL && info->L < info->L_jd - rounding * fabs(info->L_jd))
        return TL_DOUBT_LOWER_L;
    return is_hard(info, opt, e) ? TL_DOUBT_SINGULAR : TL_NO_DOUBT;
}

static void certify(tl_info *info, tl_goal goal, const tl_settings *opt, tl_monitor *monitor,
                    tl_engine *e)
{
    bool both = goal == TL_GOAL_TL && !isnan(info->L_jd);
    bool descends = goal == TL_GOAL_TL && !both && opt->certify;
    double least = both ? fmin(info->L_jd, info->L) : info->L;
    info->doubt = TL_NO_DOUBT;
    if (!(goal == TL_GOAL_JD_NMF || both || descends))
        return;
    if (descends) {
        info->jd_outcome = tl_stopped(monitor);
        if (info->jd_outcome == TLNMF_OUTCOME_NOT_RUN)
            least = descend_L(opt, monitor, e, &info->jd_outcome);
    }
    info->doubt = (int32_t)doubt_of(info, goal, opt, e);
    if (info->doubt == TL_NO_DOUBT)
        info->certificate = info->C - least;
}

/* The share of the power that lies below the floor. The power of an offset does not count unless
 * Phi is fixed: then the data may be amplitudes, which have a mean. */
static double hidden_share(const tl_result *result, tl_goal goal, double below)
{
    double power = 0.0, offset = goal == TL_GOAL_NMF ? 0.0 : result->info.offset;
    for (int64_t m = 0; m < result->info.M; m++)
        power += result->energy[m];
    return below > 0.0 ? below / fmax(power * (1.0 - offset), below) : 0.0;
}

/* Recomputes everything from the kept (Phi, W, H). */
void tl_result_measure(tl_result *result, tl_goal goal, const tl_settings *opt, tl_monitor *monitor,
                       tl_engine *e)
{
    static const struct {
        tl_method method;
        tl_stage stage;
    } of[] = {[TL_GOAL_TL] = {TL_METHOD_TL, TL_STAGE_TL},
              [TL_GOAL_JD_NMF] = {TL_METHOD_JD, TL_STAGE_JD},
              [TL_GOAL_NMF] = {TL_METHOD_NMF, TL_STAGE_NMF},
              [TL_GOAL_JD] = {TL_METHOD_JD, TL_STAGE_JD}};
    bool of_L = goal == TL_GOAL_JD_NMF || goal == TL_GOAL_JD;
    tl_info *info = &result->info;
    tl_engine_load(e, result->Phi, result->W, result->H);
    tl_result_store(result, e, tl_engine_values(e, TL_C | TL_L | TL_I));
    info->method = (int32_t)of[goal].method;
    if (goal != TL_GOAL_JD_NMF) /* JD+NMF has set it */
        info->outcome_of = (int32_t)of[goal].stage;
    info->eps = e->eps;
    tl_inspection found = {.energy = result->energy};
    tl_engine_inspect(e, &found);
    info->orthogonality = found.orthogonality;
    info->below_floor = found.below_floor;
    info->hidden = hidden_share(result, goal, found.power_below);
    info->gradient_norm = tl_engine_gradient(e, of_L ? TL_L : TL_C, NULL);
    certify(info, goal, opt, monitor, e);
}

void tl_result_compare(tl_info *info, const tl_info *tl, const tl_info *jd)
{
    /* Rounding errors between equal values: I is a difference of C and L. */
    const double slack = 1e-9, rounding = slack * (fabs(jd->C) + fabs(jd->L));
    info->C_tl = tl->C;
    info->I_tl = tl->I;
    info->C_jd = jd->C;
    info->L_jd = jd->L;
    info->I_jd = jd->I;
    info->jd_outcome = jd->jd_outcome;
    info->chain =
        tl->I <= jd->I + rounding && tl->C <= jd->C + rounding && jd->L <= tl->L + rounding;
}

void tl_result_clear_silent(const tlnmf_data *data, tl_result *result)
{
    int64_t N = data->N, K = result->info.K;
    for (int64_t n = 0; data->B != NULL && n < N; n++)
        for (int64_t k = 0; k < K && tl_data_is_silent(data, n); k++)
            result->H[k * N + n] = 0.0;
}
