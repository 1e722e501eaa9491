/* The cells of a reproduction: planned, run one after the other, stored as they are done. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int rep_no_memory(const rep *r)
{
    return cli_fail(r->call->command, EXIT_INTERNAL, "no memory");
}

int rep_check(const rep *r, tlnmf_error error)
{
    if (error == TLNMF_OK)
        return EXIT_DONE;
    return cli_fail_library(r->call, error, r->at_work == NULL ? NULL : r->at_work->name);
}

/* ---- the plan -------------------------------------------------------------------------------- */

void *rep_grow(rep *r, void *items, int count, int *capacity, size_t item_size)
{
    if (count < *capacity)
        return items;
    int more = 2 * *capacity + 32;
    void *grown = realloc(items, (size_t)more * item_size);
    if (grown == NULL)
        r->failed = true;
    else
        *capacity = more;
    return grown;
}

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
    rep_cell *cells = rep_grow(r, r->cells, r->cell_count, &r->cell_capacity, sizeof *r->cells);
    if (cells == NULL)
        return;
    r->cells = cells;
    r->cells[r->cell_count++] = *cell;
}

const json_t *rep_result(const rep *r, const char *name)
{
    const rep_cell *cell = find(r, name);
    return cell == NULL ? NULL : cell->result;
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

bool rep_stops(rep *r)
{
    show(r);
    return cli_interrupted();
}

/* A tlnmf_callback: cells are counted, not iterations. */
static int on_progress(const tlnmf_record *progress, void *user)
{
    (void)progress;
    return rep_stops(user);
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
    double seconds = cli_seconds(now() - since);
    json_object_set_new(out, "seconds", json_real(seconds));
    r->cost_done += cell->cost;
    if (code == EXIT_DONE) {
        cell->result = json_incref(out);
        code = rep_store_cell(r, cell);
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
    tlnmf_ctx_set_progress(r->call->ctx, on_progress, r);
    for (int i = 0; code == EXIT_DONE && i < r->cell_count; i++)
        if (r->cells[i].result == NULL)
            code = cli_interrupted() ? EXIT_INTERRUPTED : run_cell(r, &r->cells[i]);
    tlnmf_ctx_set_progress(r->call->ctx, NULL, NULL);
    cli_progress_clear();
    if (code == EXIT_INTERRUPTED)
        fprintf(stderr, "tlnmf reproduce: stopped; the same command continues from here\n");
    return code;
}
