/* Before a separation: the sound with its labels, and the directory that the stems go to. */
#include "cli/stems/stems.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

cli_stem_words cli_stem_values;

const cli_option cli_stem_options[CLI_STEM_OPTIONS] = {
    {"o", "DIR",
     "directory of the stems, made if need be; {name} in it is the name of the sound "
     "[{name}-stems]",
     &cli_common_values.output},
    {"labels", "FILE", "an Audacity label track: when each source sounds, by name",
     &cli_stem_values.labels},
    {"activations", "labels|midi", "also write when the sources sound",
     &cli_stem_values.activations},
    {"gain", "none|safe", "safe: scale all stems alike so that none is clipped [none]",
     &cli_stem_values.gain},
    {"format", "wav|flac|w64", "format of the stems [wav]", &cli_stem_values.format},
    {"no-report", NULL, "write no page report.html", &cli_stem_values.no_report},
    {"no-sound", NULL, "leave sound out of the page", &cli_stem_values.no_sound},
};

/* ---- the sound ------------------------------------------------------------------------------- */

/* -o DIR, or the sound's name with "-stems" in the folder where the program runs. */
static int choose_directory(cli_stems *stems)
{
    const char *given = cli_common_values.output;
    const cli_command *command = stems->call->command;
    if (given != NULL && !cli_is_pattern(given)) {
        stems->directory = given;
        return EXIT_DONE;
    }
    stems->directory = cli_fill_pattern(command, given != NULL ? given : "{name}-stems",
                                        stems->path, stems->own_directory);
    return stems->directory == NULL ? EXIT_OUTPUT : EXIT_DONE;
}

int cli_stems_open(cli_call *call, tlnmf_settings *settings, const char *path, cli_stems *stems)
{
    *stems = (cli_stems){.call = call,
                         .path = path,
                         .settings = settings,
                         .stage = -1,
                         .format = cli_stem_values.format ? cli_stem_values.format : "wav"};
    int code = choose_directory(stems);
    if (code != EXIT_DONE)
        return code;
    tlnmf_error error = tlnmf_io_open_sound(call->ctx, path, &stems->sound);
    if (error == TLNMF_OK)
        return EXIT_DONE;
    code = cli_fail_library(call, error, NULL);
    cli_hint_format(call->command, path);
    return code;
}

int cli_stems_add_labels(cli_stems *stems)
{
    const char *path = cli_stem_values.labels;
    tlnmf_record *track;
    if (path == NULL)
        return EXIT_DONE;
    tlnmf_error error = tlnmf_io_read_labels(stems->call->ctx, path, &track);
    if (error != TLNMF_OK)
        return cli_fail_library(stems->call, error, NULL);
    stems->call->subject = path;
    error = tlnmf_sound_add_labels(stems->call->ctx, stems->sound, track);
    stems->call->subject = NULL;
    tlnmf_record_free(track);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(stems->call, error, path);
}

void cli_stems_close(cli_stems *stems, int code)
{
    tlnmf_sound_free(stems->sound);
    tlnmf_sound_free(stems->recording);
    cli_stems_release(stems);
    cli_stage_close(stems);
    cli_stems_forget(stems);
    if (!stems->created)
        return;
    if (code != EXIT_DONE)
        rmdir(stems->directory); /* which does nothing if there is something in it */
    cli_forget_temporary(stems->directory);
}

/* ---- the directory --------------------------------------------------------------------------- */

static const char *join(const cli_stems *stems, const char *directory, const char *name,
                        const char *extension, char path[CLI_PATH])
{
    size_t length = strlen(directory);
    const char *slash = length > 0 && directory[length - 1] == '/' ? "" : "/";
    int size = snprintf(path, CLI_PATH, "%s%s%s.%s", directory, slash, name, extension);
    if (size < CLI_PATH)
        return path;
    cli_fail(stems->call->command, EXIT_OUTPUT, "%s: the name is too long", stems->directory);
    return NULL;
}

const char *cli_stems_path(const cli_stems *stems, const char *name, const char *extension,
                           char path[CLI_PATH])
{
    return join(stems, stems->directory, name, extension, path);
}

const char *cli_stems_staged(const cli_stems *stems, const char *name, const char *extension,
                             char path[CLI_PATH])
{
    return join(stems, stems->staging, name, extension, path);
}

int cli_stems_check_output(const cli_stems *stems, const char *name, const char *extension)
{
    const cli_command *command = stems->call->command;
    const char *const inputs[] = {stems->path, cli_stem_values.labels, stems->model_path,
                                  stems->call->transform_file};
    struct stat status;
    char path[CLI_PATH];
    int code = cli_stems_path(stems, name, extension, path) != NULL ? EXIT_DONE : EXIT_OUTPUT;
    for (int i = 0; code == EXIT_DONE && i < 4; i++)
        code = cli_check_input(command, inputs[i], path);
    if (code != EXIT_DONE)
        return code;
    if (lstat(path, &status) != 0)
        return errno == ENOENT || errno == ENOTDIR /* told of the directory itself */
                   ? EXIT_DONE
                   : cli_fail(command, EXIT_OUTPUT, "%s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return cli_fail(command, EXIT_OUTPUT, "%s: is a directory", path);
    if (S_ISREG(status.st_mode) && access(path, W_OK) != 0)
        return cli_fail(command, EXIT_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
    return EXIT_DONE;
}

static int check_outputs(const cli_stems *stems, const tlnmf_record *names)
{
    static const char *const fixed[][2] = {{"model", "h5"}, {"summary", "json"}};
    const char *activations = cli_stem_values.activations, *name;
    tlnmf_record *safe;
    int code = EXIT_DONE;
    for (int i = 0; code == EXIT_DONE && i < 2; i++)
        code = cli_stems_check_output(stems, fixed[i][0], fixed[i][1]);
    if (code == EXIT_DONE && activations != NULL)
        code = cli_stems_check_output(stems, "activations", activations[0] == 'm' ? "mid" : "txt");
    if (code != EXIT_DONE)
        return code;
    tlnmf_error error = tlnmf_io_safe_names(stems->call->ctx, names, &safe);
    if (error != TLNMF_OK)
        return cli_fail_library(stems->call, error, NULL);
    for (size_t i = 0; code == EXIT_DONE && (name = tlnmf_get_text_at(safe, "names", i)) != NULL;
         i++)
        code = cli_stems_check_output(stems, name, stems->format);
    tlnmf_record_free(safe);
    return code;
}

/* Whether the files in it, if there are any, are those of a run that may write into it: --force
 * says so, or --resume, where a run that had begun in an empty directory was killed while it put
 * them in place. */
static bool is_ours(DIR *directory)
{
    struct dirent *entry;
    bool empty = true, staged = false;
    while ((entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, CLI_STAGE) == 0)
            staged = true;
        else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            empty = false;
    return empty || cli_common_values.force != NULL || (staged && cli_common_values.resume != NULL);
}

/* The directory is there or can be made, and nothing in it belongs to others. */
static int make_directory(cli_stems *stems)
{
    const cli_command *command = stems->call->command;
    cli_catch_interrupt(); /* from here on there is something to take away */
    stems->created = mkdir(stems->directory, 0777) == 0;
    if (stems->created) {
        cli_remember_temporary(stems->directory);
        return EXIT_DONE;
    }
    DIR *directory = errno == EEXIST ? opendir(stems->directory) : NULL;
    if (directory == NULL)
        return cli_fail(command, EXIT_OUTPUT, "%s: %s", stems->directory, strerror(errno));
    bool ours = is_ours(directory);
    closedir(directory);
    if (access(stems->directory, W_OK | X_OK) != 0)
        return cli_fail(command, EXIT_OUTPUT, "%s: %s", stems->directory, strerror(errno));
    if (!ours)
        return cli_fail(command, EXIT_OUTPUT,
                        "%s: there are files in it already; --force writes beside and over them",
                        stems->directory);
    return EXIT_DONE;
}

/* ---- disk space ------------------------------------------------------------------------------ */

void cli_stems_release(cli_stems *stems)
{
    for (int i = 0; i < stems->reserved_count; i++)
        tlnmf_io_release(stems->reserved[i]);
    stems->reserved_count = 0;
}

static int reserve(cli_stems *stems, const char *name, const char *extension, int64_t bytes)
{
    char path[CLI_PATH];
    if (stems->reserved_count == CLI_RESERVED)
        return EXIT_DONE;
    if (cli_stems_path(stems, name, extension, path) == NULL)
        return EXIT_OUTPUT;
    tlnmf_error error =
        tlnmf_io_reserve(stems->call->ctx, path, bytes, &stems->reserved[stems->reserved_count]);
    if (error != TLNMF_OK)
        return cli_fail_library(stems->call, error, NULL);
    stems->reserved_count++;
    return EXIT_DONE;
}

/* Disk space for a stem of each name, and for Phi, by far the largest part of a model. */
static int reserve_all(cli_stems *stems, const tlnmf_record *names, int64_t bytes)
{
    int64_t M = tlnmf_settings_get_integer(stems->call->settings, "frame");
    tlnmf_record *safe;
    const char *name;
    tlnmf_error error = tlnmf_io_safe_names(stems->call->ctx, names, &safe);
    if (error != TLNMF_OK)
        return cli_fail_library(stems->call, error, NULL);
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && (name = tlnmf_get_text_at(safe, "names", i)) != NULL;
         i++)
        code = reserve(stems, name, stems->format, bytes);
    if (code == EXIT_DONE && M > 0 && M < 1000000)
        code = reserve(stems, "model", "h5", M * M * (int64_t)sizeof(double));
    tlnmf_record_free(safe);
    return code;
}

/* A writer that is opened for nothing tells whether the format can hold stems like the sound (FLAC
 * has eight channels at most) and how large they will be. */
static int check_format(const cli_stems *stems, int64_t *bytes)
{
    char path[CLI_PATH];
    tlnmf_io_writer *writer;
    if (cli_stems_staged(stems, "stem", stems->format, path) == NULL)
        return EXIT_OUTPUT;
    tlnmf_error error = tlnmf_io_writer_create(stems->call->ctx, path, stems->sound, &writer);
    if (error != TLNMF_OK)
        return cli_fail_library(stems->call, error, NULL);
    *bytes = tlnmf_get_integer(tlnmf_io_writer_record(writer), "bytes");
    tlnmf_io_writer_abort(writer);
    return EXIT_DONE;
}

int cli_stems_check(cli_stems *stems, const tlnmf_record *names)
{
    int64_t bytes = 0;
    if (stems->directory[0] == '\0')
        return cli_fail(stems->call->command, EXIT_USAGE,
                        "-o DIR is empty: where do the stems go?");
    int code = check_outputs(stems, names);
    if (code == EXIT_DONE && cli_is_pattern(cli_common_values.output))
        code = cli_make_parents(stems->call->command, stems->directory);
    if (code == EXIT_DONE)
        code = make_directory(stems);
    if (code == EXIT_DONE)
        code = cli_stage_open(stems);
    if (code == EXIT_DONE)
        code = check_format(stems, &bytes);
    return code == EXIT_DONE ? reserve_all(stems, names, bytes) : code;
}
