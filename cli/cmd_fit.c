/* tlnmf fit: learns Phi, W and H from an array. tlnmf jd learns Phi alone in the same way. */
#include "cli/common/arrays.h"

#include <string.h>

static struct {
    const char *k, *rate, *atoms, *no_model, *report;
    cli_init init;
} arg;

static const cli_option options[] = {
    {"k", "INT|A:B|auto",
     "number of components (required unless --init is given); A:B: compare every k from A to B by "
     "cross-validation and keep the best; auto: 1:8, or fewer for small data",
     &arg.k, GROUP_MODEL, 0},
    {"init", "MODEL",
     "start from a saved model (Phi, W, H); k, eps and method default to the model's",
     &arg.init.path, GROUP_MODEL, CLI_RECORDED | CLI_FILE_IN},
    {"keep", "phi|phi,w", "keep Phi, or Phi and W, of --init unchanged", &arg.init.keep,
     GROUP_MODEL, CLI_RECORDED},
    {"init-w", "FILE", "start from this W (M, K)", &arg.init.w, GROUP_MODEL,
     CLI_RECORDED | CLI_FILE_IN},
    {"init-h", "FILE", "start from this H (K, N); zeros stay zero", &arg.init.h, GROUP_MODEL,
     CLI_RECORDED | CLI_FILE_IN},
    {"o", "FILE", "model file; .h5, .mat or .npz; - is standard output [model.h5]",
     &cli_asked.output, GROUP_OUTPUT, 0},
    {"rate", "HZ",
     "print the strongest atoms in Hz, for this sampling rate; with notes; -v prints a table",
     &arg.rate, GROUP_OUTPUT, 0},
    {"atoms", "INT", "number of atoms to print [8]", &arg.atoms, GROUP_OUTPUT, 0},
    {"report", NULL,
     "also write a page that shows the model; its name is OUTPUT with the extension .html",
     &arg.report, GROUP_OUTPUT, 0},
    {"no-model", NULL, "do not write a model file", &arg.no_model, GROUP_OUTPUT, 0},
    {0},
};

/* One run: the options, the input and the results. */
typedef struct plan {
    bool is_jd; /* the command is jd, which learns Phi alone */
    cli_input input;
    cli_rank rank;
    const char *output; /* NULL: no model is written */
    double rate;        /* 0: no atoms */
    int64_t atom_count;
    const char *page; /* NULL: none */
    char page_path[CLI_PATH];
    tlnmf_record *array; /* the array of the data, which a comparison of several k needs */
    tlnmf_data *data;
    tlnmf_record *start, *model, *atoms;
} plan;

static int64_t size_of(const plan *p, const char *name)
{
    return tlnmf_record_get_integer(tlnmf_data_record(p->data), name);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int read_data(cli_call *call, plan *p)
{
    if (p->rank.compares)
        p->input.keep = &p->array;
    TRY(cli_read_data(call, &p->input, &p->data));
    return cli_read_weights(call, &p->input, p->data);
}

static int read_phi(cli_call *call, plan *p)
{
    TRY(cli_check(call, tlnmf_record_create(call->ctx, &p->start), NULL));
    TRY(cli_read_matrix(call, arg.init.phi, "Phi", size_of(p, "M"), size_of(p, "M"), p->start));
    bool whitens = tlnmf_settings_get_integer(call->settings, "whiten") == 1;
    return whitens ? EXIT_DONE : cli_check_phi(call, arg.init.phi);
}

static int compare_ranks(cli_call *call, plan *p)
{
    bool to_stdout = p->output != NULL && strcmp(p->output, "-") == 0;
    FILE *out = cli_asked.json != NULL ? NULL : to_stdout ? stderr : stdout;
    TRY(cli_checkpoint_begin(call));
    return cli_rank_choose(call, &p->input, p->data, p->start, &p->rank, out);
}

/* Reads W and H of the start. K must be known. */
static int read_factors(cli_call *call, const plan *p)
{
    int64_t M = size_of(p, "M"), N = size_of(p, "N");
    int64_t K = tlnmf_settings_get_integer(call->settings, "k");
    TRY(cli_read_matrix(call, arg.init.w, "W", M, K, p->start));
    TRY(cli_read_matrix(call, arg.init.h, "H", K, N, p->start));
    return cli_init_start(call, &arg.init, p->data, p->start);
}

/* Reads --atoms, which is at most the frame length M of the data. */
static int count_atoms(cli_call *call, plan *p)
{
    enum { USUAL = 8 };
    int64_t M = size_of(p, "M"), usual = M < USUAL ? M : USUAL;
    bool valid =
        p->rate == 0.0 || cli_integer(call, "atoms", arg.atoms, 1, M, usual, &p->atom_count);
    return valid ? EXIT_DONE : EXIT_USAGE;
}

static int prepare(cli_call *call, plan *p)
{
    TRY(read_phi(call, p));
    if (p->rank.compares)
        TRY(compare_ranks(call, p));
    if (!p->is_jd)
        TRY(read_factors(call, p));
    if (!p->is_jd && !cli_given(call, "starts"))
        tlnmf_settings_set_integer(call->ctx, call->settings, "starts",
                                   tlnmf_usual_starts(p->data, call->settings, p->start));
    TRY(count_atoms(call, p));
    TRY(cli_checkpoint_begin(call));
    double bytes;
    TRY(cli_check(call, tlnmf_memory(call->ctx, p->data, call->settings, &bytes), NULL));
    return cli_check_memory(call, bytes);
}

/* Fits within --max-seconds, of which reading and a comparison of several k have used a part. The
 * model records the option as it was given. */
static int fit_in_time(const cli_call *call, plan *p)
{
    char limit[64];
    tlnmf_settings *rest;
    int code = cli_agree(cli_check(call, cli_limit_seconds(call, 1.0, &rest), NULL));
    if (code == EXIT_DONE)
        code = cli_check(call,
                         (p->is_jd ? tlnmf_diagonalise : tlnmf_fit)(call->ctx, p->data, rest,
                                                                    p->start, &p->model),
                         NULL);
    if (code == EXIT_DONE)
        code =
            cli_check(call,
                      tlnmf_record_set_text(call->ctx, p->model, "option.max-seconds",
                                            tlnmf_settings_get_text(call->settings, "max-seconds",
                                                                    limit, sizeof limit)),
                      NULL);
    if (code == EXIT_DONE && p->atom_count > 0)
        code = cli_check(call, tlnmf_atoms(call->ctx, p->model, p->rate, p->atom_count, &p->atoms),
                         NULL);
    tlnmf_settings_free(rest);
    return cli_agree(code);
}

static int fit_and_finish(cli_call *call, plan *p)
{
    tlnmf_io_reservation *reserved;
    int64_t K = p->is_jd ? 0 : tlnmf_settings_get_integer(call->settings, "k");
    TRY(cli_agree(cli_reserve_model(call, p->output, p->data, K, &reserved)));
    int code = fit_in_time(call, p);
    tlnmf_io_release(reserved);
    TRY(code);
    cli_result r = {.input = p->input.spec,
                    .output = p->output,
                    .page = p->page,
                    .rate = p->rate,
                    .data = p->data,
                    .model = p->model,
                    .atoms = p->atoms,
                    .init = arg.init.path,
                    .rank_table = p->rank.table,
                    .rank_wall = p->rank.wall,
                    .rank_cpu = p->rank.cpu};
    return cli_finish(call, &r);
}

static int fit(cli_call *call, plan *p)
{
    cli_limit_reading(call);
    TRY(cli_agree(read_data(call, p)));
    cli_limit_reading(NULL);
    TRY(cli_agree(prepare(call, p)));
    return fit_and_finish(call, p);
}

/* ---- options --------------------------------------------------------------------------------- */

/* Reads the options of the input and of the atoms. */
static int read_input_options(cli_call *call, plan *p)
{
    const double lowest = 1e-12, highest = 1e12; /* Hz */
    if (arg.atoms != NULL && arg.rate == NULL)
        return cli_fail(call->command, EXIT_USAGE, "--atoms requires --rate");
    if (!cli_number(call->command, "rate", arg.rate, lowest, highest, 0.0, &p->rate))
        return EXIT_USAGE;
    TRY(cli_check_reading(call, &p->input));
    TRY(cli_check_operands(call, 1, "a data file"));
    if (arg.init.phi != NULL && cli_asked.rank_reduce != NULL)
        return cli_fail(call->command, EXIT_USAGE, "%s and --rank-reduce are mutually exclusive",
                        cli_asked.init_phi != NULL ? "--init-phi" : "--transform FILE");
    if (cli_asked.init_phi != NULL && call->transform_file != NULL)
        return cli_fail(call->command, EXIT_USAGE,
                        "--init-phi and --transform FILE are mutually exclusive");
    return EXIT_DONE;
}

/* Prepares the page of --report, next to the model: its file, and the trace that it shows. It shows
 * all starts if they are few enough to be drawn and run in one process. */
static int prepare_page(const cli_call *call, plan *p)
{
    enum { DRAWN = 60 };
    if (arg.report == NULL)
        return EXIT_DONE;
    bool nowhere = p->output == NULL || strcmp(p->output, "-") == 0;
    p->page = cli_page_path(nowhere ? "report" : p->output, p->page_path);
    if (p->page == NULL)
        return cli_fail(call->command, EXIT_USAGE, "%s: the name is too long", p->output);
    bool all = tlnmf_settings_get_integer(call->settings, "starts") <= DRAWN && cli_world.size == 1;
    tlnmf_settings_set_text(call->ctx, call->settings, all ? "trace-all" : "trace", "true");
    return cli_file_add(call, CLI_WRITES, "the page", p->page);
}

/* --input power: NMF of the given V with a fixed identity, and a floor that is lower than that of
 * data. docs/measurements/constants.md says how it was chosen. */
static int set_up_power(const cli_call *call, const plan *p)
{
    static const char *const fixed[][2] = {{"method", "nmf"}, {"transform", "identity"}};
    const char *floor = "1e-6"; /* of the mean of V */
    char value[32];
    if (!cli_input_is(&p->input, "power"))
        return EXIT_DONE;
    if (p->is_jd)
        return cli_fail(call->command, EXIT_USAGE, "jd does not accept --input power");
    if (arg.init.phi != NULL)
        return cli_fail(call->command, EXIT_USAGE,
                        "--input power uses the identity as transform; remove %s",
                        cli_asked.init_phi != NULL ? "--init-phi" : "--transform FILE");
    for (int i = 0; i < 2; i++) {
        const char *name = fixed[i][0], *word = fixed[i][1];
        const char *given = tlnmf_settings_get_text(call->settings, name, value, sizeof value);
        if (cli_given(call, name) && strcmp(given, word) != 0)
            return cli_fail(call->command, EXIT_USAGE, "--input power requires --%s %s", name,
                            word);
        TRY(cli_check(call, tlnmf_settings_set_text(call->ctx, call->settings, name, word), NULL));
    }
    if (cli_given(call, "eps-rel"))
        return EXIT_DONE;
    return cli_check(call, tlnmf_settings_set_text(call->ctx, call->settings, "eps-rel", floor),
                     NULL);
}

/* Signals whose squares are V would need another start than powers V. */
static int inherit_powers(const cli_call *call, const tlnmf_record *model)
{
    const char *kind = tlnmf_record_get_text(model, "given.input"), *here = cli_asked.input.kind;
    bool differs = here != NULL && strcmp(here, "auto") != 0 && strcmp(here, "power") != 0;
    if (kind != NULL && strcmp(kind, "power") == 0 && differs)
        return cli_fail(call->command, EXIT_USAGE,
                        "%s was fitted to powers, but --input is %s: omit --input to read %s as "
                        "powers, or start from its arrays with --init-w and --init-h",
                        arg.init.path, here, call->operands[0]);
    return cli_inherit_powers(call, model, call->operands[0]);
}

/* Reads -k and the model of --init into the settings. */
static int read_model_options(cli_call *call, plan *p)
{
    const cli_init *init = &arg.init;
    TRY(cli_rank_read(call, arg.k, &p->rank));
    if (p->rank.compares && (init->path || init->w || init->h))
        return cli_fail(call->command, EXIT_USAGE,
                        "-k %s and --init, --init-w or --init-h are mutually exclusive", arg.k);
    TRY(cli_init_read(call, &arg.init));
    if (p->rank.compares) /* until the comparison has chosen k */
        tlnmf_settings_set_integer(call->ctx, call->settings, "k", p->rank.low);
    if (tlnmf_settings_get_integer(call->settings, "k") == 0 && call->operand_count == 1)
        return cli_fail(call->command, EXIT_USAGE,
                        "missing required option -k (number of components)");
    return arg.init.model != NULL && call->operand_count == 1 ? inherit_powers(call, arg.init.model)
                                                              : EXIT_DONE;
}

/* Refuses --split frames with options that need all frames in one process. */
static int check_split(const cli_call *call, const plan *p)
{
    const char *split = cli_asked.split;
    bool all_here = split == NULL || strncmp(split, "frames", 6) != 0;
    bool gaps = p->input.missing != NULL && cli_input_is(&p->input, "power");
    if (all_here || (!p->rank.compares && arg.init.path == NULL && arg.init.h == NULL && !gaps &&
                     p->input.mask == NULL && p->input.moving == 0 && arg.report == NULL))
        return EXIT_DONE;
    return cli_fail(call->command, EXIT_USAGE,
                    "--split frames cannot be combined with -k A:B, --init, --init-h, --mask, "
                    "--moving, --report or --missing with --input power");
}

/* Everything before the data are read: reads and checks the options, and distributes the work over
 * the processes. */
static int set_up(cli_call *call, plan *p)
{
    p->is_jd = call->command == &cli_jd;
    p->output = cli_asked.output != NULL ? cli_asked.output : p->is_jd ? "phi.h5" : "model.h5";
    if (arg.no_model != NULL)
        p->output = NULL;
    arg.init.phi = cli_asked.init_phi != NULL ? cli_asked.init_phi : call->transform_file;
    if (!p->is_jd)
        TRY(read_model_options(call, p));
    p->input = cli_asked.input;
    p->input.spec = call->operands[0];
    p->input.expects_data = !p->is_jd;
    if (cli_asked.rank_reduce != NULL)
        TRY(cli_check(call,
                      tlnmf_settings_set_text(
                          call->ctx, call->settings, "rank-reduce",
                          strcmp(cli_asked.rank_reduce, "auto") == 0 ? "0" : cli_asked.rank_reduce),
                      NULL));
    TRY(set_up_power(call, p));
    TRY(read_input_options(call, p));
    TRY(cli_check_model_output(call, p->output));
    TRY(prepare_page(call, p));
    TRY(cli_checkpoint_check(call, p->output));
    TRY(cli_check(call, tlnmf_settings_check(call->ctx, call->settings), NULL));
    TRY(check_split(call, p));
    return cli_distribute(call, cli_asked.split);
}

static int run(cli_call *call, plan *p)
{
    TRY(cli_agree(set_up(call, p)));
    cli_catch_interrupt();
    bool fits_H = arg.init.keep != NULL && strcmp(arg.init.keep, "phi,w") == 0; /* H alone */
    if (fits_H)
        return cli_is_first() ? cli_init_apply(call, &arg.init, &p->input, p->output) : EXIT_DONE;
    int code = fit(call, p);
    cli_checkpoint_end(call, code,
                       tlnmf_record_get_integer(p->model, "outcome_code") == TLNMF_OUTCOME_TIME);
    return code;
}

int cli_fit_run(cli_call *call)
{
    plan p = {0};
    if (cli_asked.explain != NULL && call->operand_count == 0) {
        cli_explain(stdout, call);
        return EXIT_DONE;
    }
    int code = run(call, &p);
    tlnmf_record_free(p.atoms);
    tlnmf_record_free(p.model);
    tlnmf_record_free(p.start);
    tlnmf_data_free(p.data);
    tlnmf_record_free(p.array);
    tlnmf_record_free(arg.init.model);
    json_decref(p.rank.table);
    return code;
}

const cli_command cli_fit = {
    .name = "fit",
    .usage = "fit DATA (-k K|A:B|auto | --init MODEL) [options]",
    .purpose = "learn a transform and a factorisation from an array (M, N) or (S, M, N)",
    .task = "fit",
    .options = options,
    .shared =
        " input dof axes per-trial block moving missing weights mask header index columns drop "
        "init-phi force "
        "json explain strict checkpoint every iterate-after resume split q v ",
    .first = " k method eps init axes starts seed rate report o force json max-seconds device "
             "resume ",
    .examples = "  tlnmf fit data.npy -k 5 -o model.h5\n"
                "  tlnmf fit epochs.npy -k 1:8 --axes trials,channels,time\n"
                "  tlnmf fit notes.npy -k 2 --eps 5e-7 --rate 5000 --starts 20\n"
                "  tlnmf fit data.h5:/Y -k 5 --method jd --eps 1e-8 --json --trace\n"
                "  tlnmf fit data.mat:Y -k 2 --method nmf --transform dct\n"
                "  tlnmf fit data.npy -k 5 --starts 20 --seed 1 --exchange\n"
                "  tlnmf fit more.npy --init model.h5 --keep phi -o more.h5\n"
                "  tlnmf fit notes.npy -k 2 --eps 5e-7 --rate 5000 --block 4\n",
    .notes =
        "DATA is .npy, .npz, HDF5 (file.h5:/path), MATLAB (file.mat:name) or text (.csv, .tsv); "
        "- is standard input.",
    .reads = true,
    .distributes = true,
    .run = cli_fit_run,
};
