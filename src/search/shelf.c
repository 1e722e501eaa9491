#include "search/shelf.h"

tlnmf_error tl_shelf_create(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t K, int64_t count,
                            tl_shelf *shelf)
{
    int64_t M = data->M, N = data->N;
    *shelf = (tl_shelf){.hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(shelf->Phi, count * M * M), TL_SLOT(shelf->W, count * M * K),
                       TL_SLOT(shelf->H, count * K * N)};
    return TL_ARENA(ctx, "the points put aside", table, &shelf->block);
}

void tl_shelf_free(tl_shelf *shelf)
{
    if (shelf->block != NULL)
        tl_release(&shelf->hooks, shelf->block);
}

void tl_shelf_put(tl_shelf *shelf, int64_t place, const tl_model *model)
{
    int64_t M = model->M, N = model->N, K = model->K;
    tl_copy(shelf->Phi + place * M * M, model->Phi, M * M);
    tl_copy(shelf->W + place * M * K, model->W, M * K);
    tl_copy(shelf->H + place * K * N, model->H, K * N);
}

void tl_shelf_take(const tl_shelf *shelf, int64_t place, tl_model *model)
{
    int64_t M = model->M, N = model->N, K = model->K;
    tl_copy(model->Phi, shelf->Phi + place * M * M, M * M);
    tl_copy(model->W, shelf->W + place * M * K, M * K);
    tl_copy(model->H, shelf->H + place * K * N, K * N);
}
