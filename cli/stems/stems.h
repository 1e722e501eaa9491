/* Separations, for `separate` and `apply`: the sound, the directory of the stems, its files. */
#ifndef TLNMF_CLI_STEMS_H
#define TLNMF_CLI_STEMS_H

#include "cli/cli.h"

/* Stems whose disk space is reserved (64 sources and the residual), and the model. */
enum { CLI_RESERVED = 66 };

/* One separation. */
typedef struct cli_stems {
    cli_call *call;
    const char *path, *model_path; /* of the sound; of the model of `apply`, or NULL */
    tlnmf_sound *sound;            /* with its labels, if any */
    tlnmf_record *labels;          /* those of --labels, or NULL */
    tlnmf_sound *recording;        /* the sound before resampling; NULL: not resampled */
    tlnmf_settings *settings;      /* of task "separate": the call's */
    const char *directory, *format;
    char own_directory[CLI_PATH]; /* buffer of a directory name that contains the sound's name */
    bool created;                 /* by this run, which removes the directory if it fails */
    int stage;                    /* descriptor of the staging folder, negative if it is not open */
    char staging[CLI_PATH];
    tlnmf_io_reservation *reserved[CLI_RESERVED]; /* disk space for the outputs */
    int reserved_count;
} cli_stems;

/* ---- before the run (prepare.c) -------------------------------------------------------------- */

/* Adds the directory of the stems of a sound and its labels to the files of the call. */
int cli_stems_add_files(const cli_call *call, const char *sound);
/* Whether the directory has all outputs of the same command line (except for options such as
 * --resume) and version, and neither the sound nor its labels were changed since. */
bool cli_stems_are_done(const cli_call *call, const char *sound);
/* Opens the sound. Call cli_stems_close() in either case: it frees everything and removes an empty
 * directory of this run. */
int cli_stems_open(cli_call *call, tlnmf_settings *settings, const char *path, cli_stems *stems);
void cli_stems_close(cli_stems *stems, int code);
/* Reads the labels that --labels names, if it was given. */
int cli_stems_add_labels(cli_stems *stems);

/* Checks that -o DIR exists or can be created, that it is empty (unless --force), that the format
 * supports the stems, and that no input would be replaced. `names` has the names of stems that are
 * known before learning. */
int cli_stems_check(cli_stems *stems, const tlnmf_record *names);

/* Releases the reserved disk space before the files are written. */
void cli_stems_release(cli_stems *stems);
/* Adds a file of the directory to the list of files. */
int cli_stems_check_output(const cli_stems *stems, const char *name, const char *extension);

/* DIR/name.extension, or NULL with a message for a name that is too long. */
const char *cli_stems_path(const cli_stems *stems, const char *name, const char *extension,
                           char path[CLI_PATH]);
/* The same in the staging folder. */
const char *cli_stems_staged(const cli_stems *stems, const char *name, const char *extension,
                             char path[CLI_PATH]);

/* ---- the staging folder (stage.c) ------------------------------------------------------------ */

#define CLI_STAGE ".tlnmf-part"

/* Makes DIR/.tlnmf-part and locks it; fails if another run is using it. If a run was killed while
 * it published, DIR is then as it was before. */
int cli_stage_open(cli_stems *stems);
/* Moves all files of the staging folder to DIR, and removes the page of an earlier run if this run
 * writes none. On failure, cli_stage_close() restores the old files. Without --force no file is
 * replaced or removed. */
int cli_stage_publish(const cli_stems *stems);
void cli_stage_close(cli_stems *stems);

/* ---- the run (stems.c) ----------------------------------------------------------------------- */

/* Separates the sound, writes stems, activations, the model and summary.json, and prints the
 * summary. `about` is the beginning of the summary; it is released. */
int cli_stems_make(cli_stems *stems, tlnmf_record *model, json_t *about);

/* ---- the files of the stems (stem_files.c) --------------------------------------------------- */

typedef struct cli_outputs {
    const cli_stems *stems;
    tlnmf_ctx *ctx;      /* a separate context: writers run while the call's context is in use */
    tlnmf_record *names; /* of the files, without extension */
    int64_t count;
    tlnmf_io_writer **writer;
    tlnmf_error error; /* of a writer that failed while stems were written */
    int64_t clipped;
    double step; /* of the samples' format; 0: floating point */
    double gain; /* 1, or a factor that keeps all stems within full scale */
    double peak;
    bool measures; /* measure the peak, write nothing */
    double *owed;  /* sum of the rounding errors of this block so far */
    double *copy;
    int64_t capacity, channels;
} cli_outputs;

/* `plan` is the result of tlnmf_separate_plan. Call cli_outputs_free() in either case: it leaves no
 * temporary file. */
int cli_outputs_open(cli_outputs *o, const cli_stems *stems, const tlnmf_record *plan);
/* Receives the stems: a tlnmf_write_fn; user is the cli_outputs. */
int cli_outputs_write(int64_t stem, int64_t first, int64_t count, const double *x, void *user);
/* Completes the files in the staging folder. */
int cli_outputs_commit(cli_outputs *o);
void cli_outputs_free(cli_outputs *o);
/* Prints the last error of the writers. Returns its exit code. */
int cli_outputs_fail(const cli_outputs *o, tlnmf_error error);

/* ---- the page (stems_page.c) ----------------------------------------------------------------- */

/* Writes report.html into the staging folder. */
tlnmf_error cli_stems_page(const cli_outputs *o, const tlnmf_record *model,
                           const tlnmf_record *report);

/* ---- the summary (stems_print.c) ------------------------------------------------------------- */

/* The beginning of the summary. */
json_t *cli_stems_summary(const cli_stems *stems, const tlnmf_record *model);
/* Adds the sound, the separation and the stems to `summary`. */
void cli_stems_describe(const cli_outputs *o, const tlnmf_record *model, json_t *summary);
/* `page` is the file of the page, or NULL. */
void cli_stems_print(const cli_outputs *o, const tlnmf_record *model, const tlnmf_record *report,
                     const char *page);

/* ---- quality (stem_quality.c) ---------------------------------------------------------------- */

/* The expected quality of the stems. */
json_t *cli_quality_json(const tlnmf_record *model);
/* Prints the expected quality of stem k. `guided`: there were labels. */
void cli_quality_print_stem(const tlnmf_record *model, int64_t k, bool guided);
/* Prints what the estimates of all stems mean. */
void cli_quality_print(const tlnmf_record *model, bool guided);

/* Adds the part of the sound's power that the model does not explain to the summary. Warns if a
 * model that was learnt from another recording does not fit this one. */
void cli_unexplained_describe(const cli_stems *stems, const tlnmf_record *model,
                              const tlnmf_record *report, json_t *summary);
void cli_unexplained_print(const tlnmf_record *model, const tlnmf_record *report);

/* ---- names (prepare.c) ----------------------------------------------------------------------- */

/* Whether the text holds {name}. */
bool cli_is_pattern(const char *text);
/* Replaces every {name} by the name of the file without folder and extension. NULL with a message
 * if the result is too long. */
const char *cli_fill_pattern(const cli_command *command, const char *pattern, const char *path,
                             char out[CLI_PATH]);

#endif
