/* tlnmf-mpi: the program on several processes. MPI is known in this folder only. */
#include "cli/cli.h"

#include <fcntl.h>
#include <mpi.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* MPI counts with int: longer vectors go in pieces. */
static const int64_t PIECE = (int64_t)1 << 28;

/* The sum on the first process, then a broadcast: an MPI_Allreduce may end in other bits on other
 * processes, which would then take other decisions. */
static int sum(double *x, int64_t count, void *user)
{
    MPI_Comm comm = *(MPI_Comm *)user;
    int rank, failed = MPI_Comm_rank(comm, &rank);
    for (int64_t at = 0; failed == MPI_SUCCESS && at < count; at += PIECE) {
        int n = (int)(count - at < PIECE ? count - at : PIECE);
        failed =
            MPI_Reduce(rank == 0 ? MPI_IN_PLACE : x + at, x + at, n, MPI_DOUBLE, MPI_SUM, 0, comm);
        if (failed == MPI_SUCCESS)
            failed = MPI_Bcast(x + at, n, MPI_DOUBLE, 0, comm);
    }
    return failed != MPI_SUCCESS;
}

static int broadcast(double *x, int64_t count, int32_t root, void *user)
{
    MPI_Comm comm = *(MPI_Comm *)user;
    int failed = MPI_SUCCESS;
    for (int64_t at = 0; failed == MPI_SUCCESS && at < count; at += PIECE) {
        int n = (int)(count - at < PIECE ? count - at : PIECE);
        failed = MPI_Bcast(x + at, n, MPI_DOUBLE, root, comm);
    }
    return failed != MPI_SUCCESS;
}

/* Groups live until the program ends: one of frames, one of starts. */
static void *split(int32_t group)
{
    static MPI_Comm groups[2];
    static int count;
    int rank;
    if (count == 2 || MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
        MPI_Comm_split(MPI_COMM_WORLD, group, rank, &groups[count]) != MPI_SUCCESS)
        return NULL;
    return &groups[count++];
}

/* What other processes print goes nowhere: the first one speaks for all. */
static void be_silent(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

/* Waits for the other processes, for some seconds if this one has failed: one that has failed alone
 * would wait for ever, and the others for it. */
void cli_machines_end(int code)
{
    const double patience = 10.0; /* more than a process takes to free its memory */
    const struct timespec pause = {.tv_nsec = 5000000};
    MPI_Request request;
    int all_here = 0;
    double since = MPI_Wtime();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!all_here) {
        MPI_Test(&request, &all_here, MPI_STATUS_IGNORE);
        if (!all_here && code != EXIT_DONE && MPI_Wtime() - since > patience)
            MPI_Abort(MPI_COMM_WORLD, code);
        if (!all_here)
            nanosleep(&pause, NULL);
    }
    MPI_Finalize();
}

bool cli_machines_begin(int *argc, char ***argv, int *code)
{
    static MPI_Comm world;
    int level, rank, size;
    if (*argc > 1 && strcmp((*argv)[1], "--read") == 0)
        return true; /* a reader of files, which is no process of MPI */
    if (MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) {
        *code = EXIT_INTERNAL;
        return false;
    }
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    cli_machines_values = (cli_machines){.size = size,
                                         .rank = rank,
                                         .sum = sum,
                                         .broadcast = broadcast,
                                         .user = &world,
                                         .split = split};
    if (rank > 0)
        be_silent();
    return true;
}
