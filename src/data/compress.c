/* Exact compression (docs/spec.md): C and L see the data only through Sigma_n, so the S columns of
 * a frame become rank(Sigma_n) columns with the same outer product. */
#include "base/monitor.h"
#include "base/record.h"
#include "data/making.h"
#include "linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Frames are gathered in groups, so that one pass over Y reads whole cache lines. */
enum { GROUP = 8 };

tlnmf_error tl_making_keep(tlnmf_ctx *ctx, const tl_making *m, int64_t n, int64_t rank,
                           const double *vectors, double scale)
{
    m->rank[n] = rank;
    if (rank == 0)
        return TLNMF_OK;
    double *out = tl_allocate(&ctx->hooks, (size_t)(rank * m->M) * sizeof *out);
    if (out == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for frame %lld", (long long)n);
    m->columns[n] = out;
    for (int64_t i = 0; i < rank * m->M; i++)
        out[i] = scale * vectors[i];
    return TLNMF_OK;
}

tlnmf_error tl_data_new(tlnmf_ctx *ctx, int64_t M, int64_t N, int64_t T, tlnmf_data **out)
{
    TRY(tl_check_size(ctx, "the number of compressed columns", T));
    tlnmf_data *data, shell = {.M = M, .N = N, .T = T, .dof = 1, .hooks = ctx->hooks};
    shell.all = N;
    shell.columns = T;
    tl_slot table[] = {TL_SLOT(data, 1), TL_SLOT(shell.offset, N + 1), TL_SLOT(shell.weight, N),
                       TL_SLOT(shell.present, N), TL_SLOT(shell.R, M * T)};
    TRY(TL_ARENA(ctx, "the compressed data", table, &shell.block));
    *data = shell;
    *out = data;
    return TLNMF_OK;
}

void tl_data_note_one_each(tlnmf_data *data)
{
    data->one_each = true;
    for (int64_t n = 0; n <= data->N; n++)
        data->one_each = data->one_each && data->offset[n] == n;
}

bool tl_making_stops(const tlnmf_ctx *ctx, double done, double total)
{
    return tl_poll_at(ctx->monitor, "compress", done, total);
}

tlnmf_error tl_making_stopped(tlnmf_ctx *ctx)
{
    return tl_fail(ctx, TLNMF_ERR_CALLBACK, "stopped while the data were being compressed");
}

/* Copies the columns of frames first .. last - 1 to their places. */
static void pack_frames(int64_t first, int64_t last, void *arg)
{
    const tl_making *m = arg;
    int64_t M = m->M, T = m->out->T;
    for (int64_t i = 0; i < M && !tl_poll(m->ctx->monitor); i++)
        for (int64_t n = first; n < last; n++) {
            double *row = m->out->R + i * T + m->out->offset[n];
            for (int64_t j = 0; j < m->rank[n]; j++)
                row[j] = m->columns[n][j * M + i];
        }
}

/* Creates the data: the ranks of the frames determine the places of their columns. */
static tlnmf_error place_frames(tl_making *m)
{
    int64_t T = 0;
    for (int64_t n = 0; n < m->N; n++)
        T += m->rank[n];
    TRY(tl_data_new(m->ctx, m->M, m->N, T, &m->out));
    for (int64_t n = 0; n < m->N; n++)
        m->out->offset[n + 1] = m->out->offset[n] + m->rank[n];
    tl_data_note_one_each(m->out);
    return TLNMF_OK;
}

/* The number of rows of this length in a piece that takes 10 us or more. */
static int64_t rows_of_piece(int64_t numbers)
{
    return tl_max(1, 8192 / tl_max(numbers, 1));
}

/* Lays the columns of all frames side by side. */
static tlnmf_error pack(tl_making *m)
{
    TRY(place_frames(m));
    tl_share(m->N, rows_of_piece(m->out->T / tl_max(m->N, 1) * m->M), pack_frames, m);
    return tl_poll(m->ctx->monitor) ? tl_making_stopped(m->ctx) : TLNMF_OK;
}

/* ---- realisations ---------------------------------------------------------------------------- */

static double length(int64_t count, const double *x)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* The number of vectors above the rounding errors of the data, 4 DBL_EPSILON of their total length
 * (the errors of S realisations y, each of |y| DBL_EPSILON / 2, with a margin). Vectors below carry
 * no information. The vectors are in roughly descending length, so only the last ones are dropped.
 */
static int64_t numerical_rank(int64_t count, int64_t M, const double *vectors)
{
    double whole = length(count * M, vectors);
    int64_t rank = count;
    while (rank > 0 && length(M, vectors + (rank - 1) * M) <= 4.0 * DBL_EPSILON * whole)
        rank--;
    return rank;
}

/* The scratch of one thread. */
typedef struct bench {
    atomic_flag taken;
    tlnmf_ctx ctx; /* a copy, for its message */
    tlnmf_error error;
    tl_qr qr;
    double *group, *vectors, *scratch;
} bench;

typedef struct workshop {
    const tl_making *r;
    bench *bench;
    int64_t benches;
    atomic_bool failed;
    atomic_llong done; /* frames */
} workshop;

static bool is_few(const tl_making *r)
{
    return r->S <= TL_FEW_ROWS && r->S <= r->M;
}

/* Frames n0 .. n0+count-1 to `count` matrices, S x M; column-major if `columns`. */
static void gather(const tl_making *r, int64_t n0, int64_t count, bool columns, double *out)
{
    int64_t S = r->S, M = r->M, of_s = columns ? 1 : M, of_m = columns ? S : 1;
    for (int64_t s = 0; s < S; s++)
        for (int64_t m = 0; m < M; m++)
            for (int64_t i = 0; i < count; i++)
                out[i * M * S + m * of_m + s * of_s] = r->in[(s * M + m) * r->N + n0 + i];
}

/* Compresses frame n, which is gathered in `A`. */
static tlnmf_error compress_frame(const tl_making *r, bench *b, int64_t n, double *A)
{
    double scale = 1.0 / sqrt((double)r->S), *vectors = A;
    if (!is_few(r) || !tl_few_rows(r->S, r->M, A, b->scratch)) {
        if (is_few(r))
            gather(r, n, 1, true, A);
        vectors = b->vectors;
        TRY(tl_qr_rows(&b->ctx, &b->qr, A, vectors));
    }
    int64_t rank = numerical_rank(tl_min(r->S, r->M), r->M, vectors);
    return tl_making_keep(&b->ctx, r, n, rank, vectors, scale);
}

static bench *take_bench(workshop *w)
{
    for (int64_t i = 0;; i = (i + 1) % w->benches) /* one is free: there is one per thread */
        if (!atomic_flag_test_and_set(&w->bench[i].taken))
            return &w->bench[i];
}

static void compress_group(int64_t g, int64_t last, void *arg)
{
    workshop *w = arg;
    const tl_making *r = w->r;
    bench *b = take_bench(w);
    int64_t n0 = g * GROUP, count = tl_min(GROUP, r->N - n0);
    (void)last;
    if (!w->failed)
        gather(r, n0, count, !is_few(r), b->group);
    for (int64_t i = 0; i < count && !w->failed; i++) {
        double whole = (double)r->N;
        b->error = compress_frame(r, b, n0 + i, b->group + i * r->M * r->S);
        if (tl_making_stops(r->ctx, whole + (double)(1 + atomic_fetch_add(&w->done, 1)),
                            2.0 * whole))
            b->error = tl_making_stopped(&b->ctx);
        if (b->error != TLNMF_OK)
            w->failed = true;
    }
    atomic_flag_clear(&b->taken);
}

static tlnmf_error compress_groups(workshop *w)
{
    const tl_making *r = w->r;
    tl_share_among(w->benches, (r->N + GROUP - 1) / GROUP, compress_group, w);
    for (int64_t i = 0; i < w->benches; i++)
        if (w->bench[i].error != TLNMF_OK)
            return tl_fail_as(r->ctx, w->bench[i].error, &w->bench[i].ctx);
    return TLNMF_OK;
}

static tlnmf_error bench_create(const tl_making *r, bench *b, void **block)
{
    int64_t S = r->S, M = r->M;
    tl_slot table[] = {TL_SLOT(b->group, tl_min(GROUP, r->N) * S * M),
                       TL_SLOT(b->vectors, tl_min(S, M) * M), TL_SLOT(b->scratch, 2 * M)};
    b->ctx = *r->ctx;
    atomic_flag_clear(&b->taken);
    TRY(TL_SCRATCH(r->ctx, "a group of frames", table, block));
    return tl_qr_create(r->ctx, S, M, &b->qr);
}

/* Together the groups of all threads are at most a quarter of the data, or one group. */
static tlnmf_error compress_many(const tl_making *r)
{
    workshop w = {.r = r};
    void *block, **blocks;
    w.benches = tl_max(1, tl_min(tl_threads_here(), r->N / ((int64_t)4 * GROUP)));
    tl_slot table[] = {TL_SLOT(w.bench, w.benches), TL_SLOT(blocks, w.benches)};
    TRY(TL_ARENA(r->ctx, "the groups of frames", table, &block));
    tlnmf_error error = TLNMF_OK;
    for (int64_t i = 0; i < w.benches && error == TLNMF_OK; i++)
        error = bench_create(r, &w.bench[i], &blocks[i]);
    if (error == TLNMF_OK)
        error = compress_groups(&w);
    for (int64_t i = 0; i < w.benches; i++) {
        if (w.bench[i].qr.block != NULL)
            tl_qr_free(&w.bench[i].qr);
        tl_release(&r->ctx->hooks, blocks[i]);
    }
    tl_release(&r->ctx->hooks, block);
    return error;
}

/* ---- one realisation: already compressed, nothing is rounded --------------------------------- */

/* Sets the rank of each frame: 0 if it is silent, else 1. The first rows suffice for most frames.
 */
static void find_silence(int64_t first, int64_t last, void *arg)
{
    const tl_making *r = arg;
    int64_t silent = last - first;
    for (int64_t m = 0; m < r->M && silent > 0 && !tl_poll(r->ctx->monitor); m++) {
        const double *row = r->in + m * r->N;
        silent = last - first;
        for (int64_t n = first; n < last; n++) {
            r->rank[n] |= row[n] != 0.0;
            silent -= r->rank[n];
        }
    }
}

/* Copies rows without their silent frames. */
static void copy_rows(int64_t first, int64_t last, void *arg)
{
    tl_making *r = arg;
    int64_t T = r->out->T, N = r->N;
    for (int64_t m = first; m < last; m++) {
        const double *row = r->in + m * N;
        double *out = r->out->R + m * T;
        if (T == N)
            tl_copy(out, row, N);
        for (int64_t n = 0; n < N && T < N; n++)
            if (r->rank[n] > 0)
                *out++ = row[n];
        if (tl_making_stops(r->ctx, (double)(r->M + atomic_fetch_add(&r->done, 1)),
                            2.0 * (double)r->M))
            return;
    }
}

static tlnmf_error keep_single(tl_making *r)
{
    enum { FRAMES = 4096 }; /* of a piece: 10 us or more */
    tl_share(r->N, FRAMES, find_silence, r);
    TRY(place_frames(r));
    atomic_store(&r->done, 0);
    tl_share(r->M, rows_of_piece(r->N), copy_rows, r);
    return tl_poll(r->ctx->monitor) ? tl_making_stopped(r->ctx) : TLNMF_OK;
}

/* ---- the power of realisations --------------------------------------------------------------- */

/* The mean squares of rows, into `power`. */
static void measure_rows(int64_t first, int64_t last, void *arg)
{
    tl_making *r = arg;
    double rows = (double)r->S * (double)r->M;
    for (int64_t i = first; i < last; i++) {
        const double *row = r->in + i * r->N;
        double sum = 0.0;
        for (int64_t n = 0; n < r->N; n++)
            sum += row[n] * row[n];
        r->power[i] = sum / (double)r->N;
        if (tl_making_stops(r->ctx, (double)atomic_fetch_add(&r->done, 1), 2.0 * rows))
            return;
    }
}

/* Checks data whose mean square is not usable: names the first entry that is not finite, or the
 * largest. */
static tlnmf_error explain_power(const tl_making *r)
{
    double largest = 0.0;
    for (int64_t i = 0; i < r->S * r->M * r->N; i++) {
        if (!isfinite(r->in[i]))
            return tl_fail(r->ctx, TLNMF_ERR_DATA,
                           "realisation %lld, row %lld, frame %lld is not finite (%g)",
                           (long long)(i / r->N / r->M), (long long)(i / r->N % r->M),
                           (long long)(i % r->N), r->in[i]);
        largest = fmax(largest, fabs(r->in[i]));
    }
    return r->ctx->frames_comm != NULL ? TLNMF_OK : tl_data_check_power(r->ctx, r->mean, largest);
}

/* Mean of Y^2. */
static tlnmf_error measure_power(tl_making *r)
{
    int64_t rows = r->N > 0 ? r->S * r->M : 0;
    double sum = 0.0;
    void *block;
    tl_slot table[] = {TL_SLOT(r->power, rows)};
    TRY(TL_SCRATCH(r->ctx, "the power of the rows", table, &block));
    tl_share(rows, rows_of_piece(r->N), measure_rows, r);
    bool stop = tl_poll(r->ctx->monitor);
    for (int64_t i = 0; i < rows && !stop; i++)
        sum += r->power[i];
    tl_release(&r->ctx->hooks, block);
    if (stop)
        return tl_making_stopped(r->ctx);
    r->mean = sum / ((double)r->S * (double)r->M);
    return isfinite(r->mean) && r->mean >= DBL_MIN ? TLNMF_OK : explain_power(r);
}

/* ---- both kinds of data ---------------------------------------------------------------------- */

static tlnmf_error check_and_compress(void *arg)
{
    tl_making *m = arg;
    TRY(m->covariances ? tl_measure_traces(m) : measure_power(m));
    if (m->S == 1)
        return keep_single(m);
    TRY(m->covariances ? tl_factor_covariances(m) : compress_many(m));
    return pack(m);
}

static tlnmf_error check_shape(tlnmf_ctx *ctx, const char *name, int64_t size, int64_t least)
{
    if (size < least)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "%s = %lld must be at least 1", name, (long long)size);
    return tl_check_size(ctx, name, size);
}

/* Data have no settings: the context gives the number of threads. */
static tlnmf_error make(tl_making *m, const int64_t shape[3])
{
    tlnmf_ctx *ctx = m->ctx;
    void *block;
    size_t count;
    if (m->covariances && shape[2] != m->M)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "covariances are square, not %lld x %lld",
                       (long long)m->M, (long long)shape[2]);
    if (!m->covariances)
        TRY(check_shape(ctx, "S (realisations)", m->S, 1));
    TRY(check_shape(ctx, "M (frame length)", m->M, 1));
    TRY(check_shape(ctx, "N (frames)", m->N, ctx->frames_comm != NULL ? 0 : 1));
    TRY(tl_count_elements(ctx, "the array of the data", 3, shape, &count));
    tl_slot table[] = {TL_SLOT(m->columns, m->N), TL_SLOT(m->rank, m->N)};
    TRY(TL_ARENA(ctx, "the list of frames", table, &block));
    tlnmf_error error = tl_with_threads(tl_thread_count(ctx->threads), check_and_compress, m);
    for (int64_t n = 0; n < m->N; n++)
        tl_release(&ctx->hooks, m->columns[n]);
    tl_release(&ctx->hooks, block);
    return error;
}

/* The record of new data. */
static tlnmf_error describe(tlnmf_ctx *ctx, tlnmf_data *data)
{
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"M", data->M},         {"N", data->all},
                 {"S", data->S},         {"columns", data->columns},
                 {"missing", 0},         {"first_frame", data->first},
                 {"own_frames", data->N}};
    TRY(tlnmf_record_create(ctx, &data->record));
    for (int i = 0; i < (data->frames_comm == NULL ? 5 : 7); i++)
        TRY(tlnmf_record_set_integer(ctx, data->record, sizes[i].name, sizes[i].value));
    TRY(tl_data_describe_mean(ctx, data));
    return tlnmf_record_set_real(ctx, data->record, "mean_power", data->mean_power);
}

/* Makes the data; if frames are distributed, also their facts over all processes. */
static tlnmf_error make_data(tl_making *m, const int64_t shape[3], tlnmf_data **out)
{
    tlnmf_ctx *ctx = m->ctx;
    tl_scope outer;
    TRY(tl_monitor_need_idle(ctx));
    tl_monitor_enter(ctx->monitor, 0.0, NULL, &outer);
    tlnmf_error error = make(m, shape);
    tl_monitor_leave(ctx->monitor, &outer);
    tlnmf_data *data = m->out;
    if (data != NULL) {
        data->S = m->S;
        data->rounding = m->rounding;
    }
    error = tl_data_join(ctx, error, data, &m->mean);
    if (error == TLNMF_OK && data != NULL) {
        data->mean_power = m->mean;
        if (!m->covariances)
            error = tl_data_note_mean(ctx, data, m->in, (int64_t[]){m->S, m->M, m->N});
    }
    if (error == TLNMF_OK && data != NULL)
        error = tl_comm_agree(ctx, ctx->frames_comm, describe(ctx, data));
    if (error == TLNMF_OK)
        *out = data;
    else
        tlnmf_data_free(data);
    return error;
}

tlnmf_error tlnmf_data_from_realisations(tlnmf_ctx *ctx, const double *Y, const int64_t shape[3],
                                         tlnmf_data **out)
{
    TL_NEED_OUT(ctx, out);
    TL_NEED(ctx, Y);
    TL_NEED(ctx, shape);
    tl_making m = {.ctx = ctx, .in = Y, .S = shape[0], .M = shape[1], .N = shape[2]};
    return make_data(&m, shape, out);
}

tlnmf_error tlnmf_data_from_covariances(tlnmf_ctx *ctx, const double *Sigma, const int64_t shape[3],
                                        tlnmf_data **out)
{
    TL_NEED_OUT(ctx, out);
    TL_NEED(ctx, Sigma);
    TL_NEED(ctx, shape);
    tl_making m = {.ctx = ctx, .in = Sigma, .covariances = true, .M = shape[1], .N = shape[0]};
    return make_data(&m, shape, out);
}

void tlnmf_data_free(tlnmf_data *data)
{
    if (data == NULL)
        return;
    tlnmf_record_free(data->record);
    tl_hooks hooks = data->hooks; /* the block holds the object itself */
    tl_release(&hooks, data->B_block);
    tl_release(&hooks, data->block);
}

const tlnmf_record *tlnmf_data_record(const tlnmf_data *data)
{
    return data == NULL ? NULL : data->record;
}
