/* Multiplicative updates by matrix products of BLAS. They are for dictionaries: W has hundreds of
 * columns, and some or all of them stay. src/model/mu.c is for few columns that are all updated, as
 * in fits and in learn.c; it does not store W H. */
#include "sound/model/factors.h"
#include "model/kernels.h"

void tl_factors_slots(tl_factors *f, int64_t rows, int64_t N, int64_t K, int64_t free,
                      tl_slot slots[TL_FACTORS_SLOTS])
{
    f->rows = rows;
    f->N = N;
    f->K = K;
    f->updater = NULL;
    slots[0] = (tl_slot)TL_SLOT(f->U, 2 * rows * N);
    slots[1] = (tl_slot)TL_SLOT(f->sums, 2 * tl_max(K * N, rows * free));
    slots[2] = (tl_slot)TL_SLOT(f->W_free, rows * free);
    slots[3] = (tl_slot)TL_SLOT(f->H_free, free * N);
}

/* ---- entry by entry -------------------------------------------------------------------------- */

/* Some 10 us of work: worth a piece. */
enum { ENTRIES = 8192 };

/* Arrays of `length` columns; the last two have two rows for each of x and V. */
typedef struct entries {
    double eps;
    int64_t length;
    const double *V, *sums;
    double *x, *U;
} entries;

TL_HOT static void invert(int64_t first, int64_t last, void *arg)
{
    const entries *e = arg;
    double eps = e->eps, *U = e->U;
    for (int64_t i = first; i < last; i++)
        U[i] = 1.0 / (U[i] + eps);
}

/* Rows of A and U at W H, which the rows of U hold. */
TL_HOT static void invert_and_weigh(int64_t first, int64_t last, void *arg)
{
    const entries *e = arg;
    double eps = e->eps;
    for (int64_t m = first; m < last; m++) {
        const double *V = e->V + m * e->length;
        double *A = e->U + 2 * m * e->length, *U = A + e->length;
        for (int64_t n = 0; n < e->length; n++) {
            double u = 1.0 / (U[n] + eps);
            U[n] = u;
            A[n] = (V[n] + eps) * u * u;
        }
    }
}

/* A denominator of zero means that the other factor's component is zero: then x stays. */
TL_HOT static void scale_entries(int64_t first, int64_t last, void *arg)
{
    const entries *e = arg;
    for (int64_t r = first; r < last; r++) {
        const double *num = e->sums + 2 * r * e->length, *den = num + e->length;
        double *x = e->x + r * e->length;
        for (int64_t i = 0; i < e->length; i++)
            x[i] *= den[i] > 0.0 ? num[i] / den[i] : 1.0;
    }
}

static void scale(const tl_factors *f, int64_t rows, int64_t length, double *x)
{
    entries e = {.length = length, .sums = f->sums, .x = x};
    tl_share(rows, tl_rows_of_a_piece(length, ENTRIES), scale_entries, &e);
}

/* ---- updates --------------------------------------------------------------------------------- */

void tl_factors_weigh(const tl_factors *f, const double *W, const double *H)
{
    tl_gemm(TL_PLAIN, TL_PLAIN, f->rows, f->N, f->K, 1.0, W, f->K, H, f->N, 0.0, f->U, f->N);
    entries e = {.eps = f->eps, .U = f->U};
    tl_share(f->rows * f->N, ENTRIES, invert, &e);
}

/* A = (V + eps) U^2 and U = 1 / (W H + eps), next to each other in each row: one product
 * computes the sums over both, and reads the other factor only once. */
static void weigh(const tl_factors *f, const double *V, const double *W, const double *H)
{
    tl_gemm(TL_PLAIN, TL_PLAIN, f->rows, f->N, f->K, 1.0, W, f->K, H, f->N, 0.0, f->U + f->N,
            2 * f->N);
    entries e = {.eps = f->eps, .length = f->N, .V = V, .U = f->U};
    tl_share(f->rows, tl_rows_of_a_piece(f->N, ENTRIES), invert_and_weigh, &e);
}

static void update_H(const tl_factors *f, const double *V, const double *W, double *H)
{
    int64_t N = f->N, K = f->K;
    weigh(f, V, W, H);
    tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, 2 * N, f->rows, 1.0, W, K, f->U, 2 * N, 0.0, f->sums,
            2 * N);
    scale(f, K, N, H);
}

/* The free columns of W to W_free and their rows of H to H_free; returns how many. */
static int64_t gather(const tl_factors *f, const bool *free, const double *W, const double *H)
{
    int64_t count = 0;
    for (int64_t k = 0; k < f->K; k++)
        if (free[k]) {
            tl_copy(f->H_free + count * f->N, H + k * f->N, f->N);
            count++;
        }
    for (int64_t m = 0; m < f->rows; m++)
        for (int64_t k = 0, i = 0; k < f->K; k++)
            if (free[k])
                f->W_free[m * count + i++] = W[m * f->K + k];
    return count;
}

static void scatter(const tl_factors *f, const bool *free, int64_t count, double *W, double *H)
{
    for (int64_t k = 0, i = 0; k < f->K; k++)
        if (free[k])
            tl_copy(H + k * f->N, f->H_free + i++ * f->N, f->N);
    for (int64_t m = 0; m < f->rows; m++)
        for (int64_t k = 0, i = 0; k < f->K; k++)
            if (free[k])
                W[m * f->K + k] = f->W_free[m * count + i++];
}

/* H, then the columns of W that `free` names (NULL: all of them), whose sums become 1. */
static void update(const tl_factors *f, const double *V, const bool *free, double *W, double *H)
{
    update_H(f, V, W, H);
    int64_t count = free == NULL ? f->K : gather(f, free, W, H);
    if (count == 0)
        return;
    double *W_free = free == NULL ? W : f->W_free, *H_free = free == NULL ? H : f->H_free;
    weigh(f, V, W, H);
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, 2 * f->rows, count, f->N, 1.0, f->U, f->N, H_free, f->N, 0.0,
            f->sums, count);
    scale(f, f->rows, count, W_free);
    tl_normalise(f->rows, f->N, count, W_free, H_free); /* (9) */
    if (free != NULL)
        scatter(f, free, count, W, H);
}

static bool stops(void *monitor)
{
    return tl_poll(monitor);
}

tlnmf_error tl_factors_run(tlnmf_ctx *ctx, const tl_factors *f, const tl_updates *u)
{
    if (f->updater != NULL) {
        tl_updates all = *u;
        all.rows = f->rows;
        all.N = f->N;
        all.K = f->K;
        all.eps = f->eps;
        all.stops = stops;
        all.user = ctx->monitor;
        return f->updater->ops->run(ctx, f->updater, &all);
    }
    for (int64_t i = 0; i < u->count && !tl_poll(ctx->monitor); i++) {
        if (u->moves_W)
            update(f, u->V, u->free, u->W, u->H);
        else
            update_H(f, u->V, u->W, u->H);
    }
    if (u->U == NULL)
        return TLNMF_OK;
    tl_factors_weigh(f, u->W, u->H);
    if (u->U != f->U)
        tl_copy(u->U, f->U, f->rows * f->N);
    return TLNMF_OK;
}
