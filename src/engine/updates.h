/* Updates of W and H at a V that stays, and Fourier transforms of blocks of frames: the
 * interface between the separation of sources and a device that computes for it. A call is a
 * whole run of updates, or all columns of a block, so that copies between host and device are
 * few in comparison. The definition is the cpu's version in sound/render. */
#ifndef TLNMF_ENGINE_UPDATES_H
#define TLNMF_ENGINE_UPDATES_H

#include "base/base.h"

/* `count` updates (7) of H, or (7)-(9) of H and W. Arrays are in host memory, in C order. */
typedef struct tl_updates {
    int64_t rows, N, K;
    double eps;
    const double *V;           /* rows x N */
    double *W, *H;             /* rows x K, K x N; W is written only if it moves */
    bool moves_W;              /* after H, each time */
    const bool *free;          /* K: the columns of W that move, whose sums become 1; NULL: all */
    int64_t count;             /* 0: only U */
    double *U;                 /* rows x N: receives 1 / (W H + eps) at the end; or NULL */
    bool (*stops)(void *user); /* may be NULL; called before each update; true: stop */
    void *user;
} tl_updates;

/* The coefficients X = Phi Y of a block of frames, which stay on the device; Phi is that of tl_dft,
 * M x M. A frame has `per_frame` columns of Y, next to each other. */
typedef struct tl_spectrum tl_spectrum;
typedef struct tl_spectral {
    int64_t count, per_frame; /* frames; columns of each */
    const double *in;
    double *out;
} tl_spectral;

typedef struct tl_updater_ops tl_updater_ops;

/* The object that computes them; its own struct begins with this. */
typedef struct tl_updater {
    const tl_updater_ops *ops;
} tl_updater;

struct tl_updater_ops {
    const char *name;
    int at_once; /* runs that compute at the same time; others wait */
    tlnmf_error (*open)(tlnmf_ctx *ctx, tl_updater **out);
    void (*close)(tl_updater *self); /* takes NULL */
    /* Any thread may call it, with its own context. If it fails, W and H are undefined. */
    tlnmf_error (*run)(tlnmf_ctx *ctx, tl_updater *self, const tl_updates *u);
    double (*bytes)(const tl_updates *u); /* bytes on the device of one run, by its sizes */

    /* For blocks of up to `columns` columns. If M is too large or the device lacks memory, *out is
     * NULL without an error, and the cpu computes the transforms. One thread at a time may use it.
     */
    tlnmf_error (*open_spectrum)(tlnmf_ctx *ctx, tl_updater *self, int64_t M, int64_t columns,
                                 tl_spectrum **out);
    void (*close_spectrum)(tl_spectrum *s); /* takes NULL; before the updater is closed */
    /* in: Y, M x (count per_frame); out: V, (M / 2 + 1) x count: the mean over the columns of a
     * frame of the squares of cosine and sine, (25). */
    tlnmf_error (*analyse)(tlnmf_ctx *ctx, tl_spectrum *s, const tl_spectral *b);
    /* in: a mask, (M / 2 + 1) x count; out: Phi' (mask X), as Y. */
    tlnmf_error (*mask)(tlnmf_ctx *ctx, tl_spectrum *s, const tl_spectral *b);
};

#endif
