/* Global sums: sums and broadcasts over several machines that work on one problem. Machines share
 * out frames (each has its own columns of the data, of X, V and H, and a copy of Phi and W: every
 * sum over frames goes through here) or starts (each has all data and runs some of the starts). */
#ifndef TLNMF_BASE_SUMS_H
#define TLNMF_BASE_SUMS_H

#include "base/base.h"

/* The functions come from the caller who knows the machines. On one machine there are none: the
 * pointer to a tl_sums is NULL. All machines make the same calls in the same order. One engine at a
 * time may use it. */
typedef struct tlnmf_sums {
    int size, rank; /* number of machines, and the index of this one, from 0 */
    tlnmf_sum sum;
    tlnmf_broadcast broadcast;
    void *user;
    /* The cost so far: calls of both kinds, bytes sent by one machine, and wall time. */
    int64_t calls, bytes;
    double seconds;
    /* A wish to stop rides with sums of few numbers, so that it costs none of its own: what this
     * machine wishes for, and the sum of all wishes at the last such sum. */
    double wish, wished;
    bool failed; /* a function has returned nonzero: no further call is made */
    tl_hooks hooks;
} tl_sums;

/* The calls, which update the cost. For several machines only: see below for calls that take
 * NULL. */
void tl_sums_call(tl_sums *sums, double *x, int64_t count);
void tl_sums_send(tl_sums *sums, double *x, int64_t count, int root);
double tl_sums_largest(tl_sums *sums, double x);
void tl_sums_with_wish(tl_sums *sums, double *x, int64_t count);

/* All machines return the same error with the same message: those of the first machine that has
 * one. Also an error if a sum has failed. */
tlnmf_error tl_sums_agree(tlnmf_ctx *ctx, tl_sums *sums_or_null, tlnmf_error error);

static inline void tl_sums_add(tl_sums *sums, double *x, int64_t count)
{
    if (sums != NULL)
        tl_sums_call(sums, x, count);
}

/* Few numbers, at most TL_SUMS_FEW. */
enum { TL_SUMS_FEW = 7 };
static inline void tl_sums_few(tl_sums *sums, double *x, int64_t count)
{
    if (sums != NULL)
        tl_sums_with_wish(sums, x, count);
}

/* One number. */
static inline double tl_sums_of(tl_sums *sums, double x)
{
    tl_sums_few(sums, &x, 1);
    return x;
}

/* Replaces x by that of machine 0. */
static inline void tl_sums_broadcast(tl_sums *sums, double *x, int64_t count)
{
    if (sums != NULL)
        tl_sums_send(sums, x, count, 0);
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
