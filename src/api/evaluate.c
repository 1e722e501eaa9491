/* Evaluation: C, L, I and the gradient at any point, read from a record. */
#include "api/api.h"
#include "base/record.h"

#include <math.h>

bool tl_is_usable(int64_t count, const double *x, bool nonnegative)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i]) || (nonnegative && x[i] < 0.0))
            return false;
    return true;
}

/* The arguments of evaluate_alone. */
typedef struct evaluation {
    tlnmf_ctx *ctx;
    const tl_model *model;
    const tl_model_point *point;
    tl_values *values;
    double *Ganti;
} evaluation;

static tlnmf_error evaluate_alone(void *arg)
{
    evaluation *v = arg;
    tl_engine *e;
    const tl_engine_spec spec = {.model = v->model, .frames_comm = v->model->data->frames_comm};
    TRY(tl_comm_agree(v->ctx, spec.frames_comm, tl_engine_of(NULL)->create(v->ctx, &spec, &e)));
    tl_engine_load(e, v->point->Phi, v->point->W, v->point->H);
    *v->values = tl_engine_values(e, TL_C | TL_L | TL_I);
    if (v->Ganti != NULL)
        tl_engine_gradient(e, TL_C, v->Ganti);
    tlnmf_error error = tl_engine_error(v->ctx, e, "the evaluation");
    e->ops->free(e);
    return error;
}

tlnmf_error tl_evaluate(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_model_point *point,
                        tl_values *values, double *Ganti)
{
    int64_t M = data->M, K = point->K;
    if (K < 1 || !tl_is_floor(point->eps))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "K = %lld, eps = %g: K must be at least 1, eps in [1e-304, 1e+304]",
                       (long long)K, point->eps);
    TRY(tl_check_size(ctx, "K", K));
    if (!tl_is_usable(M * M, point->Phi, false) || !tl_is_usable(M * K, point->W, true) ||
        !tl_is_usable(K * data->N, point->H, true))
        return tl_fail(ctx, TLNMF_ERR_DATA, "Phi, W, H must be finite, W and H not negative");
    const tl_model model = {.data = data, .K = K, .eps = point->eps, .gamma = 1.0};
    /* One thread: the values do not depend on the number of threads, and a later fork by the host
     * is safe. */
    TRY(tl_with_threads(1, evaluate_alone, &(evaluation){ctx, &model, point, values, Ganti}));
    if (!isfinite(values->C))
        return tl_fail(ctx, TLNMF_ERR_NUMERIC, "C = %g: Phi, W or H are too large for these data",
                       values->C);
    return TLNMF_OK;
}

tlnmf_error tl_read_point(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_record *record,
                          const char *what, bool needs_H, tl_model_point *point)
{
    int64_t M = data->M, N = data->N, shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank = 0;
    tlnmf_record_get_array(record, "Phi", &rank, shape);
    if (rank == 2 && shape[0] == shape[1] && shape[0] != M)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "the data have %lld rows per frame; %s expects %lld",
                       (long long)M, what, (long long)shape[0]);
    TRY(tl_record_expect(ctx, record, what, "Phi", 2, (int64_t[]){M, M}, &point->Phi));
    tlnmf_record_get_array(record, "W", NULL, shape);
    point->K = shape[1];
    TRY(tl_record_expect(ctx, record, what, "W", 2, (int64_t[]){M, point->K}, &point->W));
    if (point->W != NULL && point->K < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "%s: W has no columns", what);
    if (needs_H)
        TRY(tl_record_expect(ctx, record, what, "H", 2, (int64_t[]){point->K, N}, &point->H));
    if (point->Phi == NULL || point->W == NULL || (needs_H && point->H == NULL))
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "%s has no %s", what,
                       point->Phi == NULL ? "Phi"
                       : point->W == NULL ? "W"
                                          : "H");
    point->eps = tlnmf_record_get_real(record, "eps");
    if (!tl_is_floor(point->eps))
        return tl_fail(ctx, TLNMF_ERR_DATA, "%s: eps = %g is not a usable floor", what, point->eps);
    return TLNMF_OK;
}

static tlnmf_error put_evaluation(tlnmf_ctx *ctx, const tlnmf_data *data,
                                  const tl_model_point *point, tlnmf_record *out)
{
    tl_values v = {0};
    double *gradient;
    TRY(tl_record_new_array(ctx, out, "gradient", 2, (int64_t[]){data->M, data->M}, &gradient));
    TRY(tl_evaluate(ctx, data, point, &v, gradient));
    TRY(tlnmf_record_set_real(ctx, out, "C", v.C));
    TRY(tlnmf_record_set_real(ctx, out, "L", v.L));
    return tlnmf_record_set_real(ctx, out, "I", v.I);
}

tlnmf_error tlnmf_evaluate(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_record *point_record,
                           tlnmf_record **values)
{
    tl_model_point point = {0};
    TL_NEED_OUT(ctx, values);
    TL_NEED(ctx, data);
    TL_NEED(ctx, point_record);
    TRY(tl_read_point(ctx, data, point_record, "the point", true, &point));
    TRY(tlnmf_record_create(ctx, values));
    return tl_record_keep_if(put_evaluation(ctx, data, &point, *values), values);
}
