/* Distributes the cells of a reproduction over processes, and sends their results to all. */
#include "paper/experiments/reproduce.h"

#include <stdlib.h>
#include <string.h>

/* The unassigned cell of this stage with the largest cost, or NULL. */
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

/* Gives the costliest cell first, each to the process with the least work. All processes know the
 * same costs, so they make the same assignment. */
int rep_assign(rep *r, int stage)
{
    const int32_t size = cli_world.size;
    double *load = calloc((size_t)size, sizeof *load);
    if (load == NULL)
        return rep_no_memory(r);
    rep_cell *cell;
    while ((cell = costliest(r, stage)) != NULL) {
        int32_t least = 0;
        for (int32_t i = 1; i < size; i++)
            least = load[i] < load[least] ? i : least;
        cell->process = least;
        load[least] += cell->cost;
    }
    free(load);
    return EXIT_DONE;
}

/* Sends a text from process `root` to all. Returns a copy; NULL, and r->failed, if there is no
 * memory for it. */
static char *send_text(rep *r, const char *text, int32_t root)
{
    enum { PIECE = 1024 };
    const cli_processes *m = &cli_world;
    double length = text == NULL ? 0.0 : (double)strlen(text), piece[PIECE];
    if (m->broadcast(&length, 1, root, m->user) != 0)
        return NULL;
    size_t size = (size_t)length;
    char *copy = calloc(size + 1, 1);
    for (size_t at = 0; at < size; at += PIECE) {
        size_t count = size - at < PIECE ? size - at : PIECE;
        for (size_t i = 0; i < count; i++)
            piece[i] = text != NULL ? (double)(unsigned char)text[at + i] : 0.0;
        if (m->broadcast(piece, (int64_t)count, root, m->user) != 0)
            break;
        for (size_t i = 0; copy != NULL && i < count; i++)
            copy[at + i] = (char)(unsigned char)piece[i];
    }
    r->failed = r->failed || copy == NULL;
    return copy;
}

/* Sends the result of process `root`, if it has one, to the other processes. */
static void send_result(rep *r, rep_cell *cell, int32_t root)
{
    bool is_here = cli_world.rank == root;
    char *text =
        is_here && cell->result != NULL ? json_dumps(cell->result, JSON_REAL_PRECISION(17)) : NULL;
    char *copy = send_text(r, text, root);
    if (!is_here && copy != NULL && copy[0] != '\0')
        cell->result = json_loads(copy, 0, NULL);
    free(copy);
    free(text);
}

int rep_send_results(rep *r, int stage)
{
    if (cli_world.size == 1)
        return EXIT_DONE;
    for (int i = 0; i < r->cell_count; i++) {
        rep_cell *cell = &r->cells[i];
        if (stage == REP_FOUND) {
            send_result(r, cell, 0);
        } else if (cell->stage == stage && cell->process >= 0) {
            send_result(r, cell, cell->process);
            r->failed = r->failed || !json_is_object(cell->result);
            if (cli_is_first() && cell->process > 0)
                rep_tell(cell); /* the other processes do not print */
        }
    }
    return cli_agree(r->failed ? rep_no_memory(r) : EXIT_DONE);
}
