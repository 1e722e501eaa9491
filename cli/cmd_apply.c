/* tlnmf apply: a model of `separate` on another recording. */
#include "cli/stems/stems.h"

#include <math.h>
#include <string.h>

static const cli_rename renamed[] = {{"keep", "--residual"}, {NULL, NULL}};

/* ---- before the run -------------------------------------------------------------------------- */

/* Whether the model is one of a separation, and of sounds at this rate. */
static int check_model(const cli_stems *stems, const tlnmf_record *model)
{
    cli_call *call = stems->call;
    tlnmf_record *plan;
    tlnmf_error error = tlnmf_stems_plan(call->ctx, model, stems->sound, stems->settings, &plan);
    tlnmf_record_free(plan);
    if (error == TLNMF_OK)
        return EXIT_DONE;
    if (error == TLNMF_ERR_MEMORY)
        return cli_fail_library(call, error, NULL);
    double rate = tlnmf_get_real(model, "rate");
    bool of_sound =
        error == TLNMF_ERR_DATA && rate != tlnmf_get_real(tlnmf_sound_record(stems->sound), "rate");
    return cli_fail(call->command, EXIT_INPUT, "%s: %s", of_sound ? stems->path : stems->model_path,
                    tlnmf_message(call->ctx));
}

static int check(cli_stems *stems, const tlnmf_record *model)
{
    cli_call *call = stems->call;
    tlnmf_record *plan = NULL;
    int code = check_model(stems, model);
    if (code == EXIT_DONE)
        code = cli_stems_add_labels(stems);
    if (code != EXIT_DONE)
        return code;
    tlnmf_error error = tlnmf_stems_plan(call->ctx, model, stems->sound, stems->settings, &plan);
    code = error == TLNMF_OK ? cli_stems_check(stems, plan)
                             : cli_fail_library(call, error, cli_stem_values.labels);
    tlnmf_record_free(plan);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static json_t *about(const cli_stems *stems, const tlnmf_record *model)
{
    json_t *object = json_object();
    json_object_set_new(object, "version", json_string(tlnmf_version()));
    json_object_set_new(object, "command", json_string(stems->call->command->name));
    json_object_set_new(object, "blas", json_string(tlnmf_blas()));
    json_object_set_new(object, "learnt_model", cli_text(stems->model_path));
    /* the model's: it goes with its eps */
    json_object_set_new(object, "power", json_real(tlnmf_get_real(model, "power")));
    json_object_set_new(object, "labels",
                        cli_stem_values.labels ? cli_text(cli_stem_values.labels) : json_null());
    return object;
}

/* How the model was learnt is not said of this recording. */
static tlnmf_error forget_learning(const cli_call *call, tlnmf_record *model)
{
    static const char *const counts[] = {"remixes", "candidates", "learn_frames", "band", "J"};
    tlnmf_error error = tlnmf_set_real(call->ctx, model, "score", NAN);
    if (error == TLNMF_OK)
        error = tlnmf_set_real(call->ctx, model, "C", NAN);
    for (size_t i = 0; error == TLNMF_OK && i < sizeof counts / sizeof *counts; i++)
        error = tlnmf_set_integer(call->ctx, model, counts[i], 0);
    return error;
}

static int apply_model(cli_stems *stems, tlnmf_record *model)
{
    int code = check(stems, model);
    if (code != EXIT_DONE)
        return code;
    tlnmf_error error = forget_learning(stems->call, model);
    if (error != TLNMF_OK)
        return cli_fail_library(stems->call, error, NULL);
    tlnmf_ctx_set_progress(stems->call->ctx, cli_sound_progress, NULL);
    return cli_stems_make(stems, model, about(stems, model));
}

static int apply(cli_call *call)
{
    tlnmf_record *model;
    cli_stems stems;
    if (call->operand_count != 2)
        return cli_fail(call->command, EXIT_USAGE, "a model and a sound file are needed");
    tlnmf_error error = tlnmf_io_read_model(call->ctx, call->operands[0], &model);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    int code = cli_stems_open(call, call->settings, call->operands[1], &stems);
    stems.model_path = call->operands[0];
    if (code == EXIT_DONE)
        code = apply_model(&stems, model);
    cli_stems_close(&stems, code);
    tlnmf_record_free(model);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&cli_stem_values, 0, sizeof cli_stem_values);
    if (cli_begin(&call, &cli_apply, argc, argv, &code))
        code = apply(&call);
    cli_end(&call);
    return code;
}

const cli_command cli_apply = {
    .name = "apply",
    .usage = "apply MODEL SOUND -o DIR [options]",
    .purpose = "take another recording apart with a model of `separate`; H alone is fitted",
    .task = "stems",
    .without = " keep-h ", /* H is always kept */
    .common = " force json q v ",
    .shared = cli_stem_options,
    .shared_count = CLI_STEM_OPTIONS,
    .renamed = renamed,
    .examples = "  tlnmf separate take1.wav --labels take1.txt -o stems1\n"
                "  tlnmf apply stems1/model.h5 take2.wav -o stems2\n",
    .run = run,
};
