/* Times iterations, sweeps, updates and whole fits of the GPU engine, next to the cpu engine.
 * usage: gpu PART[:NUMBERS]..      the parts: see the table before main() */
#include "base/rng.h"
#include "engine/device.h"
#include "gpu_sound.h"
#include "gpu_watch.h"
#include "search/search.h"
#include "tlnmf/paper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void stop(const char *why)
{
    fprintf(stderr, "gpu: %s\n", why);
    exit(1);
}

static void check(tlnmf_ctx *ctx, tlnmf_error error)
{
    if (error != TLNMF_OK)
        stop(tlnmf_message(ctx));
}

/* The library of the GPU engine, after its first use. */
static const tl_device_library *library;

static double *numbers(int64_t count)
{
    double *x = malloc((size_t)count * sizeof *x);
    if (x == NULL)
        stop("no memory");
    return x;
}

/* Frames of `rank` columns each; rows and frames of different power. */
static tlnmf_data *new_data(int64_t M, int64_t N, int64_t rank)
{
    tlnmf_data *data = calloc(1, sizeof *data);
    int64_t T = N * rank;
    if (data == NULL)
        stop("no memory");
    *data = (tlnmf_data){.M = M, .N = N, .all = N, .S = rank, .T = T, .one_each = rank == 1};
    data->R = numbers(M * T);
    data->offset = malloc((size_t)(N + 1) * sizeof *data->offset);
    if (data->offset == NULL)
        stop("no memory");
    for (int64_t n = 0; n <= N; n++)
        data->offset[n] = n * rank;
    uint64_t state = 88172645463325252u; /* xorshift: good enough for data, and fast */
    double power = 0.0;
    for (int64_t m = 0; m < M; m++) {
        enum { LEVELS = 11 };
        double level[LEVELS];
        for (int i = 0; i < LEVELS; i++)
            level[i] = exp(cos(0.01 * (double)m + 0.37 * i));
        for (int64_t t = 0; t < T; t++) {
            double x = 0.0;
            for (int i = 0; i < 3; i++) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                x += (double)(state >> 11) * 0x1p-53 - 0.5;
            }
            x *= level[t / rank % LEVELS];
            data->R[m * T + t] = x;
            power += x * x;
        }
    }
    data->mean_power = power / ((double)M * (double)N);
    return data;
}

static void free_data(tlnmf_data *data)
{
    free(data->R);
    free(data->offset);
    free(data);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(int count, double *x)
{
    qsort(x, (size_t)count, sizeof *x, by_size);
    return x[count / 2];
}

/* ---- iterations ------------------------------------------------------------------------------ */

typedef struct shape {
    int64_t M, N, K;
    int count; /* timed iterations */
} shape;

/* The first point: DCT, W and H of ones. */
static tlnmf_error first_point(const tl_point *point, void *user)
{
    (void)user;
    tl_dct(point->M, point->Phi);
    for (int64_t i = 0; i < point->M * point->K; i++)
        point->W[i] = (1.0 + 0.5 * cos((double)i)) / (double)point->M;
    for (int64_t i = 0; i < point->K * point->N; i++)
        point->H[i] = (double)point->M * (1.0 + 0.5 * sin((double)i)) / (double)point->K;
    return TLNMF_OK;
}

/* Operations of products so far. Only the GPU engine counts them; 0 for others. */
static double flops_of(const tl_engine *e)
{
    bool is_gpu = library != NULL && (e->ops == library->engine || e->ops == library->mixed);
    return is_gpu ? library->flops(e) : 0.0;
}

/* One iteration of the fast solver's L-BFGS. Returns the number of steps tried. */
static int iterate(tl_engine *e, int i, double *value)
{
    tl_engine_norm(e, i % 5 == 0);
    tl_aim aim = tl_engine_aim(e, TL_LBFGS);
    double a = aim.first, now = INFINITY;
    int tries = 0;
    for (; tries < 30; tries++, a *= 0.5) {
        now = tl_engine_try(e, a);
        if (now < *value)
            break;
    }
    tl_engine_take(e, now < *value ? a : 0.0);
    *value = fmin(now, *value);
    return tries + 1;
}

static void time_iterations(const tl_engine_ops *ops, const shape *s)
{
    enum { MOST = 100 };
    tlnmf_ctx *ctx;
    tl_engine *e;
    double each[MOST] = {0.0};
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        stop("no memory");
    tlnmf_data *data = new_data(s->M, s->N, 1);
    const tl_model model = {.data = data, .K = s->K, .eps = 0.01 * data->mean_power, .gamma = 1.0};
    check(ctx, ops->create(ctx, &(tl_engine_spec){.model = &model, .moves = TL_ALL}, &e));
    tl_engine_fill(e, TL_ALL, first_point, NULL);
    tl_engine_precision(e, true); /* where there is a choice */
    double since = tl_wall_seconds();
    tl_engine_update(e, TL_W | TL_H, 20);
    tl_engine_values(e, TL_C);
    double update = (tl_wall_seconds() - since) / 20.0, sweeps[5] = {0.0};
    int sweep_count = s->count < 5 ? 1 : 5; /* a profiler needs few of each operation */
    for (int i = 0; i < sweep_count; i++) {
        since = tl_wall_seconds();
        tl_engine_sweep(e, TL_C, e->eps, 0.0);
        sweeps[i] = tl_wall_seconds() - since;
    }
    double value = tl_engine_begin(e, TL_ALL);
    int tries = 0;
    for (int i = 0; i < (sweep_count > 1 ? 10 : 0); i++)
        iterate(e, i, &value);
    int count = s->count < MOST ? s->count : MOST;
    double before = flops_of(e);
    for (int i = 0; i < count; i++) {
        since = tl_wall_seconds();
        tries += iterate(e, i, &value);
        tl_engine_norm(e, false);
        each[i] = tl_wall_seconds() - since;
    }
    double mean = 0.0;
    for (int i = 0; i < count; i++)
        mean += each[i] / count;
    double per = (double)tries / count, flops = (flops_of(e) - before) / count;
    printf("%-16s %5lld x %5lld K %2lld  iteration %8.3f ms (mean %8.3f, %.2f tries, products %.1f "
           "GF, %.1f TF/s)  sweep %8.3f ms  update %7.3f ms  C %.12g\n",
           ops->name, (long long)s->M, (long long)s->N, (long long)s->K, 1e3 * median(count, each),
           1e3 * mean, per, 1e-9 * flops, 1e-12 * flops / mean, 1e3 * median(sweep_count, sweeps),
           1e3 * update, value);
    fflush(stdout);
    e->ops->free(e);
    free_data(data);
    tlnmf_ctx_free(ctx);
}

/* ---- whole fits ------------------------------------------------------------------------------ */

typedef struct tally {
    int64_t good, all;
    double aim;
} tally;

/* Counts the starts whose C is good enough, from the log. */
static void count_good(tlnmf_log_level level, const char *message, void *user)
{
    tally *t = user;
    const char *C = strstr(message, "C = ");
    (void)level;
    if (C == NULL)
        return;
    t->all++;
    t->good += strtod(C + 4, NULL) <= t->aim;
}

/* Returns the seconds it took. */
static double time_fit(const tl_engine_ops *ops, const char *name, tl_search_task *task)
{
    tlnmf_ctx *ctx;
    tl_result *result;
    tally t = {.aim = -405498.0};
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        stop("no memory");
    tlnmf_ctx_set_log(ctx, count_good, &t);
    task->engine = ops;
    double since = tl_wall_seconds();
    check(ctx, tl_search(ctx, task, &result));
    double seconds = tl_wall_seconds() - since;
    printf("%-9s %-6s %5lld x %5lld (%lld columns) K %2lld, %lld starts: %8.3f s, %lld iterations, "
           "C %.12g, L %.12g, %s",
           ops->name, name, (long long)task->data->M, (long long)task->data->N,
           (long long)task->data->T, (long long)task->opt->k, (long long)task->opt->starts, seconds,
           (long long)result->info.iterations, result->info.C, result->info.L,
           tlnmf_outcome_name((tlnmf_outcome)result->info.outcome));
    if (task->opt->starts > 1)
        printf(", %lld of %lld below %.1f", (long long)t.good, (long long)t.all, t.aim);
    putchar('\n');
    fflush(stdout);
    tl_result_free(result);
    tlnmf_ctx_free(ctx);
    return seconds;
}

static tl_settings settings_of(tl_task task, int64_t K)
{
    tl_settings opt;
    tl_settings_defaults(task, &opt);
    opt.k = K;
    opt.method = TL_METHOD_TL;
    return opt;
}

/* `starts` starts on the music notes, `at_once` concurrently; 0: the engine's own number. */
static void notes(const tl_engine_ops *ops, const shape *s)
{
    tl_engine_ops engine = *ops;
    if (s->N > 0)
        engine.at_once = (int)s->N;
    tlnmf_ctx *ctx;
    tlnmf_record *sample;
    tlnmf_data *data;
    const double theta[] = {4.566139588724956, 5.105464657836703}; /* the paper's: tests/golden */
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        stop("no memory");
    check(ctx, tlnmf_simulate_notes(ctx, theta, 1, &sample));
    check(ctx, tlnmf_data_from_realisations(ctx, tlnmf_record_get_array(sample, "Y", NULL, NULL),
                                            (int64_t[]){1, 200, 151}, &data));
    tl_settings opt = settings_of(TL_TASK_FIT, 2);
    opt.starts = s->M;
    time_fit(&engine, "notes",
             &(tl_search_task){.goal = TL_GOAL_TL, .data = data, .opt = &opt, .eps = 5e-7});
    tlnmf_data_free(data);
    tlnmf_record_free(sample);
    tlnmf_ctx_free(ctx);
}

/* TL-NMF from the DCT, `count` iterations. */
static void large(const tl_engine_ops *ops, const shape *s)
{
    tlnmf_data *data = new_data(s->M, s->N, 1);
    tl_settings opt = settings_of(TL_TASK_FIT, s->K);
    opt.transform = TL_TRANSFORM_DCT;
    opt.J = s->count;
    opt.tol = opt.grad_tol = 0.0;
    print_spent(time_fit(
        with_watch(ops, flops_of), "large",
        &(tl_search_task){
            .goal = TL_GOAL_TL, .data = data, .opt = &opt, .eps = 0.01 * data->mean_power}));
    free_data(data);
}

/* N covariances of M x M. */
static void diagonalise(const tl_engine_ops *ops, const shape *s)
{
    tlnmf_data *data = new_data(s->M, s->N, s->M);
    tl_settings opt = settings_of(TL_TASK_JD, 1);
    print_spent(time_fit(
        with_watch(ops, flops_of), "jd",
        &(tl_search_task){
            .goal = TL_GOAL_JD, .data = data, .opt = &opt, .eps = 0.01 * data->mean_power}));
    free_data(data);
}

/* M seconds of stereo. */
static void separate(const tl_engine_ops *ops, const shape *s)
{
    time_separation(ops == &tl_engine_cpu ? "cpu" : "gpu", s->M);
}

/* ---- the parts ------------------------------------------------------------------------------- */

enum { SHAPES_MOST = 5 };
/* The table of docs/measurements/gpu.md, in either precision. */
#define GROWING                                                                           \
    {200, 151, 2, 100}, {441, 4800, 4, 100}, {1024, 2000, 10, 100}, {2048, 5000, 10, 40}, \
    {                                                                                     \
        4096, 10000, 20, 20                                                               \
    }
typedef enum { CPU, GPU, GPU_MIXED } place;

/* The parts with their engines and shapes (the first count of 0 ends the list). Numbers after the
 * name of a part, as in large:2048x5000x10x3, replace its shapes. starts:1000x16 is 1000 starts, 16
 * concurrently. The profiles have few iterations of one size, for a profiler. */
static const struct part {
    const char *name;
    place on;
    void (*run)(const tl_engine_ops *ops, const shape *s);
    shape shapes[SHAPES_MOST];
} parts[] = {
    {"iterations", GPU, time_iterations, {GROWING}},
    {"rough", GPU_MIXED, time_iterations, {GROWING}},
    {"cpu", CPU, time_iterations, {{200, 151, 2, 10}, {441, 4800, 4, 10}, {1024, 2000, 10, 10}}},
    {"starts", GPU, notes, {{1000, 0, 0, 1}}},
    {"cpu-starts", CPU, notes, {{1000, 0, 0, 1}}},
    {"large", GPU, large, {{4096, 10000, 20, 200}}},
    {"large-mixed", GPU_MIXED, large, {{4096, 10000, 20, 200}}},
    {"cpu-large", CPU, large, {{2048, 5000, 10, 3}}},
    {"jd", GPU, diagonalise, {{256, 1000, 0, 1}}},
    {"cpu-jd", CPU, diagonalise, {{256, 1000, 0, 1}}},
    {"separate", GPU, separate, {{300, 0, 0, 1}}},
    {"cpu-separate", CPU, separate, {{300, 0, 0, 1}}},
    {"huge", GPU, time_iterations, {{8192, 20000, 20, 5}}},
    {"huge-fit", GPU, large, {{8192, 20000, 20, 20}}},
    {"profile", GPU, time_iterations, {{4096, 10000, 20, 3}}},
    {"profile-rough", GPU_MIXED, time_iterations, {{4096, 10000, 20, 3}}},
};
enum { PARTS = sizeof parts / sizeof *parts };

/* Warms up with a small engine. Returns the seconds that opening CUDA took. */
static double warm_up(const tl_engine_ops *ops)
{
    tlnmf_ctx *ctx;
    tl_engine *e;
    double since = tl_wall_seconds();
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        stop("no memory");
    tlnmf_data *data = new_data(64, 64, 1);
    const tl_model model = {.data = data, .K = 2, .eps = 0.01 * data->mean_power, .gamma = 1.0};
    check(ctx, ops->create(ctx, &(tl_engine_spec){.model = &model, .moves = TL_ALL}, &e));
    tl_engine_fill(e, TL_ALL, first_point, NULL);
    tl_engine_begin(e, TL_ALL);
    tl_engine_norm(e, true);
    e->ops->free(e);
    free_data(data);
    tlnmf_ctx_free(ctx);
    return tl_wall_seconds() - since;
}

/* The engine of a device. A missing GPU is an error. */
static const tl_engine_ops *engine_on(place on)
{
    char why[TL_DEVICE_TEXT];
    tl_device device;
    if (on == CPU)
        return &tl_engine_cpu;
    if (library == NULL) {
        library = tl_device_load(why);
        if (library == NULL || !library->find(0, &device, why))
            stop(why);
        printf("%s, %.1f GB, %.1f free; opened in %.2f s\n", device.name, 1e-9 * device.memory,
               1e-9 * device.free, warm_up(library->engine));
    }
    return on == GPU ? library->engine : library->mixed;
}

static void run_part(const struct part *p, const char *numbers)
{
    const tl_engine_ops *ops = engine_on(p->on);
    if (numbers[0] == ':') {
        shape s = p->shapes[0];
        long long x[4] = {s.M, s.N, s.K, s.count};
        for (int i = 0; i < 4 && *numbers != '\0'; i++) {
            char *end;
            x[i] = strtoll(numbers + 1, &end, 10); /* after ':' or 'x' */
            if (end == numbers + 1 || (*end != 'x' && *end != '\0'))
                stop("numbers are MxNxKxCOUNT");
            numbers = end;
        }
        p->run(ops, &(shape){x[0], x[1], x[2], (int)x[3]});
        return;
    }
    for (int i = 0; i < SHAPES_MOST && p->shapes[i].count > 0; i++)
        p->run(ops, &p->shapes[i]);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t length = strcspn(argv[i], ":");
        int which = 0;
        while (which < PARTS && (strlen(parts[which].name) != length ||
                                 strncmp(parts[which].name, argv[i], length) != 0))
            which++;
        if (which == PARTS) {
            fprintf(stderr, "gpu: unknown part %s\n", argv[i]);
            return 2;
        }
        run_part(&parts[which], argv[i] + length);
    }
    return 0;
}
