/* Small data for the tests of comparisons: unchanged, in blocks or as moving averages. */
#ifndef TLNMF_TESTS_SMALL_RANKS_H
#define TLNMF_TESTS_SMALL_RANKS_H

#include "support.h"

#include <time.h>

enum { M = 4, N = 41 };

typedef struct world {
    tlnmf_ctx *ctx;
    double *Y; /* S x M x N */
    tlnmf_data *data;
} world;

/* Variances of two kinds of frames; every `block` frames as one, or the `moving` around each. */
static inline world create(int64_t S, int64_t block, int64_t moving)
{
    const int64_t shape[3] = {S, M, N};
    world w = {.ctx = new_ctx()};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 31, (uint64_t)S);
    w.Y = new_normals(&rng, S * M * N);
    for (int64_t i = 0; i < S * M * N; i++)
        w.Y[i] *= 1.0 + (double)((i / N % M + i % N / 8) % 3);
    if (block + moving == 0)
        w.data = data_of(w.ctx, w.Y, S, M, N);
    else
        assert_ok(w.ctx, tlnmf_data_from_neighbours(w.ctx, w.Y, shape,
                                                    block > 0 ? TLNMF_NEIGHBOURS_BLOCKS
                                                              : TLNMF_NEIGHBOURS_MOVING,
                                                    block + moving, &w.data));
    assert_ok(w.ctx, tlnmf_data_set_realisations(w.ctx, w.data, w.Y, shape));
    return w;
}

static inline void destroy(world *w)
{
    tlnmf_data_free(w->data);
    free(w->Y);
    tlnmf_ctx_free(w->ctx);
}

/* Settings of a fit with these options, "a=1 b=2". */
static inline tlnmf_settings *settings_of(tlnmf_ctx *ctx, const char *options)
{
    tlnmf_settings *settings;
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, options));
    return settings;
}

static inline const double *array(const tlnmf_record *record, const char *name)
{
    const double *x = tlnmf_record_get_array(record, name, NULL, NULL);
    assert_non_null(x);
    return x;
}

#endif
