/* Reading the command line, from the library's option table and the program's own options. */
#include "cli/common/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The words of the command line, and which of them is next. */
typedef struct words {
    int count, next;
    char **word;
} words;

/* One option as it stands on the command line. */
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

/* The name as the library's table holds it, which lasts. */
static const char *lasting_name(const char *task, const char *name)
{
    const char *known;
    for (size_t i = 0; (known = tlnmf_option_name(task, i)) != NULL; i++)
        if (strcmp(known, name) == 0)
            break;
    return known;
}

/* In the settings of all tasks that have the option. */
static bool set_setting(cli_call *call, const char *name, const char *value, int *code)
{
    const char *const tasks[] = {call->command->task, call->command->also};
    tlnmf_settings *const settings[] = {call->settings, call->also};
    tlnmf_error error = TLNMF_OK;
    for (int i = 0; error == TLNMF_OK && i < 2; i++)
        if (tasks[i] != NULL && tlnmf_option_kind_of(tasks[i], name) != TLNMF_OPTION_UNKNOWN)
            error = tlnmf_settings_set_text(call->ctx, settings[i], name, value);
    if (error != TLNMF_OK && strcmp(name, "transform") == 0 && strpbrk(value, "./:") != NULL) {
        call->transform_file = value; /* not a name, but it looks like a file */
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

/* The value after `=`, or the words up to the next option; an option may come several times. */
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
    if (value != NULL && strchr(own->argument, '|') != NULL && !is_choice(own->argument, value)) {
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
    const cli_rename *r = command->renamed;
    while (r != NULL && r->name != NULL && strcmp(r->name, g->name) != 0)
        r++;
    bool renamed = r != NULL && r->name != NULL;
    return cli_fail(command, EXIT_USAGE, "unknown option %s%s%s%s (see tlnmf %s --help)", g->dash,
                    g->name, renamed ? ": use " : "", renamed ? r->instead : "", command->name);
}

/* A flag that has a sister NAME-all may be followed by the word `all`, which sets both. */
static bool takes_all(const cli_command *command, words *w, given *g)
{
    char sister[80];
    snprintf(sister, sizeof sister, "%s-all", g->name);
    bool follows = g->value == NULL && w->next < w->count && strcmp(w->word[w->next], "all") == 0;
    if (cli_find_setting(command, sister) == NULL ||
        !(follows || (g->value != NULL && strcmp(g->value, "all") == 0)))
        return false;
    w->next += follows;
    g->value = NULL;
    return true;
}

/* One option: `text` is what follows the dashes, perhaps with =value. */
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
    if (own == NULL && takes_all(command, w, &g)) {
        char sister[80];
        snprintf(sister, sizeof sister, "%s-all", g.name);
        if (!set_setting(call, sister, "1", code))
            return false;
    }
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

static void print_log(tlnmf_log_level level, const char *message, void *user)
{
    const cli_call *call = user;
    if (cli_common_values.quiet != NULL ||
        (level == TLNMF_LOG_INFO && cli_common_values.verbose == NULL))
        return;
    cli_progress_clear();
    fprintf(stderr, "tlnmf %s: %s", call->command->name,
            level == TLNMF_LOG_WARNING ? "warning: " : "");
    cli_put(stderr, call->subject ? call->subject : "");
    fputs(call->subject ? ": " : "", stderr);
    cli_put(stderr, message);
    fputc('\n', stderr);
}

/* The context, and settings with the defaults of the command's tasks. */
static bool create(cli_call *call)
{
    const cli_command *command = call->command;
    if (tlnmf_ctx_create(&call->ctx) != TLNMF_OK)
        return false;
    tlnmf_ctx_set_log(call->ctx, print_log, call);
    tlnmf_ctx_set_threads(call->ctx, tlnmf_io_cores());
    if (command->task != NULL &&
        tlnmf_settings_create(call->ctx, command->task, &call->settings) != TLNMF_OK)
        return false;
    return command->also == NULL ||
           tlnmf_settings_create(call->ctx, command->also, &call->also) == TLNMF_OK;
}

/* What has no settings, such as the compression of data, keeps to --threads, too. */
static void respect_threads(const cli_call *call)
{
    int64_t threads =
        call->settings != NULL ? tlnmf_settings_get_integer(call->settings, "threads") : 0;
    if (threads > 0)
        tlnmf_ctx_set_threads(call->ctx, (int32_t)threads);
}

bool cli_begin(cli_call *call, const cli_command *command, int argc, char **argv, int *code)
{
    *call = (cli_call){.command = command, .argc = argc, .argv = argv, .part = {0, 1}};
    cli_common_values = (cli_common){0};
    if (!create(call)) {
        *code = cli_fail(command, EXIT_INTERNAL, "no memory");
        return false;
    }
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            cli_print_help(command);
            *code = EXIT_DONE;
            return false;
        }
    words w = {argc, 1, argv};
    bool only_operands = false;
    while (w.next < w.count)
        if (!take_word(call, &w, &only_operands, code))
            return false;
    respect_threads(call);
    return true;
}

void cli_end(cli_call *call)
{
    tlnmf_settings_free(call->settings);
    tlnmf_settings_free(call->also);
    tlnmf_sums_free(call->starts);
    tlnmf_sums_free(call->frames);
    tlnmf_ctx_free(call->ctx);
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

double cli_samples(const char *text, double rate)
{
    char *end;
    double x = strtod(text, &end);
    if (end != text && strcmp(end, "ms") == 0)
        return fmax(floor(x * 1e-3 * rate + 0.5), x > 0.0 ? 1.0 : -1.0);
    if (end != text && strcmp(end, "s") == 0)
        return fmax(floor(x * rate + 0.5), x > 0.0 ? 1.0 : -1.0);
    return end != text && *end == '\0' && x == floor(x) ? x : -1.0;
}
