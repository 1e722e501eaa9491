/* Report pages: what `report`, `fit` and `separate` share. */
#ifndef TLNMF_CLI_PAGES_H
#define TLNMF_CLI_PAGES_H

#include "cli/cli.h"

/* ---- the page (page.c) ----------------------------------------------------------------------- */

/* The name of the page beside a file: model.html for model.h5. NULL if that is too long. */
const char *cli_page_path(const char *model, char path[CLI_PATH]);

/* Adds V of the data to what a page knows, if the data are the model's own; `shown` says whether
 * they are. Not for a diagonalisation of whitened data. */
tlnmf_error cli_page_add_V(const cli_call *call, const tlnmf_record *model, const tlnmf_data *data,
                           tlnmf_record *about, bool *shown);
/* Adds a label track to what a page knows. */
tlnmf_error cli_page_add_labels(const cli_call *call, const tlnmf_record *track,
                                tlnmf_record *about);
/* Writes the page of a fit. */
tlnmf_error cli_page_of_fit(const cli_call *call, const cli_result *r);

/* ---- every start (paths.c) ------------------------------------------------------------------- */

/* The iterations of all starts, as a progress function sees them. */
typedef struct cli_paths {
    int64_t count, capacity;
    double *row; /* CLI_PATH_COLUMNS numbers each */
} cli_paths;
enum { CLI_PATH_COLUMNS = 7 };

int cli_paths_progress(const tlnmf_record *progress, void *user); /* user: a cli_paths */
/* Adds path.start, path.C, .. to the model, and frees the rows. */
tlnmf_error cli_paths_store(const cli_call *call, cli_paths *paths, tlnmf_record *model);

#endif
