/* Envelopes: level and spectral flux of the stems, every 10 ms. */
#include "sound/render/envelope.h"
#include "base/record.h"

#include <math.h>

enum { LAG = 2 };    /* points of time between two spectra that are compared */
enum { BATCH = 16 }; /* points of time that are transformed together */

/* Seconds between two points of time, and of a spectrum at least. Amplitudes are compressed by
 * log(1 + COMPRESS |X| / (half of what a sound of the recording's level would have)). */
static const double STEP = 0.01, WINDOW = 0.04, COMPRESS = 30.0;

/* Converters end at 768 kHz. A header that claims more does not choose how much memory is taken:
 * points of time are then closer. */
static const double RATE_MAX = 1e6;

static tlnmf_error put_arrays(tlnmf_ctx *ctx, double rate, tlnmf_record *record, tl_envelope *e)
{
    const int64_t shape[2] = {e->outputs, e->times};
    TRY(tlnmf_record_set_real(ctx, record, "envelope.step", (double)e->hop / rate));
    TRY(tl_record_new_array(ctx, record, "envelope.level", 2, shape, &e->level));
    TRY(tl_record_new_array(ctx, record, "envelope.flux", 2, shape, &e->flux));
    return tl_record_new_array(ctx, record, "envelope.sum", 2, shape, &e->sum);
}

tlnmf_error tl_envelope_create(tlnmf_ctx *ctx, const tl_sound *sound, int64_t outputs,
                               const tl_envelope_request *request, tl_envelope *e)
{
    const double pi = 3.14159265358979323846, rate = fmin(request->rate, RATE_MAX);
    double power = request->power;
    int64_t size = 4, hop = tl_max(1, tl_samples(STEP, rate));
    while ((double)size < WINDOW * rate)
        size *= 2;
    *e = (tl_envelope){.outputs = outputs,
                       .channels = sound->channels,
                       .hop = hop,
                       .times = (sound->length + hop - 1) / hop,
                       .size = size,
                       .bins = size / 2 + 1,
                       .wide = size + (BATCH - 1) * hop,
                       .scale = power > 0.0 ? COMPRESS / (0.5 * (double)size * sqrt(power)) : 0.0,
                       .hooks = ctx->hooks};
    int64_t batch = outputs * size * BATCH;
    tl_slot table[] = {TL_SLOT(e->buffer, outputs * e->wide),
                       TL_SLOT(e->filled, outputs),
                       TL_SLOT(e->seen, outputs),
                       TL_SLOT(e->done, outputs),
                       TL_SLOT(e->last, outputs * (LAG + 1) * e->bins),
                       TL_SLOT(e->window, size),
                       TL_SLOT(e->windowed, batch),
                       TL_SLOT(e->spectrum, batch)};
    TRY(put_arrays(ctx, request->rate, request->record, e));
    TRY(TL_ARENA(ctx, "the envelopes", table, &e->memory));
    TRY(tl_dft_plan_create(ctx, size, &e->dft));
    for (int64_t t = 0; t < size; t++)
        e->window[t] = 0.5 - 0.5 * cos(2.0 * pi * (double)t / (double)size);
    for (int64_t o = 0; o < outputs; o++)
        e->filled[o] = size / 2; /* zeros: the first spectrum is centred on the first sample */
    return TLNMF_OK;
}

void tl_envelope_free(tl_envelope *e)
{
    tl_dft_plan_free(&e->dft);
    tl_release(&e->hooks, e->memory);
    e->memory = NULL;
}

/* The largest of a bin and its neighbours: vibrato is no onset. */
static double nearby(const double *L, int64_t k, int64_t bins)
{
    double x = L[k];
    if (k > 0)
        x = fmax(x, L[k - 1]);
    return k + 1 < bins ? fmax(x, L[k + 1]) : x;
}

/* |X| of bin k: rows 2k - 1 and 2k of the transform are sqrt(2 / size) times its parts. */
static double amplitude(const tl_envelope *e, const double *X, int64_t k, int64_t column)
{
    double scale = sqrt((double)e->size);
    if (k == 0 || k + 1 == e->bins)
        return scale * fabs(X[tl_max(0, 2 * k - 1) * BATCH + column]);
    return sqrt(0.5) * scale * hypot(X[(2 * k - 1) * BATCH + column], X[2 * k * BATCH + column]);
}

/* The next point of time of an output, whose spectrum is a column of X. */
static void look(tl_envelope *e, int64_t o, const double *X, int64_t column)
{
    int64_t t = e->done[o]++;
    if (t >= e->times)
        return;
    double *now = e->last + (o * (LAG + 1) + t % (LAG + 1)) * e->bins;
    const double *before = e->last + (o * (LAG + 1) + (t + 1) % (LAG + 1)) * e->bins;
    double flux = 0.0, sum = 0.0; /* `before` is zero at first: the lists begin with zeros */
    for (int64_t k = 0; k < e->bins; k++) {
        now[k] = log1p(e->scale * amplitude(e, X, k, column));
        sum += now[k];
        flux += fmax(0.0, now[k] - nearby(before, k, e->bins));
    }
    e->flux[o * e->times + t] = flux;
    e->sum[o * e->times + t] = sum;
}

/* The spectra of a full buffer, one every hop. */
static void look_at_batch(tl_envelope *e, int64_t o)
{
    const double *x = e->buffer + o * e->wide;
    double *windowed = e->windowed + o * e->size * BATCH;
    double *X = e->spectrum + o * e->size * BATCH;
    for (int64_t i = 0; i < e->size; i++)
        for (int64_t c = 0; c < BATCH; c++)
            windowed[i * BATCH + c] = e->window[i] * x[c * e->hop + i];
    tl_dft_forward(&e->dft, BATCH, windowed, X);
    for (int64_t c = 0; c < BATCH; c++)
        look(e, o, X, c);
}

static void push(tl_envelope *e, int64_t o, double x)
{
    double *buffer = e->buffer + o * e->wide;
    buffer[e->filled[o]++] = x;
    if (e->filled[o] < e->wide)
        return;
    look_at_batch(e, o);
    e->filled[o] = e->wide - BATCH * e->hop;
    memmove(buffer, buffer + BATCH * e->hop, (size_t)e->filled[o] * sizeof *buffer);
}

void tl_envelope_add(tl_envelope *e, int64_t o, int64_t count, const double *x)
{
    for (int64_t i = 0; i < count; i++) {
        double sum = 0.0;
        for (int64_t c = 0; c < e->channels; c++)
            sum += x[i * e->channels + c];
        double mean = sum / (double)e->channels;
        e->level[o * e->times + e->seen[o]++ / e->hop] += mean * mean / (double)e->hop;
        push(e, o, mean);
    }
}

void tl_envelope_finish(tl_envelope *e)
{
    for (int64_t o = 0; o < e->outputs; o++)
        while (e->done[o] < e->times)
            push(e, o, 0.0);
}
