/* Progress, cancelling and an own allocator: what a program with a window or a memory budget needs.
 */
#include <tlnmf/tlnmf.h>

#include <stdio.h>
#include <stdlib.h>

/* Memory that the library holds, counted by the program that embeds it. */
typedef struct budget {
    size_t blocks;
} budget;

static void *take(size_t bytes, void *user)
{
    void *block = malloc(bytes);
    ((budget *)user)->blocks += block != NULL;
    return block;
}

static void give(void *block, void *user)
{
    ((budget *)user)->blocks--;
    free(block);
}

/* Prints every tenth iteration and stops the run at the fiftieth. */
static int watch(const tlnmf_progress *progress, void *user)
{
    (void)user;
    if (progress->complete && progress->iteration % 10 == 0)
        printf("iteration %3lld of %lld: C = %.4f\n", (long long)progress->iteration,
               (long long)progress->iterations, progress->C);
    return progress->complete && progress->iteration >= 50;
}

int main(void)
{
    enum { M = 12, N = 40, K = 3 };
    static double Y[M * N];
    budget used = {0};
    tlnmf_hooks hooks;
    tlnmf_hooks_init(&hooks);
    hooks.allocate = take;
    hooks.release = give;
    hooks.user = &used;

    tlnmf_ctx *ctx = NULL;
    tlnmf_data *data = NULL;
    tlnmf_result *result = NULL;
    tlnmf_settings settings;
    tlnmf_settings_init(&settings);
    settings.k = K;
    settings.J = 1000;
    settings.threads = 1; /* so that the counter needs no lock */
    if (tlnmf_ctx_create(&hooks, &ctx) != TLNMF_OK)
        return 1;
    tlnmf_error error = tlnmf_simulate_gcm(ctx, 1, M, N, K, 1, 2, TLNMF_STREAM_OWN, Y, NULL, NULL);
    if (error == TLNMF_OK)
        error = tlnmf_data_from_realisations(ctx, Y, 1, M, N, &data);
    if (error == TLNMF_OK)
        error = tlnmf_fit(ctx, data, &settings, NULL, watch, NULL, &result);
    if (error == TLNMF_OK) {
        tlnmf_info info;
        tlnmf_result_describe(result, &info);
        printf("stopped by: %s; C = %.4f is what was reached\n",
               tlnmf_outcome_name((tlnmf_outcome)info.outcome), info.C);
    } else {
        fprintf(stderr, "%s\n", tlnmf_message(ctx));
    }
    tlnmf_result_free(result);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    printf("blocks still held: %zu\n", used.blocks);
    return error != TLNMF_OK || used.blocks != 0;
}
