/* The program: commands, options, one call of a command. Only the program handles signals and
 * prints. It uses only the public headers of the library. */
#ifndef TLNMF_CLI_CLI_H
#define TLNMF_CLI_CLI_H

#include "io/program.h"

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

/* Returns from the function if a step fails, with its exit code or tlnmf_error. The library's TRY
 * in src/base/base.h is for tlnmf_error only; the program does not include that header. */
#define TRY(step)                        \
    do {                                 \
        __typeof__(step) code_ = (step); \
        if (code_ != 0)                  \
            return code_;                \
    } while (0)

/* The parts of --help. */
typedef enum cli_group {
    GROUP_INPUT,
    GROUP_MODEL,
    GROUP_SCORES,
    GROUP_SEARCH,
    GROUP_OUTPUT,
    GROUP_RUN,
    GROUP_PAPER,
    GROUP_OTHER, /* library options that `groups` in options.c does not list */
    GROUPS
} cli_group;

/* Uses of an option. */
enum {
    CLI_FILE_IN = 1,    /* names an input */
    CLI_FILE_OUT = 2,   /* names an output */
    CLI_FOR_ARRAYS = 4, /* applies to arrays only */
    CLI_FOR_SOUNDS = 8, /* applies to sounds only */
    CLI_RECORDED = 16,  /* stored in the summary of the model, under "given" */
};

/* An option of the program. The library has a table of its own options. */
typedef struct cli_option {
    const char *name;     /* --name, or -n if it is one letter */
    const char *argument; /* its value in --help; "a|b|c": one of these words; NULL: no value */
    const char *help;     /* the first page of --help ends at the first semicolon;
                             NULL: the text of the library's option of this name */
    const char **value; /* receives the text, or "" if the option has no value. If the argument ends
                           in "...", it is an array of CLI_LIST + 1 texts, the last NULL */
    cli_group group;
    unsigned use; /* CLI_FILE_IN and so on */
} cli_option;

typedef struct cli_call cli_call;

typedef struct cli_command {
    const char *name, *usage, *purpose, *examples;
    const char *task, *also;   /* the command has the library's options of these tasks; or NULL */
    const char *only;          /* but only these options: names between spaces; NULL: all */
    const char *without;       /* but not these; or NULL */
    const char *first;         /* the options on the first page of --help; NULL: all */
    const char *notes;         /* the end of --help; or NULL */
    const cli_option *options; /* its own rows; ends with a NULL name; or NULL */
    const char *shared;        /* names of its rows in cli_shared_options, between spaces */
    bool both;                 /* `task` is for sounds, `also` for arrays */
    bool reads;                /* its operands are names of files */
    bool distributes;          /* its work is distributed over processes; else the first does it */
    int (*run)(cli_call *call);
} cli_command;

/* The frames of this process: part `rank` of `size`. One of one if frames are not distributed. */
typedef struct cli_part {
    int32_t rank, size;
} cli_part;

/* One call of a command. */
struct cli_call {
    const cli_command *command;
    double began; /* cli_now() when the program started */
    tlnmf_ctx *ctx;
    tlnmf_settings *settings; /* of command->task; NULL if that is NULL */
    tlnmf_settings *also;     /* of command->also; NULL if that is NULL */
    int operand_count;
    const char *operands[CLI_OPERANDS];
    const char *given[CLI_OPTIONS_MAX]; /* the library's options that were given */
    int given_count;
    const char *transform_file; /* --transform FILE; NULL: it is the name of a transform */
    int argc;                   /* the command line, without the program's name */
    char **argv;
    tlnmf_comm *starts, *frames; /* the processes that divide them; NULL: this process has all */
    void *frames_user;
    cli_part part;
    const char *subject; /* the file that the library's warnings are about; or NULL */
    uint64_t said[16];   /* hashes of the last warnings: none is printed twice */
    int said_count;
    struct cli_files *files;
};

extern const cli_command cli_separate, cli_apply, cli_eval, cli_fit, cli_jd, cli_report,
    cli_simulate, cli_reproduce, cli_info;

/* How an array becomes data. A 2-D array is one realisation (M, N). A 3-D array is data (S, M, N)
 * or covariances (N, M, M), as `kind` says: "data", "covariances", or "auto", which tests whether
 * the slices are symmetric. */
typedef struct cli_input {
    const char *spec;
    /* options as given, or NULL */
    const char *kind, *axes, *per_trial, *block_text, *moving_text, *missing, *header, *index;
    const char *dof_text;
    const char *columns, *drop; /* of a text table */
    const char *weights, *mask; /* files of weights, N or (M, N) numbers */
    bool expects_data;          /* prints a message if "auto" finds covariances */
    int64_t block, moving;      /* the values of the texts; 0: not given */
    int64_t dof;                /* of powers */
    tlnmf_record **keep; /* receives the array, which the data then use: free it after the data;
                            NULL: the array is freed */
} cli_input;

/* The values of the options that several commands share; NULL: not given. */
typedef struct cli_shared {
    const char *output, *force, *json, *quiet, *verbose, *explain, *checkpoint, *every, *resume;
    const char *iterate_after, *init_phi, *split, *strict, *rank_reduce;
    const char *labels, *activations, *gain, *format, *no_report, *no_sound;
    cli_input input;
} cli_shared;
extern cli_shared cli_asked;
extern const cli_option cli_shared_options[]; /* ends with a NULL name */

/* ---- arguments (common/arguments.c) ---------------------------------------------------------- */

/* Creates the context and the settings and reads the arguments. Returns false if --help or an error
 * ends the command, with *code set. */
bool cli_begin(cli_call *call, int *code);
/* Prints a word, in quotes if a shell would change it. */
void cli_put_word(FILE *out, const char *word);
/* The command line, quoted for a shell. */
json_t *cli_repeat(const cli_call *call);

/* Checks the number of operands; `what` describes them in the message about a missing one. */
int cli_check_operands(const cli_call *call, int count, const char *what);
/* Whether an option of the library's table was given on the command line. */
bool cli_given(const cli_call *call, const char *name);

/* Reads a whole number from an option's text; `fallback` if `text` is NULL. False with a message.
 */
bool cli_integer(const cli_call *call, const char *name, const char *text, int64_t low,
                 int64_t high, int64_t fallback, int64_t *value);
/* The same for a real number. */
bool cli_number(const cli_command *command, const char *name, const char *text, double low,
                double high, double fallback, double *value);
/* Sets a length in samples from "40ms", "0.04s" or "882". NULL sets nothing. */
int cli_set_length(const cli_call *call, const char *name, const char *text, double rate);

/* ---- help (common/help.c, man.c, complete.c) ------------------------------------------------- */

/* The first page of --help, or with `all` everything. */
void cli_print_help(const cli_command *command, bool all);
/* The man page of a command, or of the program (NULL), in roff. */
void cli_print_man(const cli_command *command_or_null);
void cli_print_man_mpi(void);                    /* the man page of tlnmf-mpi */
const cli_command *cli_command_at(size_t index); /* NULL past the last */
extern const char cli_try[];                     /* the first commands to try */
/* Keeps the first clause of a help text, and the default. */
void cli_shorten(char *help);

/* Files by their extensions: " npy npz .." */
typedef struct cli_file_kind {
    const char *what, *names, *extensions;
} cli_file_kind;
extern const cli_file_kind cli_file_kinds[]; /* ends with a NULL name */
/* Prints what the last of these words of a command line may become. */
void cli_complete(int count, char **word);

/* ---- memory (common/memory_check.c) ---------------------------------------------------------- */

/* Fails if the machine, the container or ulimit does not have this much additional memory. Prints
 * it with -v or on a terminal. */
int cli_check_memory(const cli_call *call, double bytes);
/* Bytes of address space that the threads of BLAS may map, if ulimit -v limits it; else 0
 * (common/blas_memory.c). */
double cli_blas_space(void);

/* ---- checkpoints (common/checkpoint_file.c) -------------------------------------------------- */

/* Checks --checkpoint, --every and --resume. Call it first. `output` may be NULL. */
int cli_checkpoint_check(const cli_call *call, const char *output);
/* The next library calls save finished units. They resume if --resume is given or if calls before
 * them in this command have saved units. */
int cli_checkpoint_begin(const cli_call *call);
/* Call it when the command ends, with its code. A run that is done leaves no checkpoint, unless
 * --max-seconds ended it and --checkpoint or --resume was given. */
void cli_checkpoint_end(const cli_call *call, int code, bool out_of_time);

/* For a command that keeps its own units. The first call adds the units of the checkpoint `path`
 * and of its parts to `all`; the first process writes them into one file. The second call writes
 * the checkpoint of this process. */
int cli_checkpoint_merge(const cli_call *call, const char *path, tlnmf_record *all);
int cli_checkpoint_write(const cli_call *call, const tlnmf_record *state);

/* ---- Ctrl-C (common/interrupt.c) ------------------------------------------------------------- */

/* The first Ctrl-C, SIGTERM or SIGHUP stops the run cleanly. The second removes temporary files and
 * ends the program at once. */
void cli_catch_interrupt(void);
bool cli_interrupted(void); /* whether a signal has come */
/* Between these two calls the second Ctrl-C waits until complete files are in place; the third does
 * not wait. */
void cli_guard_begin(void);
void cli_guard_end(void);
/* Registers a file, or an empty directory of this run, to remove if the second signal ends the
 * program. `path` must stay valid until it is forgotten. */
void cli_remember_temporary(const char *path);
void cli_forget_temporary(const char *path);

/* ---- progress (common/progress_line.c) ------------------------------------------------------- */

/* The tlnmf_progress_fn of all contexts; user is NULL. Draws a line at most ten times a second, and
 * stops the library call after Ctrl-C. */
int cli_progress(const tlnmf_record *progress, void *user);
void cli_progress_clear(void);
/* From here on, reading and compression end with an error when --max-seconds have passed, which
 * cli_read_late() tells. NULL: they may take any time. */
void cli_limit_reading(const cli_call *call_or_null);
bool cli_read_late(void);
/* Sets a function that writes the line. NULL: the line describes the stage. */
typedef void (*cli_describe_fn)(void *user, char *text, size_t size);
void cli_progress_describe(cli_describe_fn describe_or_null, void *user);
double cli_now(void);         /* seconds of a monotonic clock */
bool cli_progress_poll(void); /* for loops outside the library; true after Ctrl-C */

/* ---- files (common/files.c) ------------------------------------------------------------------ */

typedef enum cli_role {
    CLI_READS,  /* an input */
    CLI_WRITES, /* an output: a file, a pipe, a device, or "-" */
    CLI_STAGES, /* an output in a folder that the command fills */
    CLI_FILLS,  /* a folder of outputs; `what` is their input */
    CLI_SAVES,  /* a checkpoint */
    CLI_PRINTS, /* standard output of a command that prints */
} cli_role;

/* The files of a call, each added before the run. */
typedef struct cli_files cli_files;
cli_files *cli_files_create(void);
void cli_files_free(cli_files *files);
/* Adds a file; a NULL name adds nothing. `what` names it in messages: "-o", "--weights", "the
 * page". Fails, even with --force, if the file is in the list already and one of its two uses would
 * destroy the other. Also fails if an output or a checkpoint cannot be written: the directory is
 * missing, there is no permission, or the file exists and --force is not given. */
int cli_file_add(const cli_call *call, cli_role role, const char *what, const char *spec_or_null);
/* The file of `data.h5:/Y` or `data.mat:Y`: the part before the last colon, unless the whole text
 * is the name of a file. */
const char *cli_file_of(const char *spec, char file[CLI_PATH]);
const char *cli_extension(const char *path, char text[16]); /* ".h5" in lower case; "": none */
/* Adds the outputs that options with CLI_FILE_OUT name. cli_begin() adds the inputs. */
int cli_add_outputs(const cli_call *call);
/* Checks the extension of a model and --json, then adds its file; NULL adds nothing. */
int cli_check_model_output(const cli_call *call, const char *output);

/* Whether the file is an input or the checkpoint. */
bool cli_is_input(const cli_call *call, const char *path);
/* Whether a checked output may no longer be written: another process has created it since, without
 * --force, or it has become a link to an input. */
bool cli_is_taken(const cli_call *call, const char *output);
/* Locks the folder of a file until the descriptor is closed: meanwhile no other process of this
 * program takes a free name there. -1: the file system has no locks. Waits ten seconds at most. */
int cli_lock_folder(const char *path);

/* Reserves disk space for a model of these data; `output` may be NULL. Release it before the model
 * is written. */
int cli_reserve_model(const cli_call *call, const char *output, const tlnmf_data *data, int64_t K,
                      tlnmf_io_reservation **reserved);
/* The output of a run that was cancelled: NAME.partial.h5 for NAME.h5, or NAME.partial-2.h5, .. if
 * that exists. Standard output, devices and pipes are returned unchanged. NULL: no name is free. */
const char *cli_partial_path(const char *output, char path[CLI_PATH]);

/* ---- options (common/options.c) -------------------------------------------------------------- */

typedef struct cli_option_text {
    char name[64];      /* with its dashes */
    char argument[128]; /* "" for an option without value */
    char help[512];     /* with the default in brackets */
    cli_group group;
    bool first; /* on the first page */
} cli_option_text;
/* Option number `index` of a command. Its own options come first, then the options of its tasks,
 * then the shared ones. False past the last. */
bool cli_option_at(const cli_command *command, size_t index, cli_option_text *text);
const char *cli_group_name(cli_group group);
/* Whether `word` is one of `words`, a text such as " o force json " or NULL. */
bool cli_has_word(const char *words, const char *word);
/* The row of an option that the command has; or NULL. */
const cli_option *cli_find_option(const cli_command *command, const char *name);
/* The first of the command's tasks that has the option; or NULL. */
const char *cli_find_setting(const cli_command *command, const char *name);
/* The option with the name nearest to a wrong one, with its dashes; false: none is near. */
bool cli_nearest_option(const cli_command *command, const char *typed, char *nearest, size_t size);

/* ---- messages (common/messages.c) ------------------------------------------------------------ */

/* Prints `tlnmf COMMAND: message` on stderr and returns the code. */
int cli_fail(const cli_command *command, exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with "warning: " before the message; nothing with -q. */
void cli_warn(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints a decision of the program on stderr; nothing with -q. */
void cli_say(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints the message of an error of the library and returns its exit code. `file` is printed before
 * the message, unless it is NULL: the message may name the file itself. */
int cli_fail_library(const cli_call *call, tlnmf_error error, const char *file);
/* The same, but EXIT_DONE for TLNMF_OK. */
int cli_check(const cli_call *call, tlnmf_error error, const char *file);
exit_code cli_code_of(tlnmf_error error);

/* ---- foreign text (common/plain_text.c) ------------------------------------------------------ */

const char *cli_plural(int64_t count); /* "s", or "" if the count is 1 */
/* Prints text from files, and file names. Control characters, direction overrides and invalid UTF-8
 * become escapes (\x1b, \u202e). */
void cli_put(FILE *out, const char *text);
/* Prints words in lines of at most 100 columns. The first begins at column `at`, the others at
 * `indent`. */
void cli_put_wrapped(FILE *out, const char *text, int at, int indent);

/* ---- JSON (common/json.c) -------------------------------------------------------------------- */

void cli_print_json(const json_t *object);
char *cli_json_text(const json_t *object); /* as cli_print_json prints it; free() it */
json_t *cli_real(double x);                /* null if it is not finite */
json_t *cli_text(const char *text);        /* a JSON string even if it is not UTF-8 */
/* The value of an option of the library's table. */
json_t *cli_option_json(const tlnmf_settings *settings, const char *task, const char *name);
/* Adds values of a record under their names, a text such as "C L I"; null if they are missing. */
void cli_put_values(json_t *object, const tlnmf_record *record, const char *names);
/* Adds all numbers and texts of a record whose names have no dot. */
void cli_put_scalars(json_t *object, const tlnmf_record *record);
/* Arrays of a record as a list of objects, one per row. `columns` is a text such as "k# C", where #
 * marks whole numbers; the name of an array is the prefix and the column. */
json_t *cli_rows(const tlnmf_record *record, const char *prefix, const char *columns);
/* The beginning of every summary: version, command, BLAS. */
json_t *cli_summary(const cli_call *call);
/* Stores the summary in a model. */
tlnmf_error cli_put_summary(const cli_call *call, tlnmf_record *model, const json_t *summary);
/* Returns the seconds of a run for an output: `value`, or 0 if the environment has
 * SOURCE_DATE_EPOCH, because reproducible outputs must not depend on the clock. */
double cli_seconds(double value);

/* ---- processes (common/processes.c) ---------------------------------------------------------- */

/* The processes that run this command together: MPI_COMM_WORLD of tlnmf-mpi, a single process in
 * tlnmf. Only the first prints and writes. */
typedef struct cli_processes {
    int32_t size, rank;
    int32_t node_rank; /* among the processes of this node */
    tlnmf_sum_fn sum;
    tlnmf_broadcast_fn broadcast;
    void *user;
    /* A group of the processes that give the same `group`, ordered by rank. Returns its `user`,
     * or NULL on failure. */
    void *(*split)(int32_t group);
} cli_processes;
extern cli_processes cli_world;
/* The first call finds the other processes and fills in cli_world. It returns false with *code set
 * if it fails. The second call waits for the other processes. single_process.c implements both for
 * tlnmf, mpi/mpi_processes.c for tlnmf-mpi. */
bool cli_processes_begin(int *argc, char ***argv, int *code);
void cli_processes_end(int code);

bool cli_is_first(void);
/* Distributes the work of the call as --split says: "starts" (also NULL), "frames", "frames:8". */
int cli_distribute(cli_call *call, const char *split);
/* The index of the first frame of a part. Groups of `whole` consecutive frames are not divided. For
 * part rank + 1 it is the index after the last frame of part rank. */
int64_t cli_part_first(cli_part part, int64_t N, int64_t whole);
/* Returns the code of the first process that failed, or EXIT_DONE. The first process prints the
 * message. All processes call this at the same places. */
int cli_agree(int code);
/* Remembers a message for cli_agree(). */
void cli_keep_message(const char *line);

/* ---- H of all processes (common/gather_H.c) -------------------------------------------------- */

/* If frames are distributed, sends H row by row to the first process. NULL: this process does not
 * take part. */
typedef struct cli_pieces cli_pieces; /* free() it if no row is sent */
int cli_pieces_begin(const cli_call *call, const tlnmf_record *model, cli_pieces **out);
/* Sends the remaining rows, so that all processes end together even if the first failed. */
void cli_pieces_end(cli_pieces *pieces);
/* Writes a model, with the H of all processes. */
tlnmf_error cli_write_model(const cli_call *call, const char *path, const tlnmf_record *model,
                            cli_pieces *pieces);

#endif
