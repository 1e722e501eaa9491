/* Times the kernels and their plain-loop twins, and measures the rates of the machine, in CPU time
 * on one thread.
 *
 *     build/bench/kernels [--quick]    one JSON object; --quick skips the large shapes
 *     build/bench/kernels --minima     for compare.sh: the smallest time of each kernel, no twins
 *     build/bench/kernels --check      compares every kernel with its twin at awkward shapes,
 *                                      without timing */
#include "base/openmp.h"
#include "flops.h"
#include "jobs.h"
#include "machine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REPEATS = 7 };

/* Shapes, in the order of the bits of jobs.h. */
static const struct {
    unsigned which;
    shape is;
} timed[] = {{NOTES, {200, 151, 2, 1, false}},
             {MANY, {200, 151, 2, 10, false}},
             {GCM, {10, 50, 5, 1000, false}},
             {LARGE, {1024, 2000, 10, 1, false}},
             {LARGE_K20, {1024, 2000, 20, 1, false}}};

/* In seconds: the minimum time of one repeat, and the total time after which repeats end. */
typedef struct patience {
    double enough, most;
} patience;

/* ---- time ------------------------------------------------------------------------------------ */

typedef void (*call)(bed *b);

static double seconds(call run, bed *b, int calls)
{
    double since = tl_cpu_seconds();
    for (int i = 0; i < calls; i++)
        run(b);
    return tl_cpu_seconds() - since;
}

/* Milliseconds of one call: the median over repeats. A repeat has enough calls to take the minimum
 * time. Kernels that need a reset have one call per repeat. */
static double milliseconds(call run, bed *b, bool starts_anew, patience p)
{
    double times[REPEATS], spent = 0.0;
    int calls = 1, count = 0;
    bed_reset(b);
    double once = seconds(run, b, 1);
    for (; !starts_anew && once < p.enough && calls < 1000000; once = seconds(run, b, calls))
        calls *= 2;
    spent = once;
    if (once > p.most)
        return 1e3 * once / calls;
    while (count < REPEATS && (count < 3 || spent < p.most)) {
        if (starts_anew)
            bed_reset(b);
        double s = seconds(run, b, calls);
        times[count++] = 1e3 * s / calls;
        spent += s;
    }
    return median(count, times);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Runs the kernel once, from the beginning. */
static double flops_of(const job *j, bed *b)
{
    bed_reset(b);
    double before = flops_so_far();
    j->run(b);
    return j->flops != NULL ? j->flops(b) : flops_so_far() - before;
}

static double difference_of(const job *j, bed *b)
{
    bed_reset(b);
    j->run(b);
    j->run_twin(b);
    return j->difference(b);
}

static void print_job(const job *j, unsigned which, bed *b, patience p)
{
    printf("{\"kernel\": \"%s\", \"M\": %lld, \"N\": %lld, \"K\": %lld, \"S\": %lld, "
           "\"flops\": %.6g, \"bytes\": %.6g, \"ms\": %.6g",
           j->name, (long long)b->is.M, (long long)b->is.N, (long long)b->is.K, (long long)b->is.S,
           flops_of(j, b), j->bytes(b), milliseconds(j->run, b, j->starts_anew, p));
    if (j->twin_shapes & which)
        printf(", \"twin_ms\": %.6g, \"difference\": %.3g, \"tolerance\": %.3g",
               milliseconds(j->run_twin, b, j->starts_anew, p), difference_of(j, b), j->tolerance);
    printf("}");
}

static void measure(tlnmf_ctx *ctx, bool quick)
{
    const patience p = quick ? (patience){0.005, 0.05} : (patience){0.02, 0.4};
    const char *separator = "";
    printf("{\"blas\": \"%s\", \"gemm_flops\": %.6g, \"read_bytes\": %.6g, \"kernels\": [",
           tlnmf_blas(), machine_gemm(ctx, quick ? 512 : 1024), machine_read(ctx));
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++) {
        if (quick && timed[i].is.M > 200)
            continue;
        bed b;
        bed_create(ctx, timed[i].is, &b);
        for (int j = 0; j < job_count; j++)
            if (jobs[j].shapes & timed[i].which) {
                printf("%s\n ", separator);
                print_job(&jobs[j], timed[i].which, &b, p);
                separator = ",";
            }
        bed_free(&b);
    }
    printf("\n]}\n");
}

/* Milliseconds of the fastest call, which other programs on the machine disturb least: over a
 * quarter of a second of repeats of at least a millisecond, or three repeats. */
static double least(const job *j, bed *b)
{
    double once = 0.0, best = INFINITY, spent = 0.0;
    int calls = 1;
    bed_reset(b);
    for (once = seconds(j->run, b, 1); !j->starts_anew && once < 1e-3 && calls < 1000000;
         once = seconds(j->run, b, calls))
        calls *= 2;
    for (int count = 0; count < 3 || spent < 0.25; count++) {
        if (j->starts_anew)
            bed_reset(b);
        double s = seconds(j->run, b, calls);
        best = fmin(best, s / calls);
        spent += s;
    }
    return 1e3 * best;
}

/* Prints a line per kernel: its smallest time, its name and its shape. */
static void minima(tlnmf_ctx *ctx)
{
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++) {
        bed b;
        bed_create(ctx, timed[i].is, &b);
        for (int j = 0; j < job_count; j++)
            if (jobs[j].shapes & timed[i].which)
                printf("%.6g %s, %lld x %lld, K = %lld, S = %lld\n", least(&jobs[j], &b),
                       jobs[j].name, (long long)b.is.M, (long long)b.is.N, (long long)b.is.K,
                       (long long)b.is.S);
        bed_free(&b);
    }
}

/* Compares all kernels with their twins; returns the number of failures. */
static int check(tlnmf_ctx *ctx)
{
    static const shape shapes[] = {
        {1, 1, 1, 1, false},   {2, 3, 1, 2, false},    {7, 5, 3, 4, false},  {8, 16, 2, 1, false},
        {13, 33, 2, 1, false}, {33, 40, 5, 60, false}, {16, 40, 2, 1, true}, {21, 67, 3, 3, true}};
    int compared = 0, failures = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        bed b;
        bed_create(ctx, shapes[i], &b);
        for (int j = 0; j < job_count; j++, compared++) {
            double off = difference_of(&jobs[j], &b);
            if (off <= jobs[j].tolerance)
                continue;
            failures++;
            fprintf(stderr,
                    "%s at M = %lld, N = %lld, K = %lld, S = %lld: off by %.3g, more than %.3g\n",
                    jobs[j].name, (long long)b.is.M, (long long)b.is.N, (long long)b.is.K,
                    (long long)b.is.S, off, jobs[j].tolerance);
        }
        bed_free(&b);
    }
    printf("%d comparisons of kernels with their twins, %d failed\n", compared, failures);
    return failures;
}

int main(int argc, char **argv)
{
    bool checks = argc == 2 && strcmp(argv[1], "--check") == 0;
    bool quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    bool compares = argc == 2 && strcmp(argv[1], "--minima") == 0;
    if (argc > 1 && !checks && !quick && !compares) {
        fprintf(stderr, "usage: kernels [--quick | --minima | --check]\n");
        return 2;
    }
    tlnmf_ctx *ctx;
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 1;
    omp_set_num_threads(1); /* also of BLAS */
    int failures = 0;
    if (checks)
        failures = check(ctx);
    else if (compares)
        minima(ctx);
    else
        measure(ctx, quick);
    tlnmf_ctx_free(ctx);
    return failures == 0 ? 0 : 1;
}
