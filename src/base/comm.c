/* The communicator: the calls with their cost, the maximum, errors that all processes agree on. */
#include "base/monitor.h"

#include <math.h>
#include <stdio.h>

tlnmf_error tlnmf_comm_create(tlnmf_ctx *ctx, int32_t size, int32_t rank, tlnmf_sum_fn sum,
                              tlnmf_broadcast_fn broadcast, void *user, tlnmf_comm **out)
{
    TL_NEED_OUT(ctx, out);
    TL_NEED(ctx, sum);
    TL_NEED(ctx, broadcast);
    if (size < 1 || rank < 0 || rank >= size)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "rank %d of %d processes does not exist", (int)rank,
                       (int)size);
    tl_comm *comm = tl_allocate(&ctx->hooks, sizeof *comm);
    if (comm == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for a communicator");
    *comm = (tl_comm){.size = size,
                      .rank = rank,
                      .sum = sum,
                      .broadcast = broadcast,
                      .user = user,
                      .hooks = ctx->hooks};
    *out = comm;
    return TLNMF_OK;
}

void tlnmf_comm_free(tlnmf_comm *comm)
{
    if (comm == NULL)
        return;
    tl_hooks hooks = comm->hooks;
    tl_release(&hooks, comm);
}

static void note(tl_comm *comm, int64_t count, double since)
{
    comm->calls++;
    comm->bytes += count * (int64_t)sizeof(double);
    comm->seconds += tl_wall_seconds() - since;
}

void tl_comm_add(tl_comm *comm, double *x, int64_t count)
{
    double since = tl_wall_seconds();
    if (comm == NULL || comm->failed || count == 0)
        return;
    comm->failed = comm->sum(x, count, comm->user) != 0;
    note(comm, count, since);
}

void tl_comm_polled(tl_comm *comm, double *x, int64_t count)
{
    x[count] = comm->monitor != NULL ? tl_monitor_vote(comm->monitor) : 0.0;
    tl_comm_add(comm, x, count + 1);
    if (comm->monitor != NULL && !comm->failed)
        tl_monitor_decide(comm->monitor, x[count]);
}

void tl_comm_few(tl_comm *comm, double *x, int64_t count)
{
    double all[TL_COMM_FEW + 1];
    if (comm == NULL)
        return;
    memcpy(all, x, (size_t)count * sizeof *x);
    tl_comm_polled(comm, all, count);
    memcpy(x, all, (size_t)count * sizeof *x);
}

double tl_comm_of(tl_comm *comm, double x)
{
    tl_comm_few(comm, &x, 1);
    return x;
}

void tl_comm_send(tl_comm *comm, double *x, int64_t count, int root)
{
    double since = tl_wall_seconds();
    if (comm == NULL || comm->failed || count == 0)
        return;
    comm->failed = comm->broadcast(x, count, root, comm->user) != 0;
    note(comm, count, since);
}

void tl_comm_broadcast(tl_comm *comm, double *x, int64_t count)
{
    tl_comm_send(comm, x, count, 0);
}

/* The maximum from sums: each process writes its x to its own entry of a vector of zeros, so the
 * sum holds all x. A vector serves AT_A_TIME processes. */
double tl_comm_max(tl_comm *comm, double x)
{
    enum { AT_A_TIME = 64 };
    double most = 0.0;
    if (comm == NULL)
        return x;
    for (int first = 0; first < comm->size; first += AT_A_TIME) {
        double each[AT_A_TIME] = {0.0};
        if (comm->rank >= first && comm->rank < first + AT_A_TIME)
            each[comm->rank - first] = x;
        int count = (int)tl_min(AT_A_TIME, comm->size - first);
        tl_comm_add(comm, each, count);
        for (int i = 0; i < count; i++)
            most = fmax(most, each[i]);
    }
    return most;
}

/* The smallest rank of a process that failed; at least one has. */
static int first_failed(tl_comm *comm, bool failed)
{
    double largest = tl_comm_max(comm, failed ? comm->size - comm->rank : 0); /* of size - rank */
    return comm->size - (int)largest;
}

/* Sends the error and message of process `root` to all. If `names_root`, the message begins with
 * its rank. */
static tlnmf_error pass_on(tlnmf_ctx *ctx, tl_comm *comm, tlnmf_error error, int root,
                           bool names_root)
{
    double packed[1 + TL_MESSAGE] = {(double)error};
    for (int i = 0; comm->rank == root && i < TL_MESSAGE; i++)
        packed[1 + i] = (double)(unsigned char)ctx->message[i];
    tl_comm_send(comm, packed, 1 + TL_MESSAGE, root);
    int length = names_root ? snprintf(ctx->message, sizeof ctx->message, "process %d: ", root) : 0;
    for (int i = 0; length + i < TL_MESSAGE; i++)
        ctx->message[length + i] = (char)(unsigned char)packed[1 + i];
    ctx->message[TL_MESSAGE - 1] = '\0';
    return ctx->error = (tlnmf_error)packed[0];
}

tlnmf_error tl_comm_agree(tlnmf_ctx *ctx, tl_comm *comm, tlnmf_error error)
{
    if (comm == NULL)
        return error;
    double failures = tl_comm_of(comm, error != TLNMF_OK);
    if (failures > 0.0 && !comm->failed) {
        int first = first_failed(comm, error != TLNMF_OK);
        bool all_failed = failures == comm->size; /* then no process is named */
        error = pass_on(ctx, comm, error, first, !all_failed);
    }
    if (!comm->failed || error != TLNMF_OK)
        return error;
    const char *cause = tl_cause_or(ctx, "");
    return tl_fail(ctx, TLNMF_ERR_CALLBACK, "a sum or broadcast over %d processes failed%s%s",
                   comm->size, cause[0] != '\0' ? ": " : "", cause);
}

tlnmf_error tlnmf_comm_agree(tlnmf_ctx *ctx, tlnmf_comm *comm, tlnmf_error error)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, comm);
    tl_cause_forget(ctx);
    return tl_comm_agree(ctx, comm, error);
}
