/* The kernels, their twins, their operations and bytes. */
#include "jobs.h"
#include "reference/naive_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- differences and sizes ------------------------------------------------------------------- */

/* Largest |a - b|, relative to the largest |b|; infinite if there is a NaN. */
static double relative(int64_t count, const double *a, const double *b)
{
    double worst = 0.0, size = 0.0;
    for (int64_t i = 0; i < count; i++) {
        worst = fmax(worst, isnan(a[i] - b[i]) ? INFINITY : fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return worst == 0.0 ? 0.0 : worst / size;
}

/* The difference of sums of M N terms, which may cancel: relative to their number. */
static double value_difference(bed *b)
{
    double size = (double)(b->is.M * b->is.N) + fabs(b->twin.value);
    double off = fabs(b->fast.value - b->twin.value) / size;
    return isnan(off) ? INFINITY : off;
}

static double m(const bed *b)
{
    return (double)b->is.M;
}
static double mn(const bed *b)
{
    return (double)(b->is.M * b->is.N);
}
static double mt(const bed *b)
{
    return (double)(b->is.M * b->T);
}
static double mm(const bed *b)
{
    return (double)(b->is.M * b->is.M);
}
static double k(const bed *b)
{
    return (double)b->is.K;
}
static double factors(const bed *b)
{
    return (double)((b->is.M + b->is.N) * b->is.K);
}

/* ---- multiplicative update (7)-(9) ----------------------------------------------------------- */

static void run_mu(bed *b)
{
    tl_mu_update(&b->mu, b->eps, b->fast.W, b->fast.H);
}

static void twin_mu(bed *b)
{
    tl_naive_update(
        &(tl_naive_nmf){b->is.M, b->is.N, b->is.K, 1.0, b->eps, b->V, b->twin.W, b->twin.H, NULL});
}

static double mu_difference(bed *b)
{
    return fmax(relative(b->is.M * b->is.K, b->fast.W, b->twin.W),
                relative(b->is.K * b->is.N, b->fast.H, b->twin.H));
}

/* H and W each: W H (2 MNK), two products with the other factor (4 MNK), and five operations per
 * entry (two sums with eps, a division, two products). */
static double mu_flops(const bed *b)
{
    return 12.0 * mn(b) * k(b) + 10.0 * mn(b);
}

/* V for H and again for W; both factors in and out. */
static double mu_bytes(const bed *b)
{
    return 8.0 * (2.0 * mn(b) + 2.0 * factors(b));
}

/* ---- X = Phi R and V (1) --------------------------------------------------------------------- */

static void run_transform(bed *b)
{
    tl_coefficients(b->data, &tl_double, b->Phi, b->fast_X, b->fast.V);
}

static void twin_transform(bed *b)
{
    tl_naive_power(b->is.S, b->is.M, b->is.N, b->Y, b->Phi, b->twin.V);
}

static double transform_difference(bed *b)
{
    return relative(b->is.M * b->is.N, b->fast.V, b->twin.V);
}

static double transform_flops(const bed *b)
{
    return 2.0 * m(b) * mt(b) + 2.0 * mt(b);
}

static double transform_bytes(const bed *b)
{
    return 8.0 * (mm(b) + 2.0 * mt(b) + mn(b));
}

/* ---- V alone --------------------------------------------------------------------------------- */

static void run_power(bed *b)
{
    tl_power(b->data, b->X, b->fast.V);
}

/* Phi = I, so X is Y. */
static void twin_power(bed *b)
{
    tl_naive_power_of(b->is.S, b->is.M, b->is.N, b->Y, b->twin.V);
}

static double power_difference(bed *b)
{
    return relative(b->is.M * b->is.N, b->fast.V, b->twin.V);
}

static double power_flops(const bed *b)
{
    return 2.0 * mt(b);
}

static double power_bytes(const bed *b)
{
    return 8.0 * (mt(b) + mn(b));
}

/* ---- weights and objectives ------------------------------------------------------------------ */

static void run_weights(bed *b)
{
    tl_weights(b->is.M, b->is.N, b->is.K, b->W, b->H, b->eps, b->fast.U);
}

static void twin_weights(bed *b)
{
    tl_naive_weights(b->is.M, b->is.N, b->is.K, b->W, b->H, b->eps, b->twin.U);
}

static double weights_difference(bed *b)
{
    return relative(b->is.M * b->is.N, b->fast.U, b->twin.U);
}

static double weights_flops(const bed *b)
{
    return 2.0 * mn(b) * k(b) + 2.0 * mn(b);
}

static double weights_bytes(const bed *b)
{
    return 8.0 * (mn(b) + factors(b));
}

static void run_C(bed *b)
{
    int64_t count = b->is.M * b->is.N;
    run_weights(b);
    b->fast.value =
        tl_sum_product(count, b->V, b->eps, b->fast.U) - tl_sum_log(count, b->fast.U, 0.0);
}

static void twin_C(bed *b)
{
    b->twin.value = tl_naive_C(b->is.M, b->is.N, b->is.K, b->V, b->W, b->H, b->eps);
}

/* Weights, then three operations per entry for the sum and two for its part of a logarithm. */
static double C_flops(const bed *b)
{
    return weights_flops(b) + 5.0 * mn(b);
}

static double C_bytes(const bed *b)
{
    return weights_bytes(b) + 8.0 * mn(b);
}

static void run_I(bed *b)
{
    run_weights(b);
    b->fast.value = tl_divergence(b->is.M * b->is.N, b->V, b->eps, b->fast.U);
}

static void twin_I(bed *b)
{
    b->twin.value = tl_naive_I(b->is.M, b->is.N, b->is.K, b->V, b->W, b->H, b->eps);
}

static void run_L(bed *b)
{
    int64_t count = b->is.M * b->is.N;
    b->fast.value = (double)count + tl_sum_log(count, b->V, b->eps);
}

static void twin_L(bed *b)
{
    b->twin.value = tl_naive_L(b->is.M, b->is.N, b->V, b->eps);
}

/* The sum with eps, the product of mantissas, the sum of exponents. */
static double L_flops(const bed *b)
{
    return 3.0 * mn(b);
}

static double L_bytes(const bed *b)
{
    return 8.0 * mn(b);
}

/* ---- G and Gamma (10) ------------------------------------------------------------------------ */

static void run_gradient(bed *b)
{
    tl_gradient(b->data, &tl_double, b->X, b->U, b->UX, b->fast.G);
}

/* Recomputes X, which doubles its work. */
static void twin_gradient(bed *b)
{
    tl_naive_gradient(b->is.S, b->is.M, b->is.N, b->Y, b->Phi, b->U, b->twin.G);
}

static double G_difference(bed *b)
{
    return relative(b->is.M * b->is.M, b->fast.G, b->twin.G);
}

static double gradient_flops(const bed *b)
{
    return 2.0 * m(b) * mt(b) + mt(b);
}

static double gradient_bytes(const bed *b)
{
    return 8.0 * (mt(b) + mn(b) + mm(b));
}

static void run_gamma(bed *b)
{
    tl_gamma(&tl_double, b->is.M, b->is.N, b->U, b->V, b->fast.G);
}

static void twin_gamma(bed *b)
{
    tl_naive_gamma(b->is.M, b->is.N, b->U, b->V, b->twin.G);
}

static double gamma_flops(const bed *b)
{
    return 2.0 * m(b) * mn(b);
}

static double gamma_bytes(const bed *b)
{
    return 8.0 * (2.0 * mn(b) + mm(b));
}

/* ---- a Jacobi sweep (14) --------------------------------------------------------------------- */

static void run_sweep(bed *b)
{
    b->fast.value = tl_sweep_double(&(tl_sweep){.data = b->data,
                                                .U = b->U,
                                                .X = b->fast_X,
                                                .Phi = b->fast.Phi,
                                                .scratch = b->UX,
                                                .frames = (double)b->is.N});
    tl_power(b->data, b->fast_X, b->fast.V);
}

static void twin_sweep(bed *b)
{
    tl_naive_sweep(b->is.M, b->T, b->twin_U, b->twin_X, b->twin.Phi);
}

static double weighted_sum(const bed *b, const double *V)
{
    double sum = 0.0;
    for (int64_t i = 0; i < b->is.M * b->is.N; i++)
        sum += b->U[i] * V[i];
    return sum;
}

/* If pairs share rows, the result of a sweep depends on the order. Then the gain that it returned
 * is compared with the sums before and after. */
static double sweep_difference(bed *b)
{
    if (b->is.apart)
        return relative(b->is.M * b->is.M, b->fast.Phi, b->twin.Phi);
    double before = weighted_sum(b, b->V);
    tl_naive_power(b->is.S, b->is.M, b->is.N, b->Y, b->fast.Phi, b->twin.V);
    double fall = before - weighted_sum(b, b->twin.V);
    return fabs(fall - b->fast.value) / before;
}

/* For each of M (M - 1) / 2 pairs: p and D are 9 operations per column, the rotation 6 per column
 * of X and of Phi. */
static double sweep_flops(const bed *b)
{
    double T = (double)b->T;
    return 0.5 * m(b) * (m(b) - 1.0) * (15.0 * T + 6.0 * m(b));
}

static double sweep_bytes(const bed *b)
{
    return 8.0 * (2.0 * mt(b) + 2.0 * mm(b) + 2.0 * mn(b));
}

/* ---- exp(E) and the orthogonal factor of I + E ----------------------------------------------- */

static void run_exp(bed *b)
{
    tl_skew_prepare(&b->skew, b->E);
    tl_skew_exp(&b->skew, 1.0, b->lent, b->fast.Q);
}

static void twin_exp(bed *b)
{
    tl_naive_exp(b->is.M, b->E, b->twin.Q, b->M_scratch);
}

static void run_polar(bed *b)
{
    tl_skew_prepare(&b->skew, b->E);
    tl_skew_polar(&b->skew, 1.0, b->lent, b->fast.Q);
}

static void twin_polar(bed *b)
{
    tl_naive_polar(b->is.M, b->E, b->twin.Q, b->M_scratch);
}

static void run_polar_long(bed *b)
{
    tl_skew_prepare(&b->skew, b->E_long);
    tl_skew_polar(&b->skew, 1.0, b->lent, b->fast.Q);
}

static void twin_polar_long(bed *b)
{
    tl_naive_polar(b->is.M, b->E_long, b->twin.Q, b->M_scratch);
}

static double Q_difference(bed *b)
{
    return relative(b->is.M * b->is.M, b->fast.Q, b->twin.Q);
}

static double skew_bytes(const bed *b)
{
    return 8.0 * 2.0 * mm(b);
}

/* ---- compression ----------------------------------------------------------------------------- */

static void run_compress(bed *b)
{
    tlnmf_data_free(b->again);
    if (tlnmf_data_from_realisations(b->ctx, b->Y, (int64_t[]){b->is.S, b->is.M, b->is.N},
                                     &b->again) != TLNMF_OK) {
        fprintf(stderr, "bench: %s\n", tlnmf_message(b->ctx));
        exit(1);
    }
}

static void twin_compress(bed *b)
{
    for (int64_t n = 0; n < b->is.N; n++)
        tl_naive_compress(b->is.S, b->is.M, b->is.N, n, b->Y, b->rows, b->frame);
}

/* out += weight r r'; entries of r are `stride` apart. */
static void add_square(int64_t M, double weight, const double *r, int64_t stride, double *out)
{
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < M; j++)
            out[i * M + j] += weight * r[i * stride] * r[j * stride];
}

/* Columns are not unique, but covariances are: the largest difference over all frames. */
static double compress_difference(bed *b)
{
    int64_t M = b->is.M, rank = tl_min(b->is.S, M), T = b->again->T;
    double worst = 0.0;
    for (int64_t n = 0; n < b->is.N; n++) {
        memset(b->fast.G, 0, (size_t)(M * M) * sizeof *b->fast.G);
        memset(b->twin.G, 0, (size_t)(M * M) * sizeof *b->twin.G);
        for (int64_t t = b->again->offset[n]; t < b->again->offset[n + 1]; t++)
            add_square(M, 1.0, b->again->R + t, T, b->fast.G);
        tl_naive_compress(b->is.S, M, b->is.N, n, b->Y, b->rows, b->frame);
        for (int64_t i = 0; i < rank; i++)
            add_square(M, 1.0, b->rows + i * M, 1, b->twin.G);
        worst = fmax(worst, G_difference(b));
    }
    return worst;
}

static double compress_bytes(const bed *b)
{
    return 8.0 * ((double)b->is.S * mn(b) + mt(b));
}

/* ---- the table ------------------------------------------------------------------------------- */

const job jobs[] = {
    {"update", NOTES | LARGE | LARGE_K20, NOTES | LARGE, false, run_mu, twin_mu, mu_difference,
     1e-11, mu_flops, mu_bytes},
    {"transform", NOTES | LARGE | MANY, NOTES | MANY, false, run_transform, twin_transform,
     transform_difference, 1e-12, transform_flops, transform_bytes},
    {"power", NOTES | LARGE | MANY, NOTES | LARGE | MANY, false, run_power, twin_power,
     power_difference, 1e-12, power_flops, power_bytes},
    {"weights", NOTES | LARGE | LARGE_K20, NOTES | LARGE | LARGE_K20, false, run_weights,
     twin_weights, weights_difference, 1e-12, weights_flops, weights_bytes},
    {"C", NOTES | LARGE, NOTES | LARGE, false, run_C, twin_C, value_difference, 1e-12, C_flops,
     C_bytes},
    {"I", NOTES | LARGE, NOTES | LARGE, false, run_I, twin_I, value_difference, 1e-12, C_flops,
     C_bytes},
    {"L", NOTES | LARGE, NOTES | LARGE, false, run_L, twin_L, value_difference, 1e-12, L_flops,
     L_bytes},
    {"gradient", NOTES | LARGE | MANY, NOTES | MANY, false, run_gradient, twin_gradient,
     G_difference, 1e-12, gradient_flops, gradient_bytes},
    {"gamma", NOTES | LARGE, NOTES, false, run_gamma, twin_gamma, G_difference, 1e-12, gamma_flops,
     gamma_bytes},
    {"sweep", NOTES | LARGE | MANY, NOTES | MANY, true, run_sweep, twin_sweep, sweep_difference,
     1e-10, sweep_flops, sweep_bytes},
    {"exp", NOTES | LARGE, NOTES, false, run_exp, twin_exp, Q_difference, 1e-13, NULL, skew_bytes},
    {"polar", NOTES | LARGE, NOTES, false, run_polar, twin_polar, Q_difference, 1e-13, NULL,
     skew_bytes},
    {"polar long", NOTES | LARGE, NOTES, false, run_polar_long, twin_polar_long, Q_difference,
     1e-12, NULL, skew_bytes},
    {"compress", MANY | GCM, MANY | GCM, false, run_compress, twin_compress, compress_difference,
     1e-12, NULL, compress_bytes},
};
const int job_count = sizeof jobs / sizeof *jobs;
