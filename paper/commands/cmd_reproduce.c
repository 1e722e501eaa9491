/* tlnmf reproduce: the paper's experiments beside its published numbers. */
#include "paper/commands/reproduce.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *folder, *quick, *solver, *data;
} arg;

static const cli_option options[] = {
    {"o", "FOLDER", "write the results here; what is finished there is not done again",
     &arg.folder},
    {"quick", NULL, "a small version of everything, in under a minute", &arg.quick},
    {"solver", "fast|paper|both", "fig2: which solver [both]", &arg.solver},
    {"data", "gcm|notes|both", "fig2, fig4: which data [both]", &arg.data},
};

static const rep_experiment *const experiments[] = {
    &rep_fig2, &rep_fig3, &rep_table2, &rep_fig4, &rep_theory, &rep_beyond, &rep_errata};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments };

static const char names_of_all[] = "fig2, fig3, table2, fig4, theory, beyond, errata, or all";

/* Which of two are meant by a word: their names, or "both". */
static void choose(const char *word, const char *first, const char *second, bool use[2])
{
    bool both = word == NULL || strcmp(word, "both") == 0;
    use[0] = both || strcmp(word, first) == 0;
    use[1] = both || strcmp(word, second) == 0;
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
            return cli_fail(call->command, EXIT_USAGE, "there is no experiment %s: %s", name,
                            names_of_all);
    }
    if (call->operand_count == 0)
        return cli_fail(call->command, EXIT_USAGE, "which experiment? %s", names_of_all);
    return EXIT_DONE;
}

static int report(rep *r, const bool chosen[EXPERIMENTS], json_t *names)
{
    int code = EXIT_DONE;
    for (int i = 0; i < EXPERIMENTS && code == EXIT_DONE; i++)
        if (chosen[i])
            code = experiments[i]->report(r);
    if (code == EXIT_DONE)
        code = r->failed ? rep_no_memory(r) : rep_summary(r, names);
    return code;
}

static int reproduce(rep *r, const bool chosen[EXPERIMENTS])
{
    json_t *names = json_array();
    for (int i = 0; i < EXPERIMENTS; i++)
        if (chosen[i]) {
            experiments[i]->plan(r);
            json_array_append_new(names, json_string(experiments[i]->name));
        }
    int code = names == NULL || r->failed ? rep_no_memory(r) : EXIT_DONE;
    if (code == EXIT_DONE && cli_is_first())
        code = rep_open(r);
    code = cli_agree(code);
    if (code == EXIT_DONE)
        code = rep_send_found(r);
    if (code == EXIT_DONE)
        code = rep_run_cells(r);
    if (code == EXIT_DONE && cli_is_first())
        code = report(r, chosen, names);
    json_decref(names);
    return cli_agree(code);
}

static void rep_free(rep *r)
{
    for (int i = 0; i < r->cell_count; i++)
        json_decref(r->cells[i].result);
    free(r->cells);
    free(r->rows);
    json_decref(r->figures);
}

static int start(cli_call *call)
{
    rep r = {.call = call, .folder = arg.folder, .quick = arg.quick != NULL};
    bool chosen[EXPERIMENTS] = {false};
    int code = choose_experiments(call, chosen);
    if (code != EXIT_DONE)
        return code;
    if (r.folder == NULL || r.folder[0] == '\0')
        return cli_fail(call->command, EXIT_USAGE, "-o FOLDER is needed");
    choose(arg.solver, "fast", "paper", r.uses_solver);
    choose(arg.data, "gcm", "notes", r.uses_set);
    cli_catch_interrupt();
    r.figures = json_array();
    code = reproduce(&r, chosen);
    rep_free(&r);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_reproduce, argc, argv, &code))
        code = start(&call);
    cli_end(&call);
    return code;
}

const cli_command cli_reproduce = {
    .name = "reproduce",
    .usage = "reproduce EXPERIMENT... -o FOLDER [options]",
    .purpose = "run the paper's experiments and compare the results with the published numbers",
    .task = "fit",
    .only = " threads ",
    .common = " json q v ",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .examples = "  tlnmf reproduce all -o results\n"
                "  tlnmf reproduce fig2 --data gcm --solver paper -o results\n"
                "  tlnmf reproduce all --quick -o quick\n",
    .notes = "EXPERIMENT is fig2, fig3, table2, fig4, theory, beyond, errata, or all. A run that "
             "was stopped continues with the same command: what is finished in the folder is not "
             "done again.",
    .shares = true,
    .run = run,
};
