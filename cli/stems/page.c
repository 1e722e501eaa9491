/* The report page of a separation, made from the stems in the staging folder. */
#include "cli/pages/pages.h"
#include "cli/stems/stems.h"

#include <stdlib.h>
#include <string.h>

/* The staged files of the stems, and what the stems are called. */
static tlnmf_error add_stems(const cli_outputs *o, const tlnmf_record *report, tlnmf_record *about)
{
    tlnmf_ctx *ctx = o->stems->call->ctx;
    size_t count = (size_t)o->count;
    char(*path)[CLI_PATH] = malloc(count * sizeof *path);
    const char **name = malloc(count * sizeof *name);
    bool ok = path != NULL && name != NULL;
    for (size_t i = 0; ok && i < count; i++)
        name[i] = cli_stems_staged(o->stems, tlnmf_get_text_at(o->names, "names", i),
                                   o->stems->format, path[i]);
    tlnmf_error error = ok ? tlnmf_set_texts(ctx, about, "stems", name, count)
                           : tlnmf_fail(ctx, TLNMF_ERR_MEMORY, "no memory");
    for (size_t i = 0; ok && i < count; i++)
        name[i] = tlnmf_get_text_at(report, "names", i); /* not those of the files */
    if (error == TLNMF_OK)
        error = tlnmf_set_texts(ctx, about, "stem_names", name, count);
    free(name);
    free(path);
    return error;
}

static tlnmf_error add_labels(const cli_stems *stems, tlnmf_record *about)
{
    tlnmf_record *track;
    if (cli_stem_values.labels == NULL)
        return TLNMF_OK;
    tlnmf_error error = tlnmf_io_read_labels(stems->call->ctx, cli_stem_values.labels, &track);
    if (error == TLNMF_OK)
        error = cli_page_add_labels(stems->call, track, about);
    tlnmf_record_free(track);
    return error;
}

/* H of this sound and the summary so far go into the model, as they do before it is written. */
static tlnmf_error complete(const cli_stems *stems, tlnmf_record *model, const tlnmf_record *report,
                            const json_t *summary)
{
    tlnmf_ctx *ctx = stems->call->ctx;
    int64_t shape[TLNMF_MAX_RANK];
    int32_t rank;
    const double *H = tlnmf_get_array(report, "H", &rank, shape);
    char *text = cli_json_text(summary);
    tlnmf_error error = text == NULL ? tlnmf_fail(ctx, TLNMF_ERR_MEMORY, "no memory")
                                     : tlnmf_set_text(ctx, model, "summary", text);
    if (error == TLNMF_OK && H != NULL)
        error = tlnmf_set_array(ctx, model, "H", H, rank, shape);
    free(text);
    return error;
}

static tlnmf_error write(const cli_outputs *o, tlnmf_record *model, const tlnmf_record *report,
                         tlnmf_record *about, const char *path)
{
    const cli_stems *stems = o->stems;
    tlnmf_ctx *ctx = stems->call->ctx;
    tlnmf_settings *settings;
    const char *slash = strrchr(stems->path, '/');
    tlnmf_error error =
        tlnmf_set_text(ctx, about, "title", slash == NULL ? stems->path : slash + 1);
    if (error == TLNMF_OK)
        error = tlnmf_set_text(ctx, about, "recording", stems->path);
    if (error == TLNMF_OK)
        error = add_stems(o, report, about);
    if (error == TLNMF_OK)
        error = add_labels(stems, about);
    if (error == TLNMF_OK)
        error = tlnmf_settings_create(ctx, "report", &settings);
    if (error != TLNMF_OK)
        return error;
    if (cli_stem_values.no_sound != NULL)
        error = tlnmf_settings_set_text(ctx, settings, "no-sound", "true");
    if (error == TLNMF_OK)
        error = tlnmf_io_write_report(ctx, path, model, about, settings);
    tlnmf_settings_free(settings);
    return error;
}

void cli_stems_page(const cli_outputs *o, tlnmf_record *model, const tlnmf_record *report,
                    json_t *summary)
{
    const cli_stems *stems = o->stems;
    char path[CLI_PATH], staged[CLI_PATH];
    tlnmf_record *about = NULL;
    if (cli_stem_values.no_report != NULL ||
        cli_stems_path(stems, "report", "html", path) == NULL ||
        cli_stems_staged(stems, "report", "html", staged) == NULL)
        return;
    json_object_set_new(summary, "page", cli_text(path));
    tlnmf_error error = complete(stems, model, report, summary);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(stems->call->ctx, &about);
    if (error == TLNMF_OK)
        error = write(o, model, report, about, staged);
    tlnmf_record_free(about);
    if (error == TLNMF_OK)
        return;
    cli_warn(stems->call->command, "no page is written: %s", tlnmf_message(stems->call->ctx));
    json_object_del(summary, "page");
}
