/* Times of the kernels, their plain-loop twins and the machine's own rates, on one thread: one JSON
 * object.
 *
 *     build/bench/kernels          times are medians of several repeats, in milliseconds */
#include "base/rng.h"
#include "linalg/linalg.h"
#include "model/model.h"
#include "model/naive.h"
#include "solve/jacobi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 7 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What is timed, with everything it needs. */
typedef struct bed {
    int64_t M, N, K;
    double *Y, *naive_V, *naive_W, *naive_H;
    tlnmf_data *data;
    tl_model model;
} bed;

typedef void (*job)(bed *b);

/* Milliseconds of one call: repeats of enough calls to fill 20 ms, the median of them. */
static double milliseconds(job run, bed *b)
{
    double times[REPEATS];
    int calls = 1;
    for (;;) {
        double since = tl_cpu_seconds();
        for (int i = 0; i < calls; i++)
            run(b);
        if (tl_cpu_seconds() - since > 0.02 || calls > 1000000)
            break;
        calls *= 2;
    }
    for (int r = 0; r < REPEATS; r++) {
        double since = tl_cpu_seconds();
        for (int i = 0; i < calls; i++)
            run(b);
        times[r] = 1e3 * (tl_cpu_seconds() - since) / calls;
    }
    qsort(times, REPEATS, sizeof *times, by_value);
    return times[REPEATS / 2];
}

static void run_mu(bed *b)
{
    tl_mu_update(&b->model.mu, b->model.eps, b->model.W, b->model.H);
}

static void run_naive_mu(bed *b)
{
    tl_naive_mu(b->M, b->N, b->K, 1.0, b->naive_V, b->model.eps, b->naive_W, b->naive_H);
}

static void run_gradient(bed *b)
{
    tl_gradient(b->data, NULL, b->model.X, b->model.U, b->model.UX, b->model.G);
}

static void run_gamma(bed *b)
{
    tl_gamma(NULL, b->M, b->N, b->model.U, b->model.V, b->model.Gamma);
}

static void run_sweep(bed *b)
{
    tl_jacobi_sweep(&b->model, 0.0);
}

static void run_exp(bed *b)
{
    tl_skew_prepare(&b->model.skew, b->model.E);
    tl_skew_exp(&b->model.skew, 1.0, b->model.G);
}

static void run_logs(bed *b)
{
    b->naive_V[0] = fabs(tl_sum_log(b->M * b->N, b->model.V, b->model.eps));
}

static void run_gemm(bed *b)
{
    tl_gemm(TL_PLAIN, TL_PLAIN, b->M, b->M, b->M, 1.0, b->model.G, b->M, b->model.Gamma, b->M, 0.0,
            b->model.skew.s, b->M);
}

static void bed_create(tlnmf_ctx *ctx, int64_t M, int64_t N, int64_t K, bed *b)
{
    tl_rng rng;
    tl_rng_seed(&rng, TLNMF_STREAM_OWN, 1, 0);
    *b = (bed){.M = M, .N = N, .K = K};
    b->Y = malloc((size_t)(M * N) * sizeof *b->Y);
    b->naive_V = malloc((size_t)(M * N) * sizeof *b->Y);
    b->naive_W = malloc((size_t)(M * K) * sizeof *b->Y);
    b->naive_H = malloc((size_t)(K * N) * sizeof *b->Y);
    for (int64_t i = 0; i < M * N; i++)
        b->Y[i] = tl_rng_normal(&rng);
    if (tlnmf_data_from_realisations(ctx, b->Y, 1, M, N, &b->data) != TLNMF_OK ||
        tl_model_create(ctx, b->data, K, 1e-2, 1.0, &b->model) != TLNMF_OK) {
        fprintf(stderr, "%s\n", tlnmf_message(ctx));
        exit(1);
    }
    for (int64_t i = 0; i < M * K; i++)
        b->naive_W[i] = b->model.W[i] = tl_rng_uniform(&rng) + 0.1;
    for (int64_t i = 0; i < K * N; i++)
        b->naive_H[i] = b->model.H[i] = tl_rng_uniform(&rng) + 0.1;
    tl_identity(M, b->model.Phi);
    tl_model_refresh(&b->model);
    tl_model_weights_C(&b->model);
    tl_mu_begin(&b->model.mu, b->model.V, b->model.U);
    memcpy(b->naive_V, b->model.V, (size_t)(M * N) * sizeof *b->Y);
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < i; j++)
            b->model.E[j * M + i] = -(b->model.E[i * M + j] = 1e-4 * tl_rng_normal(&rng));
    for (int64_t i = 0; i < M * M; i++)
        b->model.G[i] = b->model.Gamma[i] = tl_rng_normal(&rng);
}

static void bed_free(bed *b)
{
    tl_model_free(&b->model);
    tlnmf_data_free(b->data);
    free(b->Y);
    free(b->naive_V);
    free(b->naive_W);
    free(b->naive_H);
}

int main(void)
{
    static const int64_t shapes[][3] = {{200, 151, 2}, {1024, 2000, 10}, {1024, 2000, 20}};
    tlnmf_ctx *ctx;
    if (tlnmf_ctx_create(NULL, &ctx) != TLNMF_OK)
        return 1;
    printf("{\"blas\": \"%s\"", tlnmf_blas());
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        bed b;
        bed_create(ctx, shapes[i][0], shapes[i][1], shapes[i][2], &b);
        bool small = b.M <= 200;
        double M = (double)b.M, gemm = milliseconds(run_gemm, &b);
        printf(",\n \"%lldx%lld K=%lld\": {\"gemm\": %.4g, \"gemm_GFlops\": %.3g, \"mu\": %.4g",
               (long long)b.M, (long long)b.N, (long long)b.K, gemm, 2e-6 * M * M * M / gemm,
               milliseconds(run_mu, &b));
        if (small)
            printf(", \"naive_mu\": %.4g, \"sweep\": %.4g", milliseconds(run_naive_mu, &b),
                   milliseconds(run_sweep, &b));
        printf(", \"gradient\": %.4g, \"gamma\": %.4g, \"exp\": %.4g, \"logs\": %.4g}",
               milliseconds(run_gradient, &b), milliseconds(run_gamma, &b),
               milliseconds(run_exp, &b), milliseconds(run_logs, &b));
        bed_free(&b);
    }
    printf("\n}\n");
    tlnmf_ctx_free(ctx);
    return 0;
}
