/* Power, weights, objectives, gradient: the formulas of docs/spec.md as fast loops. */
#include "model/kernels.h"

#include <math.h>
#include <string.h>

void tl_coefficients(const tlnmf_data *data, const tl_arithmetic *in, const double *Phi, double *X,
                     double *V)
{
    int64_t M = data->M, T = data->T;
    tl_multiply(in, &(tl_product){TL_PLAIN, TL_PLAIN, M, T, M, 1.0, Phi, M, data->R, T, 0.0, X, T});
    tl_power(data, X, V);
}

/* Elementwise work is divided into pieces of this many numbers, some 5 us each. Handing over a
 * smaller piece takes longer than computing it. */
enum { PIECE = 8192 };

typedef struct squaring {
    const tlnmf_data *data;
    const double *X;
    double *V;
} squaring;

TL_HOT static void square_rows(int64_t first, int64_t last, void *arg)
{
    const squaring *s = arg;
    const tlnmf_data *data = s->data;
    int64_t N = data->N, T = data->T;
    const double *X = s->X;
    double *V = s->V;
    if (data->one_each) {
        for (int64_t i = first * N; i < last * N; i++)
            V[i] = X[i] * X[i];
        return;
    }
    for (int64_t m = first; m < last; m++)
        for (int64_t n = 0; n < N; n++) {
            double sum = 0.0;
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                sum += X[m * T + t] * X[m * T + t];
            V[m * N + n] = sum;
        }
}

void tl_power(const tlnmf_data *data, const double *X, double *V)
{
    tl_share(data->M, tl_rows_of_a_piece(data->T, PIECE), square_rows, &(squaring){data, X, V});
}

/* out = 1 / (x + a) */
TL_HOT static void invert_piece(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    const double *x = e->x, eps = e->a;
    double *out = e->out;
    for (int64_t j = first; j < last; j++)
        out[j] = 1.0 / (x[j] + eps);
}

void tl_inverse(int64_t count, const double *x, double eps, double *out)
{
    tl_share(count, PIECE, invert_piece, &(tl_elements){.x = x, .a = eps, .out = out});
}

typedef struct weighing {
    int64_t N, K;
    const double *W, *H;
    double eps, *U;
} weighing;

/* The product and its inverse while its rows are in cache. */
static void weigh_rows(int64_t first, int64_t last, void *arg)
{
    const weighing *w = arg;
    int64_t N = w->N, K = w->K;
    double *U = w->U + first * N;
    tl_gemm(TL_PLAIN, TL_PLAIN, last - first, N, K, 1.0, w->W + first * K, K, w->H, N, 0.0, U, N);
    invert_piece(0, (last - first) * N, &(tl_elements){.x = U, .a = w->eps, .out = U});
}

void tl_weights(int64_t M, int64_t N, int64_t K, const double *W, const double *H, double eps,
                double *U)
{
    tl_share(M, tl_min(tl_rows_of_a_piece(N, (int64_t)8 * PIECE), 64), weigh_rows,
             &(weighing){N, K, W, H, eps, U});
}

/* Sums run in LANES interleaved parts, so that every instruction set adds in the same order. */
enum { LANES = 16 };

TL_HOT static double sum_products(int64_t first, int64_t last, void *arg)
{
    const tl_elements *of = arg;
    const double *x = of->x + first, *y = of->y + first, shift = of->a;
    int64_t count = last - first;
    double part[LANES] = {0.0}, sum = 0.0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int64_t j = 0; j < LANES; j++)
            part[j] += (x[i + j] + shift) * y[i + j];
    for (; i < count; i++)
        sum += (x[i] + shift) * y[i];
    for (int j = 0; j < LANES; j++)
        sum += part[j];
    return sum;
}

double tl_sum_product(int64_t count, const double *x, double shift, const double *y)
{
    return tl_share_sum(count, PIECE, sum_products, &(tl_elements){.x = x, .y = y, .a = shift});
}

/* log prod 2^e m = log(prod m) + (sum e) log 2, with the mantissas m in [1, 2): one logarithm
 * for up to 512 numbers per lane, and no overflow at any scale. The last numbers, which do not
 * fill a row of lanes, have their own product and sum. */
typedef struct log_sum {
    double mantissa[LANES], last_mantissa;
    int64_t exponent[LANES], last_exponent;
} log_sum;

enum { LOG_BLOCK = 512 * LANES };

static const uint64_t MANTISSA = 0x000fffffffffffffu, ONE = 0x3ff0000000000000u;

static inline __attribute__((always_inline)) void log_add(double *mantissa, int64_t *exponent,
                                                          double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    *exponent += (int64_t)(bits >> 52);
    bits = (bits & MANTISSA) | ONE;
    double m;
    memcpy(&m, &bits, sizeof m);
    *mantissa *= m;
}

/* The sum over `count` <= LOG_BLOCK numbers. */
static inline __attribute__((always_inline)) double log_total(const log_sum *sum, int64_t count)
{
    double logs = log(sum->last_mantissa);
    int64_t exponents = sum->last_exponent - 1023 * count;
    for (int j = 0; j < LANES; j++) {
        logs += log(sum->mantissa[j]);
        exponents += sum->exponent[j];
    }
    return logs + (double)exponents * 0.693147180559945309417232;
}

static inline __attribute__((always_inline)) void log_clear(log_sum *sum)
{
    for (int j = 0; j < LANES; j++) {
        sum->mantissa[j] = 1.0;
        sum->exponent[j] = 0;
    }
    sum->last_mantissa = 1.0;
    sum->last_exponent = 0;
}

TL_HOT static double sum_logs(int64_t first, int64_t last, void *arg)
{
    const tl_elements *of = arg;
    const double *x = of->x + first, shift = of->a;
    int64_t count = last - first;
    double total = 0.0;
    for (int64_t i0 = 0; i0 < count; i0 += LOG_BLOCK) {
        int64_t end = tl_min(i0 + LOG_BLOCK, count), i = i0;
        log_sum sum;
        log_clear(&sum);
        for (; i + LANES <= end; i += LANES)
            for (int j = 0; j < LANES; j++)
                log_add(&sum.mantissa[j], &sum.exponent[j], x[i + j] + shift);
        for (; i < end; i++)
            log_add(&sum.last_mantissa, &sum.last_exponent, x[i] + shift);
        total += log_total(&sum, end - i0);
    }
    return total;
}

double tl_sum_log(int64_t count, const double *x, double shift)
{
    return tl_share_sum(count, LOG_BLOCK, sum_logs, &(tl_elements){.x = x, .a = shift});
}

TL_HOT static double sum_divergences(int64_t first, int64_t last, void *arg)
{
    const tl_elements *of = arg;
    const double *V = of->x + first, *U = of->y + first, eps = of->a;
    int64_t count = last - first;
    double total = 0.0;
    for (int64_t i0 = 0; i0 < count; i0 += LOG_BLOCK) {
        int64_t end = tl_min(i0 + LOG_BLOCK, count), i = i0;
        double part[LANES] = {0.0};
        log_sum sum;
        log_clear(&sum);
        for (; i + LANES <= end; i += LANES)
            for (int j = 0; j < LANES; j++) {
                double x = (V[i + j] + eps) * U[i + j];
                part[j] += x - 1.0;
                log_add(&sum.mantissa[j], &sum.exponent[j], x);
            }
        for (; i < end; i++) {
            double x = (V[i] + eps) * U[i];
            total += x - 1.0;
            log_add(&sum.last_mantissa, &sum.last_exponent, x);
        }
        for (int j = 0; j < LANES; j++)
            total += part[j];
        total -= log_total(&sum, end - i0);
    }
    return total;
}

double tl_divergence(int64_t count, const double *V, double eps, const double *U)
{
    return tl_share_sum(count, LOG_BLOCK, sum_divergences,
                        &(tl_elements){.x = V, .y = U, .a = eps});
}

/* ---- gradient -------------------------------------------------------------------------------- */

/* The gradient is computed by panels of whole frames: BLAS is as fast on a panel as on the full
 * matrix. Where M is small, a panel's product is too short to be divided; panels then go to up
 * to MOST_SUMS partial sums, which are added in their order. */
enum { PANEL = 512, NARROW_PANEL = 128, SMALL_M = 128, MOST_SUMS = 32 };

/* How columns are cut: `sums` parts of `each` panels of about `width` columns. */
typedef struct cutting {
    int64_t width, sums, each;
} cutting;

static cutting cut(const tlnmf_data *data)
{
    if (data->M > SMALL_M)
        return (cutting){.width = PANEL, .sums = 1};
    cutting c = {.width = tl_min(PANEL, tl_max(NARROW_PANEL, data->T / MOST_SUMS))};
    int64_t panels = tl_max(1, data->T / c.width);
    c.each = (panels + MOST_SUMS - 1) / MOST_SUMS;
    c.sums = (panels + c.each - 1) / c.each;
    return c;
}

static int64_t widest_panel(const tlnmf_data *data, int64_t width)
{
    int64_t widest = tl_min(data->T, width);
    for (int64_t n = 0; n < data->N; n++)
        widest = tl_max(widest, data->offset[n + 1] - data->offset[n]);
    return widest;
}

int64_t tl_gradient_scratch(const tlnmf_data *data)
{
    cutting c = cut(data);
    return c.sums * data->M * widest_panel(data, c.width) + (c.sums - 1) * data->M * data->M;
}

/* One gradient: X and its weights, panels of UX, and their sums. */
typedef struct gradient {
    const tlnmf_data *data;
    const tl_arithmetic *in;
    const double *X, *U;
    cutting cut;
    int64_t widest;
    double *UX, *G, *more; /* `more`: the partial sums after the first */
    int64_t first, last;   /* the frames of the current panel, if there is one sum */
} gradient;

/* UX (M x width) = rows `from` .. `to` - 1 of the columns of frames first .. last - 1, times the
 * weights. */
TL_HOT static void weigh(const gradient *g, int64_t first, int64_t last, int64_t from, int64_t to,
                         double *UX)
{
    const tlnmf_data *data = g->data;
    int64_t N = data->N, T = data->T;
    const int64_t *offset = data->offset, t0 = offset[first], width = offset[last] - t0;
    for (int64_t m = from; m < to; m++) {
        const double *x = g->X + m * T + t0, *u = g->U + m * N;
        double *out = UX + m * width;
        if (data->one_each) {
            for (int64_t i = 0; i < width; i++)
                out[i] = u[first + i] * x[i];
            continue;
        }
        for (int64_t n = first; n < last; n++)
            for (int64_t i = offset[n] - t0; i < offset[n + 1] - t0; i++)
                out[i] = u[n] * x[i];
    }
}

/* The end of the panel that begins with frame `first`: the first frame that does not fit. */
static int64_t panel_end(const gradient *g, int64_t first)
{
    const int64_t *offset = g->data->offset;
    int64_t last = first + 1;
    while (last < g->data->N && offset[last + 1] - offset[first] <= g->cut.width)
        last++;
    return last;
}

static void add_panel(const gradient *g, int64_t first, int64_t last, const double *UX, double beta,
                      double *G)
{
    int64_t M = g->data->M, T = g->data->T, t0 = g->data->offset[first];
    int64_t width = g->data->offset[last] - t0;
    tl_multiply(g->in, &(tl_product){TL_PLAIN, TL_TRANSPOSED, M, M, width, 2.0, UX, width,
                                     g->X + t0, T, beta, G, M});
}

static void weigh_piece(int64_t from, int64_t to, void *arg)
{
    const gradient *g = arg;
    weigh(g, g->first, g->last, from, to, g->UX);
}

/* Panels sequentially, with all threads in each. */
static void add_panels(gradient *g)
{
    if (g->data->N == 0) /* a process without frames */
        memset(g->G, 0, (size_t)(g->data->M * g->data->M) * sizeof *g->G);
    for (g->first = 0; g->first < g->data->N; g->first = g->last) {
        g->last = panel_end(g, g->first);
        int64_t width = g->data->offset[g->last] - g->data->offset[g->first];
        tl_share(g->data->M, tl_rows_of_a_piece(width, PIECE), weigh_piece, g);
        add_panel(g, g->first, g->last, g->UX, g->first > 0 ? 1.0 : 0.0, g->G);
    }
}

/* The first frame of part `part`: parts begin every each * width columns. */
static int64_t part_begin(const gradient *g, int64_t part)
{
    int64_t low = 0, high = g->data->N, column = part * g->cut.each * g->cut.width;
    if (part == g->cut.sums)
        return high;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (g->data->offset[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_part(int64_t part, int64_t last_part, void *arg)
{
    const gradient *g = arg;
    (void)last_part;
    int64_t M = g->data->M, begin = part_begin(g, part), end = part_begin(g, part + 1), last;
    double *UX = g->UX + part * M * g->widest, *G = part == 0 ? g->G : g->more + (part - 1) * M * M;
    if (begin == end)
        memset(G, 0, (size_t)(M * M) * sizeof *G);
    for (int64_t first = begin; first < end; first = last) {
        last = tl_min(panel_end(g, first), end);
        weigh(g, first, last, 0, M, UX);
        add_panel(g, first, last, UX, first > begin ? 1.0 : 0.0, G);
    }
}

TL_HOT static void add_sums(const gradient *g)
{
    int64_t count = g->data->M * g->data->M;
    for (int64_t part = 1; part < g->cut.sums; part++)
        for (int64_t i = 0; i < count; i++)
            g->G[i] += g->more[(part - 1) * count + i];
}

void tl_gradient(const tlnmf_data *data, const tl_arithmetic *in, const double *X, const double *U,
                 double *UX, double *G)
{
    gradient g = {.data = data, .in = in, .X = X, .U = U, .cut = cut(data), .UX = UX, .G = G};
    g.widest = widest_panel(data, g.cut.width);
    g.more = UX + g.cut.sums * data->M * g.widest;
    if (g.cut.sums == 1) {
        add_panels(&g);
    } else {
        for (int64_t part = 0; in->one_at_a_time && part < g.cut.sums; part++)
            add_part(part, part + 1, &g);
        if (!in->one_at_a_time)
            tl_share(g.cut.sums, 1, add_part, &g);
        add_sums(&g);
    }
}

void tl_gamma(const tl_arithmetic *in, int64_t M, int64_t N, const double *U, const double *V,
              double *Gamma)
{
    tl_multiply(in,
                &(tl_product){TL_PLAIN, TL_TRANSPOSED, M, M, N, 2.0, U, N, V, N, 0.0, Gamma, M});
}

/* ---- weights of entries ---------------------------------------------------------------------- */

void tl_weighted_apply(int64_t count, const double *B, double *U)
{
    for (int64_t i = 0; i < count; i++)
        U[i] *= B[i];
}

double tl_weighted_logs(int64_t count, const double *B, const double *U)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        if (B[i] > 0.0)
            sum -= B[i] * log(U[i] / B[i]);
    return sum;
}

double tl_weighted_L(int64_t count, const double *B, const double *V, double eps)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        if (B[i] > 0.0)
            sum += B[i] * (1.0 + log(V[i] + eps));
    return sum;
}

double tl_weighted_I(int64_t count, const double *B, const double *V, double eps, const double *U)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++) {
        if (!(B[i] > 0.0))
            continue;
        double x = (V[i] + eps) * (U[i] / B[i]);
        sum += B[i] * (x - 1.0 - log(x));
    }
    return sum;
}

void tl_weighted_pull(int64_t count, const double *B, const double *V, double eps, double *U)
{
    for (int64_t i = 0; i < count; i++)
        U[i] = B[i] > 0.0 ? (V[i] + eps) * U[i] * (U[i] / B[i]) : 0.0;
}

void tl_weighted_once(int64_t count, const double *B, double *x)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = B[i] > 0.0 ? x[i] / B[i] : 0.0;
}
