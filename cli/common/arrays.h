/* Commands on arrays: reading, axes, covariances, starts, the number of components. */
#ifndef TLNMF_CLI_ARRAYS_H
#define TLNMF_CLI_ARRAYS_H

#include "cli/cli.h"

int cli_fit_run(cli_call *call); /* the commands fit and jd (cmd_fit.c) */

/* An array of a record. */
typedef struct cli_array {
    int32_t rank;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *x;
} cli_array;

/* ---- reading (foreign_files.c) --------------------------------------------------------------- */

/* Refuses a model with bad numbers, with a message that names the file and the field
 * (model_check.c). */
int cli_check_model(const cli_call *call, const char *path, const tlnmf_record *model);
/* Reads an array, a model or a description ("array", "model", "describe") in a separate process,
 * as tlnmf_io_read_apart does, and checks models. Returns an exit code; a signal ends the
 * reading. */
int cli_read(const cli_call *call, const char *kind, const char *spec, tlnmf_record **out);
/* Whether this array can be read. */
bool cli_is_readable(const cli_call *call, const char *spec);
/* Says how to convert a file that exists but cannot be read, if its extension is known. */
void cli_advise(const cli_call *call, const char *spec);

/* ---- data (array_input.c) -------------------------------------------------------------------- */

/* Checks the options before any file is read, and reads their numbers. */
int cli_check_reading(const cli_call *call, cli_input *input);
/* `spec` with the options of text tables as a suffix, as in "data.csv:no-header,drop=time"; free()
 * it. Refuses these options for other files. */
int cli_table_spec(const cli_call *call, const cli_input *input, const char *spec, char **full);
/* Whether --input names this kind of contents; "auto" if it is not given. */
bool cli_input_is(const cli_input *input, const char *kind);
int cli_read_data(cli_call *call, const cli_input *input, tlnmf_data **out);
/* Reads a matrix of the given shape into `start` under this name. `spec` may be NULL. */
int cli_read_matrix(cli_call *call, const char *spec, const char *name, int64_t rows,
                    int64_t columns, tlnmf_record *start);
/* Reads the weights and the mask that the input names, if any, and sets them. */
int cli_read_weights(cli_call *call, const cli_input *input, tlnmf_data *data);

/* ---- axes (array_order.c) -------------------------------------------------------------------- */

/* Checks --axes before any file is read. NULL is valid. */
int cli_check_axes(const cli_call *call, const char *axes_or_null);
/* Brings the array into the order (S, M, N) as --axes and --per-trial say, and prints how its
 * axes were used. The new array belongs to the record. */
int cli_arrange(cli_call *call, const cli_input *input, tlnmf_record *record, cli_array *a);

/* ---- powers (powers.c) ----------------------------------------------------------------------- */

/* A model of powers: --input and --dof default to those of the model, which become options of this
 * command. `spec` names the array in the message. Powers require a model with the identity. */
int cli_inherit_powers(const cli_call *call, const tlnmf_record *model, const char *spec);
/* Replaces powers V by their roots, which are data whose squares are V. Refuses V < 0. With
 * --missing, NaN marks missing powers, and the record receives their mask. The new arrays belong to
 * the record. `before`: frames of the file before the first of the array. */
int cli_take_roots(cli_call *call, const cli_input *input, int64_t before, tlnmf_record *record,
                   cli_array *a);
/* Sets the mask of missing powers and of --mask, if there is one. */
int cli_mask_powers(const cli_call *call, const cli_input *input, const tlnmf_record *record,
                    tlnmf_data *data);
/* Whether these two functions read --mask. */
bool cli_masks_powers(const cli_input *input);

/* ---- covariances (array_order.c) ------------------------------------------------------------- */

/* An entry (i, j) of slice n along the axis that differs from (j, i), and the slice's largest
 * entry. */
typedef struct cli_asymmetry {
    int axis;
    int64_t n, i, j;
    double off, most;
} cli_asymmetry;

/* The axis that counts the frames of an array whose slices along it are symmetric: 0 for (N, M, M),
 * 2 for (M, M, N), 1 for (M, N, M); -1: none. */
int cli_covariance_axis(const cli_array *a);
/* Whether slices along axis 0 or 2 are nearly symmetric, beyond rounding; if covariances are
 * expected, whether square slices (N, M, M) are not symmetric. `first` receives the first
 * asymmetry. */
bool cli_near_covariances(const cli_array *a, bool expected, cli_asymmetry *first);
/* Brings covariances into the order (N, M, M). The new array belongs to the record. */
int cli_frames_first(cli_call *call, const char *spec, int axis, tlnmf_record *record,
                     cli_array *a);

/* ---- models on new arrays (apply_arrays.c) --------------------------------------------------- */

/* Whether an operand of `apply` is an array rather than a sound. The extension decides; if there is
 * none, the kind of model. */
bool cli_is_array(const char *spec, const tlnmf_record *model);

/* Fits H of an array with a model, which was read from `path`. call->also has the settings of task
 * "apply". */
int cli_apply_arrays(cli_call *call, const tlnmf_record *model, const char *path,
                     const cli_input *input, const char *output);
/* Explains the lines of its summary. */
void cli_apply_explain(FILE *out);

/* ---- the number of components (rank_choice.c) ------------------------------------------------ */

/* The value of -k, and the result of a comparison. */
typedef struct cli_rank {
    bool compares, automatic; /* A:B or auto; auto */
    int64_t low, high;        /* high is 0 with auto */
    json_t *table;            /* the result, for the summary; the caller releases it */
    double wall, cpu;         /* seconds of the comparison */
} cli_rank;

/* Reads -k, if it is not NULL. A number goes into the settings. */
int cli_rank_read(cli_call *call, const char *text_or_null, cli_rank *rank);
/* Compares several k within half of --max-seconds, from Phi of the start if it has one. Sets k to
 * the best and prints the tables to `out`. */
int cli_rank_choose(cli_call *call, const cli_input *input, const tlnmf_data *data,
                    const tlnmf_record *start, cli_rank *rank, FILE *out_or_null);
/* Copies the settings. --max-seconds counts from the start of the program: the copy has this share
 * of the remaining time. Free the copy in either case. */
tlnmf_error cli_limit_seconds(const cli_call *call, double share, tlnmf_settings **out);
/* The tables of tlnmf_compare_ranks (rank_print.c). */
json_t *cli_rank_json(const tlnmf_record *ranks);
void cli_rank_print(FILE *out, const tlnmf_record *ranks);

/* ---- starting from a model (init_model.c) ---------------------------------------------------- */

/* The values of --init, --init-phi, --init-w, --init-h and --keep; each may be NULL. */
typedef struct cli_init {
    const char *path, *phi, *w, *h, *keep;
    tlnmf_record *model; /* the model of --init, once it is read */
} cli_init;

/* Refuses contradictory options, reads the model, and takes K, eps and the method from it unless
 * they are given. The caller frees init->model in either case. */
int cli_init_read(cli_call *call, cli_init *init);
/* Refuses Phi of a model of whitened data: it does not apply to data that are not whitened. `spec`
 * may be NULL. */
int cli_check_phi(const cli_call *call, const char *spec);
/* Puts Phi into the start, and W and H if their sizes fit. */
int cli_init_start(cli_call *call, const cli_init *init, const tlnmf_data *data,
                   tlnmf_record *start);
/* --keep phi,w: fits H only. */
int cli_init_apply(cli_call *call, const cli_init *init, const cli_input *input,
                   const char *output);

/* ---- results (result_json.c, result_print.c) ------------------------------------------------- */

typedef struct cli_result {
    const char *input, *output; /* file names; output is NULL when no model is written */
    const char *page;           /* file name of the report page; NULL: no page */
    double rate;                /* in Hz; 0: not given */
    const tlnmf_data *data;
    tlnmf_record *model;
    const tlnmf_record *atoms;  /* NULL: no --rate */
    json_t *rank_table;         /* the result of -k A:B, an object; NULL: no comparison */
    double rank_wall, rank_cpu; /* seconds of that comparison */
    const char *init;           /* the model of --init; or NULL */
} cli_result;

/* Writes the model and prints the summary; returns the exit code. */
int cli_finish(const cli_call *call, const cli_result *r);

/* Prints the summary as text, and with --explain what its lines mean. */
void cli_print_result(FILE *out, const cli_call *call, const cli_result *r);
/* Explains all lines that a summary of this command may have. */
void cli_explain(FILE *out, const cli_call *call);
/* A line of a summary and its explanation. */
typedef struct cli_sentence {
    const char *label, *text;
} cli_sentence;
/* The same in the summaries of fit, jd and apply. */
#define CLI_DATA_SENTENCE                                                                   \
    {                                                                                       \
        "data", "The file, its frames and realisations, missing frames or powers, and the " \
                "columns that remain after compression."                                    \
    }
void cli_put_sentences(FILE *out, const cli_sentence *sentence, size_t count);
/* The line that describes the data. */
void cli_print_data(FILE *out, const char *input, const tlnmf_record *data, int64_t columns);
/* Where eps comes from: given, given share (eps-rel), model (of --init) or default. */
const char *cli_eps_from(const cli_call *call, const cli_result *r);
/* Why a run stopped. */
const char *cli_stop_words(const tlnmf_record *model);
/* "  label         name" and a note; the name is printed safely. */
void cli_print_name(FILE *out, const char *label, const char *name, const char *note);

/* The options that say how the array was read and where the fit started, as given. */
json_t *cli_given_json(const cli_call *call);
/* `file`, M, N, columns, mean_power and S of the data. */
json_t *cli_data_json(const char *input, const tlnmf_record *data, int64_t columns);

/* ---- the page (fit_page.c) ------------------------------------------------------------------- */

/* The page of a model in the same folder: model.html for model.h5. NULL: the name is too long. */
const char *cli_page_path(const char *model, char path[CLI_PATH]);

/* Adds V of the data to the input of a page if the model was fitted to these data; *shown: whether
 * it was. Not for a diagonalisation of whitened data. */
tlnmf_error cli_page_add_V(const cli_call *call, const tlnmf_record *model, const tlnmf_data *data,
                           tlnmf_record *about, bool *shown);
/* Adds labels to the input of a page. */
tlnmf_error cli_page_add_labels(const cli_call *call, const tlnmf_record *labels,
                                tlnmf_record *about);
/* Writes the page of a fit. */
tlnmf_error cli_page_of_fit(const cli_call *call, const cli_result *r);

#endif
