/* Data without the columns that the floor hides, selected frames, copies of data, lengths of
 * columns. */
#include "data/data.h"

#include <math.h>

/* Columns that are handled together: their rows lie far apart, and each cache line is read once. */
enum { AT_A_TIME = 512 };

/* Squared lengths of the columns from t0 on. Returns how many there are. */
static int64_t squares(const tlnmf_data *data, int64_t t0, double square[AT_A_TIME])
{
    int64_t width = tl_min(AT_A_TIME, data->T - t0);
    for (int64_t t = 0; t < width; t++)
        square[t] = 0.0;
    for (int64_t m = 0; m < data->M; m++) {
        const double *row = data->R + m * data->T + t0;
        for (int64_t t = 0; t < width; t++)
            square[t] += row[t] * row[t];
    }
    return width;
}

/* Marks the columns from t0 on that the floor does not hide. Returns how many there are. */
static int64_t mark_seen(const tlnmf_data *data, int64_t t0, double eps, bool seen[AT_A_TIME])
{
    double square[AT_A_TIME];
    int64_t width = squares(data, t0, square), count = 0;
    for (int64_t t = 0; t < width; t++) {
        seen[t] = square[t] > 1e-16 * eps;
        count += seen[t];
    }
    return count;
}

static int64_t seen_columns(const tlnmf_data *data, double eps)
{
    bool seen[AT_A_TIME];
    int64_t T = 0;
    for (int64_t t = 0; t < data->T; t += AT_A_TIME)
        T += mark_seen(data, t, eps, seen);
    return T;
}

bool tl_data_is_trim(const tlnmf_data *data, double eps)
{
    return seen_columns(data, eps) == data->T;
}

/* Copies everything but the columns. The copy shares B with the original, which must outlive it. */
static void share_weights(const tlnmf_data *data, tlnmf_data *copy)
{
    copy->S = data->S;
    copy->dof = data->dof;
    copy->frames_comm = data->frames_comm;
    copy->all = data->all;
    copy->first = data->first;
    copy->mean_power = data->mean_power;
    copy->mean_square = data->mean_square;
    copy->observed = data->observed;
    copy->drift_square = data->drift_square;
    copy->parts = data->parts;
    copy->weighted = data->weighted;
    copy->overlapping = data->overlapping;
    copy->B = data->B;
    copy->mask = data->mask;
    copy->missing = data->missing;
    tl_copy(copy->weight, data->weight, data->N);
    tl_copy(copy->present, data->present, data->N);
}

tlnmf_error tl_data_trim(tlnmf_ctx *ctx, const tlnmf_data *data, double eps, tlnmf_data **out)
{
    *out = NULL;
    int64_t T = seen_columns(data, eps);
    if (T == data->T)
        return TLNMF_OK;
    TRY(tl_data_new(ctx, data->M, data->N, T, out));
    share_weights(data, *out);
    bool seen[AT_A_TIME];
    for (int64_t n = 0, to = 0; n < data->N; n++) {
        for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++) {
            if (t % AT_A_TIME == 0)
                mark_seen(data, t, eps, seen);
            if (!seen[t % AT_A_TIME])
                continue;
            for (int64_t m = 0; m < data->M; m++)
                (*out)->R[m * T + to] = data->R[m * data->T + t];
            to++;
        }
        (*out)->offset[n + 1] = to;
    }
    tl_data_note_one_each(*out);
    return TLNMF_OK;
}

tlnmf_error tl_data_copy(tlnmf_ctx *ctx, const tlnmf_data *data, tlnmf_data **out)
{
    TRY(tl_data_new(ctx, data->M, data->N, data->T, out));
    share_weights(data, *out);
    (*out)->columns = data->columns;
    tl_copy((*out)->R, data->R, data->M * data->T);
    for (int64_t n = 0; n <= data->N; n++)
        (*out)->offset[n] = data->offset[n];
    tl_data_note_one_each(*out);
    return TLNMF_OK;
}

/* Copies the columns of the selected frames, and sums their squares. */
static double copy_frames(const tlnmf_data *data, int64_t count, const int64_t *frames,
                          tlnmf_data *out)
{
    double sum = 0.0;
    int64_t to = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t t = data->offset[frames[i]]; t < data->offset[frames[i] + 1]; t++, to++)
            for (int64_t m = 0; m < data->M; m++) {
                double x = data->R[m * data->T + t];
                out->R[m * out->T + to] = x;
                sum += x * x;
            }
        out->offset[i + 1] = to;
    }
    return sum;
}

tlnmf_error tl_data_select(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t count,
                           const int64_t *frames, tlnmf_data **out)
{
    int64_t T = 0;
    *out = NULL;
    for (int64_t i = 0; i < count; i++)
        T += data->offset[frames[i] + 1] - data->offset[frames[i]];
    TRY(tl_data_new(ctx, data->M, count, T, out));
    (*out)->S = data->S;
    (*out)->dof = data->dof;
    double sum = copy_frames(data, count, frames, *out);
    (*out)->mean_power = sum / ((double)count * (double)data->M);
    tl_data_note_one_each(*out);
    tlnmf_error error = tl_data_take_weights(ctx, data, frames, *out);
    if (error != TLNMF_OK) {
        tlnmf_data_free(*out);
        *out = NULL;
    }
    return error;
}

double tl_data_longest(const tlnmf_data *data)
{
    double square[AT_A_TIME], longest = 0.0, sum = 0.0;
    for (int64_t t0 = 0, n = 0; t0 < data->T; t0 += AT_A_TIME) {
        int64_t width = squares(data, t0, square);
        for (int64_t t = 0; t < width; t++) {
            for (; t0 + t == data->offset[n + 1]; n++, sum = 0.0)
                longest = fmax(longest, sum);
            sum += square[t];
        }
    }
    return tl_comm_max(data->frames_comm, sqrt(fmax(longest, sum)));
}
