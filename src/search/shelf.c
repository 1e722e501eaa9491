/* A shelf of points; H of all frames from the processes that distribute them. */
#include "search/shelf.h"
#include "base/comm.h"

tlnmf_error tl_shelf_create(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t K, int64_t count,
                            tl_shelf *shelf)
{
    int64_t M = data->M, N = data->N;
    *shelf = (tl_shelf){.hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(shelf->Phi, count * M * M), TL_SLOT(shelf->W, count * M * K),
                       TL_SLOT(shelf->H, count * K * N)};
    return TL_ARENA(ctx, "points to start from", table, &shelf->block);
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

void tl_gather_H(const tlnmf_data *data, int64_t K, const double *H, double *all)
{
    for (int64_t k = 0; k < K; k++)
        for (int64_t i = 0; i < data->all; i++) {
            int64_t n = i - data->first;
            all[k * data->all + i] = n >= 0 && n < data->N ? H[k * data->N + n] : 0.0;
        }
    tl_comm_add(data->frames_comm, all, K * data->all);
}

void tl_scatter_H(const tlnmf_data *data, int64_t K, const double *all, double *H)
{
    for (int64_t k = 0; k < K; k++)
        tl_copy(H + k * data->N, all + k * data->all + data->first, data->N);
}
