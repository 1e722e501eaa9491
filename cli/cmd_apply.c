/* tlnmf apply: uses a model of `separate` on another recording, or of `fit` on another array. */
#include "cli/common/arrays.h"
#include "cli/stems/stems.h"

#include <math.h>
#include <string.h>

static struct {
    const char *resample;
} arg;

static const cli_option options[] = {
    {"resample", NULL, "resample the input to the model's rate", &arg.resample, GROUP_INPUT,
     CLI_FOR_SOUNDS},
    {"o", "OUTPUT",
     "directory of the stems, or file of the result; [{name}-stems for sounds, applied.h5 for "
     "arrays]",
     &cli_asked.output, GROUP_OUTPUT, 0},
    {0},
};

/* ---- before the run -------------------------------------------------------------------------- */

/* Checks that the model separates sounds of this rate. */
static int check_model(const cli_stems *stems, const tlnmf_record *model)
{
    cli_call *call = stems->call;
    tlnmf_record *plan;
    tlnmf_error error = tlnmf_separate_plan(call->ctx, model, stems->sound, stems->settings, &plan);
    tlnmf_record_free(plan);
    if (error == TLNMF_OK)
        return EXIT_DONE;
    if (error == TLNMF_ERR_MEMORY)
        return cli_fail_library(call, error, NULL);
    double rate = tlnmf_record_get_real(model, "rate");
    bool of_sound = error == TLNMF_ERR_DATA &&
                    rate != tlnmf_record_get_real(tlnmf_sound_record(stems->sound), "rate");
    return cli_fail(call->command, EXIT_INPUT, "%s: %s%s",
                    of_sound ? stems->path : stems->model_path, tlnmf_message(call->ctx),
                    of_sound ? ", or give --resample" : "");
}

/* With --resample, resamples the sound to the model's rate. */
static int resample(cli_stems *stems, const tlnmf_record *model)
{
    double rate = tlnmf_record_get_real(model, "rate");
    if (arg.resample == NULL || !(rate > 0.0) ||
        rate == tlnmf_record_get_real(tlnmf_sound_record(stems->sound), "rate"))
        return EXIT_DONE;
    stems->recording = stems->sound;
    tlnmf_error error =
        tlnmf_sound_resample(stems->call->ctx, stems->recording, rate, &stems->sound);
    return cli_check(stems->call, error, stems->path);
}

static int check(cli_stems *stems, const tlnmf_record *model)
{
    cli_call *call = stems->call;
    tlnmf_record *plan = NULL;
    TRY(check_model(stems, model));
    TRY(cli_stems_add_labels(stems));
    tlnmf_error error = tlnmf_separate_plan(call->ctx, model, stems->sound, stems->settings, &plan);
    int code = error == TLNMF_OK ? cli_stems_check(stems, plan)
                                 : cli_fail_library(call, error, cli_asked.labels);
    tlnmf_record_free(plan);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Removes the results of learning, which do not describe this recording. */
static tlnmf_error forget_learning(const cli_call *call, tlnmf_record *model)
{
    static const char *const counts[] = {"remixes", "candidates", "learn_frames", "band", "J"};
    TRY(tlnmf_record_set_real(call->ctx, model, "score", NAN));
    TRY(tlnmf_record_set_real(call->ctx, model, "C", NAN));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        TRY(tlnmf_record_set_integer(call->ctx, model, counts[i], 0));
    return TLNMF_OK;
}

static int apply_model(cli_stems *stems, tlnmf_record *model)
{
    TRY(resample(stems, model));
    TRY(check(stems, model));
    TRY(cli_check(stems->call, forget_learning(stems->call, model), NULL));
    json_t *about = cli_stems_summary(stems, model);
    json_object_set_new(about, "learnt_model", cli_text(stems->model_path));
    return cli_stems_make(stems, model, about);
}

static int apply_to_sound(cli_call *call, tlnmf_record *model)
{
    cli_stems stems;
    TRY(cli_stems_add_files(call, call->operands[1]));
    int code = cli_stems_open(call, call->settings, call->operands[1], &stems);
    stems.model_path = call->operands[0];
    if (code == EXIT_DONE)
        code = apply_model(&stems, model);
    cli_stems_close(&stems, code);
    return code;
}

static int apply_to_array(cli_call *call, const tlnmf_record *model)
{
    if (!tlnmf_record_has(model, "eps"))
        return cli_fail(call->command, EXIT_INPUT, "%s: the model has no eps", call->operands[0]);
    TRY(cli_inherit_powers(call, model, call->operands[1]));
    cli_input input = cli_asked.input;
    input.spec = call->operands[1];
    input.expects_data = true;
    TRY(cli_check_reading(call, &input));
    return cli_apply_arrays(call, model, call->operands[0], &input,
                            cli_asked.output != NULL ? cli_asked.output : "applied.h5");
}

/* Refuses options that do not apply to this kind of input. */
static int check_options(const cli_call *call, bool is_array)
{
    const cli_command *command = call->command;
    const cli_option *const tables[] = {command->options, cli_shared_options};
    const unsigned other = is_array ? CLI_FOR_SOUNDS : CLI_FOR_ARRAYS;
    const char *here = is_array ? command->also : command->task, *stray = NULL;
    for (int t = 0; t < 2; t++)
        for (const cli_option *row = tables[t]; row->name != NULL; row++)
            if ((row->use & other) && *row->value != NULL)
                stray = row->name;
    for (int i = 0; i < call->given_count; i++)
        if (tlnmf_option_kind_of(here, call->given[i]) == TLNMF_OPTION_UNKNOWN)
            stray = call->given[i];
    if (stray == NULL)
        return EXIT_DONE;
    return cli_fail(call->command, EXIT_USAGE, "%s%s is for %s, but %s is %s",
                    strlen(stray) == 1 ? "-" : "--", stray, is_array ? "sounds" : "arrays",
                    call->operands[1], is_array ? "an array" : "a sound");
}

static int run(cli_call *call)
{
    tlnmf_record *model;
    if (cli_asked.explain != NULL && call->operand_count == 0) {
        cli_apply_explain(stdout);
        return EXIT_DONE;
    }
    TRY(cli_check_operands(call, 2, "a model and a sound file or array are required"));
    TRY(cli_read(call, "model", call->operands[0], &model));
    bool is_array = cli_is_array(call->operands[1], model);
    int code = check_options(call, is_array);
    if (code == EXIT_DONE)
        code = is_array ? apply_to_array(call, model) : apply_to_sound(call, model);
    tlnmf_record_free(model);
    return code;
}

const cli_command cli_apply = {
    .name = "apply",
    .usage = "apply MODEL SOUND|ARRAY [-o OUTPUT] [options]",
    .purpose = "use a model on another recording or array: Phi and W are kept, H is fitted",
    .task = "separate",
    .also = "apply",
    .both = true,
    .reads = true,
    .without = " keep-h ", /* H is always kept */
    .options = options,
    .shared = " input dof axes per-trial block moving missing weights mask header index columns "
              "drop labels "
              "force format gain activations no-report no-sound json explain q v ",
    .first = " labels resample axes missing o format gain residual keep-v force json max-seconds "
             "threads ",
    .examples = "  tlnmf apply stems1/model.h5 take2.wav -o stems2\n"
                "  tlnmf apply stems1/model.h5 take2.wav --labels take2.txt -o stems2\n"
                "  tlnmf apply model.h5 new.npy -o new.h5 --keep-v\n",
    .run = run,
};
