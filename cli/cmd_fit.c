/* tlnmf fit: learn Phi, W, H from an array. */
#include "cli/arrays/arrays.h"
#include "cli/common/summary.h"
#include "cli/pages/pages.h"

#include <string.h>

static struct {
    const char *init_phi, *init_w, *init_h, *rate, *atoms, *no_model, *strict, *split, *input,
        *block, *moving, *axes, *per_trial, *init, *keep, *k, *weights, *mask, *missing, *report,
        *header, *index;
} arg;

static const cli_option options[] = {
    {"k", "INT",
     "number of components (required). A:B: tries all from A to B by cross-validation over the "
     "realisations (over neighbouring frames and entries of V if there is only one) and keeps the "
     "best; auto: 1:8, or fewer for small data",
     &arg.k},
    {"init", "MODEL",
     "go on from a model: its Phi, W and H, and unless they are given its k, eps and method",
     &arg.init},
    {"keep", "phi|phi,w|w,phi", "keep Phi, or Phi and W, as they are in --init", &arg.keep},
    {"init-phi", "FILE", "start from this Phi (M, M); with --method nmf, keep it", &arg.init_phi},
    {"init-w", "FILE", "start from this W (M, K)", &arg.init_w},
    {"init-h", "FILE", "start from this H (K, N); zeros stay zero", &arg.init_h},
    {"input", "data|covariances|auto",
     "what the array holds: data (S, M, N) or covariances (N, M, M); auto: covariances if every "
     "slice "
     "is symmetric [auto]",
     &arg.input},
    CLI_TABLE_OPTIONS(arg.header, arg.index),
    {"axes", "A,B,C",
     "what the axes of the array are, in their order: trials, epochs or realisations; channels, "
     "sensors or length; time or frames [trials,channels,time]",
     &arg.axes},
    {"per-trial", NULL,
     "treat the frames of each trial as separate frames, not as realisations (S N frames)",
     &arg.per_trial},
    {"weights", "FILE",
     "weights of the N frames, in every method and solver; only their ratios matter", &arg.weights},
    {"mask", "FILE",
     "weights of the M x N entries of V, for --method nmf: 0 leaves an entry out, 1 counts it",
     &arg.mask},
    {"missing", NULL, "NaN in the data means: this frame of this realisation is missing",
     &arg.missing},
    {"block", "INT", "treat every INT consecutive frames as realisations of a single frame",
     &arg.block},
    {"moving", "INT", "treat the INT frames around each frame as realisations of it", &arg.moving},
    {"rate", "HZ", "sampling rate: prints the strongest atoms with their frequencies", &arg.rate},
    {"atoms", "INT", "number of atoms to print [8]", &arg.atoms},
    {"no-model", NULL, "write no model file", &arg.no_model},
    {"split", "HOW",
     "what the processes of tlnmf-mpi divide among them: starts; frames; or frames:G: groups of G "
     "processes divide the frames, and the groups the starts [starts]",
     &arg.split},
    {"report", NULL, "also write a page that shows the model, beside it", &arg.report},
    {"strict", NULL, "exit with code 4 unless the run converged", &arg.strict},
};

/* What the options come to. */
typedef struct plan {
    cli_input input;
    cli_init init;
    cli_rank rank;
    tlnmf_record *array; /* that the data are made of, if several k are compared */
    const char *output;  /* NULL: no model is written */
    double rate;         /* 0: no atoms */
    const char *page;    /* NULL: none */
    char page_path[CLI_PATH];
} plan;

static const char *phi_file(const cli_call *call)
{
    return arg.init_phi != NULL ? arg.init_phi : call->transform_file;
}

static int read_phi(cli_call *call, const tlnmf_data *data, tlnmf_record *start)
{
    int64_t M = tlnmf_get_integer(tlnmf_data_record(data), "M");
    int code = cli_read_matrix(call, phi_file(call), "Phi", M, M, start);
    return code == EXIT_DONE ? cli_check_phi(call, phi_file(call)) : code;
}

/* The rest of the start, once K is known. */
static int read_factors(cli_call *call, const plan *p, const tlnmf_data *data, tlnmf_record *start)
{
    const tlnmf_record *sizes = tlnmf_data_record(data);
    int64_t M = tlnmf_get_integer(sizes, "M"), N = tlnmf_get_integer(sizes, "N");
    int64_t K = tlnmf_settings_get_integer(call->settings, "k");
    int code = cli_read_matrix(call, arg.init_w, "W", M, K, start);
    if (code == EXIT_DONE)
        code = cli_read_matrix(call, arg.init_h, "H", K, N, start);
    if (code == EXIT_DONE)
        code = cli_init_start(call, &p->init, data, start);
    return code;
}

/* --atoms, once the frame length is known. */
static int count_atoms(cli_call *call, const plan *p, const tlnmf_data *data, int64_t *count)
{
    enum { USUAL = 8 };
    int64_t M = tlnmf_get_integer(tlnmf_data_record(data), "M");
    *count = 0;
    if (p->rate == 0.0 || cli_integer(call, "atoms", arg.atoms, 1, M, M < USUAL ? M : USUAL, count))
        return EXIT_DONE;
    return EXIT_USAGE;
}

/* A comparison of several k has taken part of --max-seconds. */
static tlnmf_error fit_in_time(const cli_call *call, const plan *p, const tlnmf_data *data,
                               const tlnmf_record *start, tlnmf_record **model)
{
    tlnmf_settings *rest = NULL;
    *model = NULL;
    if (!(p->rank.seconds > 0.0))
        return tlnmf_fit(call->ctx, data, call->settings, start, model);
    tlnmf_error error = tlnmf_settings_copy(call->ctx, call->settings, &rest);
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_real(call->ctx, rest, "max-seconds",
                                        p->rank.seconds > 1e-3 ? p->rank.seconds : 1e-3);
    if (error == TLNMF_OK)
        error = tlnmf_fit(call->ctx, data, rest, start, model);
    tlnmf_settings_free(rest);
    return error;
}

static int fit_and_finish(cli_call *call, const plan *p, const tlnmf_data *data,
                          const tlnmf_record *start, int64_t atom_count)
{
    tlnmf_record *model, *atoms = NULL;
    cli_paths paths = {0};
    tlnmf_io_reservation *reserved;
    int code = cli_reserve_model(call, p->output, data,
                                 tlnmf_settings_get_integer(call->settings, "k"), &reserved);
    code = cli_agree(code);
    if (code != EXIT_DONE)
        return code;
    tlnmf_ctx_set_progress(call->ctx, p->page != NULL ? cli_paths_progress : cli_progress, &paths);
    tlnmf_error error = fit_in_time(call, p, data, start, &model);
    cli_checkpoint_report(call);
    tlnmf_io_release(reserved);
    tlnmf_ctx_set_progress(call->ctx, NULL, NULL);
    tlnmf_error stored = cli_paths_store(call, &paths, model);
    error = error == TLNMF_OK ? stored : error;
    if (error == TLNMF_OK && atom_count > 0)
        error = tlnmf_atoms(call->ctx, model, p->rate, atom_count, &atoms);
    cli_result r = {.input = p->input.spec,
                    .output = p->output,
                    .page = p->page,
                    .rate = p->rate,
                    .data = data,
                    .model = model,
                    .atoms = atoms,
                    .kind = arg.input,
                    .block = arg.block,
                    .moving = arg.moving,
                    .axes = arg.axes,
                    .per_trial = arg.per_trial,
                    .init = arg.init,
                    .keep = arg.keep,
                    .weights = arg.weights,
                    .mask = arg.mask,
                    .missing = arg.missing,
                    .header = arg.header,
                    .index = arg.index,
                    .rank_table = p->rank.table,
                    .init_phi = phi_file(call),
                    .init_w = arg.init_w,
                    .init_h = arg.init_h};
    if (error != TLNMF_OK)
        code = cli_fail_library(call, error, NULL);
    else if (code == EXIT_DONE)
        code = cli_finish(call, &r, arg.strict != NULL);
    tlnmf_record_free(atoms);
    tlnmf_record_free(model);
    return code;
}

/* More than M N is an error of the library. */
static void warn_of_rank(const cli_call *call, const tlnmf_data *data)
{
    int64_t M = tlnmf_get_integer(tlnmf_data_record(data), "M");
    int64_t N = tlnmf_get_integer(tlnmf_data_record(data), "N"), least = M < N ? M : N;
    int64_t k = tlnmf_settings_get_integer(call->settings, "k");
    if (k > least && (k - 1) / M < N)
        cli_warn(call->command, "k beyond min(M, N) = %lld: W H can fit any V exactly",
                 (long long)least);
}

static FILE *table_goes_to(const plan *p)
{
    if (cli_common_values.json != NULL)
        return NULL;
    return p->output != NULL && strcmp(p->output, "-") == 0 ? stderr : stdout;
}

static int fit(cli_call *call, plan *p)
{
    tlnmf_data *data;
    tlnmf_record *start = NULL;
    int64_t atoms = 0;
    if (p->rank.compares)
        p->input.keep = &p->array;
    int code = cli_read_data(call, &p->input, &data);
    if (code == EXIT_DONE)
        code = cli_read_weights(call, &p->input, data);
    code = cli_agree(code);
    if (code == EXIT_DONE && tlnmf_record_create(call->ctx, &start) != TLNMF_OK)
        code = cli_fail_library(call, TLNMF_ERR_MEMORY, NULL);
    if (code == EXIT_DONE)
        code = read_phi(call, data, start);
    if (code == EXIT_DONE && p->rank.compares) {
        code = cli_checkpoint_begin_ranks(call);
        if (code == EXIT_DONE)
            code = cli_rank_choose(call, &p->input, data, start, &p->rank, table_goes_to(p));
        cli_checkpoint_end_ranks(call);
    }
    if (code == EXIT_DONE)
        code = read_factors(call, p, data, start);
    if (code == EXIT_DONE && !p->rank.compares)
        warn_of_rank(call, data);
    if (code == EXIT_DONE)
        code = count_atoms(call, p, data, &atoms);
    if (code == EXIT_DONE)
        code = cli_checkpoint_begin(call, data);
    if (code == EXIT_DONE)
        code = cli_check_fit_memory(call, data);
    code = cli_agree(code);
    if (code == EXIT_DONE)
        code = fit_and_finish(call, p, data, start, atoms);
    cli_checkpoint_end(call, code);
    tlnmf_record_free(start);
    tlnmf_data_free(data);
    return code;
}

/* ---- options --------------------------------------------------------------------------------- */

static int read_numbers(cli_call *call, plan *p)
{
    const int64_t most = 1000000000;
    const double lowest = 1e-12, highest = 1e12; /* Hz: any sampling rate there is */
    if (arg.atoms != NULL && arg.rate == NULL)
        return cli_fail(call->command, EXIT_USAGE, "--atoms needs --rate");
    if (arg.block != NULL && arg.moving != NULL)
        return cli_fail(call->command, EXIT_USAGE, "--block and --moving: one of them");
    if (!cli_number(call->command, "rate", arg.rate, lowest, highest, 0.0, &p->rate) ||
        !cli_integer(call, "block", arg.block, 1, most, 0, &p->input.block) ||
        !cli_integer(call, "moving", arg.moving, 1, most, 0, &p->input.moving))
        return EXIT_USAGE;
    return EXIT_DONE;
}

/* The page goes beside the model; it draws the trace. */
static int check_page(const cli_call *call, plan *p)
{
    if (arg.report == NULL)
        return EXIT_DONE;
    bool nowhere = p->output == NULL || strcmp(p->output, "-") == 0;
    p->page = cli_page_path(nowhere ? "report" : p->output, p->page_path);
    if (p->page == NULL)
        return cli_fail(call->command, EXIT_USAGE, "%s: the name is too long", p->output);
    tlnmf_settings_set_text(call->ctx, call->settings, "trace", "true");
    int code = cli_check_input(call->command, call->operands[0], p->page);
    return code == EXIT_DONE ? cli_check_output(call->command, p->page) : code;
}

/* What is wrong with the options, before any file is read. */
static int check(cli_call *call, plan *p)
{
    *p = (plan){.output = cli_common_values.output != NULL ? cli_common_values.output : "model.h5"};
    if (arg.no_model != NULL)
        p->output = NULL;
    p->input = (cli_input){.spec = call->operands[0],
                           .kind = arg.input ? arg.input : "auto",
                           .axes = arg.axes,
                           .per_trial = arg.per_trial != NULL,
                           .header = arg.header,
                           .index = arg.index,
                           .missing = arg.missing != NULL,
                           .weights = arg.weights,
                           .mask = arg.mask,
                           .expects_data = true};
    if (arg.keep != NULL && strcmp(arg.keep, "w,phi") == 0)
        arg.keep = "phi,w";
    p->init = (cli_init){arg.init, phi_file(call), arg.init_w, arg.init_h, arg.keep, NULL};
    int code = cli_rank_read(call, arg.k, &p->rank);
    if (code == EXIT_DONE && p->rank.compares && (arg.init != NULL || arg.init_w || arg.init_h))
        return cli_fail(call->command, EXIT_USAGE,
                        "-k %s compares fits from starts of its own: not with a given W or H",
                        arg.k);
    if (code == EXIT_DONE)
        code = cli_init_read(call, &p->init);
    if (code != EXIT_DONE)
        return code;
    if (p->rank.compares) /* until it is known */
        tlnmf_settings_set_integer(call->ctx, call->settings, "k", p->rank.low);
    if (tlnmf_settings_get_integer(call->settings, "k") == 0 && call->operand_count == 1)
        return cli_fail(call->command, EXIT_USAGE, "-k is needed: the number of components");
    code = read_numbers(call, p);
    if (code == EXIT_DONE)
        code = cli_check_axes(call, arg.axes);
    if (code == EXIT_DONE)
        code = cli_check_input(call->command, arg.weights, p->output);
    if (code == EXIT_DONE)
        code = cli_check_input(call->command, arg.mask, p->output);
    if (code == EXIT_DONE)
        code =
            cli_check_model(call, p->output, arg.init_phi,
                            (const char *[]){arg.init != NULL ? arg.init : arg.init_w, arg.init_h});
    if (code == EXIT_DONE)
        code = check_page(call, p);
    if (code == EXIT_DONE)
        code = cli_checkpoint_check(call, p->output);
    tlnmf_error error =
        code == EXIT_DONE ? tlnmf_settings_check(call->ctx, call->settings) : TLNMF_OK;
    return error == TLNMF_OK ? code : cli_fail_library(call, error, NULL);
}

/* What needs all frames in one place. */
static int check_split(const cli_call *call, const plan *p)
{
    bool all_here = arg.split == NULL || strncmp(arg.split, "frames", 6) != 0;
    if (all_here || (!p->rank.compares && arg.init == NULL && arg.init_h == NULL &&
                     arg.mask == NULL && arg.moving == NULL && arg.report == NULL))
        return EXIT_DONE;
    return cli_fail(
        call->command, EXIT_USAGE,
        "--split frames: not with -k A:B, --init, --init-h, --mask, --moving or --report");
}

/* Then H alone is fitted. */
static bool keeps_factors(void)
{
    return arg.keep != NULL && strcmp(arg.keep, "phi,w") == 0;
}

static int run(int argc, char **argv)
{
    cli_call call;
    plan p = {0};
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    bool go_on = cli_begin(&call, &cli_fit, argc, argv, &code);
    if (go_on && cli_common_values.explain != NULL && call.operand_count == 0)
        cli_explain_all(stdout);
    else if (go_on) {
        code = check(&call, &p);
        if (code == EXIT_DONE)
            code = check_split(&call, &p);
        if (code == EXIT_DONE)
            code = cli_share(&call, arg.split);
        code = cli_agree(code);
        if (code == EXIT_DONE) {
            cli_catch_interrupt();
            if (!keeps_factors())
                code = fit(&call, &p);
            else if (cli_is_first())
                code = cli_init_apply(&call, &p.init, &p.input, p.output);
        }
        code = cli_agree(code);
    }
    tlnmf_record_free(p.array);
    tlnmf_record_free(p.init.model);
    json_decref(p.rank.table);
    cli_end(&call);
    return code;
}

const cli_command cli_fit = {
    .name = "fit",
    .usage = "fit DATA -k K|A:B|auto [options]",
    .purpose = "learn a transform and a factorisation from an array (M, N) or (S, M, N)",
    .task = "fit",
    .common = " o force json explain q v checkpoint every resume ",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .examples = "  tlnmf fit data.npy -k 5 -o model.h5\n"
                "  tlnmf fit data.h5:/Y -k 5 --method jd --eps 1e-8 --json --trace\n"
                "  tlnmf fit data.mat:Y -k 2 --method nmf --transform dct\n"
                "  tlnmf fit data.npy -k 5 --starts 20 --seed 1 --exchange\n"
                "  tlnmf fit data.npy -k 1:8\n"
                "  tlnmf fit more.npy --init model.h5 --keep phi -o more.h5\n"
                "  tlnmf fit epochs.npy -k 4 --axes trials,channels,time\n"
                "  tlnmf fit notes.npy -k 2 --eps 5e-7 --rate 5000\n"
                "  tlnmf fit notes.npy -k 2 --eps 5e-7 --rate 5000 --block 4\n",
    .notes =
        "DATA is .npy, .npz, HDF5 (file.h5:/path), MATLAB (file.mat:name) or text (.csv, .tsv); "
        "- is standard input. The model goes to -o FILE [model.h5], also .mat or .npz.",
    .shares = true,
    .run = run,
};
