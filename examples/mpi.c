/* A fit whose starts are distributed by MPI, whose sums and broadcasts the library uses. */
#include <mpi.h>
#include <stdio.h>
#include <tlnmf/tlnmf.h>

enum { M = 16, N = 60 };

/* Sums on one process and broadcasts, so that all processes get the same bits. */
static int sum(double *x, int64_t count, void *user)
{
    int rank;
    (void)user;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : x, x, (int)count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return MPI_Bcast(x, (int)count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static int broadcast(double *x, int64_t count, int32_t root, void *user)
{
    (void)user;
    return MPI_Bcast(x, (int)count, MPI_DOUBLE, root, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    const int64_t shape[3] = {1, M, N};
    static double Y[M * N];
    tlnmf_ctx *ctx;
    tlnmf_comm *sums = NULL;
    tlnmf_data *data = NULL;
    tlnmf_settings *settings = NULL;
    tlnmf_record *model = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < M * N; i++)
        Y[i] = (double)((7919 * i) % 101) / 101.0 - 0.5;
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK ||
        tlnmf_comm_create(ctx, size, rank, sum, broadcast, NULL, &sums) != TLNMF_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    tlnmf_ctx_distribute_starts(ctx, sums);
    if (tlnmf_data_from_realisations(ctx, Y, shape, &data) != TLNMF_OK ||
        tlnmf_settings_create(ctx, "fit", &settings) != TLNMF_OK ||
        tlnmf_settings_set_integer(ctx, settings, "k", 3) != TLNMF_OK ||
        tlnmf_settings_set_integer(ctx, settings, "starts", 12) != TLNMF_OK ||
        tlnmf_fit(ctx, data, settings, NULL, &model) != TLNMF_OK) {
        fprintf(stderr, "%s\n", tlnmf_message(ctx)); /* the same on every process */
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0)
        printf("start %lld of 12 is the best: C = %.9f\n",
               (long long)tlnmf_record_get_integer(model, "best_start") + 1,
               tlnmf_record_get_real(model, "C"));
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_comm_free(sums);
    tlnmf_ctx_free(ctx);
    return MPI_Finalize();
}
