/* Which sources may sound when. */
#ifndef TLNMF_SOUND_SCHEDULE_H
#define TLNMF_SOUND_SCHEDULE_H

#include "sound/signal/frames.h"

enum { TL_SOURCES_MAX = 64 };
/* A source that is alone for less has no spectra of its own to learn. */
enum { TL_SOLO_MS = 400 };

/* Source number `source` sounds from sample `start` to before sample `end`. */
typedef struct tl_span {
    int64_t start, end, source;
    double low, high; /* its frequencies, as fractions of the rate; high = 0: all of them */
    int64_t anyone;   /* 1: not from a label; where nothing is labelled, any source may sound */
    int64_t line;     /* of the label in its file; 0: unknown */
} tl_span;

/* ---- finding spans --------------------------------------------------------------------------- */

/* Spans in the order of their starts. Those of one source and the same frequencies that overlap
 * or touch are one. A search tree over them finds the spans of a time in logarithmic time. */
typedef struct tl_span_index {
    tl_span *span;
    int64_t *reach; /* span i is the middle of a range of spans; reach[i]: their last end */
    int64_t count;
    tl_hooks hooks;
    void *memory;
} tl_span_index;

tlnmf_error tl_span_index_create(tlnmf_ctx *ctx, const tl_span *spans, int64_t count,
                                 tl_span_index *index);
void tl_span_index_free(tl_span_index *index);
/* The first span from number `after` on that has samples in from .. to-1; -1: there is none. */
int64_t tl_span_index_next(const tl_span_index *index, int64_t from, int64_t to, int64_t after);

/* ---- schedules ------------------------------------------------------------------------------- */

/* A source may sound in its spans and for `release` samples after each of them. */
typedef struct tl_schedule {
    const tl_span *spans; /* as given; NULL: blind, every source may sound at any time */
    int64_t count, release, sources;
    tl_span_index index; /* of the spans */
} tl_schedule;

/* Checks the spans, which must live as long as the schedule. A blind schedule needs no create. */
tlnmf_error tl_schedule_create(tlnmf_ctx *ctx, const tl_span *spans, int64_t count, int64_t release,
                               int64_t sources, tl_schedule *schedule);
void tl_schedule_free(tl_schedule *schedule);

/* The sources, one bit each, that may sound in frame n at any of its shifts. */
uint64_t tl_schedule_active(const tl_schedule *schedule, const tl_frames *layout, int64_t n);

/* The sources that sound within samples from .. to-1, or ended less than `release` samples before
 * `from`. None if the schedule is blind. */
uint64_t tl_schedule_within(const tl_schedule *schedule, int64_t from, int64_t to, int64_t release);

/* Whether some label has frequencies. */
bool tl_schedule_has_ranges(const tl_schedule *schedule);
/* barred[m count + i], m < rows: the sources, one bit each, that may not have row m of frame
 * n + i, since their labels there hold other frequencies. */
void tl_schedule_bar(const tl_schedule *schedule, const tl_frames *f, int64_t rows, int64_t count,
                     int64_t n, uint64_t *barred);
/* again[i]: an earlier span has the source and the times of span i. Both arrays have `count`
 * places; `order` is scratch. */
void tl_schedule_repeats(const tl_schedule *schedule, const tl_span **order, bool *again);

#endif
