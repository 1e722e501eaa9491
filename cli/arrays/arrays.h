/* Commands on arrays: what is theirs alone. */
#ifndef TLNMF_CLI_ARRAYS_H
#define TLNMF_CLI_ARRAYS_H

#include "cli/cli.h"

/* An array of a record. */
typedef struct cli_array {
    int32_t rank;
    int64_t shape[TLNMF_MAX_RANK];
    const double *x;
} cli_array;

/* ---- foreign files (foreign.c) ----------------------------------------------------------------
 */

/* Says how to convert a file that is there and not read, by the message and by its ending, where
 * something is known. */
void cli_advise(const cli_call *call, const char *spec, const char *message);

/* ---- axes (axes.c) --------------------------------------------------------------------------- */

/* What is wrong with --axes, before any file is read. NULL is fine. */
int cli_check_axes(const cli_call *call, const char *axes_or_null);
/* Brings the array into the order (S, M, N) as --axes and --per-trial say, and says what became of
 * its axes. The new array belongs to the record. */
int cli_arrange(cli_call *call, const cli_input *input, tlnmf_record *record, cli_array *a);

/* ---- covariances (covariances.c) ------------------------------------------------------------- */

/* An entry (i, j) of slice n that differs from (j, i), and the slice's largest entry. */
typedef struct cli_asymmetry {
    int64_t n, i, j;
    double off, most;
} cli_asymmetry;

/* The axis that counts the frames of an array whose slices along it are symmetric: 0 for (N, M, M),
 * 2 for (M, M, N), 1 for (M, N, M); -1: none. */
int cli_covariance_axis(const cli_array *a);
/* The same (0, 2 or -1) where symmetry is a little off; says where it first fails. */
int cli_covariance_axis_nearly(const cli_array *a, cli_asymmetry *first);
/* The first slice of (N, M, M) that is not symmetric; false: there is none. */
bool cli_find_asymmetry(const cli_array *a, cli_asymmetry *first);
/* Brings covariances into the order (N, M, M). The new array belongs to the record. */
int cli_frames_first(cli_call *call, const char *spec, int axis, tlnmf_record *record,
                     cli_array *a);

/* ---- models on new arrays (apply.c) ---------------------------------------------------------- */

/* Whether an operand of `apply` names an array rather than a sound: by its extension, and where
 * it has none by whether the model is one of a separation. */
bool cli_is_array(const char *spec, const tlnmf_record *model);

/* H of an array with a model, which was read from `path`. The call's `also` settings are of task
 * "apply". */
int cli_apply_arrays(cli_call *call, const tlnmf_record *model, const char *path,
                     const cli_input *input, const char *output);

/* ---- the number of components (rank.c) ------------------------------------------------------- */

/* What -k asks for. */
typedef struct cli_rank {
    bool compares, automatic; /* A:B or auto; auto */
    int64_t low, high;        /* high is 0 of auto */
    json_t *table;            /* what came of it, for the summary; the caller releases it */
    double seconds;           /* of --max-seconds that are left for the fit; 0: no limit */
} cli_rank;

/* Reads -k: a number goes into the settings. NULL is fine. */
int cli_rank_read(cli_call *call, const char *text_or_null, cli_rank *rank);
/* Compares the k, from a Phi that the start may hold; the best goes into the settings, and tables
 * to `out`. It has half of --max-seconds. */
int cli_rank_choose(cli_call *call, const cli_input *input, const tlnmf_data *data,
                    const tlnmf_record *start, cli_rank *rank, FILE *out_or_null);
/* The tables of tlnmf_compare_ranks (rank_table.c). */
json_t *cli_rank_json(const tlnmf_record *ranks);
void cli_rank_print(FILE *out, const cli_call *call, const tlnmf_data *data,
                    const tlnmf_record *ranks);

/* ---- going on from a model (init.c) ---------------------------------------------------------- */

/* What --init, --init-phi, --init-w, --init-h and --keep say; each may be NULL. */
typedef struct cli_init {
    const char *path, *phi, *w, *h, *keep;
    tlnmf_record *model; /* what --init names, once it is read */
} cli_init;

/* Refuses contradictions, reads the model, and takes from it K, eps and the method, unless they are
 * given. The caller frees init->model in either case. */
int cli_init_read(cli_call *call, cli_init *init);
/* Refuses a file of Phi that is a model of whitened data: its Phi is not one of data as they are.
 * `spec` may be NULL. */
int cli_check_phi(const cli_call *call, const char *spec);
/* Puts Phi, and W and H where their sizes fit, into the start. */
int cli_init_start(cli_call *call, const cli_init *init, const tlnmf_data *data,
                   tlnmf_record *start);
/* --keep phi,w: H alone. */
int cli_init_apply(cli_call *call, const cli_init *init, const cli_input *input,
                   const char *output);

#endif
