/* tlnmf jd: joint diagonalisation alone. */
#include "cli/cli.h"

#include <string.h>

static struct {
    const char *init_phi, *input, *weights, *strict;
} arg;

static const cli_option options[] = {
    {"init-phi", "FILE", "start from this Phi (M, M)", &arg.init_phi},
    {"input", "KIND", "what the array is: covariances (N, M, M), data (S, M, N), or auto [auto]",
     &arg.input},
    {"weights", "FILE", "how much each of the N frames counts (only ratios matter)", &arg.weights},
    {"strict", NULL, "exit with code 4 unless the run converged", &arg.strict},
};

static int read_weights(cli_call *call, int64_t N, tlnmf_data *data)
{
    io_error err;
    io_array array;
    if (arg.weights == NULL)
        return EXIT_DONE;
    if (!io_array_read(arg.weights, &array, &err))
        return cli_fail_io(call->command, &err);
    int code;
    if (array.ndim != 1 || array.dim[0] != N) {
        code = cli_fail(call->command, EXIT_INPUT, "%s: weights must have the shape (%lld,)",
                        arg.weights, (long long)N);
    } else {
        tlnmf_error error = tlnmf_data_set_weights(call->ctx, data, array.x);
        code = error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, arg.weights);
    }
    io_array_free(&array);
    return code;
}

static int diagonalise(cli_call *call, const char *input, const char *model)
{
    tlnmf_data *data;
    int code = cli_read_data(call, input, arg.input == NULL ? "auto" : arg.input, &data);
    if (code != EXIT_DONE)
        return code;
    tlnmf_data_info info;
    tlnmf_data_describe(data, &info);
    io_array Phi;
    tlnmf_result *result = NULL;
    code = cli_read_matrix(call, arg.init_phi != NULL ? arg.init_phi : call->transform_file, "Phi",
                           info.M, info.M, &Phi);
    if (code == EXIT_DONE)
        code = read_weights(call, info.N, data);
    if (code == EXIT_DONE)
        code = cli_check_fit_memory(call, data);
    if (code == EXIT_DONE) {
        tlnmf_start start;
        tlnmf_start_init(&start);
        start.Phi = Phi.x;
        tlnmf_error error = tlnmf_diagonalise(call->ctx, data, &call->settings, &start,
                                              cli_progress, NULL, &result);
        cli_result r = {.input = input,
                        .model = model,
                        .data = data,
                        .result = result,
                        .with_trace = call->settings.trace != 0,
                        .kind = arg.input,
                        .weights = arg.weights,
                        .init_phi = arg.init_phi != NULL ? arg.init_phi : call->transform_file};
        code = error == TLNMF_OK ? cli_finish(call, &r, arg.strict != NULL)
                                 : cli_fail_library(call, error, NULL);
    }
    tlnmf_result_free(result);
    io_array_free(&Phi);
    tlnmf_data_free(data);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_jd, options, sizeof options / sizeof *options, argc, argv, &code)) {
        const char *model = cli_common_values.output != NULL ? cli_common_values.output : "phi.h5";
        call.settings.method = TLNMF_METHOD_JD;
        code = cli_check_model(&call, model, arg.input, arg.init_phi);
        if (code == EXIT_DONE) {
            cli_catch_interrupt();
            code = diagonalise(&call, call.operands[0], model);
        }
    }
    cli_end(&call);
    return code;
}

const cli_command cli_jd = {
    .name = "jd",
    .usage = "jd COVARIANCES [options]",
    .purpose = "joint diagonalisation alone: the orthogonal Phi that minimises L",
    .takes = " solver eps eps-rel J j-tl tol grad-tol halvings max-seconds transform starts "
             "continuation precision seed stream threads trace o json q v ",
    .examples = "  tlnmf jd covs.npy --eps 1e-8 -o phi.h5\n"
                "  tlnmf jd data.npy --input data --starts 10\n"
                "\nThe transform goes to -o FILE [phi.h5].\n",
    .run = run,
};
