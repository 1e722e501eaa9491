/* Sums that cross machines. Frames may be spread over several: each has its own columns of the
 * data, of X, V and H, and all of Phi and W. Whatever is a sum over frames then goes through here.
 */
#ifndef TLNMF_ENGINE_SUMS_H
#define TLNMF_ENGINE_SUMS_H

#include "base/base.h"

/* The functions belong to whoever knows the machines; on one there are none, and a pointer to a
 * tl_sums is NULL. All machines call in the same order. One engine at a time may use it. */
typedef struct tl_sums {
    int size, rank; /* machines, and which of them this is, from 0 */
    /* x (`count` numbers) becomes the sum over all machines, to the bit the same on each. */
    void (*sum)(double *x, int64_t count, void *user);
    /* x becomes what it is on machine 0. */
    void (*broadcast)(double *x, int64_t count, void *user);
    void *user;
    /* What it has cost: calls of both kinds, their bytes on one machine, and wall-clock time. */
    int64_t calls, bytes;
    double seconds;
} tl_sums;

/* The calls themselves, which count; for where there are several machines. */
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

/* The largest of the machines' x, none of which is negative. */
static inline double tl_sums_max(tl_sums *sums, double x)
{
    return sums != NULL ? tl_sums_largest(sums, x) : x;
}

/* Where a sum runs over coordinates of Phi and W, which all machines have, and of H, only the first
 * machine adds the former: this is the number of leading coordinates that this one leaves out. */
static inline int64_t tl_sums_skips(const tl_sums *sums, int64_t everywhere)
{
    return sums != NULL && sums->rank > 0 ? everywhere : 0;
}

#endif
