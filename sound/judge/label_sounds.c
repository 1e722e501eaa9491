/* Checks of labels against the sound: labels that are early or late, and labels that sound like
 * another name. docs/measurements/labels.md has the data. */
#include "base/monitor.h"
#include "linalg/dft.h"
#include "sound/judge/label_checks.h"

#include <math.h>
#include <stdlib.h>

/* Frames of FRAME seconds every STEP seconds. */
static const double FRAME = 0.05, STEP = 0.01;
/* At most LABELS labels, evenly chosen, have spectra. About COLUMNS frames are read at a time. */
enum { LABELS = 512, COLUMNS = 64 };
/* Powers are compressed: relative to the mean, log(1 + p / SOFT) for spectra,
 * log(1 + sqrt(p) / SOFT_ONSET) for onsets. */
static const double SOFT = 0.03, SOFT_ONSET = 0.1;

/* A label and the mean spectrum of its frames in which no other source may sound. */
typedef struct label_sound {
    const tl_span *label;
    double *spectrum; /* rows */
    int64_t frames;
    double own, other; /* similarity to the nearest label of its name, of others; -1: none */
    const struct label_sound *as; /* the nearest of another name */
} label_sound;

typedef struct label_study {
    tlnmf_ctx *ctx;
    const tlnmf_sound *sound;
    const tl_schedule *schedule;
    tl_framing framing;
    tl_dft_plan dft;
    int64_t rows, frames, each; /* each: frames read at a time */
    double mean;                /* of the power of a row */
    double *x, *Y, *X;          /* samples, windowed frames, coefficients */
    double *power, *before;     /* rows: of a frame; compressed, of the frame before */
    double *flux;               /* frames: how much the compressed power rises */
    double *spectra;
    label_sound *heard;
    int64_t count; /* of labels in `heard` */
    int64_t *onset;
    int64_t onsets;
    bool shifted; /* labels are late or early */
    void *memory;
} label_study;

/* ---- listening ------------------------------------------------------------------------------- */

/* The power of frame i of those read. */
static void fill_power(const label_study *s, int64_t i)
{
    int64_t M = s->framing.f.M, channels = s->sound->sound.channels, columns = s->each * channels;
    for (int64_t r = 0; r < s->rows; r++) {
        double sum = 0.0;
        for (int64_t c = i * channels; c < (i + 1) * channels; c++) {
            double a = s->X[tl_max(0, 2 * r - 1) * columns + c];
            double b = r == 0 || 2 * r == M ? a : s->X[2 * r * columns + c];
            sum += 0.5 * (a * a + b * b);
        }
        s->power[r] = sum;
    }
}

static void take_flux(const label_study *s, int64_t n)
{
    for (int64_t r = 0; r < s->rows; r++) {
        double now = log1p(sqrt(s->power[r] / s->mean) / SOFT_ONSET);
        s->flux[n] += fmax(0.0, now - s->before[r]);
        s->before[r] = now;
    }
}

/* Adds frame n to the labels that it belongs to, if only their source may sound. */
static void take_spectrum(const label_study *s, int64_t n)
{
    const tl_frames *f = &s->framing.f;
    int64_t first = tl_frame_first(f, n), middle = first + f->M / 2;
    uint64_t sounding = tl_schedule_within(s->schedule, first + f->M / 4, first + f->M - f->M / 4,
                                           s->schedule->release);
    if (__builtin_popcountll(sounding) != 1)
        return;
    for (label_sound *h = s->heard; h < s->heard + s->count; h++) {
        if (sounding != (uint64_t)1 << h->label->source || middle < h->label->start ||
            middle >= h->label->end)
            continue;
        h->frames++;
        for (int64_t r = 0; r < s->rows; r++)
            h->spectrum[r] += s->power[r];
    }
}

static tlnmf_error listen(const label_study *s)
{
    const tl_frames *f = &s->framing.f;
    int64_t channels = s->sound->sound.channels;
    for (int64_t n = 0; n < s->frames && !tl_poll(s->ctx->monitor); n += s->each) {
        tl_stretch x = {tl_frame_first(f, n), (s->each - 1) * f->hop + f->M, channels, s->x};
        TRY(tl_sound_read(s->ctx, &s->sound->sound, &x));
        for (int64_t i = 0; i < s->each; i++)
            tl_frame_cut(&s->framing, &x, n + i, s->each * channels, channels, s->Y + i * channels);
        tl_dft_forward(&s->dft, s->each * channels, s->Y, s->X);
        for (int64_t i = 0; i < s->each && n + i < s->frames; i++) {
            fill_power(s, i);
            take_flux(s, n + i);
            take_spectrum(s, n + i);
        }
    }
    return TLNMF_OK;
}

/* ---- early or late --------------------------------------------------------------------------- */

/* Labels are moved by up to MOST seconds. A move by more than LEAST seconds is reported if the flux
 * at the starts is then GAIN times that within NEAR seconds. SMALL_GAIN is enough if labels are
 * late and MISSING of the energy has no label; labels seem early if sounds swell: LARGE_GAIN. */
static const double MOST = 0.4, LEAST = 0.1, NEAR = 0.05;
static const double GAIN = 1.12, SMALL_GAIN = 1.04, LARGE_GAIN = 1.4, MISSING = 0.01;
enum { LEAST_ONSETS = 2 };

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The starts of labels, except at the beginning of the recording; starts closer than 20 ms are
 * one. */
static void find_onsets(label_study *s)
{
    int64_t apart = tl_samples(0.02, s->sound->rate), first = tl_samples(0.05, s->sound->rate);
    int64_t count = s->sound->span_count, last = INT64_MIN / 2;
    for (int64_t i = 0; i < count; i++)
        s->onset[i] = s->sound->span[i].start;
    qsort(s->onset, (size_t)count, sizeof *s->onset, by_number);
    for (int64_t i = 0; i < count; i++)
        if (s->onset[i] - last > apart) {
            last = s->onset[i];
            if (last > first)
                s->onset[s->onsets++] = last;
        }
}

/* The mean flux at the starts of labels that are moved by k frames. */
static double flux_at(const label_study *s, int64_t k)
{
    const tl_frames *f = &s->framing.f;
    double sum = 0.0;
    for (int64_t i = 0; i < s->onsets; i++) {
        int64_t n = (s->onset[i] + f->M / 2 + f->hop / 2) / f->hop - 1 + k;
        double most = 0.0;
        for (int64_t m = tl_max(0, n - 1); m <= tl_min(n + 1, s->frames - 1); m++)
            most = fmax(most, s->flux[m]);
        sum += most;
    }
    return sum;
}

/* Adds a caveat if the labels are early or late. */
static bool check_times(const label_study *s, double unlabelled, tl_caveats *caveats)
{
    double step = (double)s->framing.f.hop / s->sound->rate, best = 0.0, here = 0.0;
    int64_t most = (int64_t)(MOST / step), near = (int64_t)(NEAR / step), move = 0;
    char place[TL_PLACE];
    if (s->onsets < LEAST_ONSETS)
        return false;
    for (int64_t k = -most; k <= most; k++) {
        double flux = flux_at(s, k);
        here = llabs(k) <= near ? fmax(here, flux) : here;
        if (flux > best) {
            best = flux;
            move = k;
        }
    }
    double seconds = step * (double)move, gain = best / here;
    bool swells = llabs(move) == most; /* the sound still rises there: not an onset */
    double needed = seconds > 0.0 ? LARGE_GAIN : unlabelled > MISSING ? SMALL_GAIN : GAIN;
    if (swells || fabs(seconds) <= LEAST || !(gain > needed))
        return false;
    tl_caveats_add(
        caveats, ~(uint64_t)0,
        "the labels are about %.2g s %s: sounds begin %s them; check the first label (%s) and "
        "move all labels; if they are right, ignore this warning: the stems do not change, only "
        "their quality is not estimated",
        fabs(seconds), seconds < 0.0 ? "late" : "early", seconds < 0.0 ? "before" : "after",
        tl_label_place(s->sound, s->sound->span, place));
    return true;
}

/* ---- labels that sound like another name ----------------------------------------------------- */

/* A label is compared if it is alone for ALONE seconds. It is reported if it is similar to a label
 * of another name by more than ALIKE, and by MARGIN more than to any of its own name. */
static const double ALONE = 0.12, ALIKE = 0.77, MARGIN = 0.05;

/* Compresses the mean spectrum and scales it to norm 1. Drops labels that are hardly alone. */
static void finish_spectra(label_study *s)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < s->count; i++) {
        label_sound h = s->heard[i];
        double norm = 0.0;
        for (int64_t r = 0; r < s->rows && h.frames > 0; r++) {
            h.spectrum[r] = log1p(h.spectrum[r] / ((double)h.frames * SOFT * s->mean));
            norm += h.spectrum[r] * h.spectrum[r];
        }
        if (!(norm > 0.0) || (double)(h.frames * s->framing.f.hop) < ALONE * s->sound->rate)
            continue;
        for (int64_t r = 0; r < s->rows; r++)
            h.spectrum[r] /= sqrt(norm);
        s->heard[kept++] = h;
    }
    s->count = kept;
}

/* Finds the nearest labels. Labels at the same time hold the same sound and are not compared. */
static void compare(const label_study *s)
{
    for (label_sound *h = s->heard; h < s->heard + s->count; h++) {
        h->own = h->other = -1.0;
        for (const label_sound *g = s->heard; g < s->heard + s->count; g++) {
            if (h->label->start < g->label->end && g->label->start < h->label->end)
                continue;
            double similar = 0.0;
            for (int64_t r = 0; r < s->rows; r++)
                similar += h->spectrum[r] * g->spectrum[r];
            if (g->label->source == h->label->source)
                h->own = fmax(h->own, similar);
            else if (similar > h->other) {
                h->other = similar;
                h->as = g;
            }
        }
    }
}

/* Whether a label sounds like one of another name. The only label of its name has nothing to differ
 * from. */
static bool is_doubted(const label_sound *h)
{
    return h->own >= 0.0 && h->other > fmax(ALIKE, h->own + MARGIN);
}

/* Either of the two can be the one with the wrong name, or a label at the same time. */
static void doubt(const label_study *s, const tl_span *a, const tl_span *b, tl_caveats *caveats)
{
    char name[2][TL_QUOTED], place[2][TL_PLACE];
    tl_caveats_add(
        caveats, (uint64_t)1 << a->source | (uint64_t)1 << b->source,
        "the labels %s (%s) and %s (%s) sound alike: check the names at both times, and whether a "
        "label is missing there; if they are right, ignore this warning: the stems do not change, "
        "only their quality is not estimated",
        tl_label_quote(s->sound->name[a->source], name[0]), tl_label_place(s->sound, a, place[0]),
        tl_label_quote(s->sound->name[b->source], name[1]), tl_label_place(s->sound, b, place[1]));
}

/* `alike`: names that are reported already. */
static void check_sounds(const label_study *s, const uint64_t *alike, tl_caveats *caveats)
{
    enum { SHOWN = 4 };
    int64_t found = 0;
    const tl_span *last = NULL;
    for (const label_sound *h = s->heard; h < s->heard + s->count; h++) {
        if (!is_doubted(h) || (h->as < h && h->as->as == h && is_doubted(h->as)))
            continue; /* the second of a pair */
        const tl_span *label = h->label;
        uint64_t both = (uint64_t)1 << label->source | (uint64_t)1 << h->as->label->source;
        bool chord = last != NULL && last->start == label->start && last->source == label->source;
        if (chord || (alike[label->source] & both) == both)
            continue;
        last = label;
        caveats->sources |= both;
        if (found++ < SHOWN)
            doubt(s, label, h->as->label, caveats);
    }
    if (found > SHOWN)
        tl_caveats_add(caveats, 0, "and %lld more pair%s of labels of two names sound%s alike",
                       (long long)(found - SHOWN), found == SHOWN + 1 ? "" : "s",
                       found == SHOWN + 1 ? "s" : "");
}

/* ---- the call -------------------------------------------------------------------------------- */

/* The least even length from `least` on without prime factors above 5: the DFT is fast. */
static int64_t fast_length(int64_t least)
{
    for (int64_t M = tl_max(16, least + least % 2);; M += 2) {
        int64_t rest = M;
        for (int64_t p = 2; p <= 5; p++)
            while (rest % p == 0)
                rest /= p;
        if (rest == 1)
            return M;
    }
}

static tlnmf_error study_create(label_study *s)
{
    const tl_frames *f = &s->framing.f;
    int64_t channels = s->sound->sound.channels, labels = s->sound->span_count;
    s->count = tl_min(labels, LABELS);
    s->rows = f->M / 2 + 1;
    s->frames = tl_frames_count(f, s->sound->sound.length);
    s->each = tl_max(1, COLUMNS / channels);
    int64_t numbers = f->M * s->each * channels;
    tl_slot table[] = {TL_SLOT(s->x, (s->each * f->hop + f->M) * channels),
                       TL_SLOT(s->Y, numbers),
                       TL_SLOT(s->X, numbers),
                       TL_SLOT(s->power, s->rows),
                       TL_SLOT(s->before, s->rows),
                       TL_SLOT(s->flux, s->frames),
                       TL_SLOT(s->spectra, s->count * s->rows),
                       TL_SLOT(s->heard, s->count),
                       TL_SLOT(s->onset, labels)};
    TRY(TL_ARENA(s->ctx, "the check of the labels", table, &s->memory));
    for (int64_t i = 0; i < s->count; i++)
        s->heard[i] = (label_sound){.label = &s->sound->span[i * labels / s->count],
                                    .spectrum = s->spectra + i * s->rows};
    double power;
    TRY(tl_sound_power(s->ctx, &s->sound->sound, &power));
    s->mean = 0.5 * power * (double)channels; /* 0.5: the mean square of the window */
    return TLNMF_OK;
}

static tlnmf_error check_sound(label_study *s, double unlabelled, const uint64_t *alike,
                               tl_caveats *caveats)
{
    TRY(study_create(s));
    if (!(s->mean > 0.0))
        return TLNMF_OK;
    TRY(listen(s));
    if (tl_poll(s->ctx->monitor))
        return TLNMF_OK;
    find_onsets(s);
    s->shifted = check_times(s, unlabelled, caveats);
    if (s->shifted) /* then most labels have the sound of others */
        return TLNMF_OK;
    finish_spectra(s);
    compare(s);
    check_sounds(s, alike, caveats);
    return TLNMF_OK;
}

/* There is no estimate for these, whatever the sound. */
static void check_kind(const tlnmf_sound *sound, tl_caveats *caveats)
{
    char name[TL_QUOTED], place[TL_PLACE];
    if (sound->sources == 1)
        tl_caveats_add(caveats, ~(uint64_t)0,
                       "all labels have the name %s: its stem is the whole recording; if several "
                       "sources play, name each of them",
                       tl_label_quote(sound->name[0], name));
    for (int64_t i = 0; i < sound->span_count; i++)
        if (sound->span[i].high > 0.0) {
            tl_caveats_add(caveats, ~(uint64_t)0,
                           "some labels have frequencies (the first: %s): the quality of such "
                           "stems cannot be estimated",
                           tl_label_place(sound, &sound->span[i], place));
            break;
        }
}

tlnmf_error tl_check_labels(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_schedule *schedule,
                            double unlabelled, tl_caveats *caveats, bool *shifted)
{
    uint64_t alike[TL_SOURCES_MAX];
    label_study s = {.ctx = ctx, .sound = sound, .schedule = schedule};
    double length = (double)sound->sound.length;
    *shifted = false;
    check_kind(sound, caveats);
    tl_check_names(sound, alike, caveats);
    if (sound->span_count == 0 || length < 4.0 * FRAME * sound->rate || STEP * sound->rate < 1.0)
        return TLNMF_OK;
    tl_frames frames = {.M = fast_length(tl_samples(FRAME, sound->rate)),
                        .hop = tl_samples(STEP, sound->rate),
                        .shifts = 1,
                        .window = TL_WINDOW_SINE};
    TRY(tl_framing_create(ctx, &frames, &s.framing));
    tlnmf_error error = tl_dft_plan_create(ctx, frames.M, &s.dft);
    if (error == TLNMF_OK)
        error = check_sound(&s, unlabelled, alike, caveats);
    *shifted = s.shifted;
    tl_dft_plan_free(&s.dft);
    tl_framing_free(&s.framing);
    tl_release(&ctx->hooks, s.memory);
    return error;
}
