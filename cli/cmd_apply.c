/* tlnmf apply: a model of `separate` on another recording, or one of `fit` on another array. */
#include "cli/arrays/arrays.h"
#include "cli/stems/stems.h"

#include <math.h>
#include <string.h>

static struct {
    const char *input, *header, *index, *block, *moving, *axes, *per_trial, *missing, *weights,
        *mask, *resample;
} arg;

/* For arrays; sounds share theirs with `separate`. */
static const cli_option options[] = {
    {"o", "OUTPUT",
     "sounds: directory of the stems, made if need be [{name}-stems]; arrays: file of the result "
     "[applied.h5]",
     &cli_common_values.output},
    {"input", "data|covariances|auto",
     "what the array holds: data (S, M, N) or covariances (N, M, M) [auto]", &arg.input},
    CLI_TABLE_OPTIONS(arg.header, arg.index),
    {"axes", "A,B,C", "what the axes of the array are, as for `fit` [trials,channels,time]",
     &arg.axes},
    {"per-trial", NULL,
     "treat the frames of each trial as separate frames, not as realisations (S N frames)",
     &arg.per_trial},
    {"block", "INT", "treat every INT consecutive frames as realisations of a single frame",
     &arg.block},
    {"moving", "INT", "treat the INT frames around each frame as realisations of it", &arg.moving},
    {"missing", NULL, "NaN in the array means: this frame of this realisation is missing",
     &arg.missing},
    {"weights", "FILE", "weights of the N frames, as for `fit`; a frame of weight 0 gets H = 0",
     &arg.weights},
    {"mask", "FILE",
     "weights of the M x N entries of V, whose rows are those of the model's Phi: 0 leaves an "
     "entry "
     "out, 1 counts it",
     &arg.mask},
    {"resample", NULL, "sounds: resample the input to the model's rate", &arg.resample},
};

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
    return cli_fail(call->command, EXIT_INPUT, "%s: %s%s",
                    of_sound ? stems->path : stems->model_path, tlnmf_message(call->ctx),
                    of_sound ? ", or give --resample" : "");
}

/* With --resample the sound becomes one at the model's rate. */
static int resample(cli_stems *stems, const tlnmf_record *model)
{
    double rate = tlnmf_get_real(model, "rate");
    if (arg.resample == NULL || !(rate > 0.0) ||
        rate == tlnmf_get_real(tlnmf_sound_record(stems->sound), "rate"))
        return EXIT_DONE;
    stems->recording = stems->sound;
    tlnmf_error error =
        tlnmf_sound_resample(stems->call->ctx, stems->recording, rate, &stems->sound);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(stems->call, error, stems->path);
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
    json_object_set_new(object, "repeat", cli_repeat(stems->call));
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
    int code = resample(stems, model);
    if (code == EXIT_DONE)
        code = check(stems, model);
    if (code != EXIT_DONE)
        return code;
    tlnmf_error error = forget_learning(stems->call, model);
    if (error != TLNMF_OK)
        return cli_fail_library(stems->call, error, NULL);
    tlnmf_ctx_set_progress(stems->call->ctx, cli_sound_progress, NULL);
    return cli_stems_make(stems, model, about(stems, model));
}

static int apply_to_sound(cli_call *call, tlnmf_record *model)
{
    cli_stems stems;
    int code = cli_stems_open(call, call->settings, call->operands[1], &stems);
    stems.model_path = call->operands[0];
    if (code == EXIT_DONE)
        code = apply_model(&stems, model);
    cli_stems_close(&stems, code);
    return code;
}

static int apply_to_array(cli_call *call, const tlnmf_record *model)
{
    const int64_t most = 1000000000;
    cli_input input = {.spec = call->operands[1],
                       .kind = arg.input ? arg.input : "auto",
                       .axes = arg.axes,
                       .per_trial = arg.per_trial != NULL,
                       .header = arg.header,
                       .index = arg.index,
                       .missing = arg.missing != NULL,
                       .weights = arg.weights,
                       .mask = arg.mask,
                       .expects_data = true};
    if (cli_check_axes(call, arg.axes) != EXIT_DONE)
        return EXIT_USAGE;
    if (arg.block != NULL && arg.moving != NULL)
        return cli_fail(call->command, EXIT_USAGE, "--block and --moving: one of them");
    if (!cli_integer(call, "block", arg.block, 1, most, 0, &input.block) ||
        !cli_integer(call, "moving", arg.moving, 1, most, 0, &input.moving))
        return EXIT_USAGE;
    const char *output = cli_common_values.output;
    return cli_apply_arrays(call, model, call->operands[0], &input,
                            output != NULL ? output : "applied.h5");
}

/* Options that mean nothing for this kind of input are refused, not passed over. */
static int check_options(const cli_call *call, bool is_array)
{
    static const char *const of_sounds[] = {"release", "eps", "components", "residual"};
    static const char *const of_arrays[] = {"J",      "tol",    "grad-tol", "max-seconds",
                                            "keep-x", "keep-v", NULL};
    const cli_stem_words *s = &cli_stem_values;
    const char *stray = NULL;
    if (is_array) {
        stray = s->labels        ? "labels"
                : s->activations ? "activations"
                : s->gain        ? "gain"
                : s->format      ? "format"
                : arg.resample   ? "resample"
                                 : NULL;
        for (size_t i = 0; i < sizeof of_sounds / sizeof *of_sounds; i++)
            stray = cli_given(call, of_sounds[i]) ? of_sounds[i] : stray;
    } else {
        stray = arg.input       ? "input"
                : arg.block     ? "block"
                : arg.moving    ? "moving"
                : arg.axes      ? "axes"
                : arg.per_trial ? "per-trial"
                : arg.missing   ? "missing"
                : arg.weights   ? "weights"
                : arg.mask      ? "mask"
                : arg.header    ? "header"
                : arg.index     ? "index"
                                : NULL;
        for (int i = 0; of_arrays[i] != NULL; i++)
            stray = cli_given(call, of_arrays[i]) ? of_arrays[i] : stray;
    }
    if (stray == NULL)
        return EXIT_DONE;
    return cli_fail(call->command, EXIT_USAGE, "%s%s is for %s, and %s is %s",
                    strlen(stray) == 1 ? "-" : "--", stray, is_array ? "sounds" : "arrays",
                    call->operands[1], is_array ? "an array" : "a sound");
}

static int apply(cli_call *call)
{
    tlnmf_record *model;
    if (call->operand_count != 2)
        return cli_fail(call->command, EXIT_USAGE, "a model and a sound file or array are needed");
    int code = cli_read(call, "model", call->operands[0], &model);
    if (code != EXIT_DONE)
        return code;
    bool is_array = cli_is_array(call->operands[1], model);
    code = check_options(call, is_array);
    if (code == EXIT_DONE)
        code = is_array ? apply_to_array(call, model) : apply_to_sound(call, model);
    tlnmf_record_free(model);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&cli_stem_values, 0, sizeof cli_stem_values);
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_apply, argc, argv, &code))
        code = apply(&call);
    cli_end(&call);
    return code;
}

const cli_command cli_apply = {
    .name = "apply",
    .usage = "apply MODEL SOUND|ARRAY -o OUTPUT [options]",
    .purpose = "use a model on another recording or array: Phi and W are kept, H is fitted",
    .task = "stems",
    .also = "apply",
    .mark = "sounds: ",
    .also_mark = "arrays: ",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .without = " keep-h ", /* H is always kept */
    .common = " force json q v ",
    .shared = cli_stem_options,
    .shared_count = CLI_STEM_OPTIONS,
    .renamed = renamed,
    .examples = "  tlnmf separate take1.wav --labels take1.txt -o stems1\n"
                "  tlnmf apply stems1/model.h5 take2.wav -o stems2\n"
                "  tlnmf fit data.npy -k 5 -o model.h5\n"
                "  tlnmf apply model.h5 new.npy -o new.h5 --keep-v\n",
    .run = run,
};
