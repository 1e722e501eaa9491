/* tlnmf-mpi: the program on several processes. Only this folder uses MPI. */
#include "cli/cli.h"

#include <fcntl.h>
#include <mpi.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* MPI counts are int, so longer vectors are sent in pieces. */
static const int64_t PIECE = (int64_t)1 << 28;

/* Each number is summed on one process and sent to the others. MPI_Allreduce may give different
 * bits on different processes, which would then decide differently. Few numbers are summed on the
 * first process. Of many numbers each process sums an equal part, so that no process handles them
 * all. */
static int sum_few(double *x, int count, MPI_Comm comm, int rank)
{
    int failed = MPI_Reduce(rank == 0 ? MPI_IN_PLACE : x, x, count, MPI_DOUBLE, MPI_SUM, 0, comm);
    return failed != MPI_SUCCESS ? failed : MPI_Bcast(x, count, MPI_DOUBLE, 0, comm);
}

enum { PART = 4096 }; /* numbers per step and process: 32 kB, which fit into the cache */

static int sum_many(double *x, int count, MPI_Comm comm, int size)
{
    static double own[PART]; /* one thread calls MPI */
    int each = count / size;
    int failed = MPI_Reduce_scatter_block(x, own, each, MPI_DOUBLE, MPI_SUM, comm);
    return failed != MPI_SUCCESS ? failed
                                 : MPI_Allgather(own, each, MPI_DOUBLE, x, each, MPI_DOUBLE, comm);
}

static int sum(double *x, int64_t count, void *user)
{
    const int64_t many = 1024; /* below this latency dominates, and fewer messages are better */
    MPI_Comm comm = *(MPI_Comm *)user;
    int rank, size = 1, failed = MPI_Comm_rank(comm, &rank);
    if (failed == MPI_SUCCESS)
        failed = MPI_Comm_size(comm, &size);
    for (int64_t at = 0, n; failed == MPI_SUCCESS && at < count; at += n) {
        n = count - at < (int64_t)PART * size ? count - at : (int64_t)PART * size;
        if (n >= many && n >= size)
            n = n / size * size; /* equal parts; the next step sums the rest */
        failed = n >= many && n >= size ? sum_many(x + at, (int)n, comm, size)
                                        : sum_few(x + at, (int)n, comm, rank);
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

/* There are at most two groups, of frames and of starts. They are not freed. */
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

/* Discards the output of this process. Only the first process prints. */
static void be_silent(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

/* Waits for the other processes. A process that has failed waits only some seconds and then aborts
 * all: if it failed alone, the others may wait for it for ever. */
void cli_processes_end(int code)
{
    const double patience = 10.0; /* seconds; freeing the memory of a process takes less */
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

/* The rank among the processes on this node, which use the same GPUs. */
static int rank_on_node(void)
{
    MPI_Comm node;
    int rank = 0;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) ==
        MPI_SUCCESS) {
        MPI_Comm_rank(node, &rank);
        MPI_Comm_free(&node);
    }
    return rank;
}

bool cli_processes_begin(int *argc, char ***argv, int *code)
{
    static MPI_Comm world;
    int level, rank, size;
    if (*argc > 1 && strcmp((*argv)[1], "--read") == 0)
        return true; /* the reader process does not use MPI */
    if (MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) {
        *code = EXIT_INTERNAL;
        return false;
    }
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    cli_world = (cli_processes){.size = size,
                                .rank = rank,
                                .node_rank = rank_on_node(),
                                .sum = sum,
                                .broadcast = broadcast,
                                .user = &world,
                                .split = split};
    if (rank > 0)
        be_silent();
    return true;
}
