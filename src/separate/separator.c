/* What has been learnt, as an object. */
#include "separate/separate.h"

#include <math.h>

void tl_separate_init(tl_separate_options *options)
{
    *options = (tl_separate_options){.struct_size = sizeof *options,
                                     .learn_frames = 600,
                                     .J = 10,
                                     .starts = 8,
                                     .seed = 1,
                                     .eps_rel = 1e-2,
                                     .method = TL_METHOD_AUTO,
                                     .basis = TL_BASIS_AUTO,
                                     .any_window = 1,
                                     .any_length = 1,
                                     .any_J = 1};
    tl_frames_init(&options->frames);
}

tlnmf_error tl_separator_new(tlnmf_ctx *ctx, int64_t M, int64_t K, tl_separator **out)
{
    tl_separator *separator, shell = {.M = M, .K = K, .hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(separator, 1), TL_SLOT(shell.Phi, M * M), TL_SLOT(shell.W, M * K)};
    *out = NULL;
    TRY(TL_ARENA(ctx, "what is learnt", table, &shell.block));
    *separator = shell;
    *out = separator;
    return TLNMF_OK;
}

void tl_separator_free(tl_separator *separator)
{
    if (separator == NULL)
        return;
    tl_hooks hooks = separator->hooks;
    tl_release(&hooks, separator->block);
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
    tl_copy((*out)->Phi, Phi, M * M);
    tl_copy((*out)->W, W, M * K);
    return TLNMF_OK;
}

void tl_separator_describe_sized(const tl_separator *separator, tl_separator_info *info,
                                    size_t size)
{
    memcpy(info, &separator->info, size < sizeof *info ? size : sizeof *info);
}

const double *(const tl_separator *separator)->Phi
{
    return separator->Phi;
}

const double *(const tl_separator *separator)->W
{
    return separator->W;
}

double tl_separate_memory(const tl_separate_options *opt, int64_t length, int64_t channels)
{
    const tl_frames *f = &opt->frames;
    double longer = opt->any_length && opt->method == TL_METHOD_AUTO ? 2.0 : 1.0;
    double M = longer * (double)f->M, C = (double)channels, S = (double)f->shifts;
    double N = (double)tl_frames_count(f, length);
    double L = fmin(N, (double)opt->learn_frames);
    double band = opt->band > 0 ? (double)opt->band : fmin(M, 400.0);
    double K = (double)opt->sources * (opt->per_source > 0 ? (double)opt->per_source : 3.0);
    double columns = fmax(512.0, S * C);
    double scene = L * (M + (double)f->hop) * C, factors = 4.0 * (M * L + (M + L) * K);
    double transforms = (4.0 + 2.0 * longer) * M * M, block = 3.0 * M * columns;
    double learning = opt->method == TL_METHOD_NMF
                          ? 0.0
                          : band * L * (S * C + 6.0 * fmin(S * C, band)) + 14.0 * band * band;
    double outputs = K * (columns / (S * C) + 4.0) * (double)f->hop * C;
    return 8.0 * (scene + factors + transforms + block + learning + outputs + K * N);
}
