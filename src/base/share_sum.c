/* Sums whose parts are shared out: the same bits at any number of threads. */
#include "base/base.h"

/* At most this many partial sums, 2 KiB on the stack, at any number of threads: a plain choice. */
enum { PARTS = 256 };

typedef struct summing {
    tl_part_sum part;
    void *arg;
    int64_t grain;
    double sum[PARTS];
} summing;

static void sum_part(int64_t first, int64_t last, void *arg)
{
    summing *s = arg;
    s->sum[first / s->grain] = s->part(first, last, s->arg);
}

double tl_share_sum(int64_t count, int64_t grain, tl_part_sum part, void *arg)
{
    if (count <= grain)
        return count > 0 ? part(0, count, arg) : 0.0;
    int64_t most = (count + PARTS - 1) / PARTS;
    summing s = {.part = part, .arg = arg, .grain = (most + grain - 1) / grain * grain};
    s.grain = tl_max(s.grain, grain);
    tl_share(count, s.grain, sum_part, &s);
    double sum = 0.0;
    for (int64_t i = 0; i * s.grain < count; i++)
        sum += s.sum[i];
    return sum;
}
