/* The iterations of every start, kept while a fit runs, for the page to draw. */
#include "cli/pages/pages.h"

#include <stdlib.h>
#include <string.h>

static const char *const columns[CLI_PATH_COLUMNS] = {"start", "stage", "iteration", "C",
                                                      "L",     "I",     "seconds"};

/* As many rows as the page can use; starts beyond that are not drawn. */
enum { MOST = 100000 };

static bool grow(cli_paths *paths)
{
    if (paths->count < paths->capacity)
        return true;
    int64_t capacity = paths->capacity * 2 + 256;
    double *larger = realloc(paths->row, (size_t)capacity * CLI_PATH_COLUMNS * sizeof *paths->row);
    if (larger == NULL)
        return false;
    paths->row = larger;
    paths->capacity = capacity;
    return true;
}

static double stage_number(const char *stage)
{
    return strcmp(stage, "tl") == 0 ? 0.0 : strcmp(stage, "jd") == 0 ? 1.0 : 2.0;
}

int cli_paths_progress(const tlnmf_record *progress, void *user)
{
    cli_paths *paths = user;
    if (tlnmf_get_integer(progress, "complete") == 1 && paths->count < MOST && grow(paths)) {
        double *row = paths->row + CLI_PATH_COLUMNS * paths->count++;
        for (int c = 0; c < CLI_PATH_COLUMNS; c++)
            row[c] = c == 1 ? stage_number(tlnmf_get_text(progress, "stage"))
                            : tlnmf_get_real(progress, columns[c]);
    }
    return cli_progress(progress, NULL);
}

tlnmf_error cli_paths_store(const cli_call *call, cli_paths *paths, tlnmf_record *model)
{
    bool timeless = getenv("SOURCE_DATE_EPOCH") != NULL; /* and the order of starts is by chance */
    tlnmf_error error = TLNMF_OK;
    for (int c = 0; error == TLNMF_OK && paths->count > 0 && !timeless && c < CLI_PATH_COLUMNS;
         c++) {
        char name[32];
        double *x;
        snprintf(name, sizeof name, "path.%s", columns[c]);
        error = tlnmf_new_array(call->ctx, model, name, 1, &paths->count, &x);
        for (int64_t i = 0; error == TLNMF_OK && i < paths->count; i++)
            x[i] = paths->row[i * CLI_PATH_COLUMNS + c];
    }
    free(paths->row);
    *paths = (cli_paths){0};
    return error;
}
