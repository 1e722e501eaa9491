/* tlnmf reproduce: runs the paper's experiments and compares them with the published numbers. */
#include "paper/experiments/reproduce.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *folder, *quick, *solver, *data;
} arg;

static const cli_option options[] = {
    {"data", "gcm|notes|both", "fig2, fig4: which data [both]", &arg.data, GROUP_INPUT, 0},
    {"solver", "fast|paper|both", "fig2: which solver [both]", &arg.solver, GROUP_MODEL, 0},
    {"o", "FOLDER", "folder of the results (required); finished results in it are not repeated",
     &arg.folder, GROUP_OUTPUT, 0},
    {"quick", NULL, "run a small version of everything, in less than a minute", &arg.quick,
     GROUP_RUN, 0},
    {0},
};

static const rep_experiment *const experiments[] = {
    &rep_fig2, &rep_fig3, &rep_table2, &rep_fig4, &rep_theory, &rep_beyond, &rep_errata};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments };

static const char names_of_all[] = "fig2, fig3, table2, fig4, theory, beyond, errata, or all";

/* Translates a word, the name of one of two or "both". */
static void choose(const char *word, const char *first, const char *second, bool use[2])
{
    bool both = word == NULL || strcmp(word, "both") == 0;
    use[0] = both || strcmp(word, first) == 0;
    use[1] = both || strcmp(word, second) == 0;
}

/* The parts that --data and --solver name. */
static unsigned choose_parts(void)
{
    bool set[REP_SETS], solver[REP_SOLVERS];
    unsigned parts = 0;
    choose(arg.data, "gcm", "notes", set);
    choose(arg.solver, "fast", "paper", solver);
    for (int i = 0; i < REP_SETS; i++)
        for (int j = 0; j < REP_SOLVERS; j++)
            if (set[i] && solver[j])
                parts |= rep_part((rep_set)i, (rep_solver)j);
    return parts;
}

/* The parts of the experiments named, or of all; 0: not chosen. */
static int choose_experiments(const cli_call *call, unsigned chosen[EXPERIMENTS])
{
    for (int i = 0; i < call->operand_count; i++) {
        const char *name = call->operands[i];
        bool all = strcmp(name, "all") == 0, found = all;
        for (int j = 0; j < EXPERIMENTS; j++)
            if (all || strcmp(name, experiments[j]->name) == 0) {
                chosen[j] = choose_parts();
                found = true;
            }
        if (!found)
            return cli_fail(call->command, EXIT_USAGE, "unknown experiment %s; use %s", name,
                            names_of_all);
    }
    if (call->operand_count == 0)
        return cli_fail(call->command, EXIT_USAGE, "missing operand: %s", names_of_all);
    return EXIT_DONE;
}

static void plan(rep *r, const unsigned chosen[EXPERIMENTS])
{
    for (int i = 0; i < EXPERIMENTS; i++)
        if ((r->parts = chosen[i]) != 0)
            experiments[i]->plan(r);
}

/* Reports the chosen experiments and, so that the summary loses no row, those that earlier runs
 * have reported in the folder. */
static int report(rep *r, unsigned chosen[EXPERIMENTS])
{
    for (int i = 0; i < EXPERIMENTS; i++)
        REP_TRY(rep_keep_parts(r, experiments[i]->name, &chosen[i]));
    REP_TRY(cli_checkpoint_write(r->call, r->finished));
    plan(r, chosen);
    REP_TRY(rep_take_results(r));
    for (int i = 0; i < EXPERIMENTS; i++)
        if ((r->parts = chosen[i]) != 0) {
            r->experiment = experiments[i]->name;
            json_array_append_new(r->experiments, json_string(r->experiment));
            REP_TRY(experiments[i]->report(r));
        }
    return r->failed ? rep_no_memory(r) : rep_summary(r);
}

static int reproduce(rep *r, unsigned chosen[EXPERIMENTS])
{
    bool is_first = cli_is_first();
    plan(r, chosen);
    REP_TRY(cli_agree(is_first ? rep_open(r) : EXIT_DONE));
    REP_TRY(rep_send_results(r, REP_FOUND));
    REP_TRY(rep_run_cells(r));
    REP_TRY(cli_agree(is_first ? rep_merge_cells(r) : EXIT_DONE));
    return cli_agree(is_first ? report(r, chosen) : EXIT_DONE);
}

static void rep_free(rep *r)
{
    for (int i = 0; i < r->cell_count; i++)
        json_decref(r->cells[i].result);
    free(r->cells);
    tlnmf_record_free(r->finished);
    json_decref(r->experiments);
    json_decref(r->rows);
    json_decref(r->figures);
    json_decref(r->files);
}

static int run(cli_call *call)
{
    rep r = {.call = call, .folder = arg.folder, .quick = arg.quick != NULL};
    unsigned chosen[EXPERIMENTS] = {0};
    int code = choose_experiments(call, chosen);
    if (code != EXIT_DONE)
        return code;
    if (r.folder == NULL || r.folder[0] == '\0')
        return cli_fail(call->command, EXIT_USAGE, "missing required option -o FOLDER");
    if (cli_asked.verbose == NULL) /* users cannot change the paper's data */
        tlnmf_ctx_set_log(call->ctx, NULL, NULL);
    cli_catch_interrupt();
    r.cells = calloc(REP_MOST_CELLS, sizeof *r.cells);
    r.experiments = json_array();
    r.rows = json_array();
    r.figures = json_array();
    r.files = json_array();
    r.failed = !r.cells || !r.experiments || !r.rows || !r.figures || !r.files;
    code = cli_agree(r.failed ? rep_no_memory(&r) : EXIT_DONE);
    if (code == EXIT_DONE)
        code = reproduce(&r, chosen);
    rep_free(&r);
    return code;
}

const cli_command cli_reproduce = {
    .name = "reproduce",
    .usage = "reproduce EXPERIMENT... -o FOLDER [options]",
    .purpose = "run the paper's experiments and compare the results with the published numbers",
    .task = "fit",
    .only = " threads ",
    .options = options,
    .shared = " json q v ",
    .examples = "  tlnmf reproduce all -o results\n"
                "  tlnmf reproduce fig2 --data gcm --solver paper -o results\n"
                "  tlnmf reproduce all --quick -o quick\n",
    .notes = "EXPERIMENT is fig2, fig3, table2, fig4, theory, beyond, errata, or all. A run that "
             "was stopped continues with the same command; finished results in the "
             "folder are not repeated.",
    .distributes = true,
    .run = run,
};
