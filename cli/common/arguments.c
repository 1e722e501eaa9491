/* Reading the command line, from the library's option table and the command's own options. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

cli_common cli_common_values;

static const cli_option common_options[] = {
    {"o", "FILE", "where the output goes; - is standard output", &cli_common_values.output},
    {"json", NULL, "print one JSON object on standard output", &cli_common_values.json},
    {"q", NULL, "no progress and no warnings", &cli_common_values.quiet},
    {"v", NULL, "say more on standard error", &cli_common_values.verbose},
};
enum { COMMON = sizeof common_options / sizeof *common_options };

static void say(const cli_command *command, const char *kind, const char *format, va_list args)
{
    cli_progress_clear();
    fprintf(stderr, "tlnmf %s: %s", command->name, kind);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int cli_fail(const cli_command *command, exit_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(command, "", format, args);
    va_end(args);
    return (int)code;
}

void cli_warn(const cli_command *command, const char *format, ...)
{
    if (cli_common_values.quiet != NULL)
        return;
    va_list args;
    va_start(args, format);
    say(command, "warning: ", format, args);
    va_end(args);
}

int cli_fail_io(const cli_command *command, const io_error *err)
{
    return cli_fail(command, err->fault == IO_NO_MEMORY ? EXIT_INTERNAL : (exit_code)err->fault,
                    "%s", err->text);
}

int cli_fail_library(const cli_call *call, tlnmf_error error, const char *file)
{
    exit_code code = EXIT_INTERNAL;
    if (error == TLNMF_ERR_OPTION)
        code = EXIT_USAGE;
    else if (error == TLNMF_ERR_SHAPE || error == TLNMF_ERR_DATA)
        code = EXIT_INPUT;
    return cli_fail(call->command, code, "%s%s%s", file == NULL ? "" : file,
                    file == NULL ? "" : ": ", tlnmf_message(call->ctx));
}

/* ---- help ------------------------------------------------------------------------------------ */

/* Whether `name` is one of the words in command->takes, which begins with a space. */
static bool takes(const cli_command *command, const char *name)
{
    size_t length = strlen(name);
    const char *at = command->takes;
    while ((at = strstr(at + 1, name)) != NULL)
        if (at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

static void print_option(FILE *out, const char *name, const char *argument, const char *help)
{
    enum { COLUMN = 26 };
    const char *gap = argument == NULL ? "" : " ", *dash = strlen(name) == 1 ? "-" : "--";
    int width = fprintf(out, "  %s%s%s%s", dash, name, gap, argument == NULL ? "" : argument) - 2;
    if (width > COLUMN) {
        fputc('\n', out);
        width = -2;
    }
    fprintf(out, "%*s%s", COLUMN - width + 1, "", help);
}

static void print_setting(FILE *out, const tlnmf_option_info *option)
{
    static const char *const kinds[] = {"INT", "INT", "REAL", NULL, NULL};
    bool choice = option->type == TLNMF_OPTION_CHOICE;
    print_option(out, option->name, choice ? option->choices : kinds[option->type], option->help);
    char text[32];
    tlnmf_settings defaults;
    tlnmf_settings_init(&defaults);
    if (option->type != TLNMF_OPTION_FLAG && option->fallback >= option->low)
        fprintf(out, " [%s]",
                choice ? tlnmf_settings_get(&defaults, option->name, text, sizeof text)
                       : (snprintf(text, sizeof text, "%g", option->fallback), text));
    fputc('\n', out);
}

static void print_help(const cli_call *call)
{
    const cli_command *command = call->command;
    printf("%s\n\nUsage: tlnmf %s\n\nOptions\n", command->purpose, command->usage);
    for (size_t i = 0; i < call->option_count; i++) {
        print_option(stdout, call->options[i].name, call->options[i].argument,
                     call->options[i].help);
        putchar('\n');
    }
    for (size_t i = 0; i < tlnmf_option_count(); i++)
        if (takes(command, tlnmf_option_at(i)->name))
            print_setting(stdout, tlnmf_option_at(i));
    for (size_t i = 0; i < COMMON; i++) {
        if (!takes(command, common_options[i].name))
            continue;
        print_option(stdout, common_options[i].name, common_options[i].argument,
                     common_options[i].help);
        putchar('\n');
    }
    printf("\nExamples\n%s", command->examples);
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* The words that are left, and how to take the next one. */
typedef struct words {
    int count, next;
    char **word;
} words;

static const cli_option *find_option(const cli_call *call, const char *name)
{
    for (size_t i = 0; i < call->option_count; i++)
        if (strcmp(call->options[i].name, name) == 0)
            return &call->options[i];
    for (size_t i = 0; i < COMMON; i++)
        if (strcmp(common_options[i].name, name) == 0 && takes(call->command, name))
            return &common_options[i];
    return NULL;
}

static const tlnmf_option_info *find_setting(const cli_call *call, const char *name)
{
    for (size_t i = 0; i < tlnmf_option_count(); i++)
        if (strcmp(tlnmf_option_at(i)->name, name) == 0 && takes(call->command, name))
            return tlnmf_option_at(i);
    return NULL;
}

static bool set_setting(cli_call *call, const char *name, const char *value, int *code)
{
    tlnmf_error error = tlnmf_settings_set(call->ctx, &call->settings, name, value);
    if (error != TLNMF_OK && strcmp(name, "transform") == 0 && strpbrk(value, "./:") != NULL) {
        call->transform_file = value; /* not a name, but it looks like a file */
        return true;
    }
    if (error != TLNMF_OK)
        *code = cli_fail_library(call, error, NULL);
    return error == TLNMF_OK;
}

static bool is_list(const cli_option *option)
{
    size_t length = option->argument == NULL ? 0 : strlen(option->argument);
    return length > 3 && strcmp(option->argument + length - 3, "...") == 0;
}

/* The value after `=`, or the words up to the next option; again and again if need be. */
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

/* One option: `text` is what follows the dashes, perhaps with =value. */
static bool take_option(cli_call *call, words *w, const char *text, bool is_long, int *code)
{
    char name[64];
    size_t length = strcspn(text, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    const char *value = text[length] == '=' ? text + length + 1 : NULL;
    if (!is_long && length > 1) { /* -k5 */
        name[1] = '\0';
        value = text + 1;
    }
    const cli_option *own = find_option(call, name);
    const tlnmf_option_info *setting = own == NULL ? find_setting(call, name) : NULL;
    const char *dash = is_long ? "--" : "-";
    if (own == NULL && setting == NULL) {
        *code = cli_fail(call->command, EXIT_USAGE, "unknown option %s%s (see tlnmf %s --help)",
                         dash, name, call->command->name);
        return false;
    }
    if (own != NULL && is_list(own))
        return take_list(call, w, own, value, code);
    bool wants_value = own != NULL ? own->argument != NULL : setting->type != TLNMF_OPTION_FLAG;
    if (wants_value && value == NULL && w->next < w->count)
        value = w->word[w->next++];
    if (wants_value != (value != NULL)) {
        *code = cli_fail(call->command, EXIT_USAGE, "%s%s %s", dash, name,
                         wants_value ? "needs a value" : "takes no value");
        return false;
    }
    if (own != NULL)
        *own->value = value == NULL ? "" : value;
    else
        return set_setting(call, name, value == NULL ? "1" : value, code);
    return true;
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

static void print_log(tlnmf_log_level level, const char *message, void *user)
{
    const cli_command *command = user;
    if (cli_common_values.quiet != NULL ||
        (level == TLNMF_LOG_INFO && cli_common_values.verbose == NULL))
        return;
    cli_progress_clear();
    fprintf(stderr, "tlnmf %s: %s%s\n", command->name,
            level == TLNMF_LOG_WARNING ? "warning: " : "", message);
}

bool cli_begin(cli_call *call, const cli_command *command, const cli_option *options,
               size_t option_count, int argc, char **argv, int *code)
{
    *call = (cli_call){.command = command, .options = options, .option_count = option_count};
    cli_common_values = (cli_common){0};
    tlnmf_settings_init(&call->settings);
    tlnmf_hooks hooks;
    tlnmf_hooks_init(&hooks);
    hooks.log = print_log;
    hooks.user = (void *)(uintptr_t)command; /* only ever read */
    if (tlnmf_ctx_create(&hooks, &call->ctx) != TLNMF_OK) {
        *code = cli_fail(command, EXIT_INTERNAL, "no memory");
        return false;
    }
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(call);
            *code = EXIT_DONE;
            return false;
        }
    words w = {argc, 1, argv};
    bool only_operands = false;
    while (w.next < w.count)
        if (!take_word(call, &w, &only_operands, code))
            return false;
    return true;
}

void cli_end(cli_call *call)
{
    tlnmf_ctx_free(call->ctx);
}

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

int cli_check_output(const cli_command *command, const char *path)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return EXIT_DONE;
    if (path[0] == '\0')
        return cli_fail(command, EXIT_OUTPUT, "an output has an empty name");
    struct stat status;
    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            return cli_fail(command, EXIT_OUTPUT, "%s: is a directory", path);
        if (access(path, W_OK) != 0)
            return cli_fail(command, EXIT_OUTPUT, "%s: cannot be written: %s", path,
                            strerror(errno));
        if (!S_ISREG(status.st_mode)) /* a device is written in place */
            return EXIT_DONE;
    }
    char directory[4096];
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        strcpy(directory, ".");
    else
        snprintf(directory, sizeof directory, "%.*s", slash == path ? 1 : (int)(slash - path),
                 path);
    if (access(directory, F_OK) != 0)
        return cli_fail(command, EXIT_OUTPUT, "%s: directory %s does not exist", path, directory);
    if (access(directory, W_OK | X_OK) != 0)
        return cli_fail(command, EXIT_OUTPUT, "%s: directory %s cannot be written: %s", path,
                        directory, strerror(errno));
    return EXIT_DONE;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Whether `spec`, which may end in :/path or :name, and `path` are one regular file. */
static bool is_same_file(const char *spec, const char *path)
{
    char file[4096];
    struct stat a, b;
    snprintf(file, sizeof file, "%s", spec);
    char *colon = strrchr(file, ':');
    bool found = stat(file, &a) == 0;
    if (!found && colon != NULL) {
        *colon = '\0';
        found = stat(file, &a) == 0;
    }
    return found && stat(path, &b) == 0 && S_ISREG(b.st_mode) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

int cli_check_model(const cli_call *call, const char *model, const char *input_kind,
                    const char *init_phi)
{
    const cli_command *command = call->command;
    if (call->operand_count != 1)
        return cli_fail(command, EXIT_USAGE, "one data file is needed (see tlnmf %s --help)",
                        command->name);
    if (init_phi != NULL && call->transform_file != NULL)
        return cli_fail(command, EXIT_USAGE,
                        "--init-phi and --transform FILE say the same thing twice");
    if (input_kind != NULL && strcmp(input_kind, "data") != 0 &&
        strcmp(input_kind, "covariances") != 0 && strcmp(input_kind, "auto") != 0)
        return cli_fail(command, EXIT_USAGE, "input = %s is not one of data|covariances|auto",
                        input_kind);
    if (model != NULL && strcmp(model, "-") == 0 && cli_common_values.json != NULL)
        return cli_fail(command, EXIT_USAGE,
                        "--json and the model cannot both go to standard output");
    if (model != NULL && (ends_with(model, ".npy") || ends_with(model, ".mat")))
        return cli_fail(command, EXIT_USAGE, "%s: the model is an HDF5 file, name it .h5", model);
    if (model != NULL && is_same_file(call->operands[0], model))
        return cli_fail(command, EXIT_USAGE, "%s: the model would replace its own data", model);
    return cli_check_output(command, model);
}
