/* The cells of a reproduction: planned, run one after the other, stored as they are done. Several
 * processes run some of them each (share.c). */
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
    r->cells[r->cell_count] = *cell;
    r->cells[r->cell_count++].process = -1;
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

/* Time left: the cost of what is left, at the speed so far. Of the cells of other processes the
 * first one only knows that they are shared out evenly. */
static void show(rep *r)
{
    double left = 0.0;
    int done = 0;
    for (int i = 0; i < r->cell_count; i++) {
        left += r->cells[i].result == NULL ? r->cells[i].cost / cli_machines_values.size : 0.0;
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

void rep_tell(const rep_cell *cell)
{
    cli_progress_clear();
    fprintf(stderr, "tlnmf reproduce: %s, %.1f s\n", cell->name,
            rep_number(cell->result, "seconds"));
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
    json_object_set_new(out, "seconds", json_real(cli_seconds(now() - since)));
    r->cost_done += cell->cost;
    if (code == EXIT_DONE) {
        cell->result = json_incref(out);
        code = rep_store_cell(r, cell);
    }
    if (code == EXIT_DONE && cli_common_values.verbose != NULL)
        rep_tell(cell);
    r->at_work = NULL;
    json_decref(out);
    return code;
}

/* The cells of a stage that are this process's, in the order of the plan. */
static int run_own(rep *r, int stage)
{
    int code = EXIT_DONE;
    for (int i = 0; code == EXIT_DONE && i < r->cell_count; i++) {
        rep_cell *cell = &r->cells[i];
        if (cell->stage == stage && cell->result == NULL &&
            cell->process == cli_machines_values.rank)
            code = cli_interrupted() ? EXIT_INTERRUPTED : run_cell(r, cell);
    }
    cli_progress_clear();
    if (code == EXIT_INTERRUPTED)
        cli_fail(r->call->command, EXIT_INTERRUPTED,
                 "stopped; the same command continues from here");
    return code;
}

int rep_run_cells(rep *r)
{
    int code = EXIT_DONE;
    r->since = now();
    tlnmf_ctx_set_progress(r->call->ctx, on_progress, r);
    for (int stage = 0; stage < REP_STAGES && code == EXIT_DONE; stage++) {
        code = rep_share_out(r, stage);
        if (code == EXIT_DONE)
            code = run_own(r, stage);
        code = cli_agree(code);
        if (code == EXIT_DONE)
            code = rep_send_stage(r, stage);
    }
    tlnmf_ctx_set_progress(r->call->ctx, NULL, NULL);
    return code;
}
