/* tlnmf jd: joint diagonalisation alone. */
#include "cli/arrays/arrays.h"
#include "cli/common/summary.h"

#include <string.h>

static struct {
    const char *init_phi, *input, *weights, *missing, *strict, *split, *header, *index;
} arg;

static const cli_option options[] = {
    {"init-phi", "FILE", "start from this Phi (M, M)", &arg.init_phi},
    {"input", "data|covariances|auto",
     "what the array holds: data (S, M, N) or covariances (N, M, M) [auto]", &arg.input},
    CLI_TABLE_OPTIONS(arg.header, arg.index),
    {"weights", "FILE", "weights of the N frames; only their ratios matter", &arg.weights},
    {"missing", NULL, "NaN in the data means: this frame of this realisation is missing",
     &arg.missing},
    {"split", "HOW",
     "what the processes of tlnmf-mpi divide among them: starts; frames; or frames:G: groups of G "
     "processes divide the frames, and the groups the starts [starts]",
     &arg.split},
    {"strict", NULL, "exit with code 4 unless the run converged", &arg.strict},
};

static const char *phi_file(const cli_call *call)
{
    return arg.init_phi != NULL ? arg.init_phi : call->transform_file;
}

static int diagonalise_and_finish(cli_call *call, tlnmf_data *data, const tlnmf_record *start,
                                  const char *output)
{
    tlnmf_record *model;
    tlnmf_io_reservation *reserved;
    int code = cli_reserve_model(call, output, data, 0, &reserved);
    code = cli_agree(code);
    if (code != EXIT_DONE)
        return code;
    tlnmf_ctx_set_progress(call->ctx, cli_progress, NULL);
    tlnmf_error error = tlnmf_diagonalise(call->ctx, data, call->settings, start, &model);
    cli_checkpoint_report(call);
    tlnmf_io_release(reserved);
    cli_result r = {.input = call->operands[0],
                    .output = output,
                    .data = data,
                    .model = model,
                    .kind = arg.input,
                    .weights = arg.weights,
                    .missing = arg.missing,
                    .header = arg.header,
                    .index = arg.index,
                    .init_phi = phi_file(call)};
    code = error == TLNMF_OK ? cli_finish(call, &r, arg.strict != NULL)
                             : cli_fail_library(call, error, NULL);
    tlnmf_record_free(model);
    return code;
}

static int diagonalise(cli_call *call, const char *output)
{
    const cli_input input = {.spec = call->operands[0],
                             .kind = arg.input ? arg.input : "auto",
                             .header = arg.header,
                             .index = arg.index,
                             .missing = arg.missing != NULL,
                             .weights = arg.weights};
    tlnmf_data *data;
    tlnmf_record *start = NULL;
    int code = cli_agree(cli_read_data(call, &input, &data));
    int64_t M = tlnmf_get_integer(tlnmf_data_record(data), "M");
    if (code == EXIT_DONE && tlnmf_record_create(call->ctx, &start) != TLNMF_OK)
        code = cli_fail_library(call, TLNMF_ERR_MEMORY, NULL);
    if (code == EXIT_DONE)
        code = cli_read_matrix(call, phi_file(call), "Phi", M, M, start);
    if (code == EXIT_DONE && tlnmf_settings_get_integer(call->settings, "whiten") != 1)
        code = cli_check_phi(call, phi_file(call));
    if (code == EXIT_DONE)
        code = cli_read_weights(call, &input, data);
    if (code == EXIT_DONE)
        code = cli_checkpoint_begin(call, data);
    if (code == EXIT_DONE)
        code = cli_check_fit_memory(call, data);
    code = cli_agree(code);
    if (code == EXIT_DONE)
        code = diagonalise_and_finish(call, data, start, output);
    cli_checkpoint_end(call, code);
    tlnmf_record_free(start);
    tlnmf_data_free(data);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    bool go_on = cli_begin(&call, &cli_jd, argc, argv, &code);
    if (go_on && cli_common_values.explain != NULL && call.operand_count == 0)
        cli_explain_all(stdout);
    else if (go_on) {
        const char *output = cli_common_values.output != NULL ? cli_common_values.output : "phi.h5";
        code = cli_check_model(&call, output, arg.init_phi, (const char *[]){arg.weights, NULL});
        if (code == EXIT_DONE)
            code = cli_checkpoint_check(&call, output);
        if (code == EXIT_DONE)
            code = cli_share(&call, arg.split);
        code = cli_agree(code);
        if (code == EXIT_DONE) {
            cli_catch_interrupt();
            code = diagonalise(&call, output);
        }
        code = cli_agree(code);
    }
    cli_end(&call);
    return code;
}

const cli_command cli_jd = {
    .name = "jd",
    .usage = "jd COVARIANCES [options]",
    .purpose = "joint diagonalisation alone: the orthogonal Phi that minimises L",
    .task = "jd",
    .common = " o force json explain q v checkpoint every resume ",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .examples = "  tlnmf jd covs.npy --eps 1e-8 -o phi.h5\n"
                "  tlnmf jd data.npy --input data --starts 10\n"
                "  tlnmf jd covs.npy --whiten -o unmixing.mat\n",
    .notes = "The transform goes to -o FILE [phi.h5].",
    .shares = true,
    .run = run,
};
