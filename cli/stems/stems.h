/* What `separate` and `apply` share: the sound, the directory of the stems, what goes into it. */
#ifndef TLNMF_CLI_STEMS_H
#define TLNMF_CLI_STEMS_H

#include "cli/cli.h"

/* The options that both commands have, beside those of the library's task "stems". */
typedef struct cli_stem_words {
    const char *labels, *activations, *gain, *format;
} cli_stem_words;
extern cli_stem_words cli_stem_values;
enum { CLI_STEM_OPTIONS = 5 };
extern const cli_option cli_stem_options[CLI_STEM_OPTIONS];

/* One separation. */
typedef struct cli_stems {
    cli_call *call;
    const char *path, *model_path; /* of the sound; of the model of `apply`, or NULL */
    tlnmf_sound *sound;            /* with its labels, if there are any */
    tlnmf_settings *settings;      /* of task "stems": the call's */
    const char *directory, *format;
    bool created; /* the directory was made here: it goes if nothing came of it */
} cli_stems;

/* ---- before the run (prepare.c) -------------------------------------------------------------- */

/* Opens the sound. cli_stems_close() frees what there is in either case, and takes an empty
 * directory away that was made for nothing. */
int cli_stems_open(cli_call *call, tlnmf_settings *settings, const char *path, cli_stems *stems);
void cli_stems_close(cli_stems *stems, int code);
/* Reads the labels that --labels names, if it was given. */
int cli_stems_add_labels(cli_stems *stems);

/* -o DIR is given, there or can be made, and empty unless --force; the format can hold stems like
 * the sound; no input would be replaced. `names` holds the names of the stems, as far as they are
 * known. */
int cli_stems_check(cli_stems *stems, const tlnmf_record *names);

/* DIR/name.extension, or NULL with a message for a name that is too long. */
const char *cli_stems_path(const cli_stems *stems, const char *name, const char *extension,
                           char path[CLI_PATH]);

/* ---- the run (stems.c) ----------------------------------------------------------------------- */

/* Takes the sound apart, writes stems, activations, the model and summary.json, and prints the
 * summary. `about` has what the command knows already; it is released. */
int cli_stems_make(cli_stems *stems, tlnmf_record *model, json_t *about);

/* ---- the files of the stems (outputs.c) ------------------------------------------------------ */

typedef struct cli_outputs {
    const cli_stems *stems;
    tlnmf_ctx *ctx;      /* the writers' own: they work inside calls with the call's context */
    tlnmf_record *names; /* of the files, without extension */
    int64_t count;
    tlnmf_io_writer **writer;
    tlnmf_error error; /* of a writer that failed while stems were written */
    int64_t committed, clipped;
    double step; /* of the samples' format; 0: floating point */
    double gain; /* 1, or what keeps all stems within full scale */
    double peak;
    bool measures; /* only the peak is wanted */
    double *owed;  /* by how much rounding has moved the stems of this block so far */
    double *copy;
    int64_t capacity, channels;
} cli_outputs;

/* `plan` is that of tlnmf_stems_plan. cli_outputs_free() is to be called in either case: it leaves
 * no temporary file. */
int cli_outputs_open(cli_outputs *o, const cli_stems *stems, const tlnmf_record *plan);
/* Receives the stems: a tlnmf_write; user is the cli_outputs. */
int cli_outputs_write(int64_t stem, int64_t first, int64_t count, const double *x, void *user);
int cli_outputs_commit(cli_outputs *o);
/* Removes the files that were committed. */
void cli_outputs_take_back(const cli_outputs *o);
void cli_outputs_free(cli_outputs *o);
/* The last error of the writers, as a message. */
int cli_outputs_fail(const cli_outputs *o, tlnmf_error error);

/* ---- what is said of it (report.c) ----------------------------------------------------------- */

/* Adds the sound, the separation and the stems to `summary`. */
void cli_stems_describe(const cli_outputs *o, const tlnmf_record *model, json_t *summary);
void cli_stems_print(const cli_outputs *o, const tlnmf_record *model);

#endif
