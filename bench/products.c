/* Products of the solver next to those of BLAS libraries: docs/measurements/threads.md.
 *
 *     OMP_NUM_THREADS=T products T LIBRARY..
 *
 * LIBRARY is a shared library with cblas_dgemm (OpenBLAS, BLIS) or libxsmm_dgemm. Prints Gflop/s of
 * the product by tiles and panels (tl_gemm), and of one call of each library. Each figure is the
 * best of several runs. libxsmm_dgemm uses one thread and passes large products on to the BLAS that
 * it finds. */
#include "base/base.h"
#include "linalg/linalg.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*cblas_fn)(int order, int opA, int opB, int m, int n, int k, double alpha,
                         const double *A, int lda, const double *B, int ldb, double beta, double *C,
                         int ldc);
/* Fortran's order: columns. */
typedef void (*xsmm_fn)(const char *opA, const char *opB, const int *m, const int *n, const int *k,
                        const double *alpha, const double *A, const int *lda, const double *B,
                        const int *ldb, const double *beta, double *C, const int *ldc);

typedef struct product {
    int m, n, k;
    bool transposed; /* B' instead of B */
    double *A, *B, *C;
    cblas_fn cblas; /* NULL: by xsmm, or by the solver */
    xsmm_fn xsmm;
} product;

static void multiply(const product *p)
{
    enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
    const double one = 1.0, zero = 0.0;
    int ldb = p->transposed ? p->k : p->n;
    if (p->cblas != NULL)
        p->cblas(ROW_MAJOR, PLAIN, p->transposed ? TRANSPOSED : PLAIN, p->m, p->n, p->k, one, p->A,
                 p->k, p->B, ldb, zero, p->C, p->n);
    else if (p->xsmm != NULL) /* C' = B' A' */
        p->xsmm(p->transposed ? "T" : "N", "N", &p->n, &p->m, &p->k, &one, p->B, &ldb, p->A, &p->k,
                &zero, p->C, &p->n);
    else
        tl_gemm(TL_PLAIN, p->transposed ? TL_TRANSPOSED : TL_PLAIN, p->m, p->n, p->k, one, p->A,
                p->k, p->B, ldb, zero, p->C, p->n);
}

static double gflops(const product *p)
{
    const double flops = 2.0 * p->m * p->n * p->k;
    int repeats = (int)fmax(1.0, 2e9 / flops);
    double least = INFINITY;
    for (int run = 0; run < 7; run++) {
        double since = tl_wall_seconds();
        for (int i = 0; i < repeats; i++)
            multiply(p);
        least = fmin(least, (tl_wall_seconds() - since) / repeats);
    }
    return 1e-9 * flops / least;
}

typedef struct job {
    product *p;
    double gflops;
} job;

static tlnmf_error by_solver(void *arg)
{
    job *j = arg;
    j->gflops = gflops(j->p);
    return TLNMF_OK;
}

static double *numbers(int64_t count)
{
    double *x = malloc((size_t)count * sizeof *x);
    for (int64_t i = 0; x != NULL && i < count; i++)
        x[i] = sin((double)i);
    return x;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int m, n, k;
        bool transposed;
    } shapes[] = {{"transform", 200, 151, 200, false},    {"gradient", 200, 200, 151, true},
                  {"transform", 441, 4800, 441, false},   {"gradient", 441, 441, 4800, true},
                  {"transform", 1024, 2000, 1024, false}, {"gradient", 1024, 1024, 2000, true}};
    int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;
    printf("%d threads, Gflop/s   tlnmf", threads);
    for (int i = 2; i < argc; i++)
        printf("  %s", argv[i]);
    putchar('\n');
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        product p = {.m = shapes[s].m,
                     .n = shapes[s].n,
                     .k = shapes[s].k,
                     .transposed = shapes[s].transposed};
        p.A = numbers((int64_t)p.m * p.k);
        p.B = numbers((int64_t)p.k * p.n);
        p.C = numbers((int64_t)p.m * p.n);
        if (p.A == NULL || p.B == NULL || p.C == NULL)
            exit(1);
        job j = {&p, 0.0};
        tl_with_threads(threads, by_solver, &j);
        printf("%-9s %4d x %4d x %4d  %7.1f", shapes[s].name, p.m, p.n, p.k, j.gflops);
        for (int i = 2; i < argc; i++) {
            void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
            void *cblas = library != NULL ? dlsym(library, "cblas_dgemm") : NULL;
            void *xsmm = library != NULL ? dlsym(library, "libxsmm_dgemm") : NULL;
            memcpy(&p.cblas, &cblas, sizeof cblas);
            memcpy(&p.xsmm, &xsmm, sizeof xsmm);
            if (xsmm != NULL)
                p.cblas = NULL;
            if (p.cblas != NULL || p.xsmm != NULL)
                printf("  %7.1f", gflops(&p));
            else
                printf("  %7s", "-");
            p.cblas = NULL;
            p.xsmm = NULL;
        }
        putchar('\n');
        free(p.A);
        free(p.B);
        free(p.C);
    }
    return 0;
}
