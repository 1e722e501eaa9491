/* Global sums: sums over frames that cross machines. Frames may be spread over several machines:
 * each has its own columns of the data, of X, V and H, and a copy of Phi and W. Every sum over
 * frames goes through here. */
#ifndef TLNMF_ENGINE_SUMS_H
#define TLNMF_ENGINE_SUMS_H

#include "base/base.h"

/* The functions come from the caller who knows the machines. On one machine there are none: the
 * pointer to a tl_sums is NULL. All machines make the same calls in the same order. One engine at a
 * time may use it. */
typedef struct tl_sums {
    int size, rank; /* number of machines, and the index of this one, from 0 */
    /* Replaces x (`count` numbers) by the sum over all machines, bit for bit the same on each. */
    void (*sum)(double *x, int64_t count, void *user);
    /* Replaces x by that of machine 0. */
    void (*broadcast)(double *x, int64_t count, void *user);
    void *user;
    /* The cost so far: calls of both kinds, bytes sent by one machine, and wall time. */
    int64_t calls, bytes;
    double seconds;
} tl_sums;

/* The calls, which update the cost. For several machines only: see below for calls that take
 * NULL. */
void tl_sums_call(tl_sums *sums, double *x, int64_t count);
void tl_sums_send(tl_sums *sums, double *x, int64_t count);
double tl_sums_largest(tl_sums *sums, double x);

static inline void tl_sums_add(tl_sums *sums, double *x, int64_t count)
{
    if (sums != NULL)
        tl_sums_call(sums, x, count);
}

/* One number. */
static inline double tl_sums_of(tl_sums *sums, double x)
{
    tl_sums_add(sums, &x, 1);
    return x;
}

static inline void tl_sums_broadcast(tl_sums *sums, double *x, int64_t count)
{
    if (sums != NULL)
        tl_sums_send(sums, x, count);
}

/* The largest x of all machines; no x may be negative. */
static inline double tl_sums_max(tl_sums *sums, double x)
{
    return sums != NULL ? tl_sums_largest(sums, x) : x;
}

/* For sums over coordinates of Phi and W, which all machines have, and of H: only the first machine
 * adds the former. Returns how many leading coordinates this machine leaves out. */
static inline int64_t tl_sums_skips(const tl_sums *sums, int64_t everywhere)
{
    return sums != NULL && sums->rank > 0 ? everywhere : 0;
}

#endif
