#include "search/hop.h"

#include <math.h>
#include <string.h>

bool tl_is_small(const tlnmf_data *data, int64_t K)
{
    enum { SMALL = 2000 }; /* unknowns */
    return data->M * data->M + (data->M + data->N) * K <= SMALL;
}

int64_t tl_hop_count(const tlnmf_settings *opt, const tlnmf_data *data, int64_t K)
{
    enum { FEW = 3 };
    if (opt->hops >= 0)
        return opt->hops;
    return opt->solver == TLNMF_SOLVER_FAST && tl_is_small(data, K) ? FEW : 0;
}

tlnmf_error tl_hop_create(tlnmf_ctx *ctx, const tl_model *model, int64_t hops, tl_hop *hop)
{
    int64_t M = model->M, N = model->N, K = model->K;
    *hop = (tl_hop){.hops = hops, .hooks = ctx->hooks};
    if (hops == 0)
        return TLNMF_OK;
    tl_slot table[] = {TL_SLOT(hop->Phi, M * M), TL_SLOT(hop->W, M * K), TL_SLOT(hop->H, K * N)};
    return TL_ARENA(ctx, "basin hopping", table, &hop->block);
}

void tl_hop_free(tl_hop *hop)
{
    if (hop->block != NULL)
        tl_release(&hop->hooks, hop->block);
}

static void save(tl_hop *hop, const tl_model *model)
{
    int64_t M = model->M, N = model->N, K = model->K;
    memcpy(hop->Phi, model->Phi, (size_t)(M * M) * sizeof(double));
    memcpy(hop->W, model->W, (size_t)(M * K) * sizeof(double));
    memcpy(hop->H, model->H, (size_t)(K * N) * sizeof(double));
}

static void restore(const tl_hop *hop, tl_model *model)
{
    int64_t M = model->M, N = model->N, K = model->K;
    memcpy(model->Phi, hop->Phi, (size_t)(M * M) * sizeof(double));
    memcpy(model->W, hop->W, (size_t)(M * K) * sizeof(double));
    memcpy(model->H, hop->H, (size_t)(K * N) * sizeof(double));
    tl_model_refresh(model);
}

/* Entries times e^randn, after a hundredth of their mean, so that small ones move, too; zeros stay.
 */
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
    for (int64_t a = 0; a < M; a++) {
        model->E[a * M + a] = 0.0;
        for (int64_t b = 0; b < a; b++) {
            model->E[a * M + b] = size * tl_rng_normal(rng);
            model->E[b * M + a] = -model->E[a * M + b];
        }
    }
    tl_skew_prepare(&model->skew, model->E);
    tl_model_try(model, TL_EXP, 1.0);
    tl_model_accept(model);
}

static double C_of(tl_model *model)
{
    tl_model_weights_C(model);
    return tl_model_C(model);
}

void tl_hop_search(tl_hop *hop, tl_solver *solver, tl_run *run, uint64_t seed)
{
    const uint64_t apart = (uint64_t)1 << 40; /* from the streams that the starts are drawn from */
    tl_model *model = &solver->model;
    tl_rng rng;
    tl_rng_seed(&rng, TLNMF_STREAM_OWN, seed, apart + (uint64_t)run->start);
    double first = C_of(model), best = first;
    save(hop, model);
    for (int64_t i = 0; i < hop->hops && !tl_run_interrupted(run, TLNMF_STAGE_TL); i++) {
        tl_run again = {
            .opt = run->opt, .monitor = run->monitor, .start = run->start, .quiet = true};
        kick_factor(&rng, model->M * model->K, model->W);
        kick_factor(&rng, model->K * model->N, model->H);
        kick_Phi(&rng, model);
        tl_solve_tl(solver, &again);
        double C = C_of(model);
        if (C < best) {
            best = C;
            save(hop, model);
            run->outcome = again.outcome;
        } else {
            restore(hop, model);
        }
        run->nmf_seconds += again.nmf_seconds;
        run->transform_seconds += again.transform_seconds;
    }
    if (best < first) { /* one row for where all hops together led */
        tl_values v = tl_model_values(model);
        tl_run_record(run,
                      &(tlnmf_trace_row){TLNMF_STAGE_TL, ++run->iterations, v.C, v.L, v.I, NAN},
                      run->opt->J);
    }
}
