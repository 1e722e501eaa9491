/* The staging folder DIR/.tlnmf-part: all outputs are complete in it before an old file is
 * replaced.
 *
 * Publishing writes a journal, moves the old files into the staging folder, also a page that has no
 * successor, then the new files into DIR, and removes the journal. The summary is the first file to
 * leave DIR and the last to enter it, so a folder that has one is complete. If a journal remains,
 * after a failure or a kill, the old files are restored. */
#include "cli/stems/stems.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL ".journal"

/* ---- files ----------------------------------------------------------------------------------- */

/* The entries of the folder `fd`, which stays open; NULL with errno. */
static DIR *open_entries(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    if (copy >= 0 && directory == NULL)
        close(copy);
    return directory;
}

/* Removes the files of the folder: outputs that were not published, or old files that were
 * replaced. */
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

static bool exists(int folder, const char *name)
{
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Size and time of a file, which a rename keeps. False with errno. */
enum { ID = 64 };
static bool identify(int folder, const char *name, char id[ID])
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    snprintf(id, ID, "%lld %lld.%09ld", (long long)status.st_size, (long long)status.st_mtim.tv_sec,
             status.st_mtim.tv_nsec);
    return true;
}

/* The name of an old file in the staging folder. */
enum { OLD = 300 };
static const char *old_name(const char *name, char old[OLD])
{
    snprintf(old, OLD, ".old.%s", name);
    return old;
}

/* ---- restoring ------------------------------------------------------------------------------- */

/* The staging folder, DIR, and the journal: the old page without a successor, if any, whose
 * identity is "", then the names of the new files and their identities. */
typedef struct shipment {
    int from, to;
    const char *retired; /* the page of an earlier run without a successor; or NULL */
    tlnmf_record *journal;
} shipment;

static const char *name_at(const shipment *s, size_t i)
{
    return tlnmf_record_get_text_at(s->journal, "names", i);
}

/* Whether DIR has new file number i. A file that was written or changed since is the user's. */
static bool is_published(const shipment *s, size_t i)
{
    const char *id = tlnmf_record_get_text_at(s->journal, "ids", i);
    char now[ID];
    return !exists(s->from, name_at(s, i)) && identify(s->to, name_at(s, i), now) && id != NULL &&
           strcmp(now, id) == 0;
}

/* Removes new file number i from DIR and restores the old one. */
static bool restore_one(const shipment *s, size_t i)
{
    char old[OLD];
    const char *name = name_at(s, i);
    if (name[0] == '.' || strchr(name, '/') != NULL) /* a forged journal */
        return true;
    bool published = is_published(s, i);
    if (exists(s->from, old_name(name, old)) && (published || !exists(s->to, name)))
        return renameat(s->from, old, s->to, name) == 0;
    return !published || unlinkat(s->to, name, 0) == 0;
}

static bool restore_all(const shipment *s)
{
    size_t count = 0;
    while (name_at(s, count) != NULL)
        count++;
    if (count == 0 || is_published(s, count - 1)) /* the summary: all are published */
        return true;
    for (size_t i = 0; i < count; i++)
        if (!restore_one(s, i))
            return false;
    fsync(s->to); /* some file systems do not support this */
    return true;
}

/* If a publication was begun and not completed, restores the old files. False with a message: they
 * stay in the staging folder. */
static bool restore(const cli_stems *stems)
{
    const cli_command *command = stems->call->command;
    shipment s = {.from = stems->stage};
    char path[CLI_PATH + sizeof JOURNAL];
    if (!exists(s.from, JOURNAL) && errno == ENOENT)
        return true;
    snprintf(path, sizeof path, "%s/%s", stems->staging, JOURNAL);
    if (tlnmf_io_read_record(stems->call->ctx, path, &s.journal) != TLNMF_OK) {
        cli_fail(command, EXIT_OUTPUT, "%s", tlnmf_message(stems->call->ctx));
        return false;
    }
    s.to = open(stems->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool restored = s.to >= 0 && restore_all(&s);
    if (!restored)
        cli_fail(command, EXIT_OUTPUT,
                 "%s: cannot restore the old files: %s; the next run into %s restores them",
                 stems->staging, strerror(errno), stems->directory);
    tlnmf_record_free(s.journal);
    if (s.to >= 0)
        close(s.to);
    return restored;
}

/* ---- opening and closing --------------------------------------------------------------------- */

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

static void leave(cli_stems *stems)
{
    cli_forget_temporary(stems->staging);
    close(stems->stage);
    stems->stage = -1;
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
    bool opened = stems->stage >= 0, restored = opened && restore(stems);
    if (opened)
        cli_remember_temporary(stems->staging);
    if (restored)
        purge(stems->stage);
    else if (opened)
        leave(stems);
    cli_guard_end();
    if (opened)
        return restored ? EXIT_DONE : EXIT_OUTPUT;
    if (why == EWOULDBLOCK)
        return cli_fail(command, EXIT_OUTPUT, "%s: another run is writing into it",
                        stems->directory);
    return cli_fail(command, EXIT_OUTPUT, "%s: %s", stems->staging, strerror(why));
}

void cli_stage_close(cli_stems *stems)
{
    if (stems->stage < 0)
        return;
    if (restore(stems)) {
        purge(stems->stage);
        rmdir(stems->staging);
    }
    leave(stems);
}

/* ---- publishing ------------------------------------------------------------------------------ */

static int fail(const cli_stems *stems, const char *name)
{
    return cli_fail(stems->call->command, EXIT_OUTPUT, "%s/%s: cannot write: %s", stems->directory,
                    name, strerror(errno));
}

static int is_output(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The summary is last. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    const char *x = (*a)->d_name, *y = (*b)->d_name;
    bool x_last = strcmp(x, "summary.json") == 0, y_last = strcmp(y, "summary.json") == 0;
    return x_last != y_last ? (int)x_last - (int)y_last : strcmp(x, y);
}

/* A new file takes the mode of the old file that it replaces. A directory is not replaced. A
 * symbolic link is replaced, not followed: it could lead anywhere. */
static int check_old(const cli_stems *stems, const shipment *s, const char *name)
{
    struct stat status;
    if (fstatat(s->to, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? EXIT_DONE : fail(stems, name);
    if (cli_asked.force == NULL) /* it has appeared during the run */
        return cli_fail(stems->call->command, EXIT_OUTPUT,
                        "%s/%s: exists already; --force replaces it", stems->directory, name);
    errno = EISDIR;
    return S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) &&
                                       fchmodat(s->from, name, status.st_mode & 0777, 0) != 0)
               ? fail(stems, name)
               : EXIT_DONE;
}

/* Writes the names and identities of the files. */
static tlnmf_error write_journal(const cli_stems *stems, shipment *s, struct dirent **entry,
                                 size_t new_count)
{
    tlnmf_ctx *ctx = stems->call->ctx;
    size_t retired = s->retired != NULL, count = retired + new_count;
    char path[CLI_PATH + sizeof JOURNAL];
    const char **text = calloc(2 * count + 1, sizeof *text); /* odd: never of size 0 */
    char(*id)[ID] = calloc(2 * count + 1, sizeof *id);
    if (text == NULL || id == NULL) {
        free(text);
        free(id);
        return tlnmf_fail(ctx, TLNMF_ERR_MEMORY, "no memory for the names of outputs");
    }
    tlnmf_error error = tlnmf_record_create(ctx, &s->journal);
    for (size_t i = 0; error == TLNMF_OK && i < count; i++) {
        text[i] = i < retired ? s->retired : entry[i - retired]->d_name;
        text[count + i] = id[i];
        if (i >= retired && !identify(s->from, text[i], id[i]))
            error = tlnmf_fail(ctx, TLNMF_ERR_OUTPUT, strerror(errno));
    }
    if (error == TLNMF_OK)
        error = tlnmf_record_set_texts(ctx, s->journal, "names", text, count);
    if (error == TLNMF_OK)
        error = tlnmf_record_set_texts(ctx, s->journal, "ids", text + count, count);
    snprintf(path, sizeof path, "%s/%s", stems->staging, JOURNAL);
    if (error == TLNMF_OK)
        error = tlnmf_io_write_record(ctx, path, s->journal);
    free(text);
    free(id);
    return error;
}

/* Moves the old files out of DIR, the summary first, then the new files into it, the summary last.
 * On failure the journal remains, and cli_stage_close() restores the old files. */
static int ship(const cli_stems *stems, const shipment *s, size_t new_count)
{
    size_t retired = s->retired != NULL, count = retired + new_count;
    char old[OLD];
    for (size_t i = count; i-- > 0;)
        if (renameat(s->to, name_at(s, i), s->from, old_name(name_at(s, i), old)) != 0 &&
            errno != ENOENT)
            return fail(stems, name_at(s, i));
    for (size_t i = retired; i < count; i++) {
        if (i == count - 1)
            fsync(s->to); /* some file systems do not support this */
        if (renameat(s->from, name_at(s, i), s->to, name_at(s, i)) != 0)
            return fail(stems, name_at(s, i));
    }
    fsync(s->to);
    unlinkat(s->from, JOURNAL, 0);
    return EXIT_DONE;
}

/* The page that tlnmf wrote earlier in `folder`, if this run, with --force, neither writes nor
 * reads it: it must not describe the stems of another run. NULL: there is none. */
static const char *old_page(const cli_stems *stems, int folder)
{
    static const char page[] = "report.html";
    char path[CLI_PATH], head[2048];
    struct stat status;
    int size = snprintf(path, sizeof path, "%s/%s", stems->directory, page);
    if (cli_asked.force == NULL || size >= CLI_PATH || cli_is_input(stems->call, path) ||
        fstatat(stems->stage, page, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return NULL;
    int fd = openat(folder, page, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    bool plain = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t length = plain ? read(fd, head, sizeof head - 1) : 0;
    close(fd);
    head[length < 0 ? 0 : length] = '\0';
    return strstr(head, "<meta name=\"generator\" content=\"tlnmf ") != NULL ? page : NULL;
}

int cli_stage_publish(const cli_stems *stems)
{
    shipment s = {.from = stems->stage,
                  .to = open(stems->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    struct dirent **entry = NULL;
    int count = s.to < 0 ? -1 : scandir(stems->staging, &entry, is_output, by_name);
    int code = count < 0 ? cli_fail(stems->call->command, EXIT_OUTPUT, "%s: %s", stems->directory,
                                    strerror(errno))
                         : EXIT_DONE;
    for (int i = 0; code == EXIT_DONE && i < count; i++)
        code = check_old(stems, &s, entry[i]->d_name);
    if (code == EXIT_DONE && count >= 0) { /* the analyser needs the second part */
        s.retired = old_page(stems, s.to);
        code = cli_check(stems->call, write_journal(stems, &s, entry, (size_t)count), NULL);
    }
    if (code == EXIT_DONE)
        code = ship(stems, &s, (size_t)count);
    if (code == EXIT_DONE && s.retired != NULL)
        cli_say(stems->call->command, "%s: removed the page %s of an earlier run", stems->directory,
                s.retired);
    for (int i = 0; i < count; i++)
        free(entry[i]);
    free(entry);
    tlnmf_record_free(s.journal);
    if (s.to >= 0)
        close(s.to);
    return code;
}
