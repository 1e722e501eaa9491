/* The cells of a reproduction: planned, read back, run, stored; and the folder they are in. */
#include "paper/commands/reproduce.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int rep_no_memory(const rep *r)
{
    return cli_fail(r->call->command, EXIT_INTERNAL, "no memory");
}

int rep_fail(rep *r, tlnmf_error error)
{
    return cli_fail_library(r->call, error, r->at_work == NULL ? NULL : r->at_work->name);
}

static void path_of(const rep *r, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", r->folder, name);
}

int rep_publish(rep *r, const char *name, const char *bytes, size_t size)
{
    char path[4096];
    io_error err;
    path_of(r, name, path, sizeof path);
    return io_publish(path, bytes, size, &err) ? EXIT_DONE : cli_fail_io(r->call->command, &err);
}

/* ---- the plan -------------------------------------------------------------------------------- */

static rep_cell *find(const rep *r, const char *name)
{
    for (int i = 0; i < r->cell_count; i++)
        if (strcmp(r->cells[i].name, name) == 0)
            return &r->cells[i];
    return NULL;
}

void rep_add(rep *r, const rep_cell *cell)
{
    if (find(r, cell->name) != NULL)
        return;
    if (r->cell_count == r->cell_room) {
        int room = 2 * r->cell_room + 16;
        rep_cell *more = realloc(r->cells, (size_t)room * sizeof *more);
        if (more == NULL) {
            r->failed = true;
            return;
        }
        r->cells = more;
        r->cell_room = room;
    }
    r->cells[r->cell_count++] = *cell;
}

const json_t *rep_result(const rep *r, const char *name)
{
    const rep_cell *cell = find(r, name);
    return cell == NULL ? NULL : cell->result;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The bytes of a file of the folder; *bytes is NULL when there is no such file. */
static int read_file(rep *r, const char *name, char *path, size_t room, unsigned char **bytes,
                     size_t *size)
{
    struct stat status;
    io_error err;
    *bytes = NULL;
    path_of(r, name, path, room);
    if (lstat(path, &status) != 0 && errno == ENOENT)
        return EXIT_DONE;
    if (!S_ISREG(status.st_mode))
        return cli_fail(r->call->command, EXIT_INPUT, "%s: is not a file: remove it", path);
    return io_slurp(path, bytes, size, &err) ? EXIT_DONE : cli_fail_io(r->call->command, &err);
}

static json_t *parse(const unsigned char *bytes, size_t size)
{
    json_error_t why;
    json_t *object = json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

/* The object of a JSON file of the folder; *out is NULL when there is no such file. */
static int load(rep *r, const char *name, json_t **out)
{
    char path[4096];
    unsigned char *bytes;
    size_t size;
    *out = NULL;
    int code = read_file(r, name, path, sizeof path, &bytes, &size);
    if (code != EXIT_DONE || bytes == NULL)
        return code;
    *out = parse(bytes, size);
    free(bytes);
    return *out != NULL ? EXIT_DONE
                        : cli_fail(r->call->command, EXIT_INPUT,
                                   "%s: is not a JSON object: remove it", path);
}

static char *text_of(const json_t *object)
{
    return json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17) | JSON_SORT_KEYS);
}

static int store(rep *r, const char *name, const json_t *object)
{
    char *text = text_of(object);
    if (text == NULL)
        return rep_no_memory(r);
    int code = rep_publish(r, name, text, strlen(text));
    free(text);
    return code;
}

/* The checksum of POSIX's cksum. */
static uint32_t add_byte(uint32_t sum, unsigned char byte)
{
    sum ^= (uint32_t)byte << 24;
    for (int bit = 0; bit < 8; bit++)
        sum = sum << 1 ^ (sum >> 31 != 0 ? 0x04c11db7u : 0u);
    return sum;
}

static uint32_t checksum(const unsigned char *bytes, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum = add_byte(sum, bytes[i]);
    for (size_t length = size; length > 0; length >>= 8)
        sum = add_byte(sum, (unsigned char)(length & 0xff));
    return ~sum;
}

/* A cell's file: one line with its name and the checksum of the lines that follow, which hold the
 * result. What was computed once decides claims for ever, so that it must be what it was. */
static int store_cell(rep *r, const rep_cell *cell)
{
    char *text = text_of(cell->result), *whole = NULL, name[128];
    size_t room = text == NULL ? 0 : strlen(text) + 256;
    if (room > 0)
        whole = malloc(room);
    int code = EXIT_INTERNAL;
    if (whole != NULL) {
        int head = snprintf(whole, room, "\"result\": %s}\n", text);
        uint32_t sum = checksum((unsigned char *)whole, (size_t)head);
        head = snprintf(whole, room, "{\"cell\": \"%s\", \"check\": %lu,\n\"result\": %s}\n",
                        cell->name, (unsigned long)sum, text);
        snprintf(name, sizeof name, "cells/%s.json", cell->name);
        code = rep_publish(r, name, whole, (size_t)head);
    } else {
        rep_no_memory(r);
    }
    free(whole);
    free(text);
    return code;
}

/* The cell that is in these bytes, or NULL. */
static json_t *open_cell(const rep_cell *cell, const unsigned char *bytes, size_t size)
{
    json_t *whole = parse(bytes, size), *result = NULL;
    const unsigned char *line = memchr(bytes, '\n', size);
    const char *name = json_string_value(json_object_get(whole, "cell"));
    if (line != NULL && name != NULL && strcmp(name, cell->name) == 0) {
        size_t rest = size - (size_t)(line + 1 - bytes);
        const json_t *sum = json_object_get(whole, "check");
        if (json_is_integer(sum) && json_integer_value(sum) == (json_int_t)checksum(line + 1, rest))
            result = json_incref(json_object_get(whole, "result"));
    }
    json_decref(whole);
    return result;
}

static int load_cell(rep *r, rep_cell *cell)
{
    char path[4096], name[128];
    unsigned char *bytes;
    size_t size;
    snprintf(name, sizeof name, "cells/%s.json", cell->name);
    int code = read_file(r, name, path, sizeof path, &bytes, &size);
    if (code != EXIT_DONE || bytes == NULL)
        return code;
    cell->result = open_cell(cell, bytes, size);
    free(bytes);
    if (json_is_object(cell->result))
        return EXIT_DONE;
    return cli_fail(r->call->command, EXIT_INPUT, "%s: is damaged: remove it", path);
}

static int make_folder(const rep *r, const char *path)
{
    struct stat status;
    if (mkdir(path, 0777) == 0)
        return EXIT_DONE;
    if (errno == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return EXIT_DONE;
    return cli_fail(r->call->command, EXIT_OUTPUT, "%s: cannot be made: %s", path,
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

static json_t *manifest(const rep *r)
{
    enum { REVISION = 2 }; /* to be raised when a change alters results within a version */
    return json_pack("{s:s, s:s, s:i, s:s, s:b}", "format", "tlnmf reproduce", "version",
                     tlnmf_version(), "revision", REVISION, "blas", tlnmf_blas(), "quick",
                     r->quick);
}

/* Results of another version or kind of run do not belong together with ours. */
static int compare(const rep *r, const json_t *ours, const json_t *theirs)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)ours, key, value)
    {
        const json_t *other = json_object_get(theirs, key);
        if (other != NULL && json_equal((json_t *)(uintptr_t)other, value))
            continue;
        char *mine = json_dumps(value, JSON_ENCODE_ANY), *its = NULL;
        if (other != NULL)
            its = json_dumps(other, JSON_ENCODE_ANY);
        int code =
            cli_fail(r->call->command, EXIT_INPUT,
                     "%s: its results have %s = %s, this run has %s: choose another -o", r->folder,
                     key, its == NULL ? "nothing" : its, mine == NULL ? "" : mine);
        free(mine);
        free(its);
        return code;
    }
    return EXIT_DONE;
}

static int check_manifest(rep *r)
{
    json_t *theirs, *ours = manifest(r);
    if (ours == NULL)
        return rep_no_memory(r);
    int code = load(r, "manifest.json", &theirs);
    if (code == EXIT_DONE && theirs != NULL)
        code = compare(r, ours, theirs);
    else if (code == EXIT_DONE && !is_empty(r->folder))
        code = cli_fail(r->call->command, EXIT_OUTPUT,
                        "%s: is not empty, and no folder of results: choose another -o", r->folder);
    if (code == EXIT_DONE) /* also shows, before a long run, that the folder can be written */
        code = store(r, "manifest.json", ours);
    json_decref(theirs);
    json_decref(ours);
    return code;
}

int rep_open(rep *r)
{
    char path[4096];
    if (strlen(r->folder) > sizeof path - 128)
        return cli_fail(r->call->command, EXIT_OUTPUT, "the name of the folder is too long");
    int code = make_folder(r, r->folder);
    if (code == EXIT_DONE)
        code = check_manifest(r);
    path_of(r, "cells", path, sizeof path);
    if (code == EXIT_DONE)
        code = make_folder(r, path);
    for (int i = 0; code == EXIT_DONE && i < r->cell_count; i++)
        code = load_cell(r, &r->cells[i]);
    return code;
}

/* ---- running --------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Time left: the cost of what is left, at the speed so far. */
static void show(rep *r)
{
    double left = 0.0;
    int done = 0;
    for (int i = 0; i < r->cell_count; i++) {
        left += r->cells[i].result == NULL ? r->cells[i].cost : 0.0;
        done += r->cells[i].result != NULL;
    }
    double passed = now() - r->since;
    double pace = r->cost_done > 0.0 ? passed / (r->cost_done + 0.5 * r->at_work->cost) : 1.0;
    char text[160];
    snprintf(text, sizeof text, "%d of %d: %s, %.0f s so far, about %.0f s left", done + 1,
             r->cell_count, r->at_work->name, passed, fmax(1.0, left * pace));
    cli_progress_show(text);
}

int rep_progress(const tlnmf_progress *progress, void *user)
{
    rep *r = user;
    (void)progress;
    show(r);
    return cli_interrupted();
}

static int run_cell(rep *r, rep_cell *cell)
{
    json_t *out = json_object();
    if (out == NULL)
        return rep_no_memory(r);
    r->at_work = cell;
    show(r);
    double since = now();
    int code = cell->run(r, cell, out);
    double seconds = getenv("SOURCE_DATE_EPOCH") != NULL ? 0.0 : now() - since;
    json_object_set_new(out, "seconds", json_real(seconds));
    r->cost_done += cell->cost;
    if (code == EXIT_DONE) {
        cell->result = json_incref(out);
        code = store_cell(r, cell);
    }
    if (code == EXIT_DONE && cli_common_values.verbose != NULL) {
        cli_progress_clear();
        fprintf(stderr, "tlnmf reproduce: %s, %.1f s\n", cell->name, seconds);
    }
    r->at_work = NULL;
    json_decref(out);
    return code;
}

int rep_run_cells(rep *r)
{
    int code = EXIT_DONE;
    r->since = now();
    for (int i = 0; code == EXIT_DONE && i < r->cell_count; i++)
        if (r->cells[i].result == NULL)
            code = cli_interrupted() ? EXIT_INTERRUPTED : run_cell(r, &r->cells[i]);
    cli_progress_clear();
    if (code == EXIT_INTERRUPTED)
        fprintf(stderr, "tlnmf reproduce: stopped; the same command continues from here\n");
    return code;
}
