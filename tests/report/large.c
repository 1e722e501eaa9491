/* Writes the page of a model of any size, with random numbers and a trace.
 * usage: report_large PAGE M N K ITERATIONS [nan]      nan: C of every other iteration is NaN */
#include "tlnmf/io.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static tlnmf_ctx *ctx;

static void need(tlnmf_error error)
{
    if (error == TLNMF_OK)
        return;
    fprintf(stderr, "report_large: %s\n", tlnmf_message(ctx));
    exit(1);
}

static double noise(void)
{
    static unsigned seed = 1;
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / 16777216.0;
}

static double *add(tlnmf_record *model, const char *name, int32_t rank, int64_t rows,
                   int64_t columns)
{
    double *x;
    need(tlnmf_record_new_array(ctx, model, name, rank, (int64_t[]){rows, columns}, &x));
    return x;
}

int main(int argc, char **argv)
{
    static const char *const trace[] = {"trace.stage", "trace.iteration", "trace.C",
                                        "trace.L",     "trace.I",         "trace.step"};
    tlnmf_record *model;
    if (argc < 6 || tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 2;
    int64_t M = strtoll(argv[2], NULL, 10), N = strtoll(argv[3], NULL, 10),
            K = strtoll(argv[4], NULL, 10), rows = strtoll(argv[5], NULL, 10);
    need(tlnmf_record_create(ctx, &model));
    need(tlnmf_transform_matrix(ctx, "dct", M, add(model, "Phi", 2, M, M)));
    double *W = add(model, "W", 2, M, K), *H = add(model, "H", 2, K, N);
    double *V = add(model, "V", 2, M, N);
    for (int64_t i = 0; i < M * K; i++)
        W[i] = noise() / (1.0 + (double)(i / K % 97));
    for (int64_t i = 0; i < K * N; i++)
        H[i] = noise();
    for (int64_t i = 0; i < M * N; i++)
        V[i] = noise();
    for (int c = 0; c < 6; c++) {
        double *x = add(model, trace[c], 1, rows, 1);
        for (int64_t i = 0; i < rows; i++)
            x[i] = c == 0 ? 0.0 : c == 1 ? (double)i : 1000.0 / ((double)i + 1.0);
        for (int64_t i = 0; argc > 6 && c > 1 && i < rows; i += 2)
            x[i] = NAN;
    }
    need(tlnmf_record_set_real(ctx, model, "C", 123.5));
    need(tlnmf_io_write_report(ctx, argv[1], model, NULL, NULL));
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
    return 0;
}
