/* Divides the time of an iteration into its parts: operations, bytes and rates.
 *
 *     build/bench/where [THREADS]      a table in Markdown for one thread and for THREADS (2)
 *
 * An iteration is one of paper mode's TL-NMF with one step tried: ten updates, the gradient at both
 * ends of the step, Gamma, exp(E), the new Phi and the transform. Operations and bytes are those of
 * jobs.c. Bytes count every input and output once, so a rate above that of the memory shows that
 * the cache was used. Times are the smallest of many calls: processor time for one thread, wall
 * time for several, which need idle cores. */
#include "base/base.h"
#include "base/openmp.h"
#include "flops.h"
#include "jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Phi = exp(E) Phi, the only part that is not a kernel. */
static void run_rotate(bed *b)
{
    int64_t M = b->is.M;
    tl_multiply(&tl_double, &(tl_product){TL_PLAIN, TL_PLAIN, M, M, M, 1.0, b->fast.Q, M, b->Phi, M,
                                          0.0, b->fast.Phi, M});
}

static double rotate_bytes(const bed *b)
{
    return 8.0 * 3.0 * (double)(b->is.M * b->is.M);
}

static const job rotate = {.name = "rotate", .run = run_rotate, .bytes = rotate_bytes};

static const struct {
    const char *name;
    int times;
} parts[] = {{"update", 10}, {"gradient", 2}, {"gamma", 1},
             {"exp", 1},     {"rotate", 1},   {"transform", 1}};
enum { PARTS = sizeof parts / sizeof *parts };

static const job *job_named(const char *name)
{
    for (int j = 0; j < job_count; j++)
        if (strcmp(jobs[j].name, name) == 0)
            return &jobs[j];
    return &rotate;
}

/* A part of an iteration at one size. */
typedef struct figures {
    const job *is;
    bed *b;
    double flops, bytes, seconds; /* of one call */
} figures;

static tlnmf_error measure(void *arg)
{
    figures *f = arg;
    double (*clock)(void) = tl_threads_here() == 1 ? tl_cpu_seconds : tl_wall_seconds;
    double since = tl_wall_seconds();
    f->seconds = INFINITY;
    for (int count = 0; count < 5 || tl_wall_seconds() - since < 0.5; count++) {
        double begin = clock();
        f->is->run(f->b);
        f->seconds = fmin(f->seconds, clock() - begin);
    }
    return TLNMF_OK;
}

static tlnmf_error count_operations(void *arg)
{
    figures *f = arg;
    double before = flops_so_far();
    f->is->run(f->b);
    f->flops = f->is->flops != NULL ? f->is->flops(f->b) : flops_so_far() - before;
    f->bytes = f->is->bytes(f->b);
    return TLNMF_OK;
}

static void print_rates(double flops, double bytes, double seconds)
{
    printf(" %.3g | %.3g | %.3g |", 1e3 * seconds, 1e-9 * flops / seconds, 1e-9 * bytes / seconds);
}

static void print_size(tlnmf_ctx *ctx, shape is, int threads)
{
    double flops = 0.0, bytes = 0.0, one = 0.0, many = 0.0;
    bed b;
    bed_create(ctx, is, &b);
    for (int i = 0; i < PARTS; i++) {
        figures f = {.is = job_named(parts[i].name), .b = &b};
        double times = parts[i].times;
        bed_reset(&b);
        tl_with_threads(1, count_operations, &f);
        tl_with_threads(1, measure, &f);
        one += times * f.seconds;
        flops += times * f.flops;
        bytes += times * f.bytes;
        printf("| %s | %d | %.3g | %.3g |", parts[i].name, parts[i].times, 1e-6 * times * f.flops,
               1e-6 * times * f.bytes);
        print_rates(times * f.flops, times * f.bytes, times * f.seconds);
        tl_with_threads(threads, measure, &f);
        many += times * f.seconds;
        print_rates(times * f.flops, times * f.bytes, times * f.seconds);
        printf("\n");
    }
    printf("| **%lld x %lld, K = %lld, S = %lld** | | %.3g | %.3g |", (long long)is.M,
           (long long)is.N, (long long)is.K, (long long)is.S, 1e-6 * flops, 1e-6 * bytes);
    print_rates(flops, bytes, one);
    print_rates(flops, bytes, many);
    printf("\n");
    bed_free(&b);
}

int main(int argc, char **argv)
{
    static const shape sizes[] = {
        {200, 151, 2, 1, false}, {200, 151, 2, 10, false}, {1024, 2000, 10, 1, false}};
    char *end = "";
    long threads = argc > 1 ? strtol(argv[1], &end, 10) : 2;
    tlnmf_ctx *ctx;
    if (argc > 2 || *end != '\0' || threads < 1 || threads > TL_THREADS_MOST) {
        fprintf(stderr, "usage: where [THREADS]\n");
        return 2;
    }
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 1;
    omp_set_num_threads(1); /* also of BLAS */
    printf("| part | times | Mflop | MB | ms | GF/s | GB/s | ms, %d threads | GF/s | GB/s |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n",
           (int)threads);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        print_size(ctx, sizes[i], (int)threads);
    tlnmf_ctx_free(ctx);
    return 0;
}
