/* A small fit, for the tests of this folder. */
#ifndef TLNMF_TESTS_SMALL_FIT_H
#define TLNMF_TESTS_SMALL_FIT_H

#include "support.h"

enum { S = 3, M = 8, N = 20, K = 3 };

typedef struct problem {
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tl_settings opt;
} problem;

static inline problem create(void)
{
    problem p = {.ctx = new_ctx()};
    double Y[S * M * N];
    simulate_gcm(p.ctx, (gcm_recipe){S, M, N, K, 1, 2, TL_STREAM_OWN}, Y, NULL, NULL);
    p.data = data_of(p.ctx, Y, S, M, N);
    p.opt = fit_settings(K);
    p.opt.J = 30;
    p.opt.method = TL_METHOD_TL;
    return p;
}

static inline void destroy(problem *p)
{
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
}

/* The progress function is called at every poll. */
static inline tl_info fit(problem *p, tlnmf_progress_fn report, void *user, tl_result **keep)
{
    tl_result *result;
    tlnmf_ctx_set_progress(p->ctx, report, user);
    p->ctx->monitor->every = 0.0;
    assert_ok(p->ctx, tl_fit(p->ctx, p->data, &p->opt, NULL, &result));
    tl_info info = result->info;
    if (keep != NULL)
        *keep = result;
    else
        tl_result_free(result);
    return info;
}

#endif
