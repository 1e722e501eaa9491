/* Signals to frames and back, with shifts as realisations (docs/spec.md, "Audio").
 *
 * Frame n of shift s begins at sample (n + 1) hop - M - off_s, off_s = floor(s hop / S): every
 * sample lies in as many frames as any other, those at the ends included. */
#ifndef TLNMF_DATA_FRAMES_H
#define TLNMF_DATA_FRAMES_H

#include "base/base.h"

/* A checked tl_frames with its window, made once. */
typedef struct tl_framing {
    tl_frames f;
    double *w;       /* M */
    double *inverse; /* hop: 1 / sum of w^2 over the frames and shifts that hold a sample, (24) */
    tl_hooks hooks;
    void *block;
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

/* Samples of an interleaved signal that are there: x holds those from `first` on, `length` of them;
 * all others are zero. */
typedef struct tl_stretch {
    int64_t first, length, channels;
    double *x;
} tl_stretch;

/* Frame n of all shifts and channels to columns s C + c of Y, whose rows are `columns` apart. */
void tl_frame_cut(const tl_framing *framing, const tl_stretch *x, int64_t n, int64_t columns,
                  double *Y);
/* Adds them back, windowed again; what lies outside the stretch is dropped. */
void tl_frame_add(const tl_framing *framing, const double *Y, int64_t n, int64_t columns,
                  tl_stretch *y);
/* Divides samples first .. first+length-1, to which all their frames have been added: (24). */
void tl_frames_divide(const tl_framing *framing, tl_stretch *y);

#endif
