/* Basin hopping: when it is used, how points are perturbed, the loop. */
#include "search/hop.h"
#include "base/rng.h"

#include <math.h>

bool tl_is_small(const tlnmf_data *data, int64_t K)
{
    enum { SMALL = 2000 }; /* number of unknowns whose descents take milliseconds */
    return data->M * data->M + (data->M + data->N) * K <= SMALL;
}

int64_t tl_hop_count(const tl_settings *opt, const tlnmf_data *data, int64_t K)
{
    enum { FEW = 4 };
    if (opt->hops >= 0)
        return opt->hops;
    return opt->solver == TL_ALGORITHM_FAST && tl_is_small(data, K) ? FEW : 0;
}

/* Multiplies x + 0.01 mean(x) by e^randn, so that small entries move, too. Zeros stay. */
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

static tlnmf_error kick(const tl_point *point, void *rng)
{
    kick_factor(rng, point->M * point->K, point->W);
    kick_factor(rng, point->K * point->N, point->H);
    kick_Phi(rng, point);
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

void tl_hop_search(int64_t hops, tl_shelf *best_point, const tl_solver *solver, tl_engine *e,
                   tl_run *run, uint64_t seed)
{
    const uint64_t apart = (uint64_t)1 << 40; /* from the streams of the starts themselves */
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, seed, apart + (uint64_t)run->start);
    double first = tl_engine_values(e, TL_C).C, best = first;
    tl_shelf_put(best_point, 0, e);
    for (int64_t i = 0; i < hops && !tl_run_interrupted(e, run, TL_STAGE_TL); i++) {
        tl_run again = {
            .opt = run->opt, .monitor = run->monitor, .start = run->start, .quiet = true};
        (void)tl_engine_fill(e, TL_ALL, kick, &rng); /* cannot fail */
        note_stream(e, &rng);
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
