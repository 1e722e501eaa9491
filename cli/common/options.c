/* The options of the commands: options that several commands share, groups of the library's
 * options, and the list of all options for parsing, --help and the man pages. */
#include "cli/cli.h"

#include <string.h>

cli_shared cli_asked;

#define IN         GROUP_INPUT
#define ARRAYS     (CLI_FOR_ARRAYS | CLI_RECORDED)
#define ARRAY_FILE (CLI_FOR_ARRAYS | CLI_RECORDED | CLI_FILE_IN)

const cli_option cli_shared_options[] = {
    {"input", "data|covariances|power|auto",
     "contents of the array; data: (S, M, N); covariances: (N, M, M); power: a power spectrogram V "
     "(M, N); auto: covariances if every slice is symmetric, data otherwise; slices that are "
     "nearly symmetric are refused [auto]",
     &cli_asked.input.kind, IN, ARRAYS},
    {"dof", "INT",
     "with --input power: degrees of freedom of each power; use 2 for |STFT|^2, 1 for squares of "
     "real coefficients, 2 n for means of n periodograms [2, or the model's]",
     &cli_asked.input.dof_text, IN, ARRAYS},
    {"axes", "A,B,C",
     "names of the axes, in the order of the array; trials (or epochs, realisations), channels (or "
     "sensors, length), time (or times, frames) [trials,channels,time]",
     &cli_asked.input.axes, IN, ARRAYS},
    {"per-trial", NULL,
     "treat the frames of each trial as separate frames (S N frames); without it, trials are "
     "realisations",
     &cli_asked.input.per_trial, IN, ARRAYS},
    {"block", "INT", "treat every INT consecutive frames as realisations of a single frame",
     &cli_asked.input.block_text, IN, ARRAYS},
    {"moving", "INT", "treat the INT frames around each frame as realisations of it",
     &cli_asked.input.moving_text, IN, ARRAYS},
    {"missing", NULL,
     "skip frames of a realisation that have a NaN or, in text tables, an empty cell, NA, n/a or "
     "null; with --input power, ignore only these entries",
     &cli_asked.input.missing, IN, ARRAYS},
    {"weights", "FILE", "weights of the N frames; only their ratios matter",
     &cli_asked.input.weights, IN, ARRAY_FILE},
    {"mask", "FILE",
     "weights of the M x N entries of V, with a fixed Phi only; 0 omits an entry, 1 counts it",
     &cli_asked.input.mask, IN, ARRAY_FILE},
    {"header", "yes|no|auto",
     "text tables: skip the first line as a header; auto: skip it if all its cells are words, or "
     "are 0, 1, 2, "
     ".. [auto]",
     &cli_asked.input.header, IN, ARRAYS},
    {"index", "yes|no|auto",
     "text tables: skip the first column as an index; auto: skip it if it has words, or its name "
     "is index, id or empty [auto]",
     &cli_asked.input.index, IN, ARRAYS},
    {"columns", "NAME,..",
     "text tables: read only these columns, in the order of the file; names of the header, or "
     "numbers from 1; * is all",
     &cli_asked.input.columns, IN, ARRAYS},
    {"drop", "NAME,..",
     "text tables: omit these columns; tables with a column such as time, Time (s), label, class "
     "or subject require it, or --columns",
     &cli_asked.input.drop, IN, ARRAYS},
    {"labels", "FILE", "Audacity label track (when each source sounds)", &cli_asked.labels, IN,
     CLI_FOR_SOUNDS | CLI_FILE_IN},
    {"init-phi", "FILE", "start from this Phi (M, M); with --method nmf, keep it",
     &cli_asked.init_phi, GROUP_MODEL, CLI_RECORDED | CLI_FILE_IN},
    {"o", "FILE", "write the output here; - is standard output", &cli_asked.output, GROUP_OUTPUT,
     0},
    {"force", NULL, "replace outputs that exist", &cli_asked.force, GROUP_OUTPUT, 0},
    {"format", "wav|flac|w64", "format of the stems [wav]", &cli_asked.format, GROUP_OUTPUT,
     CLI_FOR_SOUNDS},
    {"gain", "none|safe", "safe: scale all stems alike so that none is clipped [none]",
     &cli_asked.gain, GROUP_OUTPUT, CLI_FOR_SOUNDS},
    {"activations", "labels|midi", "also write when each source sounds", &cli_asked.activations,
     GROUP_OUTPUT, CLI_FOR_SOUNDS},
    {"no-report", NULL, "do not write the page report.html", &cli_asked.no_report, GROUP_OUTPUT,
     CLI_FOR_SOUNDS},
    {"no-sound", NULL, "omit sound from the page", &cli_asked.no_sound, GROUP_OUTPUT,
     CLI_FOR_SOUNDS},
    {"json", NULL, "print one JSON object on standard output", &cli_asked.json, GROUP_OUTPUT, 0},
    {"explain", NULL, "also explain the lines of the summary; no input is needed",
     &cli_asked.explain, GROUP_OUTPUT, CLI_FOR_ARRAYS},
    {"strict", NULL, "exit with code 4 unless the run converged", &cli_asked.strict, GROUP_RUN, 0},
    {"checkpoint", "FILE", "save the state of the run here [OUTPUT.checkpoint]",
     &cli_asked.checkpoint, GROUP_RUN, 0},
    {"every", "SECONDS",
     "seconds between checkpoints; longer if saving would take over 1 % of the time [60]",
     &cli_asked.every, GROUP_RUN, 0},
    {"iterate-after", "SECONDS",
     "a start that has run this long also saves its iterate, and continues from it [600]",
     &cli_asked.iterate_after, GROUP_RUN, 0},
    {"resume", NULL, "continue from the checkpoint of an earlier run; the command must be the same",
     &cli_asked.resume, GROUP_RUN, 0},
    {"split", "HOW",
     "how tlnmf-mpi distributes the work; starts; frames; or frames:G: groups of G processes "
     "divide the frames, and the groups divide the starts [starts]",
     &cli_asked.split, GROUP_RUN, 0},
    {"q", NULL, "no progress and no warnings", &cli_asked.quiet, GROUP_RUN, 0},
    {"v", NULL, "print more details", &cli_asked.verbose, GROUP_RUN, 0},
    {0},
};

/* The groups of the library's options. */
static const struct {
    cli_group group;
    const char *names;
} groups[] = {
    {GROUP_MODEL, " k method transform eps eps-rel gamma whiten per-source frame hop shifts window "
                  "taper beta release unlabelled learn-below s m n kbar seed-truth seed-data "},
    {GROUP_SEARCH, " starts hops seed J tol grad-tol continuation certify "
                   "eps-check iterations learn-frames "},
    {GROUP_OUTPUT,
     " trace trace-all keep-x keep-v keep-h components residual no-sound atoms rate "},
    {GROUP_RUN, " max-seconds threads device precision "},
    {GROUP_PAPER, " solver j-tl j-nmf halvings exchange handover stream "},
    {GROUP_SCORES, " filter images framewise framewise-hop permute "},
};

const char *cli_group_name(cli_group group)
{
    static const char *const names[] = {
        [GROUP_INPUT] = "Input",      [GROUP_MODEL] = "Model",   [GROUP_SCORES] = "Scores",
        [GROUP_SEARCH] = "Search",    [GROUP_OUTPUT] = "Output", [GROUP_RUN] = "Run control",
        [GROUP_PAPER] = "Paper mode", [GROUP_OTHER] = "Other"};
    return names[group];
}

bool cli_has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; length > 0 && at && (at = strstr(at, word)) != NULL; at++)
        if (at > words && at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

/* ---- one option by name ---------------------------------------------------------------------- */

static const cli_option *find_in(const cli_option *row, const char *name)
{
    for (; row != NULL && row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

const cli_option *cli_find_option(const cli_command *command, const char *name)
{
    const cli_option *row = find_in(command->options, name);
    if (row == NULL && cli_has_word(command->shared, name))
        row = find_in(cli_shared_options, name);
    return row;
}

/* Whether the command has this option of its task. */
static bool has_setting(const cli_command *command, const char *task, const char *name)
{
    return task != NULL && tlnmf_option_kind_of(task, name) != TLNMF_OPTION_UNKNOWN &&
           (command->only == NULL || cli_has_word(command->only, name)) &&
           !cli_has_word(command->without, name);
}

const char *cli_find_setting(const cli_command *command, const char *name)
{
    if (has_setting(command, command->task, name))
        return command->task;
    return has_setting(command, command->also, name) ? command->also : NULL;
}

static cli_group group_of(const char *name)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (cli_has_word(groups[i].names, name))
            return groups[i].group;
    return GROUP_OTHER;
}

/* ---- all options of a command ---------------------------------------------------------------- */

/* The program extends some help texts of the library. */
static const char *addition(const char *task, const char *name)
{
    bool searches = task != NULL && (strcmp(task, "fit") == 0 || strcmp(task, "jd") == 0);
    return searches && strcmp(name, "transform") == 0 ? "; or a FILE that holds Phi" : "";
}

/* "(sounds) " or "(arrays) " if an option of `apply` is only for that kind of input. */
static const char *mark_of(const cli_command *command, const cli_option *row, const char *name)
{
    if (command->also == NULL || !command->both)
        return "";
    bool sounds =
        row != NULL ? (row->use & CLI_FOR_SOUNDS) != 0 : !has_setting(command, command->also, name);
    bool arrays =
        row != NULL ? (row->use & CLI_FOR_ARRAYS) != 0 : !has_setting(command, command->task, name);
    return sounds ? "(sounds) " : arrays ? "(arrays) " : "";
}

/* Describes an option of the program (`row`), of the library (`task`), or of both. */
static void describe(const cli_command *command, const cli_option *row, const char *task,
                     const char *name, cli_option_text *text)
{
    static const char *const kinds[] = {
        [TLNMF_OPTION_INTEGER] = "INT",
        [TLNMF_OPTION_SEED] = "INT",
        [TLNMF_OPTION_REAL] = "REAL",
        [TLNMF_OPTION_FLAG] = "",
    };
    char value[64];
    bool own = row != NULL && row->help != NULL;
    const char *choices = own ? "" : tlnmf_option_choices(task, name);
    const char *help = own ? row->help : tlnmf_option_help(task, name), *argument = "",
               *fallback = "";
    tlnmf_option_kind kind = own ? TLNMF_OPTION_FLAG : tlnmf_option_kind_of(task, name);
    if (!own && kind != TLNMF_OPTION_FLAG)
        fallback = tlnmf_option_default(task, name, value, sizeof value);
    if (!own && task != NULL && strcmp(task, "fit") == 0 && strcmp(name, "starts") == 0)
        fallback = "auto if M M + (M + N) K <= 500 (with a fixed transform: (M + N) K), else 1";
    if (strcmp(name, "threads") == 0)
        fallback = "all cores";
    if (row != NULL)
        argument = row->argument == NULL ? "" : row->argument;
    else
        argument = kind == TLNMF_OPTION_CHOICE ? choices : kinds[kind];
    bool has_default = fallback != NULL && fallback[0] != '\0';
    snprintf(text->name, sizeof text->name, "%s%s", strlen(name) == 1 ? "-" : "--", name);
    bool has_word = row == NULL && kind == TLNMF_OPTION_INTEGER && choices[0] != '\0';
    snprintf(text->argument, sizeof text->argument, "%s%s%s", argument, has_word ? "|" : "",
             has_word ? choices : "");
    snprintf(text->help, sizeof text->help, "%s%s%s%s%s%s", mark_of(command, row, name), help,
             own ? "" : addition(task, name), has_default ? " [" : "", has_default ? fallback : "",
             has_default ? "]" : "");
    text->group = own ? row->group : group_of(name);
    text->first = command->first == NULL || cli_has_word(command->first, name);
}

/* Describes row *index of the command. If there are fewer rows, subtracts their number from *index.
 * Skips rows without a help text: setting_at() describes them. */
static bool row_at(const cli_command *command, const cli_option *row, size_t *index,
                   cli_option_text *text)
{
    for (; row != NULL && row->name != NULL; row++)
        if (row->help != NULL && cli_find_option(command, row->name) == row && (*index)-- == 0) {
            describe(command, row, NULL, row->name, text);
            return true;
        }
    return false;
}

/* The same for the options of a task. */
static bool setting_at(const cli_command *command, const char *task, size_t *index,
                       cli_option_text *text)
{
    const char *name;
    for (size_t i = 0; task != NULL && (name = tlnmf_option_name(task, i)) != NULL; i++) {
        const cli_option *row = cli_find_option(command, name);
        bool is_first = cli_find_setting(command, name) == task; /* not in an earlier task */
        if (!is_first || (row != NULL && row->help != NULL) || (*index)-- > 0)
            continue;
        describe(command, row, task, name, text);
        return true;
    }
    return false;
}

bool cli_option_at(const cli_command *command, size_t index, cli_option_text *text)
{
    return row_at(command, command->options, &index, text) ||
           setting_at(command, command->task, &index, text) ||
           setting_at(command, command->also, &index, text) ||
           row_at(command, cli_shared_options, &index, text);
}

/* ---- nearest names --------------------------------------------------------------------------- */

/* Other names of options, and names of earlier versions. tlnmf_nearest() knows the synonyms of the
 * library's options. */
static const struct {
    const char *typed, *option, *note;
} synonyms[] = {
    {"sources", "k", ""},
    {"max-iter", "iterations", ""},
    {"time", "max-seconds", ""},
    {"gpu", "device", " gpu"},
    {"output", "o", ""},
    {"out", "o", ""},
    {"overwrite", "force", ""},
    {"quiet", "q", ""},
    {"verbose", "v", ""},
    {"sample-rate", "rate", ""},
    {"learn-columns", "learn-frames", ""},
    {"rate", "learn-below", " with half of the value"},
    {"keep", "residual", ""},
};

bool cli_nearest_option(const cli_command *command, const char *typed, char *nearest, size_t size)
{
    enum { MOST = 128 }; /* options of a command */
    cli_option_text text;
    char copy[MOST][32];
    const char *names[MOST], *name = NULL, *note = "";
    size_t count = 0;
    for (; count < MOST && cli_option_at(command, count, &text); count++) {
        snprintf(copy[count], sizeof copy[count], "%s", text.name + strspn(text.name, "-"));
        names[count] = copy[count];
    }
    for (size_t i = 0; name == NULL && i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(typed, synonyms[i].typed) == 0 &&
            (cli_find_option(command, synonyms[i].option) != NULL ||
             cli_find_setting(command, synonyms[i].option) != NULL)) {
            name = synonyms[i].option;
            note = synonyms[i].note;
        }
    if (name == NULL)
        name = tlnmf_nearest(typed, names, count);
    if (name != NULL)
        snprintf(nearest, size, "%s%s%s", strlen(name) == 1 ? "-" : "--", name, note);
    return name != NULL;
}
