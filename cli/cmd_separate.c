/* tlnmf separate: separates recordings into their sources. */
#include "cli/stems/stems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *k, *frame, *hop, *labels_from;
} arg;

static const cli_option options[] = {
    {"labels-from", "PATTERN",
     "label tracks of many sounds; {name} stands for the name of the sound, as in {name}.txt",
     &arg.labels_from, GROUP_INPUT, 0},
    {"k", "INT|auto",
     "number of sources; auto: the number of names in the labels; without labels, 1 if one "
     "component explains the recording, else 2 [auto]",
     &arg.k, GROUP_MODEL, 0},
    {"frame", "LENGTH", NULL, &arg.frame, GROUP_MODEL, 0},
    {"hop", "LENGTH", NULL, &arg.hop, GROUP_MODEL, 0},
    {"o", "DIR", "directory of the stems; {name} stands for the name of the sound [{name}-stems]",
     &cli_asked.output, GROUP_OUTPUT, 0},
    {0},
};

/* ---- before the run -------------------------------------------------------------------------- */

/* The names of stems that are known before learning: the names in the labels, or the library's
 * names for sources without labels. The names of components are not known. */
static tlnmf_error likely_names(const cli_stems *stems, tlnmf_record **names)
{
    enum { MOST = 65 }; /* sources, and the residual */
    const cli_call *call = stems->call;
    const tlnmf_record *sound = tlnmf_sound_record(stems->sound);
    int64_t k = tlnmf_settings_get_integer(call->settings, "k"), count = 0;
    char blind[MOST][16];
    const char *name[MOST], *label;
    while (count < MOST - 1 &&
           (label = tlnmf_record_get_text_at(sound, "names", (size_t)count)) != NULL)
        name[count++] = label;
    for (; cli_asked.labels == NULL && count < k && count < MOST - 1; count++) {
        snprintf(blind[count], sizeof blind[count], "source_%d", (int)count + 1);
        name[count] = blind[count];
    }
    name[count++] = "residual";
    tlnmf_error error = tlnmf_record_create(call->ctx, names);
    return error == TLNMF_OK
               ? tlnmf_record_set_texts(call->ctx, *names, "names", name, (size_t)count)
               : error;
}

static int check(cli_call *call, cli_stems *stems)
{
    double rate = tlnmf_record_get_real(tlnmf_sound_record(stems->sound), "rate"), bytes;
    tlnmf_record *names = NULL;
    TRY(cli_set_length(call, "frame", arg.frame, rate));
    TRY(cli_set_length(call, "hop", arg.hop, rate));
    TRY(cli_stems_add_labels(stems));
    tlnmf_error error = tlnmf_learn_sources_memory(call->ctx, stems->sound, call->settings, &bytes);
    if (error == TLNMF_OK)
        error = likely_names(stems, &names);
    int code = cli_check(call, error, NULL);
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
    const tlnmf_settings *settings = stems->call->settings;
    json_t *object = cli_stems_summary(stems, model);
    json_object_set_new(object, "seed", cli_option_json(settings, "learn", "seed"));
    json_object_set_new(object, "release", cli_option_json(settings, "learn", "release"));
    json_object_set_new(object, "eps_rel", cli_option_json(settings, "learn", "eps-rel"));
    return object;
}

/* The caller frees the model in either case. */
static int learn(cli_stems *stems, tlnmf_record **model)
{
    cli_call *call = stems->call;
    *model = NULL;
    TRY(cli_checkpoint_begin(call));
    tlnmf_error error = tlnmf_learn_sources(call->ctx, stems->sound, call->settings, model);
    if (error != TLNMF_OK) /* the message of a file that cannot be read names it */
        return cli_fail_library(
            call, error,
            error == TLNMF_ERR_OPTION || error == TLNMF_ERR_INPUT ? NULL : stems->path);
    if (tlnmf_record_get_integer(*model, "outcome_code") == TLNMF_OUTCOME_CANCELLED)
        return cli_fail(call->command, EXIT_INTERRUPTED, "interrupted, no stems are written");
    /* the separation uses eps of the learnt model */
    return cli_check(call,
                     tlnmf_settings_set_real(call->ctx, stems->settings, "eps",
                                             tlnmf_record_get_real(*model, "eps")),
                     stems->path);
}

static int learn_and_write(cli_stems *stems)
{
    tlnmf_record *model;
    int code = learn(stems, &model);
    if (code == EXIT_DONE)
        code = cli_stems_make(stems, model, about(stems, model));
    tlnmf_record_free(model);
    return code;
}

static int separate_one(cli_call *call, const char *path)
{
    cli_stems stems;
    bool many = call->operand_count > 1; /* of one sound there is nothing else to do */
    if (many && cli_asked.resume != NULL && cli_asked.force == NULL &&
        cli_stems_are_done(call, path)) {
        cli_say(call->command, "%s: already separated, skipped", path);
        return EXIT_DONE;
    }
    int code = cli_stems_open(call, call->also, path, &stems);
    if (code == EXIT_DONE)
        code = check(call, &stems);
    if (code == EXIT_DONE)
        code = cli_checkpoint_check(call, stems.directory);
    if (code == EXIT_DONE)
        code = learn_and_write(&stems);
    cli_stems_close(&stems, code);
    cli_checkpoint_end(call, code, false);
    return code;
}

/* ---- many files ------------------------------------------------------------------------------ */

static int check_arguments(const cli_call *call)
{
    const cli_command *command = call->command;
    const char *directory = cli_asked.output;
    if (call->operand_count < 1)
        return cli_check_operands(call, 1, "a sound file");
    if (cli_asked.labels != NULL && arg.labels_from != NULL)
        return cli_fail(command, EXIT_USAGE, "--labels and --labels-from are mutually exclusive");
    if (call->operand_count > 1 && directory != NULL && !cli_is_pattern(directory))
        return cli_fail(command, EXIT_USAGE,
                        "-o %s for %d sounds must contain {name}, as in -o %s/{name}", directory,
                        call->operand_count, directory);
    if (call->operand_count > 1 && cli_asked.labels != NULL)
        return cli_fail(command, EXIT_USAGE,
                        "--labels %s for %d sounds: use --labels-from {name}.txt", cli_asked.labels,
                        call->operand_count);
    if (arg.labels_from != NULL && !cli_is_pattern(arg.labels_from))
        return cli_fail(command, EXIT_USAGE, "--labels-from %s must contain {name}",
                        arg.labels_from);
    if (arg.k == NULL)
        return EXIT_DONE;
    return cli_check(call,
                     tlnmf_settings_set_text(call->ctx, call->settings, "k",
                                             strcmp(arg.k, "auto") == 0 ? "0" : arg.k),
                     NULL);
}

/* The label track of a sound with --labels-from; false with a message. */
static bool find_labels(const cli_call *call, const char *sound, char labels[CLI_PATH])
{
    if (arg.labels_from != NULL)
        cli_asked.labels = cli_fill_pattern(call->command, arg.labels_from, sound, labels);
    return arg.labels_from == NULL || cli_asked.labels != NULL;
}

/* Adds the files of all sounds, so that no two sounds share a directory and no stem replaces a
 * sound or its labels. */
static int add_files(const cli_call *call)
{
    char labels[CLI_PATH];
    for (int i = 0; i < call->operand_count; i++)
        TRY(find_labels(call, call->operands[i], labels)
                ? cli_stems_add_files(call, call->operands[i])
                : EXIT_INPUT);
    return EXIT_DONE;
}

/* Separates the sounds sequentially. If one fails, the others are still separated. Returns the
 * code of the first failure. */
static int run(cli_call *call)
{
    int code = EXIT_DONE, failed = 0;
    char labels[CLI_PATH];
    TRY(check_arguments(call));
    TRY(add_files(call));
    for (int i = 0; i < call->operand_count && !cli_interrupted(); i++) {
        const char *path = call->operands[i];
        if (call->operand_count > 1)
            cli_say(call->command, "%s (%d of %d)", path, i + 1, call->operand_count);
        int one = find_labels(call, path, labels) ? separate_one(call, path) : EXIT_INPUT;
        failed += one != EXIT_DONE;
        code = code == EXIT_DONE || one == EXIT_INTERRUPTED ? one : code;
    }
    if (call->operand_count > 1 && failed > 0 && code != EXIT_INTERRUPTED)
        cli_say(call->command, "%d of %d sounds had errors", failed, call->operand_count);
    return code;
}

const cli_command cli_separate = {
    .name = "separate",
    .usage = "separate SOUND... [-k INT | --labels FILE] [-o DIR] [options]",
    .purpose = "separate a recording into its sources: one sound file per source",
    .task = "learn",
    .also = "separate",
    .without = " eps keep-h ", /* the model's floor is used; H is always kept */
    .options = options,
    .shared = " labels force format gain activations no-report no-sound json checkpoint every "
              "resume q v ",
    .reads = true,
    .first = " labels labels-from k method seed o format gain residual activations force json "
             "device threads resume ",
    .examples =
        "  tlnmf separate duet.wav --labels duet.txt\n"
        "  tlnmf separate duet.wav -k 2 -o stems\n"
        "  tlnmf separate *.wav --labels-from {name}.txt -o out/{name}\n"
        "  tlnmf separate duet.wav --labels duet.txt --method nmf --transform stft -o fixed\n",
    .notes = "LENGTH is a number of samples, or a time such as 40ms.",
    .run = run,
};
