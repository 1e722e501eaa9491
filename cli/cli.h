/* The program: commands, their options, what they print. Signals and printing live here only. */
#ifndef TLNMF_CLI_CLI_H
#define TLNMF_CLI_CLI_H

#include "io/io.h"
#include "tlnmf/tlnmf.h"

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

enum { CLI_LIST = 64 };

/* An option of the program's own, beside those of the library's table. */
typedef struct cli_option {
    const char *name;     /* --name, or -n when it is one letter */
    const char *argument; /* what --help calls its value; NULL: it takes none */
    const char *help;
    const char **value; /* receives the text, "" for an option without value; an option with several
                           (its argument ends in "...") has CLI_LIST + 1 of them, the last NULL */
} cli_option;

typedef struct cli_command {
    const char *name, *usage, *purpose, *examples;
    const char *takes; /* the library's and the common options that it has, between spaces */
    int (*run)(int argc, char **argv);
} cli_command;

/* What one call of a command works with. */
typedef struct cli_call {
    const cli_command *command;
    const cli_option *options;
    size_t option_count;
    tlnmf_ctx *ctx;
    tlnmf_settings settings;
    int operand_count;
    const char *operands[8];
    const char *transform_file; /* --transform with something that is not a name */
    int64_t block, moving;      /* neighbouring frames as realisations; 0: not asked for */
} cli_call;

extern const cli_command cli_separate, cli_apply, cli_eval, cli_fit, cli_jd, cli_simulate,
    cli_reproduce, cli_info;

/* The options that every command has. */
typedef struct cli_common {
    const char *output, *json, *quiet, *verbose;
} cli_common;
extern cli_common cli_common_values;

/* ---- arguments (arguments.c) ----------------------------------------------------------------- */

/* Creates the context and reads the arguments. Returns false when the command is over, with *code
 * set:
 * --help, or a mistake that has been reported. cli_end() frees what there is in either case. */
bool cli_begin(cli_call *call, const cli_command *command, const cli_option *options,
               size_t option_count, int argc, char **argv, int *code);
void cli_end(cli_call *call);

/* Prints `tlnmf COMMAND: message` on stderr and returns the code. */
int cli_fail(const cli_command *command, exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with "warning: " before the message; nothing with -q. */
void cli_warn(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int cli_fail_io(const cli_command *command, const io_error *err);
/* For an error of the library; `file` names what was being worked on, or NULL. */
int cli_fail_library(const cli_call *call, tlnmf_error error, const char *file);

/* A whole number from an option's text, or from `fallback` when it was not given. */
bool cli_integer(const cli_call *call, const char *name, const char *text, int64_t low,
                 int64_t high, int64_t fallback, int64_t *value);

/* The same for a real number. */
bool cli_number(const cli_command *command, const char *name, const char *text, double low,
                double high, double fallback, double *value);

/* Fails early when an output could not be written: no directory, no permission. NULL is fine. */
int cli_check_output(const cli_command *command, const char *path);
/* What is wrong with -o and the way the data are said to be; for commands that write a model. The
 * model must not replace the data it comes from. */
int cli_check_model(const cli_call *call, const char *model, const char *input_kind,
                    const char *init_phi);

/* ---- data (data.c) --------------------------------------------------------------------------- */

/* Reads an array and turns it into data: 2-D is one realisation, 3-D is (S, M, N), or covariances
 * (N, M, M) if `kind` says so: "data", "covariances", or "auto" by whether the slices are
 * symmetric. */
int cli_read_data(cli_call *call, const char *spec, const char *kind, tlnmf_data **out);

/* Reads a matrix of the given shape, e.g. a start; `name` is what it is for. */
int cli_read_matrix(cli_call *call, const char *spec, const char *name, int64_t rows,
                    int64_t columns, io_array *out);

/* ---- memory (memory.c) ----------------------------------------------------------------------- */

/* Says how much memory will be taken beside what is held already, with -v or on a terminal; fails
 * if the machine, the container or ulimit does not have it. */
int cli_check_memory(const cli_call *call, double bytes);
/* The same for a fit of the data with the call's settings. */
int cli_check_fit_memory(const cli_call *call, const tlnmf_data *data);
const char *cli_bytes(double bytes, char *text, size_t size); /* "1.2 GB" */

/* ---- progress and Ctrl-C (progress.c) -------------------------------------------------------- */

/* Ctrl-C once: stop cleanly; twice: at once. */
void cli_catch_interrupt(void);
int cli_progress(const tlnmf_progress *progress, void *user); /* a tlnmf_callback; user is NULL */
int cli_sound_progress(const tlnmf_progress *progress, void *user); /* the same for a separation */
void cli_progress_clear(void);
bool cli_interrupted(void);               /* whether Ctrl-C or SIGTERM has come */
void cli_progress_show(const char *text); /* a line of one's own, at most ten times a second */

/* ---- results (summary.c) --------------------------------------------------------------------- */

typedef struct cli_result {
    const char *input, *model; /* file names; model is NULL when none is written */
    const tlnmf_data *data;
    const tlnmf_result *result;
    tlnmf_atom *atoms;
    int64_t atom_count;
    double rate;
    bool with_trace;
    const char *kind, *init_phi, *init_w, *init_h, *weights, *block,
        *moving; /* as given, for the record; may be NULL */
} cli_result;

json_t *cli_summary(const cli_call *call, const cli_result *r); /* NULL: no memory */
void cli_print_summary(FILE *out, const cli_call *call, const cli_result *r);
/* Writes the model and prints the summary; returns the exit code. */
int cli_finish(const cli_call *call, const cli_result *r, bool strict);
bool cli_print_json(const json_t *object);
json_t *cli_seed(uint64_t seed);    /* a string where an integer cannot hold it */
json_t *cli_real(double x);         /* null where it is not finite */
json_t *cli_text(const char *text); /* a JSON string even if it is not UTF-8 */

#endif
