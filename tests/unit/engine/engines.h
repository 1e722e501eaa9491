/* Engines on small random problems, for the tests of this folder. */
#ifndef TLNMF_TESTS_ENGINES_H
#define TLNMF_TESTS_ENGINES_H

#include "support.h"

#include "engine/device.h"

/* Data of a shape and a point. If there are enough frames, one is silent and one is repeated. */
typedef struct problem {
    int64_t S, M, N, K;
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tl_model model;
    double *Phi, *W, *H;
} problem;

static inline problem new_problem(uint64_t seed, const int64_t shape[4])
{
    problem p = {.S = shape[0], .M = shape[1], .N = shape[2], .K = shape[3], .ctx = new_ctx()};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, seed, 1);
    double *Y = new_normals(&rng, p.S * p.M * p.N);
    for (int64_t i = 0; i < p.S * p.M; i++)
        for (int64_t n = 0; n < p.N; n++) {
            double *y = &Y[i * p.N + n];
            *y *= exp(cos((double)(i % p.M + 2 * n))); /* frames and rows of different power */
            if (p.N > 5 && n == 2)
                *y = 0.0;
            if (p.N > 5 && n == 4)
                *y = y[-1];
        }
    p.data = data_of(p.ctx, Y, p.S, p.M, p.N);
    free(Y);
    p.Phi = new_normals(&rng, p.M * p.M);
    assert_ok(p.ctx, tl_polar(p.ctx, p.M, p.Phi));
    p.W = new_positives(&rng, p.M * p.K);
    p.H = new_positives(&rng, p.K * p.N);
    p.model = (tl_model){.data = p.data, .K = p.K, .eps = 0.05 * p.data->mean_power, .gamma = 1.0};
    return p;
}

static inline void free_problem(problem *p)
{
    free(p->Phi);
    free(p->W);
    free(p->H);
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
}

/* An engine at the problem's point. */
static inline tl_engine *new_engine(const problem *p, const tl_engine_ops *ops, tl_comm *sums)
{
    tl_engine *e;
    tl_engine_spec spec = {.model = &p->model, .moves = TL_ALL, .frames_comm = sums};
    assert_ok(p->ctx, ops->create(p->ctx, &spec, &e));
    assert_ptr_equal(e->ops, ops);
    tl_engine_load(e, p->Phi, p->K > 0 ? p->W : NULL, p->K > 0 ? p->H : NULL);
    return e;
}

/* The GPU engine and its mixed-precision variant, or NULL after printing the reason. */
static inline const tl_engine_ops *gpu_engine(const tl_engine_ops **mixed)
{
    char why[TL_DEVICE_TEXT];
    tl_device device;
    const tl_device_library *library = tl_device_load(why);
    *mixed = NULL;
    if (library == NULL || !library->find(0, &device, why)) {
        print_message("gpu: SKIPPED: %s\n", why);
        return NULL;
    }
    print_message("gpu: %s, %.1f GB\n", device.name, 1e-9 * device.memory);
    *mixed = library->mixed;
    return library->engine;
}

static inline void free_engine(tl_engine *e)
{
    e->ops->free(e);
}

#endif
