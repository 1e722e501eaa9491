/* Writes the events of tlnmf_activations as label tracks and Standard MIDI Files. */
#include "files.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The events, and the number of sources of the model. */
typedef struct activity {
    int64_t count, sources;
    const double *source, *begin, *end, *level, *key;
} activity;

/* Checks the arguments of a call that writes events, and finds its arrays. */
static tlnmf_error get_events(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model,
                              const tlnmf_record *events, activity *a)
{
    const struct {
        const char *name;
        const double **x;
    } columns[] = {{"source", &a->source},
                   {"begin", &a->begin},
                   {"end", &a->end},
                   {"level", &a->level},
                   {"key", &a->key}};
    int64_t dim[TLNMF_MAX_DIMENSIONS];
    int32_t ndim;

    *a = (activity){0};
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, model);
    IO_NEED(ctx, events);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        *columns[i].x = tlnmf_record_get_array(events, columns[i].name, &ndim, dim);
        if (*columns[i].x == NULL)
            return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "there is no array %s", columns[i].name);
        if (ndim != 1)
            return io_refuse(ctx, TLNMF_ERR_SHAPE, "%s has %d dimensions, not one", columns[i].name,
                             (int)ndim);
        if (i > 0 && dim[0] != a->count)
            return io_refuse(ctx, TLNMF_ERR_SHAPE,
                             "the events: %s has %lld numbers, but source has %lld",
                             columns[i].name, (long long)dim[0], (long long)a->count);
        a->count = dim[0];
    }
    while (tlnmf_record_get_text_at(model, "names", (size_t)a->sources) != NULL)
        a->sources++;
    for (int64_t i = 0; i < a->count; i++)
        if (!(a->source[i] >= 0 && a->source[i] < (double)a->sources))
            return io_refuse(ctx, TLNMF_ERR_DATA,
                             "event %lld belongs to source %g, but the model has %lld sources",
                             (long long)i, a->source[i], (long long)a->sources);
    return TLNMF_OK;
}

/* Refuses an event whose times a file cannot hold; `longest` is in seconds. */
static bool check_times(tlnmf_ctx *ctx, const char *path, const activity *a, int64_t i,
                        double longest)
{
    return (a->begin[i] >= 0 && a->end[i] >= a->begin[i] && a->end[i] <= longest) ||
           io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: event %lld has invalid times: from %g to %g s", path,
                   (long long)i, a->begin[i], a->end[i]);
}

/* ---- label tracks ---------------------------------------------------------------------------- */

static void add_line(io_buffer *file, double begin, double end, const char *name)
{
    char times[800]; /* two doubles of up to 309 digits */
    int n = snprintf(times, sizeof times, "%.6f\t%.6f\t", begin, end);

    io_buffer_add(file, times, (size_t)n);
    for (const char *c = name; *c; c++) /* a label is one line */
        io_buffer_add(file, (unsigned char)*c < ' ' ? " " : c, 1);
    io_buffer_add(file, "\n", 1);
}

tlnmf_error tlnmf_io_write_labels(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model,
                                  const tlnmf_record *events)
{
    io_buffer file = {0};
    bool ok = true;
    activity a;

    IO_TRY(get_events(ctx, path, model, events, &a));
    locale_t before = io_enter_c_locale();
    for (int64_t i = 0; ok && i < a.count; i++) {
        ok = check_times(ctx, path, &a, i, DBL_MAX);
        if (ok)
            add_line(&file, a.begin[i], a.end[i],
                     tlnmf_record_get_text_at(model, "names", (size_t)a.source[i]));
    }
    io_leave_c_locale(before);
    return io_end(ctx, io_buffer_publish(ctx, &file, ok, path));
}

/* ---- MIDI: bytes ----------------------------------------------------------------------------- */

static void add_number(io_buffer *buffer, uint32_t value, int bytes) /* big-endian */
{
    for (int i = bytes - 1; i >= 0; i--) {
        unsigned char byte = (unsigned char)(value >> (8 * i));
        io_buffer_add(buffer, &byte, 1);
    }
}

/* Seven bits per byte; all bytes but the last have the eighth bit set. */
static void add_variable(io_buffer *buffer, int64_t value)
{
    for (int shift = 21; shift >= 0; shift -= 7)
        if (shift == 0 || value >> shift > 0)
            add_number(buffer, (uint32_t)((value >> shift & 0x7f) | (shift > 0 ? 0x80 : 0)), 1);
}

static void add_meta(io_buffer *buffer, int type, const void *bytes, size_t size)
{
    add_number(buffer, 0xff00 | (uint32_t)type, 3); /* begins with a delta time of 0 */
    add_variable(buffer, (int64_t)size);
    io_buffer_add(buffer, bytes, size);
}

static void add_chunk(io_buffer *file, const char *type, io_buffer *content)
{
    io_buffer_add(file, type, 4);
    add_number(file, (uint32_t)content->size, 4);
    io_buffer_add(file, content->bytes, content->size);
    file->failed = file->failed || content->failed;
    free(content->bytes);
    *content = (io_buffer){0};
}

/* ---- MIDI: notes ----------------------------------------------------------------------------- */

enum { TICKS_PER_BEAT = 960, TICKS_PER_SECOND = 1920 }; /* at 120 beats per minute */

/* Times in ticks. */
typedef struct note {
    int64_t start, end;
    int key, velocity;
} note;

typedef struct note_switch {
    int64_t tick;
    int on, key, velocity;
} note_switch;

static int sign(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_key_and_start(const void *a, const void *b)
{
    const note *x = a, *y = b;
    int order = sign(x->key, y->key);

    order = order ? order : sign(x->start, y->start);
    return order ? order : sign(x->end, y->end);
}

/* Off before on, so that a note may begin when the last one ends. */
static int by_time(const void *a, const void *b)
{
    const note_switch *x = a, *y = b;
    int order = sign(x->tick, y->tick);

    order = order ? order : sign(x->on, y->on);
    return order ? order : sign(x->key, y->key);
}

/* The notes of one source, sorted. The loudest has velocity 127. The velocity of the others
 * falls with the square root of their levels, because H is a power. */
static bool make_notes(tlnmf_ctx *ctx, const char *path, const activity *a, int64_t source,
                       note *notes, int64_t *count)
{
    const double longest = (double)0x0fffffff / TICKS_PER_SECOND; /* of a delta time */
    double most = 1e-300;                                         /* of silence, to divide by */

    *count = 0;
    for (int64_t i = 0; i < a->count; i++)
        if ((int64_t)a->source[i] == source)
            most = fmax(most, a->level[i]);
    for (int64_t i = 0; i < a->count; i++) {
        double level = fmin(1.0, fmax(0.0, a->level[i] / most));
        if ((int64_t)a->source[i] != source)
            continue;
        if (!(a->key[i] >= 0 && a->key[i] <= 127))
            return io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: event %lld: %g is not a MIDI key (0 to 127)",
                           path, (long long)i, a->key[i]);
        if (!check_times(ctx, path, a, i, longest))
            return false;
        int64_t start = llround(a->begin[i] * TICKS_PER_SECOND);
        int64_t end = llround(a->end[i] * TICKS_PER_SECOND);
        notes[(*count)++] = (note){start, end > start ? end : start + 1, (int)a->key[i],
                                   (int)fmax(1.0, 127.0 * sqrt(level))};
    }
    qsort(notes, (size_t)*count, sizeof *notes, by_key_and_start);
    return true;
}

/* Converts every note to two events, on and off, and returns the number of events. A note ends
 * when the next one on its key begins. */
static int64_t make_switches(note *notes, int64_t count, note_switch *switches)
{
    int64_t n = 0;

    for (int64_t i = 0; i < count; i++) {
        bool again = i + 1 < count && notes[i + 1].key == notes[i].key;
        if (again && notes[i + 1].start < notes[i].end)
            notes[i].end = notes[i + 1].start;
        if (notes[i].end == notes[i].start) /* the next note begins at the same time */
            continue;
        switches[n++] = (note_switch){notes[i].start, 1, notes[i].key, notes[i].velocity};
        switches[n++] = (note_switch){notes[i].end, 0, notes[i].key, 64};
    }
    qsort(switches, (size_t)n, sizeof *switches, by_time);
    return n;
}

/* ---- MIDI: the file -------------------------------------------------------------------------- */

/* Format 1: a track with the tempo, then one per source. */
static void add_head(io_buffer *file, int64_t sources)
{
    static const unsigned char tempo[3] = {0x07, 0xa1, 0x20}; /* 500000 microseconds per beat */
    io_buffer chunk = {0};

    add_number(&chunk, 1, 2);
    add_number(&chunk, (uint32_t)sources + 1, 2);
    add_number(&chunk, TICKS_PER_BEAT, 2);
    add_chunk(file, "MThd", &chunk);
    add_meta(&chunk, 0x51, tempo, sizeof tempo);
    add_meta(&chunk, 0x2f, "", 0);
    add_chunk(file, "MTrk", &chunk);
}

static void add_track(io_buffer *file, const char *name, int64_t source,
                      const note_switch *switches, int64_t count)
{
    int channel = (int)(source % 15); /* sources beyond the fifteenth share channels */
    io_buffer chunk = {0};
    int64_t now = 0;

    channel += channel >= 9; /* channel 9 is for drums */
    add_meta(&chunk, 0x03, name, strlen(name));
    for (int64_t i = 0; i < count; i++) {
        add_variable(&chunk, switches[i].tick - now);
        add_number(&chunk, (uint32_t)((switches[i].on ? 0x90 : 0x80) | channel), 1);
        add_number(&chunk, (uint32_t)(switches[i].key << 8 | switches[i].velocity), 2);
        now = switches[i].tick;
    }
    add_meta(&chunk, 0x2f, "", 0);
    add_chunk(file, "MTrk", &chunk);
}

tlnmf_error tlnmf_io_write_midi(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model,
                                const tlnmf_record *events)
{
    io_buffer file = {0};
    activity a;
    int64_t count;

    IO_TRY(get_events(ctx, path, model, events, &a));
    if (a.sources > 65534)
        return io_refuse(ctx, TLNMF_ERR_OUTPUT, "%s: a MIDI file cannot hold %lld tracks", path,
                         (long long)a.sources);
    note *notes = calloc((size_t)a.count + 1, sizeof *notes);
    note_switch *switches = calloc(2 * (size_t)a.count + 1, sizeof *switches);
    bool ok = (notes && switches) || io_no_memory(ctx, path);
    add_head(&file, a.sources);
    for (int64_t k = 0; ok && k < a.sources; k++) {
        ok = make_notes(ctx, path, &a, k, notes, &count);
        if (ok)
            add_track(&file, tlnmf_record_get_text_at(model, "names", (size_t)k), k, switches,
                      make_switches(notes, count, switches));
    }
    free(notes);
    free(switches);
    return io_end(ctx, io_buffer_publish(ctx, &file, ok, path));
}
