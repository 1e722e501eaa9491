/* Measures which share of a whole outer iteration of paper mode, TL-NMF, is matrix products.
 *
 *     build/bench/iteration [M N K J]     default 1024 2000 10 10; one JSON object
 *
 * Products that go through BLAS are counted at each call, including trial steps of the line search.
 * The operations of the updates, 12 M N K each (see jobs.c), are listed separately. The time is CPU
 * time on one thread, read in the callback. */
#include "api/api.h"
#include "base/openmp.h"
#include "flops.h"
#include "machine.h"
#include "tlnmf/paper.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct watch {
    double seconds, flops; /* at the end of the previous iteration */
    bool running;
} watch;

static int tick(const tlnmf_record *progress, void *user)
{
    watch *w = user;
    if (tlnmf_record_get_integer(progress, "complete") != 1 ||
        strcmp(tlnmf_record_get_text(progress, "stage"), "tl") != 0)
        return 0;
    double now = tl_cpu_seconds(), flops = flops_so_far();
    if (w->running)
        printf("%s\n  {\"seconds\": %.6g, \"gemm_flops\": %.8g, \"step\": %.6g}",
               tlnmf_record_get_integer(progress, "iteration") > 2 ? "," : "", now - w->seconds,
               flops - w->flops, tlnmf_record_get_real(progress, "step"));
    *w = (watch){tl_cpu_seconds(), flops, true};
    return 0;
}

/* One realisation of the Gaussian composite model, M x N. */
static tlnmf_error simulate(tlnmf_ctx *ctx, int64_t M, int64_t N, int64_t K, tlnmf_data **data)
{
    tl_settings settings;
    tlnmf_record *sample;
    tl_settings_defaults(TL_TASK_GCM, &settings);
    settings.gcm_M = M;
    settings.gcm_N = N;
    settings.gcm_K = K;
    settings.seed_truth = 1;
    settings.seed_data = 2;
    TRY(tlnmf_simulate_gcm(ctx, &settings, &sample));
    const double *Y = tlnmf_record_get_array(sample, "Y", NULL, NULL);
    tlnmf_error error = tlnmf_data_from_realisations(ctx, Y, (int64_t[]){1, M, N}, data);
    tlnmf_record_free(sample);
    return error;
}

static tlnmf_error run(tlnmf_ctx *ctx, int64_t M, int64_t N, int64_t K, int64_t J)
{
    tl_settings opt;
    tl_settings_defaults(TL_TASK_FIT, &opt);
    opt.k = K;
    opt.J = J;
    opt.method = TL_METHOD_TL;
    opt.solver = TL_ALGORITHM_PAPER;
    opt.threads = 1;
    /* Start near a minimum, where most line searches take one trial. */
    opt.transform = TL_TRANSFORM_DCT;
    tlnmf_data *data;
    tl_result *result;
    watch w = {.running = false};
    TRY(simulate(ctx, M, N, K, &data));
    printf("{\"M\": %" PRId64 ", \"N\": %" PRId64 ", \"K\": %" PRId64
           ", \"update_flops\": %.8g, \"gemm_rate\": %.6g, \"iterations\": [",
           M, N, K, 12.0 * (double)(M * N * K * opt.J_nmf), machine_gemm(ctx, tl_min(M, 1024)));
    tlnmf_ctx_set_progress(ctx, tick, &w);
    tlnmf_error error = tl_fit(ctx, data, &opt, NULL, &result);
    printf("\n]}\n");
    tl_result_free(result);
    tlnmf_data_free(data);
    return error;
}

int main(int argc, char **argv)
{
    int64_t size[4] = {1024, 2000, 10, 10};
    for (int i = 0; i < 4 && i + 1 < argc; i++)
        size[i] = strtoll(argv[i + 1], NULL, 10);
    if (size[0] < 1 || size[1] < 1 || size[2] < 1 || size[3] < 2) {
        fprintf(stderr, "usage: iteration [M N K J], J at least 2\n");
        return 2;
    }
    tlnmf_ctx *ctx;
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 1;
    omp_set_num_threads(1); /* for the rate of products; the fit has its own option */
    tlnmf_error error = run(ctx, size[0], size[1], size[2], size[3]);
    if (error != TLNMF_OK)
        fprintf(stderr, "bench: %s\n", tlnmf_message(ctx));
    tlnmf_ctx_free(ctx);
    return error == TLNMF_OK ? 0 : 1;
}
