/* A fit whose starts are distributed over threads. A barrier serves as transport; any other works.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tlnmf/tlnmf.h>

enum { CREW = 3, M = 16, N = 60 };

/* Shared by all threads: the vector of each thread in the current call. */
static struct {
    pthread_barrier_t barrier;
    double *x[CREW];
} shared;
static int32_t rank_of[CREW] = {0, 1, 2};
static tlnmf_ctx *ctx_of[CREW];
static tlnmf_comm *sums_of[CREW];

static int sum(double *x, int64_t count, void *user)
{
    int32_t rank = *(int32_t *)user;
    shared.x[rank] = x;
    pthread_barrier_wait(&shared.barrier);
    for (int64_t i = 0; rank == 0 && i < count;
         i++) /* one thread adds, so that all get the same bits */
        for (int32_t other = 1; other < CREW; other++)
            x[i] += shared.x[other][i];
    pthread_barrier_wait(&shared.barrier);
    if (rank > 0)
        memcpy(x, shared.x[0], (size_t)count * sizeof *x);
    pthread_barrier_wait(&shared.barrier); /* before any thread changes its x */
    return 0;
}

static int broadcast(double *x, int64_t count, int32_t root, void *user)
{
    int32_t rank = *(int32_t *)user;
    shared.x[rank] = x;
    pthread_barrier_wait(&shared.barrier);
    if (rank != root)
        memcpy(x, shared.x[root], (size_t)count * sizeof *x);
    pthread_barrier_wait(&shared.barrier);
    return 0;
}

/* One thread with its own context; all threads make the same calls. */
static void *work(void *arg)
{
    int32_t rank = *(int32_t *)arg;
    const int64_t shape[3] = {1, M, N};
    double Y[M * N];
    tlnmf_ctx *ctx = ctx_of[rank];
    tlnmf_comm *sums = sums_of[rank];
    tlnmf_data *data = NULL;
    tlnmf_settings *settings = NULL;
    tlnmf_record *model = NULL;
    for (int i = 0; i < M * N; i++)
        Y[i] = (double)((7919 * i) % 101) / 101.0 - 0.5;
    tlnmf_ctx_distribute_starts(ctx, sums);
    tlnmf_error error = tlnmf_data_from_realisations(ctx, Y, shape, &data);
    if (error == TLNMF_OK)
        error = tlnmf_settings_create(ctx, "fit", &settings);
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_integer(ctx, settings, "k", 3);
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_integer(ctx, settings, "starts", 12);
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_integer(ctx, settings, "threads", 1);
    error = tlnmf_comm_agree(ctx, sums, error); /* all continue, or none */
    if (error == TLNMF_OK)
        error = tlnmf_fit(ctx, data, settings, NULL, &model);
    if (rank == 0 && error == TLNMF_OK)
        printf("start %lld of 12 is the best: C = %.9f\n",
               (long long)tlnmf_record_get_integer(model, "best_start") + 1,
               tlnmf_record_get_real(model, "C"));
    else if (rank == 0)
        fprintf(stderr, "%s\n", tlnmf_message(ctx));
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    return error == TLNMF_OK ? NULL : "failed";
}

/* Creates what the threads need to communicate, before any thread waits for another. */
static int prepare(void)
{
    for (int r = 0; r < CREW; r++)
        if (tlnmf_ctx_create(&ctx_of[r]) != TLNMF_OK ||
            tlnmf_comm_create(ctx_of[r], CREW, r, sum, broadcast, &rank_of[r], &sums_of[r]) !=
                TLNMF_OK)
            return 0;
    return 1;
}

static void *run(void)
{
    pthread_t thread[CREW];
    void *failed = NULL, *one;
    pthread_barrier_init(&shared.barrier, NULL, CREW);
    for (int r = 0; r < CREW; r++)
        pthread_create(&thread[r], NULL, work, &rank_of[r]);
    for (int r = 0; r < CREW; r++) {
        pthread_join(thread[r], &one);
        failed = one != NULL ? one : failed;
    }
    pthread_barrier_destroy(&shared.barrier);
    return failed;
}

int main(void)
{
    void *failed = prepare() ? run() : "no memory";
    for (int r = 0; r < CREW; r++) {
        tlnmf_comm_free(sums_of[r]);
        tlnmf_ctx_free(ctx_of[r]);
    }
    return failed == NULL ? 0 : 1;
}
