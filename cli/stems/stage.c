/* The staging folder DIR/.tlnmf-part: every output is whole in it before an old file is touched. */
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

/* Removes the files in it: those of a run that was killed, or old ones that were replaced. */
static void purge(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    if (directory == NULL) {
        if (copy >= 0)
            close(copy);
        return;
    }
    while ((entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(fd, entry->d_name, 0);
    closedir(directory);
}

/* Opens the folder and locks it; negative with errno, EWOULDBLOCK if another run has it. The lock
 * goes with the process, however that ends. A file system without locks does without. */
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
        /* The other run may have removed it between our two steps. */
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

/* A file on its way from the staging folder to DIR. */
typedef struct staged {
    char *name;
    bool replaces; /* an old file has this name */
    bool swapped;  /* which is in the staging folder now */
    bool moved;
} staged;

typedef struct shipment {
    int from, to;
    staged *file;
    size_t count;
} shipment;

/* The summary comes last: when it is there, all of it is. */
static int by_name(const void *a, const void *b)
{
    const char *x = ((const staged *)a)->name, *y = ((const staged *)b)->name;
    bool x_last = strcmp(x, "summary.json") == 0, y_last = strcmp(y, "summary.json") == 0;
    return x_last != y_last ? (int)x_last - (int)y_last : strcmp(x, y);
}

static bool add(shipment *s, const char *name)
{
    staged *larger = realloc(s->file, (s->count + 1) * sizeof *larger);
    if (larger == NULL)
        return false;
    s->file = larger;
    char *copy = strdup(name);
    if (copy == NULL)
        return false;
    s->file[s->count++] = (staged){.name = copy};
    return true;
}

static bool list(shipment *s)
{
    int copy = openat(s->from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    bool ok = directory != NULL;
    if (copy >= 0 && !ok)
        close(copy);
    while (ok && (entry = readdir(directory)) != NULL)
        ok = entry->d_name[0] == '.' || add(s, entry->d_name);
    if (directory != NULL)
        closedir(directory);
    if (s->count > 1)
        qsort(s->file, s->count, sizeof *s->file, by_name);
    return ok;
}

/* What is in the way keeps its mode; a directory is not replaced. A symbolic link is replaced, not
 * followed: it could lead anywhere. */
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

/* An old file changes places with the new one, so that it can come back. */
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

/* The index of the file that failed, with errno, or the count. */
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
    else if (!list(&s))
        code = cli_fail(command, EXIT_INTERNAL, "no memory for the names of the outputs");
    else {
        size_t failed = ship(&s);
        if (failed < s.count)
            code = cli_fail(command, EXIT_OUTPUT, "%s/%s: cannot write: %s", stems->directory,
                            s.file[failed].name, strerror(errno));
        else
            fsync(s.to); /* the renames are what counts: not every file system can do this */
    }
    for (size_t i = 0; i < s.count; i++)
        free(s.file[i].name);
    free(s.file);
    if (s.to >= 0)
        close(s.to);
    return code;
}
