/* The fast solvers: Jacobi sweeps, which find the basin, then L-BFGS, which finds its bottom. */
#include "solve/jacobi.h"
#include "solve/solve.h"

#include <math.h>

/* Few updates between sweeps early on decide the basin: with 1 or 2 the good minimum of the music
 * notes is found from most starts, with 3 from fewer (docs/benchmarks.md). */
enum { SWEEPS = 15, UPDATES = 2, JD_SWEEPS = 10, NMF_UPDATES = 10 };

/* Pairs that gain less than this part of the last sweep's mean gain are left for later. */
static const double SKIP = 1e-2;

static double least_gain(const tl_model *model, double last_gain)
{
    double pairs = 0.5 * (double)model->M * (double)(model->M - 1);
    return pairs > 0.0 ? SKIP * last_gain / pairs : 0.0;
}

/* Sweeps on C with updates of W, H in between. False, with the outcome set, when the run has to
 * end. */
static bool sweeps_C(tl_model *model, tl_run *run)
{
    double gain = 0.0;
    for (int64_t i = 0; i < SWEEPS && run->iterations < run->opt->J; i++) {
        double since = tl_wall_seconds();
        tl_mu_begin(&model->mu, model->V, model->U);
        for (int u = 0; u < UPDATES; u++)
            tl_mu_update(&model->mu, model->eps, model->W, model->H);
        double between = tl_wall_seconds();
        tl_model_weights_C(model);
        gain = tl_jacobi_sweep(model, least_gain(model, gain));
        run->nmf_seconds += between - since;
        run->transform_seconds += tl_wall_seconds() - between;
        run->iterations++;
        bool full = run->trace_room > 0;
        tl_run_record(run,
                      &(tl_trace_row){TL_STAGE_TL, run->iterations, tl_model_C(model),
                                      full ? tl_model_L(model) : NAN,
                                      full ? tl_model_I(model) : NAN, NAN},
                      run->opt->J);
        if (tl_run_interrupted(run, TL_STAGE_TL))
            return false;
    }
    return true;
}

/* Where continuation begins. Much higher, and all starts end in the same few minima; much lower,
 * and it changes nothing. */
static double top_floor(const tl_model *model)
{
    return 0.05 * model->data->mean_power;
}

/* Whether a run comes down from the top floor: from random starts only, if there is a way. */
static bool comes_from_above(const tl_model *model, const tl_run *run)
{
    return run->opt->continuation && run->roams && model->eps < top_floor(model);
}

/* From the top floor down to eps by 10^-0.2 at a time, with a short descent at each: at a high
 * floor the landscape is smooth, and its minimum is followed down. False, with the outcome set,
 * when the run has to end. */
static bool descend_floor(tl_model *model, tl_joint *joint, tl_joint_over over, tl_run *run)
{
    enum { EACH = 50 };
    const double eps = model->eps, top = top_floor(model);
    bool go_on = true;
    for (double floor = top; floor > eps && go_on; floor *= pow(10.0, -0.2)) {
        tl_run stage = {
            .opt = run->opt, .monitor = run->monitor, .start = run->start, .quiet = true};
        model->eps = floor;
        go_on = floor < top || over == TL_JOINT_PHI || sweeps_C(model, &stage);
        stage.iterations = 0;
        if (go_on)
            tl_descend(model, joint, over, &stage, EACH);
        go_on = go_on && stage.outcome != TLNMF_CANCELLED && stage.outcome != TLNMF_TIME;
        run->nmf_seconds += stage.nmf_seconds;
        run->transform_seconds += stage.transform_seconds;
        if (!go_on)
            run->outcome = stage.outcome;
    }
    model->eps = eps;
    return go_on;
}

/* L-BFGS. A model in single precision goes down as far as that can tell steps apart, and then to
 * the end in double. */
static void minimise(tl_model *model, tl_joint *joint, tl_joint_over over, tl_run *run)
{
    const double blurred = 1e-9; /* tolerance below which C's changes drown in rounding */
    if (model->mixed != NULL) {
        const tl_settings *opt = run->opt;
        tl_settings rough = *opt;
        rough.tol = fmax(opt->tol, blurred);
        rough.grad_tol = fmax(opt->grad_tol, sqrt(blurred));
        run->opt = &rough;
        tl_descend(model, joint, over, run, opt->J);
        run->opt = opt;
        tl_model_use(model, NULL);
        if (run->outcome == TLNMF_CANCELLED || run->outcome == TLNMF_TIME)
            return;
    }
    tl_descend(model, joint, over, run, run->opt->J);
}

void tl_fast_tl(tl_model *model, tl_joint *joint, tl_run *run)
{
    run->outcome = TLNMF_ITERATIONS;
    tl_model_use(model, joint->mixed);
    if (comes_from_above(model, run) ? descend_floor(model, joint, TL_JOINT_ALL, run)
                                     : sweeps_C(model, run))
        minimise(model, joint, TL_JOINT_ALL, run);
    tl_model_use(model, NULL);
}

/* Sweeps on L with a floor that comes down to eps by 10^-0.2 each. Weights 1/(V + floor) are those
 * of a tangent that lies above the logarithm, so that a sweep at fixed weights lowers the L of that
 * floor; L itself may rise on the way. At eps from the beginning, entries of V that happen to be
 * near 0 would hold their rows there: on the music notes at S = 1 that ends 85 higher. */
static bool sweeps_L(tl_model *model, tl_run *run)
{
    double since = tl_wall_seconds(), gain = 0.0;
    bool go_on = true;
    for (int64_t i = 0; i < JD_SWEEPS && run->iterations < run->opt->J && go_on; i++) {
        double floor = model->eps * pow(10.0, 0.2 * (double)(JD_SWEEPS - 1 - i));
        tl_model_weights_L_at(model, floor);
        gain = tl_jacobi_sweep(model, least_gain(model, gain));
        run->iterations++;
        tl_run_record(
            run, &(tl_trace_row){TL_STAGE_JD, run->iterations, NAN, tl_model_L(model), NAN, NAN},
            run->opt->J);
        go_on = !tl_run_interrupted(run, TL_STAGE_JD);
    }
    run->transform_seconds += tl_wall_seconds() - since;
    return go_on;
}

void tl_fast_jd(tl_model *model, tl_joint *joint, tl_run *run)
{
    run->outcome = TLNMF_ITERATIONS;
    bool go_on = true;
    tl_model_use(model, joint->mixed);
    if (comes_from_above(model, run))
        go_on = descend_floor(model, joint, TL_JOINT_PHI, run);
    else if (run->roams)
        go_on = sweeps_L(model, run);
    if (go_on)
        minimise(model, joint, TL_JOINT_PHI, run);
    tl_model_use(model, NULL);
}

void tl_fast_nmf(tl_model *model, tl_joint *joint, tl_run *run)
{
    double since = tl_wall_seconds();
    tl_mu_begin(&model->mu, model->V, model->U);
    for (int64_t u = 0; u < NMF_UPDATES; u++)
        tl_mu_update(&model->mu, model->eps, model->W, model->H);
    run->nmf_seconds += tl_wall_seconds() - since;
    tl_descend(model, joint, TL_JOINT_FACTORS, run, run->opt->J);
}
