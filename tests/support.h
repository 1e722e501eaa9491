/* Helpers of the library's tests: random problems and short checks. */
#ifndef TLNMF_TESTS_SUPPORT_H
#define TLNMF_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api.h"
#include "base/rng.h"
#include "tlnmf/paper.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define assert_ok(ctx, call)                                                              \
    do {                                                                                  \
        tlnmf_error error_ = (call);                                                      \
        if (error_ != TLNMF_OK) {                                                         \
            fail_msg("%s: %s (%s)", #call, tlnmf_message(ctx), tlnmf_error_name(error_)); \
            abort(); /* tells analysers that fail_msg() does not return */                \
        }                                                                                 \
    } while (0)

/* |a - b| <= tolerance, absolute; NaN fails. */
#define assert_near(a, b, tolerance)                                                           \
    do {                                                                                       \
        double a_ = (a), b_ = (b), tolerance_ = (tolerance);                                   \
        if (!(fabs(a_ - b_) <= tolerance_))                                                    \
            fail_msg("%s = %.17g, %s = %.17g: differ by %.3g, more than %.3g", #a, a_, #b, b_, \
                     fabs(a_ - b_), tolerance_);                                               \
    } while (0)

/* |a - b| <= tolerance |b|. */
#define assert_close(a, b, tolerance) assert_near(a, b, (tolerance)*fabs(b))

static inline tlnmf_ctx *new_ctx(void)
{
    tlnmf_ctx *ctx;
    assert_int_equal(tlnmf_ctx_create(&ctx), TLNMF_OK);
    return ctx;
}

static inline tlnmf_ctx *new_ctx_with(tlnmf_allocate_fn allocate, tlnmf_release_fn release,
                                      void *user)
{
    tlnmf_ctx *ctx;
    assert_int_equal(tlnmf_ctx_create_with(allocate, release, user, &ctx), TLNMF_OK);
    return ctx;
}

/* A progress function that cancels at its call number `last`. */
typedef struct canceller {
    int64_t calls, last;
} canceller;

static inline int cancel_at(const tlnmf_record *progress, void *user)
{
    (void)progress;
    canceller *c = user;
    return ++c->calls >= c->last;
}

static inline double *new_doubles(int64_t count)
{
    double *x = calloc((size_t)(count > 0 ? count : 1), sizeof *x);
    assert_non_null(x);
    return x;
}

static inline double *new_normals(tl_rng *rng, int64_t count)
{
    double *x = new_doubles(count);
    for (int64_t i = 0; i < count; i++)
        x[i] = tl_rng_normal(rng);
    return x;
}

static inline double *new_positives(tl_rng *rng, int64_t count)
{
    double *x = new_doubles(count);
    for (int64_t i = 0; i < count; i++)
        x[i] = fabs(tl_rng_normal(rng)) + 0.01;
    return x;
}

/* A random orthogonal matrix, by Gram-Schmidt, each row twice. */
static inline double *new_orthogonal(tl_rng *rng, int64_t M)
{
    double *A = new_normals(rng, M * M);
    for (int64_t i = 0; i < M; i++) {
        double norm = 0.0;
        for (int64_t j = 0; j < 2 * i; j++) {
            double dot = 0.0, *row = A + j % i * M;
            for (int64_t m = 0; m < M; m++)
                dot += A[i * M + m] * row[m];
            for (int64_t m = 0; m < M; m++)
                A[i * M + m] -= dot * row[m];
        }
        for (int64_t m = 0; m < M; m++)
            norm += A[i * M + m] * A[i * M + m];
        for (int64_t m = 0; m < M; m++)
            A[i * M + m] /= sqrt(norm);
    }
    return A;
}

/* A random whole number in [low, high]. */
static inline int64_t pick(tl_rng *rng, int64_t low, int64_t high)
{
    return low + (int64_t)(tl_rng_uniform(rng) * (double)(high - low + 1));
}

static inline double largest_difference(int64_t count, const double *a, const double *b)
{
    double worst = 0.0;
    for (int64_t i = 0; i < count; i++)
        worst = fmax(worst, isnan(a[i] - b[i]) ? INFINITY : fabs(a[i] - b[i]));
    return worst;
}

static inline double largest(int64_t count, const double *a)
{
    double worst = 0.0;
    for (int64_t i = 0; i < count; i++)
        worst = fmax(worst, fabs(a[i]));
    return worst;
}

/* ---- settings as plain fields ---------------------------------------------------------------- */

static inline tl_settings defaults_of(tl_task task)
{
    tl_settings settings = {0};
    tl_settings_defaults(task, &settings);
    return settings;
}

static inline tl_settings fit_settings(int64_t k)
{
    tl_settings settings = defaults_of(TL_TASK_FIT);
    settings.k = k;
    return settings;
}

/* ---- data ------------------------------------------------------------------------------------ */

static inline tlnmf_data *data_of(tlnmf_ctx *ctx, const double *Y, int64_t S, int64_t M, int64_t N)
{
    tlnmf_data *data;
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, (int64_t[]){S, M, N}, &data));
    return data;
}

/* C of a fit with these options, "k=3 J=20". */
static inline double fitted_C(tlnmf_ctx *ctx, tlnmf_data *data, const char *options)
{
    tlnmf_settings *settings;
    tlnmf_record *model;
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, options));
    assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
    double C = tlnmf_record_get_real(model, "C");
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    return C;
}

static inline tlnmf_data *covariances_of(tlnmf_ctx *ctx, const double *Sigma, int64_t N, int64_t M)
{
    tlnmf_data *data;
    assert_ok(ctx, tlnmf_data_from_covariances(ctx, Sigma, (int64_t[]){N, M, M}, &data));
    return data;
}

/* Copies the array of a record to `to`, unless that is NULL. */
static inline void copy_array(const tlnmf_record *record, const char *name, double *to)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS], count = 1;
    const double *x = tlnmf_record_get_array(record, name, NULL, shape);
    assert_non_null(x);
    for (int i = 0; i < TLNMF_MAX_DIMENSIONS; i++)
        count *= shape[i];
    if (to != NULL)
        memcpy(to, x, (size_t)count * sizeof *to);
}

/* The data set of the Gaussian composite model. */
typedef struct gcm_recipe {
    int64_t S, M, N, K;
    uint64_t seed_truth, seed_data;
    tl_stream stream;
} gcm_recipe;

/* Y is S x M x N; W (M x K) and H (K x N) may be NULL. */
static inline void simulate_gcm(tlnmf_ctx *ctx, gcm_recipe recipe, double *Y, double *W, double *H)
{
    tl_settings settings = defaults_of(TL_TASK_GCM);
    tlnmf_record *sample;
    settings.gcm_S = recipe.S;
    settings.gcm_M = recipe.M;
    settings.gcm_N = recipe.N;
    settings.gcm_K = recipe.K;
    settings.seed_truth = recipe.seed_truth;
    settings.seed_data = recipe.seed_data;
    settings.stream = (int32_t)recipe.stream;
    assert_ok(ctx, tlnmf_simulate_gcm(ctx, &settings, &sample));
    copy_array(sample, "Y", Y);
    copy_array(sample, "W", W);
    copy_array(sample, "H", H);
    tlnmf_record_free(sample);
}

/* The shape of the paper's music notes. */
enum { NOTES_M = 200, NOTES_N = 151, NOTES_LENGTH = 15000, NOTES_RATE = 5000 };

/* theta is S x 2, Y is S x NOTES_M x NOTES_N; the signal, S x NOTES_LENGTH, may be NULL. */
static inline void simulate_notes(tlnmf_ctx *ctx, int64_t S, const double *theta, double *Y,
                                  double *signal)
{
    tlnmf_record *sample;
    assert_ok(ctx, tlnmf_simulate_notes(ctx, theta, S, &sample));
    copy_array(sample, "Y", Y);
    copy_array(sample, "signal", signal);
    tlnmf_record_free(sample);
}

/* ---- points ---------------------------------------------------------------------------------- */

/* C, L, I of a point; the gradient of C over Phi (M x M) unless it is NULL. */
static inline tl_values values_at(tlnmf_ctx *ctx, const tlnmf_data *data, tl_model_point point,
                                  double *Ganti)
{
    tl_values values;
    assert_ok(ctx, tl_evaluate(ctx, data, &point, &values, Ganti));
    return values;
}

#endif
