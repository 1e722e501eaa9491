/* Reads the command line: the library's options and the program's options. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The words of the command line, and the index of the next one. */
typedef struct words {
    int count, next;
    char **word;
} words;

/* One option of the command line. */
typedef struct given {
    char name[64];
    const char *dash;  /* "--" or "-" */
    const char *value; /* after `=`, or right after a short name; NULL: none so far */
} given;

/* ---- the library's options ------------------------------------------------------------------- */

bool cli_given(const cli_call *call, const char *name)
{
    for (int i = 0; i < call->given_count; i++)
        if (strcmp(call->given[i], name) == 0)
            return true;
    return false;
}

/* The library's copy of the name, which stays valid. */
static const char *lasting_name(const char *task, const char *name)
{
    const char *known;
    for (size_t i = 0; (known = tlnmf_option_name(task, i)) != NULL; i++)
        if (strcmp(known, name) == 0)
            break;
    return known;
}

/* Sets the option in the settings of all tasks that have it. */
static bool set_setting(cli_call *call, const char *name, const char *value, int *code)
{
    const char *const tasks[] = {call->command->task, call->command->also};
    tlnmf_settings *const settings[] = {call->settings, call->also};
    tlnmf_error error = TLNMF_OK;
    for (int i = 0; error == TLNMF_OK && i < 2; i++)
        if (tasks[i] != NULL && tlnmf_option_kind_of(tasks[i], name) != TLNMF_OPTION_UNKNOWN)
            error = tlnmf_settings_set_text(call->ctx, settings[i], name, value);
    if (error != TLNMF_OK && strcmp(name, "transform") == 0 && strpbrk(value, "./:") != NULL) {
        call->transform_file = value; /* not the name of a transform, but of a file */
        return true;
    }
    if (error != TLNMF_OK)
        *code = cli_fail_library(call, error, NULL);
    else if (!cli_given(call, name) && call->given_count < CLI_OPTIONS_MAX)
        call->given[call->given_count++] =
            lasting_name(cli_find_setting(call->command, name), name);
    return error == TLNMF_OK;
}

/* ---- the program's options ------------------------------------------------------------------- */

static bool is_list(const cli_option *option)
{
    size_t length = option->argument == NULL ? 0 : strlen(option->argument);
    return length > 3 && strcmp(option->argument + length - 3, "...") == 0;
}

/* Takes the value after `=`, or the words up to the next option. The option may be repeated. */
static bool take_list(cli_call *call, words *w, const cli_option *option, const char *value,
                      int *code)
{
    int count = 0, before;
    while (option->value[count] != NULL)
        count++;
    before = count;
    while (count < CLI_LIST) {
        if (value == NULL && w->next < w->count &&
            (w->word[w->next][0] != '-' || w->word[w->next][1] == '\0'))
            value = w->word[w->next++];
        if (value == NULL)
            break;
        option->value[count++] = value;
        value = NULL;
    }
    if (count == before || count == CLI_LIST)
        *code = cli_fail(call->command, EXIT_USAGE, "--%s %s", option->name,
                         count == before ? "needs a value" : "has too many values");
    return count > before && count < CLI_LIST;
}

/* "a|b|c" is a choice of words; "INT|auto" is not. */
static bool is_choices(const char *argument)
{
    return strchr(argument, '|') != NULL && argument[0] >= 'a';
}

/* Whether `value` is one of the words of "a|b|c". */
static bool is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    const char *at = choices;
    for (; at != NULL; at = strchr(at, '|'), at = at == NULL ? NULL : at + 1)
        if (strcspn(at, "|") == length && strncmp(at, value, length) == 0)
            return true;
    return false;
}

static bool set_own(cli_call *call, const cli_option *own, const char *value, int *code)
{
    if (value != NULL && is_choices(own->argument) && !is_choice(own->argument, value)) {
        *code = cli_fail(call->command, EXIT_USAGE, "%s = %s is not one of %s", own->name, value,
                         own->argument);
        return false;
    }
    *own->value = value == NULL ? "" : value;
    return true;
}

/* ---- words ----------------------------------------------------------------------------------- */

static int fail_unknown(const cli_command *command, const given *g)
{
    char nearest[128];
    if (cli_nearest_option(command, g->name, nearest, sizeof nearest))
        return cli_fail(command, EXIT_USAGE, "unknown option %s%s; did you mean %s?", g->dash,
                        g->name, nearest);
    return cli_fail(command, EXIT_USAGE, "unknown option %s%s (see tlnmf %s --help all)", g->dash,
                    g->name, command->name);
}

/* Takes one option; `text` follows the dashes: NAME or NAME=VALUE. */
static bool take_option(cli_call *call, words *w, const char *text, bool is_long, int *code)
{
    const cli_command *command = call->command;
    size_t length = strcspn(text, "=");
    given g = {.dash = is_long ? "--" : "-",
               .value = text[length] == '=' ? text + length + 1 : NULL};
    snprintf(g.name, sizeof g.name, "%.*s", (int)length, text);
    if (!is_long && length > 1) { /* -k5 */
        g.name[1] = '\0';
        g.value = text + 1;
    }
    const cli_option *own = cli_find_option(command, g.name);
    const char *task = own == NULL ? cli_find_setting(command, g.name) : NULL;
    if (own == NULL && task == NULL) {
        *code = fail_unknown(command, &g);
        return false;
    }
    if (own != NULL && is_list(own))
        return take_list(call, w, own, g.value, code);
    bool wants_value = own != NULL ? own->argument != NULL
                                   : tlnmf_option_kind_of(task, g.name) != TLNMF_OPTION_FLAG;
    if (wants_value && g.value == NULL && w->next < w->count)
        g.value = w->word[w->next++];
    if (wants_value != (g.value != NULL)) {
        *code = cli_fail(command, EXIT_USAGE, "%s%s %s", g.dash, g.name,
                         wants_value ? "needs a value" : "takes no value");
        return false;
    }
    return own != NULL ? set_own(call, own, g.value, code)
                       : set_setting(call, g.name, g.value == NULL ? "1" : g.value, code);
}

static bool take_word(cli_call *call, words *w, bool *only_operands, int *code)
{
    const char *word = w->word[w->next++];
    if (!*only_operands && strcmp(word, "--") == 0) {
        *only_operands = true;
        return true;
    }
    if (!*only_operands && strncmp(word, "--", 2) == 0)
        return take_option(call, w, word + 2, true, code);
    if (!*only_operands && word[0] == '-' && word[1] != '\0')
        return take_option(call, w, word + 1, false, code);
    if (call->operand_count == (int)(sizeof call->operands / sizeof *call->operands)) {
        *code = cli_fail(call->command, EXIT_USAGE, "too many operands: %s", word);
        return false;
    }
    call->operands[call->operand_count++] = word;
    return true;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Whether the run has printed this warning before: a comparison of several k and the fit that
 * follows log the same ones. */
static bool is_known(cli_call *call, const char *message)
{
    enum { MOST = sizeof call->said / sizeof *call->said };
    uint64_t h = 5381; /* djb2 */
    for (const char *s = call->subject != NULL ? call->subject : ""; *s != '\0'; s++)
        h = h * 33 + (unsigned char)*s;
    for (const char *s = message; *s != '\0'; s++)
        h = h * 33 + (unsigned char)*s;
    for (int i = 0; i < call->said_count && i < MOST; i++)
        if (call->said[i] == h)
            return true;
    call->said[call->said_count++ % MOST] = h;
    return false;
}

static void print_log(tlnmf_log_level level, const char *message, void *user)
{
    cli_call *call = user;
    if (cli_asked.quiet != NULL || (level == TLNMF_LOG_INFO && cli_asked.verbose == NULL))
        return;
    if (level == TLNMF_LOG_WARNING && is_known(call, message))
        return;
    cli_progress_clear();
    fprintf(stderr, "tlnmf %s: %s", call->command->name,
            level == TLNMF_LOG_WARNING ? "warning: " : "");
    cli_put(stderr, call->subject ? call->subject : "");
    fputs(call->subject ? ": " : "", stderr);
    cli_put(stderr, message);
    fputc('\n', stderr);
}

/* Creates the context, and settings with the defaults of the command's tasks. */
static bool create(cli_call *call)
{
    const cli_command *command = call->command;
    call->files = cli_files_create();
    if (call->files == NULL || tlnmf_ctx_create(&call->ctx) != TLNMF_OK)
        return false;
    tlnmf_ctx_set_log(call->ctx, print_log, call);
    tlnmf_ctx_set_progress(call->ctx, cli_progress, NULL);
    tlnmf_ctx_set_threads(call->ctx, tlnmf_io_cores());
    if (command->task != NULL &&
        tlnmf_settings_create(call->ctx, command->task, &call->settings) != TLNMF_OK)
        return false;
    return command->also == NULL ||
           tlnmf_settings_create(call->ctx, command->also, &call->also) == TLNMF_OK;
}

/* Calls without settings, such as the compression of data, also use --threads. */
static void respect_threads(const cli_call *call)
{
    int64_t threads =
        call->settings != NULL ? tlnmf_settings_get_integer(call->settings, "threads") : 0;
    if (threads > 0)
        tlnmf_ctx_set_threads(call->ctx, (int32_t)threads);
}

/* Adds the files of the options with this use. */
static int add_files(const cli_call *call, unsigned use, cli_role role)
{
    const cli_option *const tables[] = {call->command->options, cli_shared_options};
    int code = EXIT_DONE;
    for (int t = 0; t < 2; t++)
        for (const cli_option *row = tables[t]; row != NULL && row->name != NULL; row++) {
            int count = !(row->use & use) ? 0 : is_list(row) ? CLI_LIST : 1;
            char name[64];
            snprintf(name, sizeof name, "--%s", row->name);
            for (int i = 0; code == EXIT_DONE && i < count && row->value[i] != NULL; i++)
                code = cli_file_add(call, role, name, row->value[i]);
        }
    return code;
}

int cli_add_outputs(const cli_call *call)
{
    return add_files(call, CLI_FILE_OUT, CLI_WRITES);
}

/* Adds the inputs on the command line, and standard output. */
static int add_inputs(const cli_call *call)
{
    int code = cli_file_add(call, CLI_PRINTS, "standard output", "standard output");
    for (int i = 0; code == EXIT_DONE && call->command->reads && i < call->operand_count; i++)
        code = cli_file_add(call, CLI_READS, "the input", call->operands[i]);
    if (code == EXIT_DONE)
        code = cli_file_add(call, CLI_READS, "--transform", call->transform_file);
    return code == EXIT_DONE ? add_files(call, CLI_FILE_IN, CLI_READS) : code;
}

/* Whether --help is given, at any place; `all` may follow it. */
static bool is_help(int argc, char **argv, bool *all)
{
    for (int i = 1; i < argc; i++) {
        bool is_all = strcmp(argv[i], "--help=all") == 0;
        if (!is_all && strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0)
            continue;
        *all = is_all || (i + 1 < argc && strcmp(argv[i + 1], "all") == 0);
        return true;
    }
    return false;
}

bool cli_begin(cli_call *call, int *code)
{
    words w = {call->argc, 1, call->argv};
    bool only_operands = false, all;
    if (is_help(call->argc, call->argv, &all)) {
        cli_print_help(call->command, all);
        return false;
    }
    if (!create(call)) {
        *code = cli_fail(call->command, EXIT_INTERNAL, "no memory");
        return false;
    }
    while (w.next < w.count)
        if (!take_word(call, &w, &only_operands, code))
            return false;
    respect_threads(call);
    *code = add_inputs(call);
    return *code == EXIT_DONE;
}

int cli_check_operands(const cli_call *call, int count, const char *what)
{
    const cli_command *command = call->command;
    if (call->operand_count > count)
        return cli_fail(command, EXIT_USAGE, "unexpected operand %s (see tlnmf %s --help)",
                        call->operands[count], command->name);
    if (call->operand_count < count)
        return cli_fail(command, EXIT_USAGE, "missing operand: %s (see tlnmf %s --help)", what,
                        command->name);
    return EXIT_DONE;
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool cli_integer(const cli_call *call, const char *name, const char *text, int64_t low,
                 int64_t high, int64_t fallback, int64_t *value)
{
    *value = fallback;
    if (text == NULL)
        return true;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno == ERANGE) {
        cli_fail(call->command, EXIT_USAGE, "%s = %s is not a whole number", name, text);
        return false;
    }
    if (number < low || number > high) {
        cli_fail(call->command, EXIT_USAGE, "%s = %lld is outside [%lld, %lld]", name, number,
                 (long long)low, (long long)high);
        return false;
    }
    *value = number;
    return true;
}

bool cli_number(const cli_command *command, const char *name, const char *text, double low,
                double high, double fallback, double *value)
{
    *value = fallback;
    if (text == NULL)
        return true;
    char *end;
    *value = strtod(text, &end);
    if (end != text && *end == '\0' && *value >= low && *value <= high)
        return true;
    cli_fail(command, EXIT_USAGE, "%s = %s is not a number in [%g, %g]", name, text, low, high);
    return false;
}

/* "40ms", "0.04s" or "882" to samples; negative if the text is invalid. */
static double samples_of(const char *text, double rate)
{
    char *end;
    double x = strtod(text, &end);
    if (end != text && strcmp(end, "ms") == 0)
        return fmax(floor(x * 1e-3 * rate + 0.5), x > 0.0 ? 1.0 : -1.0);
    if (end != text && strcmp(end, "s") == 0)
        return fmax(floor(x * rate + 0.5), x > 0.0 ? 1.0 : -1.0);
    return end != text && *end == '\0' && x == floor(x) ? x : -1.0;
}

int cli_set_length(const cli_call *call, const char *name, const char *text, double rate)
{
    const double most = 1e15; /* exact in a double; the library checks the range */
    if (text == NULL)
        return EXIT_DONE;
    double length = samples_of(text, rate);
    if (!(length >= 0.0 && length <= most))
        return cli_fail(call->command, EXIT_USAGE,
                        "%s = %s is neither a number of samples nor a time such as 40ms", name,
                        text);
    return cli_check(
        call, tlnmf_settings_set_integer(call->ctx, call->settings, name, (int64_t)length), NULL);
}
