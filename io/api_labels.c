/* Public functions: label tracks in, events as label tracks and MIDI out. */
#include "api.h"

#include <math.h>
#include <stdlib.h>

/* ---- reading --------------------------------------------------------------------------------- */

static tlnmf_error put_names(tlnmf_ctx *ctx, const char *path, const io_labels *labels,
                             tlnmf_record *track)
{
    const char **name = calloc((size_t)labels->count + 1, sizeof *name);

    if (name == NULL)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", path);
    for (int64_t i = 0; i < labels->count; i++)
        name[i] = labels->label[i].name;
    tlnmf_error error = tlnmf_set_texts(ctx, track, "name", name, (size_t)labels->count);
    free(name);
    return error;
}

static tlnmf_error put_track(tlnmf_ctx *ctx, const char *path, const io_labels *labels,
                             tlnmf_record *track)
{
    double *start, *end, *low, *high;

    IO_TRY(tlnmf_new_array(ctx, track, "start", 1, &labels->count, &start));
    IO_TRY(tlnmf_new_array(ctx, track, "end", 1, &labels->count, &end));
    IO_TRY(tlnmf_new_array(ctx, track, "low", 1, &labels->count, &low));
    IO_TRY(tlnmf_new_array(ctx, track, "high", 1, &labels->count, &high));
    for (int64_t i = 0; i < labels->count; i++) {
        start[i] = labels->label[i].start;
        end[i] = labels->label[i].end;
        low[i] = labels->label[i].low;
        high[i] = labels->label[i].high;
    }
    return put_names(ctx, path, labels, track);
}

tlnmf_error tlnmf_io_read_labels(tlnmf_ctx *ctx, const char *path, tlnmf_record **track)
{
    io_labels labels;
    io_error err;

    IO_NEED(ctx, track);
    *track = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_TRY(io_answer(ctx, io_labels_read(path, &labels, &err), &err));
    tlnmf_error error = tlnmf_record_create(ctx, track);
    if (error == TLNMF_OK)
        error = io_keep_if(put_track(ctx, path, &labels, *track), track);
    io_labels_free(&labels);
    return error;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The events of tlnmf_activations and the sources that they are of. */
typedef struct activity {
    int64_t count, sources;
    const double *source, *begin, *end, *level, *key;
} activity;

/* Looks at the arguments of a call that writes events. */
static tlnmf_error look(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model,
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
    int64_t length;

    *a = (activity){0};
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, model);
    IO_NEED(ctx, events);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        IO_TRY(io_need_column(ctx, events, columns[i].name, columns[i].x, &length));
        if (i > 0 && length != a->count)
            return io_refuse(ctx, TLNMF_ERR_SHAPE, "the events: %s has %lld numbers, source %lld",
                             columns[i].name, (long long)length, (long long)a->count);
        a->count = length;
    }
    while (tlnmf_get_text_at(model, "names", (size_t)a->sources) != NULL)
        a->sources++;
    for (int64_t i = 0; i < a->count; i++)
        if (!(a->source[i] >= 0 && a->source[i] < (double)a->sources))
            return io_refuse(ctx, TLNMF_ERR_DATA, "event %lld is of source %g, the model has %lld",
                             (long long)i, a->source[i], (long long)a->sources);
    return TLNMF_OK;
}

/* The name belongs to the model. */
static const char *name_of(const tlnmf_record *model, double source)
{
    return tlnmf_get_text_at(model, "names", (size_t)source);
}

tlnmf_error tlnmf_io_write_labels(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model,
                                  const tlnmf_record *events)
{
    activity a;
    io_error err;

    IO_TRY(look(ctx, path, model, events, &a));
    io_labels labels = {a.count, calloc((size_t)a.count + 1, sizeof *labels.label)};
    if (labels.label == NULL)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", path);
    for (int64_t i = 0; i < a.count; i++)
        labels.label[i] =
            (io_label){.start = a.begin[i],
                       .end = a.end[i],
                       .name = (char *)(uintptr_t)name_of(model, a.source[i])}; /* only read */
    bool ok = io_labels_write(path, &labels, &err);
    free(labels.label);
    return io_answer(ctx, ok, &err);
}

/* ---- MIDI ------------------------------------------------------------------------------------ */

/* 0 .. 15 without 9, which is the drums'; sources beyond the fifteenth share channels. */
static int channel_of(int64_t source)
{
    int channel = (int)(source % 15);

    return channel < 9 ? channel : channel + 1;
}

/* The notes of one source; returns how many. The loudest has velocity 127, the others less by the
 * root of their levels, as H is a power. */
static int64_t make_notes(const activity *a, int64_t source, io_note *note)
{
    double most = 1e-300; /* of silence, so that it can be divided by */
    int64_t count = 0;

    for (int64_t i = 0; i < a->count; i++)
        if ((int64_t)a->source[i] == source)
            most = fmax(most, a->level[i]);
    for (int64_t i = 0; i < a->count; i++) {
        double key = a->key[i], level = fmin(1.0, fmax(0.0, a->level[i] / most));
        if ((int64_t)a->source[i] == source)
            note[count++] =
                (io_note){a->begin[i], a->end[i], key >= 0 && key <= 127 ? (int)key : -1,
                          (int)fmax(1.0, 127.0 * sqrt(level))};
    }
    return count;
}

static bool write_tracks(const char *path, const tlnmf_record *model, const activity *a,
                         io_midi_track *track, io_note *note, io_error *err)
{
    const double beats_per_minute = 120;

    for (int64_t k = 0; k < a->sources; k++) {
        int64_t count = make_notes(a, k, note);
        track[k] = (io_midi_track){name_of(model, (double)k), channel_of(k), count, note};
        note += count;
    }
    return io_midi_write(path, beats_per_minute, track, a->sources, err);
}

tlnmf_error tlnmf_io_write_midi(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model,
                                const tlnmf_record *events)
{
    activity a;
    io_error err;

    IO_TRY(look(ctx, path, model, events, &a));
    io_midi_track *track = calloc((size_t)a.sources + 1, sizeof *track);
    io_note *note = calloc((size_t)a.count + 1, sizeof *note);
    bool ok = track != NULL && note != NULL;
    if (ok)
        ok = write_tracks(path, model, &a, track, note, &err);
    else
        io_set_error(&err, IO_NO_MEMORY, "%s: out of memory", path);
    free(track);
    free(note);
    return io_answer(ctx, ok, &err);
}
