/* The mean frame of all realisations and of each, which compression loses; rows that are constant,
 * or much stronger than the others. */
#include "data/data.h"

#include <math.h>

/* The sums of one row of Y. Values are taken relative to the first one, so that a constant row has
 * `varying` = 0 and no rounding errors. */
typedef struct row_sums {
    double count, sum, square; /* `square`: count times the square of the first value */
    double varying;            /* number of values that differ from the first one */
    double parts, drift; /* realisations (of each process); sum of count times mean^2 of each */
} row_sums;

enum { SUMS = sizeof(row_sums) / sizeof(double) };

typedef struct mean_summing {
    const double *Y;
    const int64_t *shape;
    row_sums *row;
    int64_t rows;
} mean_summing;

static row_sums sum_row(const double *Y, const int64_t shape[3], int64_t m)
{
    int64_t S = shape[0], M = shape[1], N = shape[2];
    row_sums r = {.count = 0.0};
    double first = NAN, sum = 0.0;
    for (int64_t s = 0; s < S; s++) {
        const double *y = Y + (s * M + m) * N;
        double count = 0.0, part = 0.0;
        for (int64_t n = 0; n < N; n++) {
            if (isnan(y[n]))
                continue;
            first = r.count + count == 0.0 ? y[n] : first;
            count += 1.0;
            r.varying += y[n] != first;
            part += y[n] - first;
        }
        if (count == 0.0)
            continue;
        r.count += count;
        r.parts += 1.0;
        r.drift += (first + part / count) * (first * count + part);
        sum += part;
    }
    if (r.count > 0.0) {
        r.sum = r.count * first + sum;
        r.square = r.count * first * first;
    }
    return r;
}

static void sum_rows(int64_t first, int64_t last, void *arg)
{
    const mean_summing *s = arg;
    for (int64_t m = first; m < last; m++)
        s->row[m] = sum_row(s->Y, s->shape, m);
}

static tlnmf_error sum_all(void *arg)
{
    enum { NUMBERS = 8192 }; /* of a piece: 10 us or more */
    mean_summing *s = arg;
    int64_t each = s->shape[0] * s->shape[2];
    tl_share(s->rows, tl_max(1, NUMBERS / tl_max(each, 1)), sum_rows, s);
    return TLNMF_OK;
}

/* Whether the values of each process are constant, and their first values equal. A row of zeros is
 * harmless: the first row of windowed frames is one. */
static bool is_constant(const row_sums *r)
{
    const double rounding = 1e-14, fewest = 10.0; /* fewer values may be equal by chance */
    double mean = r->sum / r->count, square = r->square / r->count;
    return r->count >= fewest && r->varying == 0.0 && square > 0.0 &&
           square - mean * mean <= rounding * square;
}

tlnmf_error tl_data_note_mean(tlnmf_ctx *ctx, tlnmf_data *data, const double *Y,
                              const int64_t shape[3])
{
    mean_summing s = {.Y = Y, .shape = shape, .rows = data->M};
    void *block = NULL;
    tl_slot table[] = {TL_SLOT(s.row, s.rows)};
    TRY(tl_comm_agree(ctx, data->frames_comm, TL_ARENA(ctx, "the mean frame", table, &block)));
    tl_with_threads(tl_thread_count(ctx->threads), sum_all, &s);
    tl_comm_add(data->frames_comm, (double *)s.row, s.rows * SUMS);
    data->mean_square = data->drift_square = data->observed = data->parts = 0.0;
    data->constant_rows = 0;
    for (int64_t m = s.rows - 1; m >= 0; m--) {
        const row_sums *r = &s.row[m];
        double mean = r->count > 0.0 ? r->sum / r->count : 0.0;
        data->mean_square += mean * mean;
        data->drift_square += r->count > 0.0 ? r->drift / r->count : 0.0;
        data->observed = fmax(data->observed, r->count);
        data->parts = fmax(data->parts, shape[0] > 1 ? r->parts : 0.0);
        if (!is_constant(r))
            continue;
        data->constant_rows++;
        data->first_constant = m;
    }
    tl_release(&ctx->hooks, block);
    return data->record == NULL ? TLNMF_OK : tl_data_describe_mean(ctx, data);
}

tlnmf_error tl_data_describe_mean(tlnmf_ctx *ctx, tlnmf_data *data)
{
    TRY(tlnmf_record_set_real(ctx, data->record, "mean_share",
                              data->S > 0 ? tl_data_mean_share(data) : NAN));
    return tlnmf_record_set_real(ctx, data->record, "centred_power", tl_data_centred_power(data));
}

static double share_of(const tlnmf_data *data, double square)
{
    double power = data->mean_power * (double)data->M;
    return power > 0.0 ? fmin(square / power, 1.0) : 0.0;
}

double tl_data_mean_share(const tlnmf_data *data)
{
    return share_of(data, data->mean_square);
}

/* The least share that is not due to chance, for the means of `parts` parts of the data
 * (docs/measurements/constants.md). */
static double least_share(const tlnmf_data *data, double parts)
{
    const double least = 0.02, by_chance = 11.0;
    return data->observed > parts ? fmax(least, by_chance * parts / data->observed) : INFINITY;
}

double tl_data_drift(const tlnmf_data *data)
{
    double drift = share_of(data, data->drift_square);
    return data->parts > 1.0 && drift - tl_data_mean_share(data) > least_share(data, data->parts)
               ? drift
               : 0.0;
}

double tl_data_offset(const tlnmf_data *data)
{
    double share = tl_data_mean_share(data);
    return fmax(share > least_share(data, 1.0) ? share : 0.0, tl_data_drift(data));
}

double tl_data_centred_power(const tlnmf_data *data)
{
    const double least = 1e-10; /* 1 - rho has rounding errors */
    return data->mean_power * fmax(1.0 - tl_data_offset(data), least);
}

static double row_power(const tlnmf_data *data, int64_t m)
{
    double power = 0.0;
    for (int64_t n = 0; n < data->N; n++) {
        double sum = 0.0;
        for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
            sum += data->R[m * data->T + t] * data->R[m * data->T + t];
        power += data->weighted ? data->weight[n] * sum : sum;
    }
    return power;
}

double tl_data_strongest_frame(const tlnmf_data *data, int64_t *frame)
{
    double most = 0.0, all = 0.0;
    *frame = 0;
    for (int64_t n = 0; n < data->N; n++) {
        double power = 0.0;
        for (int64_t m = 0; m < data->M; m++)
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                power += data->R[m * data->T + t] * data->R[m * data->T + t];
        power *= data->weighted ? data->weight[n] : 1.0;
        all += power;
        *frame = power > most ? n : *frame;
        most = fmax(most, power);
    }
    return all > 0.0 && data->frames_comm == NULL ? most / all : 0.0;
}

double tl_data_strongest_row(const tlnmf_data *data, int64_t *row)
{
    enum { AT_A_TIME = 64 };
    double most = 0.0, all = 0.0;
    *row = 0;
    for (int64_t m0 = 0; m0 < data->M; m0 += AT_A_TIME) {
        double power[AT_A_TIME];
        int64_t count = tl_min(AT_A_TIME, data->M - m0);
        for (int64_t i = 0; i < count; i++)
            power[i] = row_power(data, m0 + i);
        tl_comm_add(data->frames_comm, power, count);
        for (int64_t i = 0; i < count; i++) {
            all += power[i];
            *row = power[i] > most ? m0 + i : *row;
            most = fmax(most, power[i]);
        }
    }
    return all > 0.0 ? most / all : 0.0;
}
