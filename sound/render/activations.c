/* When each source sounds, and at which pitch: from the envelopes of the stems, or from H alone. */
#include "base/record.h"
#include "sound/model/separation_model.h"

#include <math.h>
#include <stdlib.h>

enum { HARMONICS = 8, LOWEST_KEY = 21, HIGHEST_KEY = 108 /* of a piano */, MIDDLE_C = 60 };

/* Without envelopes: a source sounds where H exceeds THRESHOLD of its maximum (20 dB below it).
 * Breaks shorter than BREAK frames and sounds shorter than SHORTEST frames are ignored. */
static const double THRESHOLD = 1e-2;
enum { BREAK = 3, SHORTEST = 2 };

/* With envelopes: a source begins to sound OPEN below the LOUD quantile of its level, and ends
 * CLOSE below it. A note begins where the flux, as a part of the LOUD quantile of the
 * log-spectrum's sum, is the largest of NEAR points either way, above RISE (RISE_LABEL within LABEL
 * seconds of the start of one of its labels) and MEAN times the mean of AROUND points either way;
 * not sooner than GAP points after another, and not if it would last less than BRIEF seconds. It is
 * heard LATE seconds after it begins. docs/measurements/constants.md. */
static const double LOUD = 0.9, OPEN = 1e-3, CLOSE = 1e-4, RISE = 0.12, RISE_LABEL = 0.06,
                    LABEL = 0.06, MEAN = 2.0, LATE = 0.02, BRIEF = 0.05;
enum { NEAR = 3, AROUND = 10, GAP = 8, AHEAD = 8 };

/* The first member of the model, the sound, and the report about its stems. */
typedef struct view {
    const tl_separator *s;
    const tlnmf_sound *sound;
    const double *H; /* K x N */
    int64_t N;
    const double *level, *flux, *sum; /* envelopes, outputs x times; level = NULL: there are none */
    int64_t times;
    double step; /* seconds between two times */
} view;

typedef struct activation_event {
    double begin, end, level; /* seconds; largest power */
    int key;
} activation_event;

/* ---- from H to events ------------------------------------------------------------------------ */

static double level_at(const view *v, int64_t source, int64_t n)
{
    double sum = 0.0;
    for (int64_t k = 0; k < v->s->K; k++)
        sum += v->s->owner[k] == source ? v->H[k * v->N + n] : 0.0;
    return sum;
}

/* Frame n stands for the hop in its middle: the second at which that begins. */
static double time_of(const view *v, int64_t n)
{
    double middle =
        (double)((n + 1) * v->s->info.frames.hop) - 0.5 * (double)(v->s->M + v->s->info.frames.hop);
    double end = (double)v->sound->sound.length / v->sound->rate;
    return fmin(end, fmax(0.0, (middle - 0.5 * (double)v->s->info.frames.hop) / v->sound->rate));
}

/* Up to N events of one source. */
static int64_t find_events(const view *v, int64_t source, activation_event *out)
{
    double most = 0.0;
    int64_t count = 0;
    for (int64_t n = 0; n < v->N; n++)
        most = fmax(most, level_at(v, source, n));
    int64_t last = -BREAK - 1, first = 0; /* frames of the event at hand */
    for (int64_t n = 0; n <= v->N + BREAK; n++) {
        double h = n < v->N ? level_at(v, source, n) : 0.0;
        if (h > THRESHOLD * most) {
            if (n - last > BREAK)
                out[count] = (activation_event){.begin = time_of(v, first = n)};
            out[count].level = fmax(out[count].level, h);
            last = n;
        } else if (last >= 0 && n - last == BREAK) {
            out[count].end = time_of(v, last + 1);
            count += last + 1 - first >= SHORTEST && out[count].end > out[count].begin;
        }
    }
    return count;
}

/* ---- from envelopes to events ---------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The LOUD quantile; `scratch` holds as many numbers. */
static double loud(int64_t count, const double *x, double *scratch)
{
    tl_copy(scratch, x, count);
    qsort(scratch, (size_t)count, sizeof *scratch, by_size);
    return scratch[(int64_t)(LOUD * (double)(count - 1))];
}

/* Marks the points at which an onset would belong to the beginning of one of the source's labels.
 */
static void mark_labels(const view *v, int64_t source, bool *labelled)
{
    for (int64_t t = 0; t < v->times; t++)
        labelled[t] = false;
    for (int64_t i = 0; i < v->sound->span_count; i++) {
        double start = (double)v->sound->span[i].start / v->sound->rate;
        double first = (start + LATE - LABEL) / v->step, last = (start + LATE + LABEL) / v->step;
        if (v->sound->span[i].source != source || first > (double)v->times)
            continue;
        for (int64_t t = tl_max(0, (int64_t)first); t < tl_min(v->times, (int64_t)last + 2); t++)
            if (fabs(start - ((double)t * v->step - LATE)) <= LABEL)
                labelled[t] = true;
    }
}

/* Whether a note begins at point t, according to the flux. */
static bool rises(const view *v, const double *flux, const bool *labelled, double top, int64_t t)
{
    double least = top * (labelled[t] ? RISE_LABEL : RISE);
    double sum = 0.0;
    int64_t first = tl_max(0, t - AROUND), last = tl_min(v->times - 1, t + AROUND);
    if (flux[t] < least)
        return false;
    for (int64_t i = tl_max(0, t - NEAR); i <= tl_min(v->times - 1, t + NEAR); i++)
        if (flux[i] > flux[t])
            return false;
    for (int64_t i = first; i <= last; i++)
        sum += flux[i];
    return flux[t] >= MEAN * sum / (double)(last - first + 1);
}

/* Marks where the source sounds: hysteresis. */
static void find_sounding(const view *v, const double *level, double reference, bool *sounding)
{
    bool now = false;
    for (int64_t t = 0; t < v->times; t++)
        sounding[t] = now = level[t] > reference * (now ? CLOSE : OPEN);
}

/* Points first .. last-1; the end is heard as late as the beginning of the next. */
static void add_event(const view *v, const double *level, int64_t first, int64_t last,
                      activation_event *out)
{
    *out = (activation_event){.begin = fmax(0.0, (double)first * v->step - LATE),
                              .end = fmin((double)v->sound->sound.length / v->sound->rate,
                                          (double)last * v->step - LATE)};
    for (int64_t t = first; t < last; t++)
        out->level = fmax(out->level, level[t]);
}

/* Up to `times` events of one source. `sounding`, `labelled` and `scratch` have as many places. */
static int64_t find_notes(const view *v, int64_t source, bool *sounding, bool *labelled,
                          double *scratch, activation_event *out)
{
    const double *level = v->level + source * v->times, *flux = v->flux + source * v->times;
    double top = loud(v->times, v->sum + source * v->times, scratch);
    int64_t count = 0, begun = -1;
    find_sounding(v, level, loud(v->times, level, scratch), sounding);
    mark_labels(v, source, labelled);
    for (int64_t t = 0; t <= v->times; t++) {
        bool soon = false;
        for (int64_t i = t; i < tl_min(v->times, t + AHEAD); i++)
            soon = soon || sounding[i];
        bool fresh = t < v->times && soon && (begun < 0 || t - begun >= GAP) &&
                     rises(v, flux, labelled, top, t);
        if (begun >= 0 && (fresh || !soon)) {
            add_event(v, level, begun, t, &out[count]);
            count += out[count].end >= out[count].begin + BRIEF;
            begun = -1;
        }
        if (fresh)
            begun = t;
    }
    return count;
}

/* ---- pitch ----------------------------------------------------------------------------------- */

/* The power of a source's average sound at one frequency: sum_m w_m |sum_t Phi_mt e^(-2 pi i f
 * t)|^2, over the rows that hold most of it. */
static double power_at(const view *v, const double *w, double f)
{
    int64_t M = v->s->M;
    if (v->s->Phi == NULL) { /* rows are frequencies */
        int64_t row = tl_min((int64_t)(f * (double)M + 0.5), v->s->rows - 1);
        return w[row];
    }
    double sum = 0.0, step = 2.0 * 3.14159265358979323846 * f;
    for (int64_t m = 0; m < M; m++) {
        if (w[m] == 0.0)
            continue;
        double re = 0.0, im = 0.0, c = 1.0, s = 0.0, dc = cos(step), ds = sin(step);
        for (int64_t t = 0; t < M; t++) {
            re += c * v->s->Phi[m * M + t];
            im += s * v->s->Phi[m * M + t];
            double turned = c * dc - s * ds;
            s = s * dc + c * ds;
            c = turned;
        }
        sum += w[m] * (re * re + im * im);
    }
    return sum;
}

/* The mean of row k of H over the frames of an event; 1 if it has none. */
static double mean_H(const view *v, int64_t k, const activation_event *e)
{
    double sum = 0.0, count = 0.0;
    for (int64_t n = 0; n < v->N; n++)
        if (time_of(v, n) >= e->begin && time_of(v, n) < e->end) {
            sum += v->H[k * v->N + n];
            count += 1.0;
        }
    return count > 0.0 ? sum / count : 1.0;
}

/* The weight of each row in an event; rows below 1 percent of the strongest (chosen arbitrarily)
 * are skipped. `h` is K. */
static void row_weights(const view *v, int64_t source, const activation_event *e, double *h,
                        double *w)
{
    double most = 0.0;
    for (int64_t k = 0; k < v->s->K; k++)
        h[k] = v->s->owner[k] == source ? mean_H(v, k, e) : 0.0;
    for (int64_t m = 0; m < v->s->rows; m++) {
        w[m] = 0.0;
        for (int64_t k = 0; k < v->s->K; k++)
            w[m] += h[k] * v->s->W[m * v->s->K + k];
        most = fmax(most, w[m]);
    }
    for (int64_t m = 0; m < v->s->rows; m++)
        w[m] = w[m] < 1e-2 * most ? 0.0 : w[m];
}

/* The key whose harmonics hold the most power. Higher harmonics weigh less; otherwise the octave
 * below, which has the same harmonics, would win. */
static int find_key(const view *v, int64_t source, const activation_event *e, double *h, double *w)
{
    int best = MIDDLE_C;
    double most = -1.0;
    row_weights(v, source, e, h, w);
    for (int key = LOWEST_KEY; key <= HIGHEST_KEY; key++) {
        double f0 = 440.0 * pow(2.0, (key - 69) / 12.0) / v->sound->rate, sum = 0.0, weight = 1.0;
        for (int i = 1; i <= HARMONICS && f0 * i < 0.5; i++, weight *= 0.7)
            sum += weight * sqrt(power_at(v, w, f0 * i));
        if (sum > most) {
            most = sum;
            best = key;
        }
    }
    return best;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Envelopes of all sources, if the report has them. */
static void look_at_envelopes(const tlnmf_record *report, view *v)
{
    int64_t level[TLNMF_MAX_DIMENSIONS], flux[TLNMF_MAX_DIMENSIONS], sum[TLNMF_MAX_DIMENSIONS];
    v->level = tlnmf_record_get_array(report, "envelope.level", NULL, level);
    v->flux = tlnmf_record_get_array(report, "envelope.flux", NULL, flux);
    v->sum = tlnmf_record_get_array(report, "envelope.sum", NULL, sum);
    v->step = tlnmf_record_get_real(report, "envelope.step");
    v->times = level[1];
    if (v->level == NULL || v->flux == NULL || v->sum == NULL || !(v->step > 0.0) ||
        level[0] < v->s->info.sources || memcmp(level, flux, sizeof level) != 0 ||
        memcmp(level, sum, sizeof level) != 0)
        v->level = NULL;
}

static tlnmf_error look(tlnmf_ctx *ctx, const tl_separator *first, const tlnmf_sound *sound,
                        const tlnmf_record *report, view *v)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    tlnmf_record_get_array(report, "H", NULL, shape);
    *v = (view){.s = first, .sound = sound, .N = shape[1]};
    look_at_envelopes(report, v);
    TRY(tl_record_expect(ctx, report, "the report", "H", 2, (int64_t[]){first->K, v->N}, &v->H));
    if (v->H == NULL)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the report has no H: set keep-h when separating");
    return TLNMF_OK;
}

/* `most` places for each source in `all`. */
static tlnmf_error put_events(tlnmf_ctx *ctx, const view *v, const activation_event *all,
                              int64_t most, const int64_t *count, tlnmf_record *out)
{
    static const char *const names[] = {"source", "begin", "end", "level", "key"};
    enum { NAMES = 5 };
    double *column[NAMES];
    int64_t total = 0, at = 0;
    for (int64_t k = 0; k < v->s->info.sources; k++)
        total += count[k];
    for (int c = 0; c < NAMES; c++)
        TRY(tl_record_new_array(ctx, out, names[c], 1, &total, &column[c]));
    for (int64_t k = 0; k < v->s->info.sources; k++)
        for (int64_t i = 0; i < count[k]; i++, at++) {
            const activation_event *e = &all[k * most + i];
            const double row[NAMES] = {(double)k, e->begin, e->end, e->level, e->key};
            for (int c = 0; c < NAMES; c++)
                column[c][at] = row[c];
        }
    return TLNMF_OK;
}

static tlnmf_error find_all(tlnmf_ctx *ctx, const view *v, tlnmf_record **events)
{
    activation_event *all;
    double *w, *h, *scratch;
    bool *sounding, *labelled;
    int64_t count[TL_SOURCES_MAX], most = (v->level != NULL ? v->times : v->N) + 1;
    void *memory;
    tl_slot table[] = {TL_SLOT(all, v->s->info.sources * most),
                       TL_SLOT(w, v->s->M),
                       TL_SLOT(h, v->s->K),
                       TL_SLOT(scratch, most),
                       TL_SLOT(sounding, most),
                       TL_SLOT(labelled, most)};
    TRY(TL_ARENA(ctx, "the activations", table, &memory));
    for (int64_t k = 0; k < v->s->info.sources; k++) {
        activation_event *own = all + k * most;
        count[k] = v->level != NULL ? find_notes(v, k, sounding, labelled, scratch, own)
                                    : find_events(v, k, own);
        for (int64_t i = 0; i < count[k]; i++)
            own[i].key = find_key(v, k, &own[i], h, w);
    }
    tlnmf_error error = tlnmf_record_create(ctx, events);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(put_events(ctx, v, all, most, count, *events), events);
    tl_release(&ctx->hooks, memory);
    return error;
}

tlnmf_error tlnmf_activations(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                              const tlnmf_record *report, tlnmf_record **events)
{
    view v;
    tl_blend *blend;
    TL_NEED(ctx, events);
    *events = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, model);
    TL_NEED(ctx, sound);
    TL_NEED(ctx, report);
    TRY(tl_blend_from_record(ctx, model, &blend));
    tlnmf_error error = look(ctx, blend->member[0], sound, report, &v);
    if (error == TLNMF_OK)
        error = find_all(ctx, &v, events);
    tl_blend_free(blend);
    return error;
}
