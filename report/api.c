/* tlnmf_io_write_report: the page of a model. */
#include "report/report.h"

#include <stdlib.h>

static tlnmf_error make(page_model *m, const tlnmf_settings *settings, const char *path)
{
    page_sound sound = {0};
    io_buffer page = {0};
    io_error err;
    json_t *data = NULL;
    tlnmf_error error = page_model_read(m, settings);
    if (error == TLNMF_OK)
        error = page_sound_read(&sound, m, tlnmf_settings_get_integer(settings, "no-sound") == 1);
    if (error == TLNMF_OK)
        data = page_data(m, &sound);
    if (error == TLNMF_OK && data == NULL)
        error = io_refuse(m->ctx, TLNMF_ERR_MEMORY, "%s: out of memory for the page", path);
    if (error == TLNMF_OK) {
        page_write(&page, m, &sound, data);
        error = io_answer(m->ctx, io_buffer_publish(&page, true, path, &err), &err);
    }
    free(page.bytes);
    json_decref(data);
    page_sound_free(&sound);
    return error;
}

tlnmf_error tlnmf_io_write_report(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model,
                                  const tlnmf_record *about, const tlnmf_settings *settings)
{
    tlnmf_settings *defaults = NULL;
    tlnmf_record *empty = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, model);
    tlnmf_error error = tlnmf_settings_create(ctx, "report", &defaults);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(ctx, &empty);
    if (error == TLNMF_OK && settings != NULL &&
        tlnmf_settings_get_integer(settings, "no-sound") == TLNMF_NO_INTEGER)
        error = io_refuse(ctx, TLNMF_ERR_ARGUMENT, "the settings are not of task report");
    if (error == TLNMF_OK) {
        page_model m = {.ctx = ctx, .record = model, .about = about != NULL ? about : empty};
        error = make(&m, settings != NULL ? settings : defaults, path);
        page_model_free(&m);
    }
    tlnmf_record_free(empty);
    tlnmf_settings_free(defaults);
    return error;
}
