/* A shelf: an array of points (Phi, W, H), kept as starts for another solver. */
#ifndef TLNMF_SEARCH_SHELF_H
#define TLNMF_SEARCH_SHELF_H

#include "engine/engine.h"

typedef struct tl_shelf {
    double *Phi, *W, *H; /* `count` matrices each */
    tl_hooks hooks;
    void *block;
} tl_shelf;

tlnmf_error tl_shelf_create(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t K, int64_t count,
                            tl_shelf *shelf);
void tl_shelf_free(tl_shelf *shelf);
/* Copies the engine's point to a place, and back. */
void tl_shelf_put(tl_shelf *shelf, int64_t place, const tl_engine *e);
void tl_shelf_take(const tl_shelf *shelf, int64_t place, tl_engine *e);

/* tl_gather_H() makes H of all frames (K x all) from the H of each process (K x N); all processes
 * that distribute frames call it. tl_scatter_H() is the reverse. */
void tl_gather_H(const tlnmf_data *data, int64_t K, const double *H, double *all);
void tl_scatter_H(const tlnmf_data *data, int64_t K, const double *all, double *H);

#endif
