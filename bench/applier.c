/* The processor time that an applier takes for one frame: the mean, the median, the 99th percentile
 * and the most over all frames, next to the product Phi y alone.
 *
 * usage: applier [M K FRAMES [OPTIONS]]     OPTIONS: "tol=1e-6 grad-tol=1e-4" */
#include "linalg/linalg.h"
#include "tlnmf/tlnmf.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(const tlnmf_ctx *ctx, tlnmf_error error)
{
    if (error == TLNMF_OK)
        return;
    fprintf(stderr, "%s\n", tlnmf_message(ctx));
    exit(1);
}

/* The DCT with K made-up spectra, each a few peaks. */
static tlnmf_record *make_model(tlnmf_ctx *ctx, int64_t M, int64_t K)
{
    tlnmf_record *model;
    double *Phi, *W;
    check(ctx, tlnmf_record_create(ctx, &model));
    check(ctx, tlnmf_record_new_array(ctx, model, "Phi", 2, (int64_t[]){M, M}, &Phi));
    check(ctx, tlnmf_record_new_array(ctx, model, "W", 2, (int64_t[]){M, K}, &W));
    check(ctx, tlnmf_transform_matrix(ctx, "dct", M, Phi));
    check(ctx, tlnmf_record_set_real(ctx, model, "eps", 1e-3));
    for (int64_t k = 0; k < K; k++) {
        double sum = 0.0;
        for (int64_t m = 0; m < M; m++)
            sum += W[m * K + k] = exp(-40.0 * fabs(sin(0.01 * (double)((k + 3) * m)))) + 1e-4;
        for (int64_t m = 0; m < M; m++)
            W[m * K + k] /= sum;
    }
    return model;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int64_t M = argc > 1 ? strtoll(argv[1], NULL, 10) : 1024;
    int64_t K = argc > 2 ? strtoll(argv[2], NULL, 10) : 16;
    int64_t frames = argc > 3 ? strtoll(argv[3], NULL, 10) : 200;
    double *y = malloc((size_t)M * sizeof *y), *x = malloc((size_t)M * sizeof *x);
    double *h = malloc((size_t)K * sizeof *h), fitting = 0.0, product = 0.0;
    double *took = calloc((size_t)frames + 1, sizeof *took);
    tlnmf_ctx *ctx;
    tlnmf_settings *settings;
    tlnmf_applier *applier;
    if (y == NULL || x == NULL || h == NULL || took == NULL || frames < 1 ||
        tlnmf_ctx_create(&ctx) != TLNMF_OK)
        exit(1);
    tlnmf_record *model = make_model(ctx, M, K);
    const double *Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL);
    check(ctx, tlnmf_settings_create(ctx, "apply", &settings));
    check(ctx, tlnmf_settings_set_all(ctx, settings, argc > 4 ? argv[4] : ""));
    check(ctx, tlnmf_applier_create(ctx, model, settings, &applier));
    for (int64_t n = 0; n < frames; n++) {
        for (int64_t m = 0; m < M; m++)
            y[m] = sin(0.05 * (double)(m * (n % 7 + 1))) + 0.1 * cos((double)(m * m + n));
        double since = tl_cpu_seconds();
        check(ctx, tlnmf_applier_frame(ctx, applier, y, h, NULL));
        took[n] = tl_cpu_seconds() - since;
        fitting += took[n];
        since = tl_cpu_seconds();
        tl_gemm(TL_PLAIN, TL_PLAIN, M, 1, M, 1.0, Phi, M, y, 1, 0.0, x, 1);
        product += tl_cpu_seconds() - since;
    }
    qsort(took, (size_t)frames, sizeof *took, by_size);
    printf("M = %lld, K = %lld, %lld frames: mean %.3f ms, median %.3f, 99 %% %.3f, most %.3f; "
           "Phi y alone %.3f ms\n",
           (long long)M, (long long)K, (long long)frames, 1e3 * fitting / (double)frames,
           1e3 * took[frames / 2], 1e3 * took[frames * 99 / 100], 1e3 * took[frames - 1],
           1e3 * product / (double)frames);
    tlnmf_applier_free(applier);
    tlnmf_settings_free(settings);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
    free(y);
    free(x);
    free(h);
    free(took);
    return 0;
}
