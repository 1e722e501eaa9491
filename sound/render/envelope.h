/* Envelopes: how the stems change over time. */
#ifndef TLNMF_SOUND_ENVELOPE_H
#define TLNMF_SOUND_ENVELOPE_H

#include "linalg/dft.h"
#include "sound/signal/samples.h"

/* What envelopes are made of, and for. */
typedef struct tl_envelope_request {
    double rate, power;   /* of the sound: samples per second, mean square */
    tlnmf_record *record; /* receives envelope.step (seconds), .level, .flux and .sum; NULL: none */
} tl_envelope_request;

/* The state, with LAG and BATCH of envelope.c. */
typedef struct tl_envelope {
    int64_t outputs, channels, times, hop;
    int64_t size, bins, wide; /* samples of a spectrum, its bins, samples of a batch */
    double scale;             /* of amplitudes, before the logarithm */
    double *level, *flux,
        *sum; /* outputs x times: mean square, rise of the log-spectrum, its sum */
    /* of each output: samples not yet used, and spectra of the last points of time */
    double *buffer;   /* outputs x wide */
    int64_t *filled;  /* outputs: samples in the buffer */
    int64_t *seen;    /* outputs: samples so far */
    int64_t *done;    /* outputs: points of time so far */
    double *last;     /* outputs x (LAG + 1) x bins */
    double *window;   /* size */
    double *windowed; /* outputs x size x BATCH */
    double *spectrum; /* outputs x size x BATCH */
    tl_dft_plan dft;
    tl_hooks hooks;
    void *memory;
} tl_envelope;

/* For `outputs` stems, and for the threads of the call. The caller frees it also on failure. */
tlnmf_error tl_envelope_create(tlnmf_ctx *ctx, const tl_sound *sound, int64_t outputs,
                               const tl_envelope_request *request, tl_envelope *e);
/* The next `count` samples of an output; different outputs may be on different threads. */
void tl_envelope_add(tl_envelope *e, int64_t o, int64_t count, const double *x);
/* Call it after the last sample. */
void tl_envelope_finish(tl_envelope *e);
void tl_envelope_free(tl_envelope *e);

#endif
