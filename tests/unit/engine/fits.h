/* Complete fits on a given engine, for the tests of solvers. */
#ifndef TLNMF_TESTS_FITS_H
#define TLNMF_TESTS_FITS_H

#include "support.h"

#include "search/search.h"

typedef struct fit {
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tl_settings opt;
    double eps;
} fit;

/* Y has the shape {S, M, N}. */
static inline fit fit_of(tlnmf_ctx *ctx, const double *Y, const int64_t shape[3], int64_t K,
                         double eps)
{
    return (fit){.ctx = ctx,
                 .data = data_of(ctx, Y, shape[0], shape[1], shape[2]),
                 .opt = fit_settings(K),
                 .eps = eps};
}

/* The paper's Gaussian data. */
static inline fit fit_of_gcm(int64_t S)
{
    enum { M = 10, N = 50, K = 5 };
    tlnmf_ctx *ctx = new_ctx();
    double *Y = new_doubles(S * M * N);
    simulate_gcm(ctx, (gcm_recipe){S, M, N, K, 2020, 100, TL_STREAM_NUMPY}, Y, NULL, NULL);
    fit p = fit_of(ctx, Y, (int64_t[]){S, M, N}, K, 1e-8);
    free(Y);
    p.opt.seed = 2021;
    p.opt.stream = TL_STREAM_NUMPY;
    return p;
}

static inline void free_fit(fit *p)
{
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
}

static inline tl_result *run_fit(fit *p, tl_goal goal, const tl_engine_ops *engine)
{
    tl_result *result;
    tl_search_task task = {
        .goal = goal, .data = p->data, .opt = &p->opt, .eps = p->eps, .engine = engine};
    assert_ok(p->ctx, tl_search(p->ctx, &task, &result));
    return result;
}

#endif
