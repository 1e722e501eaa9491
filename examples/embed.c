/* The smallest whole use of the library: data in, a factorisation out.
 *
 *     cc embed.c $(pkg-config --cflags --libs tlnmf) -o embed */
#include <tlnmf/tlnmf.h>

#include <stdio.h>
#include <stdlib.h>

enum { S = 10, M = 10, N = 50, K = 5 };

/* One place that says what went wrong. */
static void check(const tlnmf_ctx *ctx, tlnmf_error error)
{
    if (error != TLNMF_OK) {
        fprintf(stderr, "%s error: %s\n", tlnmf_error_name(error), tlnmf_message(ctx));
        exit(1);
    }
}

int main(void)
{
    static double Y[S * M * N]; /* Y[s][m][n]: S realisations of N frames of length M */
    tlnmf_ctx *ctx;
    if (tlnmf_ctx_create(NULL, &ctx) != TLNMF_OK)
        return 1;
    check(ctx, tlnmf_simulate_gcm(ctx, S, M, N, K, 2020, 100, TLNMF_STREAM_NUMPY, Y, NULL, NULL));

    tlnmf_data *data;
    check(ctx, tlnmf_data_from_realisations(ctx, Y, S, M, N, &data));

    tlnmf_settings settings;
    tlnmf_settings_init(&settings);
    settings.k = K;
    settings.eps = 1e-8;
    settings.starts = 4;

    tlnmf_result *result;
    check(ctx, tlnmf_fit(ctx, data, &settings, NULL, NULL, NULL, &result));

    tlnmf_info info;
    tlnmf_result_describe(result, &info);
    printf("C = %.6f = L + I = %.6f + %.6f, stopped by: %s\n", info.C, info.L, info.I,
           tlnmf_outcome_name((tlnmf_outcome)info.outcome));
    printf("first row of Phi:");
    for (int m = 0; m < M; m++)
        printf(" %.3f", tlnmf_result_Phi(result)[m]);
    printf("\n");

    tlnmf_result_free(result);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return 0;
}
