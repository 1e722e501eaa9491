/* Converts a result to a record: every value of results.def that a model has. */
#include "api.h"
#include "base/record.h"
#include "linalg/linalg.h"

#include <stdio.h>

/* The name with its prefix: "C", "other.C". */
static const char *full(const char *prefix, const char *name, char text[64])
{
    snprintf(text, 64, "%s%s", prefix, name);
    return text;
}

static tlnmf_error put_integers(tlnmf_ctx *ctx, tlnmf_record *model, const char *prefix,
                                const tl_info *info)
{
    const struct {
        const char *name;
        int64_t value;
    } integers[] = {{"M", info->M},
                    {"N", info->all},
                    {"K", info->K},
                    {"columns", info->columns},
                    {"outcome_code", info->outcome},
                    {"iterations", info->iterations},
                    {"nmf_iterations", info->nmf_iterations},
                    {"starts", info->starts},
                    {"best_start", info->best_start},
                    {"chain", info->chain},
                    {"doubt", info->doubt},
                    /* where frames are shared out */
                    {"first_frame", info->first},
                    {"own_frames", info->N},
                    {"sums", info->sums},
                    {"sum_bytes", info->sum_bytes}};
    enum { OF_MACHINES = 4 };
    size_t count = sizeof integers / sizeof *integers - (info->sums > 0 ? 0 : OF_MACHINES);
    char text[64];
    for (size_t i = 0; i < count; i++)
        TRY(tlnmf_set_integer(ctx, model, full(prefix, integers[i].name, text), integers[i].value));
    return TLNMF_OK;
}

static tlnmf_error put_reals(tlnmf_ctx *ctx, tlnmf_record *model, const char *prefix,
                             const tl_info *info)
{
    const struct {
        const char *name;
        double value;
    } reals[] = {{"eps", info->eps},
                 {"C", info->C},
                 {"L", info->L},
                 {"I", info->I},
                 {"below_floor", info->below_floor},
                 {"entries", info->entries},
                 {"certificate", info->certificate},
                 {"gradient_norm", info->gradient_norm},
                 {"orthogonality", info->orthogonality},
                 {"cpu_seconds", info->cpu_seconds},
                 {"wall_seconds", info->wall_seconds},
                 {"nmf_seconds", info->nmf_seconds},
                 {"transform_seconds", info->transform_seconds},
                 {"C_tl", info->C_tl},
                 {"I_tl", info->I_tl},
                 {"C_jd", info->C_jd},
                 {"L_jd", info->L_jd},
                 {"I_jd", info->I_jd},
                 {"sum_seconds", info->sum_seconds}};
    size_t count = sizeof reals / sizeof *reals - (info->sums > 0 ? 0 : 1);
    char text[64];
    for (size_t i = 0; i < count; i++)
        TRY(tlnmf_set_real(ctx, model, full(prefix, reals[i].name, text), reals[i].value));
    return TLNMF_OK;
}

static tlnmf_error put_arrays(tlnmf_ctx *ctx, tlnmf_record *model, const char *prefix,
                              const tl_result *result)
{
    int64_t M = result->info.M, N = result->info.N, K = result->info.K;
    char text[64];
    TRY(tl_record_refer_array(ctx, model, full(prefix, "Phi", text), result->Phi, 2,
                              (int64_t[]){M, M}));
    TRY(tl_record_refer_array(ctx, model, full(prefix, "energy", text), result->energy, 1,
                              (int64_t[]){M}));
    if (K == 0)
        return TLNMF_OK;
    TRY(tl_record_refer_array(ctx, model, full(prefix, "W", text), result->W, 2,
                              (int64_t[]){M, K}));
    return tl_record_refer_array(ctx, model, full(prefix, "H", text), result->H, 2,
                                 (int64_t[]){K, N});
}

static tlnmf_error put_trace(tlnmf_ctx *ctx, tlnmf_record *model, const char *prefix,
                             const tl_result *result)
{
    static const char *const columns[TL_TRACE_COLUMNS] = {
        "trace.stage", "trace.iteration", "trace.C",       "trace.L",    "trace.I",
        "trace.step",  "trace.gradient",  "trace.seconds", "trace.start"};
    char text[64];
    double *x, values[TL_TRACE_COLUMNS];
    if (result->trace_length == 0)
        return TLNMF_OK;
    for (int c = 0; c < TL_TRACE_COLUMNS; c++) {
        TRY(tl_record_new_array(ctx, model, full(prefix, columns[c], text), 1,
                                &result->trace_length, &x));
        for (int64_t i = 0; i < result->trace_length; i++) {
            tl_trace_values(&result->trace[i], values);
            x[i] = values[c];
        }
    }
    return TLNMF_OK;
}

static tlnmf_error put_result(tlnmf_ctx *ctx, tlnmf_record *model, const char *prefix,
                              const tl_result *result)
{
    static const char *const methods[] = {"tl", "jd", "nmf"};
    char text[64];
    TRY(tl_record_refer_text(ctx, model, full(prefix, "method", text),
                             methods[result->info.method]));
    TRY(tl_record_refer_text(ctx, model, full(prefix, "outcome", text),
                             tlnmf_outcome_name((tlnmf_outcome)result->info.outcome)));
    TRY(tl_record_refer_text(ctx, model, full(prefix, "outcome_of", text),
                             methods[result->info.outcome_of]));
    TRY(put_integers(ctx, model, prefix, &result->info));
    TRY(put_reals(ctx, model, prefix, &result->info));
    TRY(put_arrays(ctx, model, prefix, result));
    return put_trace(ctx, model, prefix, result);
}

/* How the model was made: version, BLAS, and every option as text. */
static tlnmf_error put_origin(tlnmf_ctx *ctx, tlnmf_record *model, const tl_settings *settings)
{
    const char *task = tl_task_name(settings->task), *option;
    char name[64], value[64], blas[TL_BLAS_NAME];
    TRY(tl_record_refer_text(ctx, model, "version", tlnmf_version()));
    tl_blas_name(blas);
    TRY(tlnmf_set_text(ctx, model, "blas", blas));
    for (size_t i = 0; (option = tlnmf_option_name(task, i)) != NULL; i++)
        TRY(tlnmf_set_text(ctx, model, full("option.", option, name),
                           tlnmf_settings_get_text(settings, option, value, sizeof value)));
    return TLNMF_OK;
}

tlnmf_error tl_model_record(tlnmf_ctx *ctx, const tl_settings *settings, tl_result *result,
                            tlnmf_record **model)
{
    tlnmf_error error = tlnmf_record_create(ctx, model);
    if (error == TLNMF_OK)
        error = put_result(ctx, *model, "", result);
    if (error == TLNMF_OK && result->other != NULL)
        error = put_result(ctx, *model, "other.", result->other);
    if (error == TLNMF_OK)
        error = put_origin(ctx, *model, settings);
    if (error != TLNMF_OK) {
        tlnmf_record_free(*model);
        *model = NULL;
        tl_result_free(result);
        return error;
    }
    for (tl_result *r = result, *next; r != NULL;
         r = next) { /* the blocks also hold the result structs */
        next = r->other;
        tl_release(&r->hooks, r->trace);
        tl_record_own(*model, r->block);
    }
    return TLNMF_OK;
}
