/* Labels with frequencies: a source is kept out of the rows that its labels leave out. */
#include "separate/separate.h"

bool tl_schedule_has_ranges(const tl_schedule *schedule)
{
    for (int64_t i = 0; i < schedule->count; i++)
        if (schedule->spans[i].high > 0.0)
            return true;
    return false;
}

tlnmf_error tl_ranges_create(tlnmf_ctx *ctx, int64_t rows, int64_t capacity, tl_ranges *ranges)
{
    tl_slot table[] = {TL_SLOT(ranges->barred, rows * capacity)};
    *ranges = (tl_ranges){.rows = rows, .hooks = ctx->hooks};
    return TL_ARENA(ctx, "the ranges of labels", table, &ranges->memory);
}

void tl_ranges_free(tl_ranges *ranges)
{
    if (ranges->memory != NULL)
        tl_release(&ranges->hooks, ranges->memory);
    *ranges = (tl_ranges){.memory = NULL};
}

/* The sources that sound in frame n, and no label of theirs there holds row m of `rows`. */
static uint64_t barred_at(const tl_schedule *schedule, const tl_frames *f, int64_t n, double at)
{
    int64_t first = tl_frame_first(f, n), begin = first - f->hop + 1, end = first + f->M;
    uint64_t sounding = 0, open = 0;
    for (int64_t i = 0; i < schedule->count; i++) {
        const tl_span *span = &schedule->spans[i];
        if (!(span->start < end && begin < span->end + schedule->release))
            continue;
        uint64_t bit = (uint64_t)1 << span->source;
        sounding |= bit;
        if (!(span->high > 0.0) || (at >= span->low && at <= span->high))
            open |= bit;
    }
    return open == 0 ? 0 : sounding & ~open; /* what nobody may have is shared as if all might */
}

void tl_ranges_fill(const tl_ranges *ranges, const tl_schedule *schedule, const tl_frames *f,
                    int64_t count, const int64_t *n)
{
    for (int64_t m = 0; m < ranges->rows; m++) {
        double at = 0.5 * (double)m / (double)tl_max(1, ranges->rows - 1); /* of the rate */
        for (int64_t i = 0; i < count; i++)
            ranges->barred[m * count + i] = barred_at(schedule, f, n[i], at);
    }
}
