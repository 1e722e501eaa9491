/* The communicator: sums and broadcasts over several processes that work on one problem. Processes
 * distribute frames (each has its own columns of the data, of X, V and H, and a copy of Phi and W)
 * or starts (each has all data and runs some of the starts). */
#ifndef TLNMF_BASE_COMM_H
#define TLNMF_BASE_COMM_H

#include "base/base.h"

/* The caller provides the functions. On one process the pointer to a tl_comm is NULL. All processes
 * make the same calls in the same order. One engine at a time may use it. */
typedef struct tlnmf_comm {
    int size, rank; /* number of processes, and the index of this one, from 0 */
    tlnmf_sum_fn sum;
    tlnmf_broadcast_fn broadcast;
    void *user;
    /* The cost so far: calls of both kinds, bytes sent by one process, and wall time. */
    int64_t calls, bytes;
    double seconds;
    tl_monitor *monitor; /* of the call that uses it: sums of few numbers carry its vote; or NULL */
    bool failed;         /* a function has returned nonzero: no further call is made */
    tl_hooks hooks;
} tl_comm;

/* The following do nothing if the communicator is NULL. tl_comm_add sums x over all processes. */
void tl_comm_add(tl_comm *comm_or_null, double *x, int64_t count);
/* The same for few numbers, at most TL_COMM_FEW, with the monitor's vote. */
enum { TL_COMM_FEW = 7 };
void tl_comm_few(tl_comm *comm_or_null, double *x, int64_t count);
/* The sum of one number, with the monitor's vote. */
double tl_comm_of(tl_comm *comm_or_null, double x);
/* The largest x of all processes; no x may be negative. */
double tl_comm_max(tl_comm *comm_or_null, double x);
/* Replaces x by the x of process `root`, or of process 0. */
void tl_comm_send(tl_comm *comm_or_null, double *x, int64_t count, int root);
void tl_comm_broadcast(tl_comm *comm_or_null, double *x, int64_t count);
/* tl_comm_add with the monitor's vote: x must have room for one more number. The communicator
 * must not be NULL. */
void tl_comm_polled(tl_comm *comm, double *x, int64_t count);

/* All processes return the error and the message of the first process that has one, or an error if
 * a sum has failed. Unless all processes failed, the message begins with "process R: ". */
tlnmf_error tl_comm_agree(tlnmf_ctx *ctx, tl_comm *comm_or_null, tlnmf_error error);

/* For sums over the coordinates of Phi, W and H: all processes have those of Phi and W, so only the
 * first process adds them. Returns the number of leading coordinates that this process skips. */
static inline int64_t tl_comm_skips(const tl_comm *comm, int64_t everywhere)
{
    return comm != NULL && comm->rank > 0 ? everywhere : 0;
}

#endif
