/* Messages on standard error, and the exit codes of the library's errors. */
#include "cli/cli.h"

#include <stdarg.h>

static void say(const cli_command *command, const char *kind, const char *format, va_list args)
{
    char line[2 * CLI_PATH + 64];
    cli_progress_clear();
    int start = snprintf(line, sizeof line, "tlnmf %s: %s", command->name, kind);
    vsnprintf(line + start, sizeof line - (size_t)start, format, args);
    cli_put(stderr, line);
    fputc('\n', stderr);
    cli_keep_message(line);
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
    va_list args;
    va_start(args, format);
    if (cli_asked.quiet == NULL)
        say(command, "warning: ", format, args);
    va_end(args);
}

void cli_say(const cli_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (cli_asked.quiet == NULL)
        say(command, "", format, args);
    va_end(args);
}

exit_code cli_code_of(tlnmf_error error)
{
    switch (error) {
    case TLNMF_ERR_OPTION:
        return EXIT_USAGE;
    case TLNMF_ERR_SHAPE:
    case TLNMF_ERR_DATA:
    case TLNMF_ERR_INPUT:
        return EXIT_INPUT;
    case TLNMF_ERR_CALLBACK: /* callbacks of the program fail only if they cannot write */
    case TLNMF_ERR_OUTPUT:
        return EXIT_OUTPUT;
    default:
        return EXIT_INTERNAL;
    }
}

int cli_fail_library(const cli_call *call, tlnmf_error error, const char *file)
{
    if (cli_read_late())
        return cli_fail(call->command, EXIT_INTERNAL,
                        "--max-seconds ended before the data were read: use a larger limit");
    if (error == TLNMF_ERR_CALLBACK && cli_interrupted())
        return cli_fail(call->command, EXIT_INTERRUPTED, "interrupted: %s",
                        tlnmf_message(call->ctx));
    return cli_fail(call->command, cli_code_of(error), "%s%s%s", file == NULL ? "" : file,
                    file == NULL ? "" : ": ", tlnmf_message(call->ctx));
}

int cli_check(const cli_call *call, tlnmf_error error, const char *file)
{
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, file);
}
