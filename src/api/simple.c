/* The simple calls: a context, data and settings for one job, and a record out. */
#include "api/api.h"

/* The arguments of the three calls. */
typedef struct simple_job {
    const char *task, *options;
    const double *Y;
    const int64_t *shape;      /* S, M, N */
    const tlnmf_record *model; /* task "apply" only */
} simple_job;

static tlnmf_error run_task(tlnmf_ctx *ctx, const simple_job *j, const tlnmf_data *data,
                            const tlnmf_settings *settings, tlnmf_record **out)
{
    if (settings->task == TL_TASK_APPLY)
        return tlnmf_apply(ctx, j->model, data, settings, out);
    return settings->task == TL_TASK_JD ? tlnmf_diagonalise(ctx, data, settings, NULL, out)
                                        : tlnmf_fit(ctx, data, settings, NULL, out);
}

static tlnmf_error run(tlnmf_ctx *ctx, const simple_job *j, tlnmf_record **out)
{
    tlnmf_data *data = NULL;
    tlnmf_settings *settings = NULL;
    const double *Y = j->Y;
    const int64_t *shape = j->shape;
    TL_NEED(ctx, Y);
    TL_NEED(ctx, shape);
    tlnmf_error error = tlnmf_settings_create(ctx, j->task, &settings);
    if (error == TLNMF_OK && j->options != NULL)
        error = tlnmf_settings_set_all(ctx, settings, j->options);
    if (error == TLNMF_OK)
        error = tlnmf_settings_check(ctx, settings);
    if (error == TLNMF_OK)
        error = tlnmf_data_from_realisations(ctx, Y, shape, &data);
    if (error == TLNMF_OK)
        error = run_task(ctx, j, data, settings, out);
    tlnmf_data_free(data);
    tlnmf_settings_free(settings);
    return error;
}

/* Runs a job with a context that lives as long as the call; its message outlives it. */
static tlnmf_error run_alone(const simple_job *j, char *message, tlnmf_record **out)
{
    tlnmf_ctx *ctx;
    static const char no_output[] = "the output pointer is NULL";
    if (message != NULL)
        message[0] = '\0';
    if (out == NULL && message != NULL)
        memcpy(message, no_output, sizeof no_output);
    if (out == NULL)
        return TLNMF_ERR_ARGUMENT;
    *out = NULL;
    tlnmf_error error = tlnmf_ctx_create(&ctx);
    if (error == TLNMF_OK)
        error = run(ctx, j, out);
    if (error != TLNMF_OK && message != NULL)
        memcpy(message, ctx == NULL ? "no memory" : ctx->message,
               ctx == NULL ? sizeof "no memory" : sizeof ctx->message);
    tlnmf_ctx_free(ctx);
    return error;
}

tlnmf_error tlnmf_simple_fit(const double *Y, const int64_t shape[3], const char *options,
                             char *message, tlnmf_record **model)
{
    return run_alone(&(simple_job){"fit", options, Y, shape, NULL}, message, model);
}

tlnmf_error tlnmf_simple_diagonalise(const double *Y, const int64_t shape[3], const char *options,
                                     char *message, tlnmf_record **model)
{
    return run_alone(&(simple_job){"jd", options, Y, shape, NULL}, message, model);
}

tlnmf_error tlnmf_simple_apply(const tlnmf_record *model, const double *Y, const int64_t shape[3],
                               const char *options, char *message, tlnmf_record **applied)
{
    return run_alone(&(simple_job){"apply", options, Y, shape, model}, message, applied);
}
