/* Jacobi sweeps over few long rows. There are too few blocks of rows for all threads, so each
 * thread has some of the columns of all rows. The order of pairs is that of jacobi.c; all
 * disjoint pairs of a round are rotated at once. */
#include "engine/jacobi.h"
#include "engine/rotation.h"

/* Columns are cut at frames into CHUNKS parts, chosen arbitrarily. One more piece rotates Phi.
 * MOST_ROWS bounds the sums (32 KiB); more rows have blocks enough for jacobi.c. */
enum { BLOCK = TL_SWEEP_BLOCK, CHUNKS = 32, MOST_ROWS = 128, MOST_PAIRS = MOST_ROWS / 2 };

int64_t tl_long_rows_scratch(void)
{
    return (int64_t)CHUNKS * 2 * MOST_PAIRS;
}

bool tl_rows_are_long(const tlnmf_data *data)
{
    /* weights are laid out frame by frame, which is slow for frames of few columns */
    bool even = data->one_each || data->T >= BLOCK * data->N;
    return even && data->M >= 2 && data->M <= MOST_ROWS && data->T >= CHUNKS * data->M &&
           data->N >= (int64_t)2 * CHUNKS;
}

/* Disjoint pairs and their rotations. */
typedef struct pairs {
    int64_t count, a[MOST_PAIRS], b[MOST_PAIRS];
    double c[MOST_PAIRS], s[MOST_PAIRS];
} pairs;

/* A sweep. While threads rotate the pairs `now` by their angles, they compute the sums of `next`.
 */
typedef struct long_sweep {
    const tl_sweep *sweep;
    double least, gain;
    pairs now, next;
    double (*sums)[2 * MOST_PAIRS]; /* p and D of each pair, for each chunk */
} long_sweep;

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Weights of row a minus weights of row b, for the columns of frames first .. last - 1. */
static inline __attribute__((always_inline)) void weigh(const tlnmf_data *data, int64_t first,
                                                        int64_t last, const double *ua,
                                                        const double *ub, double *d)
{
    for (int64_t n = first; n < last; n++) {
        double difference = ua[n] - ub[n];
        for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
            *d++ = difference;
    }
}

/* p and D over the columns of frames first .. last - 1. */
TL_HOT static void sum_pair(const tl_sweep *sweep, int64_t a, int64_t b, int64_t first,
                            int64_t last, double *p_out, double *D_out)
{
    enum { AT_A_TIME = 512 }; /* weights of 4 KiB, in cache; no less than MOST_ROWS */
    const tlnmf_data *data = sweep->data;
    int64_t N = data->N, T = data->T;
    const double *ua = sweep->U + a * N, *ub = sweep->U + b * N;
    double p = 0.0, D = 0.0, d[AT_A_TIME];
    for (int64_t n = first, end; n < last; n = end) {
        end = n + 1; /* a frame has at most M columns */
        while (end < last && data->offset[end + 1] - data->offset[n] <= AT_A_TIME)
            end++;
        int64_t t0 = data->offset[n], count = data->offset[end] - t0;
        const double *xa = sweep->X + a * T + t0, *xb = sweep->X + b * T + t0;
        weigh(data, n, end, ua, ub, d);
#pragma omp simd reduction(+ : p, D)
        for (int64_t t = 0; t < count; t++) {
            /* weigh() filled d[0 .. count - 1]: NOLINTNEXTLINE(clang-analyzer-core.*) */
            p += d[t] * (xa[t] - xb[t]) * (xa[t] + xb[t]);
            D += d[t] * xa[t] * xb[t];
        }
    }
    *p_out = p;
    *D_out = D;
}

/* Rotates the pairs in `length` columns of rows that are `stride` apart. */
TL_HOT static void turn_pairs(const pairs *now, int64_t length, int64_t stride, double *x)
{
    for (int64_t i = 0; i < now->count; i++)
        if (now->s[i] != 0.0)
            turn_double(length, now->c[i], now->s[i], x + now->a[i] * stride,
                        x + now->b[i] * stride);
}

static void do_chunk(int64_t chunk, int64_t last_chunk, void *arg)
{
    long_sweep *in = arg;
    (void)last_chunk;
    const tl_sweep *sweep = in->sweep;
    const tlnmf_data *data = sweep->data;
    if (chunk == CHUNKS) {
        turn_pairs(&in->now, data->M, data->M, sweep->Phi);
        return;
    }
    int64_t first = data->N * chunk / CHUNKS, last = data->N * (chunk + 1) / CHUNKS;
    int64_t t0 = data->offset[first];
    turn_pairs(&in->now, data->offset[last] - t0, data->T, sweep->X + t0);
    for (int64_t i = 0; i < in->next.count; i++)
        sum_pair(sweep, in->next.a[i], in->next.b[i], first, last, &in->sums[chunk][2 * i],
                 &in->sums[chunk][2 * i + 1]);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Rotates the current pairs, and finds the angles of the next. */
static void rotate_and_sum(long_sweep *in)
{
    tl_share(CHUNKS + 1, 1, do_chunk, in);
    double *sums = in->sums[0];
    int64_t numbers = 2 * in->next.count;
    for (int64_t chunk = 1; chunk < CHUNKS; chunk++)
        for (int64_t i = 0; i < numbers; i++)
            sums[i] += in->sums[chunk][i];
    in->now = in->next;
    in->next.count = 0;
    for (int64_t i = 0; i < in->now.count; i++)
        in->gain +=
            tl_rotation(sums[2 * i], sums[2 * i + 1], in->least, &in->now.c[i], &in->now.s[i]);
}

/* Rows i and j, unless one of them is beyond the last. */
static void add_pair(long_sweep *in, int64_t i, int64_t j)
{
    if (tl_max(i, j) >= in->sweep->data->M)
        return;
    in->next.a[in->next.count] = tl_min(i, j);
    in->next.b[in->next.count++] = tl_max(i, j);
}

/* Round `round` of the pairs inside a block: the circle method of a tournament. */
static void add_within(long_sweep *in, int64_t a0, int64_t round)
{
    for (int64_t i = 0; round < BLOCK - 1 && i < BLOCK / 2; i++)
        add_pair(in, a0 + (i == 0 ? BLOCK - 1 : (round + BLOCK - 1 - i) % (BLOCK - 1)),
                 a0 + (round + i) % (BLOCK - 1));
}

/* Blocks a and b are paired in step a + b, after all their earlier pairs. */
double tl_sweep_long_rows(const tl_sweep *sweep, double least)
{
    long_sweep in = {
        .sweep = sweep, .least = least, .sums = (double(*)[2 * MOST_PAIRS])(void *)sweep->scratch};
    int64_t count = (sweep->data->M + BLOCK - 1) / BLOCK;
    bool ends = false;
    for (int64_t step = 0; step <= 2 * (count - 1); step++)
        for (int64_t round = 0; round < BLOCK && !ends; round++) {
            for (int64_t a = tl_max(0, step - count + 1); 2 * a < step; a++)
                for (int64_t row = 0; row < BLOCK; row++)
                    add_pair(&in, a * BLOCK + row, (step - a) * BLOCK + (row + round) % BLOCK);
            if (step % 2 == 0)
                add_within(&in, step / 2 * BLOCK, round);
            if (in.next.count > 0)
                rotate_and_sum(&in);
            ends = tl_poll(sweep->monitor);
        }
    rotate_and_sum(&in); /* the last pairs are rotated */
    return in.gain;
}
