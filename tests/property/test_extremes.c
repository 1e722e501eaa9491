/* Extreme problems: scales from 1e-150 to 1e150, denormals, silence, repeated frames, rank one,
 * floors from 1e-300 to 1e300, M, N or K = 1, far more components than the rank, zeros in the
 * start. A fit returns an error; or its C and L agree with its Phi, W, H in long double, and its
 * objective never increased. */
#include "support.h"

#include <time.h>

static int64_t problems = 200; /* the first argument; `make torture` runs 10,000 */
static uint64_t seed = 2026;   /* the second argument */

typedef struct extreme {
    int64_t S, M, N, K;
    int kind;
    double *Y;
    tlnmf_settings *settings;
    tlnmf_record *start;
    bool monotone; /* the objective of each row of the trace is at most that of the row before */
    bool of_L;
} extreme;

static double power_of_ten(tl_rng *rng, double low, double high)
{
    return pow(10.0, low + (high - low) * tl_rng_uniform(rng));
}

/* ---- problems -------------------------------------------------------------------------------- */

enum { KINDS = 13 };

/* The factor of entry (m, n) in a problem of this kind. */
static double scale_of(const extreme *x, tl_rng *rng, double all, int64_t m, int64_t n,
                       const double *rows, const double *columns)
{
    switch (x->kind) {
    case 1:
    case 2:
        return all;
    case 3:
        return rows[m];
    case 4:
        return columns[n];
    case 7:
        return tl_rng_uniform(rng) < 0.7 ? 0.0 : 1.0;
    case 11:
        return power_of_ten(rng, -100.0, 100.0);
    case 12:
        return m < x->M / 2 ? 0.0 : 1.0;
    default:
        return 1.0;
    }
}

static double entry(const extreme *x, tl_rng *rng)
{
    if (x->kind == 9)
        return 5e-324 * (double)pick(rng, 0, 2);
    return x->kind == 10 ? (double)pick(rng, -1, 1) : tl_rng_normal(rng);
}

/* Frames that are equal, multiples of one frame, or silent except for one number. */
static void fill_special(extreme *x, tl_rng *rng, const double *columns)
{
    int64_t MN = x->M * x->N;
    for (int64_t i = 0; i < x->S * MN; i++) {
        int64_t n = i % x->N;
        if (x->kind == 5 || x->kind == 6)
            x->Y[i] = x->Y[i - n] * (x->kind == 5 || n == 0 ? 1.0 : columns[n]);
        else if (x->kind == 8)
            x->Y[i] = 0.0;
    }
    if (x->kind == 8)
        x->Y[pick(rng, 0, x->S * MN - 1)] = power_of_ten(rng, -150.0, 150.0);
}

static void draw_data(extreme *x, tl_rng *rng)
{
    static const int64_t sizes_S[] = {1, 1, 2, 5}, sizes_M[] = {1, 2, 3, 5, 8, 16},
                         sizes_N[] = {1, 2, 3, 7, 20};
    double rows[16], columns[20];
    x->S = sizes_S[pick(rng, 0, 3)];
    x->M = sizes_M[pick(rng, 0, 5)];
    x->N = sizes_N[pick(rng, 0, 4)];
    x->kind = (int)pick(rng, 0, KINDS - 1);
    for (int i = 0; i < 16; i++)
        rows[i] = power_of_ten(rng, -30.0, 30.0);
    for (int i = 0; i < 20; i++)
        columns[i] = x->kind == 6 ? tl_rng_normal(rng) : power_of_ten(rng, -30.0, 30.0);
    double all =
        x->kind == 2 ? power_of_ten(rng, -160.0, -140.0) : power_of_ten(rng, -150.0, 150.0);
    x->Y = new_doubles(x->S * x->M * x->N);
    for (int64_t s = 0, i = 0; s < x->S; s++)
        for (int64_t m = 0; m < x->M; m++)
            for (int64_t n = 0; n < x->N; n++, i++)
                x->Y[i] = entry(x, rng) * scale_of(x, rng, all, m, n, rows, columns);
    fill_special(x, rng, columns);
}

static void draw_start(tlnmf_ctx *ctx, extreme *x, tl_rng *rng)
{
    double *W, *H;
    bool zeros_H = pick(rng, 0, 1), zeros_W = pick(rng, 0, 1), wild = pick(rng, 0, 2) == 0;
    assert_ok(ctx, tlnmf_record_create(ctx, &x->start));
    assert_ok(ctx, tlnmf_record_new_array(ctx, x->start, "W", 2, (int64_t[]){x->M, x->K}, &W));
    assert_ok(ctx, tlnmf_record_new_array(ctx, x->start, "H", 2, (int64_t[]){x->K, x->N}, &H));
    double *scale = new_doubles(x->K);
    for (int64_t k = 0; k < x->K; k++)
        scale[k] = wild ? power_of_ten(rng, -300.0, 300.0) : 1.0;
    for (int64_t i = 0; i < x->M * x->K; i++)
        W[i] = zeros_W && tl_rng_uniform(rng) < 0.3 ? 0.0 : tl_rng_uniform(rng) * scale[i % x->K];
    for (int64_t i = 0; i < x->K * x->N; i++)
        H[i] = zeros_H && tl_rng_uniform(rng) < 0.5 ? 0.0 : tl_rng_uniform(rng);
    free(scale);
}

static void set(tlnmf_ctx *ctx, const extreme *x, const char *name, const char *value)
{
    assert_ok(ctx, tlnmf_settings_set_text(ctx, x->settings, name, value));
}

static double mean_square(const extreme *x)
{
    double sum = 0.0, count = (double)(x->S * x->M * x->N);
    for (int64_t i = 0; i < x->S * x->M * x->N; i++)
        sum += x->Y[i] / count * x->Y[i];
    return sum;
}

static void draw_floor(tlnmf_ctx *ctx, const extreme *x, tl_rng *rng)
{
    double choice = tl_rng_uniform(rng);
    double eps = choice < 0.3 ? power_of_ten(rng, -300.0, 300.0)
                              : (mean_square(x) + 1e-290) * power_of_ten(rng, -16.0, 8.0);
    if (choice < 0.6)
        (void)tlnmf_settings_set_real(ctx, x->settings, "eps", eps); /* may be out of range */
    else if (choice < 0.8)
        (void)tlnmf_settings_set_real(ctx, x->settings, "eps-rel", power_of_ten(rng, -30.0, 6.0));
}

static void draw_settings(tlnmf_ctx *ctx, extreme *x, tl_rng *rng)
{
    static const char *const methods[] = {"tl", "jd", "nmf", "auto"};
    static const int64_t iterations[] = {1, 5, 50, 100};
    int64_t MN = x->M * x->N, ranks[] = {1, 2, 3, 10, MN};
    x->K = tl_max(1, tl_min(ranks[pick(rng, 0, 4)], MN));
    int method = (int)pick(rng, 0, 3);
    bool paper = method != 3 && pick(rng, 0, 2) == 0;
    bool exchange = method != 2 && tl_rng_uniform(rng) < 0.15;
    bool continuation = !paper && method != 2 && tl_rng_uniform(rng) < 0.3;
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &x->settings));
    tlnmf_settings_set_integer(ctx, x->settings, "k", x->K);
    tlnmf_settings_set_integer(ctx, x->settings, "J", iterations[pick(rng, 0, 3)]);
    tlnmf_settings_set_integer(ctx, x->settings, "seed", pick(rng, 0, 1000000));
    tlnmf_settings_set_integer(ctx, x->settings, "threads", 1);
    set(ctx, x, "trace", "true");
    set(ctx, x, "method", methods[method]);
    set(ctx, x, "solver", paper ? "paper" : "fast");
    set(ctx, x, "exchange", exchange ? "true" : "false");
    set(ctx, x, "continuation", continuation ? "true" : "false");
    draw_floor(ctx, x, rng);
    if (method != 1 && tl_rng_uniform(rng) < 0.25)
        draw_start(ctx, x, rng);
    else if (pick(rng, 0, 9) == 0)
        tlnmf_settings_set_integer(ctx, x->settings, "starts", 3);
    x->monotone = (method == 0 || method == 2) && !exchange && !continuation;
}

/* ---- checks ---------------------------------------------------------------------------------- */

typedef struct reference {
    long double C, L, size; /* size: the sum of the magnitudes of the terms of C */
    double longest;         /* norm of a frame */
} reference;

static reference recompute(const extreme *x, const tlnmf_record *model)
{
    const double *Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL),
                 *W = tlnmf_record_get_array(model, "W", NULL, NULL),
                 *H = tlnmf_record_get_array(model, "H", NULL, NULL);
    double eps = tlnmf_record_get_real(model, "eps");
    reference r = {.L = (long double)(x->M * x->N), .size = 1.0L};
    for (int64_t m = 0; m < x->M; m++)
        for (int64_t n = 0; n < x->N; n++) {
            long double V = eps, Vhat = eps, norm = 0.0L;
            for (int64_t s = 0; s < x->S; s++) {
                const double *frame = x->Y + s * x->M * x->N + n;
                long double c = 0.0L;
                for (int64_t i = 0; i < x->M; i++) {
                    c += (long double)Phi[m * x->M + i] * frame[i * x->N];
                    norm += (long double)frame[i * x->N] * frame[i * x->N];
                }
                V += c * c / (long double)x->S;
            }
            for (int64_t k = 0; k < x->K; k++)
                Vhat += (long double)W[m * x->K + k] * H[k * x->N + n];
            r.C += V / Vhat + logl(Vhat);
            r.L += logl(V);
            r.size += V / Vhat + fabsl(logl(Vhat));
            r.longest = fmax(r.longest, (double)sqrtl(norm));
        }
    return r;
}

static bool all_finite(const tlnmf_record *model, const char *name, bool nonnegative)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *x = tlnmf_record_get_array(model, name, NULL, shape);
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        if (!isfinite(x[i]) || (nonnegative && x[i] < 0.0))
            return false;
    return true;
}

static bool rises(const tlnmf_record *model, double size)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *C = tlnmf_record_get_array(model, "trace.C", NULL, shape);
    for (int64_t i = 1; C != NULL && i < shape[0]; i++)
        if (C[i] - C[i - 1] > 1e-9 * (fabs(C[i]) + size))
            return true;
    return false;
}

/* NULL, or a description of the error. */
static const char *judge(const extreme *x, const tlnmf_record *model)
{
    if (!all_finite(model, "Phi", false) || !all_finite(model, "W", true) ||
        !all_finite(model, "H", true))
        return "Phi, W, H";
    reference r = recompute(x, model);
    double C = tlnmf_record_get_real(model, "C"), L = tlnmf_record_get_real(model, "L");
    /* Rounding errors of a frame against sqrt(eps): beyond 1e-3 a warning says that C is noise. */
    double blur = 2.2e-16 * r.longest / sqrt(tlnmf_record_get_real(model, "eps"));
    double slack = 1e-12 + 50.0 * blur;
    if (!isfinite(C) || !isfinite(L))
        return "C or L is not finite";
    if (!(blur < 1e-3))
        return NULL;
    if (!(fabsl(r.C - C) <= slack * r.size))
        return "C is not that of Phi, W, H";
    if (!(fabsl(r.L - L) <= slack * (fabsl(r.L) + (long double)(x->M * x->N))))
        return "L is not that of Phi";
    return x->monotone && rises(model, (double)r.size * (1.0 + 1e6 * blur)) ? "C rose" : NULL;
}

static void extremes(void **state)
{
    (void)state;
    int64_t fitted = 0;
    double slowest = 0.0;
    for (int64_t i = 0; i < problems; i++) {
        tlnmf_ctx *ctx = new_ctx();
        tlnmf_data *data = NULL;
        tlnmf_record *model = NULL;
        extreme x = {0};
        tl_rng rng;
        struct timespec from, to;
        tl_rng_seed(&rng, TL_STREAM_OWN, seed, (uint64_t)i);
        draw_data(&x, &rng);
        draw_settings(ctx, &x, &rng);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        tlnmf_error error =
            tlnmf_data_from_realisations(ctx, x.Y, (int64_t[]){x.S, x.M, x.N}, &data);
        if (error == TLNMF_OK)
            error = tlnmf_fit(ctx, data, x.settings, x.start, &model);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        slowest = fmax(slowest, (double)(to.tv_sec - from.tv_sec) +
                                    1e-9 * (double)(to.tv_nsec - from.tv_nsec));
        const char *wrong = error == TLNMF_OK ? judge(&x, model) : NULL;
        if (wrong != NULL)
            fail_msg("problem %lld (kind %d, S M N K %d %d %d %d, method %d, solver %d): %s",
                     (long long)i, x.kind, (int)x.S, (int)x.M, (int)x.N, (int)x.K,
                     (int)tlnmf_settings_get_integer(x.settings, "method"),
                     (int)tlnmf_settings_get_integer(x.settings, "solver"), wrong);
        if (error != TLNMF_OK && tlnmf_message(ctx)[0] == '\0')
            fail_msg("problem %lld: %s without a message", (long long)i, tlnmf_error_name(error));
        if (error == TLNMF_ERR_NUMERIC)
            fail_msg("problem %lld: %s", (long long)i, tlnmf_message(ctx));
        fitted += error == TLNMF_OK;
        tlnmf_record_free(model);
        tlnmf_record_free(x.start);
        tlnmf_settings_free(x.settings);
        tlnmf_data_free(data);
        free(x.Y);
        tlnmf_ctx_free(ctx);
    }
    print_message("%lld extreme problems: %lld fitted, the others were refused; the slowest took "
                  "%.1f s\n",
                  (long long)problems, (long long)fitted, slowest);
    assert_true(fitted > problems / 2);
    assert_true(slowest < 10.0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        problems = strtol(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(extremes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
