/* The report page of a separation, with the stems of the staging folder. */
#include "cli/common/arrays.h"
#include "cli/stems/stems.h"

#include <stdlib.h>
#include <string.h>

/* Adds the staged files of the stems, and the names of the stems. */
static tlnmf_error add_stems(const cli_outputs *o, const tlnmf_record *report, tlnmf_record *about)
{
    tlnmf_ctx *ctx = o->stems->call->ctx;
    size_t count = (size_t)o->count;
    char(*path)[CLI_PATH] = malloc(count * sizeof *path);
    const char **name = malloc(count * sizeof *name);
    bool ok = path != NULL && name != NULL;
    for (size_t i = 0; ok && i < count; i++)
        name[i] = cli_stems_staged(o->stems, tlnmf_record_get_text_at(o->names, "names", i),
                                   o->stems->format, path[i]);
    tlnmf_error error = ok ? tlnmf_record_set_texts(ctx, about, "stems", name, count)
                           : tlnmf_fail(ctx, TLNMF_ERR_MEMORY, "no memory");
    for (size_t i = 0; ok && i < count; i++)
        name[i] = tlnmf_record_get_text_at(report, "names", i); /* not the names of the files */
    if (error == TLNMF_OK)
        error = tlnmf_record_set_texts(ctx, about, "stem_names", name, count);
    free(name);
    free(path);
    return error;
}

static tlnmf_error describe(const cli_outputs *o, const tlnmf_record *report, tlnmf_record *about)
{
    const cli_stems *stems = o->stems;
    tlnmf_ctx *ctx = stems->call->ctx;
    const char *slash = strrchr(stems->path, '/');
    TRY(tlnmf_record_set_text(ctx, about, "title", slash == NULL ? stems->path : slash + 1));
    TRY(tlnmf_record_set_text(ctx, about, "recording", stems->path));
    if (stems->labels != NULL)
        TRY(cli_page_add_labels(stems->call, stems->labels, about));
    return add_stems(o, report, about);
}

tlnmf_error cli_stems_page(const cli_outputs *o, const tlnmf_record *model,
                           const tlnmf_record *report)
{
    char path[CLI_PATH];
    tlnmf_ctx *ctx = o->stems->call->ctx;
    tlnmf_record *about = NULL;
    tlnmf_settings *settings = NULL;
    if (cli_stems_staged(o->stems, "report", "html", path) == NULL)
        return tlnmf_fail(ctx, TLNMF_ERR_OUTPUT, "the name is too long");
    tlnmf_error error = tlnmf_record_create(ctx, &about);
    if (error == TLNMF_OK)
        error = tlnmf_settings_create(ctx, "report", &settings);
    if (error == TLNMF_OK && cli_asked.no_sound != NULL)
        error = tlnmf_settings_set_text(ctx, settings, "no-sound", "true");
    if (error == TLNMF_OK)
        error = describe(o, report, about);
    if (error == TLNMF_OK)
        error = tlnmf_io_write_report(ctx, path, model, about, settings);
    tlnmf_settings_free(settings);
    tlnmf_record_free(about);
    return error;
}
