/* Global sums: the calls with their cost, the maximum, errors that all machines agree on. */
#include "base/sums.h"

#include <math.h>
#include <stdio.h>

tlnmf_error tlnmf_sums_create(tlnmf_ctx *ctx, int32_t size, int32_t rank, tlnmf_sum sum,
                              tlnmf_broadcast broadcast, void *user, tlnmf_sums **out)
{
    TL_NEED(ctx, out);
    *out = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, sum);
    TL_NEED(ctx, broadcast);
    if (size < 1 || rank < 0 || rank >= size)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "rank %d of %d machines does not exist", (int)rank,
                       (int)size);
    tl_sums *sums = tl_allocate(&ctx->hooks, sizeof *sums);
    if (sums == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for the sums");
    *sums = (tl_sums){.size = size,
                      .rank = rank,
                      .sum = sum,
                      .broadcast = broadcast,
                      .user = user,
                      .hooks = ctx->hooks};
    *out = sums;
    return TLNMF_OK;
}

void tlnmf_sums_free(tlnmf_sums *sums)
{
    if (sums == NULL)
        return;
    tl_hooks hooks = sums->hooks;
    tl_release(&hooks, sums);
}

static void note(tl_sums *sums, int64_t count, double since)
{
    sums->calls++;
    sums->bytes += count * (int64_t)sizeof(double);
    sums->seconds += tl_wall_seconds() - since;
}

void tl_sums_call(tl_sums *sums, double *x, int64_t count)
{
    double since = tl_wall_seconds();
    if (sums->failed || count == 0)
        return;
    sums->failed = sums->sum(x, count, sums->user) != 0;
    note(sums, count, since);
}

void tl_sums_with_wish(tl_sums *sums, double *x, int64_t count)
{
    double all[TL_SUMS_FEW + 1];
    memcpy(all, x, (size_t)count * sizeof *x);
    all[count] = sums->wish;
    tl_sums_call(sums, all, count + 1);
    memcpy(x, all, (size_t)count * sizeof *x);
    sums->wished = all[count];
}

void tl_sums_send(tl_sums *sums, double *x, int64_t count, int root)
{
    double since = tl_wall_seconds();
    if (sums->failed || count == 0)
        return;
    sums->failed = sums->broadcast(x, count, root, sums->user) != 0;
    note(sums, count, since);
}

/* Maximum by sums: each machine writes its x to its own entry of a vector of zeros, and the sum
 * then holds all of them. It runs over AT_A_TIME machines at a time. */
double tl_sums_largest(tl_sums *sums, double x)
{
    enum { AT_A_TIME = 64 };
    double most = 0.0;
    for (int first = 0; first < sums->size; first += AT_A_TIME) {
        double each[AT_A_TIME] = {0.0};
        if (sums->rank >= first && sums->rank < first + AT_A_TIME)
            each[sums->rank - first] = x;
        int count = (int)tl_min(AT_A_TIME, sums->size - first);
        tl_sums_call(sums, each, count);
        for (int i = 0; i < count; i++)
            most = fmax(most, each[i]);
    }
    return most;
}

/* Error and message of machine `root`, to all. A message of one machine alone says whose it is. */
static tlnmf_error pass_on(tlnmf_ctx *ctx, tl_sums *sums, tlnmf_error error, int root, bool alone)
{
    double packed[1 + TL_MESSAGE] = {(double)error};
    for (int i = 0; sums->rank == root && i < TL_MESSAGE; i++)
        packed[1 + i] = (double)(unsigned char)ctx->message[i];
    tl_sums_send(sums, packed, 1 + TL_MESSAGE, root);
    int length = alone ? snprintf(ctx->message, sizeof ctx->message, "machine %d: ", root) : 0;
    for (int i = 0; length + i < TL_MESSAGE; i++)
        ctx->message[length + i] = (char)(unsigned char)packed[1 + i];
    ctx->message[TL_MESSAGE - 1] = '\0';
    return (tlnmf_error)packed[0];
}

tlnmf_error tl_sums_agree(tlnmf_ctx *ctx, tl_sums *sums, tlnmf_error error)
{
    if (sums == NULL)
        return error;
    double failures = tl_sums_of(sums, error != TLNMF_OK);
    if (failures > 0.0 && !sums->failed) { /* the first machine has the largest size - rank */
        double first = tl_sums_largest(sums, error != TLNMF_OK ? sums->size - sums->rank : 0);
        error = pass_on(ctx, sums, error, sums->size - (int)first, failures < sums->size);
    }
    if (sums->failed && error == TLNMF_OK)
        return tl_fail(ctx, TLNMF_ERR_CALLBACK, "a sum or broadcast over %d machines failed",
                       sums->size);
    return error;
}

tlnmf_error tlnmf_sums_agree(tlnmf_ctx *ctx, tlnmf_sums *sums, tlnmf_error error)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, sums);
    return tl_sums_agree(ctx, sums, error);
}
