/* The recording and its stems: envelopes to draw, and sound packed into the page. */
#include "report/report.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* In base64 a page carries at most 20 MB of sound. Up to a third of that as samples of 16 bits it
 * is FLAC, without loss and the same bytes in every run; above it is Ogg Vorbis. */
static const size_t most_sound = 15000000; /* bytes, before base64 */
static const int64_t most_samples = 7500000;

enum { BLOCK = 1 << 15 };

/* ---- envelopes ------------------------------------------------------------------------------- */

static signed char level(double x)
{
    return (signed char)lrint(127.0 * fmax(-1.0, fmin(1.0, x)));
}

/* One block of samples into the buckets of an envelope that is `length` samples long. */
static void draw(page_track *t, const double *x, int64_t first, int64_t count, int64_t length)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t bucket = (first + i) * PAGE_BUCKETS / length;
        for (int c = 0; c < t->info.channels; c++) {
            double sample = x[i * t->info.channels + c];
            signed char at = level(sample);
            t->low[bucket] = at < t->low[bucket] ? at : t->low[bucket];
            t->high[bucket] = at > t->high[bucket] ? at : t->high[bucket];
            t->peak = fmax(t->peak, fabs(sample));
            t->energy += sample * sample;
        }
    }
}

/* All of a file; `sum` (recording minus stems so far) changes by `sign` times it, if there is one.
 */
static bool read_track(page_track *t, int64_t length, float *sum, float sign, io_error *err)
{
    io_sound_reader *reader;
    io_sound_info info;
    if (!io_sound_open(t->path, &reader, &info, err))
        return false;
    double *block = malloc((size_t)info.channels * BLOCK * sizeof *block);
    bool ok = block != NULL || io_no_memory(err, t->path);
    for (int64_t at = 0; ok && at < info.frames; at += BLOCK) {
        int64_t count = info.frames - at < BLOCK ? info.frames - at : BLOCK;
        ok = io_sound_read_at(reader, at, count, block, err);
        if (!ok)
            break;
        draw(t, block, at, count, length);
        for (int64_t i = 0; sum != NULL && i < count * info.channels; i++)
            sum[at * info.channels + i] += sign * (float)block[i];
    }
    free(block);
    io_sound_close(reader);
    return ok;
}

/* ---- do the files belong together? ----------------------------------------------------------- */

static bool alike(const page_sound *s)
{
    bool all = s->track[0].readable;
    for (int i = 1; i < s->count; i++)
        all = all && s->track[i].readable && s->track[i].info.frames == s->track[0].info.frames &&
              s->track[i].info.channels == s->track[0].info.channels;
    return all && s->count > 1;
}

/* What is left of the recording when all stems are taken from it: nothing, but for rounding. */
static void check_sum(const page_sound *s, page_model *m, const float *sum)
{
    const double enough = 1e-4; /* -40 dB: no format of stems rounds as coarsely */
    double gain = page_value(m, "gain"), left = 0.0;
    int64_t count = s->track[0].info.frames * s->track[0].info.channels;
    for (int64_t i = 0; i < count; i++)
        left += (double)sum[i] * (double)sum[i];
    if (left > enough * s->track[0].energy && !(isfinite(gain) && gain != 1.0))
        page_note(m, "The stems do not sum to the recording: a file has changed since.");
}

/* At most this many samples are checked: memory stays below 300 MB in all. */
static const int64_t most_checked = 40000000;

static void read_tracks(page_sound *s, page_model *m)
{
    float *sum = NULL;
    io_error err;
    int64_t samples = s->track[0].info.frames * s->track[0].info.channels;
    if (alike(s) && samples <= most_checked)
        sum = calloc((size_t)samples, sizeof *sum);
    for (int i = 0; i < s->count; i++) {
        page_track *t = &s->track[i];
        if (!t->readable)
            continue;
        if (!read_track(t, s->length, sum, i == 0 ? 1.0F : -1.0F, &err)) {
            page_note(m, "%s", err.text);
            t->readable = false;
            free(sum);
            sum = NULL;
        }
    }
    if (sum != NULL)
        check_sum(s, m, sum);
    free(sum);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void look(page_sound *s, page_model *m, int i)
{
    page_track *t = &s->track[i];
    io_sound_reader *reader;
    io_error err;
    t->readable = io_sound_open(t->path, &reader, &t->info, &err);
    if (!t->readable) {
        page_note(m, "%s", err.text);
        return;
    }
    io_sound_close(reader);
    s->length = t->info.frames > s->length ? t->info.frames : s->length;
    if (s->rate == 0)
        s->rate = t->info.rate;
    const page_track *whole = &s->track[0];
    if (i > 0 && whole->readable &&
        (t->info.frames != whole->info.frames || t->info.rate != whole->info.rate))
        page_note(m, "%s: it has %lld samples at %d Hz, the recording has %lld at %d Hz", t->path,
                  (long long)t->info.frames, t->info.rate, (long long)whole->info.frames,
                  whole->info.rate);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void add_track(page_sound *s, const char *path, const char *name)
{
    if (path != NULL)
        s->track[s->count++] = (page_track){.path = path, .name = name ? name : base_name(path)};
}

/* ---- packing --------------------------------------------------------------------------------- */

typedef struct packer {
    pthread_mutex_t lock;
    page_sound *sound;
    int next;
    size_t used; /* bytes so far */
    bool too_large, failed;
    io_error err;
} packer;

static page_track *take(packer *p)
{
    page_track *t = NULL;
    pthread_mutex_lock(&p->lock);
    while (t == NULL && p->next < p->sound->count && !p->too_large && !p->failed) {
        page_track *next = &p->sound->track[p->next++];
        t = next->readable ? next : NULL;
    }
    pthread_mutex_unlock(&p->lock);
    return t;
}

static void *pack(void *user)
{
    packer *p = user;
    page_track *t;
    while ((t = take(p)) != NULL) {
        io_error err;
        bool ok = io_sound_encode(t->path, t->packing, most_sound, &t->packed, &err);
        pthread_mutex_lock(&p->lock);
        p->used += t->packed.size;
        if (!ok && !p->failed)
            p->err = err;
        p->failed = p->failed || !ok;
        p->too_large = p->too_large || (ok && t->packed.size == 0) || p->used > most_sound;
        pthread_mutex_unlock(&p->lock);
    }
    return NULL;
}

/* Stems only: they sum to the recording. Two at a time: Vorbis is what making a page waits for. */
static void pack_all(page_sound *s, page_model *m)
{
    packer p = {.sound = s, .next = s->count > 1 ? 1 : 0, .lock = PTHREAD_MUTEX_INITIALIZER};
    int64_t samples = 0;
    pthread_t helper;
    for (int i = p.next; i < s->count; i++)
        samples += s->track[i].info.frames * s->track[i].info.channels;
    for (int i = 0; i < s->count; i++)
        s->track[i].packing = samples <= most_samples ? IO_PACKED_FLAC : IO_PACKED_VORBIS;
    bool helped = pthread_create(&helper, NULL, pack, &p) == 0;
    pack(&p);
    if (helped)
        pthread_join(helper, NULL);
    if (p.too_large)
        page_note(m, "Sound is left out: it would take more than 20 MB. The stems are files.");
    else if (p.failed)
        page_note(m, "Sound is left out: %s", p.err.text);
    for (int i = 0; i < s->count; i++) {
        page_track *t = &s->track[i];
        if (p.too_large || p.failed) {
            free(t->packed.bytes);
            t->packed = (io_buffer){0};
        }
        s->has_sound = s->has_sound || t->packed.size > 0;
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

tlnmf_error page_sound_read(page_sound *s, page_model *m, bool no_sound)
{
    const char *stem;
    *s = (page_sound){.track = calloc(PAGE_TRACKS, sizeof *s->track)};
    if (s->track == NULL)
        return io_refuse(m->ctx, TLNMF_ERR_MEMORY, "out of memory for a page");
    add_track(s, tlnmf_get_text(m->about, "recording"), NULL);
    for (size_t i = 0; (stem = tlnmf_get_text_at(m->about, "stems", i)) != NULL; i++) {
        if (s->count == PAGE_TRACKS) {
            page_note(m, "Only the first %d stems are in the page.", PAGE_TRACKS - 1);
            break;
        }
        const char *name = tlnmf_get_text_at(m->about, "stem_names", i);
        add_track(s, stem, name != NULL ? name : tlnmf_get_text_at(m->record, "names", i));
    }
    for (int i = 0; i < s->count; i++)
        look(s, m, i);
    read_tracks(s, m);
    if (no_sound && s->count > 0)
        page_note(m, "Sound was left out on request.");
    else if (s->count > 0)
        pack_all(s, m);
    return TLNMF_OK;
}

void page_sound_free(page_sound *s)
{
    for (int i = 0; s->track != NULL && i < s->count; i++)
        free(s->track[i].packed.bytes);
    free(s->track);
}

json_t *page_sound_json(const page_sound *s)
{
    json_t *tracks = json_array();
    const int64_t buckets = PAGE_BUCKETS;
    for (int i = 0; i < s->count; i++) {
        const page_track *t = &s->track[i];
        json_t *low = page_array("i8", t->low, sizeof t->low, 1, &buckets);
        json_t *high = page_array("i8", t->high, sizeof t->high, 1, &buckets);
        json_array_append_new(tracks, json_pack("{s:o, s:b, s:f, s:o, s:o}", "name",
                                                io_json_text(t->name), "sound", t->packed.size > 0,
                                                "peak", t->peak, "low", low, "high", high));
    }
    return json_pack("{s:f, s:i, s:b, s:o}", "seconds",
                     s->rate > 0 ? (double)s->length / s->rate : 0.0, "rate", s->rate, "whole",
                     (int)(s->count > 1), "tracks", tracks);
}
