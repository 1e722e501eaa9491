/* Calls that users wait for, timed through the public functions, so that an older version can be
 * measured by the same source (compare.sh). Each prints `ms NAME`, the wall-clock time.
 * usage: waits file FILE M N [fortran]   writes int16 noise, to be read by the next one
 *        waits read FILE                 reads and compresses it; converts a part on one core
 *        waits simulate M N | waits diagonalise | waits apply */
#include "tlnmf/io.h"
#include "tlnmf/paper.h"
#include "tlnmf/tlnmf.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if TLNMF_VERSION_MAJOR == 0 && TLNMF_VERSION_MINOR < 3 /* names before 0.3 */
#define tlnmf_record_get_array tlnmf_get_array
#define tlnmf_record_new_array tlnmf_new_array
#define tlnmf_record_set_real  tlnmf_set_real
#endif

static tlnmf_ctx *ctx;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void check(tlnmf_error error)
{
    if (error == TLNMF_OK)
        return;
    fprintf(stderr, "waits: %s\n", tlnmf_message(ctx));
    exit(1);
}

static void say(double ms, const char *name)
{
    printf("%.4f %s\n", ms, name);
    fflush(stdout);
}

static void *room(size_t bytes)
{
    void *p = malloc(bytes);
    if (p != NULL)
        return p;
    fprintf(stderr, "waits: no memory\n");
    exit(1);
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

/* ---- reading --------------------------------------------------------------------------------- */

enum { BLOCK = 1 << 22 };

static void write_file(const char *path, long long M, long long N, bool fortran)
{
    char head[128];
    int16_t *block = room(BLOCK * sizeof *block);
    uint64_t state = 1;
    FILE *f = fopen(path, "wb");
    for (int i = 0; i < BLOCK; i++)
        block[i] = (int16_t)(2000.0 * (uniform(&state) + uniform(&state) - 1.0));
    int n = snprintf(head + 10, sizeof head - 10,
                     "{'descr': '<i2', 'fortran_order': %s, 'shape': (%lld, %lld), }",
                     fortran ? "True" : "False", M, N);
    memset(head + 10 + n, ' ', sizeof head - 11 - (size_t)n);
    memcpy(head, "\x93NUMPY\x01\0\x76\0", 10);
    head[sizeof head - 1] = '\n';
    bool ok = f != NULL && fwrite(head, sizeof head, 1, f) == 1;
    for (long long left = M * N; ok && left > 0; left -= BLOCK) {
        size_t count = (size_t)(left < BLOCK ? left : BLOCK);
        block[left % BLOCK] ^= 1; /* blocks differ */
        ok = fwrite(block, sizeof *block, count, f) == count;
    }
    if (f == NULL || fclose(f) != 0 || !ok) {
        perror(path);
        exit(1);
    }
    free(block);
}

/* One core converts the numbers of the file, as numpy's astype does: the time for all of them,
 * from a part. */
static void convert(const char *path, int64_t count)
{
    int64_t part = count < 200000000 ? count : 200000000;
    size_t bytes = (size_t)part * sizeof(int16_t);
    int fd = open(path, O_RDONLY);
    const int16_t *from = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (fd < 0 || from == MAP_FAILED)
        return;
    double since = now(), *to = room((size_t)part * sizeof *to);
    for (int64_t i = 0; i < part; i++)
        to[i] = from[i];
    __asm__ volatile("" : : "r"(to) : "memory"); /* the loop is not optimised away */
    say((now() - since) * (double)count / (double)part, "one core converts int16 to double");
    free(to);
    munmap((void *)(uintptr_t)from, bytes);
    close(fd);
}

static void read_file(const char *path)
{
    tlnmf_record *record;
    tlnmf_data *data;
    int64_t shape[8];
    int32_t rank;
    double since = now();
    check(tlnmf_io_read_array(ctx, path, &record));
    double read = now();
    const double *x = tlnmf_record_get_array(record, "array", &rank, shape);
    check(tlnmf_data_from_realisations(ctx, x, (int64_t[]){1, shape[0], shape[1]}, &data));
    double end = now();
    say(end - since, "read and compress");
    say(read - since, "read");
    say(end - read, "compress");
    tlnmf_data_free(data);
    tlnmf_record_free(record);
    convert(path, shape[0] * shape[1]);
}

/* ---- the other rows -------------------------------------------------------------------------- */

static void simulate(int64_t M, int64_t N)
{
    tlnmf_settings *settings;
    tlnmf_record *sample;
    check(tlnmf_settings_create(ctx, "gcm", &settings));
    check(tlnmf_settings_set_integer(ctx, settings, "m", M));
    check(tlnmf_settings_set_integer(ctx, settings, "n", N));
    double since = now();
    check(tlnmf_simulate_gcm(ctx, settings, &sample));
    say(now() - since, "simulate gcm");
    tlnmf_record_free(sample);
    tlnmf_settings_free(settings);
}

enum { SIDE = 16, MATRICES = 100 };

/* Covariances Q' D_n Q with the DCT as Q: they can be diagonalised exactly. */
static double *make_covariances(void)
{
    double *Q = room(sizeof(double[SIDE * SIDE])),
           *x = room(sizeof(double[MATRICES * SIDE * SIDE]));
    uint64_t state = 1;
    check(tlnmf_transform_matrix(ctx, "dct", SIDE, Q));
    memset(x, 0, sizeof(double[MATRICES * SIDE * SIDE]));
    for (int n = 0; n < MATRICES; n++)
        for (int i = 0; i < SIDE; i++) {
            double d = -log(1.0 - uniform(&state));
            for (int a = 0; a < SIDE; a++)
                for (int b = 0; b < SIDE; b++)
                    x[(n * SIDE + a) * SIDE + b] += d * Q[i * SIDE + a] * Q[i * SIDE + b];
        }
    free(Q);
    return x;
}

static void diagonalise(void)
{
    enum { ROUNDS = 300 };
    double *x = make_covariances(), least[2] = {INFINITY, INFINITY};
    tlnmf_settings *settings;
    tlnmf_ctx_set_threads(ctx, 1);
    check(tlnmf_settings_create(ctx, "jd", &settings));
    for (int i = 0; i < ROUNDS; i++) {
        tlnmf_data *data;
        tlnmf_record *model;
        double since = now();
        check(tlnmf_data_from_covariances(ctx, x, (int64_t[]){MATRICES, SIDE, SIDE}, &data));
        double made = now();
        check(tlnmf_diagonalise(ctx, data, settings, NULL, &model));
        double end = now();
        if (end - since < least[0] + least[1]) {
            least[0] = made - since;
            least[1] = end - made;
        }
        tlnmf_record_free(model);
        tlnmf_data_free(data);
    }
    say(least[0] + least[1], "diagonalise 100 covariances 16 x 16, least");
    say(least[0], "of this, compress the covariances");
    tlnmf_settings_free(settings);
    free(x);
}

enum { FRAME = 1024, COLUMNS = 16, FRAMES = 50 };

/* The DCT with random spectra. */
static tlnmf_record *make_model(uint64_t *state)
{
    double *Phi, *W;
    tlnmf_record *model;
    check(tlnmf_record_create(ctx, &model));
    check(tlnmf_record_new_array(ctx, model, "Phi", 2, (int64_t[]){FRAME, FRAME}, &Phi));
    check(tlnmf_record_new_array(ctx, model, "W", 2, (int64_t[]){FRAME, COLUMNS}, &W));
    check(tlnmf_transform_matrix(ctx, "dct", FRAME, Phi));
    check(tlnmf_record_set_real(ctx, model, "eps", 1e-3));
    for (int i = 0; i < FRAME * COLUMNS; i++)
        W[i] = uniform(state) / (0.5 * FRAME);
    return model;
}

#if TLNMF_VERSION_MAJOR == 0 && TLNMF_VERSION_MINOR < 3 /* no call for single frames */
static double apply_to(const tlnmf_record *model, const tlnmf_settings *settings, const double *y)
{
    tlnmf_data *data;
    tlnmf_record *applied;
    double since = now();
    check(tlnmf_data_from_realisations(ctx, y, (int64_t[]){1, FRAME, 1}, &data));
    check(tlnmf_apply(ctx, model, data, settings, &applied));
    double ms = now() - since;
    tlnmf_record_free(applied);
    tlnmf_data_free(data);
    return ms;
}
#else
static double apply_to(const tlnmf_record *model, const tlnmf_settings *settings, const double *y)
{
    static tlnmf_applier *applier;
    double h[COLUMNS];
    if (applier == NULL)
        check(tlnmf_applier_create(ctx, model, settings, &applier));
    double since = now();
    check(tlnmf_applier_frame(ctx, applier, y, h, NULL));
    return now() - since;
}
#endif

/* One frame: with the call for single frames since 0.3, before with that for whole data. */
static void apply(void)
{
    double y[FRAME], least = INFINITY;
    uint64_t state = 1;
    tlnmf_settings *settings;
    tlnmf_record *model = make_model(&state);
    for (int m = 0; m < FRAME; m++)
        y[m] = uniform(&state) - 0.5;
    check(tlnmf_settings_create(ctx, "apply", &settings));
    for (int i = 0; i < FRAMES; i++)
        least = fmin(least, apply_to(model, settings, y));
    say(least, "fit H of one frame, M = 1024, K = 16, least");
    tlnmf_settings_free(settings);
    tlnmf_record_free(model);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 1;
    if (strcmp(what, "file") == 0 && argc >= 5)
        write_file(argv[2], strtoll(argv[3], NULL, 10), strtoll(argv[4], NULL, 10), argc > 5);
    else if (strcmp(what, "read") == 0 && argc == 3)
        read_file(argv[2]);
    else if (strcmp(what, "simulate") == 0 && argc == 4)
        simulate(strtoll(argv[2], NULL, 10), strtoll(argv[3], NULL, 10));
    else if (strcmp(what, "diagonalise") == 0)
        diagonalise();
    else if (strcmp(what, "apply") == 0)
        apply();
    else
        return fprintf(stderr, "usage: waits file|read|simulate|diagonalise|apply ..\n"), 2;
    tlnmf_ctx_free(ctx);
    return 0;
}
