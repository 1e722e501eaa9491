/* A small random problem with all that a solver needs. */
#ifndef TLNMF_TESTS_FAST_PROBLEM_H
#define TLNMF_TESTS_FAST_PROBLEM_H

#include "support.h"

#include "linalg/linalg.h"
#include "solve/solve.h"

typedef struct problem {
    int64_t S, M, N, K;
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tl_model model;
    tlnmf_settings opt;
    tl_monitor monitor;
} problem;

static inline void create(problem *p, uint64_t seed, int64_t S, int64_t M, int64_t N, int64_t K)
{
    *p = (problem){.S = S, .M = M, .N = N, .K = K, .ctx = new_ctx()};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, seed, 0);
    double *Y = new_doubles(S * M * N);
    assert_ok(p->ctx, tl_simulate_gcm(p->ctx, S, M, N, K, seed, seed + 1, TL_STREAM_OWN, Y,
                                         NULL, NULL));
    assert_ok(p->ctx, tlnmf_data_from_realisations(p->ctx, Y, S, M, N, &p->data));
    free(Y);
    assert_ok(p->ctx,
              tl_model_create(p->ctx, p->data, K, 1e-3 * p->data->mean_power, 1.0, &p->model));
    for (int64_t i = 0; i < M * M; i++)
        p->model.Phi[i] = tl_rng_normal(&rng);
    assert_ok(p->ctx, tl_polar(p->ctx, M, p->model.Phi));
    for (int64_t i = 0; i < M * K; i++)
        p->model.W[i] = fabs(tl_rng_normal(&rng)) + 0.01;
    for (int64_t i = 0; i < K * N; i++)
        p->model.H[i] = p->data->mean_power * (fabs(tl_rng_normal(&rng)) + 0.01);
    tl_model_refresh(&p->model);
    tl_settings_init(&p->opt);
    p->opt.k = K;
    tl_monitor_init(&p->monitor, &p->opt, NULL, NULL, 1);
}

static inline void destroy(problem *p)
{
    tl_monitor_done(&p->monitor);
    tl_model_free(&p->model);
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
}

#endif
