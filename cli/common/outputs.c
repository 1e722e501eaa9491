/* Outputs are checked before a run: nothing is replaced without --force, an input never. */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file of `data.h5:/Y` or `data.mat:Y`: what stands before the last colon, unless the whole
 * text is the name of a file. */
static const char *file_of(const char *spec, char file[CLI_PATH])
{
    struct stat status;
    snprintf(file, CLI_PATH, "%s", spec);
    char *colon = strrchr(file, ':');
    if (colon != NULL && stat(file, &status) != 0)
        *colon = '\0';
    if (colon != NULL && stat(file, &status) != 0)
        snprintf(file, CLI_PATH, "%s", spec);
    return file;
}

bool cli_is_same_file(const char *spec, const char *path)
{
    char a_file[CLI_PATH], b_file[CLI_PATH];
    struct stat a, b;
    return stat(file_of(spec, a_file), &a) == 0 && stat(file_of(path, b_file), &b) == 0 &&
           S_ISREG(b.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int cli_check_input(const cli_command *command, const char *input, const char *output)
{
    if (input == NULL || output == NULL || !cli_is_same_file(input, output))
        return EXIT_DONE;
    return cli_fail(command, EXIT_USAGE, "%s: this output would replace an input", output);
}

/* A file that is there: whether it may be written over. */
static int check_present(const cli_command *command, const char *path, const struct stat *status)
{
    if (S_ISDIR(status->st_mode))
        return cli_fail(command, EXIT_OUTPUT, "%s: is a directory", path);
    if (access(path, W_OK) != 0)
        return cli_fail(command, EXIT_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
    if (S_ISREG(status->st_mode) && cli_common_values.force == NULL)
        return cli_fail(command, EXIT_OUTPUT, "%s: exists already; --force replaces it", path);
    return EXIT_DONE;
}

static int check_directory(const cli_command *command, const char *path)
{
    char directory[CLI_PATH];
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

int cli_check_output(const cli_command *command, const char *spec)
{
    char file[CLI_PATH];
    struct stat status;
    if (spec == NULL || strcmp(spec, "-") == 0 || !cli_is_first())
        return EXIT_DONE;
    if (spec[0] == '\0')
        return cli_fail(command, EXIT_OUTPUT, "an output has an empty name");
    const char *path = file_of(spec, file);
    if (stat(path, &status) != 0 && errno != ENOENT) /* too long, a loop of links, .. */
        return cli_fail(command, EXIT_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
    if (stat(path, &status) != 0)
        return check_directory(command, path);
    int code = check_present(command, path, &status);
    if (code != EXIT_DONE || !S_ISREG(status.st_mode)) /* a device is written in place */
        return code;
    return check_directory(command, path);
}

int cli_reserve_model(const cli_call *call, const char *output, const tlnmf_data *data, int64_t K,
                      tlnmf_io_reservation **reserved)
{
    const int64_t rest = 1 << 16; /* summary, attributes, what HDF5 itself takes */
    const tlnmf_record *sizes = tlnmf_data_record(data);
    int64_t M = tlnmf_get_integer(sizes, "M"), N = tlnmf_get_integer(sizes, "N");
    *reserved = NULL;
    if (output == NULL || !cli_is_first())
        return EXIT_DONE;
    tlnmf_error error = tlnmf_io_reserve(
        call->ctx, output, (M * M + K * (M + N)) * (int64_t)sizeof(double) + rest, reserved);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

const char *cli_partial_path(const char *output, char path[CLI_PATH])
{
    struct stat status;
    const char *dot = strrchr(output, '.'), *slash = strrchr(output, '/');
    if (strcmp(output, "-") == 0 || (stat(output, &status) == 0 && !S_ISREG(status.st_mode)))
        return output;
    if (dot == NULL || (slash != NULL && dot < slash) || dot == output || dot[-1] == '/')
        dot = output + strlen(output);
    for (int i = 1; i < 10000; i++) {
        char number[16] = "";
        if (i > 1)
            snprintf(number, sizeof number, "-%d", i);
        int size =
            snprintf(path, CLI_PATH, "%.*s.partial%s%s", (int)(dot - output), output, number, dot);
        if (size >= CLI_PATH)
            return NULL;
        if (lstat(path, &status) != 0)
            return path;
    }
    return NULL;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcasecmp(text + n - m, end) == 0;
}

int cli_check_model_name(const cli_command *command, const char *output)
{
    static const char *const known[] = {".h5", ".hdf5", ".hdf", ".mat", ".npz"};
    struct stat status;
    if (output == NULL || strcmp(output, "-") == 0)
        return EXIT_DONE;
    if (stat(output, &status) == 0 && !S_ISREG(status.st_mode))
        return EXIT_DONE; /* a pipe, /dev/null: HDF5; a directory is refused later */
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ends_with(output, known[i]))
            return EXIT_DONE;
    return cli_fail(command, EXIT_USAGE, "%s: a model is a .h5, .mat or .npz file", output);
}

int cli_check_model(const cli_call *call, const char *output, const char *init_phi,
                    const char *const more[2])
{
    const cli_command *command = call->command;
    if (call->operand_count != 1)
        return cli_fail(command, EXIT_USAGE, "one data file is needed (see tlnmf %s --help)",
                        command->name);
    if (init_phi != NULL && call->transform_file != NULL)
        return cli_fail(command, EXIT_USAGE,
                        "--init-phi and --transform FILE say the same thing twice");
    if (output != NULL && strcmp(output, "-") == 0 && cli_common_values.json != NULL)
        return cli_fail(command, EXIT_USAGE,
                        "--json and the model cannot both go to standard output");
    int known = cli_check_model_name(command, output);
    if (known != EXIT_DONE)
        return known;
    const char *const inputs[] = {call->operands[0], init_phi, call->transform_file, more[0],
                                  more[1]};
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < sizeof inputs / sizeof *inputs; i++)
        code = cli_check_input(command, inputs[i], output);
    return code == EXIT_DONE ? cli_check_output(command, output) : code;
}
