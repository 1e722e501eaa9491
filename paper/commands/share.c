/* Cells of a reproduction shared out over processes: who runs which, and their results to all. */
#include "paper/commands/reproduce.h"

#include <stdlib.h>
#include <string.h>

/* ---- who runs which -------------------------------------------------------------------------- */

/* The cell of this stage with the largest cost that nobody has been given yet, or NULL. */
static rep_cell *costliest(const rep *r, int stage)
{
    rep_cell *most = NULL;
    for (int i = 0; i < r->cell_count; i++) {
        rep_cell *cell = &r->cells[i];
        if (cell->stage == stage && cell->result == NULL && cell->process < 0 &&
            (most == NULL || cell->cost > most->cost))
            most = cell;
    }
    return most;
}

/* The process with the least work so far. */
static int32_t idlest(const double *load, int32_t size)
{
    int32_t least = 0;
    for (int32_t i = 1; i < size; i++)
        least = load[i] < load[least] ? i : least;
    return least;
}

/* The costliest cell first, each to the process with the least work. All processes know the same
 * costs, and come to the same end. */
int rep_share_out(rep *r, int stage)
{
    const int32_t size = cli_machines_values.size;
    double *load = calloc((size_t)size, sizeof *load);
    if (load == NULL)
        return rep_no_memory(r);
    rep_cell *cell;
    while ((cell = costliest(r, stage)) != NULL) {
        cell->process = idlest(load, size);
        load[cell->process] += cell->cost;
    }
    free(load);
    return EXIT_DONE;
}

/* ---- results to all -------------------------------------------------------------------------- */

/* A text of process `root` to all; NULL, and r->failed, where there is no memory for it. */
static char *send_text(rep *r, const char *text, int32_t root)
{
    enum { PIECE = 4096 };
    const cli_machines *m = &cli_machines_values;
    double length = text == NULL ? 0.0 : (double)strlen(text), piece[PIECE];
    if (m->broadcast(&length, 1, root, m->user) != 0)
        return NULL;
    size_t size = (size_t)length;
    char *copy = malloc(size + 1);
    for (size_t at = 0; at < size; at += PIECE) {
        size_t count = size - at < PIECE ? size - at : PIECE;
        for (size_t i = 0; i < count; i++)
            piece[i] = text != NULL ? (double)(unsigned char)text[at + i] : 0.0;
        if (m->broadcast(piece, (int64_t)count, root, m->user) != 0)
            break;
        for (size_t i = 0; copy != NULL && i < count; i++)
            copy[at + i] = (char)(unsigned char)piece[i];
    }
    if (copy != NULL)
        copy[size] = '\0';
    else
        r->failed = true;
    return copy;
}

/* A result that one process has, to the others. */
static void send_result(rep *r, rep_cell *cell, int32_t root)
{
    bool is_here = cli_machines_values.rank == root;
    char *text = is_here ? json_dumps(cell->result, JSON_REAL_PRECISION(17)) : NULL;
    char *copy = send_text(r, text, root);
    if (!is_here && copy != NULL)
        cell->result = json_loads(copy, 0, NULL);
    r->failed = r->failed || !json_is_object(cell->result);
    free(copy);
    free(text);
}

int rep_send_found(rep *r)
{
    int code = EXIT_DONE;
    if (cli_machines_values.size == 1)
        return EXIT_DONE;
    for (int i = 0; i < r->cell_count; i++) {
        double found = r->cells[i].result != NULL;
        cli_machines_values.broadcast(&found, 1, 0, cli_machines_values.user);
        if (found != 0.0)
            send_result(r, &r->cells[i], 0);
    }
    if (r->failed)
        code = rep_no_memory(r);
    return cli_agree(code);
}

/* What the first process has not said yet, as the others are silent. */
static void tell(const rep_cell *cell)
{
    if (cli_is_first() && cell->process > 0 && cli_common_values.verbose != NULL)
        rep_tell(cell);
}

int rep_send_stage(rep *r, int stage)
{
    int code = EXIT_DONE;
    if (cli_machines_values.size == 1)
        return EXIT_DONE;
    for (int i = 0; i < r->cell_count; i++) {
        rep_cell *cell = &r->cells[i];
        if (cell->stage != stage || cell->process < 0)
            continue;
        send_result(r, cell, cell->process);
        tell(cell);
    }
    if (r->failed)
        code = rep_no_memory(r);
    return cli_agree(code);
}
