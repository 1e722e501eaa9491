/* tlnmf reproduce: the paper's experiments beside its published numbers. */
#include "paper/commands/reproduce.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *folder, *quick, *solver, *data;
} arg;

static const cli_option options[] = {
    {"o", "FOLDER", "where results go; what is finished there is not done again", &arg.folder},
    {"quick", NULL, "a small version of everything, in under a minute", &arg.quick},
    {"solver", "WHICH", "fig2: fast, paper or both [both]", &arg.solver},
    {"data", "WHICH", "fig2, fig4: gcm, notes or both [both]", &arg.data},
};

static const rep_experiment *const experiments[] = {
    &rep_fig2, &rep_fig3, &rep_table2, &rep_fig4, &rep_theory, &rep_beyond, &rep_errata};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments };

/* "first", "second" or "both" to which of the two; false after a message. */
static bool choose(const cli_call *call, const char *name, const char *text, const char *first,
                   const char *second, bool use[2])
{
    bool both = text == NULL || strcmp(text, "both") == 0;
    use[0] = both || strcmp(text, first) == 0;
    use[1] = both || strcmp(text, second) == 0;
    if (use[0] || use[1])
        return true;
    cli_fail(call->command, EXIT_USAGE, "%s = %s is not one of %s|%s|both", name, text, first,
             second);
    return false;
}

/* The experiments named, or all. */
static int choose_experiments(const cli_call *call, bool chosen[EXPERIMENTS])
{
    for (int i = 0; i < call->operand_count; i++) {
        const char *name = call->operands[i];
        bool all = strcmp(name, "all") == 0, found = all;
        for (int j = 0; j < EXPERIMENTS; j++)
            if (all || strcmp(name, experiments[j]->name) == 0)
                chosen[j] = found = true;
        if (!found)
            return cli_fail(call->command, EXIT_USAGE,
                            "there is no experiment %s: fig2, fig3, table2, fig4, theory, beyond, "
                            "errata, or all",
                            name);
    }
    if (call->operand_count == 0)
        return cli_fail(
            call->command, EXIT_USAGE,
            "which experiment? fig2, fig3, table2, fig4, theory, beyond, errata, or all");
    return EXIT_DONE;
}

static int reproduce(rep *r, const bool chosen[EXPERIMENTS])
{
    json_t *names = json_array();
    for (int i = 0; i < EXPERIMENTS; i++)
        if (chosen[i]) {
            experiments[i]->plan(r);
            json_array_append_new(names, json_string(experiments[i]->name));
        }
    int code = names == NULL || r->failed ? rep_no_memory(r) : rep_open(r);
    if (code == EXIT_DONE)
        code = rep_run_cells(r);
    for (int i = 0; i < EXPERIMENTS && code == EXIT_DONE; i++)
        if (chosen[i])
            code = experiments[i]->report(r);
    if (code == EXIT_DONE)
        code = r->failed ? rep_no_memory(r) : rep_summary(r, names);
    json_decref(names);
    return code;
}

static void rep_free(rep *r)
{
    for (int i = 0; i < r->cell_count; i++)
        json_decref(r->cells[i].result);
    free(r->cells);
    free(r->rows);
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_reproduce, options, sizeof options / sizeof *options, argc, argv,
                  &code)) {
        rep r = {.call = &call, .folder = arg.folder, .quick = arg.quick != NULL};
        bool chosen[EXPERIMENTS] = {false};
        code = choose_experiments(&call, chosen);
        if (code == EXIT_DONE && (r.folder == NULL || r.folder[0] == '\0'))
            code = cli_fail(call.command, EXIT_USAGE, "-o FOLDER is needed");
        if (code == EXIT_DONE &&
            !(choose(&call, "solver", arg.solver, "fast", "paper", r.uses_solver) &&
              choose(&call, "data", arg.data, "gcm", "notes", r.uses_set)))
            code = EXIT_USAGE;
        if (code == EXIT_DONE) {
            cli_catch_interrupt();
            code = reproduce(&r, chosen);
        }
        rep_free(&r);
    }
    cli_end(&call);
    return code;
}

const cli_command cli_reproduce = {
    .name = "reproduce",
    .usage = "reproduce EXPERIMENT... -o FOLDER [options]",
    .purpose = "run the paper's experiments and lay the results beside the published numbers",
    .takes = " threads json q v ",
    .examples =
        "  tlnmf reproduce all -o results\n"
        "  tlnmf reproduce fig2 --data gcm --solver paper -o results\n"
        "  tlnmf reproduce all --quick -o quick\n"
        "\nEXPERIMENT is fig2, fig3, table2, fig4, theory, beyond, errata, or all. -o names a "
        "folder: what is\nfinished there is not done again, so that a run that was stopped "
        "continues.\n",
    .run = run,
};
