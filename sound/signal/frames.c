/* Frames of a signal and the signal back (docs/spec.md, "Audio"). */
#include "sound/signal/frames.h"
#include "tlnmf/sound.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

tl_frames tl_frames_from(const tl_settings *s)
{
    enum { SHIFTS = 8 };
    tl_frames f = {.M = s->frame,
                   .hop = s->hop > 0 ? s->hop : tl_max(1, s->frame / 2),
                   .shifts = s->shifts,
                   .window = s->window == TL_WINDOW_AUTO ? TL_WINDOW_TUKEY : s->window,
                   .taper = s->taper,
                   .beta = s->beta};
    if (f.shifts == 0)
        f.shifts = tl_min(SHIFTS, f.hop);
    return f;
}

const char *tl_window_name(tl_window window)
{
    static const char *const names[] = {"auto", "tukey", "sine", "hann", "rectangular", "kaiser"};
    return (int)window >= 0 && (int)window < 6 ? names[window] : "unknown";
}

/* ---- windows --------------------------------------------------------------------------------- */

double tl_bessel_0(double x)
{
    double sum = 1.0, term = 1.0;
    for (int k = 1; term > 1e-17 * sum; k++) {
        double factor = 0.5 * x / (double)k;
        term *= factor * factor;
        sum += term;
    }
    return sum;
}

/* At p = (m + 1/2) / M, so that windows are symmetric and none is zero at its ends. */
static double window_at(const tl_frames *f, double p)
{
    double edge = fmin(p, 1.0 - p), centred = 2.0 * p - 1.0;
    switch (f->window) {
    case TL_WINDOW_TUKEY:
        return edge < 0.5 * f->taper ? 0.5 - 0.5 * cos(2.0 * PI * edge / f->taper) : 1.0;
    case TL_WINDOW_SINE:
        return sin(PI * p);
    case TL_WINDOW_HANN:
        return 0.5 - 0.5 * cos(2.0 * PI * p);
    case TL_WINDOW_KAISER:
        return tl_bessel_0(f->beta * sqrt(fmax(0.0, 1.0 - centred * centred))) /
               tl_bessel_0(f->beta);
    default:
        return 1.0;
    }
}

static tlnmf_error check_ranges(tlnmf_ctx *ctx, const tl_frames *f)
{
    const int64_t longest = (int64_t)1 << 20;
    if (f->M < 2 || f->M > longest)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "frame = %lld samples is outside [2, %lld]",
                       (long long)f->M, (long long)longest);
    if (f->hop < 1 || f->hop > f->M)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "hop = %lld samples is outside [1, %lld], the length of a frame: the sound "
                       "between frames would be lost",
                       (long long)f->hop, (long long)f->M);
    if (f->shifts < 1 || f->shifts > f->hop)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "shifts = %lld is outside [1, %lld], the hop",
                       (long long)f->shifts, (long long)f->hop);
    if (f->window < TL_WINDOW_TUKEY || f->window > TL_WINDOW_KAISER)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "window = %d is not one of the five", (int)f->window);
    if (!(f->taper >= 0.0 && f->taper <= 1.0))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "taper = %g is outside [0, 1]", f->taper);
    if (!(f->beta >= 0.0 && f->beta <= 100.0))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "beta = %g is outside [0, 100]", f->beta);
    return TLNMF_OK;
}

/* (24): the sum of squared windows over all frames and shifts is periodic with the hop. */
static tlnmf_error invert_sums(tlnmf_ctx *ctx, tl_framing *framing)
{
    const tl_frames *f = &framing->f;
    double most = 0.0, least = INFINITY;
    for (int64_t s = 0; s < f->shifts; s++)
        for (int64_t m = 0; m < f->M; m++) {
            int64_t t = m - f->M - tl_shift_offset(f, s); /* modulo the hop, so any frame will do */
            t = (t % f->hop + f->hop) % f->hop;
            framing->inverse[t] += framing->w[m] * framing->w[m];
        }
    for (int64_t t = 0; t < f->hop; t++) {
        most = fmax(most, framing->inverse[t]);
        least = fmin(least, framing->inverse[t]);
        framing->inverse[t] = 1.0 / framing->inverse[t];
    }
    const double worst = 1e-3; /* rounding errors grow by the root of its inverse */
    if (!(least >= worst * most))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "window %s with hop %lld of %lld samples cannot reconstruct the sound: "
                       "between frames its weight is only %.2g; use a smaller hop",
                       tl_window_name((tl_window)f->window), (long long)f->hop, (long long)f->M,
                       sqrt(least / most));
    return TLNMF_OK;
}

tlnmf_error tl_framing_create(tlnmf_ctx *ctx, const tl_frames *frames, tl_framing *framing)
{
    *framing = (tl_framing){.hooks = ctx->hooks};
    TRY(check_ranges(ctx, frames));
    framing->f = *frames;
    tl_slot table[] = {TL_SLOT(framing->w, frames->M), TL_SLOT(framing->inverse, frames->hop)};
    TRY(TL_ARENA(ctx, "the window", table, &framing->memory));
    for (int64_t m = 0; m < frames->M; m++)
        framing->w[m] = window_at(frames, ((double)m + 0.5) / (double)frames->M);
    tlnmf_error error = invert_sums(ctx, framing);
    if (error != TLNMF_OK)
        tl_framing_free(framing);
    return error;
}

void tl_framing_free(tl_framing *framing)
{
    tl_release(&framing->hooks, framing->memory);
    framing->memory = NULL;
}

/* ---- analysis and synthesis ------------------------------------------------------------------ */

/* The range of samples m of a frame at `begin` that lies in the stretch. */
static void overlap(const tl_stretch *x, int64_t begin, int64_t M, int64_t *from, int64_t *to)
{
    *from = tl_max(0, x->first - begin);
    *to = tl_min(M, x->first + x->length - begin);
}

void tl_frame_cut(const tl_framing *framing, const tl_stretch *x, int64_t n, int64_t row,
                  int64_t shift, double *Y)
{
    const tl_frames *f = &framing->f;
    int64_t C = x->channels, from, to;
    for (int64_t s = 0; s < f->shifts; s++) {
        int64_t begin = tl_frame_first(f, n) - tl_shift_offset(f, s);
        overlap(x, begin, f->M, &from, &to);
        for (int64_t m = 0; m < f->M; m++)
            for (int64_t c = 0; c < C; c++)
                Y[m * row + s * shift + c] =
                    m >= from && m < to ? framing->w[m] * x->x[(begin + m - x->first) * C + c]
                                        : 0.0;
    }
}

void tl_frame_add(const tl_framing *framing, const double *Y, int64_t n, int64_t row, int64_t shift,
                  tl_stretch *y)
{
    const tl_frames *f = &framing->f;
    int64_t C = y->channels, from, to;
    for (int64_t s = 0; s < f->shifts; s++) {
        int64_t begin = tl_frame_first(f, n) - tl_shift_offset(f, s);
        overlap(y, begin, f->M, &from, &to);
        for (int64_t m = from; m < to; m++)
            for (int64_t c = 0; c < C; c++)
                y->x[(begin + m - y->first) * C + c] += framing->w[m] * Y[m * row + s * shift + c];
    }
}

void tl_frames_divide(const tl_framing *framing, tl_stretch *y)
{
    int64_t hop = framing->f.hop;
    for (int64_t t = 0; t < y->length; t++) {
        double inverse = framing->inverse[((y->first + t) % hop + hop) % hop];
        for (int64_t c = 0; c < y->channels; c++)
            y->x[t * y->channels + c] *= inverse;
    }
}

/* ---- public calls ---------------------------------------------------------------------------- */

tlnmf_error tl_frames_check(tlnmf_ctx *ctx, const tl_frames *frames)
{
    tl_framing framing;
    tlnmf_error error = tl_framing_create(ctx, frames, &framing);
    if (error == TLNMF_OK)
        tl_framing_free(&framing);
    return error;
}

int64_t tl_frames_count(const tl_frames *f, int64_t length)
{
    if (length < 1 || f->hop < 1 || f->shifts < 1)
        return 0;
    int64_t latest = tl_shift_offset(f, f->shifts - 1);
    return (length - 1 + f->M - f->hop + latest) / f->hop + 1;
}

static tlnmf_error open_framing(tlnmf_ctx *ctx, const tl_settings *settings, tl_framing *framing)
{
    TRY(tl_settings_need(ctx, settings, TL_TASK_FRAMES | TL_TASK_LEARN));
    TRY(tlnmf_settings_check(ctx, settings));
    tl_frames frames = tl_frames_from(settings);
    return tl_framing_create(ctx, &frames, framing);
}

tlnmf_error tlnmf_frames_count(tlnmf_ctx *ctx, const tl_settings *settings, int64_t length,
                               int64_t *N)
{
    tl_framing framing;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, settings);
    TL_NEED(ctx, N);
    if (length < 0)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "length = %lld samples: it must not be negative",
                       (long long)length);
    if (length > TL_SAMPLES_MAX)
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE, "length = %lld samples is too large",
                       (long long)length);
    TRY(open_framing(ctx, settings, &framing));
    *N = tl_frames_count(&framing.f, length);
    tl_framing_free(&framing);
    return TLNMF_OK;
}

tlnmf_error tlnmf_frames_window(tlnmf_ctx *ctx, const tl_settings *settings, double *window)
{
    tl_framing framing;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, settings);
    TL_NEED(ctx, window);
    TRY(open_framing(ctx, settings, &framing));
    tl_copy(window, framing.w, framing.f.M);
    tl_framing_free(&framing);
    return TLNMF_OK;
}

/* Between x and Y[shift][row][frame], whose rows are N apart and whose shifts M N. */
static tlnmf_error transform(tlnmf_ctx *ctx, const tl_settings *settings, double *x, int64_t length,
                             double *Y, bool back)
{
    tl_framing framing;
    if (length < 1 || length > TL_SAMPLES_MAX)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "length = %lld samples is outside [1, 2^59]",
                       (long long)length);
    TRY(open_framing(ctx, settings, &framing));
    tl_stretch signal = {0, length, 1, x};
    int64_t N = tl_frames_count(&framing.f, length), apart = framing.f.M * N;
    if (back)
        memset(x, 0, (size_t)length * sizeof *x);
    for (int64_t n = 0; n < N; n++)
        if (back)
            tl_frame_add(&framing, Y + n, n, N, apart, &signal);
        else
            tl_frame_cut(&framing, &signal, n, N, apart, Y + n);
    if (back)
        tl_frames_divide(&framing, &signal);
    tl_framing_free(&framing);
    return TLNMF_OK;
}

tlnmf_error tlnmf_frames_analyse(tlnmf_ctx *ctx, const tl_settings *settings, const double *x,
                                 int64_t length, double *Y)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, settings);
    TL_NEED(ctx, x);
    TL_NEED(ctx, Y);
    return transform(ctx, settings, (double *)(uintptr_t)x, length, Y, false); /* x is only read */
}

tlnmf_error tlnmf_frames_synthesise(tlnmf_ctx *ctx, const tl_settings *settings, const double *Y,
                                    int64_t length, double *x)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, settings);
    TL_NEED(ctx, Y);
    TL_NEED(ctx, x);
    return transform(ctx, settings, x, length, (double *)(uintptr_t)Y, true); /* Y is only read */
}
