/* Exact compression (docs/spec.md): C and L see the data only through Sigma_n, so the S columns of a
 * frame become rank(Sigma_n) columns with the same outer product. */
#include "data/data.h"
#include "linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Frames are gathered a few at a time, so that one pass over Y reads whole cache lines. */
enum { GROUP = 8 };

/* The columns of each frame while their number is not known yet. */
typedef struct frames {
    int64_t M, N;
    double **columns; /* per frame, `rank` vectors of length M */
    int64_t *rank;
    tlnmf_hooks hooks;
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

/* `rank` unit vectors of frame n: entry m of vector i is first[i * between + m * along]. */
typedef struct vectors {
    int64_t rank, between, along;
    const double *first;
} vectors;

/* Keeps vector i times length[i] times `scale` as column i of frame n. */
static tlnmf_error frames_keep(tlnmf_ctx *ctx, frames *f, int64_t n, vectors v, const double *length,
                               double scale)
{
    f->rank[n] = v.rank;
    if (v.rank == 0)
        return TLNMF_OK;
    double *out = tl_allocate(&ctx->hooks, (size_t)(v.rank * f->M) * sizeof *out);
    if (out == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for frame %lld", (long long)n);
    f->columns[n] = out;
    for (int64_t i = 0; i < v.rank; i++)
        for (int64_t m = 0; m < f->M; m++)
            out[i * f->M + m] = length[i] * v.first[i * v.between + m * v.along] * scale;
    return TLNMF_OK;
}

/* Lays the columns of all frames side by side. */
static tlnmf_error frames_pack(tlnmf_ctx *ctx, const frames *f, tlnmf_data **out)
{
    int64_t T = 0;
    for (int64_t n = 0; n < f->N; n++)
        T += f->rank[n];
    TRY(tl_check_size(ctx, "the number of compressed columns", T));
    tlnmf_data *data, shell = {.M = f->M, .N = f->N, .T = T, .hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(data, 1), TL_SLOT(shell.offset, f->N + 1), TL_SLOT(shell.R, f->M * T)};
    TRY(TL_ARENA(ctx, "the compressed data", table, &shell.block));
    int64_t t = 0;
    for (int64_t n = 0; n < f->N; n++) {
        shell.offset[n] = t;
        for (int64_t i = 0; i < f->rank[n]; i++, t++)
            for (int64_t m = 0; m < f->M; m++)
                shell.R[m * T + t] = f->columns[n][i * f->M + m];
    }
    shell.offset[f->N] = T;
    *data = shell;
    *out = data;
    return TLNMF_OK;
}

/* Directions whose length is below the rounding of the data themselves carry nothing: a vector y is
 * known to |y| 2^-53, so S of them spread any direction by that much. */
static int64_t numerical_rank(const double *sigma, int64_t count)
{
    double total = 0.0;
    for (int64_t i = 0; i < count; i++)
        total = hypot(total, sigma[i]);
    int64_t rank = 0;
    while (rank < count && sigma[rank] > 2.0 * DBL_EPSILON * total)
        rank++;
    return rank;
}

/* Y[S][M][n0 .. n0+count-1] to `count` column-major S x M matrices. */
static void gather(const double *Y, int64_t S, int64_t M, int64_t N, int64_t n0, int64_t count,
                   double *out)
{
    for (int64_t s = 0; s < S; s++)
        for (int64_t m = 0; m < M; m++)
            for (int64_t i = 0; i < count; i++)
                out[(i * M + m) * S + s] = Y[(s * M + m) * N + n0 + i];
}

static tlnmf_error compress_many(tlnmf_ctx *ctx, const double *Y, int64_t S, int64_t M, int64_t N,
                                 frames *f, tl_svd *svd, double *group)
{
    double scale = 1.0 / sqrt((double)S);
    for (int64_t n0 = 0; n0 < N; n0 += GROUP) {
        int64_t count = tl_min(GROUP, N - n0);
        gather(Y, S, M, N, n0, count, group);
        for (int64_t i = 0; i < count; i++) {
            vectors v = {.between = 1};
            TRY(tl_svd_right(ctx, svd, group + i * M * S, &v.first, &v.along));
            v.rank = numerical_rank(svd->sigma, tl_min(S, M));
            TRY(frames_keep(ctx, f, n0 + i, v, svd->sigma, scale));
        }
    }
    return TLNMF_OK;
}

static tlnmf_error compress_realisations(tlnmf_ctx *ctx, const double *Y, int64_t S, int64_t M,
                                         int64_t N, frames *f)
{
    if (S == 1) { /* already in the form wanted; nothing is rounded */
        for (int64_t n = 0; n < N; n++) {
            double largest = 0.0;
            for (int64_t m = 0; m < M; m++)
                largest = fmax(largest, fabs(Y[m * N + n]));
            vectors v = {.rank = largest > 0.0, .first = Y + n, .along = N};
            TRY(frames_keep(ctx, f, n, v, &(double){1.0}, 1.0));
        }
        return TLNMF_OK;
    }
    double *group;
    void *block;
    tl_slot table[] = {TL_SLOT(group, tl_min(GROUP, N) * S * M)};
    TRY(TL_ARENA(ctx, "a group of frames", table, &block));
    tl_svd svd;
    tlnmf_error error = tl_svd_create(ctx, S, M, &svd);
    if (error == TLNMF_OK)
        error = compress_many(ctx, Y, S, M, N, f, &svd, group);
    tl_svd_free(&svd);
    tl_release(&ctx->hooks, block);
    return error;
}

static tlnmf_error check_shape(tlnmf_ctx *ctx, const char *name, int64_t size)
{
    if (size < 1)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "%s = %lld: there must be at least one", name,
                       (long long)size);
    return tl_check_size(ctx, name, size);
}

/* Mean of Y^2, or an error that names the first entry that is not finite. */
static tlnmf_error measure_power(tlnmf_ctx *ctx, const double *Y, int64_t S, int64_t M, int64_t N,
                                 double *mean)
{
    double sum = 0.0, largest = 0.0;
    for (int64_t s = 0; s < S; s++)
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
    if (largest == 0.0)
        return tl_fail(ctx, TLNMF_ERR_DATA, "the data are all zeros: there is nothing to learn");
    if (!(isfinite(*mean) && *mean >= DBL_MIN))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "the power of the data does not fit a double (largest entry %g): rescale them",
                       largest);
    return TLNMF_OK;
}

tlnmf_error tlnmf_data_from_realisations(tlnmf_ctx *ctx, const double *Y, int64_t S, int64_t M,
                                         int64_t N, tlnmf_data **out)
{
    *out = NULL;
    TRY(check_shape(ctx, "S (realisations)", S));
    TRY(check_shape(ctx, "M (frame length)", M));
    TRY(check_shape(ctx, "N (frames)", N));
    double mean = 0.0;
    TRY(measure_power(ctx, Y, S, M, N, &mean));
    frames f;
    tlnmf_error error = frames_create(ctx, M, N, &f);
    if (error == TLNMF_OK)
        error = compress_realisations(ctx, Y, S, M, N, &f);
    if (error == TLNMF_OK)
        error = frames_pack(ctx, &f, out);
    frames_free(&f);
    if (error != TLNMF_OK)
        return error;
    (*out)->S = S;
    (*out)->mean_power = mean;
    return TLNMF_OK;
}

/* ---- covariances -------------------------------------------------------------------------------- */

/* One covariance to vectors: eigenvectors times the roots of the eigenvalues. */
static tlnmf_error factor_covariance(tlnmf_ctx *ctx, int64_t n, frames *f, double *A, double *lambda,
                                     double *length, double *work)
{
    const double slack = 1e-10; /* relative asymmetry and negativity taken for rounding */
    double largest = 0.0, skew = 0.0;
    int64_t M = f->M;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b <= a; b++) {
            largest = fmax(largest, fabs(A[a * M + b]));
            skew = fmax(skew, fabs(A[a * M + b] - A[b * M + a]));
            A[a * M + b] = A[b * M + a] = 0.5 * (A[a * M + b] + A[b * M + a]);
        }
    if (skew > slack * largest)
        return tl_fail(ctx, TLNMF_ERR_DATA, "covariance %lld is not symmetric (off by %.3g of %.3g)",
                       (long long)n, skew, largest);
    TRY(tl_eigen(ctx, M, A, lambda, work));
    double top = lambda[M - 1];
    if (lambda[0] < -slack * fmax(top, largest))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "covariance %lld is not positive semidefinite (least eigenvalue %.3g of %.3g)",
                       (long long)n, lambda[0], top);
    vectors v = {.first = A + (M - 1) * M, .between = -M, .along = 1}; /* the largest comes last */
    while (v.rank < M && lambda[M - 1 - v.rank] > 2.0 * DBL_EPSILON * top)
        v.rank++;
    for (int64_t i = 0; i < v.rank; i++)
        length[i] = sqrt(lambda[M - 1 - i]);
    return frames_keep(ctx, f, n, v, length, 1.0);
}

static tlnmf_error factor_covariances(tlnmf_ctx *ctx, const double *Sigma, frames *f)
{
    int64_t M = f->M;
    double *A, *lambda, *length, *work;
    void *block;
    tl_slot table[] = {TL_SLOT(A, M * M), TL_SLOT(lambda, M), TL_SLOT(length, M),
                       TL_SLOT(work, tl_eigen_work(M))};
    TRY(TL_ARENA(ctx, "an eigenvalue decomposition", table, &block));
    tlnmf_error error = TLNMF_OK;
    for (int64_t n = 0; n < f->N && error == TLNMF_OK; n++) {
        memcpy(A, Sigma + n * M * M, (size_t)(M * M) * sizeof *A);
        error = factor_covariance(ctx, n, f, A, lambda, length, work);
    }
    tl_release(&ctx->hooks, block);
    return error;
}

/* Mean of the diagonals, or an error that names the first entry that is not finite. */
static tlnmf_error measure_traces(tlnmf_ctx *ctx, const double *Sigma, int64_t N, int64_t M,
                                  double *mean)
{
    double sum = 0.0;
    for (int64_t n = 0; n < N; n++)
        for (int64_t a = 0; a < M; a++)
            for (int64_t b = 0; b < M; b++) {
                double x = Sigma[(n * M + a) * M + b];
                if (!isfinite(x))
                    return tl_fail(ctx, TLNMF_ERR_DATA,
                                   "covariance %lld, row %lld, column %lld is not finite (%g)",
                                   (long long)n, (long long)a, (long long)b, x);
                sum += a == b ? x : 0.0;
            }
    *mean = sum / ((double)N * (double)M);
    if (!(*mean >= DBL_MIN && isfinite(*mean)))
        return tl_fail(ctx, TLNMF_ERR_DATA, "the covariances have a mean power of %g", *mean);
    return TLNMF_OK;
}

tlnmf_error tlnmf_data_from_covariances(tlnmf_ctx *ctx, const double *Sigma, int64_t N, int64_t M,
                                        tlnmf_data **out)
{
    *out = NULL;
    TRY(check_shape(ctx, "M (frame length)", M));
    TRY(check_shape(ctx, "N (frames)", N));
    double mean = 0.0;
    TRY(measure_traces(ctx, Sigma, N, M, &mean));
    frames f;
    tlnmf_error error = frames_create(ctx, M, N, &f);
    if (error == TLNMF_OK)
        error = factor_covariances(ctx, Sigma, &f);
    if (error == TLNMF_OK)
        error = frames_pack(ctx, &f, out);
    frames_free(&f);
    if (error == TLNMF_OK)
        (*out)->mean_power = mean;
    return error;
}

/* ---- both ---------------------------------------------------------------------------------------- */

void tlnmf_data_free(tlnmf_data *data)
{
    if (data != NULL) {
        tlnmf_hooks hooks = data->hooks; /* the block holds the object itself */
        tl_release(&hooks, data->block);
    }
}

void tlnmf_data_describe(const tlnmf_data *data, tlnmf_data_info *info)
{
    *info = (tlnmf_data_info){.struct_size = sizeof *info,
                              .M = data->M,
                              .N = data->N,
                              .S = data->S,
                              .columns = data->T,
                              .mean_power = data->mean_power};
}
