/* Basin hopping: when it is used, how points are perturbed, the loop. */
#include "search/hop.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

bool tl_is_small(const tlnmf_data *data, int64_t K)
{
    enum { SMALL = 2000 }; /* number of unknowns whose descents take milliseconds */
    return data->M * data->M + (data->M + data->all) * K <= SMALL;
}

int64_t tl_hop_count(const tl_settings *opt, const tlnmf_data *data, int64_t K)
{
    enum { FEW = 4 };
    if (opt->hops >= 0)
        return opt->hops;
    return opt->solver == TL_ALGORITHM_FAST && tl_is_small(data, K) ? FEW : 0;
}

/* Multiplies x + 0.01 mean(x) by e^randn, so that small entries move, too (docs/benchmarks.md).
 * Zeros stay. */
static void kick_factor(tl_rng *rng, int64_t count, double *x)
{
    double mean = 0.0;
    for (int64_t i = 0; i < count; i++)
        mean += x[i] / (double)count;
    for (int64_t i = 0; i < count; i++)
        if (x[i] > 0.0)
            x[i] = (x[i] + 0.01 * mean) * exp(tl_rng_normal(rng));
}

/* A random rotation by angles of about 3/sqrt(M): moves every row far away. */
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

/* H of all frames, wherever they are, is perturbed everywhere: which entries draw a number depends
 * on all of them. */
static void kick_H(tl_rng *rng, const tl_hops *hops, const tl_point *point)
{
    const tlnmf_data *data = hops->data;
    int64_t N = point->N, all = data->all, K = point->K;
    if (data->sums == NULL) {
        kick_factor(rng, K * N, point->H);
        return;
    }
    memset(hops->H, 0, (size_t)(K * all) * sizeof *hops->H);
    for (int64_t k = 0; k < K; k++)
        tl_copy(hops->H + k * all + data->first, point->H + k * N, N);
    tl_sums_call(data->sums, hops->H, K * all);
    kick_factor(rng, K * all, hops->H);
    for (int64_t k = 0; k < K; k++)
        tl_copy(point->H + k * N, hops->H + k * all + data->first, N);
}

static tlnmf_error kick(const tl_point *point, void *user)
{
    kicking *with = user;
    kick_factor(&with->rng, point->M * point->K, point->W);
    kick_H(&with->rng, with->hops, point);
    kick_Phi(&with->rng, point);
    return TLNMF_OK;
}

/* Where the stream is belongs to the state of a run. A stream of zeros would stay there. */
static void note_stream(tl_engine *e, tl_rng *rng)
{
    double spare[] = {rng->has_spare, rng->spare};
    tl_engine_note(e, rng->xo, sizeof rng->xo);
    tl_engine_note(e, spare, sizeof spare);
    rng->xo[0] += (rng->xo[0] | rng->xo[1] | rng->xo[2] | rng->xo[3]) == 0;
    rng->has_spare = spare[0] != 0.0;
    rng->spare = spare[1];
}

void tl_hop_search(const tl_hops *hops, const tl_solver *solver, tl_engine *e, tl_run *run)
{
    const uint64_t apart = (uint64_t)1 << 40; /* from the streams of the starts themselves */
    kicking with = {.hops = hops};
    tl_shelf *best_point = hops->best;
    tl_rng_seed(&with.rng, TL_STREAM_OWN, hops->seed, apart + (uint64_t)run->start);
    double first = tl_engine_values(e, TL_C).C, best = first;
    tl_shelf_put(best_point, 0, e);
    for (int64_t i = 0; i < hops->count && !tl_run_interrupted(e, run, TL_STAGE_TL); i++) {
        tl_run again = {
            .opt = run->opt, .monitor = run->monitor, .start = run->start, .quiet = true};
        (void)tl_engine_fill(e, TL_ALL, kick, &with); /* cannot fail */
        note_stream(e, &with.rng);
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
    if (best < first) { /* all hops together are one more iteration */
        tl_values v = tl_engine_values(e, TL_C | TL_L | TL_I);
        run->iterations++;
        double norm = tl_traced_gradient(e, run, TL_C);
        tl_run_record(run, &(tl_iteration){TL_STAGE_TL, run->iterations, v.C, v.L, v.I, NAN, norm},
                      tl_max(run->opt->J, run->iterations));
    }
}
