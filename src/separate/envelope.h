/* How a stem changes over time: its level and its spectral flux, every 10 ms. */
#ifndef TLNMF_SEPARATE_ENVELOPE_H
#define TLNMF_SEPARATE_ENVELOPE_H

#include "linalg/fft.h"
#include "separate/types.h"

enum { TL_ENVELOPE_LAG = 2 }; /* points of time between the spectra that are compared */

typedef struct tl_envelope {
    int64_t outputs, channels, times, hop, size, bins; /* size: samples of a spectrum */
    double scale;                                      /* of amplitudes, before the logarithm */
    double *level, *flux,
        *sum; /* outputs x times: mean square, rise of the log-spectrum, its sum */
    /* of each output: samples that are not used up, spectra of the last points of time */
    double *buffer;  /* outputs x size */
    int64_t *filled; /* outputs: samples in the buffer */
    int64_t *seen;   /* outputs: samples so far */
    int64_t *done;   /* outputs: points of time so far */
    double *last;    /* outputs x (LAG + 1) x bins */
    double *window;
    double *windowed;     /* outputs x size */
    tl_complex *spectrum; /* outputs x bins */
    tl_fft *fft;          /* outputs: outputs are followed on several threads */
    tl_hooks hooks;
    void *memory;
} tl_envelope;

int64_t tl_envelope_hop(double rate);
/* level, flux and sum are the caller's; `power` is the mean square of the recording. */
tlnmf_error tl_envelope_create(tlnmf_ctx *ctx, const tl_sound *sound, int64_t outputs, double rate,
                               double power, tl_envelope *e);
void tl_envelope_free(tl_envelope *e);
/* The next `count` samples of an output; different outputs may be on different threads. */
void tl_envelope_add(tl_envelope *e, int64_t output, int64_t count, const double *x);
/* The sound has ended. */
void tl_envelope_finish(tl_envelope *e);

#endif
