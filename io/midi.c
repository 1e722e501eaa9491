/* Standard MIDI Files. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TICKS = 960 }; /* a beat */

/* A note in ticks, and what switches it on or off. */
typedef struct timed_note {
    int64_t start, end;
    int key, velocity;
} timed_note;

typedef struct event {
    int64_t tick;
    int on, key, velocity;
} event;

/* ---- bytes -------------------------------------------------------------------------------- */

static void add_number(io_buffer *buffer, uint32_t value, int bytes) /* big-endian */
{
    for (int i = bytes - 1; i >= 0; i--) {
        unsigned char byte = (unsigned char)(value >> (8 * i));
        io_buffer_add(buffer, &byte, 1);
    }
}

/* Seven bits a byte, all but the last with the eighth bit set. */
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

/* ---- notes to events ---------------------------------------------------------------------- */

static int sign(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_key_and_start(const void *a, const void *b)
{
    const timed_note *x = a, *y = b;
    int order = sign(x->key, y->key);

    order = order ? order : sign(x->start, y->start);
    return order ? order : sign(x->end, y->end);
}

/* Off before on, so that a note may begin when the last one ends. */
static int by_time(const void *a, const void *b)
{
    const event *x = a, *y = b;
    int order = sign(x->tick, y->tick);

    order = order ? order : sign(x->on, y->on);
    return order ? order : sign(x->key, y->key);
}

static bool to_ticks(const char *path, double rate, const io_note *note, timed_note *out,
                     io_error *err)
{
    const double most = 0x0fffffff; /* what a delta time can hold */

    if (note->key < 0 || note->key > 127 || note->velocity < 1 || note->velocity > 127)
        return io_fail(err, IO_NO_OUTPUT, "%s: a note has key %d and velocity %d", path, note->key,
                       note->velocity);
    if (!(note->start >= 0 && note->end >= note->start && note->end * rate < most))
        return io_fail(err, IO_NO_OUTPUT, "%s: a note lasts from %g to %g s", path, note->start,
                       note->end);
    *out = (timed_note){llround(note->start * rate), llround(note->end * rate), note->key,
                        note->velocity};
    if (out->end == out->start)
        out->end++;
    return true;
}

/* Two events a note; returns their number. */
static int64_t make_events(timed_note *note, int64_t count, event *events)
{
    int64_t n = 0;

    qsort(note, (size_t)count, sizeof *note, by_key_and_start);
    for (int64_t i = 0; i < count; i++) {
        bool again = i + 1 < count && note[i + 1].key == note[i].key;
        if (again && note[i + 1].start < note[i].end)
            note[i].end = note[i + 1].start;
        if (note[i].end == note[i].start) /* the next one begins with it */
            continue;
        events[n++] = (event){note[i].start, 1, note[i].key, note[i].velocity};
        events[n++] = (event){note[i].end, 0, note[i].key, 64};
    }
    qsort(events, (size_t)n, sizeof *events, by_time);
    return n;
}

static bool add_track(io_buffer *file, const char *path, double rate, const io_midi_track *track,
                      io_error *err)
{
    size_t count = (size_t)track->count;
    timed_note *note = malloc((count + 1) * sizeof *note);
    event *events = malloc((2 * count + 1) * sizeof *events);
    bool ok = note && events ? true : io_no_memory(err, path);

    if (ok && (track->channel < 0 || track->channel > 15))
        ok = io_fail(err, IO_NO_OUTPUT, "%s: MIDI has no channel %d", path, track->channel);
    for (int64_t i = 0; ok && i < track->count; i++)
        ok = to_ticks(path, rate, &track->note[i], &note[i], err);
    if (ok) {
        io_buffer chunk = {0};
        int64_t n = make_events(note, track->count, events), now = 0;
        if (track->name)
            add_meta(&chunk, 0x03, track->name, strlen(track->name));
        for (int64_t i = 0; i < n; i++) {
            add_variable(&chunk, events[i].tick - now);
            add_number(&chunk, (uint32_t)((events[i].on ? 0x90 : 0x80) | track->channel), 1);
            add_number(&chunk, (uint32_t)(events[i].key << 8 | events[i].velocity), 2);
            now = events[i].tick;
        }
        add_meta(&chunk, 0x2f, "", 0);
        add_chunk(file, "MTrk", &chunk);
    }
    free(note);
    free(events);
    return ok;
}

/* ---- the file ----------------------------------------------------------------------------- */

static void add_head(io_buffer *file, double beats_per_minute, int64_t tracks)
{
    io_buffer chunk = {0};
    uint32_t beat = (uint32_t)llround(6e7 / beats_per_minute); /* microseconds */
    unsigned char tempo[3] = {(unsigned char)(beat >> 16), (unsigned char)(beat >> 8),
                              (unsigned char)beat};

    add_number(&chunk, 1, 2);
    add_number(&chunk, (uint32_t)tracks + 1, 2);
    add_number(&chunk, TICKS, 2);
    add_chunk(file, "MThd", &chunk);
    add_meta(&chunk, 0x51, tempo, sizeof tempo);
    add_meta(&chunk, 0x2f, "", 0);
    add_chunk(file, "MTrk", &chunk);
}

bool io_midi_write(const char *path, double beats_per_minute, const io_midi_track *track,
                   int64_t tracks, io_error *err)
{
    io_buffer file = {0};

    if (!(beats_per_minute >= 4 && beats_per_minute <= 1000))
        return io_fail(err, IO_NO_OUTPUT, "%s: %g beats a minute are outside [4, 1000]", path,
                       beats_per_minute);
    if (tracks < 0 || tracks > 65534)
        return io_fail(err, IO_NO_OUTPUT, "%s: a MIDI file cannot hold %lld tracks", path,
                       (long long)tracks);
    add_head(&file, beats_per_minute, tracks);
    bool ok = true;
    for (int64_t i = 0; ok && i < tracks; i++)
        ok = add_track(&file, path, TICKS * beats_per_minute / 60, &track[i], err);
    return io_buffer_publish(&file, ok, path, err);
}
