/* A small random problem, and an engine at a random point of it. */
#ifndef TLNMF_TESTS_FAST_PROBLEM_H
#define TLNMF_TESTS_FAST_PROBLEM_H

#include "support.h"

#include "solve/solver.h"

typedef struct problem {
    int64_t S, M, N, K;
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tl_model model;
    tl_engine *e;
    tl_settings opt;
    double *Phi, *W, *H; /* the start; after look(), the engine's point */
} problem;

static inline void create(problem *p, uint64_t seed, int64_t S, int64_t M, int64_t N, int64_t K)
{
    *p = (problem){.S = S, .M = M, .N = N, .K = K, .ctx = new_ctx()};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, seed, 0);
    double *Y = new_doubles(S * M * N);
    simulate_gcm(p->ctx, (gcm_recipe){S, M, N, K, seed, seed + 1, TL_STREAM_OWN}, Y, NULL, NULL);
    p->data = data_of(p->ctx, Y, S, M, N);
    free(Y);
    p->model = (tl_model){.data = p->data, .K = K, .eps = 1e-3 * p->data->mean_power, .gamma = 1.0};
    tl_engine_spec spec = {.model = &p->model, .moves = TL_ALL};
    assert_ok(p->ctx, tl_engine_cpu.create(p->ctx, &spec, &p->e));
    p->Phi = new_normals(&rng, M * M);
    p->W = new_positives(&rng, M * K);
    p->H = new_positives(&rng, K * N);
    for (int64_t i = 0; i < K * N; i++)
        p->H[i] *= p->data->mean_power;
    assert_ok(p->ctx, tl_polar(p->ctx, M, p->Phi));
    tl_engine_load(p->e, p->Phi, p->W, p->H);
    p->opt = fit_settings(K);
}

static inline void destroy(problem *p)
{
    p->e->ops->free(p->e);
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
    free(p->Phi);
    free(p->W);
    free(p->H);
}

/* Copies the engine's point to Phi, W, H. */
static inline void look(problem *p)
{
    tl_engine_store(p->e, p->Phi, p->W, p->H);
}

static inline double C_of(problem *p)
{
    return tl_engine_values(p->e, TL_C).C;
}

/* A descent over these parts, by the rules of the fast solvers. */
static inline tlnmf_outcome descend(problem *p, unsigned over, int64_t last)
{
    tl_run run = {.opt = &p->opt, .monitor = p->ctx->monitor};
    tl_descent how = tl_descent_of(p->e, &p->opt, over, last);
    tl_descend(p->e, &how, &run);
    return run.outcome;
}

#endif
