/* The files of a command. Every input and output is added to one list before the run, and compared
 * with the files of the list. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A file is identified by its inode. One that does not exist yet is identified by the inode of a
 * folder and its path from there. */
typedef struct identity {
    dev_t device;
    ino_t inode;
    char *rest; /* "": the file exists */
} identity;

typedef struct listed_file {
    cli_role role;
    identity id;
    bool standard; /* standard input or output */
    char *text;    /* its name on the command line */
    char what[24]; /* "-o", "--weights", "the page" */
} listed_file;

struct cli_files {
    listed_file *entry;
    size_t count;
};

/* ---- which file it is ------------------------------------------------------------------------ */

const char *cli_file_of(const char *spec, char file[CLI_PATH])
{
    struct stat status;
    size_t length = tlnmf_io_file_length(spec);
    snprintf(file, CLI_PATH, "%s", spec);
    if (length < CLI_PATH && stat(file, &status) != 0)
        file[length] = '\0';
    return file;
}

const char *cli_extension(const char *path, char text[16])
{
    const char *dot = strrchr(path, '.');
    size_t length = 0;
    for (; dot != NULL && dot[length] != '\0' && length < 15; length++)
        text[length] = (char)tolower((unsigned char)dot[length]);
    text[length] = '\0';
    return text;
}

/* The folder of a path: "." for a plain name. */
static void folder_of(const char *path, char folder[CLI_PATH])
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    memmove(folder, slash == NULL ? "." : path, length); /* they may be the same */
    folder[length] = '\0';
}

int cli_lock_folder(const char *path)
{
    enum { TRIES = 1000 };
    char folder[CLI_PATH];
    if (strcmp(path, "-") == 0 || strlen(path) >= CLI_PATH)
        return -1;
    folder_of(path, folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < TRIES && flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return fd;
}

/* Follows links to a file that does not exist yet, which a writer would create. */
static void follow_links(char path[CLI_PATH])
{
    char target[CLI_PATH];
    for (int links = 0; links < 40; links++) {
        ssize_t size = readlink(path, target, sizeof target);
        if (size <= 0)
            return;
        const char *slash = strrchr(path, '/');
        size_t folder = slash == NULL || target[0] == '/' ? 0 : (size_t)(slash + 1 - path);
        if (folder + (size_t)size >= CLI_PATH)
            return;
        memcpy(path + folder, target, (size_t)size);
        path[folder + (size_t)size] = '\0';
    }
}

/* Finds the inode of the file or, if it does not exist, of the nearest folder above it that exists.
 * `rest` receives the rest of the path. False for devices, which cannot be overwritten. */
static bool identify(const char *spec, cli_role role, int descriptor, char rest[CLI_PATH],
                     identity *id)
{
    struct stat status;
    char at[CLI_PATH];
    rest[0] = '\0';
    if (role == CLI_READS || role == CLI_WRITES)
        cli_file_of(spec, at);
    else
        snprintf(at, sizeof at, "%s", spec);
    int found = descriptor >= 0 ? fstat(descriptor, &status) : stat(at, &status);
    if (found != 0 && descriptor < 0)
        follow_links(at);
    for (size_t length = strlen(at); found != 0 && descriptor < 0; length = strlen(at)) {
        while (length > 1 && at[length - 1] == '/')
            at[--length] = '\0';
        const char *slash = strrchr(at, '/'), *name = slash == NULL ? at : slash + 1;
        size_t size = strnlen(name, NAME_MAX), below = strnlen(rest, CLI_PATH - NAME_MAX - 2);
        memmove(rest + size + 1, rest, below);
        memcpy(rest, name, size);
        rest[size] = '/';
        rest[size + 1 + below] = '\0';
        folder_of(at, at);
        found = stat(at, &status);
        if (strcmp(at, ".") == 0 || strcmp(at, "/") == 0)
            break;
    }
    if (found != 0 || (rest[0] == '\0' && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))))
        return false;
    *id = (identity){status.st_dev, status.st_ino, rest};
    return true;
}

static bool is_same(const identity *a, const identity *b)
{
    return a->device == b->device && a->inode == b->inode && strcmp(a->rest, b->rest) == 0;
}

/* ---- the list -------------------------------------------------------------------------------- */

cli_files *cli_files_create(void)
{
    return calloc(1, sizeof(cli_files));
}

void cli_files_free(cli_files *files)
{
    for (size_t i = 0; files != NULL && i < files->count; i++) {
        free(files->entry[i].text);
        free(files->entry[i].id.rest);
    }
    if (files != NULL)
        free(files->entry);
    free(files);
}

/* Two entries are the same file. Fails if one use would destroy the other. */
static int compare(const cli_command *command, const listed_file *a, const listed_file *b)
{
    bool a_reads = a->role == CLI_READS, b_reads = b->role == CLI_READS;
    bool writes = a->role == CLI_WRITES || a->role == CLI_STAGES || b->role == CLI_WRITES ||
                  b->role == CLI_STAGES;
    bool prints = a->role == CLI_PRINTS || b->role == CLI_PRINTS;
    if (a_reads && b_reads && a->standard && b->standard)
        return cli_fail(command, EXIT_USAGE, "standard input can be read only once");
    if (a->role == CLI_WRITES && b->role == CLI_WRITES && a->standard && b->standard)
        return cli_fail(command, EXIT_USAGE, "%s and %s both go to standard output", a->what,
                        b->what);
    if ((a_reads && b_reads) ||
        (a->role == b->role && (a->role == CLI_SAVES || a->role == CLI_STAGES)) ||
        (a->role == CLI_FILLS) != (b->role == CLI_FILLS) ||
        (prints && (a->standard || b->standard) && !a_reads && !b_reads))
        return EXIT_DONE;
    if ((a_reads && (b->standard || prints)) || (b_reads && (a->standard || prints)))
        return cli_fail(command, EXIT_USAGE, "%s: standard output is redirected into this input",
                        a_reads ? a->text : b->text);
    if (a->role == CLI_FILLS)
        return cli_fail(command, EXIT_USAGE, "%s and %s would both be written into %s", a->what,
                        b->what, b->text);
    if ((a_reads || b_reads) && writes)
        return cli_fail(command, EXIT_USAGE, "%s: this output would replace an input",
                        a_reads ? b->text : a->text);
    return cli_fail(command, EXIT_USAGE, "%s and %s are the same file: %s", a->what, b->what,
                    b->text);
}

/* The same file with the same purpose may be added again. */
static bool is_repeated(const listed_file *a, const listed_file *b)
{
    return a->role == b->role && !a->standard && strcmp(a->what, b->what) == 0 &&
           strcmp(a->text, b->text) == 0;
}

/* Whether the entry now has this identity: a folder of its path may have been created since it was
 * added. */
static bool is_now(const listed_file *old, const identity *id)
{
    char rest[CLI_PATH];
    identity now = old->id;
    if (now.rest[0] != '\0')
        identify(old->text, old->role, -1, rest, &now);
    return is_same(&now, id);
}

static int add(const cli_call *call, const listed_file *new)
{
    cli_files *files = call->files;
    for (size_t i = 0; i < files->count; i++) {
        const listed_file *old = &files->entry[i];
        bool same =
            is_now(old, &new->id) || (old->standard && new->standard && old->role == new->role);
        int code = same && !is_repeated(old, new) ? compare(call->command, old, new) : EXIT_DONE;
        if (code != EXIT_DONE)
            return code;
    }
    listed_file *larger = realloc(files->entry, (files->count + 1) * sizeof *larger);
    if (larger == NULL)
        return cli_fail(call->command, EXIT_INTERNAL, "no memory");
    files->entry = larger;
    listed_file *last = &larger[files->count++];
    *last = *new;
    last->text = strdup(new->text);
    last->id.rest = strdup(new->id.rest);
    return last->text != NULL && last->id.rest != NULL
               ? EXIT_DONE
               : cli_fail(call->command, EXIT_INTERNAL, "no memory");
}

/* ---- whether an output can be written -------------------------------------------------------- */

static int check_folder(const cli_command *command, const char *path)
{
    char folder[CLI_PATH];
    folder_of(path, folder);
    if (access(folder, F_OK) != 0)
        return cli_fail(command, EXIT_OUTPUT, "%s: directory %s does not exist", path, folder);
    if (access(folder, W_OK | X_OK) != 0)
        return cli_fail(command, EXIT_OUTPUT, "%s: directory %s cannot be written: %s", path,
                        folder, strerror(errno));
    return EXIT_DONE;
}

static int refuse(const cli_command *command, const char *path)
{
    return cli_fail(command, EXIT_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
}

/* A file that exists is replaced with --force only, and never for a dataset: a file is written as a
 * whole, so its other datasets would be lost. A pipe or a device is written in place. */
static int check_output(const cli_command *command, const char *path, const char *spec)
{
    struct stat status;
    if (stat(path, &status) != 0) /* missing, or a name that is too long, a loop of links, .. */
        return errno == ENOENT ? check_folder(command, path) : refuse(command, path);
    if (S_ISDIR(status.st_mode))
        return cli_fail(command, EXIT_OUTPUT, "%s: is a directory", path);
    if (access(path, W_OK) != 0)
        return refuse(command, path);
    if (!S_ISREG(status.st_mode))
        return EXIT_DONE;
    if (strlen(path) < strlen(spec))
        return cli_fail(command, EXIT_OUTPUT,
                        "%s: exists already, and a dataset cannot be added to it; name a new file",
                        path);
    if (cli_asked.force == NULL)
        return cli_fail(command, EXIT_OUTPUT, "%s: exists already; --force replaces it", path);
    return check_folder(command, path);
}

/* A file in a folder that has been checked: a link there is replaced, not followed. */
static int check_staged(const cli_command *command, const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return errno == ENOENT || errno == ENOTDIR ? EXIT_DONE : refuse(command, path);
    if (S_ISDIR(status.st_mode))
        return cli_fail(command, EXIT_OUTPUT, "%s: is a directory", path);
    return S_ISREG(status.st_mode) && access(path, W_OK) != 0 ? refuse(command, path) : EXIT_DONE;
}

/* A checkpoint is a regular file: neither a link to another file nor a device. */
static int check_saved(const cli_command *command, const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return errno == ENOENT ? check_folder(command, path) : refuse(command, path);
    if (S_ISREG(status.st_mode))
        return EXIT_DONE;
    return cli_fail(command, EXIT_OUTPUT, "%s: a checkpoint must be a regular file, not a %s", path,
                    S_ISLNK(status.st_mode)    ? "link"
                    : S_ISDIR(status.st_mode)  ? "directory"
                    : S_ISFIFO(status.st_mode) ? "pipe"
                                               : "device");
}

int cli_file_add(const cli_call *call, cli_role role, const char *what, const char *spec)
{
    char file[CLI_PATH], rest[CLI_PATH] = "";
    listed_file new = {.role = role, .id.rest = rest};
    if (spec == NULL || !cli_is_first())
        return EXIT_DONE;
    bool output = role == CLI_WRITES || role == CLI_STAGES;
    if (output && spec[0] == '\0')
        return cli_fail(call->command, EXIT_OUTPUT, "the name of an output is empty");
    new.standard = strcmp(spec, "-") == 0 && (role == CLI_READS || role == CLI_WRITES);
    int descriptor = role == CLI_PRINTS || (new.standard &&output) ? STDOUT_FILENO
                     : new.standard                                ? STDIN_FILENO
                                                                   : -1;
    const char *path = role == CLI_READS || role == CLI_WRITES ? cli_file_of(spec, file) : spec;
    struct stat status;
    snprintf(new.what, sizeof new.what, "%s", what);
    new.text = (char *)(uintptr_t)spec;
    bool compared = identify(spec, role, descriptor, rest, &new.id);
    if (role == CLI_READS && !new.standard && stat(path, &status) != 0)
        compared = false; /* the reader has a better message */
    int code = compared || new.standard ? add(call, &new) : EXIT_DONE;
    if (code != EXIT_DONE || new.standard)
        return code;
    return role == CLI_WRITES   ? check_output(call->command, path, spec)
           : role == CLI_STAGES ? check_staged(call->command, path)
           : role == CLI_SAVES  ? check_saved(call->command, path)
                                : EXIT_DONE;
}

bool cli_is_input(const cli_call *call, const char *path)
{
    char rest[CLI_PATH];
    identity id;
    bool known = identify(path, CLI_STAGES, -1, rest, &id);
    for (size_t i = 0; known && i < call->files->count; i++) {
        cli_role role = call->files->entry[i].role;
        if ((role == CLI_READS || role == CLI_SAVES) && is_same(&call->files->entry[i].id, &id))
            return true;
    }
    return false;
}

bool cli_is_taken(const cli_call *call, const char *output)
{
    struct stat status;
    if (strcmp(output, "-") == 0 || stat(output, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    return cli_asked.force == NULL || cli_is_input(call, output);
}

/* ---- models ---------------------------------------------------------------------------------- */

int cli_reserve_model(const cli_call *call, const char *output, const tlnmf_data *data, int64_t K,
                      tlnmf_io_reservation **reserved)
{
    const int64_t rest = 1 << 16; /* summary, attributes, overhead of HDF5 */
    const tlnmf_record *sizes = tlnmf_data_record(data);
    int64_t M = tlnmf_record_get_integer(sizes, "M"), N = tlnmf_record_get_integer(sizes, "N");
    struct stat status;
    *reserved = NULL;
    if (output == NULL || !cli_is_first())
        return EXIT_DONE;
    if (stat(output, &status) == 0 && !S_ISREG(status.st_mode)) /* a pipe must be opened once */
        return EXIT_DONE;
    int64_t bytes = (M * M + K * (M + N)) * (int64_t)sizeof(double) + rest;
    return cli_check(call, tlnmf_io_reserve(call->ctx, output, bytes, reserved), NULL);
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

static int check_model_name(const cli_command *command, const char *output)
{
    struct stat status;
    char extension[16];
    bool is_special = stat(output, &status) == 0 && !S_ISREG(status.st_mode);
    if (strcmp(output, "-") == 0 || is_special || /* a pipe, /dev/null: HDF5 */
        (cli_has_word(" .h5 .hdf5 .hdf .mat .npz ", cli_extension(output, extension)) &&
         strlen(output) > strlen(extension)))
        return EXIT_DONE;
    return cli_fail(command, EXIT_USAGE, "%s: the name of a model must end in .h5, .mat or .npz",
                    output);
}

int cli_check_model_output(const cli_call *call, const char *output)
{
    if (output == NULL)
        return EXIT_DONE;
    if (strcmp(output, "-") == 0 && cli_asked.json != NULL)
        return cli_fail(call->command, EXIT_USAGE,
                        "--json and the model cannot both go to standard output");
    TRY(check_model_name(call->command, output));
    return cli_file_add(call, CLI_WRITES, "-o", output);
}
