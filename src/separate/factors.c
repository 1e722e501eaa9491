/* Multiplicative updates by matrix products: for dictionaries of hundreds of columns. */
#include "separate/separate.h"

void tl_factors_slots(tl_factors *f, int64_t rows, int64_t N, int64_t K, int64_t free,
                      tl_slot slots[TL_FACTORS_SLOTS])
{
    int64_t sums = tl_max(K * N, rows * free);
    const struct {
        double **part;
        int64_t count;
    } parts[TL_FACTORS_SLOTS] = {{&f->U, rows * N},         {&f->A, rows * N},
                                 {&f->num, sums},           {&f->den, sums},
                                 {&f->W_free, rows * free}, {&f->H_free, free * N}};
    f->rows = rows;
    f->N = N;
    f->K = K;
    f->updater = NULL;
    for (int i = 0; i < TL_FACTORS_SLOTS; i++)
        slots[i] = (tl_slot){parts[i].part, parts[i].count, sizeof(double)};
}

/* ---- entry by entry -------------------------------------------------------------------------- */

/* Some 10 us of work: worth a piece. */
enum { ENTRIES = 8192 };

typedef struct entries {
    double eps;
    const double *V, *num, *den;
    double *U, *A, *x;
} entries;

TL_HOT static void invert(int64_t first, int64_t last, void *arg)
{
    const entries *e = arg;
    double eps = e->eps, *U = e->U;
    for (int64_t i = first; i < last; i++)
        U[i] = 1.0 / (U[i] + eps);
}

TL_HOT static void invert_and_weigh(int64_t first, int64_t last, void *arg)
{
    const entries *e = arg;
    double eps = e->eps, *U = e->U, *A = e->A;
    const double *V = e->V;
    for (int64_t i = first; i < last; i++) {
        double u = 1.0 / (U[i] + eps);
        U[i] = u;
        A[i] = (V[i] + eps) * u * u;
    }
}

/* A denominator of zero means that the other factor's component is zero: then x stays. */
TL_HOT static void scale_entries(int64_t first, int64_t last, void *arg)
{
    const entries *e = arg;
    const double *num = e->num, *den = e->den;
    double *x = e->x;
    for (int64_t i = first; i < last; i++)
        x[i] *= den[i] > 0.0 ? num[i] / den[i] : 1.0;
}

/* A and U at W H, which U holds. */
static void weigh(const tl_factors *f, const double *V)
{
    entries e = {.eps = f->eps, .V = V, .U = f->U, .A = f->A};
    tl_share(f->rows * f->N, ENTRIES, invert_and_weigh, &e);
}

static void scale(const tl_factors *f, int64_t count, double *x)
{
    entries e = {.num = f->num, .den = f->den, .x = x};
    tl_share(count, ENTRIES, scale_entries, &e);
}

/* ---- updates --------------------------------------------------------------------------------- */

static void multiply(const tl_factors *f, const double *W, const double *H, double *out)
{
    tl_gemm(TL_PLAIN, TL_PLAIN, f->rows, f->N, f->K, 1.0, W, f->K, H, f->N, 0.0, out, f->N);
}

void tl_factors_weigh(const tl_factors *f, const double *W, const double *H)
{
    multiply(f, W, H, f->U);
    entries e = {.eps = f->eps, .U = f->U};
    tl_share(f->rows * f->N, ENTRIES, invert, &e);
}

static void update_H(const tl_factors *f, const double *V, const double *W, double *H)
{
    int64_t B = f->rows, N = f->N, K = f->K;
    multiply(f, W, H, f->U);
    weigh(f, V);
    tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, B, 1.0, W, K, f->A, N, 0.0, f->num, N);
    tl_gemm(TL_TRANSPOSED, TL_PLAIN, K, N, B, 1.0, W, K, f->U, N, 0.0, f->den, N);
    scale(f, K * N, H);
}

/* The free columns of W to W_free and their rows of H to H_free; returns how many. */
static int64_t gather(const tl_factors *f, const bool *free, const double *W, const double *H)
{
    int64_t count = 0;
    for (int64_t k = 0; k < f->K; k++)
        if (free == NULL || free[k]) {
            tl_copy(f->H_free + count * f->N, H + k * f->N, f->N);
            count++;
        }
    for (int64_t m = 0; m < f->rows; m++)
        for (int64_t k = 0, i = 0; k < f->K; k++)
            if (free == NULL || free[k])
                f->W_free[m * count + i++] = W[m * f->K + k];
    return count;
}

/* Back, with columns that sum to 1: (9). */
static void scatter(const tl_factors *f, const bool *free, int64_t count, double *W, double *H)
{
    for (int64_t k = 0, i = 0; k < f->K; k++) {
        if (free != NULL && !free[k])
            continue;
        double sum = 0.0;
        for (int64_t m = 0; m < f->rows; m++)
            sum += f->W_free[m * count + i];
        for (int64_t m = 0; sum > 0.0 && m < f->rows; m++)
            W[m * f->K + k] = f->W_free[m * count + i] / sum;
        for (int64_t n = 0; sum > 0.0 && n < f->N; n++)
            H[k * f->N + n] *= sum;
        i++;
    }
}

/* H, then the columns of W that `free` names (NULL: all of them), whose sums become 1. */
static void update(const tl_factors *f, const double *V, const bool *free, double *W, double *H)
{
    int64_t B = f->rows, N = f->N;
    update_H(f, V, W, H);
    int64_t count = gather(f, free, W, H);
    if (count == 0)
        return;
    multiply(f, W, H, f->U);
    weigh(f, V);
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, B, count, N, 1.0, f->A, N, f->H_free, N, 0.0, f->num, count);
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, B, count, N, 1.0, f->U, N, f->H_free, N, 0.0, f->den, count);
    scale(f, B * count, f->W_free);
    scatter(f, free, count, W, H);
}

static bool stops(void *watch)
{
    return tl_watch_poll(watch, TL_STAGE_NMF);
}

tlnmf_error tl_factors_run(tlnmf_ctx *ctx, const tl_factors *f, const tl_updates *u,
                           tl_watch *watch)
{
    if (f->updater != NULL) {
        tl_updates all = *u;
        all.rows = f->rows;
        all.N = f->N;
        all.K = f->K;
        all.eps = f->eps;
        all.stops = stops;
        all.user = watch;
        return f->updater->ops->run(ctx, f->updater, &all);
    }
    for (int64_t i = 0; i < u->count && !stops(watch); i++) {
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
