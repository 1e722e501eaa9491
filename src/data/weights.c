/* Weights of frames and of entries; frames that some realisations lack. */
#include "data/data.h"

#include <float.h>
#include <math.h>

/* The weights that data will have: B_mn = weight_n mask_mn and its factors. Those that are all 1
 * are NULL. */
typedef struct entry_weights {
    bool weighted;
    double *weight, *mask, *B;
    void *block;
} entry_weights;

static tlnmf_error reserve(tlnmf_ctx *ctx, const tlnmf_data *data, bool weighted, bool masked,
                           entry_weights *w)
{
    int64_t M = data->M, N = data->N;
    *w = (entry_weights){.weighted = weighted};
    if (!weighted && !masked)
        return TLNMF_OK;
    /* a process without frames also has a B */
    tl_slot table[] = {TL_SLOT(w->B, M * tl_max(N, 1)), TL_SLOT(w->weight, weighted ? N : 0),
                       TL_SLOT(w->mask, masked ? M * N : 0)};
    tlnmf_ctx own = *ctx; /* data keep the allocator of the context that created them */
    own.hooks = data->hooks;
    tlnmf_error error = TL_ARENA(&own, "the weights of the entries", table, &w->block);
    return error == TLNMF_OK ? TLNMF_OK : tl_fail_as(ctx, error, &own);
}

/* Smaller weights are refused, because their squares would underflow in the solvers. */
static const double LEAST = 1e-150;

static tlnmf_error refuse(tlnmf_ctx *ctx, const tlnmf_data *data, bool masked, int64_t i)
{
    long long m = i / data->N, n = data->first + i % data->N;
    if (masked)
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "the weight of row %lld, frame %lld is below %g: use 0 or a larger weight",
                       m, n, LEAST);
    return tl_fail(
        ctx, TLNMF_ERR_DATA,
        "the weight of frame %lld is below %g of the mean weight: use 0 or a larger weight", n,
        LEAST);
}

/* Sets B and its copy of the mask. The weights of frames are there, and their mean is 1. */
static tlnmf_error fill(tlnmf_ctx *ctx, const tlnmf_data *data, const double *mask,
                        entry_weights *w)
{
    int64_t N = data->N, size = data->M * N;
    double sum = 0.0;
    if (w->B == NULL)
        return TLNMF_OK;
    for (int64_t i = 0; i < size; i++) {
        w->B[i] = (mask != NULL ? mask[i] : 1.0) * (w->weighted ? w->weight[i % N] : 1.0);
        if (mask != NULL)
            w->mask[i] = mask[i];
        sum += w->B[i];
    }
    if (mask != NULL && !(sum > 0.0 && sum <= DBL_MAX))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "the mask times the weights of the frames sums to %g: it must be positive "
                       "and finite",
                       sum);
    for (int64_t i = 0; i < size; i++)
        if (w->B[i] < LEAST && (mask == NULL || mask[i] > 0.0) &&
            (!w->weighted || w->weight[i % N] > 0.0))
            return refuse(ctx, data, mask != NULL, i);
    return TLNMF_OK;
}

/* The data have the new weights if all processes could make theirs. */
static tlnmf_error finish(tlnmf_ctx *ctx, tlnmf_error error, const entry_weights *w,
                          tlnmf_data *data)
{
    error = tl_comm_agree(ctx, data->frames_comm, error);
    if (error != TLNMF_OK) {
        tl_release(&data->hooks, w->block);
        return error;
    }
    tl_release(&data->hooks, data->B_block);
    data->B_block = w->block;
    data->weighted = w->weighted;
    data->B = w->B;
    data->mask = w->mask;
    if (w->weighted)
        tl_copy(data->weight, w->weight, data->N);
    return TLNMF_OK;
}

tlnmf_error tl_data_weigh(tlnmf_ctx *ctx, tlnmf_data *data, const double *weights)
{
    int64_t N = data->N;
    double sum = 0.0;
    bool complete = true;
    tlnmf_error error = TLNMF_OK;
    entry_weights made;
    for (int64_t n = 0; n < N; n++)
        complete = complete && data->present[n] == 0.0;
    complete = tl_comm_max(data->frames_comm, complete ? 0.0 : 1.0) == 0.0;
    for (int64_t n = 0; n < N; n++) {
        double w = weights != NULL ? weights[n] : 1.0;
        if (error == TLNMF_OK && !(w >= 0.0 && w <= DBL_MAX))
            error =
                tl_fail(ctx, TLNMF_ERR_DATA,
                        "the weight of frame %lld is %g: weights must be finite and not negative",
                        (long long)data->first + n, w);
        sum += w * (complete ? 1.0 : data->present[n]) / (double)data->all;
    }
    TRY(tl_comm_agree(ctx, data->frames_comm, error));
    sum = tl_comm_of(data->frames_comm, sum);
    if (!(sum > 0.0 && sum <= DBL_MAX))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "the weights of the frames have the mean %g: it must be positive and finite",
                       sum);
    error = reserve(ctx, data, weights != NULL || !complete, data->mask != NULL, &made);
    if (error == TLNMF_OK) {
        for (int64_t n = 0; made.weighted && n < N; n++)
            made.weight[n] =
                (weights != NULL ? weights[n] : 1.0) * (complete ? 1.0 : data->present[n]) / sum;
        error = fill(ctx, data, data->mask, &made);
    }
    return finish(ctx, error, &made, data);
}

tlnmf_error tl_data_take_weights(tlnmf_ctx *ctx, const tlnmf_data *from, const int64_t *frames,
                                 tlnmf_data *to)
{
    double sum = 0.0;
    entry_weights made;
    if (!from->weighted)
        return TLNMF_OK;
    for (int64_t i = 0; i < to->N; i++)
        sum += from->weight[frames[i]] / (double)to->N;
    if (!(sum > 0.0))
        return tl_fail(ctx, TLNMF_ERR_DATA, "the weights of %lld selected frames are all 0",
                       (long long)to->N);
    TRY(reserve(ctx, to, true, false, &made));
    for (int64_t i = 0; i < to->N; i++) {
        made.weight[i] = from->weight[frames[i]] / sum;
        to->present[i] = from->present[frames[i]];
    }
    return finish(ctx, fill(ctx, to, NULL, &made), &made, to);
}

tlnmf_error tlnmf_data_set_weights(tlnmf_ctx *ctx, tlnmf_data *data, const double *weights)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    return tl_data_weigh(ctx, data, weights);
}

static tlnmf_error set_missing(tlnmf_ctx *ctx, tlnmf_data *data, int64_t count)
{
    data->missing = count;
    return tlnmf_record_set_integer(ctx, data->record, "missing", count);
}

/* Missing powers have a mask below 1. Does not count them if frames of realisations are missing. */
static tlnmf_error count_missing_powers(tlnmf_ctx *ctx, tlnmf_data *data)
{
    int64_t count = 0;
    if (!tlnmf_record_has(data->record, "dof"))
        return TLNMF_OK;
    for (int64_t n = 0; n < data->N; n++)
        if (data->present[n] > 0.0)
            return TLNMF_OK;
    for (int64_t i = 0; data->mask != NULL && i < data->M * data->N; i++)
        count += data->mask[i] < 1.0;
    return set_missing(ctx, data, count);
}

tlnmf_error tlnmf_data_set_mask(tlnmf_ctx *ctx, tlnmf_data *data, const double *mask)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    if (data->frames_comm != NULL)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "a mask cannot be used with distributed frames");
    double sum = 0.0;
    for (int64_t i = 0; mask != NULL && i < data->M * data->N; i++) {
        if (!(mask[i] >= 0.0 && mask[i] <= DBL_MAX))
            return tl_fail(
                ctx, TLNMF_ERR_DATA,
                "the mask of row %lld, frame %lld is %g: it must be finite and not negative",
                (long long)(i / data->N), (long long)(i % data->N), mask[i]);
        sum += mask[i];
    }
    if (mask != NULL && !(sum > 0.0 && sum <= DBL_MAX))
        return tl_fail(ctx, TLNMF_ERR_DATA, "the mask sums to %g: it must be positive and finite",
                       sum);
    entry_weights made;
    tlnmf_error error = reserve(ctx, data, data->weighted, mask != NULL, &made);
    if (error == TLNMF_OK) {
        if (data->weighted)
            tl_copy(made.weight, data->weight, data->N);
        error = fill(ctx, data, mask, &made);
    }
    TRY(finish(ctx, error, &made, data));
    return count_missing_powers(ctx, data);
}

tlnmf_error tl_data_check_mask(tlnmf_ctx *ctx, const tlnmf_data *data)
{
    for (int64_t m = 0; data->mask != NULL && m < data->M; m++) {
        bool any = false;
        for (int64_t n = 0; n < data->N; n++)
            any = any || data->B[m * data->N + n] > 0.0;
        if (!any)
            return tl_fail(ctx, TLNMF_ERR_DATA,
                           "entry %lld of the frames of V has no data: it is missing or masked in "
                           "all of them%s. Omit the entry or change the mask",
                           (long long)m, data->weighted ? " that have a weight" : "");
    }
    return TLNMF_OK;
}

double tl_data_entries(const tlnmf_data *data)
{
    double sum = 0.0;
    if (data->mask == NULL) /* weights of frames have the mean 1 */
        return (double)data->M * (double)data->all;
    for (int64_t i = 0; i < data->M * data->N; i++)
        sum += data->B[i];
    return sum; /* masks are for one process */
}

int64_t tl_data_replicates(const tlnmf_data *data)
{
    return data->weighted || data->mask != NULL || data->overlapping ? 0 : data->S;
}

tlnmf_error tlnmf_data_set_dof(tlnmf_ctx *ctx, tlnmf_data *data, int64_t dof)
{
    const int64_t most = 1000000000;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    if (dof < 1 || dof > most)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "dof = %lld is outside [1, %lld]", (long long)dof,
                       (long long)most);
    if (data->S < 1)
        return tl_fail(ctx, TLNMF_ERR_DATA, "dof requires powers, not covariances");
    TRY(tlnmf_record_set_integer(ctx, data->record, "dof", dof));
    for (int64_t n = 0; n < data->N; n++)
        data->present[n] *= (double)dof / (double)data->dof;
    data->S = data->S / data->dof * dof;
    data->dof = dof;
    return data->mask != NULL ? count_missing_powers(ctx, data) : TLNMF_OK;
}

bool tl_data_is_silent(const tlnmf_data *data, int64_t n)
{
    bool silent = data->B != NULL;
    for (int64_t m = 0; silent && m < data->M; m++)
        silent = data->B[m * data->N + n] == 0.0;
    return silent;
}

/* ---- missing frames -------------------------------------------------------------------------- */

/* Whether frame n of realisation s has no NaN. */
static bool is_whole(const double *Y, const int64_t shape[3], int64_t s, int64_t n)
{
    int64_t M = shape[1], N = shape[2];
    for (int64_t m = 0; m < M; m++)
        if (isnan(Y[(s * M + m) * N + n]))
            return false;
    return true;
}

/* present[n] = the number of realisations whose frame n has no NaN. */
static void count_present(const double *Y, const int64_t shape[3], double *present)
{
    for (int64_t n = 0; n < shape[2]; n++)
        for (int64_t s = 0; s < shape[0]; s++)
            present[n] += is_whole(Y, shape, s, n) ? 1.0 : 0.0;
}

/* The entry with most NaN here, and their share of its values. */
static int64_t worst_entry(const double *Y, const int64_t shape[3], double *share)
{
    int64_t S = shape[0], M = shape[1], N = shape[2], worst = 0, most = -1;
    for (int64_t m = 0; m < M; m++) {
        int64_t gaps = 0;
        for (int64_t s = 0; s < S; s++)
            for (int64_t n = 0; n < N; n++)
                gaps += isnan(Y[(s * M + m) * N + n]);
        worst = gaps > most ? m : worst;
        most = tl_max(gaps, most);
    }
    *share = (double)most / (double)tl_max(S * N, 1);
    return worst;
}

/* All processes call this together. */
static tlnmf_error check_present(tlnmf_ctx *ctx, const double *Y, const int64_t shape[3],
                                 const double *present)
{
    double sum = 0.0, share;
    for (int64_t n = 0; n < shape[2]; n++)
        sum += present[n];
    if (tl_comm_of(ctx->frames_comm, sum) > 0.0)
        return TLNMF_OK;
    long long worst = worst_entry(Y, shape, &share);
    return tl_fail(
        ctx, TLNMF_ERR_DATA,
        "every frame contains a NaN, and entry %lld has the most, %.3g %% of its values: "
        "omit the entries that are mostly NaN",
        worst, 100.0 * share);
}

/* Missing columns become 0, and the others of their frame are scaled up: the mean over all S is
 * then the mean over the columns present. */
static void fill_gaps(const double *Y, const int64_t shape[3], const double *present, double *out)
{
    int64_t S = shape[0], M = shape[1], N = shape[2];
    for (int64_t s = 0; s < S; s++)
        for (int64_t n = 0; n < N; n++) {
            bool whole = is_whole(Y, shape, s, n);
            double scale = whole && present[n] < (double)S ? sqrt((double)S / present[n]) : 1.0;
            for (int64_t m = 0; m < M; m++)
                out[(s * M + m) * N + n] = whole ? scale * Y[(s * M + m) * N + n] : 0.0;
        }
}

/* Missing columns become NaN, the others those of Y. */
static void mark_gaps(const double *Y, const int64_t shape[3], double *out)
{
    int64_t S = shape[0], M = shape[1], N = shape[2];
    for (int64_t s = 0; s < S; s++)
        for (int64_t n = 0; n < N; n++) {
            bool whole = is_whole(Y, shape, s, n);
            for (int64_t m = 0; m < M; m++)
                out[(s * M + m) * N + n] = whole ? Y[(s * M + m) * N + n] : (double)NAN;
        }
}

/* Weights by the fraction of entries that is present, and the mean power of those entries. */
static tlnmf_error note_gaps(tlnmf_ctx *ctx, const double *present, int64_t S, tlnmf_data *data)
{
    double frames = 0.0, missing = 0.0;
    for (int64_t n = 0; n < data->N; n++) {
        frames += present[n] > 0.0 ? 1.0 : 0.0;
        missing += (double)S - present[n];
    }
    double sums[] = {frames, missing};
    tl_comm_add(data->frames_comm, sums, 2);
    TRY(set_missing(ctx, data, (int64_t)sums[1]));
    if (sums[1] == 0.0)
        return TLNMF_OK;
    tl_copy(data->present, present, data->N);
    data->mean_power *= (double)data->all / sums[0];
    TRY(tlnmf_record_set_real(ctx, data->record, "mean_power", data->mean_power));
    return tl_data_weigh(ctx, data, NULL);
}

tlnmf_error tlnmf_data_from_incomplete(tlnmf_ctx *ctx, const double *Y, const int64_t shape[3],
                                       tlnmf_data **out)
{
    TL_NEED_OUT(ctx, out);
    TL_NEED(ctx, Y);
    TL_NEED(ctx, shape);
    int64_t S = shape[0], M = shape[1], N = shape[2], count;
    if (S < 1 || M < 1 || N < (ctx->frames_comm != NULL ? 0 : 1))
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "S = %lld, M = %lld, N = %lld: all must be at least 1",
                       (long long)S, (long long)M, (long long)N);
    if (__builtin_mul_overflow(S, M, &count) || __builtin_mul_overflow(count, N, &count))
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE, "%lld x %lld x %lld numbers would not fit",
                       (long long)S, (long long)M, (long long)N);
    double *filled, *present;
    void *block;
    tl_slot table[] = {TL_SLOT(filled, count), TL_SLOT(present, N)};
    TRY(TL_ARENA(ctx, "the frames that are there", table, &block));
    count_present(Y, shape, present);
    fill_gaps(Y, shape, present, filled);
    tlnmf_error error = check_present(ctx, Y, shape, present);
    if (error == TLNMF_OK)
        error = tlnmf_data_from_realisations(ctx, filled, shape, out);
    if (error == TLNMF_OK)
        error = tl_comm_agree(ctx, (*out)->frames_comm, note_gaps(ctx, present, S, *out));
    mark_gaps(Y, shape, filled);
    if (error == TLNMF_OK)
        error = tl_data_note_mean(ctx, *out, filled, shape);
    tl_release(&ctx->hooks, block);
    if (error != TLNMF_OK) {
        tlnmf_data_free(*out);
        *out = NULL;
    }
    return error;
}
