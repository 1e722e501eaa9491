/* Basin hopping: when it is used, the perturbation, the loop. */
#include "search/hop.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

static int64_t factors(const tlnmf_data *data, int64_t K)
{
    return (data->M + data->all) * K;
}

bool tl_is_small(const tlnmf_data *data, int64_t K)
{
    enum { SMALL = 2000 };
    return data->M * data->M + factors(data, K) <= SMALL;
}

bool tl_is_tiny(const tlnmf_data *data, const tl_settings *opt)
{
    enum { TINY = 500 }; /* docs/measurements/starts.md */
    int64_t of_Phi = opt->method == TL_METHOD_NMF ? 0 : data->M * data->M;
    return of_Phi + factors(data, opt->k) <= TINY;
}

int64_t tl_hop_count(const tl_settings *opt, const tlnmf_data *data, int64_t K)
{
    enum { FEW = 4 };
    if (opt->hops >= 0)
        return opt->hops;
    return opt->solver == TL_ALGORITHM_FAST && tl_is_small(data, K) ? FEW : 0;
}

/* Multiplies x + 0.01 mean(x) by e^z, z normal; the shift also moves small entries
 * (docs/measurements/constants.md). Zeros stay zero. */
static void kick_factor(tl_rng *rng, int64_t count, double *x)
{
    double mean = 0.0;
    for (int64_t i = 0; i < count; i++)
        mean += x[i] / (double)count;
    for (int64_t i = 0; i < count; i++)
        if (x[i] > 0.0)
            x[i] = (x[i] + 0.01 * mean) * exp(tl_rng_normal(rng));
}

/* A random rotation by angles of about 3/sqrt(M), which moves every row far away. */
static void kick_Phi(tl_rng *rng, const tl_point *point)
{
    int64_t M = point->M;
    double size = 3.0 / sqrt((double)M), *Phi_new = point->lent.a;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < a; b++)
            point->E[a * M + b] = size * tl_rng_normal(rng);
    tl_skew_complete(M, point->E);
    tl_skew_prepare(point->skew, point->E);
    tl_skew_turn(point->skew, TL_EXP, 1.0, point->Phi, point->lent, point->Q, Phi_new);
    tl_copy(point->Phi, Phi_new, M * M);
}

typedef struct kicking {
    const tl_hops *hops;
    tl_rng rng;
} kicking;

/* If frames are distributed, every process perturbs H of all frames and keeps its own: the mean and
 * the random numbers depend on all entries. */
static void kick_H(tl_rng *rng, const tl_hops *hops, const tl_point *point)
{
    const tlnmf_data *data = hops->data;
    int64_t K = point->K;
    if (data->frames_comm == NULL) {
        kick_factor(rng, K * point->N, point->H);
        return;
    }
    tl_gather_H(data, K, point->H, hops->H);
    kick_factor(rng, K * data->all, hops->H);
    tl_scatter_H(data, K, hops->H, point->H);
}

static tlnmf_error kick(const tl_point *point, void *user)
{
    kicking *with = user;
    kick_factor(&with->rng, point->M * point->K, point->W);
    kick_H(&with->rng, with->hops, point);
    kick_Phi(&with->rng, point);
    return TLNMF_OK;
}

void tl_hop_search(const tl_hops *hops, const tl_solver *solver, tl_engine *e, tl_run *run)
{
    const uint64_t apart = (uint64_t)1 << 40; /* streams beyond those that draw the starts */
    kicking with = {.hops = hops};
    tl_shelf *best_point = hops->best;
    tl_rng_seed(&with.rng, TL_STREAM_OWN, hops->seed, apart + (uint64_t)run->start);
    double first = tl_engine_values(e, TL_C).C, best = first;
    tl_shelf_put(best_point, 0, e);
    for (int64_t i = 0; i < hops->count && !tl_run_interrupted(e, run); i++) {
        tl_run again = {
            .opt = run->opt, .monitor = run->monitor, .start = run->start, .quiet = true};
        (void)tl_engine_fill(e, TL_ALL, kick, &with); /* cannot fail */
        solver->tl(e, &again);
        double C = tl_engine_values(e, TL_C).C;
        if (C < best) {
            best = C;
            tl_shelf_put(best_point, 0, e);
            run->outcome = again.outcome;
        } else {
            tl_shelf_take(best_point, 0, e);
        }
        run->nmf_seconds += again.nmf_seconds;
        run->transform_seconds += again.transform_seconds;
    }
    if (best < first) { /* one more row of the trace, but not an iteration of the solver */
        tl_values v = tl_engine_values(e, TL_C | TL_L | TL_I);
        double norm = tl_traced_gradient(e, run, TL_C);
        tl_run_record(run,
                      (tl_trace_row){TL_STAGE_TL, run->iterations, v.C, v.L, v.I, NAN, norm,
                                     .start = run->start},
                      run->opt->J);
    }
}
