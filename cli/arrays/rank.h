/* fit -k A:B: tables of held-out scores, what the files that make and print them share. */
#ifndef TLNMF_CLI_RANK_H
#define TLNMF_CLI_RANK_H

#include "cli/arrays/arrays.h"

/* Folds over realisations are cheap to learn from nine tenths; five cost GCM at S = 100 two of ten
 * seeds (docs/benchmarks.md). Folds over entries refit W and H alone. */
enum { RANK_FOLDS = 10, RANK_ENTRY_FOLDS = 5 };

/* What is kept aside. */
typedef enum rank_kind { RANK_REALISATIONS, RANK_NEIGHBOURS, RANK_ENTRIES } rank_kind;

/* One number of components. */
typedef struct rank_line {
    int64_t K;
    tlnmf_record *phi;        /* entries: the Phi that was learnt from all of them */
    double score[RANK_FOLDS]; /* C per entry of V of each fold */
    int folds;                /* that were scored */
    bool cut;                 /* the time ended a fit */
    double mean, error;       /* error: standard error of the difference to the best */
} rank_line;

typedef struct rank_table {
    cli_call *call;
    const tlnmf_data *data;   /* all of it */
    tlnmf_settings *settings; /* of the fits: the call's, with a share of the time */
    tlnmf_data *train[RANK_FOLDS], *test[RANK_FOLDS];
    tlnmf_data *masked; /* entries: the same data for masks */
    double *mask;       /* M x N */
    int64_t count, S;   /* S: realisations that folds are made of */
    double deadline;    /* INFINITY: none */
    rank_line *line;
    const rank_line *best, *sparing; /* the least mean; the smallest K within a standard error of
                                        it; NULL: no fold is complete */
    rank_kind kind;
    int folds, complete; /* how many are wanted, how many are done for every k */
    bool balanced;       /* entries: the folds of short rows */
    bool timed_out, interrupted;
} rank_table;

/* Scores fold after fold, all k of each, until the deadline: what is there then is comparable. Only
 * the first fold shares its time out to its fits, so that there is one. (rank_score.c) */
int rank_score(rank_table *t);
double rank_now(void); /* seconds */

/* What is said of a table; `only`: no other one follows. (rank_table.c) */
void rank_compare(rank_table *t);
json_t *rank_json(const rank_table *t);
void rank_print(FILE *out, const rank_table *t, bool decides);

#endif
