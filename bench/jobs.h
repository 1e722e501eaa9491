/* The kernels that are measured: how each is called, its twin, its operations and bytes. */
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
    bool starts_anew;             /* reset before each run, or later runs would have less to do */
    void (*run)(bed *b);
    void (*run_twin)(bed *b);
    /* The largest difference of the outputs of one run each, relative to the twin's largest
     * entry. */
    double (*difference)(bed *b);
    double tolerance;
    double (*flops)(const bed *b); /* NULL: count the calls of BLAS and LAPACK */
    double (*bytes)(const bed *b); /* bytes of inputs and outputs, each once */
} job;

extern const job jobs[];
extern const int job_count;

#endif
