/* A separation: separates the sound with the model, then writes all files of the directory. */
#include "cli/stems/stems.h"

#include <stdlib.h>
#include <string.h>

/* ---- the run --------------------------------------------------------------------------------- */

static int run_once(cli_stems *stems, const tlnmf_record *model, cli_outputs *o,
                    tlnmf_record **report)
{
    cli_call *call = stems->call;
    tlnmf_error error = tlnmf_separate(call->ctx, model, stems->sound, stems->settings,
                                       cli_outputs_write, o, report);
    if (o->error != TLNMF_OK)
        return cli_outputs_fail(o, o->error);
    if (error != TLNMF_OK) /* the message of a file that cannot be read names it */
        return cli_fail_library(call, error, error == TLNMF_ERR_INPUT ? NULL : stems->path);
    if (tlnmf_record_get_integer(*report, "outcome_code") == TLNMF_OUTCOME_CANCELLED)
        return cli_fail(call->command, EXIT_INTERRUPTED, "interrupted, no stems are written");
    return EXIT_DONE;
}

/* With --gain safe, a first run measures the peak. */
static int run_all(cli_stems *stems, const tlnmf_record *model, cli_outputs *o,
                   tlnmf_record **report)
{
    if (cli_asked.gain != NULL && strcmp(cli_asked.gain, "safe") == 0) {
        o->measures = true;
        int code = run_once(stems, model, o, report);
        tlnmf_record_free(*report);
        *report = NULL;
        if (code != EXIT_DONE)
            return code;
        o->measures = false;
        /* The last stem takes the rounding errors of the others: half a step each. */
        double most = 1.0 - o->step * (1.0 + 0.5 * (double)o->count);
        o->gain = o->peak > most && most > 0.0 ? most / o->peak : 1.0;
    }
    return run_once(stems, model, o, report);
}

/* ---- the files of the directory -------------------------------------------------------------- */

static int write_activations(const cli_stems *stems, const tlnmf_record *model,
                             const tlnmf_record *report, json_t *summary)
{
    tlnmf_ctx *ctx = stems->call->ctx;
    tlnmf_record *events;
    char path[CLI_PATH], staged[CLI_PATH];
    if (cli_asked.activations == NULL)
        return EXIT_DONE;
    bool midi = strcmp(cli_asked.activations, "midi") == 0;
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

/* Adds the H of this sound and the summary to the model. */
static tlnmf_error complete_model(const cli_stems *stems, tlnmf_record *model,
                                  const tlnmf_record *report, const json_t *summary)
{
    tlnmf_ctx *ctx = stems->call->ctx;
    int32_t rank;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *H = tlnmf_record_get_array(report, "H", &rank, shape);
    TRY(cli_put_summary(stems->call, model, summary));
    TRY(tlnmf_record_set_array(ctx, model, "H", H, rank, shape));
    return tlnmf_record_set_integer(ctx, model, "N", shape[1]);
}

/* Writes the page unless --no-report, the model, and its summary as a file. If the page cannot be
 * written, the other files are, because the stems are complete; *page_code is then the exit code.
 */
static int write_model(const cli_outputs *o, tlnmf_record *model, const tlnmf_record *report,
                       json_t *summary, int *page_code)
{
    const cli_stems *stems = o->stems;
    tlnmf_ctx *ctx = stems->call->ctx;
    char page[CLI_PATH], model_path[CLI_PATH], summary_path[CLI_PATH];
    bool has_page = cli_asked.no_report == NULL;
    if (cli_stems_path(stems, "report", "html", page) == NULL ||
        cli_stems_staged(stems, "model", "h5", model_path) == NULL ||
        cli_stems_staged(stems, "summary", "json", summary_path) == NULL)
        return EXIT_OUTPUT;
    if (has_page)
        json_object_set_new(summary, "page", cli_text(page));
    tlnmf_error error = complete_model(stems, model, report, summary);
    if (error == TLNMF_OK && has_page && cli_stems_page(o, model, report) != TLNMF_OK) {
        *page_code =
            cli_fail(stems->call->command, EXIT_OUTPUT,
                     "the page could not be written, all other files are: %s", tlnmf_message(ctx));
        json_object_del(summary, "page");
        error = complete_model(stems, model, report, summary);
    }
    if (error == TLNMF_OK)
        error = tlnmf_io_write_model(ctx, model_path, model);
    char *text = error == TLNMF_OK ? cli_json_text(summary) : NULL;
    if (text != NULL) {
        size_t length = strlen(text);
        text[length] = '\n'; /* replaces the terminating 0, which is not written */
        error = tlnmf_io_write_file(ctx, summary_path, text, length + 1);
    } else if (error == TLNMF_OK) {
        error = tlnmf_fail(ctx, TLNMF_ERR_MEMORY, "no memory for the summary");
    }
    free(text);
    return cli_check(stems->call, error, NULL);
}

/* Writes all files into the staging folder, then moves them into the directory together. They stay
 * there even if the summary cannot be printed. */
static int publish(cli_stems *stems, cli_outputs *o, tlnmf_record *model,
                   const tlnmf_record *report, json_t *summary)
{
    cli_progress_clear();
    TRY(cli_outputs_commit(o));
    if (o->clipped > 0)
        cli_warn(stems->call->command,
                 "%lld samples of the stems were clipped; --gain safe avoids it",
                 (long long)o->clipped);
    cli_stems_describe(o, model, summary);
    cli_unexplained_describe(stems, model, report, summary);
    TRY(write_activations(stems, model, report, summary));
    int page_code = EXIT_DONE;
    TRY(write_model(o, model, report, summary, &page_code));
    int code = cli_stage_publish(stems);
    cli_stage_close(stems); /* before printing: a closed pipe may end the process */
    if (code != EXIT_DONE)
        return code;
    if (cli_asked.json == NULL)
        cli_stems_print(o, model, report, json_string_value(json_object_get(summary, "page")));
    else
        cli_print_json(summary);
    return page_code;
}

int cli_stems_make(cli_stems *stems, tlnmf_record *model, json_t *about)
{
    cli_call *call = stems->call;
    tlnmf_record *plan, *report = NULL;
    cli_outputs o;
    tlnmf_error error = tlnmf_settings_set_integer(call->ctx, stems->settings, "keep-h", 1);
    if (error == TLNMF_OK)
        error = tlnmf_separate_plan(call->ctx, model, stems->sound, stems->settings, &plan);
    if (error != TLNMF_OK) {
        json_decref(about);
        return cli_fail_library(call, error, stems->path);
    }
    cli_stems_release(stems); /* the writers reserve their space */
    int code = cli_outputs_open(&o, stems, plan);
    if (code == EXIT_DONE)
        code = run_all(stems, model, &o, &report);
    cli_guard_begin(); /* all files are published, or none */
    if (code == EXIT_DONE)
        code = publish(stems, &o, model, report, about);
    cli_guard_end();
    cli_outputs_free(&o);
    tlnmf_record_free(report);
    tlnmf_record_free(plan);
    json_decref(about);
    return code;
}
