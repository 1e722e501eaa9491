/* tlnmf reproduce: the paper's experiments, cut into cells that are stored one by one.
 *
 * An experiment says which cells it needs (plan) and what it makes of their results (report). A
 * cell is a computation that depends on nothing but its parameters and, for some, on other cells;
 * its result is a JSON file. What is reported depends on cells alone, so that a run that was
 * stopped anywhere and started again ends in the same files. */
#ifndef TLNMF_PAPER_REPRODUCE_H
#define TLNMF_PAPER_REPRODUCE_H

#include "cli/cli.h"
#include "paper/commands/plot.h"

typedef enum rep_set { REP_GCM, REP_NOTES } rep_set;
enum { REP_SETS = 2, REP_SOLVERS = 2, REP_ATOMS = 8, REP_MOST_S = 5 };

typedef struct rep rep;
typedef struct rep_cell rep_cell;

struct rep_cell {
    char name[64];
    int (*run)(rep *r, const rep_cell *cell, json_t *out); /* fills in the object; exit code */
    double cost;                                           /* about how many seconds it takes */
    rep_set set;
    tlnmf_solver solver;
    int64_t S, K, B; /* those that it has */
    tlnmf_neighbours kind;
    json_t *result; /* NULL: not done yet */
};

typedef struct rep_row {
    const char *experiment;
    char what[96];
    double published, ours; /* NaN: none */
    char claim[96];         /* "" if there is nothing to hold */
    bool holds;
} rep_row;

struct rep {
    cli_call *call;
    const char *folder;
    bool quick, uses_set[REP_SETS], uses_solver[REP_SOLVERS];
    rep_cell *cells;
    int cell_count, cell_room;
    rep_row *rows;
    int row_count, row_room;
    double cost_done, since; /* for the time left */
    const rep_cell *at_work;
    bool failed; /* no memory for a plan or a table */
};

typedef struct rep_experiment {
    const char *name, *about;
    void (*plan)(rep *r);
    int (*report)(rep *r);
} rep_experiment;

extern const rep_experiment rep_fig2, rep_fig3, rep_table2, rep_fig4, rep_theory, rep_beyond,
    rep_errata;

/* ---- cells (reproduce_cells.c) --------------------------------------------------------------- */

/* Adds a cell unless one of its name is there already. */
void rep_add(rep *r, const rep_cell *cell);
/* The result of a cell that is done: an object. */
const json_t *rep_result(const rep *r, const char *name);
int rep_run_cells(rep *r);
int rep_open(rep *r); /* makes or checks the folder, reads the cells that are there */
/* For tlnmf_fit: draws the line with the time left, asks for Ctrl-C. `user` is the rep. */
int rep_progress(const tlnmf_progress *progress, void *user);
int rep_fail(rep *r, tlnmf_error error);
int rep_no_memory(const rep *r);
/* Bytes to a file of the folder. */
int rep_publish(rep *r, const char *name, const char *bytes, size_t size);

/* ---- data and settings (reproduce_data.c) ---------------------------------------------------- */

typedef struct rep_protocol {
    const char *name;
    int64_t M, N, K;
    double eps;
    int64_t P, J, halvings; /* Table I; the paper does not give the last */
    uint64_t seed;          /* of the starts */
    int64_t S[REP_MOST_S];  /* ends with 0 if there are fewer */
} rep_protocol;

rep_protocol rep_protocol_of(const rep *r, rep_set set);
/* Settings of a search with exchange, as the solver wants it at this S. */
tlnmf_settings rep_settings(const rep *r, rep_set set, tlnmf_solver solver, int64_t S);
int rep_data(rep *r, rep_set set, int64_t S, tlnmf_data **out);
/* GCM with the true covariances: S is infinite. */
int rep_truth(rep *r, tlnmf_data **out);
/* The notes at S = 1 as an array (200 x 151); free() it. */
double *rep_notes(rep *r);

/* A fit that is not stored if it was interrupted. */
int rep_fit(rep *r, const tlnmf_data *data, const tlnmf_settings *opt, const tlnmf_start *start,
            tlnmf_result **out);

/* A search with exchange on GCM data, which it frees: what both methods reached, and how far from
 * Phibar. */
int rep_search_gcm(rep *r, tlnmf_data *data, const tlnmf_settings *opt, json_t *out);
/* The search of Figure 2 as a cell: "search-gcm-S10-fast". */
rep_cell rep_search_cell(const rep *r, rep_set set, int64_t S, tlnmf_solver solver);
void rep_put_search(json_t *out, const tlnmf_result *tl);
int rep_put_atoms(rep *r, json_t *out, const char *key, const tlnmf_result *result);

/* ---- numbers in JSON, tables, files (reproduce_report.c) ------------------------------------- */

json_t *rep_numbers(const double *x, int64_t count);
/* A number of an object, NaN if it is not there. */
double rep_number(const json_t *object, const char *key);
/* Up to `room` numbers of an array; how many there are. */
int64_t rep_array(const json_t *object, const char *key, double *x, int64_t room);

void rep_row_add(rep *r, const char *experiment, double published, double ours, bool holds,
                 const char *claim, const char *format, ...) __attribute__((format(printf, 7, 8)));
/* A file of columns: one header line, then the rows. */
int rep_csv(rep *r, const char *name, const char *header, int64_t rows, int columns,
            const double *values);
/* A file whose text a function writes. */
typedef void (*rep_writer)(FILE *out, const void *of);
int rep_file(rep *r, const char *name, rep_writer write, const void *of);
int rep_summary(rep *r, json_t *chosen);
bool rep_is_close(double a, double b, double relative);

#endif
