/* What `separate` and `apply` share: the sound, the directory of the stems, what goes into it. */
#ifndef TLNMF_CLI_STEMS_H
#define TLNMF_CLI_STEMS_H

#include "cli/cli.h"

/* The options that both commands have, beside those of the library's task "stems". */
typedef struct cli_stem_words {
    const char *labels, *activations, *gain, *format, *no_report, *no_sound;
} cli_stem_words;
extern cli_stem_words cli_stem_values;
enum { CLI_STEM_OPTIONS = 7 };
extern const cli_option cli_stem_options[CLI_STEM_OPTIONS];

/* Stems whose disk space is reserved (64 sources and the residual), and the model. */
enum { CLI_RESERVED = 66 };

/* What is kept of a separation until it ends. */
typedef struct cli_stem_kept {
    tlnmf_ctx *ctx;
    tlnmf_record *all;   /* the checkpoint: the model, what it is of, the state of the stems */
    tlnmf_record *state; /* of the stems, to go on from */
    const tlnmf_record *model; /* while the stems are made */
} cli_stem_kept;

/* One separation. */
typedef struct cli_stems {
    cli_call *call;
    const char *path, *model_path; /* of the sound; of the model of `apply`, or NULL */
    tlnmf_sound *sound;            /* with its labels, if there are any */
    tlnmf_sound *recording;        /* what `sound` is resampled from; NULL: it is not */
    tlnmf_settings *settings;      /* of task "stems": the call's */
    const char *directory, *format;
    char own_directory[CLI_PATH]; /* where the directory's name is made from the sound's */
    bool created;                 /* the directory was made here: it goes if nothing came of it */
    int stage;                    /* descriptor of the staging folder, negative: there is none */
    char staging[CLI_PATH];
    tlnmf_io_reservation *reserved[CLI_RESERVED]; /* disk space for the outputs */
    int reserved_count;
    cli_stem_kept kept;
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

/* Gives the reserved disk space back, for the files to be written. */
void cli_stems_release(cli_stems *stems);
/* No input is replaced, --force or not, and nothing that cannot be. */
int cli_stems_check_output(const cli_stems *stems, const char *name, const char *extension);

/* DIR/name.extension, or NULL with a message for a name that is too long. */
const char *cli_stems_path(const cli_stems *stems, const char *name, const char *extension,
                           char path[CLI_PATH]);
/* The same in the staging folder. */
const char *cli_stems_staged(const cli_stems *stems, const char *name, const char *extension,
                             char path[CLI_PATH]);

/* ---- the staging folder (stage.c) ------------------------------------------------------------ */

#define CLI_STAGE ".tlnmf-part"

/* Makes DIR/.tlnmf-part and locks it. What a run that was killed has left there goes; a run that is
 * still at work is a reason to fail. */
int cli_stage_open(cli_stems *stems);
/* Moves all files of the staging folder to DIR, or none of them: on failure old files are as they
 * were. */
int cli_stage_publish(const cli_stems *stems);
void cli_stage_close(cli_stems *stems);

/* ---- learning (learn.c) ---------------------------------------------------------------------- */

/* Learns the model, or takes it from the checkpoint that --resume names. Returns an exit code; the
 * caller frees the model in either case. */
int cli_stems_learn(cli_stems *stems, tlnmf_record **model);

/* ---- checkpoints (checkpoint.c) -------------------------------------------------------------- */

/* With --resume: the model of the checkpoint, or the state of its learning; NULL where there is
 * none. */
int cli_stems_take(cli_stems *stems, tlnmf_record **model, tlnmf_record **state);
/* A model that took long to learn is kept until the stems are there. */
void cli_stems_keep(cli_stems *stems, const tlnmf_record *model);
/* The next call that makes stems keeps finished blocks, and begins with those that were kept
 * before; cli_checkpoint_unwatch() ends it. */
void cli_stems_watch(cli_stems *stems, const tlnmf_record *model);
/* Stems that are made a second time begin with what was kept the first time. */
void cli_stems_again(cli_stems *stems);
void cli_stems_forget(cli_stems *stems);

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
    int64_t clipped;
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
/* Ends the files, in the staging folder. */
int cli_outputs_commit(cli_outputs *o);
void cli_outputs_free(cli_outputs *o);
/* The last error of the writers, as a message. */
int cli_outputs_fail(const cli_outputs *o, tlnmf_error error);

/* ---- the page (page.c) ----------------------------------------------------------------------- */

/* Writes report.html into the staging folder, unless --no-report; what goes wrong is a warning: the
 * stems are there. `summary` learns its name. */
void cli_stems_page(const cli_outputs *o, tlnmf_record *model, const tlnmf_record *report,
                    json_t *summary);

/* ---- what is said of it (report.c) ----------------------------------------------------------- */

/* Adds the sound, the separation and the stems to `summary`. */
void cli_stems_describe(const cli_outputs *o, const tlnmf_record *model, json_t *summary);
/* `page` is the file of the page, or NULL. */
void cli_stems_print(const cli_outputs *o, const tlnmf_record *model, const tlnmf_record *report,
                     const char *page);

/* ---- whether the model fits the sound (fit.c) ------------------------------------------------ */

/* Adds how much of the sound the model does not explain. A model that does not fit another
 * recording is a reason to warn. */
void cli_fit_describe(const cli_stems *stems, const tlnmf_record *model, const tlnmf_record *report,
                      json_t *summary);
void cli_fit_print(const tlnmf_record *model, const tlnmf_record *report);

/* ---- the verdict (verdict.c) ----------------------------------------------------------------- */

json_t *cli_verdict_json(const tlnmf_record *model);
/* `guided`: there were labels. */
void cli_verdict_print(const tlnmf_record *model, bool guided);

/* ---- names (names.c) ------------------------------------------------------------------------- */

/* Whether the text holds {name}. */
bool cli_is_pattern(const char *text);
/* The pattern with the name of the file (no folder, no extension) for every {name}; NULL with a
 * message where that is too long. */
const char *cli_fill_pattern(const cli_command *command, const char *pattern, const char *path,
                             char out[CLI_PATH]);
/* Makes the folders above a path. */
int cli_make_parents(const cli_command *command, const char *path);
/* For a sound that cannot be read: the line that converts it, if its name says that it is of a
 * format of others. */
void cli_hint_format(const cli_command *command, const char *path);

#endif
