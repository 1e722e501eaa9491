/* The program: commands, their options, what they print. Signals and printing live here only.
 *
 * The program uses the library through its public headers alone. */
#ifndef TLNMF_CLI_CLI_H
#define TLNMF_CLI_CLI_H

#include "tlnmf/io.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

typedef enum exit_code {
    EXIT_DONE = 0,
    EXIT_INTERNAL = 1, /* no memory, LAPACK failed */
    EXIT_USAGE = 2,
    EXIT_INPUT = 3,
    EXIT_NOT_CONVERGED = 4, /* only with --strict */
    EXIT_OUTPUT = 5,
    EXIT_INTERRUPTED = 130,
} exit_code;

enum { CLI_LIST = 64, CLI_PATH = 4096, CLI_OPTIONS_MAX = 64, CLI_OPERANDS = 1024 };

/* An option of the program's own, beside those of the library's table. */
typedef struct cli_option {
    const char *name;     /* --name, or -n when it is one letter */
    const char *argument; /* what --help calls its value; "a|b|c": one of these; NULL: no value */
    const char *help;     /* NULL: that of the library's option of this name */
    const char **value; /* receives the text, "" for an option without value; an option with several
                           (its argument ends in "...") has CLI_LIST + 1 of them, the last NULL */
} cli_option;

/* What is said of tables as text. */
#define CLI_TABLE_OPTIONS(header_is, index_is)                                                    \
    {"header", "yes|no|auto",                                                                     \
     "text tables: is the first line a header (skipped)? auto: yes if it has words or is 0, 1, "  \
     "2, .. [auto]",                                                                              \
     &(header_is)},                                                                               \
    {                                                                                             \
        "index", "yes|no|auto",                                                                   \
            "text tables: is the first column an index (skipped)? auto: yes if it has words, or " \
            "its name is index, id or empty [auto]",                                              \
            &(index_is)                                                                           \
    }

/* An option that is no more. */
typedef struct cli_rename {
    const char *name;    /* without dashes */
    const char *instead; /* what to use: "--learn-frames" */
} cli_rename;

typedef struct cli_command {
    const char *name, *usage, *purpose, *examples;
    const char *task, *also; /* the tasks whose options it has, from the library's table; or NULL */
    const char *mark, *also_mark; /* what --help says before options that only one of the two tasks
                                     has; the first also before `shared`; or NULL */
    const char *only;    /* of those options, only these: names between spaces; NULL: all */
    const char *without; /* of those options, not these; NULL: none is left out */
    const char *common;  /* which of o, force, json, q, v, checkpoint, every, resume it has:
                            names between spaces */
    const char *notes;   /* what --help says after the examples; or NULL */
    const cli_option *options, *shared; /* its own options, and those that several commands share */
    size_t option_count, shared_count;
    bool shares;               /* several processes share its work; else the first does it alone */
    const cli_rename *renamed; /* options of earlier versions; ends with a NULL name; or NULL */
    int (*run)(int argc, char **argv);
} cli_command;

/* The frames of this process: part `rank` of `size`. One of one where frames are not shared out. */
typedef struct cli_part {
    int32_t rank, size;
} cli_part;

/* What one call of a command works with. */
typedef struct cli_call {
    const cli_command *command;
    tlnmf_ctx *ctx;
    tlnmf_settings *settings; /* of command->task; NULL if that is */
    tlnmf_settings *also;     /* of command->also; likewise */
    int operand_count;
    const char *operands[CLI_OPERANDS];
    const char *given[CLI_OPTIONS_MAX]; /* the library's options that were given */
    int given_count;
    const char *transform_file; /* --transform with something that is not a name */
    int argc;                   /* the command line, without the program's name */
    char **argv;
    tlnmf_sums *starts, *frames; /* the processes that share the starts, the frames; NULL: alone */
    void *frames_user;
    cli_part part;
    const char *subject; /* the file that the library's warnings are about; or NULL */
} cli_call;

extern const cli_command cli_separate, cli_apply, cli_eval, cli_fit, cli_jd, cli_report,
    cli_simulate, cli_reproduce, cli_info;

/* The options that commands have in common; NULL: not given. */
typedef struct cli_common {
    const char *output, *force, *json, *quiet, *verbose, *explain, *checkpoint, *every, *resume;
} cli_common;
extern cli_common cli_common_values;

/* ---- several machines (common/machines.c) ---------------------------------------------------- */

/* The processes that run this command together; the program alone is one of one. Only the first
 * prints and writes. */
typedef struct cli_machines {
    int32_t size, rank;
    tlnmf_sum sum;
    tlnmf_broadcast broadcast;
    void *user;
    /* A group of the processes that give the same `group`, in the order of their ranks: what its
     * `user` is; NULL if there is none. */
    void *(*split)(int32_t group);
} cli_machines;
extern cli_machines cli_machines_values;
/* Finds the other processes and fills in the values above, before anything else runs; and waits for
 * them at the end. False, with *code set, if that failed. alone.c has them for the program,
 * mpi/processes.c for tlnmf-mpi. */
bool cli_machines_begin(int *argc, char ***argv, int *code);
void cli_machines_end(int code);

bool cli_is_first(void);
/* Shares the work of the call out, as --split says: "starts", "frames", "frames:8"; NULL: starts.
 */
int cli_share(cli_call *call, const char *split);
/* The index of its first frame of N, where every `whole` belong together; of part rank + 1: the one
 * after its last. */
int64_t cli_part_first(cli_part part, int64_t N, int64_t whole);
/* The code of the first process that has one other than 0; its message is printed by the first
 * process. All processes call this at the same places. */
int cli_agree(int code);
/* Keeps a line for cli_agree(). */
void cli_keep_message(const char *line);

/* ---- H of all processes (common/gather.c) ---------------------------------------------------- */

/* Where frames are shared out, H goes in pieces from the processes that have it to the first one.
 * NULL: this process does not take part. */
typedef struct cli_pieces cli_pieces;
int cli_pieces_begin(const cli_call *call, const tlnmf_record *model, cli_pieces **out);
/* Takes part until the last piece: all processes end together, whatever happened on the first. */
void cli_pieces_end(cli_pieces *pieces);
void cli_pieces_drop(cli_pieces *pieces); /* before the first piece */
/* Writes a model, H in pieces if there are some. */
tlnmf_error cli_write_model(const cli_call *call, const char *path, const tlnmf_record *model,
                            cli_pieces *pieces);

/* ---- arguments (common/arguments.c) ---------------------------------------------------------- */

/* Creates the context and the settings and reads the arguments. Returns false when the command is
 * over, with *code set: --help, or a mistake that has been reported. cli_end() frees what there is
 * in either case. */
bool cli_begin(cli_call *call, const cli_command *command, int argc, char **argv, int *code);
void cli_end(cli_call *call);
/* The command line as a shell would take it again. */
json_t *cli_repeat(const cli_call *call);

/* Whether an option of the library's table was given on the command line. */
bool cli_given(const cli_call *call, const char *name);

/* A whole number from an option's text, or `fallback` when it was not given. */
bool cli_integer(const cli_call *call, const char *name, const char *text, int64_t low,
                 int64_t high, int64_t fallback, int64_t *value);
/* The same for a real number. */
bool cli_number(const cli_command *command, const char *name, const char *text, double low,
                double high, double fallback, double *value);
/* "40ms", "0.04s" or "882" to samples; negative if it is none of these. */
double cli_samples(const char *text, double rate);

/* ---- messages (common/messages.c) ------------------------------------------------------------ */

/* Prints `tlnmf COMMAND: message` on stderr and returns the code. */
int cli_fail(const cli_command *command, exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with "warning: " before the message; nothing with -q. */
void cli_warn(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What the program has decided, on stderr; nothing with -q. */
void cli_say(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For an error of the library, with its message; `file` names what was being worked on where the
 * message does not, or NULL. Exit codes: a file that cannot be read is bad input, one that cannot
 * be written an output error. */
int cli_fail_library(const cli_call *call, tlnmf_error error, const char *file);
exit_code cli_code_of(tlnmf_error error);

/* ---- foreign text (common/text.c) ------------------------------------------------------------ */

/* Everything that comes from a file, or is the name of one, is printed through these: controls,
 * overrides of direction and what is not UTF-8 become escapes (\x1b, \u202e). */
void cli_put(FILE *out, const char *text);
/* The same into a buffer, cut where it is full; returns it. */
const char *cli_plain(const char *text, char *buffer, size_t size);
/* JSON text with such characters as \u escapes, which mean the same; releases `text`. */
char *cli_plain_json(char *text_or_null);

/* ---- help (common/help.c, common/man.c) ------------------------------------------------------ */

void cli_print_help(const cli_command *command);
/* The man page of a command, or of the program (NULL), in roff. */
void cli_print_man(const cli_command *command_or_null);
/* Option number `index` of a command, in the order of --help: its own, those of its tasks, the
 * common ones. False past the last. */
typedef struct cli_option_text {
    char name[64];      /* with its dashes */
    char argument[128]; /* "" for an option without value */
    char help[512];     /* with the default in brackets */
} cli_option_text;
bool cli_option_at(const cli_command *command, size_t index, cli_option_text *text);
const cli_command *cli_command_at(size_t index); /* NULL past the last */

/* ---- outputs (common/outputs.c) -------------------------------------------------------------- */

/* Fails early when a file could not be written: it is there already (and no --force was given), no
 * directory, no permission. NULL and "-" are fine; a device or a pipe is written in place. */
int cli_check_output(const cli_command *command, const char *path);
/* Fails where a model could not be written under this name, for its extension. NULL is fine. */
int cli_check_model_name(const cli_command *command, const char *output);
/* Whether two names, which may end in :/path or :name, are one regular file. */
bool cli_is_same_file(const char *spec, const char *path);
/* Fails if the output is the input, --force or not. Either may be NULL. */
int cli_check_input(const cli_command *command, const char *input, const char *output);

/* Reserves disk space for a model of these data; `output` may be NULL. Release it before the model
 * is written. */
int cli_reserve_model(const cli_call *call, const char *output, const tlnmf_data *data, int64_t K,
                      tlnmf_io_reservation **reserved);
/* Where a run that was cancelled writes: NAME.partial.h5 for NAME.h5, or NAME.partial-2.h5, .. : a
 * name that is free. Standard output, devices and pipes stay what they are. NULL if there is none.
 */
const char *cli_partial_path(const char *output, char path[CLI_PATH]);

/* ---- foreign files (common/read.c) ----------------------------------------------------------- */

/* Reads an array, a model or a description ("array", "model", "describe") in a process of its own,
 * as tlnmf_io_read_apart does. Returns an exit code; a signal ends the reading. */
int cli_read(const cli_call *call, const char *kind, const char *spec, tlnmf_record **out);

/* ---- data (common/data.c) -------------------------------------------------------------------- */

/* An array that is to become data: 2-D is one realisation, 3-D is (S, M, N), or covariances
 * (N, M, M) if `kind` says so: "data", "covariances", or "auto" by whether the slices are
 * symmetric. */
typedef struct cli_input {
    const char *spec, *kind;
    const char *axes;           /* names of the axes, "trials,channels,time"; NULL: (S, M, N) */
    bool per_trial;             /* the frames of all realisations, one after the other */
    bool expects_data;          /* covariances are the exception, and said to be recognised */
    const char *header, *index; /* of a table as text: yes, no, auto; NULL: auto */
    bool missing;               /* NaN: this frame of this realisation is missing */
    int64_t block, moving;      /* neighbouring frames as realisations; 0: not asked for */
    const char *weights, *mask; /* files of weights, N or (M, N) numbers; NULL: none */
    tlnmf_record **keep; /* receives the array, to which the data then refer: free it after them;
                            NULL: the data stand alone */
} cli_input;

int cli_read_data(cli_call *call, const cli_input *input, tlnmf_data **out);
/* Reads a matrix of the given shape into `start` under this name. `spec` may be NULL. */
int cli_read_matrix(cli_call *call, const char *spec, const char *name, int64_t rows,
                    int64_t columns, tlnmf_record *start);
/* Reads the weights and the mask that the input names, if any, and sets them. */
int cli_read_weights(cli_call *call, const cli_input *input, tlnmf_data *data);

/* ---- memory (common/memory.c) ---------------------------------------------------------------- */

/* Says how much memory will be taken beside what is held already, with -v or on a terminal; fails
 * if the machine, the container or ulimit does not have it. */
int cli_check_memory(const cli_call *call, double bytes);
/* The same for a fit of the data with the call's settings. */
int cli_check_fit_memory(const cli_call *call, const tlnmf_data *data);
const char *cli_bytes(double bytes, char *text, size_t size); /* "1.2 GB" */

/* Whether there is this much memory beside what is held already. */
bool cli_has_memory(double bytes);
/* Bytes of address space that the threads of BLAS may take, where ulimit -v limits it; else 0
 * (early.c). */
double cli_blas_space(void);

/* ---- checkpoints (common/checkpoint.c) ------------------------------------------------------- */

/* What is wrong with --checkpoint, --every and --resume; `output` may be NULL. Called first. */
int cli_checkpoint_check(const cli_call *call, const char *output);
/* The call's context saves a fit of these data, and goes on from a checkpoint if --resume says so.
 */
int cli_checkpoint_begin(const cli_call *call, const tlnmf_data *data);
/* The same around a comparison of several k before it, in FILE.k: that stays until the end. */
int cli_checkpoint_begin_ranks(const cli_call *call);
void cli_checkpoint_end_ranks(const cli_call *call);
/* For a command that keeps something else: reads the checkpoint if --resume says so (NULL: there is
 * none), replaces it; and how many seconds of work are worth one. */
int cli_checkpoint_read(const cli_call *call, tlnmf_record **state);
void cli_checkpoint_write(const tlnmf_record *state);
double cli_checkpoint_every(void);
/* The call's context gives what a library call keeps to `save` (NULL: writes it as it is), and goes
 * on from this state (or NULL). */
void cli_checkpoint_watch(const cli_call *call, tlnmf_save save_or_null, void *user,
                          const tlnmf_record *state);
void cli_checkpoint_unwatch(const cli_call *call);
/* After the run, on all processes: the first speaks for those that could not save. */
void cli_checkpoint_report(const cli_call *call);
/* The command ends with this code: a run that is done leaves no checkpoint. */
void cli_checkpoint_end(const cli_call *call, int code);

/* ---- Ctrl-C (common/interrupt.c) ------------------------------------------------------------- */

/* Ctrl-C, SIGTERM or SIGHUP once: stop cleanly; twice: at once, without leaving temporary files. */
void cli_catch_interrupt(void);
bool cli_interrupted(void); /* whether one of them has come */
/* Between these two the second Ctrl-C waits, so that files are put in place whole; the third does
 * not. */
void cli_guard_begin(void);
void cli_guard_end(void);
/* A file (or a directory that was made here and is empty) to remove when the program ends at once.
 * `path` must live until it is forgotten. */
void cli_remember_temporary(const char *path);
void cli_forget_temporary(const char *path);

/* ---- progress (common/progress.c) ------------------------------------------------------------ */

int cli_progress(const tlnmf_record *progress, void *user); /* a tlnmf_callback; user is NULL */
int cli_sound_progress(const tlnmf_record *progress, void *user); /* the same for a separation */
void cli_progress_clear(void);
void cli_progress_show(const char *text); /* a line of one's own, at most ten times a second */

/* ---- JSON (common/json.c) -------------------------------------------------------------------- */

bool cli_print_json(const json_t *object);
json_t *cli_seed(uint64_t seed);    /* a string where an integer cannot hold it */
json_t *cli_real(double x);         /* null where it is not finite */
json_t *cli_text(const char *text); /* a JSON string even if it is not UTF-8 */
/* The value of an option of the library's table. */
json_t *cli_option_json(const tlnmf_settings *settings, const char *task, const char *name);
char *cli_json_text(const json_t *object); /* as cli_print_json prints it; free() it */
/* The same value, or 0 with SOURCE_DATE_EPOCH: reproducible outputs carry no times. */
double cli_seconds(double value);

/* ---- results of fit and jd (common/summary.c, common/report.c) ------------------------------- */

typedef struct cli_result {
    const char *input, *output; /* file names; output is NULL when no model is written */
    const char *page;           /* file name of the report page; NULL: not asked for */
    double rate;                /* in Hz; 0: not given */
    const tlnmf_data *data;
    tlnmf_record *model;
    const tlnmf_record *atoms; /* NULL: not asked for */
    json_t *rank_table;        /* of -k A:B, an object; NULL: not asked for */
    const char *kind, *init_phi, *init_w, *init_h, *weights, *block, *moving, *axes, *per_trial,
        *init, *keep, *mask, *missing, *header, *index; /* as given, for the record; may be NULL */
} cli_result;

/* What is wrong with the operand, -o and --json before any file is read. The output must be none of
 * the inputs; `more` names two of them, each may be NULL. */
int cli_check_model(const cli_call *call, const char *output, const char *init_phi,
                    const char *const more[2]);
/* Writes the model and prints the summary; returns the exit code. */
int cli_finish(const cli_call *call, const cli_result *r, bool strict);

#endif
