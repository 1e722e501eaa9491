/* Updates of W and H at a V that stays: the seam between the learning of sources and a device that
 * computes for it. A call is a whole run of updates, so that copies between host and device are few
 * beside it. The cpu's are in separate/factors.c, which is also the definition. */
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
    bool (*stops)(void *user); /* may be NULL; asked before each update; true: that was all */
    void *user;
} tl_updates;

typedef struct tl_updater_ops tl_updater_ops;

/* What computes them; its own struct begins with this. */
typedef struct tl_updater {
    const tl_updater_ops *ops;
} tl_updater;

struct tl_updater_ops {
    const char *name;
    int at_once; /* runs that compute at the same time; others wait */
    tlnmf_error (*open)(tlnmf_ctx *ctx, tl_updater **out);
    void (*close)(tl_updater *self); /* takes NULL */
    /* Any thread may call it, with a context of its own. If it fails, W and H are undefined. */
    tlnmf_error (*run)(tlnmf_ctx *ctx, tl_updater *self, const tl_updates *u);
    double (*bytes)(const tl_updates *u); /* bytes on the device of one run, by its sizes */
};

#endif
