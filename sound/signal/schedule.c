/* Which sources may sound when: a search tree over the spans of their labels. */
#include "sound/signal/schedule.h"

#include <stdlib.h>

/* ---- finding spans --------------------------------------------------------------------------- */

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

/* Spans that may become one lie next to each other. */
static int by_kind(const void *a, const void *b)
{
    const tl_span *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    int order = compare(x->low, y->low);
    if (order == 0)
        order = compare(x->high, y->high);
    return order != 0 ? order : (x->start > y->start) - (x->start < y->start);
}

static int by_start(const void *a, const void *b)
{
    const tl_span *x = a, *y = b;
    return x->start != y->start ? (x->start > y->start) - (x->start < y->start) : by_kind(a, b);
}

/* Joins the spans of a source that overlap or touch; returns how many are left. */
static int64_t join(int64_t count, tl_span *span)
{
    int64_t kept = 0;
    qsort(span, (size_t)count, sizeof *span, by_kind);
    for (int64_t i = 0; i < count; i++) {
        tl_span *last = kept > 0 ? &span[kept - 1] : NULL;
        if (last != NULL && last->source == span[i].source && last->low == span[i].low &&
            last->high == span[i].high && span[i].start <= last->end)
            last->end = tl_max(last->end, span[i].end);
        else
            span[kept++] = span[i];
    }
    qsort(span, (size_t)kept, sizeof *span, by_start);
    return kept;
}

/* Fills `reach` of spans first .. last-1, and returns their last end. */
static int64_t fill_reach(tl_span_index *index, int64_t first, int64_t last)
{
    if (first >= last)
        return INT64_MIN;
    int64_t middle = first + (last - first) / 2;
    int64_t before = fill_reach(index, first, middle), after = fill_reach(index, middle + 1, last);
    index->reach[middle] = tl_max(index->span[middle].end, tl_max(before, after));
    return index->reach[middle];
}

tlnmf_error tl_span_index_create(tlnmf_ctx *ctx, const tl_span *spans, int64_t count,
                                 tl_span_index *index)
{
    *index = (tl_span_index){.hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(index->span, count), TL_SLOT(index->reach, count)};
    TRY(TL_ARENA(ctx, "the labels", table, &index->memory));
    for (int64_t i = 0; i < count; i++)
        index->span[i] = spans[i];
    index->count = count > 0 ? join(count, index->span) : 0;
    fill_reach(index, 0, index->count);
    return TLNMF_OK;
}

void tl_span_index_free(tl_span_index *index)
{
    tl_release(&index->hooks, index->memory);
    *index = (tl_span_index){.count = 0};
}

/* The first of spans first .. last-1 from number `after` on that ends behind sample `from`. */
static int64_t search(const tl_span_index *index, int64_t first, int64_t last, int64_t from,
                      int64_t after)
{
    if (first >= last || last <= after)
        return -1;
    int64_t middle = first + (last - first) / 2;
    if (index->reach[middle] <= from)
        return -1;
    int64_t found = search(index, first, middle, from, after);
    if (found >= 0)
        return found;
    if (middle >= after && index->span[middle].end > from)
        return middle;
    return search(index, middle + 1, last, from, after);
}

int64_t tl_span_index_next(const tl_span_index *index, int64_t from, int64_t to, int64_t after)
{
    int64_t found = search(index, 0, index->count, from, after);
    return found >= 0 && index->span[found].start < to ? found : -1;
}

/* ---- schedules ------------------------------------------------------------------------------- */

tlnmf_error tl_schedule_create(tlnmf_ctx *ctx, const tl_span *spans, int64_t count, int64_t release,
                               int64_t sources, tl_schedule *schedule)
{
    *schedule =
        (tl_schedule){.spans = spans, .count = count, .release = release, .sources = sources};
    for (int64_t i = 0; i < count; i++)
        if (spans[i].source < 0 || spans[i].source >= sources || spans[i].end < spans[i].start)
            return tl_fail(ctx, TLNMF_ERR_DATA,
                           "span %lld is invalid: source %lld, samples %lld to %lld", (long long)i,
                           (long long)spans[i].source, (long long)spans[i].start,
                           (long long)spans[i].end);
    return tl_span_index_create(ctx, spans, count, &schedule->index);
}

void tl_schedule_free(tl_schedule *schedule)
{
    tl_span_index_free(&schedule->index);
}

uint64_t tl_schedule_within(const tl_schedule *schedule, int64_t from, int64_t to, int64_t release)
{
    const tl_span_index *index = &schedule->index;
    uint64_t active = 0;
    for (int64_t i = tl_span_index_next(index, from - release, to, 0); i >= 0;
         i = tl_span_index_next(index, from - release, to, i + 1))
        active |= (uint64_t)1 << index->span[i].source;
    return active;
}

uint64_t tl_schedule_active(const tl_schedule *schedule, const tl_frames *layout, int64_t n)
{
    int64_t first = tl_frame_first(layout, n);
    if (schedule->spans == NULL)
        return schedule->sources >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << schedule->sources) - 1;
    return tl_schedule_within(schedule, first - layout->hop + 1, first + layout->M,
                              schedule->release);
}

bool tl_schedule_has_ranges(const tl_schedule *schedule)
{
    for (int64_t i = 0; i < schedule->count; i++)
        if (schedule->spans[i].high > 0.0)
            return true;
    return false;
}

/* barred[m stride]: the sources that sound in frame n although none of their labels there holds
 * the frequency of row m. */
static void bar_frame(const tl_schedule *schedule, const tl_frames *f, int64_t rows, int64_t n,
                      int64_t stride, uint64_t *barred)
{
    const tl_span_index *index = &schedule->index;
    int64_t first = tl_frame_first(f, n), from = first - f->hop + 1 - schedule->release;
    uint64_t sounding = 0;
    for (int64_t m = 0; m < rows; m++)
        barred[m * stride] = 0; /* until all spans are known: the sources that may have the row */
    for (int64_t i = tl_span_index_next(index, from, first + f->M, 0); i >= 0;
         i = tl_span_index_next(index, from, first + f->M, i + 1)) {
        const tl_span *span = &index->span[i];
        sounding |= (uint64_t)1 << span->source;
        for (int64_t m = 0; m < rows; m++) {
            double at = 0.5 * (double)m / (double)tl_max(1, rows - 1); /* of the rate */
            if (!(span->high > 0.0) || (at >= span->low && at <= span->high))
                barred[m * stride] |= (uint64_t)1 << span->source;
        }
    }
    for (int64_t m = 0; m < rows; m++) { /* a row that no source may have belongs to all */
        uint64_t open = barred[m * stride];
        barred[m * stride] = open == 0 ? 0 : sounding & ~open;
    }
}

void tl_schedule_bar(const tl_schedule *schedule, const tl_frames *f, int64_t rows, int64_t count,
                     int64_t n, uint64_t *barred)
{
    for (int64_t i = 0; i < count; i++)
        bar_frame(schedule, f, rows, n + i, count, barred + i);
}

/* ---- labels that repeat ---------------------------------------------------------------------- */

static int by_times(const tl_span *x, const tl_span *y)
{
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int by_times_and_place(const void *a, const void *b)
{
    const tl_span *x = *(const tl_span *const *)a, *y = *(const tl_span *const *)b;
    int order = by_times(x, y);
    return order != 0 ? order : (x > y) - (x < y);
}

void tl_schedule_repeats(const tl_schedule *schedule, const tl_span **order, bool *again)
{
    for (int64_t i = 0; i < schedule->count; i++)
        order[i] = &schedule->spans[i];
    if (schedule->count > 0)
        qsort(order, (size_t)schedule->count, sizeof *order, by_times_and_place);
    for (int64_t i = 0; i < schedule->count; i++)
        again[order[i] - schedule->spans] = i > 0 && by_times(order[i - 1], order[i]) == 0;
}
