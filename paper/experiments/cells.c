/* The cells of a reproduction: they are planned, run in order, and stored when finished. Several
 * processes divide them (cell_processes.c). */
#include "paper/experiments/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static rep_cell *find(const rep *r, const char *name)
{
    for (int i = 0; i < r->cell_count; i++)
        if (strcmp(r->cells[i].name, name) == 0)
            return &r->cells[i];
    return NULL;
}

void rep_add(rep *r, rep_cell cell)
{
    if (find(r, cell.name) != NULL)
        return;
    cell.process = -1;
    if (r->cell_count < REP_MOST_CELLS)
        r->cells[r->cell_count++] = cell;
    else
        r->failed = true;
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

/* The progress line. The time left is the cost of the unfinished cells at the speed so far, divided
 * evenly over the processes. */
static void describe(void *user, char *text, size_t size)
{
    const rep *r = user;
    if (r->at_work == NULL)
        return;
    double left = 0.0;
    int done = 0;
    for (int i = 0; i < r->cell_count; i++) {
        left += r->cells[i].result == NULL ? r->cells[i].cost / cli_world.size : 0.0;
        done += r->cells[i].result != NULL;
    }
    double passed = now() - r->since;
    double pace = r->cost_done > 0.0 ? passed / (r->cost_done + 0.5 * r->at_work->cost) : 1.0;
    snprintf(text, size, "%d of %d: %s, %.0f s so far, about %.0f s left", done + 1, r->cell_count,
             r->at_work->name, passed, fmax(1.0, left * pace));
}

void rep_tell(const rep_cell *cell)
{
    bool has_line = isatty(STDERR_FILENO); /* the progress line */
    if (!cli_is_first() || (cli_asked.verbose == NULL && (cli_asked.quiet != NULL || has_line)))
        return;
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
    double since = now();
    rep_objects own = {0};
    int code = cell->run(r, cell, &own, out);
    json_object_set_new(out, "seconds", json_real(cli_seconds(now() - since)));
    r->cost_done += cell->cost;
    if (code == EXIT_DONE) {
        cell->result = json_incref(out);
        code = rep_store_cell(r, cell);
    }
    if (code == EXIT_DONE)
        rep_tell(cell);
    r->at_work = NULL;
    json_decref(out);
    tlnmf_record_free(own.model);
    tlnmf_record_free(own.start);
    tlnmf_record_free(own.sample);
    tlnmf_data_free(own.truth);
    tlnmf_data_free(own.data);
    return code;
}

/* Runs this process's cells of a stage, in the order of the plan. */
static int run_own(rep *r, int stage)
{
    int code = EXIT_DONE;
    for (int i = 0; code == EXIT_DONE && i < r->cell_count; i++) {
        rep_cell *cell = &r->cells[i];
        if (cell->stage == stage && cell->result == NULL && cell->process == cli_world.rank)
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
    cli_progress_describe(describe, r);
    for (int stage = 0; stage < REP_STAGES && code == EXIT_DONE; stage++) {
        code = rep_assign(r, stage);
        code = cli_agree(code == EXIT_DONE ? run_own(r, stage) : code);
        if (code == EXIT_DONE)
            code = rep_send_results(r, stage);
    }
    cli_progress_describe(NULL, NULL);
    return code;
}
