/* tlnmf reproduce: the paper's experiments.
 *
 * An experiment plans cells and reports their results. A cell is one computation. It depends on its
 * parameters, and a cell of stage 1 also on results of stage 0. Its result is a JSON object, which
 * is stored in a checkpoint. Reports use only the results of cells, so a run that was stopped and
 * resumed writes the same files. */
#ifndef TLNMF_PAPER_REPRODUCE_H
#define TLNMF_PAPER_REPRODUCE_H

#include "cli/cli.h"
#include "paper/experiments/plot.h"
#include "tlnmf/paper.h"

#include <jansson.h>

typedef enum rep_set { REP_GCM, REP_NOTES } rep_set;
typedef enum rep_solver { REP_FAST, REP_PAPER } rep_solver;
enum { REP_SETS = 2, REP_SOLVERS = 2, REP_ATOMS = 8, REP_MOST_S = 5 };
/* Sizes of the data sets: of the GCM as in Table I, of the notes as in tlnmf/paper.h. */
enum { REP_GCM_M = 10, REP_GCM_N = 50, REP_GCM_K = 5 };
enum { REP_NOTES_M = 200, REP_NOTES_N = 151, REP_NOTES_K = 2, REP_NOTES_RATE = 5000 };

/* S of GCM data that are given by their true covariances. */
enum { REP_INFINITE = -1 };

/* The data and the options of a fit. K, starts or J = 0: the value of the protocol. */
typedef struct rep_search {
    rep_set set;
    rep_solver solver;
    int64_t S;
    int64_t B; /* notes: frames that are averaged (of kind); 0: no averages */
    tlnmf_neighbours kind;
    const char *method; /* "tl" or "jd"; NULL: both, with exchange */
    int64_t K, starts, J;
    bool whole_handover; /* paper, exchange: all J J_nmf updates, not the authors' 1000 */
    bool trace;
} rep_search;

typedef struct rep rep;
typedef struct rep_cell rep_cell;

/* Objects of a running cell. They are freed when it ends; a cell sets only the objects that it
 * uses. */
typedef struct rep_objects {
    tlnmf_data *data, *truth;
    tlnmf_record *sample, *start, *model;
} rep_objects;

/* Fills the result `out` and returns an exit code. */
typedef int (*rep_run)(rep *r, const rep_cell *cell, rep_objects *own, json_t *out);

struct rep_cell {
    char name[64];
    rep_run run;
    double cost; /* approximate seconds */
    rep_search search;
    int stage;       /* cells of stage 1 run after all cells of stage 0 */
    int32_t process; /* the process that runs it; -1: it was in the checkpoint */
    json_t *result;  /* NULL: not finished */
};
enum { REP_STAGES = 2, REP_MOST_CELLS = 128 };

struct rep {
    cli_call *call;
    const char *folder;
    bool quick;
    unsigned parts;  /* data and solvers of the experiment that is planned or reported: rep_part */
    rep_cell *cells; /* of REP_MOST_CELLS */
    int cell_count;
    const char *experiment;  /* whose report is being made */
    json_t *experiments;     /* the names of the reported experiments */
    json_t *rows;            /* of the summary: the objects of summary.json */
    json_t *figures;         /* of index.html: a title and an SVG each */
    json_t *files;           /* the names of the written files */
    double cost_done, since; /* for the time left */
    const rep_cell *at_work;
    tlnmf_record *finished; /* the checkpoint: the results of finished cells, as JSON */
    bool failed;            /* out of memory in a plan or a report */
};

typedef struct rep_experiment {
    const char *name;
    void (*plan)(rep *r);
    int (*report)(rep *r);
} rep_experiment;

/* One data set by one solver, as a bit. */
static inline unsigned rep_part(rep_set set, rep_solver solver)
{
    return 1u << (REP_SOLVERS * (int)set + (int)solver);
}
static inline bool rep_uses(const rep *r, rep_set set, rep_solver solver)
{
    return (r->parts & rep_part(set, solver)) != 0;
}
static inline bool rep_uses_solver(const rep *r, rep_solver solver)
{
    return rep_uses(r, REP_GCM, solver) || rep_uses(r, REP_NOTES, solver);
}
static inline bool rep_uses_set(const rep *r, rep_set set)
{
    return rep_uses(r, set, REP_FAST) || rep_uses(r, set, REP_PAPER);
}

extern const rep_experiment rep_fig2, rep_fig3, rep_table2, rep_fig4, rep_theory, rep_beyond,
    rep_errata;

/* Returns the exit code of a call that failed. */
#define REP_TRY(call)           \
    do {                        \
        int code_ = (call);     \
        if (code_ != EXIT_DONE) \
            return code_;       \
    } while (0)

/* ---- cells (cells.c) ------------------------------------------------------------------------- */

/* EXIT_DONE for TLNMF_OK; else prints a message that names the current cell and returns its exit
 * code. */
int rep_check(const rep *r, tlnmf_error error);
int rep_no_memory(const rep *r);
/* Adds a cell unless there is one of its name. */
void rep_add(rep *r, rep_cell cell);
/* The result of a finished cell, or NULL. */
const json_t *rep_result(const rep *r, const char *name);
int rep_run_cells(rep *r);
/* Prints the name and the time of a finished cell, with -v or if there is no progress line. */
void rep_tell(const rep_cell *cell);

/* ---- several processes (cell_processes.c) ---------------------------------------------------- */

/* Assigns a process to each unfinished cell of the stage. */
int rep_assign(rep *r, int stage);
/* Sends results to all processes: of a stage, from the processes that ran its cells; of
 * REP_FOUND, those that the first process read from the checkpoint. */
enum { REP_FOUND = -1 };
int rep_send_results(rep *r, int stage);

/* ---- the folder (folder.c) ------------------------------------------------------------------- */

/* Creates or checks the folder, and reads the finished cells. */
int rep_open(rep *r);
/* Takes the results of planned cells from the checkpoint. */
int rep_take_results(rep *r);
/* Adds the parts of the experiment that earlier runs have reported in the folder to the given ones,
 * and puts all of them into r->finished. */
int rep_keep_parts(rep *r, const char *experiment, unsigned *parts);
/* Writes a file of the folder. */
int rep_publish(rep *r, const char *name, const char *bytes, size_t size);
int rep_store_cell(rep *r, const rep_cell *cell);
/* Merges the checkpoints of all processes into one, on the first process. */
int rep_merge_cells(rep *r);

/* ---- protocols (protocols.c) ----------------------------------------------------------------- */

/* Table I: rank, floor, starts, iterations. The paper does not give the number of halvings. */
typedef struct rep_protocol {
    const char *name;
    int64_t K;
    double eps;
    int64_t P, J, halvings;
    int64_t seed;          /* of the starts */
    int64_t S[REP_MOST_S]; /* ends with 0 if there are fewer */
} rep_protocol;

rep_protocol rep_protocol_of(const rep *r, rep_set set);
/* The S of the full protocols, to which all published values refer, and the index of one of them.
 */
extern const double rep_published_S[REP_MOST_S];
int rep_place_of(double S);
/* Settings of a task; `options` as in tlnmf_settings_set_all. */
int rep_settings(const rep *r, const char *task, const char *options, tlnmf_settings **out);
/* Settings of the task "fit". */
int rep_fit_settings(const rep *r, const rep_search *search, tlnmf_settings **out);

/* ---- data (paper_data.c) --------------------------------------------------------------------- */

/* A sample of the data set: Y and, of GCM, the true Phi, W, H. The notes have S = 1. */
int rep_gcm(const rep *r, int64_t S, tlnmf_record **sample);
int rep_notes(const rep *r, tlnmf_record **sample);
/* The data of a search. */
int rep_data(const rep *r, const rep_search *search, tlnmf_data **out);
/* D = Phi Sigma_n Phi' of frame n of a GCM sample, in plain loops. */
void rep_covariance(const tlnmf_record *sample, const double *Phi, int n,
                    double D[REP_GCM_M][REP_GCM_M]);

/* ---- fits (paper_fits.c) --------------------------------------------------------------------- */

int rep_draw_start(const rep *r, const tlnmf_data *data, const rep_search *search, int64_t p,
                   tlnmf_record **start);
/* Returns EXIT_INTERRUPTED and no model if the fit was interrupted. */
int rep_fit(const rep *r, const tlnmf_data *data, const rep_search *search,
            const tlnmf_record *start_or_null, tlnmf_record **model);
/* Sets own->data and fits own->model to them. */
int rep_find(const rep *r, const rep_search *search, rep_objects *own);

/* Runs a cell that searches with exchange. The result has the values of both methods. For GCM it
 * also has both Phi and their distances to Phibar, for the notes the strongest atoms, W and H. */
int rep_run_search(rep *r, const rep_cell *cell, rep_objects *own, json_t *out);
/* The search of Figure 2 as a cell, such as "search-gcm-S10-fast"; and its result. */
rep_cell rep_search_cell(const rep *r, rep_set set, int64_t S, rep_solver solver);
const json_t *rep_search_result(const rep *r, rep_set set, int64_t S, rep_solver solver);

/* ---- a cell of the errata (errata_updates.c) ------------------------------------------------- */

rep_cell rep_updates_cell(double cost);

/* ---- numbers in JSON, tables, files (reproduction_report.c) ---------------------------------- */

json_t *rep_numbers(const double *x, int64_t count);
/* A number of an object; NaN if it is missing. */
double rep_number(const json_t *object, const char *key);
/* The first `most` numbers of an array, NaN after its end. Returns how many there are. */
int64_t rep_values(const json_t *array, double *x, int64_t most);
bool rep_is_close(double a, double b, double relative);

/* What became of a claim. The first two are failures. */
typedef enum rep_verdict {
    REP_VIOLATED,
    REP_NOT_REPRODUCED,
    REP_SATISFIED,  /* an inequality or a property holds; the value may differ from the published */
    REP_REPRODUCED, /* the value equals the published one within the tolerance of the claim */
    REP_LOWER,      /* a minimum below the published one was found */
    REP_UNCLAIMED,  /* no claim, and an inequality of the paper is violated */
    REP_VERDICTS
} rep_verdict;

/* The verdicts on an inequality or a property, and on a value that should equal the published. */
static inline rep_verdict rep_satisfies(bool holds)
{
    return holds ? REP_SATISFIED : REP_VIOLATED;
}
static inline rep_verdict rep_equals(bool close)
{
    return close ? REP_REPRODUCED : REP_NOT_REPRODUCED;
}
/* The verdict on an inequality in a row without a claim. */
static inline rep_verdict rep_unclaimed(bool holds)
{
    return holds ? REP_SATISFIED : REP_UNCLAIMED;
}

/* Adds a row to the summary: a value next to the published one (NaN: not published), and the
 * verdict on a claim. The claim "" makes it a row without a claim, which shows no verdict but
 * REP_UNCLAIMED. The quick version omits the published value. */
void rep_claim(rep *r, double published, double ours, rep_verdict verdict, const char *claim,
               const char *format, ...) __attribute__((format(printf, 6, 7)));
/* The claim, or "" in the quick version, which is too short for it. */
const char *rep_full(const rep *r, const char *claim);

/* A table of numbers, by columns: at[column][row]. It is written as CSV and drawn as curves. */
enum { REP_MOST_COLUMNS = 9, REP_MOST_ROWS = 32 };
typedef struct rep_table {
    const char *header; /* names of the columns: "S,I_jd,I_tl" */
    int64_t rows;
    double at[REP_MOST_COLUMNS][REP_MOST_ROWS];
} rep_table;

/* Appends a row of the numbers that `cell` has under the names of the columns, NaN for the others.
 * Returns its index. */
int64_t rep_table_add(rep_table *table, const json_t *cell);
int rep_table_write(rep *r, const char *name, const rep_table *table);
/* A CSV file; column j of the header is values[j stride .. j stride + rows - 1]. */
int rep_csv(rep *r, const char *name, const char *header, int64_t rows, int64_t stride,
            const double *values);
/* A file that `write` writes. */
typedef void (*rep_writer)(FILE *out, const void *of);
int rep_file(rep *r, const char *name, rep_writer write, const void *of);
/* An SVG file, which index.html also shows under the title. `draw` draws its panels. */
typedef struct rep_figure {
    const char *name, *title;
    double width, height;
    rep_writer draw;
} rep_figure;
int rep_figure_write(rep *r, const rep_figure *figure, const void *of);
/* Tables to draw, with the published curves next to them. The quick version draws none: it is not
 * comparable with them. */
typedef struct rep_curves {
    const rep_table *tables;
    bool with_published;
} rep_curves;
/* A panel with S on the horizontal axis, both axes logarithmic. */
plot_panel rep_panel_over_S(const char *title, const char *y_label);
/* Writes summary.md, summary.json and index.html, and prints the summary and the names of all
 * files. */
int rep_summary(rep *r);

#endif
