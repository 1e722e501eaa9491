/* The checkpoints of processes that share out starts: FILE of the first, FILE.process1, ... of the
 * others. */
#include "cli/common/parts.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char WORD[] = ".process";

void cli_part_path(const char *file, int32_t number, char path[CLI_PART_PATH])
{
    if (number == 0)
        snprintf(path, CLI_PART_PATH, "%s", file);
    else
        snprintf(path, CLI_PART_PATH, "%s%s%d", file, WORD, (int)number);
}

/* The number in a name of a part, or of a temporary beside it that a killed process has left; 0 if
 * it is neither. */
static int32_t number_in(const char *name, const char *base)
{
    size_t length = strlen(base), word = strlen(WORD);
    bool temporary = name[0] == '.' && strncmp(name + 1, base, length) == 0;
    const char *at = name + (temporary ? length + 1 : length);
    if ((!temporary && strncmp(name, base, length) != 0) || strncmp(at, WORD, word) != 0)
        return 0;
    const char *digits = at + word, *end = digits + strspn(digits, "0123456789");
    bool ends = *end == (temporary ? '.' : '\0');
    if (!ends || digits[0] == '0' || end == digits || end - digits > 8)
        return 0;
    return (int32_t)strtol(digits, NULL, 10);
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static bool add(cli_parts *parts, int32_t number)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->number[i] == number)
            return true;
    int32_t *more = realloc(parts->number, (parts->count + 1) * sizeof *more);
    if (more == NULL)
        return false;
    parts->number = more;
    parts->number[parts->count++] = number;
    return true;
}

bool cli_parts_find(const char *file, cli_parts *out)
{
    char folder[CLI_PART_PATH];
    const char *slash = strrchr(file, '/'), *base = slash != NULL ? slash + 1 : file;
    const struct dirent *entry;
    bool ok = true;
    *out = (cli_parts){0};
    snprintf(folder, sizeof folder, "%.*s", (int)(base - file), file);
    DIR *d = opendir(folder[0] != '\0' ? folder : ".");
    while (d != NULL && ok && (entry = readdir(d)) != NULL) {
        int32_t number = number_in(entry->d_name, base);
        ok = number == 0 || add(out, number);
    }
    if (d != NULL)
        closedir(d);
    if (ok && out->count > 0)
        qsort(out->number, out->count, sizeof *out->number, by_number);
    return ok;
}

void cli_parts_free(cli_parts *parts)
{
    free(parts->number);
    *parts = (cli_parts){0};
}

void cli_parts_remove(const char *file, int32_t first)
{
    cli_parts parts;
    char path[CLI_PART_PATH];
    cli_parts_find(file, &parts); /* short of memory, it finds some */
    for (size_t i = 0; i < parts.count; i++)
        if (parts.number[i] >= first) {
            cli_part_path(file, parts.number[i], path);
            tlnmf_io_remove(path);
        }
    cli_parts_free(&parts);
    if (first == 0)
        tlnmf_io_remove(file);
}

/* Adds the state in a file, if it is there: a process may have been killed before it had one. */
static int add_file(const cli_call *call, const char *path, tlnmf_record *all)
{
    tlnmf_record *state = NULL;
    if (access(path, F_OK) != 0)
        return EXIT_DONE;
    tlnmf_error error = tlnmf_io_read_record(call->ctx, path, &state);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    error = tlnmf_join_states(call->ctx, all, state);
    tlnmf_record_free(state);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, path);
}

int cli_parts_read(const cli_call *call, const char *file, const cli_parts *parts,
                   tlnmf_record **all)
{
    char path[CLI_PART_PATH];
    *all = NULL;
    if (tlnmf_record_create(call->ctx, all) != TLNMF_OK)
        return cli_fail_library(call, TLNMF_ERR_MEMORY, NULL);
    int code = add_file(call, file, *all);
    for (size_t i = 0; code == EXIT_DONE && i < parts->count; i++) {
        cli_part_path(file, parts->number[i], path);
        code = add_file(call, path, *all);
    }
    if (code == EXIT_DONE && tlnmf_record_count(*all) > 0)
        return EXIT_DONE;
    tlnmf_record_free(*all);
    *all = NULL;
    return code;
}
