/* tlnmf reproduce: the paper's experiments, cut into cells that are stored one by one.
 *
 * An experiment says which cells it needs (plan) and what it makes of their results (report). A
 * cell is a computation that depends on its parameters and, for some, on the results of other
 * cells. Its result is a JSON file. Reports are made from cells alone, so that a run that was
 * stopped anywhere and started again ends in the same files. */
#ifndef TLNMF_PAPER_REPRODUCE_H
#define TLNMF_PAPER_REPRODUCE_H

#include "cli/cli.h"
#include "paper/commands/plot.h"
#include "tlnmf/paper.h"

#include <jansson.h>

typedef enum rep_set { REP_GCM, REP_NOTES } rep_set;
typedef enum rep_solver { REP_FAST, REP_PAPER } rep_solver;
enum { REP_SETS = 2, REP_SOLVERS = 2, REP_ATOMS = 8, REP_MOST_S = 5 };
/* Sizes of the data sets: those of the GCM are Table I's, those of the notes are pinned in
 * tlnmf/paper.h. */
enum { REP_GCM_M = 10, REP_GCM_N = 50, REP_GCM_K = 5 };
enum { REP_NOTES_M = 200, REP_NOTES_N = 151, REP_NOTES_K = 2, REP_NOTES_RATE = 5000 };

/* S of GCM data that are given by their true covariances. */
enum { REP_INFINITE = -1 };

/* What is fitted, and how. K, starts or J = 0: as the protocol of the data set says. */
typedef struct rep_search {
    rep_set set;
    rep_solver solver;
    int64_t S;
    int64_t B; /* notes: frames that are averaged (of kind); 0: none */
    tlnmf_neighbours kind;
    const char *method; /* "tl" or "jd"; NULL: both, with exchange */
    int64_t K, starts, J;
    bool whole_handover; /* paper, exchange: all J J_nmf updates, not the 1000 of the authors */
    bool trace;
} rep_search;

typedef struct rep rep;
typedef struct rep_cell rep_cell;

struct rep_cell {
    char name[64];
    int (*run)(rep *r, const rep_cell *cell, json_t *out); /* fills in the object; exit code */
    double cost;                                           /* about how many seconds it takes */
    rep_search search;
    int stage;       /* 1: it needs results of cells of stage 0, which run first */
    int32_t process; /* the one that runs it; -1: nobody, it was there already */
    json_t *result;  /* NULL: not done yet */
};
enum { REP_STAGES = 2 };

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
    int cell_count, cell_capacity;
    json_t *figures; /* for index.html: a title and panels each */
    rep_row *rows;
    int row_count, row_capacity;
    double cost_done, since; /* for the time left */
    const rep_cell *at_work;
    bool failed; /* no memory for a plan or a table */
};

typedef struct rep_experiment {
    const char *name;
    void (*plan)(rep *r);
    int (*report)(rep *r);
} rep_experiment;

extern const rep_experiment rep_fig2, rep_fig3, rep_table2, rep_fig4, rep_theory, rep_beyond,
    rep_errata;

/* ---- cells (cells.c) ------------------------------------------------------------------------- */

/* EXIT_DONE for TLNMF_OK; else the exit code, after a message that names the cell at work. */
int rep_check(const rep *r, tlnmf_error error);
int rep_no_memory(const rep *r);
/* Makes a list long enough for one more item. NULL, and r->failed, where there is no memory. */
void *rep_grow(rep *r, void *items, int count, int *capacity, size_t item_size);
/* Adds a cell unless one of its name is there already. */
void rep_add(rep *r, const rep_cell *cell);
/* The result of a cell that is done: an object. */
const json_t *rep_result(const rep *r, const char *name);
int rep_run_cells(rep *r);
/* With -v: that a cell is done, and its time. */
void rep_tell(const rep_cell *cell);
/* Draws the progress line; whether Ctrl-C has come. For loops outside of fits. */
bool rep_stops(rep *r);

/* ---- several processes (share.c) ------------------------------------------------------------- */

/* Gives each cell of the stage that is not done to a process. */
int rep_share_out(rep *r, int stage);
/* The results that the first process found in the folder, and those of a stage that all processes
 * have run: to all. Nothing on one process. */
int rep_send_found(rep *r);
int rep_send_stage(rep *r, int stage);

/* ---- the folder (folder.c) ------------------------------------------------------------------- */

/* Makes or checks the folder and reads the cells that are there. */
int rep_open(rep *r);
/* Bytes to a file of the folder. */
int rep_publish(rep *r, const char *name, const char *bytes, size_t size);
int rep_store_cell(rep *r, const rep_cell *cell);

/* ---- settings (settings.c) ------------------------------------------------------------------- */

/* Settings that are set by name. The first error stays: a list of options has one error path. */
typedef struct rep_settings {
    tlnmf_ctx *ctx;
    tlnmf_settings *settings;
    tlnmf_error error;
} rep_settings;

rep_settings rep_settings_new(const rep *r, const char *task);
void rep_set_text(rep_settings *s, const char *name, const char *value);
void rep_set_integer(rep_settings *s, const char *name, int64_t value);
void rep_set_real(rep_settings *s, const char *name, double value);

/* Table I: rank, floor, starts, iterations; the paper does not give the number of halvings. */
typedef struct rep_protocol {
    const char *name;
    int64_t K;
    double eps;
    int64_t P, J, halvings;
    int64_t seed;          /* of the starts */
    int64_t S[REP_MOST_S]; /* ends with 0 if there are fewer */
} rep_protocol;

rep_protocol rep_protocol_of(const rep *r, rep_set set);
/* Settings of task "fit". */
rep_settings rep_settings_of(const rep *r, const rep_search *search);

/* ---- data (data.c) --------------------------------------------------------------------------- */

/* The realisations themselves: Y and, of GCM, the true Phi, W, H. */
int rep_gcm(const rep *r, int64_t S, tlnmf_record **sample);
int rep_notes(const rep *r, tlnmf_record **sample); /* at S = 1 */
/* The data that a search is made on. */
int rep_data(const rep *r, const rep_search *search, tlnmf_data **out);

/* ---- searches (search.c) --------------------------------------------------------------------- */

int rep_draw_start(const rep *r, const tlnmf_data *data, const rep_search *search, int64_t p,
                   tlnmf_record **start);
/* A fit. One that was interrupted yields no model and EXIT_INTERRUPTED. */
int rep_fit(const rep *r, const tlnmf_data *data, const rep_search *search,
            const tlnmf_record *start_or_null, tlnmf_record **model);
/* Makes the data and fits them. The caller frees both, also after a failure. */
int rep_find(const rep *r, const rep_search *search, tlnmf_data **data, tlnmf_record **model);

/* Cells with a search with exchange. What both methods reached, and: their Phi (GCM) or their
 * strongest atoms (notes). */
int rep_run_search(rep *r, const rep_cell *cell, json_t *out);
/* The same with the distances of their Phi to Phibar (GCM). */
int rep_run_distances(rep *r, const rep_cell *cell, json_t *out);
/* The search of Figure 2 as a cell: "search-gcm-S10-fast". */
rep_cell rep_search_cell(const rep *r, rep_set set, int64_t S, rep_solver solver);
/* The result of that cell. */
const json_t *rep_search_result(const rep *r, rep_set set, int64_t S, rep_solver solver);

/* ---- cells of the errata (errata_updates.c, errata_ends.c) ----------------------------------- */

extern const rep_cell rep_errata_updates, rep_errata_hessian, rep_errata_stop;

/* ---- numbers in JSON, tables, files (report.c) ----------------------------------------------- */

json_t *rep_numbers(const double *x, int64_t count);
/* A number of an object, NaN if it is not there. */
double rep_number(const json_t *object, const char *key);
/* The first `most` numbers of an array, NaN past its end; how many there are. */
int64_t rep_values(const json_t *array, double *x, int64_t most);
/* The same for an array of an object. */
int64_t rep_array(const json_t *object, const char *key, double *x, int64_t most);

void rep_row_add(rep *r, const char *experiment, double published, double ours, bool holds,
                 const char *claim, const char *format, ...) __attribute__((format(printf, 7, 8)));
/* A file of columns: one header line, then the rows. */
int rep_csv(rep *r, const char *name, const char *header, int64_t rows, int columns,
            const double *values);
/* A file whose text a function writes. */
typedef void (*rep_writer)(FILE *out, const void *of);
int rep_file(rep *r, const char *name, rep_writer write, const void *of);
/* A panel with S on the horizontal axis, both axes logarithmic. */
plot_panel rep_panel_over_S(const char *title, const char *y_label);
int rep_summary(rep *r, json_t *chosen);
bool rep_is_close(double a, double b, double relative);

#endif
