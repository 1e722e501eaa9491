/* The real DFT of many columns: Stockham's algorithm for any length, two columns as one complex. */
#include "linalg/dft.h"

#include <math.h>

/* Complex columns at a time: their work stays in the second-level cache at frames of 4000. */
enum { LANE = 8 };

static int factorise(int64_t M, int64_t *factor)
{
    int count = 0;
    static const int64_t first[] = {4, 2, 3, 5};
    for (int i = 0; i < 4; i++)
        for (; M % first[i] == 0; M /= first[i])
            factor[count++] = first[i];
    for (int64_t p = 7; M > 1; p += 2)
        for (; M % p == 0 || (p * p > M && M > 1); M /= p) {
            if (M % p != 0)
                p = M; /* the rest is prime */
            factor[count++] = p;
        }
    return count;
}

tlnmf_error tl_dft_plan_create(tlnmf_ctx *ctx, int64_t M, tl_dft_plan *plan)
{
    *plan = (tl_dft_plan){.M = M, .hooks = ctx->hooks};
    plan->factors = factorise(M, plan->factor);
    int64_t largest = 1;
    for (int i = 0; i < plan->factors; i++)
        largest = tl_max(largest, plan->factor[i]);
    plan->threads = tl_threads_here();
    plan->each = (4 * M + 2 * largest) * LANE;
    tl_slot table[] = {TL_SLOT(plan->cosine, M), TL_SLOT(plan->sine, M),
                       TL_SLOT(plan->scratch, plan->threads * plan->each)};
    TRY(TL_SCRATCH(ctx, "a Fourier transform", table, &plan->memory));
    const double step = 2.0 * 3.14159265358979323846 / (double)M;
    for (int64_t k = 0; k < M; k++) {
        plan->cosine[k] = cos(step * (double)k);
        plan->sine[k] = -sin(step * (double)k);
    }
    return TLNMF_OK;
}

void tl_dft_plan_free(tl_dft_plan *plan)
{
    tl_release(&plan->hooks, plan->memory);
    plan->memory = NULL;
}

/* A tile of columns, its copy, and the inputs of one butterfly: scratch of one thread. */
typedef struct tile {
    double *re[2], *im[2];
    double *part_re, *part_im;
} tile;

static tile own_tile(const tl_dft_plan *plan)
{
    double *x = plan->scratch + tl_thread_index() % plan->threads * plan->each;
    int64_t size = plan->M * LANE, parts = (plan->each - 4 * size) / 2;
    return (tile){{x, x + size}, {x + 2 * size, x + 3 * size}, x + 4 * size, x + 4 * size + parts};
}

/* One pass with factor p, of sub-transforms of length p m whose elements are s apart:
 * y[s (p k + i) + q] = w^(k i) sum_j x[s (k + m j) + q] exp(-2 pi i i j / p), w = exp(-2 pi i /
 * pm). The roots of all passes are among those of M, for p m s = M. */
TL_HOT static void pass(const tl_dft_plan *plan, const tile *at, int from, int64_t p, int64_t m,
                        int64_t s)
{
    const double *x_re = at->re[from], *x_im = at->im[from];
    double *y_re = at->re[1 - from], *y_im = at->im[1 - from];
    double *a_re = at->part_re, *a_im = at->part_im;
    int64_t M = plan->M;
    for (int64_t k = 0; k < m; k++)
        for (int64_t q = 0; q < s; q++) {
            for (int64_t j = 0; j < p; j++)
                for (int c = 0; c < LANE; c++) {
                    a_re[j * LANE + c] = x_re[(s * (k + m * j) + q) * LANE + c];
                    a_im[j * LANE + c] = x_im[(s * (k + m * j) + q) * LANE + c];
                }
            for (int64_t i = 0; i < p; i++) {
                double sum_re[LANE] = {0}, sum_im[LANE] = {0};
                for (int64_t j = 0; j < p; j++) {
                    int64_t root = (M / p) * (i * j % p);
                    double wr = plan->cosine[root], wi = plan->sine[root];
                    for (int c = 0; c < LANE; c++) {
                        sum_re[c] += wr * a_re[j * LANE + c] - wi * a_im[j * LANE + c];
                        sum_im[c] += wr * a_im[j * LANE + c] + wi * a_re[j * LANE + c];
                    }
                }
                double wr = plan->cosine[k * i * s], wi = plan->sine[k * i * s];
                double *out_re = y_re + (s * (p * k + i) + q) * LANE,
                       *out_im = y_im + (s * (p * k + i) + q) * LANE;
                for (int c = 0; c < LANE; c++) {
                    out_re[c] = wr * sum_re[c] - wi * sum_im[c];
                    out_im[c] = wr * sum_im[c] + wi * sum_re[c];
                }
            }
        }
}

/* out = w z, a lane of complex numbers. */
static inline void put_lane(double wr, double wi, const double *restrict z_re,
                            const double *restrict z_im, double *restrict out_re,
                            double *restrict out_im)
{
    for (int c = 0; c < LANE; c++) {
        out_re[c] = wr * z_re[c] - wi * z_im[c];
        out_im[c] = wr * z_im[c] + wi * z_re[c];
    }
}

/* The same with p = 4, whose roots are 1, -i, -1, i. */
TL_HOT static void pass_4(const tl_dft_plan *plan, const tile *at, int from, int64_t m, int64_t s)
{
    const double *x_re = at->re[from], *x_im = at->im[from];
    double *y_re = at->re[1 - from], *y_im = at->im[1 - from];
    int64_t apart = s * m * LANE;
    for (int64_t k = 0; k < m; k++) {
        double w_re[4], w_im[4];
        for (int i = 0; i < 4; i++) {
            w_re[i] = plan->cosine[k * i * s];
            w_im[i] = plan->sine[k * i * s];
        }
        for (int64_t q = 0; q < s; q++) {
            const double *r = x_re + (s * k + q) * LANE, *v = x_im + (s * k + q) * LANE;
            double *out_re = y_re + (s * 4 * k + q) * LANE, *out_im = y_im + (s * 4 * k + q) * LANE;
            double z_re[4][LANE], z_im[4][LANE];
            for (int c = 0; c < LANE; c++) {
                double r0 = r[c], r1 = r[apart + c], r2 = r[2 * apart + c], r3 = r[3 * apart + c];
                double v0 = v[c], v1 = v[apart + c], v2 = v[2 * apart + c], v3 = v[3 * apart + c];
                z_re[0][c] = r0 + r2 + r1 + r3;
                z_re[1][c] = r0 - r2 + v1 - v3;
                z_re[2][c] = r0 + r2 - r1 - r3;
                z_re[3][c] = r0 - r2 - v1 + v3;
                z_im[0][c] = v0 + v2 + v1 + v3;
                z_im[1][c] = v0 - v2 - r1 + r3;
                z_im[2][c] = v0 + v2 - v1 - v3;
                z_im[3][c] = v0 - v2 + r1 - r3;
            }
            for (int i = 0; i < 4; i++)
                put_lane(w_re[i], w_im[i], z_re[i], z_im[i], out_re + i * s * LANE,
                         out_im + i * s * LANE);
        }
    }
}

/* Transforms the tile in re[0], im[0]; the result is in re[i], im[i] of the returned i. */
static int transform(const tl_dft_plan *plan, const tile *at)
{
    int64_t n = plan->M, s = 1;
    int from = 0;
    for (int f = 0; f < plan->factors; f++, from = 1 - from) {
        int64_t p = plan->factor[f];
        n /= p;
        if (p == 4)
            pass_4(plan, at, from, n, s);
        else
            pass(plan, at, from, p, n, s);
        s *= p;
    }
    return from;
}

/* Packs 2 LANE real numbers of the row x, from column `first` on, into LANE complex numbers: the
 * c-th has column first + 2c as real part and first + 2c + 1 as imaginary part. Columns beyond the
 * last are zero. store_lane() is the reverse. */
static void load_lane(const double *x, int64_t columns, int64_t first, double *re, double *im)
{
    for (int c = 0; c < LANE; c++) {
        int64_t a = first + (int64_t)2 * c, b = a + 1;
        re[c] = a < columns ? x[a] : 0.0;
        im[c] = b < columns ? x[b] : 0.0;
    }
}

static void store_lane(double *x, int64_t columns, int64_t first, const double *re,
                       const double *im)
{
    for (int c = 0; c < LANE; c++) {
        int64_t a = first + (int64_t)2 * c, b = a + 1;
        if (a < columns)
            x[a] = re[c];
        if (b < columns)
            x[b] = im[c];
    }
}

/* From Z = A + i B of two real columns a, b: rows cos and sin of bin j of both. */
static void unpack(int64_t M, const double *re, const double *im, int64_t columns, int64_t first,
                   double *X)
{
    double scale = sqrt(2.0 / (double)M), edge = 1.0 / sqrt((double)M), r[LANE], v[LANE];
    for (int64_t m = 0; m < M; m++) {
        int64_t j = (m + 1) / 2, mirror = (M - j) % M;
        const double *zr = re + j * LANE, *zi = im + j * LANE, *yr = re + mirror * LANE,
                     *yi = im + mirror * LANE;
        bool alone = m == 0 || (M % 2 == 0 && m == M - 1), sine = !alone && m % 2 == 0;
        double half = alone ? edge : 0.5 * scale;
        for (int c = 0; c < LANE; c++) {
            if (alone) {
                r[c] = half * zr[c];
                v[c] = half * zi[c];
            } else if (sine) { /* minus the imaginary parts of A and of B */
                r[c] = half * (yi[c] - zi[c]);
                v[c] = half * (zr[c] - yr[c]);
            } else { /* the real parts */
                r[c] = half * (zr[c] + yr[c]);
                v[c] = half * (zi[c] + yi[c]);
            }
        }
        store_lane(X + m * columns, columns, first, r, v);
    }
}

/* Factors for X: row j for both rows of bin j, column i for columns i per_column .. of X. */
typedef struct masking {
    const double *mask;
    int64_t per_column, columns; /* columns: of the mask */
} masking;

/* load_lane() of a row of bin j, with the mask if there is one. */
static void load_masked_lane(const double *x, const masking *m, int64_t j, int64_t columns,
                             int64_t first, double *re, double *im)
{
    load_lane(x, columns, first, re, im);
    for (int c = 0; m != NULL && c < LANE; c++) {
        int64_t at = first + (int64_t)2 * c;
        re[c] *= m->mask[j * m->columns + tl_min(at / m->per_column, m->columns - 1)];
        im[c] *= m->mask[j * m->columns + tl_min((at + 1) / m->per_column, m->columns - 1)];
    }
}

/* Z = A + i B from the rows of X, with real and imaginary part exchanged: the forward transform of
 * the exchanged numbers is the exchanged inverse. */
static void pack(int64_t M, int64_t columns, int64_t first, const double *X, const masking *mask,
                 const tile *at)
{
    double scale = 1.0 / sqrt(2.0 * (double)M), edge = 1.0 / sqrt((double)M);
    double cr[LANE], ci[LANE], sr[LANE], si[LANE];
    for (int64_t j = 0; 2 * j <= M; j++) {
        bool alone = j == 0 || 2 * j == M;
        double *re = at->im[0] + j * LANE, *im = at->re[0] + j * LANE;
        double *mirror_re = at->im[0] + (M - j) % M * LANE,
               *mirror_im = at->re[0] + (M - j) % M * LANE;
        load_masked_lane(X + (j == 0 ? 0 : 2 * j - 1) * columns, mask, j, columns, first, cr, ci);
        if (!alone)
            load_masked_lane(X + 2 * j * columns, mask, j, columns, first, sr, si);
        for (int c = 0; c < LANE; c++) { /* A = cr - i sr, B = ci - i si */
            double a = alone ? 0.0 : sr[c], b = alone ? 0.0 : si[c], f = alone ? edge : scale;
            re[c] = f * (cr[c] + b);
            im[c] = f * (ci[c] - a);
            mirror_re[c] = f * (cr[c] - b);
            mirror_im[c] = f * (ci[c] + a);
        }
    }
}

/* ---- all columns, in tiles on several threads ------------------------------------------------ */

typedef struct dft_job {
    const tl_dft_plan *plan;
    int64_t columns;
    const double *in;
    double *out;
    const masking *mask; /* of the inverse; NULL: none */
} dft_job;

static void forward(int64_t first, int64_t last, void *arg)
{
    const dft_job *j = arg;
    const tl_dft_plan *plan = j->plan;
    tile at = own_tile(plan);
    (void)last;
    for (int64_t t = 0; t < plan->M; t++)
        load_lane(j->in + t * j->columns, j->columns, first, at.re[0] + t * LANE,
                  at.im[0] + t * LANE);
    int end = transform(plan, &at);
    unpack(plan->M, at.re[end], at.im[end], j->columns, first, j->out);
}

static void inverse(int64_t first, int64_t last, void *arg)
{
    const dft_job *j = arg;
    const tl_dft_plan *plan = j->plan;
    tile at = own_tile(plan);
    (void)last;
    pack(plan->M, j->columns, first, j->in, j->mask, &at);
    int end = transform(plan, &at);
    for (int64_t t = 0; t < plan->M; t++)
        store_lane(j->out + t * j->columns, j->columns, first, at.im[end] + t * LANE,
                   at.re[end] + t * LANE);
}

/* A plan has scratch for the threads of the call that made it. If the current call has more
 * threads, one thread does all the work. */
static void share_tiles(const dft_job *j, tl_piece piece)
{
    enum { TILE = 2 * LANE };
    if (tl_threads_here() <= j->plan->threads)
        tl_share(j->columns, TILE, piece, (void *)(uintptr_t)j);
    else
        for (int64_t first = 0; first < j->columns; first += TILE)
            piece(first, tl_min(first + TILE, j->columns), (void *)(uintptr_t)j);
}

void tl_dft_forward(const tl_dft_plan *plan, int64_t columns, const double *Y, double *X)
{
    share_tiles(&(dft_job){plan, columns, Y, X, NULL}, forward);
}

void tl_dft_inverse(const tl_dft_plan *plan, int64_t columns, const double *X, double *Y)
{
    share_tiles(&(dft_job){plan, columns, X, Y, NULL}, inverse);
}

void tl_dft_inverse_masked(const tl_dft_plan *plan, int64_t columns, int64_t per_column,
                           const double *mask, const double *X, double *Y)
{
    masking m = {mask, per_column, columns / per_column};
    share_tiles(&(dft_job){plan, columns, X, Y, &m}, inverse);
}
