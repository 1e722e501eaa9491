/* Sounds: their samples, and labels that say when each source sounds. */
#include "sound/signal/samples.h"
#include "base/monitor.h"
#include "base/record.h"

#include <math.h>
#include <stdio.h>

/* ---- samples --------------------------------------------------------------------------------- */

tlnmf_error tl_sound_read(tlnmf_ctx *ctx, const tl_sound *sound, tl_stretch *stretch)
{
    int64_t channels = sound->channels, from = tl_max(0, stretch->first),
            to = tl_min(sound->length, stretch->first + stretch->length);
    memset(stretch->x, 0, (size_t)(stretch->length * channels) * sizeof *stretch->x);
    if (from >= to)
        return TLNMF_OK;
    double *x = stretch->x + (from - stretch->first) * channels;
    tl_cause_forget(ctx);
    int status = sound->read(from, to - from, x, sound->user);
    if (status != 0) {
        char text[120];
        snprintf(text, sizeof text, "the callback returned %d for samples %lld to %lld", status,
                 (long long)from, (long long)to - 1);
        return tl_fail(ctx, TLNMF_ERR_CALLBACK, "reading failed at sample %lld: %s",
                       (long long)from, tl_cause_or(ctx, text));
    }
    for (int64_t i = 0; i < (to - from) * channels; i++)
        if (!isfinite(x[i]))
            return tl_fail(ctx, TLNMF_ERR_DATA, "sample %lld, channel %lld is not finite",
                           (long long)from + i / channels, (long long)i % channels);
    return TLNMF_OK;
}

tlnmf_error tl_sound_energies(tlnmf_ctx *ctx, const tl_sound *sound, int64_t hop, int64_t hops,
                              double *energy)
{
    const int64_t numbers = 65536; /* read at a time: half a megabyte */
    int64_t channels = sound->channels, each = tl_max(1, numbers / (hop * channels));
    tl_stretch piece = {.channels = channels};
    void *memory;
    tl_slot table[] = {TL_SLOT(piece.x, each * hop * channels)};
    TRY(TL_ARENA(ctx, "a piece of sound", table, &memory));
    tlnmf_error error = TLNMF_OK;
    for (int64_t h = 0; h < hops; h++)
        energy[h] = 0.0;
    for (int64_t h = 0; h < hops && error == TLNMF_OK; h += each) {
        piece.first = h * hop;
        piece.length = tl_min(each, hops - h) * hop;
        error = tl_sound_read(ctx, sound, &piece);
        for (int64_t t = 0; error == TLNMF_OK && t < piece.length * channels; t++)
            energy[h + t / (hop * channels)] += piece.x[t] * piece.x[t];
    }
    tl_release(&ctx->hooks, memory);
    return error;
}

tlnmf_error tl_sound_power(tlnmf_ctx *ctx, const tl_sound *sound, double *power)
{
    const int64_t hop = 4096; /* any: sums of sums lose fewer digits than one long sum */
    int64_t hops = (sound->length + hop - 1) / hop;
    double *energy, sum = 0.0;
    void *memory;
    tl_slot table[] = {TL_SLOT(energy, hops)};
    TRY(TL_ARENA(ctx, "the energies", table, &memory));
    tlnmf_error error = tl_sound_energies(ctx, sound, hop, hops, energy);
    for (int64_t h = 0; h < hops; h++)
        sum += energy[h];
    tl_release(&ctx->hooks, memory);
    *power = sum / ((double)sound->length * (double)sound->channels);
    return error;
}

/* ---- the object ------------------------------------------------------------------------------ */

static tlnmf_error describe(tlnmf_ctx *ctx, tlnmf_sound *s)
{
    TRY(tlnmf_record_create(ctx, &s->record));
    TRY(tlnmf_record_set_integer(ctx, s->record, "length", s->sound.length));
    TRY(tlnmf_record_set_integer(ctx, s->record, "channels", s->sound.channels));
    TRY(tlnmf_record_set_real(ctx, s->record, "rate", s->rate));
    TRY(tlnmf_record_set_integer(ctx, s->record, "labels", 0));
    return tlnmf_record_set_texts(ctx, s->record, "names", NULL, 0);
}

tlnmf_error tlnmf_sound_create(tlnmf_ctx *ctx, int64_t length, int64_t channels, double rate,
                               tlnmf_read_fn read, void *user, tlnmf_sound **out)
{
    TL_NEED(ctx, out);
    *out = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, read);
    if (!(rate > 0.0 && rate <= 1e12))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "rate = %g is outside (0, 1e+12]", rate);
    if (length < 1 || channels < 1 || channels > 1024 || length > TL_SAMPLES_MAX / channels)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "a sound cannot have %lld samples and %lld channels",
                       (long long)length, (long long)channels);
    tlnmf_sound *s = tl_allocate(&ctx->hooks, sizeof *s);
    if (s == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for a sound");
    *s = (tlnmf_sound){.sound = {length, channels, read, user}, .rate = rate, .hooks = ctx->hooks};
    tlnmf_error error = describe(ctx, s);
    if (error != TLNMF_OK) {
        tlnmf_sound_free(s);
        return error;
    }
    *out = s;
    return TLNMF_OK;
}

static int read_array(int64_t first, int64_t count, double *x, void *user)
{
    const tlnmf_sound *s = user;
    tl_copy(x, s->array + first * s->sound.channels, count * s->sound.channels);
    return 0;
}

tlnmf_error tlnmf_sound_from_array(tlnmf_ctx *ctx, const double *x, int64_t length,
                                   int64_t channels, double rate, tlnmf_sound **out)
{
    TL_NEED(ctx, out);
    *out = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, x);
    tlnmf_error error = tlnmf_sound_create(ctx, length, channels, rate, read_array, NULL, out);
    if (*out != NULL) {
        (*out)->array = x;
        (*out)->sound.user = *out;
    }
    return error;
}

void tlnmf_sound_free(tlnmf_sound *sound)
{
    if (sound == NULL)
        return;
    if (sound->close != NULL)
        sound->close(sound->owned);
    for (int64_t k = 0; k < sound->sources; k++)
        tl_release(&sound->hooks, sound->name[k]);
    tl_release(&sound->hooks, sound->span);
    tlnmf_record_free(sound->record);
    tl_hooks hooks = sound->hooks;
    tl_release(&hooks, sound);
}

const tlnmf_record *tlnmf_sound_record(const tlnmf_sound *sound)
{
    return sound == NULL ? NULL : sound->record;
}

tlnmf_record *tlnmf_sound_notes(tlnmf_sound *sound)
{
    return sound == NULL ? NULL : sound->record;
}

void tlnmf_sound_own(tlnmf_sound *sound, void (*close)(void *user), tlnmf_why_fn why, void *user)
{
    if (sound == NULL)
        return;
    sound->close = close;
    sound->why = why;
    sound->owned = user;
}

/* ---- reading --------------------------------------------------------------------------------- */

tlnmf_error tl_sound_explain(tlnmf_ctx *ctx, const tlnmf_sound *sound, tlnmf_error error)
{
    char text[TL_MESSAGE] = "";
    if (error == TLNMF_OK || sound->why == NULL)
        return error;
    tlnmf_error found = sound->why(text, sizeof text, sound->owned);
    return found == TLNMF_OK ? error : tlnmf_fail(ctx, found, text);
}

tlnmf_error tlnmf_sound_read(tlnmf_ctx *ctx, const tlnmf_sound *sound, int64_t first, int64_t count,
                             double *x)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, sound);
    TL_NEED(ctx, x);
    if (first < 0 || count < 0 || first > sound->sound.length - count)
        return tl_fail(ctx, TLNMF_ERR_SHAPE,
                       "cannot read %lld samples from sample %lld: the sound has %lld",
                       (long long)count, (long long)first, (long long)sound->sound.length);
    tl_stretch stretch = {
        .first = first, .length = count, .channels = sound->sound.channels, .x = x};
    return tl_sound_explain(ctx, sound, tl_sound_read(ctx, &sound->sound, &stretch));
}

tlnmf_error tlnmf_sound_power(tlnmf_ctx *ctx, const tlnmf_sound *sound, double *power)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, sound);
    TL_NEED(ctx, power);
    return tl_sound_explain(ctx, sound, tl_sound_power(ctx, &sound->sound, power));
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* The name without spaces around it, in `out` of TL_LABEL bytes; longer names are cut. */
enum { TL_LABEL = 256 };
static const char *trim(const char *name, char out[TL_LABEL])
{
    static const char spaces[] = " \t\r\n";
    name += strspn(name, spaces);
    size_t length = strlen(name);
    while (length > 0 && strchr(spaces, name[length - 1]) != NULL)
        length--;
    if (length >= TL_LABEL)
        length = TL_LABEL - 1;
    memcpy(out, name, length);
    out[length] = '\0';
    return out;
}

static tlnmf_error find_source(tlnmf_ctx *ctx, tlnmf_sound *sound, const char *name,
                               int64_t *source)
{
    for (*source = 0; *source < sound->sources; ++*source)
        if (strcmp(sound->name[*source], name) == 0)
            return TLNMF_OK;
    if (sound->sources == TL_SOURCES_MAX)
        return tl_fail(ctx, TLNMF_ERR_DATA, "more than %d sources are named", TL_SOURCES_MAX);
    size_t size = strlen(name) + 1;
    char *copy = tl_allocate(&sound->hooks, size);
    if (copy == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for the name of a source");
    memcpy(copy, name, size);
    sound->name[sound->sources++] = copy;
    return tlnmf_record_set_texts(ctx, sound->record, "names", (const char *const *)sound->name,
                                  (size_t)sound->sources);
}

static tlnmf_error add_span(tlnmf_ctx *ctx, tlnmf_sound *sound, tl_span span)
{
    if (sound->span_count == sound->span_capacity) {
        int64_t capacity = sound->span_capacity == 0 ? 64 : 2 * sound->span_capacity;
        tl_span *larger = tl_allocate(&sound->hooks, (size_t)capacity * sizeof *larger);
        if (larger == NULL)
            return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for %lld labels", (long long)capacity);
        if (sound->span_count > 0)
            memcpy(larger, sound->span, (size_t)sound->span_count * sizeof *larger);
        tl_release(&sound->hooks, sound->span);
        sound->span = larger;
        sound->span_capacity = capacity;
    }
    sound->span[sound->span_count++] = span;
    return tlnmf_record_set_integer(ctx, sound->record, "labels", sound->span_count);
}

int64_t tl_samples(double seconds, double rate)
{
    double samples = floor(seconds * rate + 0.5);
    return samples < 0x1p62 ? (int64_t)samples : (int64_t)1 << 62;
}

static int64_t to_sample(const tlnmf_sound *sound, double seconds)
{
    return tl_min(tl_samples(seconds, sound->rate), sound->sound.length);
}

/* One label as it was given: seconds and Hz; high = 0: all frequencies. */
typedef struct given_label {
    const char *name;
    double start, end, low, high;
    int64_t line; /* 0: unknown */
} given_label;

/* Warnings of one kind; those beyond the first SHOWN are only counted. */
enum { SHOWN = 3 };
typedef struct label_warnings {
    int64_t late, outside, points;
    bool single; /* one label: without samples it is an error; of a track it is skipped */
} label_warnings;

/* A label is cut, or lies outside of the sound: then the track may belong to another sound. */
static void note_end(tlnmf_ctx *ctx, tlnmf_sound *sound, const given_label *g, label_warnings *w)
{
    char line[32] = "", name[TL_LABEL];
    double length = (double)sound->sound.length / sound->rate;
    trim(g->name, name);
    if (g->line > 0)
        snprintf(line, sizeof line, "line %lld, ", (long long)g->line);
    if (g->start >= length) {
        sound->caveats.sources = ~(uint64_t)0;
        if (w->outside++ < SHOWN)
            tl_caveats_warn(ctx, &sound->caveats,
                            "the label \"%s\" (%s%g to %g s) lies outside of the sound, which ends "
                            "at %g s, and is ignored: correct its times or remove it",
                            name, line, g->start, g->end, length);
    } else if (w->late++ < SHOWN)
        tl_caveats_warn(ctx, &sound->caveats,
                        "the label \"%s\" ends at %g s, but the sound ends at %g s", name, g->end,
                        length);
}

static tlnmf_error add_label(tlnmf_ctx *ctx, tlnmf_sound *sound, const given_label *g,
                             label_warnings *w)
{
    const double tolerance = 0.05; /* seconds: editors round the end of a recording */
    char trimmed[TL_LABEL];
    if (trim(g->name, trimmed)[0] == '\0') {
        char line[32] = "";
        if (g->line > 0)
            snprintf(line, sizeof line, "line %lld: ", (long long)g->line);
        return tl_fail(ctx, TLNMF_ERR_DATA, "%sthe label at %g s has no name: which source is it?",
                       line, g->start);
    }
    if (!(g->start >= 0.0 && g->end >= g->start && g->end <= 1e12))
        return tl_fail(ctx, TLNMF_ERR_DATA, "the label \"%s\" has invalid times: from %g to %g s",
                       trimmed, g->start, g->end);
    if (!(g->low >= 0.0 && g->high >= g->low))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "the label \"%s\" has invalid frequencies: from %g to %g Hz", trimmed,
                       g->low, g->high);
    tl_span span = {.start = to_sample(sound, g->start),
                    .end = to_sample(sound, g->end),
                    .low = g->low / sound->rate,
                    .high = g->high / sound->rate,
                    .line = g->line};
    double length = (double)sound->sound.length / sound->rate;
    if (w->single && span.end <= span.start)
        return tl_fail(
            ctx, TLNMF_ERR_DATA,
            "the label \"%s\" from %g to %g s contains no sample of the sound, which has "
            "%g s at %g Hz",
            trimmed, g->start, g->end, length, sound->rate);
    TRY(find_source(ctx, sound, trimmed, &span.source));
    bool late = g->end > length + tolerance || g->start >= length,
         point = !late && g->end == g->start;
    if (late)
        note_end(ctx, sound, g, w);
    if (point && w->points++ < SHOWN)
        tl_log(
            ctx, TLNMF_LOG_WARNING,
            "the label \"%s\" at %g s has zero length: it does not say how long the source sounds",
            trimmed, g->start);
    return span.end > span.start ? add_span(ctx, sound, span) : TLNMF_OK;
}

tlnmf_error tlnmf_sound_add_label(tlnmf_ctx *ctx, tlnmf_sound *sound, const char *name,
                                  double start, double end)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, sound);
    TL_NEED(ctx, name);
    return add_label(ctx, sound, &(given_label){.name = name, .start = start, .end = end},
                     &(label_warnings){.single = true});
}

static tlnmf_error check_heard(tlnmf_ctx *ctx, const tlnmf_sound *sound)
{
    for (int64_t k = 0; k < sound->sources; k++) {
        bool heard = false;
        for (int64_t i = 0; i < sound->span_count; i++)
            heard = heard || sound->span[i].source == k;
        if (!heard)
            return tl_fail(ctx, TLNMF_ERR_DATA,
                           "\"%s\" never sounds: its labels have no length or lie past the end of "
                           "the sound",
                           sound->name[k]);
    }
    return TLNMF_OK;
}

tlnmf_error tlnmf_sound_add_labels(tlnmf_ctx *ctx, tlnmf_sound *sound, const tlnmf_record *track)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *start, *end, *low, *high, *line; /* frequencies and lines may be missing */
    label_warnings w = {0};
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, sound);
    TL_NEED(ctx, track);
    tlnmf_record_get_array(track, "start", NULL, shape);
    TRY(tl_record_expect(ctx, track, "the label track", "start", 1, shape, &start));
    TRY(tl_record_expect(ctx, track, "the label track", "end", 1, shape, &end));
    if (start == NULL || end == NULL)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the label track has no %s",
                       start == NULL ? "start" : "end");
    TRY(tl_record_expect(ctx, track, "the label track", "low", 1, shape, &low));
    TRY(tl_record_expect(ctx, track, "the label track", "high", 1, shape, &high));
    TRY(tl_record_expect(ctx, track, "the label track", "line", 1, shape, &line));
    for (int64_t i = 0; i < shape[0]; i++) {
        given_label g = {.name = tlnmf_record_get_text_at(track, "name", (size_t)i),
                         .start = start[i],
                         .end = end[i],
                         .low = low != NULL && high != NULL ? low[i] : 0.0,
                         .high = low != NULL && high != NULL ? high[i] : 0.0,
                         .line = line != NULL && line[i] >= 0.0 && line[i] < 1e15 ? (int64_t)line[i]
                                                                                  : 0};
        if (g.name == NULL)
            return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the label track has no name number %lld",
                           (long long)i);
        TRY(add_label(ctx, sound, &g, &w));
    }
    const char *file = tlnmf_record_get_text(track, "file");
    if (file != NULL)
        TRY(tlnmf_record_set_text(ctx, sound->record, "label_file", file));
    if (w.outside > SHOWN)
        tl_caveats_warn(ctx, &sound->caveats, "and %lld more labels lie outside of the sound",
                        (long long)(w.outside - SHOWN));
    if (w.late > SHOWN)
        tl_caveats_warn(ctx, &sound->caveats, "and %lld more labels end after the sound",
                        (long long)(w.late - SHOWN));
    if (w.points > SHOWN)
        tl_log(ctx, TLNMF_LOG_WARNING, "and %lld more labels have zero length",
               (long long)(w.points - SHOWN));
    return check_heard(ctx, sound);
}
