/* The data of folds: realisations, neighbouring frames, and masks of entries. */
#include "base/sums.h"
#include "rank/rank.h"
#include "search/share.h"

#include <stdlib.h>

/* ---- realisations ---------------------------------------------------------------------------- */

/* Realisation s of the array that folds are made of, M x frames: one of Y or, where every B frames
 * count as realisations of one, part of one. */
static void copy_realisation(const tlnmf_data *data, int64_t B, int64_t s, double *out)
{
    int64_t M = data->M, N = data->made_of[2], frames = N / B;
    const double *y = data->Y + s / B * M * N;
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < frames; n++)
            out[m * frames + n] = y[m * N + n * B + s % B];
}

/* The weights of the frames as the user gave them: without what is present. */
static tlnmf_error take_weights(tlnmf_ctx *ctx, const tlnmf_data *from, tlnmf_data *to)
{
    double *weights;
    void *memory;
    bool counted = false;
    if (!from->weighted)
        return TLNMF_OK;
    tl_slot table[] = {TL_SLOT(weights, from->N)};
    TRY(TL_ARENA(ctx, "weights", table, &memory));
    for (int64_t n = 0; n < from->N; n++)
        counted = counted || from->present[n] > 0.0;
    for (int64_t n = 0; n < from->N; n++)
        weights[n] = !counted                 ? from->weight[n]
                     : from->present[n] > 0.0 ? from->weight[n] / from->present[n]
                                              : 0.0;
    tlnmf_error error = tlnmf_data_set_weights(ctx, to, weights);
    tl_release(&ctx->hooks, memory);
    return error;
}

/* Fold f of the realisations, or all others. */
static tlnmf_error make_part(const tl_comparison *c, const tl_rank_table *t, int fold, bool others,
                             tlnmf_data **out)
{
    const tlnmf_data *data = c->data;
    int64_t B = t->S / data->made_of[0], frames = data->made_of[2] / B, count = 0;
    double *part;
    void *memory;
    bool gaps = tlnmf_get_integer(data->record, "missing") > 0;
    tl_slot table[] = {TL_SLOT(part, t->S * data->M * frames)};
    TRY(TL_ARENA(c->ctx, "a fold", table, &memory));
    for (int64_t s = 0; s < t->S; s++)
        if ((s % t->folds == fold) != others)
            copy_realisation(data, B, s, part + count++ * data->M * frames);
    const int64_t shape[3] = {count, data->M, frames};
    tlnmf_error error = gaps ? tlnmf_data_from_incomplete(c->ctx, part, shape, out)
                             : tlnmf_data_from_realisations(c->ctx, part, shape, out);
    tl_release(&c->ctx->hooks, memory);
    if (error == TLNMF_OK && t->kind == TL_RANK_REALISATIONS)
        error = take_weights(c->ctx, data, *out);
    return error;
}

tlnmf_error tl_rank_split(const tl_comparison *c, const tl_rank_table *t, int fold,
                          tlnmf_data **train, tlnmf_data **test)
{
    *train = *test = NULL;
    tlnmf_error error = make_part(c, t, fold, true, train);
    if (error == TLNMF_OK)
        error = make_part(c, t, fold, false, test);
    error = tl_share_error(c->ctx, NULL, c->ctx->starts, error);
    if (error != TLNMF_OK) {
        tlnmf_data_free(*train);
        tlnmf_data_free(*test);
        *train = *test = NULL;
    }
    return error;
}

/* ---- entries of V ---------------------------------------------------------------------------- */

/* A number below `folds` that is the same in every run (splitmix64). */
static int scatter(int64_t i, int folds)
{
    uint64_t x = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (int)((x ^ (x >> 31)) % (uint64_t)folds);
}

/* The fold of entry i: a speckle pattern. Where that leaves a row without one of the folds: each
 * as often in all rows and columns, by diagonals that are shifted every few frames. */
static int fold_of(const tl_rank_table *t, int64_t i, int64_t N)
{
    int64_t m = i / N, n = i % N;
    if (!t->balanced)
        return scatter(i, t->folds);
    return (int)((scatter(n / t->folds, t->folds) + n + m) % t->folds);
}

bool tl_rank_is_uneven(const tl_rank_table *t, const tlnmf_data *data)
{
    bool uneven = false;
    for (int64_t m = 0; m < data->M && !uneven; m++) {
        unsigned met = 0;
        for (int64_t n = 0; n < data->N; n++)
            met |= 1u << scatter(m * data->N + n, t->folds);
        uneven = met != (1u << t->folds) - 1;
    }
    return uneven;
}

tlnmf_error tl_rank_mask(const tl_comparison *c, const tl_rank_table *t, int fold, bool others,
                         tlnmf_data *masked, double *mask, double *count)
{
    int64_t N = masked->N, size = masked->M * N;
    *count = 0.0;
    for (int64_t i = 0; i < size; i++) {
        mask[i] = (fold_of(t, i, N) == fold) != others ? 1.0 : 0.0;
        *count += mask[i];
    }
    return tlnmf_data_set_mask(c->ctx, masked, mask);
}
