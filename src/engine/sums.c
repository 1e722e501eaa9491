/* Global sums: the calls, with their cost. */
#include "engine/sums.h"

#include <math.h>

static void note(tl_sums *sums, int64_t count, double since)
{
    sums->calls++;
    sums->bytes += count * (int64_t)sizeof(double);
    sums->seconds += tl_wall_seconds() - since;
}

void tl_sums_call(tl_sums *sums, double *x, int64_t count)
{
    double since = tl_wall_seconds();
    sums->sum(x, count, sums->user);
    note(sums, count, since);
}

void tl_sums_send(tl_sums *sums, double *x, int64_t count)
{
    double since = tl_wall_seconds();
    sums->broadcast(x, count, sums->user);
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
