/* How a stem changes over time: its level and its spectral flux, every 10 ms. */
#include "separate/envelope.h"

#include <math.h>

/* Seconds between two points of time, and of a spectrum at least. Amplitudes are compressed by
 * log(1 + COMPRESS |X| / (half of what a sound of the recording's level would have)). */
static const double STEP = 0.01, WINDOW = 0.04, COMPRESS = 30.0;

/* Converters end at 768 kHz. A header that claims more does not choose how much memory is taken:
 * points of time are then closer. */
static const double RATE_MAX = 1e6;

int64_t tl_envelope_hop(double rate)
{
    return tl_max(1, (int64_t)floor(STEP * fmin(rate, RATE_MAX) + 0.5));
}

tlnmf_error tl_envelope_create(tlnmf_ctx *ctx, const tl_sound *sound, int64_t outputs, double rate,
                               double power, tl_envelope *e)
{
    const double pi = 3.14159265358979323846;
    int64_t size = 4;
    while ((double)size < WINDOW * fmin(rate, RATE_MAX))
        size *= 2;
    e->outputs = outputs;
    e->channels = sound->channels;
    e->hop = tl_envelope_hop(rate);
    e->times = (sound->length + e->hop - 1) / e->hop;
    e->size = size;
    e->bins = size / 2 + 1;
    e->scale = power > 0.0 ? COMPRESS / (0.5 * (double)size * sqrt(power)) : 0.0;
    e->hooks = ctx->hooks;
    tl_slot table[] = {TL_SLOT(e->buffer, outputs * size),
                       TL_SLOT(e->filled, outputs),
                       TL_SLOT(e->seen, outputs),
                       TL_SLOT(e->done, outputs),
                       TL_SLOT(e->last, outputs * (TL_ENVELOPE_LAG + 1) * e->bins),
                       TL_SLOT(e->window, size),
                       TL_SLOT(e->windowed, outputs * size),
                       TL_SLOT(e->spectrum, outputs * e->bins),
                       TL_SLOT(e->fft, outputs)};
    TRY(TL_ARENA(ctx, "the envelopes", table, &e->memory));
    tlnmf_error error = TLNMF_OK;
    for (int64_t o = 0; o < outputs && error == TLNMF_OK; o++)
        error = tl_fft_create(ctx, size, &e->fft[o]);
    if (error != TLNMF_OK) {
        tl_envelope_free(e);
        return error;
    }
    for (int64_t t = 0; t < size; t++)
        e->window[t] = 0.5 - 0.5 * cos(2.0 * pi * (double)t / (double)size);
    for (int64_t o = 0; o < outputs; o++)
        e->filled[o] = size / 2; /* zeros: the first spectrum is centred on the first sample */
    return TLNMF_OK;
}

void tl_envelope_free(tl_envelope *e)
{
    if (e->memory == NULL)
        return;
    for (int64_t o = 0; o < e->outputs; o++)
        if (e->fft[o].block != NULL)
            tl_fft_free(&e->fft[o]);
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

/* The spectrum of a full buffer. */
static void look(tl_envelope *e, int64_t o)
{
    const double *x = e->buffer + o * e->size;
    int64_t t = e->done[o]++;
    if (t >= e->times)
        return;
    double *now = e->last + (o * (TL_ENVELOPE_LAG + 1) + t % (TL_ENVELOPE_LAG + 1)) * e->bins;
    const double *before =
        e->last + (o * (TL_ENVELOPE_LAG + 1) + (t + 1) % (TL_ENVELOPE_LAG + 1)) * e->bins;
    double flux = 0.0, sum = 0.0; /* `before` is zero at first: the lists begin with zeros */
    double *windowed = e->windowed + o * e->size;
    tl_complex *spectrum = e->spectrum + o * e->bins;
    for (int64_t i = 0; i < e->size; i++)
        windowed[i] = e->window[i] * x[i];
    tl_fft_forward(&e->fft[o], windowed, spectrum);
    for (int64_t k = 0; k < e->bins; k++) {
        now[k] = log1p(e->scale * hypot(spectrum[k].re, spectrum[k].im));
        sum += now[k];
        flux += fmax(0.0, now[k] - nearby(before, k, e->bins));
    }
    e->flux[o * e->times + t] = flux;
    e->sum[o * e->times + t] = sum;
}

static void push(tl_envelope *e, int64_t o, double x)
{
    double *buffer = e->buffer + o * e->size;
    buffer[e->filled[o]++] = x;
    if (e->filled[o] < e->size)
        return;
    look(e, o);
    memmove(buffer, buffer + e->hop, (size_t)(e->size - e->hop) * sizeof *buffer);
    e->filled[o] = e->size - e->hop;
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
