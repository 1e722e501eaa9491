/* The separator: a learnt model as an object. */
#include "sound/model/separator.h"

tlnmf_error tl_separator_new(tlnmf_ctx *ctx, const tl_separator_shape *shape, tl_separator **out)
{
    int64_t M = shape->M, K = shape->K, rows = shape->spectral ? M / 2 + 1 : M;
    tl_separator *separator,
        shell = {.M = M, .K = K, .rows = rows, .opens = shape->opens, .hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(separator, 1),      TL_SLOT(shell.Phi, shape->spectral ? 0 : M * M),
                       TL_SLOT(shell.W, rows * K), TL_SLOT(shell.owner, K),
                       TL_SLOT(shell.gate, K),     TL_SLOT(shell.open, shape->opens)};
    *out = NULL;
    TRY(TL_ARENA(ctx, "a separator", table, &shell.memory));
    for (int64_t k = 0; k < K; k++)
        shell.gate[k] = -1;
    *separator = shell;
    *out = separator;
    return TLNMF_OK;
}

void tl_separator_free(tl_separator *separator)
{
    if (separator == NULL)
        return;
    tl_hooks hooks = separator->hooks; /* the separator lies in the memory it releases */
    tl_release(&hooks, separator->memory);
}

tlnmf_error tl_separator_check_sources(tlnmf_ctx *ctx, const tl_separator_info *info, int least)
{
    if (info->sources < 1 || info->sources > TL_SOURCES_MAX || info->per_source < least ||
        info->per_source > TL_PER_SOURCE_MAX)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "sources = %lld, per-source = %lld: they must be in [1, %d] and [%d, %d]",
                       (long long)info->sources, (long long)info->per_source, TL_SOURCES_MAX, least,
                       TL_PER_SOURCE_MAX);
    return TLNMF_OK;
}
