/* A block of frames: analysis, H at a fixed W, masks, and back. */
#ifndef TLNMF_SOUND_FRAME_BLOCK_H
#define TLNMF_SOUND_FRAME_BLOCK_H

#include "linalg/dft.h"
#include "sound/model/factors.h"
#include "sound/model/separator.h"
#include "sound/signal/scene.h"

/* Columns of a block: enough for products to run at full speed in little memory. */
enum { TL_BLOCK_COLUMNS = 512 };

/* Works on blocks of `count` frames: cut and analyse; then fit; and for each output part and add.
 * Columns are grouped by frame; a frame has one for each shift and channel. */
typedef struct tl_frame_block {
    const tl_framing *framing;
    int64_t M, K, rows, channels;
    int64_t per_frame;       /* columns of a frame: shifts times channels */
    int64_t capacity, count; /* frames that fit, frames there are */
    /* set by the user of the block, and free to change between blocks */
    const double *Phi;    /* M x M, or NULL for the DFT without a matrix */
    double *W;            /* rows x K; it does not change */
    const int64_t *owner; /* K: the source of each column */
    double eps, largest_W;
    bool paired;            /* cosine and sine rows of the DFT share their power: (25) */
    const uint64_t *barred; /* rows x count: sources that may not have a row, as bits; or NULL */
    double *Y, *X;          /* M x (count per_frame): frames, later those of an output; Phi Y */
    double *V;              /* rows x count */
    double *H;              /* K x count */
    double *Vhat;           /* rows x count: W H + eps */
    double *H_part;         /* K x count: rows of H of one output, the others 0 */
    double *mask;           /* rows x count: of one output, (23) */
    double *X_part;         /* M x (count per_frame): coefficients of one output; with Phi alone */
    tl_factors factors;
    tl_dft_plan dft;
    tl_spectrum *there; /* X is on a device; NULL: here */
    tlnmf_ctx *ctx;     /* for polls and errors */
    tlnmf_error error;  /* of the fit or the device; after it, calls do nothing */
    tl_hooks hooks;
    void *memory;
} tl_frame_block;

/* K = 0: for analysis only. `spectral`: without Phi, M / 2 + 1 rows. */
tlnmf_error tl_frame_block_create(tlnmf_ctx *ctx, const tl_framing *framing, int64_t channels,
                                  int64_t K, bool spectral, tl_frame_block *block);
/* With the Phi, W and options of the separator; `framing` must be of its frames. A device, unless
 * it is NULL, computes the updates, and the transforms if there is no Phi. Messages of block->error
 * go to ctx. On failure the block is empty; it may be freed. */
tlnmf_error tl_frame_block_create_for(tlnmf_ctx *ctx, const tl_separator *separator,
                                      const tl_framing *framing, int64_t channels,
                                      tl_updater *updater_or_null, tl_frame_block *block);
void tl_frame_block_free(tl_frame_block *block);

/* Frames n .. n+count-1 of the stretch become the frames of the block. */
void tl_frame_block_cut(tl_frame_block *block, const tl_stretch *x, int64_t n, int64_t count);
/* The first `rows` rows of X and V. */
void tl_frame_block_analyse(tl_frame_block *block, int64_t rows);
/* Analyses the frames of a scene, until a stop: the first `rows` rows of V (rows x frames), and of
 * the coefficients if X (per_frame x rows x frames) is not NULL. */
void tl_frame_block_analyse_scene(tl_frame_block *block, const tl_scene *scene, int64_t rows,
                                  double *V, double *X_or_null);
/* Fits H at fixed Phi and W by (7), from a start in which the columns that may sound in a frame
 * share its power equally. Then computes Vhat. may_sound is K x count. Sets block->error if eps is
 * too small for the frames. */
void tl_frame_block_fit(tl_frame_block *block, const bool *may_sound);
/* Takes barred rows away from their sources: call it after the fit. */
void tl_frame_block_bar(tl_frame_block *block, const uint64_t *barred);

/* The components of an output, and its share of the floor: (23). */
typedef struct tl_part {
    uint64_t sources;   /* all components of these sources, one bit each .. */
    int64_t component;  /* .. or this one alone, if it is not negative */
    bool no_floor;      /* the floor belongs to the residual */
    double floor_share; /* in frames where all of H is 0; elsewhere the output's share of H */
} tl_part;

/* The part's frames replace those of Y. False if they are all zero, or a device failed; then Y
 * stays. */
bool tl_frame_block_part(tl_frame_block *block, const tl_part *part);
/* Adds the frames of Y to y, as frames n ..: overlap-add, (24) without its denominator. */
void tl_frame_block_add(tl_frame_block *block, int64_t n, tl_stretch *y);

#endif
