/* tlnmf separate: a recording in, its sources out. */
#include "cli/stems/stems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *k, *frame, *hop, *labels_from;
} arg;

static const cli_option options[] = {
    {"k", "INT",
     "number of sources; auto, or no -k: the number of names in the labels, or without labels an "
     "estimate, with its reason",
     &arg.k},
    {"labels-from", "PATTERN",
     "label tracks of many sounds: {name} in it is the name of the sound, as in {name}.txt",
     &arg.labels_from},
    {"frame", "LENGTH", NULL, &arg.frame},
    {"hop", "LENGTH", NULL, &arg.hop},
};

static const cli_rename renamed[] = {
    {"learn-columns", "--learn-frames"},
    {"rate", "--learn-below with half of the value"},
    {"keep", "--residual"},
    {NULL, NULL},
};

/* ---- lengths --------------------------------------------------------------------------------- */

static int set_length(const cli_call *call, const char *name, const char *text, double rate)
{
    const double most = 1e15; /* a whole number in a double; the library has the range */
    if (text == NULL)
        return EXIT_DONE;
    double length = cli_samples(text, rate);
    if (!(length >= 0.0 && length <= most))
        return cli_fail(call->command, EXIT_USAGE,
                        "%s = %s is neither a number of samples nor a time such as 40ms", name,
                        text);
    tlnmf_error error =
        tlnmf_settings_set_integer(call->ctx, call->settings, name, (int64_t)length);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

/* ---- before the run -------------------------------------------------------------------------- */

/* The names of the stems, as far as they are known before anything is learnt: those of the labels,
 * or the library's for sources without names; not those of components. */
static tlnmf_error likely_names(const cli_stems *stems, tlnmf_record **names)
{
    enum { MOST = 65 }; /* sources, and the residual */
    const cli_call *call = stems->call;
    const tlnmf_record *sound = tlnmf_sound_record(stems->sound);
    int64_t k = tlnmf_settings_get_integer(call->settings, "k"), count = 0;
    char blind[MOST][16];
    const char *name[MOST], *label;
    while (count < MOST - 1 && (label = tlnmf_get_text_at(sound, "names", (size_t)count)) != NULL)
        name[count++] = label;
    for (; cli_stem_values.labels == NULL && count < k && count < MOST - 1; count++) {
        snprintf(blind[count], sizeof blind[count], "source_%d", (int)count + 1);
        name[count] = blind[count];
    }
    name[count++] = "residual";
    tlnmf_error error = tlnmf_record_create(call->ctx, names);
    return error == TLNMF_OK ? tlnmf_set_texts(call->ctx, *names, "names", name, (size_t)count)
                             : error;
}

static int check(cli_call *call, cli_stems *stems)
{
    double rate = tlnmf_get_real(tlnmf_sound_record(stems->sound), "rate"), bytes;
    tlnmf_record *names = NULL;
    int code = set_length(call, "frame", arg.frame, rate);
    if (code == EXIT_DONE)
        code = set_length(call, "hop", arg.hop, rate);
    if (code == EXIT_DONE)
        code = cli_stems_add_labels(stems);
    if (code != EXIT_DONE)
        return code;
    tlnmf_error error = tlnmf_separate_memory(call->ctx, stems->sound, call->settings, &bytes);
    if (error == TLNMF_OK)
        error = likely_names(stems, &names);
    if (error != TLNMF_OK)
        code = cli_fail_library(call, error, NULL);
    if (code == EXIT_DONE)
        code = cli_stems_check(stems, names);
    if (code == EXIT_DONE)
        code = cli_check_memory(call, bytes);
    tlnmf_record_free(names);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static json_t *about(const cli_stems *stems, const tlnmf_record *model)
{
    const cli_call *call = stems->call;
    double rate = tlnmf_get_real(model, "rate");
    double release = tlnmf_settings_get_real(call->settings, "release");
    json_t *object = json_object();
    json_object_set_new(object, "version", json_string(tlnmf_version()));
    json_object_set_new(object, "command", json_string(call->command->name));
    json_object_set_new(object, "blas", json_string(tlnmf_blas()));
    json_object_set_new(object, "seed", cli_option_json(call->settings, "separate", "seed"));
    json_object_set_new(object, "power", json_real(tlnmf_get_real(model, "power")));
    json_object_set_new(object, "labels",
                        cli_stem_values.labels ? cli_text(cli_stem_values.labels) : json_null());
    /* in samples */
    json_object_set_new(object, "release", json_integer((json_int_t)floor(release * rate + 0.5)));
    json_object_set_new(object, "eps_rel", cli_option_json(call->settings, "separate", "eps-rel"));
    json_object_set_new(object, "learn_frames",
                        cli_option_json(call->settings, "separate", "learn-frames"));
    json_object_set_new(object, "repeat", cli_repeat(call));
    return object;
}

static int learn_and_write(cli_stems *stems)
{
    cli_call *call = stems->call;
    tlnmf_record *model;
    int code = cli_stems_learn(stems, &model);
    /* The floor is that of this very sound: given, it need not be found again. */
    if (code == EXIT_DONE && tlnmf_settings_set_real(call->ctx, stems->settings, "eps",
                                                     tlnmf_get_real(model, "eps")) != TLNMF_OK)
        code =
            cli_fail(call->command, EXIT_INTERNAL, "%s: %s", stems->path, tlnmf_message(call->ctx));
    if (code == EXIT_DONE)
        code = cli_stems_make(stems, model, about(stems, model));
    tlnmf_record_free(model);
    return code;
}

static int separate_one(cli_call *call, const char *path)
{
    cli_stems stems;
    int code = cli_stems_open(call, call->also, path, &stems);
    if (code == EXIT_DONE)
        code = check(call, &stems);
    if (code == EXIT_DONE)
        code = cli_checkpoint_check(call, stems.directory);
    if (code == EXIT_DONE)
        code = learn_and_write(&stems);
    cli_stems_close(&stems, code);
    cli_checkpoint_end(call, code);
    return code;
}

/* ---- many files ------------------------------------------------------------------------------ */

static int check_arguments(const cli_call *call)
{
    const cli_command *command = call->command;
    const char *directory = cli_common_values.output;
    if (call->operand_count < 1)
        return cli_fail(command, EXIT_USAGE, "a sound file is needed");
    if (cli_stem_values.labels != NULL && arg.labels_from != NULL)
        return cli_fail(command, EXIT_USAGE, "--labels and --labels-from: one of them");
    if (call->operand_count > 1 && directory != NULL && !cli_is_pattern(directory))
        return cli_fail(command, EXIT_USAGE,
                        "-o %s for %d sounds: {name} must be in it, as in -o %s/{name}", directory,
                        call->operand_count, directory);
    if (call->operand_count > 1 && cli_stem_values.labels != NULL)
        return cli_fail(command, EXIT_USAGE,
                        "--labels %s for %d sounds: use --labels-from {name}.txt",
                        cli_stem_values.labels, call->operand_count);
    if (arg.labels_from != NULL && !cli_is_pattern(arg.labels_from))
        return cli_fail(command, EXIT_USAGE, "--labels-from %s: {name} must be in it",
                        arg.labels_from);
    if (arg.k == NULL)
        return EXIT_DONE;
    tlnmf_error error = tlnmf_settings_set_text(call->ctx, call->settings, "k",
                                                strcmp(arg.k, "auto") == 0 ? "0" : arg.k);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

/* One after the other. A sound that fails does not keep the others from being separated; the code
 * is that of the first failure. */
static int separate(cli_call *call)
{
    int code = check_arguments(call), failed = 0;
    char labels[CLI_PATH];
    if (code != EXIT_DONE)
        return code;
    for (int i = 0; i < call->operand_count && !cli_interrupted(); i++) {
        const char *path = call->operands[i];
        if (call->operand_count > 1)
            cli_say(call->command, "%s (%d of %d)", path, i + 1, call->operand_count);
        if (arg.labels_from != NULL)
            cli_stem_values.labels = cli_fill_pattern(call->command, arg.labels_from, path, labels);
        int one = arg.labels_from != NULL && cli_stem_values.labels == NULL
                      ? EXIT_INPUT
                      : separate_one(call, path);
        failed += one != EXIT_DONE;
        code = code == EXIT_DONE || one == EXIT_INTERRUPTED ? one : code;
    }
    if (call->operand_count > 1 && failed > 0 && code != EXIT_INTERRUPTED)
        cli_say(call->command, "%d of %d sounds could not be separated", failed,
                call->operand_count);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    memset(&cli_stem_values, 0, sizeof cli_stem_values);
    if (cli_begin(&call, &cli_separate, argc, argv, &code))
        code = separate(&call);
    cli_end(&call);
    return code;
}

const cli_command cli_separate = {
    .name = "separate",
    .usage = "separate SOUND... [-k INT | --labels FILE] [-o DIR] [options]",
    .purpose = "separate a recording into its sources: one sound file per source",
    .task = "separate",
    .also = "stems",
    .without = " eps keep-h ", /* the model's floor is used; H is always kept */
    .common = " force json q v checkpoint every resume ",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .shared = cli_stem_options,
    .shared_count = CLI_STEM_OPTIONS,
    .renamed = renamed,
    .examples =
        "  tlnmf separate duet.wav --labels duet.txt\n"
        "  tlnmf separate duet.wav -k 2 -o stems\n"
        "  tlnmf separate *.wav --labels-from {name}.txt -o out/{name}\n"
        "  tlnmf separate duet.wav --labels duet.txt --method nmf --transform stft -o fixed\n",
    .notes = "LENGTH is a number of samples, or a time such as 40ms.",
    .run = run,
};
