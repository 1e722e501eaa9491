/* The plan of a fit, and its memory. */
#include "search/plan.h"
#include "base/rng.h"
#include "engine/device.h"
#include "search/hop.h"
#include "search/starts.h"

/* The largest number of rows of a trace: the iterations, and one for all hops. */
static int64_t trace_rows(const tl_settings *opt, tl_goal goal)
{
    bool diagonalises = goal != TL_GOAL_TL && goal != TL_GOAL_NMF;
    return opt->J + 1 + (diagonalises || opt->exchange ? opt->J * opt->J_tl : 0);
}

tl_plan tl_plan_make(const tlnmf_data *data, const tl_settings *opt, tl_goal goal)
{
    bool learns = goal == TL_GOAL_TL || goal == TL_GOAL_AUTO || opt->exchange;
    tl_plan plan = {.goal = goal,
                    .K = goal == TL_GOAL_JD ? 0 : opt->k,
                    .P = tl_starts_most(opt),
                    .threads = tl_thread_count(opt->threads)};
    plan.hops = learns ? tl_hop_count(opt, data, plan.K) : 0;
    plan.trace_capacity = opt->trace || opt->trace_all ? trace_rows(opt, goal) : 0;
    plan.distributed = data->frames_comm != NULL;
    tl_plan_engine(&plan, opt, NULL);
    return plan;
}

void tl_plan_engine(tl_plan *plan, const tl_settings *opt, const tl_engine_ops *engine_or_null)
{
    int64_t starts = opt->starts == 0 ? TL_AUTO_WAVE : opt->exchange ? 2 * plan->P : plan->P;
    plan->engine = engine_or_null != NULL ? engine_or_null : tl_engine_of(opt);
    int at_once = plan->engine->at_once;
    plan->workers = (int)tl_min(at_once > 0 ? at_once : plan->threads, starts);
    if (plan->distributed) /* all processes must work on the same start */
        plan->workers = 1;
}

tl_engine_spec tl_plan_spec(const tl_plan *plan, const tl_settings *opt, const tl_model *model)
{
    tl_engine_spec spec = {
        .model = model, .frames_comm = model->data->frames_comm, .threads = plan->threads};
    if (opt->solver == TL_ALGORITHM_FAST)
        spec.moves = plan->goal == TL_GOAL_NMF ? TL_W | TL_H : TL_ALL;
    return spec;
}

tlnmf_error tl_plan_device(tlnmf_ctx *ctx, const tlnmf_data *data, tl_goal goal, tl_settings *opt)
{
    tl_plan plan = {.goal = goal, .K = goal == TL_GOAL_JD ? 0 : opt->k};
    const tl_model model = {.data = data, .K = plan.K};
    tl_engine_spec spec = tl_plan_spec(&plan, opt, &model);
    return tl_device_choose(ctx, &spec, opt);
}

double tl_plan_bytes(const tl_plan *plan, const tlnmf_data *data, const tl_settings *opt,
                     double eps)
{
    double M = (double)data->M, N = (double)data->N, K = (double)plan->K;
    double word = sizeof(double);
    double point = word * (M * M + K * (M + N)), transform = word * M * M;
    bool both = opt->exchange || plan->goal == TL_GOAL_AUTO;
    /* The search works on a copy without the columns that the floor hides. Frames of it may be
     * empty. */
    tlnmf_data shape = *data;
    double trimmed = 0.0;
    if (!tl_data_is_trim(data, eps)) {
        shape.one_each = false;
        trimmed = word * (M * (double)data->T + 3.0 * N);
    }
    const tl_model model = {.data = &shape, .K = plan->K};
    tl_engine_spec spec = tl_plan_spec(plan, opt, &model);
    double worker = (double)plan->engine->bytes(&spec) + (plan->hops > 0 ? point : 0.0);
    double results = (both ? 2.0 : 1.0) * point;
    if (both || plan->goal == TL_GOAL_JD_NMF) /* the result of JD alone */
        results += transform;
    if (plan->hops > 0 && data->frames_comm != NULL)
        results += word * K * (double)data->all;
    results += (both ? 3.0 : 2.0) * word * (double)tl_result_scores(opt);
    double shelves = opt->exchange ? 2.0 * (double)plan->P * point : 0.0;
    double streams = opt->stream == TL_STREAM_NUMPY ? (double)plan->P * sizeof(tl_rng) : 0.0;
    double rest = 64e3, each = 3072.0; /* headers and alignment: in all, and per worker */
    return plan->workers * (worker + each) + results + shelves + streams + trimmed + rest;
}
