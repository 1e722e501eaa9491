/* A shelf: points (Phi, W, H) that are kept as starts for another solver. */
#ifndef TLNMF_SEARCH_SHELF_H
#define TLNMF_SEARCH_SHELF_H

#include "engine/engine.h"

typedef struct tl_shelf {
    double *Phi, *W, *H; /* `count` of each, one after another */
    tl_hooks hooks;
    void *block;
} tl_shelf;

tlnmf_error tl_shelf_create(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t K, int64_t count,
                            tl_shelf *shelf);
void tl_shelf_free(tl_shelf *shelf);
void tl_shelf_put(tl_shelf *shelf, int64_t place, const tl_engine *e);
void tl_shelf_take(const tl_shelf *shelf, int64_t place, tl_engine *e);

#endif
