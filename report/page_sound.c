/* The recording and its stems: envelopes to draw, and sound packed into the page. */
#include "report/report.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A page holds at most 20 MB of sound in base64. Up to most_samples it is FLAC, without loss and
 * with the same bytes in every run; above it is Ogg Vorbis. */
static const size_t most_sound = 15000000; /* bytes, before base64 */
static const int64_t most_samples = 7500000;

/* Above this number of samples Vorbis may need more, so a part of them is packed first. */
static const int64_t surely_fits = 50000000;

/* Samples per read; every PROBED-th second is in that part. Both were chosen arbitrarily. */
enum { BLOCK = 1 << 15, PROBED = 40 };

/* ---- envelopes ------------------------------------------------------------------------------- */

static signed char level(double x)
{
    return (signed char)lrint(127.0 * fmax(-1.0, fmin(1.0, x)));
}

/* Adds a block of samples to an envelope that is `length` samples long. */
static void draw(page_track *t, const double *x, int64_t first, int64_t count, int64_t length)
{
    int channels = t->info.channels;
    for (int64_t i = 0, next; i < count; i = next) {
        int64_t bucket = (first + i) * PAGE_BUCKETS / length;
        double low = 0.0, high = 0.0, energy = 0.0;
        next = ((bucket + 1) * length + PAGE_BUCKETS - 1) / PAGE_BUCKETS - first;
        next = next < count ? next : count;
        for (int64_t j = i * channels; j < next * channels; j++) {
            low = x[j] < low ? x[j] : low;
            high = x[j] > high ? x[j] : high;
            energy += x[j] * x[j];
        }
        signed char below = level(low), above = level(high);
        t->low[bucket] = below < t->low[bucket] ? below : t->low[bucket];
        t->high[bucket] = above > t->high[bucket] ? above : t->high[bucket];
        t->peak = fmax(t->peak, fmax(-low, high));
        t->energy += energy;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads all files in step, one block of each. */
typedef struct track_reading {
    page_sound *sound;
    page_model *m;
    double *block, *rest; /* of a file; the recording minus the stems */
    bool checks;          /* whether to compute the rest */
    double left;          /* energy of the rest */
} track_reading;

static void give_up(track_reading *r, int i)
{
    page_note(r->m, "%s", tlnmf_message(r->m->ctx));
    r->sound->track[i].readable = false;
    r->checks = false;
}

/* Reads samples at .. at + BLOCK of file i. */
static void read_block(track_reading *r, int i, int64_t at)
{
    page_track *t = &r->sound->track[i];
    int64_t left = t->info.frames - at, count = left < BLOCK ? left : BLOCK;
    if (!t->readable || count <= 0)
        return;
    if (tlnmf_sound_read(r->m->ctx, t->source.sound, at, count, r->block) != TLNMF_OK) {
        give_up(r, i);
        return;
    }
    draw(t, r->block, at, count, r->sound->length);
    for (int64_t j = 0; r->checks && j < count * t->info.channels; j++)
        r->rest[j] = i == 0 ? r->block[j] : r->rest[j] - r->block[j];
}

static void read_blocks(track_reading *r)
{
    const page_track *whole = &r->sound->track[0];
    for (int64_t at = 0; at < r->sound->length; at += BLOCK) {
        int64_t left = whole->info.frames - at, count = left < BLOCK ? left : BLOCK;
        for (int i = 0; i < r->sound->count; i++)
            read_block(r, i, at);
        for (int64_t j = 0; r->checks && j < count * whole->info.channels; j++)
            r->left += r->rest[j] * r->rest[j];
    }
}

static bool alike(const page_sound *s)
{
    bool all = s->track[0].readable;
    for (int i = 1; i < s->count; i++)
        all = all && s->track[i].readable && s->track[i].info.frames == s->track[0].info.frames &&
              s->track[i].info.channels == s->track[0].info.channels;
    return all && s->count > 1;
}

/* Finds the envelopes of all files, and whether the stems sum to the recording, except for
 * rounding. */
static void read_tracks(page_sound *s, page_model *m)
{
    const double enough = 1e-4; /* -40 dB: all formats of stems round less */
    double gain = page_value(m, "gain");
    track_reading r = {.sound = s, .m = m, .checks = alike(s) && !(isfinite(gain) && gain != 1.0)};
    int most = 1;
    for (int i = 0; i < s->count; i++)
        most = s->track[i].info.channels > most ? s->track[i].info.channels : most;
    r.block = calloc(2 * (size_t)most * BLOCK, sizeof *r.block);
    if (r.block == NULL) {
        page_note(m, "Envelopes are missing: out of memory.");
        return;
    }
    r.rest = r.block + (size_t)most * BLOCK;
    read_blocks(&r);
    free(r.block);
    if (r.checks && r.left > enough * s->track[0].energy)
        page_note(
            m, "The stems do not sum to the recording. A file has changed since the separation.");
}

/* ---- opening --------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void open_track(page_sound *s, page_model *m, int i)
{
    page_track *t = &s->track[i];
    if (t->path[0] == '\0') {
        page_note(m,
                  i == 0 ? "%s is not in the model's folder. Use tlnmf report --sound FILE."
                         : "The stem \"%s\" is not in the model's folder.",
                  t->name);
        return;
    }
    tlnmf_error error = i == 0 ? page_recording_open(m, t->path, &t->source)
                               : tlnmf_io_open_sound(m->ctx, t->path, &t->source.file);
    t->readable = error == TLNMF_OK;
    if (!t->readable) {
        page_note(m, "%s", tlnmf_message(m->ctx));
        return;
    }
    t->source.sound = i == 0 ? t->source.sound : t->source.file;
    t->info = io_sound_info_of(t->source.sound);
    s->length = t->info.frames > s->length ? t->info.frames : s->length;
    if (s->rate == 0)
        s->rate = t->info.rate;
    const page_track *whole = &s->track[0];
    if (i > 0 && whole->readable &&
        (t->info.frames != whole->info.frames || t->info.rate != whole->info.rate))
        page_note(m, "%s: it has %lld samples at %d Hz, the recording has %lld at %d Hz",
                  base_name(t->path), (long long)t->info.frames, t->info.rate,
                  (long long)whole->info.frames, whole->info.rate);
}

static void add_track(page_sound *s, const char *path, const char *name)
{
    if (path != NULL)
        s->track[s->count++] = (page_track){.path = path, .name = name ? name : base_name(path)};
}

/* ---- packing --------------------------------------------------------------------------------- */

typedef struct track_packer {
    pthread_mutex_t lock;
    page_sound *sound;
    bool wanted[PAGE_TRACKS];
    int next;
    int every;   /* packs only every n-th second, to estimate the size of the whole */
    size_t used; /* bytes so far */
    bool too_large, failed;
    char message[512]; /* of the first failure */
} track_packer;

static page_track *take(track_packer *p)
{
    page_track *t = NULL;
    pthread_mutex_lock(&p->lock);
    while (t == NULL && p->next < p->sound->count && !p->too_large && !p->failed) {
        int next = p->next++;
        t = p->wanted[next] ? &p->sound->track[next] : NULL;
    }
    pthread_mutex_unlock(&p->lock);
    return t;
}

static void *pack(void *user)
{
    track_packer *p = user;
    page_track *t;
    tlnmf_ctx *ctx; /* of this thread */
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        ctx = NULL;
    while ((t = take(p)) != NULL) {
        size_t most = most_sound / (size_t)p->every;
        bool ok = io_sound_encode(ctx, t->path, p->sound->packing, p->every, most, &t->packed);
        pthread_mutex_lock(&p->lock);
        p->used += t->packed.size;
        if (!ok && !p->failed)
            snprintf(p->message, sizeof p->message, "%s", tlnmf_message(ctx));
        p->failed = p->failed || !ok;
        p->too_large = p->too_large || (ok && t->packed.size == 0) || p->used > most;
        pthread_mutex_unlock(&p->lock);
    }
    tlnmf_ctx_free(ctx);
    return NULL;
}

static void drop(page_track *t)
{
    free(t->packed.bytes);
    t->packed = (io_buffer){0};
}

static track_packer packer_of(page_sound *s, int every)
{
    track_packer p = {.sound = s,
                      .next = s->count > 1 ? 1 : 0, /* stems only: they sum to the recording */
                      .every = every,
                      .lock = PTHREAD_MUTEX_INITIALIZER};
    for (int i = 0; i < s->count; i++)
        p.wanted[i] = s->track[i].readable;
    return p;
}

/* Whether the sound would be too large; takes a fortieth of the time of packing all of it. */
static bool is_too_large(page_sound *s, int64_t samples)
{
    if (samples <= surely_fits)
        return false;
    track_packer p = packer_of(s, PROBED);
    pack(&p);
    for (int i = 0; i < s->count; i++)
        drop(&s->track[i]);
    return p.too_large;
}

/* Packs on one thread while this thread reads the envelopes, then on both: encoding Vorbis takes
 * most of the time of a page. */
static void read_and_pack(page_sound *s, page_model *m)
{
    track_packer p = packer_of(s, 1);
    int64_t samples = 0;
    pthread_t helper;
    for (int i = p.next; i < s->count; i++)
        samples += s->track[i].info.frames * s->track[i].info.channels;
    s->packing = samples <= most_samples ? IO_PACKED_FLAC : IO_PACKED_VORBIS;
    p.too_large = is_too_large(s, samples);
    bool helped = pthread_create(&helper, NULL, pack, &p) == 0;
    read_tracks(s, m);
    pack(&p);
    if (helped)
        pthread_join(helper, NULL);
    if (p.too_large)
        page_note(m,
                  "Sound is omitted: it would take more than 20 MB. The stems are in their files.");
    else if (p.failed)
        page_note(m, "Sound is omitted: %s", p.message);
    for (int i = 0; i < s->count; i++)
        if (p.too_large || p.failed || !s->track[i].readable)
            drop(&s->track[i]);
}

/* ---- the sound ------------------------------------------------------------------------------- */

tlnmf_error page_sound_read(page_sound *s, page_model *m, bool no_sound)
{
    const char *stem;
    *s = (page_sound){.track = calloc(PAGE_TRACKS, sizeof *s->track)};
    if (s->track == NULL)
        return io_refuse(m->ctx, TLNMF_ERR_MEMORY, "out of memory for a page");
    const char *recording = tlnmf_record_get_text(m->about, "recording");
    add_track(s, recording, recording != NULL && recording[0] == '\0' ? "The recording" : NULL);
    for (size_t i = 0; (stem = tlnmf_record_get_text_at(m->about, "stems", i)) != NULL; i++) {
        if (s->count == PAGE_TRACKS) {
            page_note(m, "Only the first %d stems are in the page.", PAGE_TRACKS - 1);
            break;
        }
        const char *name = tlnmf_record_get_text_at(m->about, "stem_names", i);
        add_track(s, stem, name != NULL ? name : tlnmf_record_get_text_at(m->record, "names", i));
    }
    for (int i = 0; i < s->count; i++)
        open_track(s, m, i);
    if (s->count > 0 && no_sound) {
        read_tracks(s, m);
        page_note(m, "Sound is omitted, as requested.");
    } else if (s->count > 0) {
        read_and_pack(s, m);
    }
    return TLNMF_OK;
}

void page_sound_free(page_sound *s)
{
    for (int i = 0; s->track != NULL && i < s->count; i++) {
        page_recording_close(&s->track[i].source);
        free(s->track[i].packed.bytes);
    }
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
