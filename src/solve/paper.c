/* The paper's solvers, Algorithms 1 to 3, to the letter. */
#include "solve/linesearch.h"
#include "solve/solve.h"

#include <math.h>

/* E = -Ganti ./ (Gsym - shift), 0 where the denominator is at most `least`, from G and Gamma scaled
 * by `scale`: (11) and (12). Returns <E, G>, the slope of the objective along E. */
static double direction(tl_model *model, double scale, double shift, double least)
{
    int64_t M = model->M;
    double slope = 0.0;
    for (int64_t a = 0; a < M; a++) {
        for (int64_t b = 0; b < a; b++) {
            double G_anti = 0.5 * scale * (model->G[a * M + b] - model->G[b * M + a]);
            double G_sym =
                0.5 * scale * (model->Gamma[a * M + b] + model->Gamma[b * M + a]) - shift;
            double e = G_sym > least ? -G_anti / G_sym : 0.0;
            model->E[a * M + b] = e;
            slope += 2.0 * e * G_anti;
        }
    }
    tl_skew_complete(M, model->E);
    return slope;
}

/* ---- TL-NMF ---------------------------------------------------------------------------------- */

/* C along exp(aE) Phi at fixed W, H. */
typedef struct line_of_C {
    tl_model *model;
    double logs; /* sum log(Vhat + eps): the part of C that a does not change */
} line_of_C;

static double C_along(void *self, double a)
{
    line_of_C *search = self;
    tl_model *model = search->model;
    tl_model_try(model, TL_EXP, a);
    return tl_sum_product(model->M * model->N, model->V, model->eps, model->U) + search->logs;
}

/* <E, G> at the step last tried. */
static double slope_along(void *self, double a)
{
    (void)a;
    tl_model *model = ((line_of_C *)self)->model;
    tl_gradient(model->data, model->skew.arithmetic, model->X, model->U, model->UX, model->G);
    return tl_sum_product(model->M * model->M, model->E, 0.0, model->G);
}

/* One quasi-Newton step on C over Phi (10), (11). U must be that of C. False if there is none,
 * though the direction descends. */
static bool step_C(tl_model *model, double *step)
{
    tl_gradient(model->data, model->skew.arithmetic, model->X, model->U, model->UX, model->G);
    tl_gamma(model->skew.arithmetic, model->M, model->N, model->U, model->V, model->Gamma);
    double slope = direction(model, 1.0, 0.0, 0.0);
    if (slope == 0.0) { /* E = 0: Phi stays, W and H may still move */
        *step = 0.0;
        return true;
    }
    tl_skew_prepare(&model->skew, model->E);
    int64_t count = model->M * model->N;
    line_of_C search = {model, -tl_sum_log(count, model->U, 0.0)};
    double C = tl_sum_product(count, model->V, model->eps, model->U) + search.logs;
    tl_line line = {C_along, slope_along, &search};
    bool found = tl_wolfe(&line, C, slope, step);
    if (found)
        tl_model_accept(model);
    else
        tl_model_refresh(model);
    return found;
}

static bool updates(tl_model *model, tl_run *run, tlnmf_stage stage)
{
    double since = tl_wall_seconds();
    bool go_on = true;
    tl_mu_begin(&model->mu, model->V, model->U);
    for (int64_t i = 0; i < run->opt->J_nmf && go_on; i++) {
        tl_mu_update(&model->mu, model->eps, model->W, model->H);
        go_on = !tl_run_interrupted(run, stage);
    }
    run->nmf_seconds += tl_wall_seconds() - since;
    return go_on;
}

/* J_tl transform steps on C. False, with the outcome set, when the run has to end. */
static bool transform_C(tl_model *model, tl_run *run, double *step)
{
    double since = tl_wall_seconds();
    bool go_on = true;
    tl_model_weights_C(model);
    for (int64_t i = 0; i < run->opt->J_tl && go_on; i++) {
        go_on = step_C(model, step);
        if (!go_on)
            run->outcome = TLNMF_LINE_SEARCH;
        else
            go_on = !tl_run_interrupted(run, TLNMF_STAGE_TL);
    }
    run->transform_seconds += tl_wall_seconds() - since;
    return go_on;
}

void tl_paper_tl(tl_model *model, tl_run *run)
{
    int64_t J = run->opt->J;
    tl_model_weights_C(model);
    double C = tl_model_C(model);
    run->outcome = TLNMF_ITERATIONS;
    for (int64_t j = 1; j <= J; j++) {
        double before = C, step = NAN;
        if (!updates(model, run, TLNMF_STAGE_TL)) /* (7)-(9)     */
            break;
        bool go_on = transform_C(model, run, &step); /* (10), (11)  */
        C = tl_model_C(model);
        run->iterations = j;
        bool full = run->trace_room > 0;
        tl_run_record(run,
                      &(tl_trace_row){TLNMF_STAGE_TL, j, C, full ? tl_model_L(model) : NAN,
                                      full ? tl_model_I(model) : NAN, step},
                      J);
        if (!go_on || tl_run_interrupted(run, TLNMF_STAGE_TL))
            break;
        if (tl_run_settled(run, before, C)) {
            run->outcome = TLNMF_CONVERGED;
            break;
        }
    }
}

/* ---- JD -------------------------------------------------------------------------------------- */

/* Gamma of JD has V + eps where that of TL-NMF has V: adds 2 eps sum_n U_an to row a. */
static void add_floor(tl_model *model)
{
    for (int64_t a = 0; a < model->M; a++) {
        double sum = 0.0;
        for (int64_t n = 0; n < model->N; n++)
            sum += model->U[a * model->N + n];
        for (int64_t b = 0; b < model->M; b++)
            model->Gamma[a * model->M + b] += 2.0 * model->eps * sum;
    }
}

/* Halves the step from 1 until L falls below its value; false if it never does. */
static bool halve(tl_model *model, int64_t most, double *L, double *step)
{
    int64_t count = model->M * model->N;
    tl_skew_prepare(&model->skew, model->E);
    *step = 1.0;
    for (int64_t i = 0; i < most; i++, *step *= 0.5) {
        tl_model_try(model, TL_POLAR, *step);
        double L_new = (double)count + tl_sum_log(count, model->V, model->eps);
        if (L_new < *L) {
            *L = L_new;
            tl_model_accept(model);
            return true;
        }
    }
    tl_model_refresh(model);
    return false;
}

/* One quasi-Newton step on L over Phi (10), (12). False, with the outcome set, if there is none. */
static bool step_L(tl_model *model, tl_run *run, double *L, double *step)
{
    tl_model_weights_L(model);
    if (tl_model_gradient_norm(model) <= run->opt->grad_tol) { /* leaves the gradient in G */
        run->outcome = TLNMF_STATIONARY;
        return false;
    }
    tl_gamma(model->skew.arithmetic, model->M, model->N, model->U, model->V, model->Gamma);
    add_floor(model);
    direction(model, 0.5 / (double)model->N, 1.0, 1e-9);
    if (!halve(model, run->opt->halvings, L, step)) {
        run->outcome = TLNMF_LINE_SEARCH;
        return false;
    }
    return true;
}

void tl_paper_jd(tl_model *model, tl_run *run)
{
    double since = tl_wall_seconds(), L = tl_model_L(model), step = NAN;
    int64_t steps = run->opt->J * run->opt->J_tl;
    run->outcome = TLNMF_ITERATIONS;
    for (int64_t j = 1; j <= steps && step_L(model, run, &L, &step); j++) {
        run->iterations = j;
        tl_run_record(run, &(tl_trace_row){TLNMF_STAGE_JD, j, NAN, L, NAN, step}, steps);
        if (tl_run_interrupted(run, TLNMF_STAGE_JD))
            break;
    }
    run->transform_seconds += tl_wall_seconds() - since;
}

/* ---- NMF ------------------------------------------------------------------------------------- */

void tl_nmf(tl_model *model, tl_run *run)
{
    int64_t J = run->opt->J;
    double L = tl_model_L(model), C = INFINITY;
    for (int64_t j = 1; j <= J; j++) {
        double before = C;
        bool go_on = updates(model, run, TLNMF_STAGE_NMF);
        tl_model_weights_C(model);
        C = tl_model_C(model);
        run->iterations = j;
        tl_run_record(run, &(tl_trace_row){TLNMF_STAGE_NMF, j, C, L, tl_model_I(model), NAN}, J);
        if (!go_on)
            break;
        bool settled = j > 1 && tl_run_settled(run, before, C);
        run->outcome = settled ? TLNMF_CONVERGED : TLNMF_ITERATIONS;
        if (settled && !run->to_the_end)
            break;
    }
}
