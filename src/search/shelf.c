/* Points that are kept as starts for another solver. */
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

void tl_shelf_put(tl_shelf *shelf, int64_t place, const tl_engine *e)
{
    tl_engine_store(e, shelf->Phi + place * e->M * e->M, shelf->W + place * e->M * e->K,
                    shelf->H + place * e->K * e->N);
}

void tl_shelf_take(const tl_shelf *shelf, int64_t place, tl_engine *e)
{
    tl_engine_load(e, shelf->Phi + place * e->M * e->M, shelf->W + place * e->M * e->K,
                   shelf->H + place * e->K * e->N);
}
