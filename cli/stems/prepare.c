/* Before a separation: the sound with its labels, and the directory of the stems. */
#include "cli/common/arrays.h"
#include "cli/stems/stems.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names ----------------------------------------------------------------------------------- */

static const char MARK[] = "{name}";

bool cli_is_pattern(const char *text)
{
    return text != NULL && strstr(text, MARK) != NULL;
}

/* The name of a file without its folder and extension, as a part of `path`. */
static const char *bare(const char *path, int *length)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    *length = dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name);
    if (strcmp(path, "-") != 0)
        return name;
    *length = 5; /* of the next word */
    return "sound";
}

const char *cli_fill_pattern(const cli_command *command, const char *pattern, const char *path,
                             char out[CLI_PATH])
{
    int length;
    const char *name = bare(path, &length), *mark;
    size_t at = 0;
    for (; (mark = strstr(pattern, MARK)) != NULL && at < CLI_PATH; pattern = mark + strlen(MARK))
        at += (size_t)snprintf(out + at, CLI_PATH - at, "%.*s%.*s", (int)(mark - pattern), pattern,
                               length, name);
    if (at < CLI_PATH)
        at += (size_t)snprintf(out + at, CLI_PATH - at, "%s", pattern);
    if (at < CLI_PATH)
        return out;
    cli_fail(command, EXIT_OUTPUT, "%s: the name is too long", pattern);
    return NULL;
}

/* Makes the folders above a path. */
static int make_parents(const cli_command *command, const char *path)
{
    char part[CLI_PATH];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (slash[1] != '\0' && mkdir(part, 0777) != 0 && errno != EEXIST)
            return cli_fail(command, EXIT_OUTPUT, "%s: %s", part, strerror(errno));
        *slash = '/';
    }
    return EXIT_DONE;
}

/* ---- the sound ------------------------------------------------------------------------------- */

/* -o DIR, or NAME-stems in the current directory. */
static const char *choose_directory(const cli_call *call, const char *sound, char path[CLI_PATH])
{
    const char *given = cli_asked.output;
    if (given != NULL && !cli_is_pattern(given))
        return given;
    return cli_fill_pattern(call->command, given != NULL ? given : "{name}-stems", sound, path);
}

int cli_stems_add_files(const cli_call *call, const char *sound)
{
    char own[CLI_PATH];
    const char *directory = choose_directory(call, sound, own);
    if (directory == NULL)
        return EXIT_OUTPUT;
    TRY(cli_file_add(call, CLI_FILLS, sound, directory));
    return cli_file_add(call, CLI_READS, "--labels", cli_asked.labels);
}

/* Whether the file exists and was not changed after `end`; end = NULL: at any time. */
static bool is_there(const char *path, const struct stat *end)
{
    struct stat file;
    if (path == NULL || stat(path, &file) != 0)
        return false;
    return end == NULL || file.st_mtim.tv_sec < end->st_mtim.tv_sec ||
           (file.st_mtim.tv_sec == end->st_mtim.tv_sec &&
            file.st_mtim.tv_nsec <= end->st_mtim.tv_nsec);
}

static bool has_text(const json_t *summary, const char *name, const char *text)
{
    const char *value = json_string_value(json_object_get(summary, name));
    return value != NULL && text != NULL && strcmp(value, text) == 0;
}

/* Whether the outputs that a summary names exist. */
static bool has_outputs(const json_t *summary)
{
    const json_t *stems = json_object_get(summary, "stems");
    bool all = json_array_size(stems) > 0;
    for (size_t i = 0; i < json_array_size(stems); i++)
        all = all && is_there(json_string_value(json_array_get(stems, i)), NULL);
    const char *page = json_string_value(json_object_get(summary, "page")),
               *activations = json_string_value(json_object_get(summary, "activations"));
    return all && (cli_asked.no_report != NULL || is_there(page, NULL)) &&
           (activations == NULL || is_there(activations, NULL));
}

bool cli_stems_are_done(const cli_call *call, const char *sound)
{
    char own[CLI_PATH], path[CLI_PATH], model[CLI_PATH];
    struct stat end;
    const char *directory = choose_directory(call, sound, own), *labels = cli_asked.labels;
    if (directory == NULL || snprintf(path, CLI_PATH, "%s/summary.json", directory) >= CLI_PATH ||
        snprintf(model, CLI_PATH, "%s/model.h5", directory) >= CLI_PATH || stat(path, &end) != 0)
        return false;
    json_t *summary = json_load_file(path, 0, NULL), *repeat = cli_repeat(call);
    bool done = has_text(summary, "repeat", json_string_value(repeat)) &&
                has_text(summary, "version", tlnmf_version()) && is_there(sound, &end) &&
                (labels == NULL || is_there(labels, &end)) && is_there(model, NULL) &&
                has_outputs(summary);
    json_decref(summary);
    json_decref(repeat);
    return done;
}

int cli_stems_open(cli_call *call, tlnmf_settings *settings, const char *path, cli_stems *stems)
{
    *stems = (cli_stems){.call = call,
                         .path = path,
                         .settings = settings,
                         .stage = -1,
                         .format = cli_asked.format ? cli_asked.format : "wav"};
    stems->directory = choose_directory(call, path, stems->own_directory);
    if (stems->directory == NULL)
        return EXIT_OUTPUT;
    tlnmf_error error = tlnmf_io_open_sound(call->ctx, path, &stems->sound);
    if (error == TLNMF_OK)
        return EXIT_DONE;
    int code = cli_fail_library(call, error, NULL);
    cli_advise(call, path);
    return code;
}

int cli_stems_add_labels(cli_stems *stems)
{
    const char *path = cli_asked.labels;
    if (path == NULL)
        return EXIT_DONE;
    TRY(cli_check(stems->call, tlnmf_io_read_labels(stems->call->ctx, path, &stems->labels), NULL));
    stems->call->subject = path;
    tlnmf_error error = tlnmf_sound_add_labels(stems->call->ctx, stems->sound, stems->labels);
    stems->call->subject = NULL;
    return cli_check(stems->call, error, path);
}

void cli_stems_close(cli_stems *stems, int code)
{
    tlnmf_sound_free(stems->sound);
    tlnmf_sound_free(stems->recording);
    tlnmf_record_free(stems->labels);
    cli_stems_release(stems);
    cli_stage_close(stems);
    if (!stems->created)
        return;
    if (code != EXIT_DONE)
        rmdir(stems->directory); /* fails if the directory is not empty */
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
    char path[CLI_PATH], what[300];
    snprintf(what, sizeof what, "%s.%s", name, extension);
    return cli_stems_path(stems, name, extension, path) != NULL
               ? cli_file_add(stems->call, CLI_STAGES, what, path)
               : EXIT_OUTPUT;
}

/* Adds the files of the directory; `safe` has the names of the stems. */
static int check_outputs(const cli_stems *stems, const tlnmf_record *safe)
{
    const char *activations = cli_asked.activations, *name;
    TRY(cli_stems_check_output(stems, "model", "h5"));
    TRY(cli_stems_check_output(stems, "summary", "json"));
    if (cli_asked.no_report == NULL)
        TRY(cli_stems_check_output(stems, "report", "html"));
    if (activations != NULL)
        TRY(cli_stems_check_output(stems, "activations", activations[0] == 'm' ? "mid" : "txt"));
    for (size_t i = 0; (name = tlnmf_record_get_text_at(safe, "names", i)) != NULL; i++)
        TRY(cli_stems_check_output(stems, name, stems->format));
    return EXIT_DONE;
}

/* Makes the directory, or checks that it can be written. */
static int make_directory(cli_stems *stems)
{
    cli_catch_interrupt(); /* from here on a signal must remove the directory */
    stems->created = mkdir(stems->directory, 0777) == 0;
    if (stems->created) {
        cli_remember_temporary(stems->directory);
        return EXIT_DONE;
    }
    DIR *directory = errno == EEXIST ? opendir(stems->directory) : NULL;
    bool writable = directory != NULL && access(stems->directory, W_OK | X_OK) == 0;
    int why = errno;
    if (directory != NULL)
        closedir(directory);
    return writable ? EXIT_DONE
                    : cli_fail(stems->call->command, EXIT_OUTPUT, "%s: %s", stems->directory,
                               strerror(why));
}

/* Whether the file of the directory is the checkpoint of --resume. */
static bool is_checkpoint(DIR *directory, const char *name)
{
    struct stat file, checkpoint;
    return cli_asked.resume != NULL && cli_asked.checkpoint != NULL &&
           fstatat(dirfd(directory), name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
           lstat(cli_asked.checkpoint, &checkpoint) == 0 && file.st_dev == checkpoint.st_dev &&
           file.st_ino == checkpoint.st_ino;
}

/* Without --force the directory must be empty. Hidden files do not count: no output has such a
 * name. Call it after cli_stage_open(), because another run may have ended before. */
static int check_empty(const cli_stems *stems)
{
    DIR *directory = cli_asked.force == NULL ? opendir(stems->directory) : NULL;
    const struct dirent *entry;
    bool empty = directory != NULL || cli_asked.force != NULL;
    while (empty && directory != NULL && (entry = readdir(directory)) != NULL)
        empty = entry->d_name[0] == '.' || is_checkpoint(directory, entry->d_name);
    if (directory != NULL)
        closedir(directory);
    return empty ? EXIT_DONE
                 : cli_fail(stems->call->command, EXIT_OUTPUT,
                            "%s: the directory is not empty; --force adds and replaces files",
                            stems->directory);
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
    TRY(cli_check(
        stems->call,
        tlnmf_io_reserve(stems->call->ctx, path, bytes, &stems->reserved[stems->reserved_count]),
        NULL));
    stems->reserved_count++;
    return EXIT_DONE;
}

/* Reserves disk space for each stem, and for Phi, by far the largest part of a model. */
static int reserve_all(cli_stems *stems, const tlnmf_record *safe, int64_t bytes)
{
    int64_t M = tlnmf_settings_get_integer(stems->call->settings, "frame");
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_get_text_at(safe, "names", i)) != NULL; i++)
        TRY(reserve(stems, name, stems->format, bytes));
    return M > 0 && M < 1000000 ? reserve(stems, "model", "h5", M * M * (int64_t)sizeof(double))
                                : EXIT_DONE;
}

/* Opens and aborts a writer, to check whether the format supports the stems (FLAC has at most eight
 * channels) and how large they will be. */
static int check_format(const cli_stems *stems, int64_t *bytes)
{
    char path[CLI_PATH];
    tlnmf_io_writer *writer;
    if (cli_stems_staged(stems, "stem", stems->format, path) == NULL)
        return EXIT_OUTPUT;
    TRY(cli_check(stems->call,
                  tlnmf_io_writer_create(stems->call->ctx, path, stems->sound, &writer), NULL));
    *bytes = tlnmf_record_get_integer(tlnmf_io_writer_record(writer), "bytes");
    tlnmf_io_writer_abort(writer);
    return EXIT_DONE;
}

static int check_all(cli_stems *stems, const tlnmf_record *safe)
{
    int64_t bytes;
    if (stems->directory[0] == '\0')
        return cli_fail(stems->call->command, EXIT_USAGE, "the name of -o is empty");
    TRY(check_outputs(stems, safe));
    if (cli_is_pattern(cli_asked.output))
        TRY(make_parents(stems->call->command, stems->directory));
    TRY(make_directory(stems));
    TRY(cli_stage_open(stems));
    TRY(check_empty(stems));
    TRY(check_format(stems, &bytes));
    return reserve_all(stems, safe, bytes);
}

int cli_stems_check(cli_stems *stems, const tlnmf_record *names)
{
    tlnmf_record *safe;
    TRY(cli_check(stems->call, tlnmf_io_safe_names(stems->call->ctx, names, &safe), NULL));
    int code = check_all(stems, safe);
    tlnmf_record_free(safe);
    return code;
}
