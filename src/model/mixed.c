#include "model/model.h"

enum { VECTOR = 16 }; /* floats that rows are padded to */

static int64_t padded(int64_t length)
{
    return (length + VECTOR - 1) / VECTOR * VECTOR;
}

/* The longest inner dimension of a product: of Phi R, of (10), of a panel of the gradient. */
static int64_t inner(const tlnmf_data *data)
{
    return tl_max(tl_max(data->M, data->N), tl_gradient_room(data) / data->M);
}

static void lay_out(tl_mixed *mixed, const tlnmf_data *data, tl_slot table[3])
{
    int64_t M = data->M;
    mixed->X_stride = padded(data->T);
    mixed->Phi_stride = padded(M);
    const tl_slot parts[] = {TL_SLOT(mixed->X, M * mixed->X_stride),
                             TL_SLOT(mixed->Phi, M * mixed->Phi_stride),
                             TL_SLOT(mixed->U, (int64_t)2 * TL_SWEEP_BLOCK * mixed->X_stride)};
    memcpy(table, parts, sizeof parts);
}

size_t tl_mixed_bytes(const tlnmf_data *data)
{
    tl_mixed mixed;
    tl_slot table[3];
    lay_out(&mixed, data, table);
    return TL_ARENA_BYTES(table) + tl_single_bytes(data->M, inner(data));
}

tlnmf_error tl_mixed_create(tlnmf_ctx *ctx, const tlnmf_data *data, tl_mixed *mixed)
{
    *mixed = (tl_mixed){.hooks = ctx->hooks};
    tl_slot table[3];
    lay_out(mixed, data, table);
    TRY(TL_ARENA(ctx, "sweeps in single precision", table, &mixed->block));
    return tl_single_create(ctx, data->M, inner(data), &mixed->products);
}

void tl_mixed_free(tl_mixed *mixed)
{
    if (mixed->products.block != NULL)
        tl_single_free(&mixed->products);
    if (mixed->block != NULL)
        tl_release(&mixed->hooks, mixed->block);
}

void tl_model_use(tl_model *model, const tl_mixed *mixed)
{
    bool back = model->mixed != NULL && mixed == NULL;
    model->mixed = mixed;
    model->skew.arithmetic = mixed != NULL ? &mixed->products.arithmetic : &tl_double;
    if (back) {
        tl_orthogonalise(&model->skew, tl_model_lend(model), model->Phi);
        tl_model_refresh(model);
    }
}
