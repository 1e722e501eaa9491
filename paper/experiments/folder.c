/* The folder of a reproduction: its files, and the checkpoint with the results of finished cells.
 */
#include "paper/experiments/reproduce.h"
#include "tlnmf/io.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char PREFIX[] = "cell.", REPORTED[] = "reported.";

/* A file of the folder; rep_open refuses folders for whose files this is too short. */
typedef struct file_path {
    char text[4096];
} file_path;

static file_path path_of(const rep *r, const char *name)
{
    file_path path;
    snprintf(path.text, sizeof path.text, "%s/%s", r->folder, name);
    return path;
}

int rep_publish(rep *r, const char *name, const char *bytes, size_t size)
{
    file_path path = path_of(r, name);
    cli_guard_begin();
    tlnmf_error error = tlnmf_io_write_file(r->call->ctx, path.text, bytes, size);
    cli_guard_end();
    if (json_array_append_new(r->files, json_string(name)) != 0)
        r->failed = true;
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(r->call, error, NULL);
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* The identity of all cells of a folder; the first process also reads the finished ones. */
static int begin_cells(rep *r)
{
    enum { REVISION = 4 }; /* to be raised when a change alters results within a version */
    tlnmf_ctx *ctx = r->call->ctx;
    char text[512];
    if (r->finished != NULL)
        return EXIT_DONE;
    snprintf(text, sizeof text, "version=%s revision=%d quick=%s blas=%s", tlnmf_version(),
             REVISION, r->quick ? "true" : "false", tlnmf_blas());
    tlnmf_error error = tlnmf_record_create(ctx, &r->finished);
    if (error == TLNMF_OK)
        error = tlnmf_join_states(ctx, r->finished, NULL);
    if (error == TLNMF_OK)
        error = tlnmf_record_set_text(ctx, r->finished, "cells.identity", text);
    return error == TLNMF_OK ? rep_merge_cells(r) : rep_check(r, error);
}

int rep_merge_cells(rep *r)
{
    return cli_checkpoint_merge(r->call, path_of(r, "cells.checkpoint").text, r->finished);
}

int rep_store_cell(rep *r, const rep_cell *cell)
{
    char name[sizeof PREFIX + sizeof cell->name];
    char *text = json_dumps(cell->result, JSON_REAL_PRECISION(17) | JSON_SORT_KEYS);
    int code = text == NULL ? rep_no_memory(r) : begin_cells(r);
    snprintf(name, sizeof name, "%s%s", PREFIX, cell->name);
    if (code == EXIT_DONE)
        code = rep_check(r, tlnmf_record_set_text(r->call->ctx, r->finished, name, text));
    free(text);
    return code == EXIT_DONE ? cli_checkpoint_write(r->call, r->finished) : code;
}

int rep_take_results(rep *r)
{
    for (int i = 0; i < r->cell_count; i++) {
        char name[sizeof PREFIX + sizeof r->cells[i].name];
        snprintf(name, sizeof name, "%s%s", PREFIX, r->cells[i].name);
        const char *text = tlnmf_record_get_text(r->finished, name);
        if (text == NULL || r->cells[i].result != NULL)
            continue;
        r->cells[i].result = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(r->cells[i].result))
            return cli_fail(r->call->command, EXIT_INPUT, "%s: cell %s is damaged", r->folder,
                            r->cells[i].name);
    }
    return EXIT_DONE;
}

int rep_keep_parts(rep *r, const char *experiment, unsigned *parts)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", REPORTED, experiment);
    int64_t earlier = tlnmf_record_get_integer(r->finished, name); /* negative: none */
    if (earlier > 0)
        *parts |= (unsigned)earlier;
    if (*parts == 0)
        return EXIT_DONE;
    return rep_check(r, tlnmf_record_set_integer(r->call->ctx, r->finished, name, *parts));
}

/* ---- the folder ------------------------------------------------------------------------------ */

static int make_folder(const rep *r, const char *path)
{
    struct stat status;
    if (mkdir(path, 0777) == 0)
        return EXIT_DONE;
    if (errno == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return EXIT_DONE;
    return cli_fail(r->call->command, EXIT_OUTPUT, "%s: cannot be created: %s", path,
                    errno == EEXIST ? "there is a file of that name" : strerror(errno));
}

/* Hidden files do not count: a run that was killed while writing may have left one. */
static bool is_empty(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    bool empty = folder != NULL;
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        empty = empty && entry->d_name[0] == '.';
    if (folder != NULL)
        closedir(folder);
    return empty;
}

int rep_open(rep *r)
{
    struct stat status;
    file_path cells = path_of(r, "cells.checkpoint");
    if (strlen(r->folder) > sizeof(file_path) - 128) /* 128: the longest name in it */
        return cli_fail(r->call->command, EXIT_OUTPUT, "the name of the folder is too long");
    int code = make_folder(r, r->folder);
    if (code == EXIT_DONE)
        code = cli_file_add(r->call, CLI_SAVES, "the checkpoint", cells.text);
    if (code == EXIT_DONE && lstat(cells.text, &status) != 0 && !is_empty(r->folder))
        code =
            cli_fail(r->call->command, EXIT_OUTPUT,
                     "%s: is neither empty nor a folder of results: choose another -o", r->folder);
    if (code == EXIT_DONE)
        code = begin_cells(r);
    if (code == EXIT_DONE) /* shows, before a long run, that the folder can be written */
        code = cli_checkpoint_write(r->call, r->finished);
    return code == EXIT_DONE ? rep_take_results(r) : code;
}
