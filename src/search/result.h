/* What a search leaves: the kept point, its values, and where runs may start. */
#ifndef TLNMF_SEARCH_RESULT_H
#define TLNMF_SEARCH_RESULT_H

#include "base/progress.h"
#include "base/settings.h"

/* Where to start; what is NULL is drawn or made as the settings say. */
typedef struct tl_start {
    const double *Phi; /* M x M, orthogonal to 1e-8 (then made orthogonal to rounding) */
    const double *W;   /* M x K, nonnegative, no zero column; normalised to columns of sum 1 */
    const double *H;   /* K x N, nonnegative; an entry at zero stays there */
} tl_start;

/* src/results.def explains the fields. */
typedef struct tl_info {
    int32_t outcome;
    int32_t method; /* never AUTO: the one that the result is of */
    int64_t M, N, K;
    int64_t columns;
    double eps;
    double C, L, I;
    double certificate;
    double gradient_norm;
    double orthogonality;
    int64_t iterations;
    int64_t starts, best_start;
    double cpu_seconds, wall_seconds;
    double nmf_seconds, transform_seconds;
    double C_tl, I_tl, C_jd, L_jd, I_jd;
    int32_t chain;
} tl_info;

typedef struct tl_result {
    tl_info info;
    double *Phi, *W, *H, *energy;
    tl_trace_row *trace;
    int64_t trace_length, trace_capacity;
    struct tl_result *other; /* of an exchange: the other method's; NULL if there is none */
    tl_hooks hooks;
    void *block; /* holds the object itself and its arrays, but not the trace */
} tl_result;

void tl_result_free(tl_result *result);

#endif
