/* The folder of a reproduction: its manifest, and the files of its cells with their checksums. */
#include "paper/commands/reproduce.h"
#include "tlnmf/io.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static file_path cell_path(const rep *r, const rep_cell *cell)
{
    char name[128];
    snprintf(name, sizeof name, "cells/%s.json", cell->name);
    return path_of(r, name);
}

static int publish(const rep *r, const file_path *path, const char *bytes, size_t size)
{
    cli_guard_begin();
    tlnmf_error error = tlnmf_io_write_file(r->call->ctx, path->text, bytes, size);
    cli_guard_end();
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(r->call, error, NULL);
}

int rep_publish(rep *r, const char *name, const char *bytes, size_t size)
{
    file_path path = path_of(r, name);
    return publish(r, &path, bytes, size);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct contents {
    char *bytes; /* NULL: there is no such file */
    size_t size;
} contents;

static int fail_to_read(const rep *r, const char *path, const char *why)
{
    return cli_fail(r->call->command, EXIT_INPUT, "%s: %s", path, why);
}

/* All bytes of a regular file that has `size` of them. */
static int read_bytes(const rep *r, const char *path, size_t size, contents *out)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fail_to_read(r, path, strerror(errno));
    int code = EXIT_DONE;
    out->bytes = malloc(size + 1);
    if (out->bytes == NULL) {
        code = rep_no_memory(r);
    } else {
        out->size = fread(out->bytes, 1, size, file);
        if (ferror(file))
            code = fail_to_read(r, path, strerror(errno));
    }
    fclose(file);
    if (code != EXIT_DONE) {
        free(out->bytes);
        *out = (contents){0};
    }
    return code;
}

static int read_file(const rep *r, const char *path, contents *out)
{
    struct stat status;
    *out = (contents){0};
    if (lstat(path, &status) != 0)
        return errno == ENOENT ? EXIT_DONE : fail_to_read(r, path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return fail_to_read(r, path, "is not a file: remove it");
    return read_bytes(r, path, (size_t)status.st_size, out);
}

static json_t *parse(const contents *c)
{
    json_error_t why;
    json_t *object = json_loadb(c->bytes, c->size, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

static char *text_of(const json_t *object)
{
    return json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17) | JSON_SORT_KEYS);
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* The checksum of POSIX's cksum. */
static uint32_t add_byte(uint32_t sum, unsigned char byte)
{
    sum ^= (uint32_t)byte << 24;
    for (int bit = 0; bit < 8; bit++)
        sum = sum << 1 ^ (sum >> 31 != 0 ? 0x04c11db7u : 0u);
    return sum;
}

static uint32_t checksum(const char *bytes, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum = add_byte(sum, (unsigned char)bytes[i]);
    for (size_t length = size; length > 0; length >>= 8)
        sum = add_byte(sum, (unsigned char)(length & 0xff));
    return ~sum;
}

/* A cell's file: one line with its name and the checksum of the lines that follow, which hold the
 * result. Claims are decided by what was computed once, so it must be what it was. */
int rep_store_cell(rep *r, const rep_cell *cell)
{
    char *text = text_of(cell->result), *whole = NULL;
    size_t size = text == NULL ? 0 : strlen(text) + 256; /* more than enough for the first line */
    if (size > 0)
        whole = malloc(size);
    int code;
    if (whole != NULL) {
        int length = snprintf(whole, size, "\"result\": %s}\n", text);
        uint32_t sum = checksum(whole, (size_t)length);
        length = snprintf(whole, size, "{\"cell\": \"%s\", \"check\": %lu,\n\"result\": %s}\n",
                          cell->name, (unsigned long)sum, text);
        file_path path = cell_path(r, cell);
        code = publish(r, &path, whole, (size_t)length);
    } else {
        code = rep_no_memory(r);
    }
    free(whole);
    free(text);
    return code;
}

/* The result of the cell whose file holds these bytes, or NULL. */
static json_t *open_cell(const rep_cell *cell, const contents *c)
{
    json_t *whole = parse(c), *result = NULL;
    const char *line = memchr(c->bytes, '\n', c->size);
    const char *name = json_string_value(json_object_get(whole, "cell"));
    if (line != NULL && name != NULL && strcmp(name, cell->name) == 0) {
        size_t rest = c->size - (size_t)(line + 1 - c->bytes);
        const json_t *sum = json_object_get(whole, "check");
        if (json_is_integer(sum) && json_integer_value(sum) == (json_int_t)checksum(line + 1, rest))
            result = json_incref(json_object_get(whole, "result"));
    }
    json_decref(whole);
    return result;
}

static int load_cell(const rep *r, rep_cell *cell)
{
    contents c;
    file_path path = cell_path(r, cell);
    int code = read_file(r, path.text, &c);
    if (code != EXIT_DONE || c.bytes == NULL)
        return code;
    cell->result = open_cell(cell, &c);
    free(c.bytes);
    return json_is_object(cell->result) ? EXIT_DONE
                                        : fail_to_read(r, path.text, "is damaged: remove it");
}

/* ---- the folder and its manifest ------------------------------------------------------------- */

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

static json_t *manifest_of(const rep *r)
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

/* The manifest that is there; *out is NULL if there is none. */
static int load_manifest(const rep *r, json_t **out)
{
    contents c;
    file_path path = path_of(r, "manifest.json");
    *out = NULL;
    int code = read_file(r, path.text, &c);
    if (code != EXIT_DONE || c.bytes == NULL)
        return code;
    *out = parse(&c);
    free(c.bytes);
    return *out != NULL ? EXIT_DONE : fail_to_read(r, path.text, "is not a JSON object: remove it");
}

static int store_manifest(rep *r, const json_t *manifest)
{
    char *text = text_of(manifest);
    if (text == NULL)
        return rep_no_memory(r);
    int code = rep_publish(r, "manifest.json", text, strlen(text));
    free(text);
    return code;
}

static int check_manifest(rep *r)
{
    json_t *theirs, *ours = manifest_of(r);
    if (ours == NULL)
        return rep_no_memory(r);
    int code = load_manifest(r, &theirs);
    if (code == EXIT_DONE && theirs != NULL)
        code = compare(r, ours, theirs);
    else if (code == EXIT_DONE && !is_empty(r->folder))
        code = cli_fail(r->call->command, EXIT_OUTPUT,
                        "%s: is not empty, and no folder of results: choose another -o", r->folder);
    if (code == EXIT_DONE) /* also shows, before a long run, that the folder can be written */
        code = store_manifest(r, ours);
    json_decref(theirs);
    json_decref(ours);
    return code;
}

int rep_open(rep *r)
{
    if (strlen(r->folder) > sizeof(file_path) - 128) /* 128: the longest name in it */
        return cli_fail(r->call->command, EXIT_OUTPUT, "the name of the folder is too long");
    int code = make_folder(r, r->folder);
    if (code == EXIT_DONE)
        code = check_manifest(r);
    file_path cells = path_of(r, "cells");
    if (code == EXIT_DONE)
        code = make_folder(r, cells.text);
    for (int i = 0; code == EXIT_DONE && i < r->cell_count; i++)
        code = load_cell(r, &r->cells[i]);
    return code;
}
