#include "search/hop.h"

#include <math.h>

bool tl_is_small(const tlnmf_data *data, int64_t K)
{
    enum { SMALL = 2000 }; /* unknowns */
    return data->M * data->M + (data->M + data->N) * K <= SMALL;
}

int64_t tl_hop_count(const tl_settings *opt, const tlnmf_data *data, int64_t K)
{
    enum { FEW = 4 };
    if (opt->hops >= 0)
        return opt->hops;
    return opt->solver == TLNMF_SOLVER_FAST && tl_is_small(data, K) ? FEW : 0;
}

/* Entries, and a hundredth of their mean so that small ones move, times e^randn; zeros stay. */
static void kick_factor(tl_rng *rng, int64_t count, double *x)
{
    double mean = 0.0;
    for (int64_t i = 0; i < count; i++)
        mean += x[i] / (double)count;
    for (int64_t i = 0; i < count; i++)
        if (x[i] > 0.0)
            x[i] = (x[i] + 0.01 * mean) * exp(tl_rng_normal(rng));
}

/* A random rotation by angles of about 3/sqrt(M): every row ends up far from where it was. */
static void kick_Phi(tl_rng *rng, tl_model *model)
{
    int64_t M = model->M;
    double size = 3.0 / sqrt((double)M);
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < a; b++)
            model->E[a * M + b] = size * tl_rng_normal(rng);
    tl_skew_complete(M, model->E);
    tl_skew_prepare(&model->skew, model->E);
    tl_model_try(model, TL_EXP, 1.0);
    tl_model_accept(model);
}

static double C_of(tl_model *model)
{
    tl_model_weights_C(model);
    return tl_model_C(model);
}

void tl_hop_search(int64_t hops, tl_shelf *best_point, tl_solver *solver, tl_run *run,
                   uint64_t seed)
{
    const uint64_t apart = (uint64_t)1 << 40; /* from the streams that the starts are drawn from */
    tl_model *model = &solver->model;
    tl_rng rng;
    tl_rng_seed(&rng, TLNMF_STREAM_OWN, seed, apart + (uint64_t)run->start);
    double first = C_of(model), best = first;
    tl_shelf_put(best_point, 0, model);
    for (int64_t i = 0; i < hops && !tl_run_interrupted(run, TLNMF_STAGE_TL); i++) {
        tl_run again = {
            .opt = run->opt, .monitor = run->monitor, .start = run->start, .quiet = true};
        kick_factor(&rng, model->M * model->K, model->W);
        kick_factor(&rng, model->K * model->N, model->H);
        kick_Phi(&rng, model);
        tl_solve_tl(solver, &again);
        double C = C_of(model);
        if (C < best) {
            best = C;
            tl_shelf_put(best_point, 0, model);
            run->outcome = again.outcome;
        } else {
            tl_shelf_take(best_point, 0, model);
            tl_model_refresh(model);
        }
        run->nmf_seconds += again.nmf_seconds;
        run->transform_seconds += again.transform_seconds;
    }
    if (best < first) { /* one row for where all hops together led */
        tl_values v = tl_model_values(model);
        tl_run_record(run, &(tl_trace_row){TLNMF_STAGE_TL, ++run->iterations, v.C, v.L, v.I, NAN},
                      tl_max(run->opt->J, run->iterations));
    }
}
