/* A sound at another rate: band-limited interpolation by a windowed sinc. */
#include "base/base.h"
#include "sound/signal/samples.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

/* The kernel is a sinc with ZEROS zero crossings on each side, times a Kaiser window of parameter
 * BETA. A table holds FINE points between two zero crossings; linear interpolation between them has
 * an error of 1e-6. The fraction PASS of the narrower band passes unchanged. Frequencies above the
 * band are attenuated by more than 90 dB. */
enum { ZEROS = 40, FINE = 1024, POINTS = ZEROS * FINE + 2, AT_ONCE = 4096 };
static const double BETA = 10.0, PASS = 0.925;

typedef struct resampler {
    const tlnmf_sound *from;
    double step;         /* samples of the old sound per sample of the new one */
    double scale;        /* of the kernel: less than 1 if the new rate is lower */
    atomic_bool starved; /* a read could not allocate its buffer */
    double kernel[POINTS];
} resampler;

static void fill_kernel(resampler *r)
{
    const double pi = 3.14159265358979323846;
    for (int i = 0; i < POINTS; i++) {
        double t = (double)i / FINE, u = t / ZEROS;
        double window = u < 1.0 ? tl_bessel_0(BETA * sqrt(1.0 - u * u)) / tl_bessel_0(BETA) : 0.0;
        double sinc = i == 0 ? PASS : sin(PASS * pi * t) / (pi * t);
        r->kernel[i] = sinc * window;
    }
}

/* The kernel at a distance of `d` samples of the old sound. */
static double kernel_at(const resampler *r, double d)
{
    double at = fabs(d) * r->scale * FINE;
    int64_t i = (int64_t)at;
    if (i >= POINTS - 1)
        return 0.0;
    return r->kernel[i] + (at - (double)i) * (r->kernel[i + 1] - r->kernel[i]);
}

/* The samples of the old sound that sample t of the new one depends on: low .. high. */
static void reach(const resampler *r, int64_t t, int64_t *low, int64_t *high)
{
    double at = (double)t * r->step, half = ZEROS / r->scale;
    *low = tl_max(0, (int64_t)ceil(at - half));
    *high = tl_min(r->from->sound.length - 1, (int64_t)floor(at + half));
}

/* Computes sample t of all channels. `old` holds samples of the old sound from `first` on. */
static void interpolate(const resampler *r, int64_t t, const double *old, int64_t first, double *x)
{
    int64_t channels = r->from->sound.channels, low, high;
    reach(r, t, &low, &high);
    for (int64_t c = 0; c < channels; c++)
        x[c] = 0.0;
    for (int64_t i = low; i <= high; i++) {
        double weight = r->scale * kernel_at(r, (double)t * r->step - (double)i);
        for (int64_t c = 0; c < channels; c++)
            x[c] += weight * old[(i - first) * channels + c];
    }
}

/* A tlnmf_read_fn. Several threads may read, so each call allocates its own buffer. */
static int read_resampled(int64_t first, int64_t count, double *x, void *user)
{
    resampler *r = user;
    const tl_sound *from = &r->from->sound;
    double most = (double)(AT_ONCE + 1) * r->step + 2.0 * ZEROS / r->scale + 2.0;
    double *old =
        tl_allocate(&r->from->hooks, (size_t)(most * (double)from->channels) * sizeof *old);
    int status = old == NULL ? 1 : 0;
    if (old == NULL)
        atomic_store(&r->starved, true);
    for (int64_t t = first; status == 0 && t < first + count; t += AT_ONCE) {
        int64_t n = tl_min(AT_ONCE, first + count - t), low, high, unused;
        reach(r, t, &low, &unused);
        reach(r, t + n - 1, &unused, &high);
        if (high >= low)
            status = from->read(low, high - low + 1, old, from->user);
        for (int64_t i = 0; status == 0 && i < n; i++)
            interpolate(r, t + i, old, low, x + (t - first + i) * from->channels);
    }
    tl_release(&r->from->hooks, old);
    return status;
}

static tlnmf_error why(char *text, size_t size, void *user)
{
    resampler *r = user;
    if (atomic_exchange(&r->starved, false)) {
        snprintf(text, size, "no memory to resample a sound");
        return TLNMF_ERR_MEMORY;
    }
    return r->from->why == NULL ? TLNMF_OK : r->from->why(text, size, r->from->owned);
}

static void close_resampler(void *user)
{
    resampler *r = user;
    tl_release(&r->from->hooks, r);
}

tlnmf_error tlnmf_sound_resample(tlnmf_ctx *ctx, const tlnmf_sound *sound, double rate,
                                 tlnmf_sound **out)
{
    TL_NEED(ctx, out);
    *out = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, sound);
    double step = sound->rate / rate;
    if (!(rate > 0.0 && step >= 1e-3 && step <= 1e3))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "rate = %g: it must lie within a factor of 1000 of %g Hz", rate,
                       sound->rate);
    resampler *r = tl_allocate(&sound->hooks, sizeof *r);
    if (r == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory to resample a sound");
    r->from = sound;
    atomic_init(&r->starved, false);
    r->step = step;
    r->scale = fmin(1.0, 1.0 / step);
    fill_kernel(r);
    int64_t length = (int64_t)ceil((double)sound->sound.length / step);
    tlnmf_error error =
        tlnmf_sound_create(ctx, length, sound->sound.channels, rate, read_resampled, r, out);
    if (error == TLNMF_OK)
        tlnmf_sound_own(*out, close_resampler, why, r);
    else
        tl_release(&sound->hooks, r);
    return error;
}
