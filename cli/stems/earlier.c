/* The outputs of an earlier run in the folder of stems. A run with --force removes those that it
 * does not write, so that all outputs in the folder belong to one run. */
#include "cli/stems/stems.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PAGE[] = "report.html";

typedef struct search {
    const cli_stems *stems;
    int folder;
    struct timespec end; /* when the earlier run wrote its summary, its last file */
    json_t *names;
} search;

/* Opens a plain file of the folder; negative if there is none. */
static int open_plain(const search *s, const char *name, struct stat *status)
{
    int fd = openat(s->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, status) == 0 && S_ISREG(status->st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The summary of the earlier run; NULL: there was none. */
static json_t *read_summary(search *s)
{
    enum { MOST = 1 << 26 };
    struct stat status;
    int fd = open_plain(s, "summary.json", &status);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (file == NULL) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    json_t *summary = status.st_size < MOST ? json_loadf(file, 0, NULL) : NULL;
    fclose(file);
    s->end = status.st_mtim;
    return summary;
}

/* Whether this run does not write the file, and does not read it either. */
static bool is_left(const search *s, const char *name, struct stat *status)
{
    char path[CLI_PATH];
    struct stat staged;
    int size = snprintf(path, sizeof path, "%s/%s", s->stems->directory, name);
    return size < CLI_PATH && name[0] != '.' && name[0] != '\0' &&
           fstatat(s->folder, name, status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status->st_mode) &&
           fstatat(s->stems->stage, name, &staged, AT_SYMLINK_NOFOLLOW) != 0 &&
           !cli_is_input(s->stems->call, path);
}

/* Adds a file that the summary names. One that was changed since is the user's. */
static void add(search *s, const json_t *path)
{
    struct stat status;
    const char *text = json_string_value(path), *slash = text == NULL ? NULL : strrchr(text, '/');
    const char *name = slash == NULL ? text : slash + 1;
    if (name == NULL || !is_left(s, name, &status))
        return;
    struct timespec changed = status.st_mtim;
    if (changed.tv_sec > s->end.tv_sec ||
        (changed.tv_sec == s->end.tv_sec && changed.tv_nsec > s->end.tv_nsec))
        cli_warn(s->stems->call->command,
                 "%s/%s: the earlier run wrote this file, but it was changed since; it is kept",
                 s->stems->directory, name);
    else
        json_array_append_new(s->names, json_string(name));
}

/* Adds the page if tlnmf wrote it, also if `tlnmf report` did, which the summary does not say. */
static void add_page(search *s)
{
    struct stat status;
    char head[2048];
    int fd = is_left(s, PAGE, &status) ? open_plain(s, PAGE, &status) : -1;
    if (fd < 0)
        return;
    ssize_t size = read(fd, head, sizeof head - 1);
    close(fd);
    head[size < 0 ? 0 : size] = '\0';
    if (strstr(head, "<meta name=\"generator\" content=\"tlnmf ") != NULL)
        json_array_append_new(s->names, json_string(PAGE));
}

json_t *cli_earlier_outputs(const cli_stems *stems, int folder)
{
    search s = {.stems = stems, .folder = folder, .names = json_array()};
    if (cli_asked.force == NULL)
        return s.names;
    json_t *summary = read_summary(&s);
    const json_t *files = json_object_get(summary, "stems");
    for (size_t i = 0; i < json_array_size(files); i++)
        add(&s, json_array_get(files, i));
    add(&s, json_object_get(summary, "activations"));
    add_page(&s);
    json_decref(summary);
    return s.names;
}
