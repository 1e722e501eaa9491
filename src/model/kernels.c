/* Power, weights, objectives, gradient: the formulas of docs/spec.md as fast loops. */
#include "model/kernels.h"

#include <math.h>
#include <string.h>

void tl_coefficients(const tlnmf_data *data, const tl_arithmetic *in, const double *Phi, double *X,
                     double *V)
{
    int64_t M = data->M, T = data->T;
    tl_multiply(in, &(tl_product){TL_PLAIN, M, T, M, 1.0, Phi, M, data->R, T, 0.0, X, T});
    tl_power(data, X, V);
}

TL_HOT void tl_power(const tlnmf_data *data, const double *X, double *V)
{
    int64_t M = data->M, N = data->N, T = data->T;
    if (data->one_each) {
        for (int64_t i = 0; i < M * N; i++)
            V[i] = X[i] * X[i];
        return;
    }
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            double sum = 0.0;
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                sum += X[m * T + t] * X[m * T + t];
            V[m * N + n] = sum;
        }
}

TL_HOT void tl_inverse(int64_t count, const double *x, double eps, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = 1.0 / (x[i] + eps);
}

void tl_weights(int64_t M, int64_t N, int64_t K, const double *W, const double *H, double eps,
                double *U)
{
    tl_gemm(TL_PLAIN, TL_PLAIN, M, N, K, 1.0, W, K, H, N, 0.0, U, N);
    tl_inverse(M * N, U, eps, U);
}

/* Sums run in LANES interleaved parts, so that every instruction set adds in the same order. */
enum { LANES = 16 };

TL_HOT double tl_sum_product(int64_t count, const double *x, double shift, const double *y)
{
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

/* log prod 2^e m = log(prod m) + (sum e) log 2, with the mantissas m in [1, 2): one logarithm for
 * up to 512 numbers a lane, and no overflow at any scale. The last numbers, which do not fill a row
 * of lanes, have their own product and sum. */
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

TL_HOT double tl_sum_log(int64_t count, const double *x, double shift)
{
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

TL_HOT double tl_divergence(int64_t count, const double *V, double eps, const double *U)
{
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

/* The gradient is computed by panels of whole frames: BLAS is as fast on a panel as on the full
 * matrix. */
enum { PANEL = 512 };

int64_t tl_gradient_scratch(const tlnmf_data *data)
{
    int64_t widest = tl_min(data->T, PANEL);
    for (int64_t n = 0; n < data->N; n++)
        widest = tl_max(widest, data->offset[n + 1] - data->offset[n]);
    return data->M * widest;
}

/* UX (M x width) = the columns of frames first .. last - 1, times the weights. */
TL_HOT static void weigh(const tlnmf_data *data, const double *X, const double *U, int64_t first,
                         int64_t last, double *UX)
{
    int64_t M = data->M, N = data->N, T = data->T;
    const int64_t *offset = data->offset, t0 = offset[first], width = offset[last] - t0;
    for (int64_t m = 0; m < M; m++) {
        const double *x = X + m * T + t0, *u = U + m * N;
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
static int64_t panel_end(const tlnmf_data *data, int64_t first)
{
    int64_t last = first + 1;
    while (last < data->N && data->offset[last + 1] - data->offset[first] <= PANEL)
        last++;
    return last;
}

void tl_gradient(const tlnmf_data *data, const tl_arithmetic *in, const double *X, const double *U,
                 double *UX, double *G)
{
    int64_t M = data->M, T = data->T;
    if (data->N == 0) /* a machine without frames */
        memset(G, 0, (size_t)(M * M) * sizeof *G);
    for (int64_t first = 0, last; first < data->N; first = last) {
        last = panel_end(data, first);
        int64_t t0 = data->offset[first], width = data->offset[last] - t0;
        weigh(data, X, U, first, last, UX);
        tl_multiply(in, &(tl_product){TL_TRANSPOSED, M, M, width, 2.0, UX, width, X + t0, T,
                                      first > 0 ? 1.0 : 0.0, G, M});
    }
}

void tl_gamma(const tl_arithmetic *in, int64_t M, int64_t N, const double *U, const double *V,
              double *Gamma)
{
    tl_multiply(in, &(tl_product){TL_TRANSPOSED, M, M, N, 2.0, U, N, V, N, 0.0, Gamma, M});
}
