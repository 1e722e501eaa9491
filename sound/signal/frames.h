/* Signals to frames and back, with shifts as realisations (docs/spec.md, "Audio").
 *
 * Frame n of shift s begins at sample (n + 1) hop - M - off_s, off_s = floor(s hop / S). Every
 * sample lies in the same number of frames, those at both ends included. */
#ifndef TLNMF_SOUND_FRAMES_H
#define TLNMF_SOUND_FRAMES_H

#include "base/settings.h"

/* Samples of a sound: sums of sizes stay below 2^63, and its numbers fit the address space. */
#define TL_SAMPLES_MAX ((int64_t)1 << 59)

typedef struct tl_frames {
    int64_t M, hop, shifts;
    int32_t window; /* a tl_window, not AUTO */
    double taper;   /* Tukey: the part of the frame that is not flat */
    double beta;    /* Kaiser */
} tl_frames;

/* From settings; a hop or a number of shifts of 0 becomes its default. */
tl_frames tl_frames_from(const tl_settings *settings);
/* Fails if a signal cannot be reconstructed from its frames; the message names window and hop. */
tlnmf_error tl_frames_check(tlnmf_ctx *ctx, const tl_frames *frames);
/* The number of frames of a signal of `length` samples; 0 for a hop or a length below 1. */
int64_t tl_frames_count(const tl_frames *frames, int64_t length);
const char *tl_window_name(tl_window window);
/* The modified Bessel function of order 0, by its power series: for Kaiser windows. */
double tl_bessel_0(double x);

/* Checked frame parameters with the window, computed once. */
typedef struct tl_framing {
    tl_frames f;
    double *w;       /* M */
    double *inverse; /* hop: 1 / sum of w^2 over the frames and shifts that hold a sample, (24) */
    tl_hooks hooks;
    void *memory;
} tl_framing;

tlnmf_error tl_framing_create(tlnmf_ctx *ctx, const tl_frames *frames, tl_framing *framing);
void tl_framing_free(tl_framing *framing);

static inline int64_t tl_shift_offset(const tl_frames *f, int64_t s)
{
    return s * f->hop / f->shifts;
}

/* The first sample of frame n at shift 0; the frame's samples at any shift lie in
 * [first - hop + 1, first + M). */
static inline int64_t tl_frame_first(const tl_frames *f, int64_t n)
{
    return (n + 1) * f->hop - f->M;
}

/* Whether frame n holds one of the samples start .. end-1 at any shift. */
static inline bool tl_frame_touches(const tl_frames *f, int64_t n, int64_t start, int64_t end)
{
    int64_t first = tl_frame_first(f, n);
    return start < first + f->M && first - f->hop + 1 < end;
}

/* A stretch of an interleaved signal: x holds `length` samples from `first` on; all others are
 * zero. */
typedef struct tl_stretch {
    int64_t first, length, channels;
    double *x;
} tl_stretch;

/* Copies frame n, windowed: sample m of shift s and channel c goes to Y[m row + s shift + c]. */
void tl_frame_cut(const tl_framing *framing, const tl_stretch *x, int64_t n, int64_t row,
                  int64_t shift, double *Y);
/* Adds these numbers back to the signal, windowed again. Samples outside the stretch are
 * dropped. */
void tl_frame_add(const tl_framing *framing, const double *Y, int64_t n, int64_t row, int64_t shift,
                  tl_stretch *y);
/* Divides the samples of the stretch, to which all frames have been added, by (24). */
void tl_frames_divide(const tl_framing *framing, tl_stretch *y);

#endif
