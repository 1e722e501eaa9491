/* A separation: the sound through the model, then all that goes into the directory. */
#include "cli/stems/stems.h"

#include <stdlib.h>
#include <string.h>

/* ---- the run --------------------------------------------------------------------------------- */

static int run_once(cli_stems *stems, const tlnmf_record *model, cli_outputs *o,
                    tlnmf_record **report)
{
    cli_call *call = stems->call;
    cli_stems_watch(stems, model);
    tlnmf_error error =
        tlnmf_stems(call->ctx, model, stems->sound, stems->settings, cli_outputs_write, o, report);
    cli_checkpoint_unwatch(call);
    if (o->error != TLNMF_OK)
        return cli_outputs_fail(o, o->error);
    if (error != TLNMF_OK) /* the message of a file that cannot be read names it */
        return cli_fail_library(call, error, error == TLNMF_ERR_INPUT ? NULL : stems->path);
    if (tlnmf_get_integer(*report, "outcome_code") == TLNMF_CANCELLED)
        return cli_fail(call->command, EXIT_INTERRUPTED, "interrupted, no stems are written");
    return EXIT_DONE;
}

/* With --gain safe the peak is found first. */
static int run_all(cli_stems *stems, const tlnmf_record *model, cli_outputs *o,
                   tlnmf_record **report)
{
    if (cli_stem_values.gain != NULL && strcmp(cli_stem_values.gain, "safe") == 0) {
        o->measures = true;
        int code = run_once(stems, model, o, report);
        tlnmf_record_free(*report);
        *report = NULL;
        if (code != EXIT_DONE)
            return code;
        o->measures = false;
        cli_stems_again(stems);
        /* The last stem takes what the others' rounding has left: half a step of each. */
        double most = 1.0 - o->step * (1.0 + 0.5 * (double)o->count);
        o->gain = o->peak > most && most > 0.0 ? most / o->peak : 1.0;
    }
    return run_once(stems, model, o, report);
}

/* ---- what goes into the directory ------------------------------------------------------------ */

static int write_activations(const cli_stems *stems, const tlnmf_record *model,
                             const tlnmf_record *report, json_t *summary)
{
    tlnmf_ctx *ctx = stems->call->ctx;
    tlnmf_record *events;
    char path[CLI_PATH], staged[CLI_PATH];
    if (cli_stem_values.activations == NULL)
        return EXIT_DONE;
    bool midi = strcmp(cli_stem_values.activations, "midi") == 0;
    const char *extension = midi ? "mid" : "txt";
    if (cli_stems_path(stems, "activations", extension, path) == NULL ||
        cli_stems_staged(stems, "activations", extension, staged) == NULL)
        return EXIT_OUTPUT;
    tlnmf_error error = tlnmf_activations(ctx, model, stems->sound, report, &events);
    if (error == TLNMF_OK)
        error = midi ? tlnmf_io_write_midi(ctx, staged, model, events)
                     : tlnmf_io_write_labels(ctx, staged, model, events);
    tlnmf_record_free(events);
    if (error != TLNMF_OK)
        return cli_fail_library(stems->call, error, NULL);
    json_object_set_new(summary, "activations", cli_text(path));
    return EXIT_DONE;
}

/* The model with the H of this sound, and the summary in it and beside it. */
static int write_model(const cli_stems *stems, tlnmf_record *model, const tlnmf_record *report,
                       const json_t *summary)
{
    tlnmf_ctx *ctx = stems->call->ctx;
    char model_path[CLI_PATH], summary_path[CLI_PATH];
    int32_t rank;
    int64_t shape[TLNMF_MAX_RANK];
    const double *H = tlnmf_get_array(report, "H", &rank, shape);
    char *text = cli_json_text(summary);
    if (text == NULL)
        return cli_fail(stems->call->command, EXIT_INTERNAL, "no memory for the summary");
    int code = EXIT_OUTPUT;
    if (cli_stems_staged(stems, "model", "h5", model_path) != NULL &&
        cli_stems_staged(stems, "summary", "json", summary_path) != NULL) {
        tlnmf_error error = tlnmf_set_array(ctx, model, "H", H, rank, shape);
        if (error == TLNMF_OK)
            error = tlnmf_set_integer(ctx, model, "N", shape[1]);
        if (error == TLNMF_OK)
            error = tlnmf_set_text(ctx, model, "summary", text);
        if (error == TLNMF_OK)
            error = tlnmf_io_write_model(ctx, model_path, model);
        size_t length = strlen(text);
        text[length] = '\n'; /* in place of the end, which is not written */
        if (error == TLNMF_OK)
            error = tlnmf_io_write_file(ctx, summary_path, text, length + 1);
        code = error == TLNMF_OK ? EXIT_DONE : cli_fail_library(stems->call, error, NULL);
    }
    free(text);
    return code;
}

/* Everything that goes into the directory: whole in the staging folder first, then all at once.
 * What is published stays, though it may not be possible to print the summary. */
static int publish(cli_stems *stems, cli_outputs *o, tlnmf_record *model,
                   const tlnmf_record *report, json_t *summary)
{
    const cli_command *command = stems->call->command;
    cli_progress_clear();
    int code = cli_outputs_commit(o);
    if (code != EXIT_DONE)
        return code;
    if (o->clipped > 0)
        cli_warn(command,
                 "%lld samples of the stems were clipped: --gain safe scales them all instead",
                 (long long)o->clipped);
    cli_stems_describe(o, model, summary);
    cli_fit_describe(stems, model, report, summary);
    code = write_activations(stems, model, report, summary);
    if (code == EXIT_DONE)
        cli_stems_page(o, model, report, summary);
    if (code == EXIT_DONE)
        code = write_model(stems, model, report, summary);
    if (code == EXIT_DONE)
        code = cli_stage_publish(stems);
    if (code != EXIT_DONE)
        return code;
    cli_stage_close(stems); /* a closed pipe may end the process below */
    if (cli_common_values.json == NULL)
        cli_stems_print(o, model, report, json_string_value(json_object_get(summary, "page")));
    bool printed = cli_common_values.json != NULL ? cli_print_json(summary) : fflush(stdout) == 0;
    return printed ? EXIT_DONE
                   : cli_fail(command, EXIT_OUTPUT, "standard output cannot be written");
}

int cli_stems_make(cli_stems *stems, tlnmf_record *model, json_t *about)
{
    cli_call *call = stems->call;
    tlnmf_record *plan, *report = NULL;
    cli_outputs o;
    tlnmf_error error = tlnmf_settings_set_integer(call->ctx, stems->settings, "keep-h", 1);
    if (error == TLNMF_OK)
        error = tlnmf_stems_plan(call->ctx, model, stems->sound, stems->settings, &plan);
    if (error != TLNMF_OK) {
        json_decref(about);
        return cli_fail_library(call, error, stems->path);
    }
    cli_stems_release(stems); /* the writers reserve what they need */
    int code = cli_outputs_open(&o, stems, plan);
    if (code == EXIT_DONE)
        code = run_all(stems, model, &o, &report);
    cli_guard_begin(); /* all of it is put in place, or nothing */
    if (code == EXIT_DONE)
        code = publish(stems, &o, model, report, about);
    cli_guard_end();
    cli_outputs_free(&o);
    tlnmf_record_free(report);
    tlnmf_record_free(plan);
    json_decref(about);
    return code;
}
