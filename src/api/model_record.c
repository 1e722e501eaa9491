/* Converts a result to a record with every value of results.def that a model has. */
#include "api/api.h"
#include "base/record.h"
#include "linalg/linalg.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* The name with its prefix: "C", "other.C". */
static const char *full(const char *prefix, const char *name, char text[64])
{
    snprintf(text, 64, "%s%s", prefix, name);
    return text;
}

/* The numbers of a model, from the table of results. */
#define RESULT(name, type, shape, where, help)
#define FIELD(name, type, field, where, help) \
    {name, where, TLNMF_TYPE_##type, offsetof(tl_info, field), sizeof(((tl_info *)NULL)->field)},
static const struct {
    const char *name, *where;
    tlnmf_type type;
    size_t offset, size;
} numbers[] = {
#include "base/results.def"
};
#undef RESULT
#undef FIELD

static tlnmf_error put_numbers(tlnmf_ctx *ctx, tlnmf_record *model, const char *prefix,
                               const tl_info *info)
{
    char text[64];
    if (info->continued > 0)
        TRY(tlnmf_record_set_integer(ctx, model, full(prefix, "continued", text), info->continued));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const void *at = (const char *)info + numbers[i].offset;
        const char *name = full(prefix, numbers[i].name, text);
        if (strncmp(numbers[i].where, "shared", 6) == 0 && info->sums == 0)
            continue; /* only of frames that are distributed over processes */
        if (numbers[i].type == TLNMF_TYPE_REAL)
            TRY(tlnmf_record_set_real(ctx, model, name, *(const double *)at));
        else
            TRY(tlnmf_record_set_integer(
                ctx, model, name,
                numbers[i].size == sizeof(int32_t) ? *(const int32_t *)at : *(const int64_t *)at));
    }
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

/* What the certificate means, or why there is none. */
static const char *certificate_words(const tl_info *info)
{
    static const char *const doubts[] = {
        [TL_NO_DOUBT] = "not computed: use method auto, or the option certify or exchange",
        [TL_DOUBT_LOWER_L] =
            "none: TL-NMF found a lower L than JD; try the option continuation or more starts",
        [TL_DOUBT_CUT] =
            "none: the time limit ended the search for the least L; try more max-seconds",
        [TL_DOUBT_SINGULAR] =
            "none: L has many minima (singular covariances, low eps); try the option continuation",
        [TL_DOUBT_ITERATIONS] =
            "none: JD used all its iterations before L was minimised; try a larger J",
        [TL_DOUBT_OFFSET] = "none: the mean of the data looks like an offset; subtract it",
        [TL_DOUBT_HIDDEN] =
            "none: eps hides the data; use a smaller eps, unless eps is the power of the noise"};
    if (isfinite(info->certificate))
        return "upper bound on C - C*, valid if the search found the global minimum of L";
    if (info->K == 0)
        return "none: a transform alone has no C";
    if (info->method == TL_METHOD_NMF)
        return "none: it needs a learnt transform";
    if (info->doubt == TL_DOUBT_CUT && info->outcome == TLNMF_OUTCOME_CANCELLED)
        return "none: the run was interrupted before L was minimised";
    return doubts[info->doubt];
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
    TRY(tl_record_refer_text(ctx, model, full(prefix, "certificate_means", text),
                             certificate_words(&result->info)));
    TRY(put_numbers(ctx, model, prefix, &result->info));
    TRY(put_arrays(ctx, model, prefix, result));
    return put_trace(ctx, model, prefix, result);
}

/* The origin of the model: version, BLAS, and every option as text. */
static tlnmf_error put_origin(tlnmf_ctx *ctx, tlnmf_record *model, const tl_settings *settings)
{
    const char *task = tl_task_name(settings->task), *option;
    char name[64], value[64], blas[TL_BLAS_NAME];
    TRY(tl_record_refer_text(ctx, model, "version", tlnmf_version()));
    tl_blas_name(blas);
    TRY(tlnmf_record_set_text(ctx, model, "blas", blas));
    for (size_t i = 0; (option = tlnmf_option_name(task, i)) != NULL; i++)
        TRY(tlnmf_record_set_text(ctx, model, full("option.", option, name),
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
