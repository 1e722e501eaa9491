/* Exact compression (docs/spec.md): C and L see the data only through Sigma_n, so the S columns of
 * a frame become rank(Sigma_n) columns with the same outer product. */
#include "data/data.h"
#include "linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Frames are gathered in groups, so that one pass over Y reads whole cache lines. */
enum { GROUP = 8 };

/* The columns of each frame, before their total number is known. */
typedef struct frames {
    int64_t M, N;
    double **columns; /* per frame, `rank` vectors of length M */
    int64_t *rank;
    tl_hooks hooks;
    void *block;
} frames;

static tlnmf_error frames_create(tlnmf_ctx *ctx, int64_t M, int64_t N, frames *f)
{
    *f = (frames){.M = M, .N = N, .hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(f->columns, N), TL_SLOT(f->rank, N)};
    return TL_ARENA(ctx, "the list of frames", table, &f->block);
}

static void frames_free(frames *f)
{
    for (int64_t n = 0; f->block != NULL && n < f->N; n++)
        tl_release(&f->hooks, f->columns[n]);
    tl_release(&f->hooks, f->block);
}

/* Keeps `rank` vectors of length M, one after the other, times `scale`, as columns of frame n. */
static tlnmf_error frames_keep(tlnmf_ctx *ctx, frames *f, int64_t n, int64_t rank,
                               const double *vectors, double scale)
{
    f->rank[n] = rank;
    if (rank == 0)
        return TLNMF_OK;
    double *out = tl_allocate(&ctx->hooks, (size_t)(rank * f->M) * sizeof *out);
    if (out == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for frame %lld", (long long)n);
    f->columns[n] = out;
    for (int64_t i = 0; i < rank * f->M; i++)
        out[i] = scale * vectors[i];
    return TLNMF_OK;
}

tlnmf_error tl_data_new(tlnmf_ctx *ctx, int64_t M, int64_t N, int64_t T, tlnmf_data **out)
{
    TRY(tl_check_size(ctx, "the number of compressed columns", T));
    tlnmf_data *data, shell = {.M = M, .N = N, .T = T, .hooks = ctx->hooks};
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

typedef struct packing {
    const frames *f;
    tlnmf_data *data;
} packing;

/* Columns of frames first .. last - 1, whose places are known. */
static void pack_frames(int64_t first, int64_t last, void *arg)
{
    const packing *p = arg;
    int64_t M = p->f->M, T = p->data->T;
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = first; n < last; n++) {
            double *row = p->data->R + m * T + p->data->offset[n];
            for (int64_t i = 0; i < p->f->rank[n]; i++)
                row[i] = p->f->columns[n][i * M + m];
        }
}

/* Lays the columns of all frames side by side. */
static tlnmf_error frames_pack(tlnmf_ctx *ctx, const frames *f, tlnmf_data **out)
{
    enum { NUMBERS = 8192 }; /* a piece, 20 us and more */
    int64_t T = 0;
    for (int64_t n = 0; n < f->N; n++)
        T += f->rank[n];
    TRY(tl_data_new(ctx, f->M, f->N, T, out));
    for (int64_t n = 0; n < f->N; n++)
        (*out)->offset[n + 1] = (*out)->offset[n] + f->rank[n];
    int64_t each = T / tl_max(f->N, 1) * f->M; /* numbers of a frame */
    tl_share(f->N, tl_max(1, NUMBERS / tl_max(each, 1)), pack_frames, &(packing){f, *out});
    tl_data_note_one_each(*out);
    return TLNMF_OK;
}

/* Data of M x N, whose frames work(arg) fills in. */
typedef struct filling {
    tlnmf_ctx *ctx;
    tlnmf_error (*work)(void *arg);
    void *arg;
    frames *f;
    tlnmf_data **out;
} filling;

static tlnmf_error fill_and_pack(void *self)
{
    const filling *f = self;
    TRY(f->work(f->arg));
    return frames_pack(f->ctx, f->f, f->out);
}

/* On as many threads as the context says: no settings come with data. */
static tlnmf_error fill(filling *f, int64_t M, int64_t N)
{
    tlnmf_error error = frames_create(f->ctx, M, N, f->f);
    if (error == TLNMF_OK)
        error = tl_with_threads(tl_thread_count(f->ctx->threads), fill_and_pack, f);
    frames_free(f->f);
    return error;
}

static double length(int64_t count, const double *x)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* The number of vectors above the rounding error of the data. A realisation y is known to |y|
 * 2^-53; vectors that S such errors could produce carry no information. */
static int64_t numerical_rank(int64_t count, int64_t M, const double *vectors)
{
    double whole = length(count * M, vectors);
    int64_t rank = count;
    while (rank > 0 && length(M, vectors + (rank - 1) * M) <= 4.0 * DBL_EPSILON * whole)
        rank--;
    return rank;
}

/* The realisations Y[S][M][N], and where their columns go. */
typedef struct realisations {
    tlnmf_ctx *ctx;
    const double *Y;
    int64_t S, M, N;
    frames *f;
} realisations;

/* What a thread works with. */
typedef struct bench {
    atomic_flag taken;
    tlnmf_ctx ctx; /* with a message of its own */
    tlnmf_error error;
    tl_qr qr;
    double *group, *vectors, *scratch;
} bench;

typedef struct workshop {
    const realisations *r;
    bench *bench;
    int64_t benches;
    atomic_bool failed;
} workshop;

static bool is_few(const realisations *r)
{
    return r->S <= TL_FEW_ROWS && r->S <= r->M;
}

/* Frames n0 .. n0+count-1 to `count` matrices, S x M; column-major if `columns`. */
static void gather(const realisations *r, int64_t n0, int64_t count, bool columns, double *out)
{
    int64_t S = r->S, M = r->M, of_s = columns ? 1 : M, of_m = columns ? S : 1;
    for (int64_t s = 0; s < S; s++)
        for (int64_t m = 0; m < M; m++)
            for (int64_t i = 0; i < count; i++)
                out[i * M * S + m * of_m + s * of_s] = r->Y[(s * M + m) * r->N + n0 + i];
}

/* Frame n, gathered in `A`. */
static tlnmf_error compress_frame(const realisations *r, bench *b, int64_t n, double *A)
{
    double scale = 1.0 / sqrt((double)r->S), *vectors = A;
    if (!is_few(r) || !tl_few_rows(r->S, r->M, A, b->scratch)) {
        if (is_few(r))
            gather(r, n, 1, true, A);
        vectors = b->vectors;
        TRY(tl_qr_rows(&b->ctx, &b->qr, A, vectors));
    }
    int64_t rank = numerical_rank(tl_min(r->S, r->M), r->M, vectors);
    return frames_keep(&b->ctx, r->f, n, rank, vectors, scale);
}

static bench *take_bench(workshop *w)
{
    for (int64_t i = 0;; i = (i + 1) % w->benches) /* as many are at work as there are benches */
        if (!atomic_flag_test_and_set(&w->bench[i].taken))
            return &w->bench[i];
}

static void compress_group(int64_t g, int64_t last, void *arg)
{
    workshop *w = arg;
    const realisations *r = w->r;
    bench *b = take_bench(w);
    int64_t n0 = g * GROUP, count = tl_min(GROUP, r->N - n0);
    (void)last;
    if (!w->failed)
        gather(r, n0, count, !is_few(r), b->group);
    for (int64_t i = 0; i < count && !w->failed; i++) {
        b->error = compress_frame(r, b, n0 + i, b->group + i * r->M * r->S);
        if (b->error != TLNMF_OK)
            w->failed = true;
    }
    atomic_flag_clear(&b->taken);
}

static tlnmf_error compress_groups(workshop *w)
{
    const realisations *r = w->r;
    tl_share_among(w->benches, (r->N + GROUP - 1) / GROUP, compress_group, w);
    for (int64_t i = 0; i < w->benches; i++)
        if (w->bench[i].error != TLNMF_OK) {
            memcpy(r->ctx->message, w->bench[i].ctx.message, sizeof r->ctx->message);
            return w->bench[i].error;
        }
    return TLNMF_OK;
}

static tlnmf_error bench_create(const realisations *r, bench *b, void **block)
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
static tlnmf_error compress_many(const realisations *r)
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

/* S = 1 is already compressed; nothing is rounded. */
static tlnmf_error keep_single(const realisations *r)
{
    double *column;
    void *block;
    tl_slot table[] = {TL_SLOT(column, r->M)};
    TRY(TL_ARENA(r->ctx, "a frame", table, &block));
    tlnmf_error error = TLNMF_OK;
    for (int64_t n = 0; n < r->N && error == TLNMF_OK; n++) {
        bool silent = true;
        for (int64_t m = 0; m < r->M; m++) {
            column[m] = r->Y[m * r->N + n];
            silent = silent && column[m] == 0.0;
        }
        error = frames_keep(r->ctx, r->f, n, silent ? 0 : 1, column, 1.0);
    }
    tl_release(&r->ctx->hooks, block);
    return error;
}

static tlnmf_error compress_realisations(void *arg)
{
    const realisations *r = arg;
    return r->S == 1 ? keep_single(r) : compress_many(r);
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
    for (int i = 0; i < (data->sums == NULL ? 5 : 7); i++)
        TRY(tlnmf_set_integer(ctx, data->record, sizes[i].name, sizes[i].value));
    return tlnmf_set_real(ctx, data->record, "mean_power", data->mean_power);
}

/* Completes new data. Frees them if that fails, or `error` is one. */
static tlnmf_error complete(tlnmf_ctx *ctx, tlnmf_error error, int64_t S, double mean_power,
                            tlnmf_data **out)
{
    tlnmf_data *data = *out;
    if (data != NULL)
        data->S = S;
    error = tl_data_join(ctx, error, data, &mean_power);
    if (error == TLNMF_OK && data != NULL) {
        data->mean_power = mean_power;
        error = tl_sums_agree(ctx, ctx->frames, describe(ctx, data));
    }
    if (error != TLNMF_OK) {
        tlnmf_data_free(data);
        *out = NULL;
    }
    return error;
}

static tlnmf_error check_shape(tlnmf_ctx *ctx, const char *name, int64_t size, int64_t least)
{
    if (size < least)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "%s = %lld: there must be at least one", name,
                       (long long)size);
    return tl_check_size(ctx, name, size);
}

/* Mean of Y^2, or an error that names the first entry that is not finite. */
static tlnmf_error measure_power(tlnmf_ctx *ctx, const double *Y, int64_t S, int64_t M, int64_t N,
                                 double *mean)
{
    double sum = 0.0, largest = 0.0;
    for (int64_t s = 0; s < S && N > 0; s++)
        for (int64_t m = 0; m < M; m++) {
            const double *row = Y + (s * M + m) * N;
            double part = 0.0;
            for (int64_t n = 0; n < N; n++) {
                if (!isfinite(row[n]))
                    return tl_fail(ctx, TLNMF_ERR_DATA,
                                   "realisation %lld, row %lld, frame %lld is not finite (%g)",
                                   (long long)s, (long long)m, (long long)n, row[n]);
                part += row[n] * row[n];
                largest = fmax(largest, fabs(row[n]));
            }
            sum += part / (double)N;
        }
    *mean = sum / ((double)S * (double)M);
    return ctx->frames != NULL ? TLNMF_OK : tl_data_check_power(ctx, *mean, largest);
}

static tlnmf_error make_from_realisations(tlnmf_ctx *ctx, const double *Y, const int64_t shape[3],
                                          double *mean, tlnmf_data **out)
{
    int64_t S = shape[0], M = shape[1], N = shape[2];
    TRY(check_shape(ctx, "S (realisations)", S, 1));
    TRY(check_shape(ctx, "M (frame length)", M, 1));
    TRY(check_shape(ctx, "N (frames)", N, ctx->frames != NULL ? 0 : 1));
    TRY(measure_power(ctx, Y, S, M, N, mean));
    frames f;
    realisations r = {ctx, Y, S, M, N, &f};
    return fill(&(filling){ctx, compress_realisations, &r, &f, out}, M, N);
}

tlnmf_error tlnmf_data_from_realisations(tlnmf_ctx *ctx, const double *Y, const int64_t shape[3],
                                         tlnmf_data **out)
{
    double mean = 0.0;
    TL_NEED(ctx, out);
    *out = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, Y);
    TL_NEED(ctx, shape);
    tlnmf_error error = make_from_realisations(ctx, Y, shape, &mean, out);
    return complete(ctx, error, shape[0], mean, out);
}

/* ---- covariances ----------------------------------------------------------------------------- */

/* Factors one covariance: eigenvectors times the roots of the eigenvalues. */
static tlnmf_error factor_covariance(tlnmf_ctx *ctx, int64_t n, frames *f, tl_eigen *eigen,
                                     double *A)
{
    const double slack = 1e-10; /* relative asymmetry and negativity accepted as rounding */
    double most = 0.0, skew = 0.0;
    int64_t M = f->M, row = 0, column = 0;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b <= a; b++) {
            double off = fabs(A[a * M + b] - A[b * M + a]);
            most = fmax(most, fabs(A[a * M + b]));
            row = off > skew ? b : row;
            column = off > skew ? a : column;
            skew = fmax(skew, off);
            A[a * M + b] = A[b * M + a] = 0.5 * (A[a * M + b] + A[b * M + a]);
        }
    if (skew > slack * most)
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "covariance %lld is not symmetric: entries (%lld, %lld) and (%lld, %lld) "
                       "differ by %.3g of %.3g",
                       (long long)n, (long long)row, (long long)column, (long long)column,
                       (long long)row, skew, most);
    TRY(tl_eigen_solve(ctx, eigen, A));
    double least = eigen->lambda[0], top = eigen->lambda[M - 1];
    if (least < -slack * fmax(top, most))
        return tl_fail(
            ctx, TLNMF_ERR_DATA,
            "covariance %lld is not positive semidefinite (least eigenvalue %.3g of %.3g)",
            (long long)n, least, top);
    int64_t rank = 0; /* the largest come last */
    while (rank < M && eigen->lambda[M - 1 - rank] > 4.0 * DBL_EPSILON * top)
        rank++;
    for (int64_t i = M - rank; i < M; i++)
        for (int64_t m = 0; m < M; m++)
            A[i * M + m] *= sqrt(eigen->lambda[i]);
    return frames_keep(ctx, f, n, rank, A + (M - rank) * M, 1.0);
}

typedef struct covariances {
    tlnmf_ctx *ctx;
    const double *Sigma; /* N x M x M */
    frames *f;
} covariances;

static tlnmf_error factor_covariances(void *arg)
{
    const covariances *c = arg;
    tlnmf_ctx *ctx = c->ctx;
    frames *f = c->f;
    int64_t M = f->M;
    double *A;
    void *block;
    tl_slot table[] = {TL_SLOT(A, M * M)};
    TRY(TL_ARENA(ctx, "a covariance", table, &block));
    tl_eigen eigen;
    tlnmf_error error = tl_eigen_create(ctx, M, &eigen);
    for (int64_t n = 0; n < f->N && error == TLNMF_OK; n++) {
        memcpy(A, c->Sigma + n * M * M, (size_t)(M * M) * sizeof *A);
        error = factor_covariance(ctx, n, f, &eigen, A);
    }
    tl_eigen_free(&eigen);
    tl_release(&ctx->hooks, block);
    return error;
}

/* Mean of the diagonals, or an error that names the first entry that is not finite. Eigenvalues are
 * at most M times the largest entry: that, too, must fit a double. */
static tlnmf_error measure_traces(tlnmf_ctx *ctx, const double *Sigma, int64_t N, int64_t M,
                                  double *mean)
{
    double sum = 0.0, largest = 0.0;
    for (int64_t n = 0; n < N; n++)
        for (int64_t a = 0; a < M; a++)
            for (int64_t b = 0; b < M; b++) {
                double x = Sigma[(n * M + a) * M + b];
                if (!isfinite(x))
                    return tl_fail(ctx, TLNMF_ERR_DATA,
                                   "covariance %lld, row %lld, column %lld is not finite (%g)",
                                   (long long)n, (long long)a, (long long)b, x);
                sum += a == b ? x : 0.0;
                largest = fmax(largest, fabs(x));
            }
    if (!isfinite(sum) || !(largest <= 0.5 * DBL_MAX / (double)M))
        return tl_data_check_power(ctx, INFINITY, largest);
    *mean = N > 0 ? sum / ((double)N * (double)M) : 0.0;
    if (ctx->frames != NULL && *mean == 0.0)
        return TLNMF_OK; /* other machines may have power */
    if (!(*mean >= DBL_MIN))
        return tl_fail(ctx, TLNMF_ERR_DATA, "the covariances have a mean power of %g", *mean);
    return TLNMF_OK;
}

static tlnmf_error make_from_covariances(tlnmf_ctx *ctx, const double *Sigma,
                                         const int64_t shape[3], double *mean, tlnmf_data **out)
{
    int64_t N = shape[0], M = shape[1];
    if (shape[2] != M)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "covariances are square, not %lld x %lld",
                       (long long)M, (long long)shape[2]);
    TRY(check_shape(ctx, "M (frame length)", M, 1));
    TRY(check_shape(ctx, "N (frames)", N, ctx->frames != NULL ? 0 : 1));
    TRY(measure_traces(ctx, Sigma, N, M, mean));
    frames f;
    covariances c = {ctx, Sigma, &f};
    return fill(&(filling){ctx, factor_covariances, &c, &f, out}, M, N);
}

tlnmf_error tlnmf_data_from_covariances(tlnmf_ctx *ctx, const double *Sigma, const int64_t shape[3],
                                        tlnmf_data **out)
{
    double mean = 0.0;
    TL_NEED(ctx, out);
    *out = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, Sigma);
    TL_NEED(ctx, shape);
    tlnmf_error error = make_from_covariances(ctx, Sigma, shape, &mean, out);
    return complete(ctx, error, 0, mean, out);
}

/* ---- both kinds of data ---------------------------------------------------------------------- */

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
