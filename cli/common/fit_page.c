/* The report page of a fit: its name, V of the data, the file. */
#include "cli/common/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLI_LABELS = 4096 }; /* labels whose names a page shows */

const char *cli_page_path(const char *model, char path[CLI_PATH])
{
    const char *slash = strrchr(model, '/');
    const char *name = slash == NULL ? model : slash + 1, *dot = strrchr(name, '.');
    int stem = dot == NULL || dot == name ? (int)strlen(model) : (int)(dot - model);
    return snprintf(path, CLI_PATH, "%.*s.html", stem, model) < CLI_PATH ? path : NULL;
}

/* A transform alone as a model with one flat component, which tlnmf_apply needs. */
static tlnmf_error as_model(const cli_call *call, const tlnmf_record *transform, tlnmf_record **out)
{
    tlnmf_ctx *ctx = call->ctx;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    double *W;
    const double *Phi = tlnmf_record_get_array(transform, "Phi", &rank, shape);
    TRY(tlnmf_record_create(ctx, out));
    TRY(tlnmf_record_set_array(ctx, *out, "Phi", Phi, rank, shape));
    TRY(tlnmf_record_set_real(ctx, *out, "eps", tlnmf_record_get_real(transform, "eps")));
    TRY(tlnmf_record_new_array(ctx, *out, "W", 2, (int64_t[]){shape[0], 1}, &W));
    for (int64_t m = 0; m < shape[0]; m++)
        W[m] = 1.0 / (double)shape[0];
    return TLNMF_OK;
}

/* Whether the model was fitted to these data: apply compares C. A transform has no C; then L must
 * agree up to rounding. */
static bool is_own(const tlnmf_record *model, const tlnmf_record *applied)
{
    const double rounding = 1e-9;
    if (tlnmf_record_get_array(model, "W", NULL, NULL) != NULL)
        return tlnmf_record_get_integer(applied, "own_data") == 1;
    double L = tlnmf_record_get_real(model, "L");
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    tlnmf_record_get_array(applied, "V", NULL, shape);
    return fabs(tlnmf_record_get_real(applied, "L") - L) <=
           rounding * (fabs(L) + (double)shape[0] * (double)shape[1]);
}

tlnmf_error cli_page_add_V(const cli_call *call, const tlnmf_record *model, const tlnmf_data *data,
                           tlnmf_record *about, bool *shown)
{
    tlnmf_settings *settings;
    tlnmf_record *applied = NULL, *point = NULL;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    bool alone = tlnmf_record_get_array(model, "W", NULL, NULL) == NULL;
    *shown = false;
    tlnmf_error error = tlnmf_settings_create(call->ctx, "apply", &settings);
    if (error == TLNMF_OK && alone)
        error = as_model(call, model, &point);
    if (error == TLNMF_OK && alone) /* H is not used */
        error = tlnmf_settings_set_integer(call->ctx, settings, "J", 1);
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_text(call->ctx, settings, "keep-v", "true");
    if (error == TLNMF_OK)
        error = tlnmf_apply(call->ctx, alone ? point : model, data, settings, &applied);
    tlnmf_settings_free(settings);
    if (error == TLNMF_OK && is_own(model, applied)) {
        const double *V = tlnmf_record_get_array(applied, "V", &rank, shape);
        error = tlnmf_record_set_array(call->ctx, about, "V", V, rank, shape);
        *shown = error == TLNMF_OK;
    }
    tlnmf_record_free(applied);
    tlnmf_record_free(point);
    return error;
}

tlnmf_error cli_page_add_labels(const cli_call *call, const tlnmf_record *labels,
                                tlnmf_record *about)
{
    static const char *const times[] = {"start", "end"};
    const char **name = calloc(CLI_LABELS, sizeof *name);
    size_t count = 0;
    if (name == NULL)
        return tlnmf_fail(call->ctx, TLNMF_ERR_MEMORY, "no memory");
    tlnmf_error error = TLNMF_OK;
    for (int i = 0; error == TLNMF_OK && i < 2; i++) {
        int64_t shape[TLNMF_MAX_DIMENSIONS];
        int32_t rank;
        const double *x = tlnmf_record_get_array(labels, times[i], &rank, shape);
        error = tlnmf_record_set_array(call->ctx, about, times[i], x, rank, shape);
    }
    while (count < CLI_LABELS &&
           (name[count] = tlnmf_record_get_text_at(labels, "name", count)) != NULL)
        count++;
    if (error == TLNMF_OK)
        error = tlnmf_record_set_texts(call->ctx, about, "name", name, count);
    free(name);
    return error;
}

static tlnmf_error write_page(const cli_call *call, const cli_result *r, tlnmf_record *about,
                              tlnmf_settings *settings)
{
    bool shown;
    if (r->rate > 0.0)
        TRY(tlnmf_settings_set_real(call->ctx, settings, "rate", r->rate));
    TRY(tlnmf_record_set_text(call->ctx, about, "title", r->output ? r->output : r->input));
    TRY(cli_page_add_V(call, r->model, r->data, about, &shown));
    return tlnmf_io_write_report(call->ctx, r->page, r->model, about, settings);
}

tlnmf_error cli_page_of_fit(const cli_call *call, const cli_result *r)
{
    tlnmf_record *about;
    tlnmf_settings *settings = NULL;
    tlnmf_error error = tlnmf_record_create(call->ctx, &about);
    if (error == TLNMF_OK)
        error = tlnmf_settings_create(call->ctx, "report", &settings);
    if (error == TLNMF_OK)
        error = write_page(call, r, about, settings);
    tlnmf_settings_free(settings);
    tlnmf_record_free(about);
    return error;
}
