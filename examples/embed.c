/* A context, data, settings and a fit, with every error checked. first.c is shorter.
 *
 *     cc embed.c $(pkg-config --cflags --libs tlnmf) -o embed */
#include <tlnmf/paper.h> /* only for the data that this example makes up */
#include <tlnmf/tlnmf.h>

#include <stdio.h>
#include <stdlib.h>

enum { S = 10, M = 10, N = 50 }; /* S realisations of N frames of length M */

/* Prints the message of an error and exits. */
static void check(const tlnmf_ctx *ctx, tlnmf_error error)
{
    if (error != TLNMF_OK) {
        fprintf(stderr, "%s error: %s\n", tlnmf_error_name(error), tlnmf_message(ctx));
        exit(1);
    }
}

/* Data that follow the model, with their truth: Y[s][m][n]. */
static tlnmf_record *simulate(tlnmf_ctx *ctx)
{
    tlnmf_settings *settings;
    tlnmf_record *sample;
    check(ctx, tlnmf_settings_create(ctx, "gcm", &settings));
    check(ctx, tlnmf_settings_set_all(ctx, settings, "s=10 m=10 n=50 stream=numpy"));
    check(ctx, tlnmf_simulate_gcm(ctx, settings, &sample));
    tlnmf_settings_free(settings);
    return sample;
}

int main(void)
{
    tlnmf_ctx *ctx;
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 1;

    tlnmf_record *sample = simulate(ctx);
    const double *Y = tlnmf_record_get_array(sample, "Y", NULL, NULL);
    const int64_t shape[3] = {S, M, N};
    tlnmf_data *data;
    check(ctx, tlnmf_data_from_realisations(ctx, Y, shape, &data));
    tlnmf_record_free(sample); /* the data are a copy */

    tlnmf_settings *settings;
    check(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    check(ctx, tlnmf_settings_set_all(ctx, settings, "k=5 starts=4"));
    check(ctx, tlnmf_settings_set_real(ctx, settings, "eps", 1e-8)); /* or a single option */

    tlnmf_record *model;
    check(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
    printf("C = %.6f = L + I = %.6f + %.6f, stopped by: %s\n", tlnmf_record_get_real(model, "C"),
           tlnmf_record_get_real(model, "L"), tlnmf_record_get_real(model, "I"),
           tlnmf_record_get_text(model, "outcome"));
    const double *Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL); /* M x M */
    printf("first row of Phi:");
    for (int m = 0; m < M; m++)
        printf(" %.3f", Phi[m]);
    printf("\n");

    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return 0;
}
