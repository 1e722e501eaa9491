/* The kernels that are measured: how each is called, its twin, and what it has to do. */
#ifndef TLNMF_BENCH_JOBS_H
#define TLNMF_BENCH_JOBS_H

#include "bed.h"

/* Shapes, as bits of a set. */
enum {
    NOTES = 1,     /* 200 x 151, K = 2, the paper's size */
    LARGE = 2,     /* 1024 x 2000, K = 10 */
    LARGE_K20 = 4, /* 1024 x 2000, K = 20 */
    MANY = 8,      /* 200 x 151, S = 10 */
    GCM = 16,      /* 10 x 50, S = 1000 */
};

typedef struct job {
    const char *name;
    unsigned shapes, twin_shapes; /* where it is timed, and where its twin is */
    bool starts_anew;             /* runs from the beginning each time, or its work would shrink */
    void (*run)(bed *b);
    void (*run_twin)(bed *b);
    /* Of the outputs of one run each, relative to the twin's largest entry. */
    double (*difference)(bed *b);
    double tolerance;
    double (*flops)(const bed *b); /* NULL: those that BLAS and LAPACK do, counted */
    double (*bytes)(const bed *b); /* of what goes in and what comes out, each once */
} job;

extern const job jobs[];
extern const int job_count;

#endif
