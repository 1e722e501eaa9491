/* The separator: what has been learnt, as an object. */
#include "separate/separate.h"

#include <math.h>

tlnmf_error tl_separator_new(tlnmf_ctx *ctx, const tl_separator_shape *shape, tl_separator **out)
{
    int64_t M = shape->M, K = shape->K, rows = shape->spectral ? M / 2 + 1 : M;
    tl_separator *separator,
        shell = {.M = M, .K = K, .rows = rows, .opens = shape->opens, .hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(separator, 1),      TL_SLOT(shell.Phi, shape->spectral ? 0 : M * M),
                       TL_SLOT(shell.W, rows * K), TL_SLOT(shell.owner, K),
                       TL_SLOT(shell.gate, K),     TL_SLOT(shell.open, shape->opens)};
    *out = NULL;
    TRY(TL_ARENA(ctx, "what is learnt", table, &shell.memory));
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

static tlnmf_error check_info(tlnmf_ctx *ctx, const tl_separator_info *info)
{
    TRY(tl_separator_check_sources(ctx, info, 1));
    if (info->basis < TL_BASIS_DCT || info->basis > TL_BASIS_STFT)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "basis = %d is not one to separate with",
                       (int)info->basis);
    if (!(info->eps >= 1e-300 && info->eps <= 1e300))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "eps = %g is outside [1e-300, 1e+300]", info->eps);
    return tl_frames_check(ctx, &info->frames);
}

tlnmf_error tl_separator_create(tlnmf_ctx *ctx, const tl_separator_info *info, const double *Phi,
                                const double *W, tl_separator **out)
{
    *out = NULL;
    TRY(check_info(ctx, info)); /* so that K does not overflow */
    int64_t M = info->frames.M, K = info->sources * info->per_source;
    TRY(tl_check_size(ctx, "M", M));
    for (int64_t i = 0; i < M * K; i++)
        if (!(W[i] >= 0.0 && isfinite(W[i])))
            return tl_fail(ctx, TLNMF_ERR_DATA, "W must be finite and not negative");
    TRY(tl_check_orthogonal(ctx, "Phi", M, Phi));
    TRY(tl_separator_new(ctx, &(tl_separator_shape){.M = M, .K = K}, out));
    (*out)->info = *info;
    (*out)->info.outcome = TLNMF_NOT_RUN;
    tl_copy((*out)->Phi, Phi, M * M);
    tl_copy((*out)->W, W, M * K);
    for (int64_t k = 0; k < K; k++)
        (*out)->owner[k] = k / info->per_source;
    return TLNMF_OK;
}
