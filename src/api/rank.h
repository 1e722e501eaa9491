/* Chooses the number of components: fits several K to part of the data and scores them by the
 * rest. */
#ifndef TLNMF_API_RANK_H
#define TLNMF_API_RANK_H

#include "api/api.h"

/* Ten folds of realisations; with five, GCM at S = 100 chose a wrong K on two of ten seeds
 * (docs/measurements/constants.md). Folds of entries refit W and H alone. Entries of V are held out
 * if there are at least LEAST_FRAMES frames. Neighbours: NEAR frames count as realisations of one
 * frame. Frames are held out, and their activations integrated out, if there are at least
 * MANY_FRAMES, and MANY_REALISATIONS or a fixed transform. Fewer than ENOUGH realisations, or
 * FEW_ENTRIES per frame at a fixed transform, do not always find the true K
 * (docs/measurements/ranks.md). */
enum {
    TL_RANK_FOLDS = 10,
    TL_RANK_ENTRY_FOLDS = 5,
    TL_RANK_LEAST_FRAMES = 10,
    TL_RANK_NEAR = 4,
    TL_RANK_FRAME_FOLDS = 5,
    TL_RANK_MANY_REALISATIONS = 4,
    TL_RANK_MANY_FRAMES = 40,
    TL_RANK_ENOUGH = 10,
    TL_RANK_FEW_ENTRIES = 100,
    TL_RANK_TABLES = 2
};

/* The kind of data that is held out. */
typedef enum tl_rank_kind {
    TL_RANK_REALISATIONS,
    TL_RANK_NEIGHBOURS,
    TL_RANK_ENTRIES,
    TL_RANK_FRAMES
} tl_rank_kind;

/* Held-out scores of K = low, low + 1, .. Arrays have a number for each K. */
typedef struct tl_rank_table {
    tl_rank_kind kind;
    int64_t count, S;    /* numbers K; realisations; 0: entries are held out */
    int folds, complete; /* wanted; done for every K */
    double *score;       /* count x folds: C per entry of V; NaN: not there yet */
    double *cut;         /* 1: a fit ran out of time */
    double *Phi, *known; /* entries: count x M x M, learnt from all entries; 1: it is known */
    double *mean, *error, *done; /* error: of the difference to the best; done: folds */
    int64_t best, sparing;       /* the least mean; the smallest K within a standard error of it;
                                    -1: no fold is complete */
    bool balanced;               /* entries: the folds of short rows */
    bool timed_out, interrupted;
    void *memory;
} tl_rank_table;

/* One call. */
typedef struct tl_comparison {
    tlnmf_ctx *ctx;
    const tlnmf_data *data;
    tl_settings opt;   /* of the fits; task fit */
    const double *Phi; /* to start from, or with method nmf to keep; NULL: none is given */
    int64_t low, high;
    int tables;
    tl_rank_table table[TL_RANK_TABLES];
    double began, deadline; /* in seconds of tl_wall_seconds(); INFINITY: none */
    tl_units *units;        /* NULL: no checkpoints */
    char section[48];       /* of the fit that is running */
} tl_comparison;

/* ---- scores (rank_score.c) ------------------------------------------------------------------- */

/* Scores fold after fold, all K of each, until the deadline: the finished folds are then
 * comparable. Only the first fold divides its time among its fits, so that at least one fold is
 * complete. */
tlnmf_error tl_rank_score(tl_comparison *c, tl_rank_table *t);

/* ---- checkpoints (rank_compare.c) ------------------------------------------------------------ */

/* The fit of c->section is finished. */
void tl_rank_finished(const tl_comparison *c);

#endif
