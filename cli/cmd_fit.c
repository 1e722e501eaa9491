/* tlnmf fit: learn Phi, W, H from an array. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *init_phi, *init_w, *init_h, *rate, *atoms, *no_model, *strict, *input, *block,
        *moving;
} arg;

static const cli_option options[] = {
    {"init-phi", "FILE", "start from this Phi (M, M); with --method nmf, keep it", &arg.init_phi},
    {"init-w", "FILE", "start from this W (M, K)", &arg.init_w},
    {"init-h", "FILE", "start from this H (K, N); zeros stay zero", &arg.init_h},
    {"input", "KIND", "what the array is: data, covariances or auto [data]", &arg.input},
    {"block", "INT", "take each so many frames for realisations of one frame", &arg.block},
    {"moving", "INT", "take the so many frames around each for realisations of it", &arg.moving},
    {"rate", "HZ", "sampling rate: prints the strongest atoms with their frequencies", &arg.rate},
    {"atoms", "INT", "how many of them [8]", &arg.atoms},
    {"no-model", NULL, "write no model file", &arg.no_model},
    {"strict", NULL, "exit with code 4 unless the run converged", &arg.strict},
};

/* The arrays of a start, from files. */
typedef struct given {
    io_array Phi, W, H;
} given;

static void given_free(given *g)
{
    io_array_free(&g->Phi);
    io_array_free(&g->W);
    io_array_free(&g->H);
}

static const char *phi_file(const cli_call *call)
{
    return arg.init_phi != NULL ? arg.init_phi : call->transform_file;
}

static int read_given(cli_call *call, const tlnmf_data_info *info, given *g)
{
    int64_t M = info->M, N = info->N, K = call->settings.k;
    *g = (given){0};
    int code = cli_read_matrix(call, phi_file(call), "Phi", M, M, &g->Phi);
    if (code == EXIT_DONE)
        code = cli_read_matrix(call, arg.init_w, "W", M, K, &g->W);
    if (code == EXIT_DONE)
        code = cli_read_matrix(call, arg.init_h, "H", K, N, &g->H);
    return code;
}

/* --rate and --atoms: fills in the atoms of a result. */
static int find_atoms(cli_call *call, int64_t M, cli_result *r)
{
    if (arg.rate == NULL)
        return EXIT_DONE;
    char *end;
    r->rate = strtod(arg.rate, &end);
    if (end == arg.rate || *end != '\0' || !(r->rate > 0.0 && r->rate < 1e12))
        return cli_fail(call->command, EXIT_USAGE, "rate = %s is not a positive number", arg.rate);
    if (!cli_integer(call, "atoms", arg.atoms, 1, M, M < 8 ? M : 8, &r->atom_count))
        return EXIT_USAGE;
    r->atoms = calloc((size_t)r->atom_count, sizeof *r->atoms);
    return r->atoms != NULL ? EXIT_DONE : cli_fail(call->command, EXIT_INTERNAL, "no memory");
}

static int fit_and_finish(cli_call *call, cli_result *r, const tlnmf_start *start)
{
    tlnmf_result *result;
    tlnmf_error error =
        tlnmf_fit(call->ctx, r->data, &call->settings, start, cli_progress, NULL, &result);
    if (error == TLNMF_OK && r->atom_count > 0)
        error = tlnmf_result_atoms(call->ctx, result, r->rate, r->atoms, r->atom_count);
    r->result = result;
    int code = error == TLNMF_OK ? cli_finish(call, r, arg.strict != NULL)
                                 : cli_fail_library(call, error, NULL);
    tlnmf_result_free(result);
    return code;
}

static int fit(cli_call *call, const char *input, const char *model)
{
    tlnmf_data *data;
    int code = cli_read_data(call, input, arg.input == NULL ? "data" : arg.input, &data);
    if (code != EXIT_DONE)
        return code;
    tlnmf_data_info info;
    tlnmf_data_describe(data, &info);
    given g;
    code = read_given(call, &info, &g);
    cli_result r = {.input = input,
                    .model = model,
                    .data = data,
                    .with_trace = call->settings.trace != 0,
                    .kind = arg.input,
                    .block = arg.block,
                    .moving = arg.moving,
                    .init_phi = phi_file(call),
                    .init_w = arg.init_w,
                    .init_h = arg.init_h};
    if (code == EXIT_DONE)
        code = find_atoms(call, info.M, &r);
    if (code == EXIT_DONE)
        code = cli_check_fit_memory(call, data);
    if (code == EXIT_DONE) {
        tlnmf_start start;
        tlnmf_start_init(&start);
        start.Phi = g.Phi.x;
        start.W = g.W.x;
        start.H = g.H.x;
        code = fit_and_finish(call, &r, &start);
    }
    free(r.atoms);
    given_free(&g);
    tlnmf_data_free(data);
    return code;
}

/* What is wrong with the options before any file is touched. */
static int check(cli_call *call, const char *model)
{
    if (call->settings.k == 0 && call->operand_count == 1)
        return cli_fail(call->command, EXIT_USAGE, "-k is needed: the number of components");
    if (arg.atoms != NULL && arg.rate == NULL)
        return cli_fail(call->command, EXIT_USAGE, "--atoms needs --rate");
    if (arg.block != NULL && arg.moving != NULL)
        return cli_fail(call->command, EXIT_USAGE, "--block and --moving: one of them");
    const int64_t most = 1000000000;
    if (!cli_integer(call, "block", arg.block, 1, most, 0, &call->block) ||
        !cli_integer(call, "moving", arg.moving, 1, most, 0, &call->moving))
        return EXIT_USAGE;
    int code = cli_check_model(call, model, arg.input, arg.init_phi);
    tlnmf_error error = TLNMF_OK;
    if (code == EXIT_DONE)
        error = tlnmf_settings_check(call->ctx, &call->settings);
    return error == TLNMF_OK ? code : cli_fail_library(call, error, NULL);
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_fit, options, sizeof options / sizeof *options, argc, argv, &code)) {
        const char *model =
            cli_common_values.output != NULL ? cli_common_values.output : "model.h5";
        if (arg.no_model != NULL)
            model = NULL;
        code = check(&call, model);
        if (code == EXIT_DONE) {
            cli_catch_interrupt();
            code = fit(&call, call.operands[0], model);
        }
    }
    cli_end(&call);
    return code;
}

const cli_command cli_fit = {
    .name = "fit",
    .usage = "fit DATA -k K [options]",
    .purpose = "learn a transform and a factorisation from an array (M, N) or (S, M, N)",
    .takes = " k method solver eps eps-rel J j-tl j-nmf gamma tol grad-tol halvings max-seconds "
             "transform starts hops continuation exchange handover certify newton precision "
             "seed stream threads trace o json q v ",
    .examples = "  tlnmf fit data.npy -k 5 -o model.h5\n"
                "  tlnmf fit data.h5:/Y -k 5 --method jd --eps 1e-8 --json --trace\n"
                "  tlnmf fit data.mat:Y -k 2 --method nmf --transform dct\n"
                "  tlnmf fit data.npy -k 5 --starts 20 --seed 1 --exchange\n"
                "  tlnmf fit notes.npy -k 2 --eps 5e-7 --rate 5000\n"
                "  tlnmf fit notes.npy -k 2 --eps 5e-7 --rate 5000 --block 4\n"
                "\nDATA is .npy, HDF5 (file.h5:/path) or MATLAB (file.mat:name); - is standard "
                "input. The model\n"
                "goes to -o FILE [model.h5].\n",
    .run = run,
};
