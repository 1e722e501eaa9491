/* How many components: fits of several K to part of the data, scored by the rest. */
#ifndef TLNMF_RANK_RANK_H
#define TLNMF_RANK_RANK_H

#include "api.h"

/* Folds over realisations are cheap to learn from nine tenths; five cost GCM at S = 100 two of ten
 * seeds (docs/benchmarks.md). Folds over entries refit W and H alone. Entries of V are kept aside
 * of LEAST_FRAMES frames or more. Neighbours: NEAR frames count as realisations of one, which
 * leaves as many of those. */
enum {
    TL_RANK_FOLDS = 10,
    TL_RANK_ENTRY_FOLDS = 5,
    TL_RANK_LEAST_FRAMES = 10,
    TL_RANK_NEAR = 4,
    TL_RANK_TABLES = 2
};

/* What is kept aside. */
typedef enum tl_rank_kind {
    TL_RANK_REALISATIONS,
    TL_RANK_NEIGHBOURS,
    TL_RANK_ENTRIES
} tl_rank_kind;

/* Held-out scores of K = low, low + 1, .. Arrays have a number for each K. */
typedef struct tl_rank_table {
    tl_rank_kind kind;
    int64_t count, S;    /* numbers K; realisations that folds are made of */
    int folds, complete; /* wanted; done for every K */
    double *score;       /* count x folds: C per entry of V; NaN: not there yet */
    double *cut;         /* 1: the time ended a fit */
    double *Phi, *known; /* entries: count x M x M, learnt from all of them; 1: it is there */
    double *mean, *error, *done; /* error: of the difference to the best; done: folds */
    int64_t best, sparing;       /* the least mean; the smallest K within a standard error of it;
                                    -1: no fold is complete */
    bool balanced;               /* entries: the folds of short rows */
    bool timed_out, interrupted;
    void *memory;
} tl_rank_table;

typedef struct tl_rank_keep tl_rank_keep;

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
    int64_t K;              /* what is running, for the progress function */
    int fold, folds;
    tlnmf_record *progress; /* NULL: nobody asks */
    tl_rank_keep *keep;     /* NULL: no checkpoints */
} tl_comparison;

/* ---- data of folds (folds.c) ----------------------------------------------------------------- */

/* Fold f of the realisations (s % folds == f) and all others, in memory of their own. The data must
 * know their realisations. */
tlnmf_error tl_rank_split(const tl_comparison *c, const tl_rank_table *t, int fold,
                          tlnmf_data **train, tlnmf_data **test);
/* A pattern that keeps 1 of `folds` entries of V aside: whether the one that looks like noise
 * leaves a row without one of the folds. */
bool tl_rank_is_uneven(const tl_rank_table *t, const tlnmf_data *data);
/* Counts the entries of a fold (or all others), and masks the rest. `mask` is M x N scratch. */
tlnmf_error tl_rank_mask(const tl_comparison *c, const tl_rank_table *t, int fold, bool others,
                         tlnmf_data *masked, double *mask, double *count);

/* ---- scores (score.c) ------------------------------------------------------------------------ */

/* Scores fold after fold, all K of each, until the deadline: what is there then is comparable. Only
 * the first fold shares its time out to its fits, so that there is one. */
tlnmf_error tl_rank_score(tl_comparison *c, tl_rank_table *t);

/* ---- what comes of it (table.c) -------------------------------------------------------------- */

tlnmf_error tl_rank_create(const tl_comparison *c, tl_rank_table *t);
void tl_rank_free(const tl_comparison *c, tl_rank_table *t);
/* Means over the folds that are complete, the best, and standard errors. */
void tl_rank_compare(tl_rank_table *t);
/* Adds a table to the record; `prefix` is "" or "other.". */
tlnmf_error tl_rank_put(const tl_comparison *c, const tl_rank_table *t, const char *prefix,
                        tlnmf_record *out);

/* ---- checkpoints (keep.c) -------------------------------------------------------------------- */

/* Reads the state to go on from into the tables, if there is one. An error if it is of other data,
 * options or another version; the message names the field. */
tlnmf_error tl_rank_keep_create(tl_comparison *c);
/* A fit is finished: saves if it is time to, or `now` if anything is new. NULL: nothing is kept. */
void tl_rank_keep_save(tl_comparison *c, bool now);
void tl_rank_keep_free(tl_comparison *c);

#endif
