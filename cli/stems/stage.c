/* The staging folder DIR/.tlnmf-part: all outputs are complete in it before an old file is
 * replaced. */
#define _GNU_SOURCE /* renameat2; NOLINT(bugprone-reserved-identifier) */
#include "cli/stems/stems.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening and closing --------------------------------------------------------------------- */

/* The entries of the folder `fd`, which stays open; NULL with errno. */
static DIR *open_entries(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    if (copy >= 0 && directory == NULL)
        close(copy);
    return directory;
}

/* Removes the files of the folder: left by a killed run, or old files that were replaced. */
static void purge(int fd)
{
    DIR *directory = open_entries(fd);
    const struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(fd, entry->d_name, 0);
    if (directory != NULL)
        closedir(directory);
}

/* Opens the folder and locks it until the process ends. On failure negative with errno, which is
 * EWOULDBLOCK if another run has locked it. A file system without locks is not an error. */
static int open_locked(const char *path)
{
    for (int attempt = 0; attempt < 8; attempt++) {
        struct stat status;
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return -1;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT)
            return -1;
        bool busy = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        /* Another run may have removed it since mkdir(). */
        bool here = fd >= 0 && fstat(fd, &status) == 0 && status.st_nlink > 0;
        if (here && !busy)
            return fd;
        if (fd >= 0)
            close(fd);
        if (busy)
            break;
    }
    errno = EWOULDBLOCK;
    return -1;
}

int cli_stage_open(cli_stems *stems)
{
    const cli_command *command = stems->call->command;
    int size = snprintf(stems->staging, CLI_PATH, "%s/%s", stems->directory, CLI_STAGE);
    if (size >= CLI_PATH)
        return cli_fail(command, EXIT_OUTPUT, "%s: the name is too long", stems->directory);
    cli_guard_begin();
    stems->stage = open_locked(stems->staging);
    int why = errno;
    if (stems->stage >= 0)
        cli_remember_temporary(stems->staging);
    cli_guard_end();
    if (stems->stage < 0 && why == EWOULDBLOCK)
        return cli_fail(command, EXIT_OUTPUT, "%s: another run is writing into it",
                        stems->directory);
    if (stems->stage < 0)
        return cli_fail(command, EXIT_OUTPUT, "%s: %s", stems->staging, strerror(why));
    purge(stems->stage);
    return EXIT_DONE;
}

void cli_stage_close(cli_stems *stems)
{
    if (stems->stage < 0)
        return;
    purge(stems->stage);
    cli_forget_temporary(stems->staging);
    rmdir(stems->staging);
    close(stems->stage);
    stems->stage = -1;
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* A file that moves from the staging folder to DIR. */
typedef struct staged {
    const char *name;
    bool replaces; /* an old file has this name */
    bool swapped;  /* the old file is in the staging folder now */
    bool moved;
} staged;

typedef struct shipment {
    int from, to;
    struct dirent **entry;
    staged *file;
    size_t count;
} shipment;

static int is_output(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The summary is last, so that its presence means that the result is complete. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    const char *x = (*a)->d_name, *y = (*b)->d_name;
    bool x_last = strcmp(x, "summary.json") == 0, y_last = strcmp(y, "summary.json") == 0;
    return x_last != y_last ? (int)x_last - (int)y_last : strcmp(x, y);
}

static bool list(shipment *s, const char *folder)
{
    int count = scandir(folder, &s->entry, is_output, by_name);
    s->count = count > 0 ? (size_t)count : 0;
    s->file = calloc(s->count + 1, sizeof *s->file); /* + 1: never of size 0 */
    for (size_t i = 0; s->file != NULL && i < s->count; i++)
        s->file[i].name = s->entry[i]->d_name;
    return count >= 0 && s->file != NULL;
}

/* A new file takes the mode of the old file that it replaces. A directory is not replaced. A
 * symbolic link is replaced, not followed: it could lead anywhere. */
static bool look(const shipment *s, staged *file)
{
    struct stat status;
    file->replaces = fstatat(s->to, file->name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!file->replaces)
        return errno == ENOENT;
    if (S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return false;
    }
    return !S_ISREG(status.st_mode) || fchmodat(s->from, file->name, status.st_mode & 0777, 0) == 0;
}

/* Exchanges an old file with the new one, so that undo() can restore it. */
static bool move(const shipment *s, staged *file)
{
#ifdef RENAME_EXCHANGE
    if (file->replaces)
        file->swapped = renameat2(s->from, file->name, s->to, file->name, RENAME_EXCHANGE) == 0;
#endif
    file->moved = file->swapped || renameat(s->from, file->name, s->to, file->name) == 0;
    return file->moved;
}

static void undo(const shipment *s)
{
    for (size_t i = s->count; i-- > 0;) {
        const staged *file = &s->file[i];
#ifdef RENAME_EXCHANGE
        if (file->swapped)
            renameat2(s->to, file->name, s->from, file->name, RENAME_EXCHANGE);
#endif
        if (file->moved && !file->replaces)
            unlinkat(s->to, file->name, 0);
    }
}

/* Moves all files or none. Returns the index of the file that failed, with errno, or the count. */
static size_t ship(const shipment *s)
{
    size_t i = 0;
    while (i < s->count && look(s, &s->file[i]))
        i++;
    if (i < s->count)
        return i;
    for (i = 0; i < s->count && move(s, &s->file[i]);)
        i++;
    if (i < s->count) {
        int why = errno;
        undo(s);
        errno = why;
    }
    return i;
}

int cli_stage_publish(const cli_stems *stems)
{
    const cli_command *command = stems->call->command;
    shipment s = {.from = stems->stage,
                  .to = open(stems->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    int code = EXIT_DONE;
    if (s.to < 0)
        code = cli_fail(command, EXIT_OUTPUT, "%s: %s", stems->directory, strerror(errno));
    else if (!list(&s, stems->staging))
        code = cli_fail(command, EXIT_INTERNAL, "no memory for the names of the outputs");
    else {
        size_t failed = ship(&s);
        if (failed < s.count)
            code = cli_fail(command, EXIT_OUTPUT, "%s/%s: cannot write: %s", stems->directory,
                            s.file[failed].name, strerror(errno));
        else
            fsync(s.to); /* some file systems do not support this; the files are in place */
    }
    for (size_t i = 0; i < s.count; i++)
        free(s.entry[i]);
    free(s.entry);
    free(s.file);
    if (s.to >= 0)
        close(s.to);
    return code;
}
