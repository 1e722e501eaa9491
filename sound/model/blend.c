/* A blend as an object. */
#include "sound/model/blend.h"

tlnmf_error tl_blend_new(tlnmf_ctx *ctx, tl_blend **out)
{
    tl_slot table[] = {TL_SLOT(*out, 1)};
    void *memory;
    TRY(TL_ARENA(ctx, "a model", table, &memory));
    (*out)->hooks = ctx->hooks;
    return TLNMF_OK;
}

void tl_blend_free(tl_blend *blend)
{
    if (blend == NULL)
        return;
    tl_hooks hooks = blend->hooks; /* the blend lies in the memory it releases */
    for (int64_t i = 0; i < blend->members; i++)
        tl_separator_free(blend->member[i]);
    tl_release(&hooks, blend);
}
