/* Prints C after 20 iterations of both solvers on the paper's two data sets, and compares it with
 * the values of one machine: compilers, processors and BLAS libraries must agree to 10 digits.
 *
 *     objective          exit status: the number of values that differ
 *
 * docs/measurements/portability.md has its output on other processors. */
#include "tlnmf/paper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { S = 2, PHASES = 2 * S };

typedef struct trial {
    const char *data, *solver, *options;
    double C;
} trial;

static const trial trials[] = {
    {"gcm", "paper", "k=5 method=tl solver=paper eps=1e-8 J=20 tol=0", 1752.7129184837529},
    {"gcm", "fast", "k=5 method=tl solver=fast eps=1e-8 J=20 tol=0 grad-tol=0 hops=0",
     1750.1732874061076},
    {"notes", "paper", "k=2 method=tl solver=paper eps=5e-7 J=20 tol=0", -405499.96805063391},
    {"notes", "fast", "k=2 method=tl solver=fast eps=5e-7 J=20 tol=0 grad-tol=0 hops=0",
     -405500.34284779482},
};

static const double ALLOWED = 1e-10; /* relative */

static void check(const tlnmf_ctx *ctx, tlnmf_error error)
{
    if (error != TLNMF_OK) {
        fprintf(stderr, "%s error: %s\n", tlnmf_error_name(error), tlnmf_message(ctx));
        exit(125);
    }
}

static tlnmf_data *make_data(tlnmf_ctx *ctx, const char *name)
{
    tlnmf_record *sample;
    tlnmf_data *data;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    if (name[0] == 'g') {
        tlnmf_settings *settings;
        check(ctx, tlnmf_settings_create(ctx, "gcm", &settings));
        check(ctx, tlnmf_settings_set_all(ctx, settings, "s=10 m=10 n=50"));
        check(ctx, tlnmf_simulate_gcm(ctx, settings, &sample));
        tlnmf_settings_free(settings);
    } else {
        double theta[PHASES];
        check(ctx, tlnmf_random_phases(ctx, 7, TLNMF_STREAM_OWN, PHASES, theta));
        check(ctx, tlnmf_simulate_notes(ctx, theta, S, &sample));
    }
    const double *Y = tlnmf_record_get_array(sample, "Y", NULL, shape);
    check(ctx, tlnmf_data_from_realisations(ctx, Y, shape, &data));
    tlnmf_record_free(sample);
    return data;
}

static double fit(tlnmf_ctx *ctx, const trial *t)
{
    tlnmf_data *data = make_data(ctx, t->data);
    tlnmf_settings *settings;
    tlnmf_record *model;
    check(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    check(ctx, tlnmf_settings_set_all(ctx, settings, t->options));
    check(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
    double C = tlnmf_record_get_real(model, "C");
    if (tlnmf_record_get_integer(model, "iterations") != 20)
        C = NAN; /* another stopping test ended the fit: C is not comparable */
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    return C;
}

int main(void)
{
    int wrong = 0;
    tlnmf_ctx *ctx;
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 125;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        const trial *t = &trials[i];
        double C = fit(ctx, t), off = fabs(C - t->C) / fabs(t->C);
        printf("%-5s %-5s C = %.17g, relative difference %.1e%s\n", t->data, t->solver, C, off,
               off <= ALLOWED ? "" : " (too large)");
        wrong += !(off <= ALLOWED);
    }
    tlnmf_ctx_free(ctx);
    return wrong;
}
