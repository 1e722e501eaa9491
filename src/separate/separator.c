/* The separator: what has been learnt, as an object. */
#include "separate/separate.h"

#include <math.h>

tlnmf_error tl_separator_new(tlnmf_ctx *ctx, int64_t M, int64_t K, tl_separator **out)
{
    tl_separator *separator, shell = {.M = M, .K = K, .hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(separator, 1), TL_SLOT(shell.Phi, M * M), TL_SLOT(shell.W, M * K)};
    *out = NULL;
    TRY(TL_ARENA(ctx, "what is learnt", table, &shell.memory));
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

static tlnmf_error check_info(tlnmf_ctx *ctx, const tl_separator_info *info)
{
    if (info->sources < 1 || info->sources > TL_SOURCES_MAX || info->per_source < 1 ||
        info->per_source > TL_PER_SOURCE_MAX)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "sources = %lld, per-source = %lld: at most %d and %d can be",
                       (long long)info->sources, (long long)info->per_source, TL_SOURCES_MAX,
                       TL_PER_SOURCE_MAX);
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
    TRY(tl_separator_new(ctx, M, K, out));
    (*out)->info = *info;
    (*out)->info.outcome = TLNMF_NOT_RUN;
    tl_copy((*out)->Phi, Phi, M * M);
    tl_copy((*out)->W, W, M * K);
    return TLNMF_OK;
}
