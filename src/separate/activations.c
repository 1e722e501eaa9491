/* When each source sounds, and at which pitch, from H and the model. */
#include "base/record.h"
#include "separate/model.h"

#include <math.h>

enum { HARMONICS = 8, LOWEST_KEY = 21, HIGHEST_KEY = 108 /* of a piano */, MIDDLE_C = 60 };

/* A source sounds where H is above this part of its largest: 20 dB below it. Breaks shorter than
 * BREAK frames are none, and neither are sounds shorter than SHORTEST. */
static const double THRESHOLD = 1e-2;
enum { BREAK = 3, SHORTEST = 2 };

/* The model as it is needed here. */
typedef struct view {
    int64_t M, K, N, hop, rows, sources, length;
    double rate;
    const int64_t *owner;      /* K: the source of each component */
    const double *Phi, *W, *H; /* M x M or NULL for the STFT, rows x K, K x N */
} view;

typedef struct event {
    double begin, end, level; /* seconds; largest H */
} event;

/* ---- from H to events ------------------------------------------------------------------------ */

static double level_at(const view *v, int64_t source, int64_t n)
{
    double sum = 0.0;
    for (int64_t k = 0; k < v->K; k++)
        sum += v->owner[k] == source ? v->H[k * v->N + n] : 0.0;
    return sum;
}

/* Frame n stands for the hop in its middle: the second at which that begins. */
static double time_of(const view *v, int64_t n)
{
    double middle = (double)((n + 1) * v->hop) - 0.5 * (double)(v->M + v->hop);
    double end = (double)v->length / v->rate;
    return fmin(end, fmax(0.0, (middle - 0.5 * (double)v->hop) / v->rate));
}

/* Up to N events of one source. */
static int64_t find_events(const view *v, int64_t source, event *out)
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
                out[count] = (event){time_of(v, first = n), 0.0, 0.0};
            out[count].level = fmax(out[count].level, h);
            last = n;
        } else if (last >= 0 && n - last == BREAK) {
            out[count].end = time_of(v, last + 1);
            count += last + 1 - first >= SHORTEST && out[count].end > out[count].begin;
        }
    }
    return count;
}

/* ---- pitch ----------------------------------------------------------------------------------- */

/* The power of a source's average sound at one frequency: sum_m w_m |sum_t Phi_mt e^(-2 pi i f
 * t)|^2, over the rows that hold most of it. */
static double power_at(const view *v, const double *w, double f)
{
    int64_t M = v->M;
    if (v->Phi == NULL) { /* rows are frequencies */
        int64_t row = tl_min((int64_t)(f * (double)M + 0.5), v->rows - 1);
        return w[row];
    }
    double sum = 0.0, step = 2.0 * 3.14159265358979323846 * f;
    for (int64_t m = 0; m < M; m++) {
        if (w[m] == 0.0)
            continue;
        double re = 0.0, im = 0.0, c = 1.0, s = 0.0, dc = cos(step), ds = sin(step);
        for (int64_t t = 0; t < M; t++) {
            re += c * v->Phi[m * M + t];
            im += s * v->Phi[m * M + t];
            double turned = c * dc - s * ds;
            s = s * dc + c * ds;
            c = turned;
        }
        sum += w[m] * (re * re + im * im);
    }
    return sum;
}

/* The weight of each row in a source, rows below 1 percent of the strongest left out. */
static void row_weights(const view *v, int64_t source, double *w)
{
    double most = 0.0;
    for (int64_t m = 0; m < v->rows; m++) {
        w[m] = 0.0;
        for (int64_t k = 0; k < v->K; k++)
            w[m] += v->owner[k] == source ? v->W[m * v->K + k] : 0.0;
        most = fmax(most, w[m]);
    }
    for (int64_t m = 0; m < v->rows; m++)
        w[m] = w[m] < 1e-2 * most ? 0.0 : w[m];
}

/* The key whose harmonics hold the most: each weighted less than the one before, so that an octave
 * below, which has all of them too, does not win. */
static int find_key(const view *v, int64_t source, double *w)
{
    int best = MIDDLE_C;
    double most = -1.0;
    row_weights(v, source, w);
    for (int key = LOWEST_KEY; key <= HIGHEST_KEY; key++) {
        double f0 = 440.0 * pow(2.0, (key - 69) / 12.0) / v->rate, sum = 0.0, weight = 1.0;
        for (int h = 1; h <= HARMONICS && f0 * h < 0.5; h++, weight *= 0.7)
            sum += weight * sqrt(power_at(v, w, f0 * h));
        if (sum > most) {
            most = sum;
            best = key;
        }
    }
    return best;
}

/* ---- the call -------------------------------------------------------------------------------- */

static tlnmf_error look(tlnmf_ctx *ctx, const tl_separator *first, const tlnmf_sound *sound,
                        const tlnmf_record *report, view *v)
{
    int64_t shape[TLNMF_MAX_RANK];
    tlnmf_get_array(report, "H", NULL, shape);
    *v = (view){.M = first->M,
                .K = first->K,
                .N = shape[1],
                .hop = first->info.frames.hop,
                .rows = first->rows,
                .sources = first->info.sources,
                .length = sound->sound.length,
                .rate = sound->rate,
                .owner = first->owner,
                .Phi = first->Phi,
                .W = first->W};
    TRY(tl_record_expect(ctx, report, "the report", "H", 2, (int64_t[]){v->K, v->N}, &v->H));
    if (v->H == NULL)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the report has no H: keep-h asks for it");
    return TLNMF_OK;
}

static tlnmf_error put_events(tlnmf_ctx *ctx, const view *v, const event *all, const int64_t *count,
                              const int *key, tlnmf_record *out)
{
    double *source, *begin, *end, *level, *keys;
    int64_t total = 0, at = 0;
    for (int64_t k = 0; k < v->sources; k++)
        total += count[k];
    TRY(tl_record_new_array(ctx, out, "source", 1, &total, &source));
    TRY(tl_record_new_array(ctx, out, "begin", 1, &total, &begin));
    TRY(tl_record_new_array(ctx, out, "end", 1, &total, &end));
    TRY(tl_record_new_array(ctx, out, "level", 1, &total, &level));
    TRY(tl_record_new_array(ctx, out, "key", 1, &total, &keys));
    for (int64_t k = 0; k < v->sources; k++)
        for (int64_t i = 0; i < count[k]; i++, at++) {
            const event *e = &all[k * (v->N + 1) + i];
            source[at] = (double)k;
            begin[at] = e->begin;
            end[at] = e->end;
            level[at] = e->level;
            keys[at] = key[k];
        }
    return TLNMF_OK;
}

static tlnmf_error find_all(tlnmf_ctx *ctx, const view *v, tlnmf_record **events)
{
    event *all;
    double *w;
    int64_t count[TL_SOURCES_MAX];
    int key[TL_SOURCES_MAX];
    void *block;
    tl_slot table[] = {TL_SLOT(all, v->sources * (v->N + 1)), TL_SLOT(w, v->M)};
    TRY(TL_ARENA(ctx, "the activations", table, &block));
    for (int64_t k = 0; k < v->sources; k++) {
        count[k] = find_events(v, k, all + k * (v->N + 1));
        key[k] = find_key(v, k, w);
    }
    tlnmf_error error = tlnmf_record_create(ctx, events);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(put_events(ctx, v, all, count, key, *events), events);
    tl_release(&ctx->hooks, block);
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
