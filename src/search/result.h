/* The result of a search: the point that was kept and its values. Also the start that a caller
 * gives. */
#ifndef TLNMF_SEARCH_RESULT_H
#define TLNMF_SEARCH_RESULT_H

#include "base/settings.h"
#include "solve/run.h"

/* A start given by the caller. Parts that are NULL are drawn as the settings say. */
typedef struct tl_start {
    const double *Phi; /* M x M, orthogonal to 1e-5 (then made orthogonal to rounding) */
    const double *W;   /* M x K, nonnegative, no zero column; normalised to columns of sum 1 */
    const double *H;   /* K x N, nonnegative; an entry at zero stays there */
} tl_start;

/* Why a requested certificate is missing. */
typedef enum tl_doubt {
    TL_NO_DOUBT,
    TL_DOUBT_LOWER_L,    /* TL-NMF found a lower L than the diagonalisation */
    TL_DOUBT_CUT,        /* time or interruption ended the diagonalisation */
    TL_DOUBT_SINGULAR,   /* singular covariances and a low floor: L has many minima */
    TL_DOUBT_ITERATIONS, /* the diagonalisation did all its iterations without converging */
    TL_DOUBT_OFFSET,     /* the data have an offset */
    TL_DOUBT_HIDDEN      /* the floor hides the data */
} tl_doubt;

/* A larger `hidden` means that the floor hides the data (docs/measurements/constants.md). */
#define TL_HIDDEN_MOST 0.1

/* src/base/results.def explains the fields. */
typedef struct tl_info {
    int32_t outcome;
    int32_t method;          /* the method that the result is of; never AUTO */
    int64_t M, N, K;         /* N: the frames here */
    int64_t all, first;      /* all frames, and the first one here */
    int64_t columns;         /* of all frames */
    bool singular;           /* the covariance of a frame with a weight */
    int64_t missing;         /* as in the record of the data */
    int64_t realisations;    /* independent ones of every frame; 0: unknown */
    int64_t sums, sum_bytes; /* over processes; 0: one process */
    double sum_seconds;
    double eps;
    double C, L, I;
    double below_floor; /* share of the entries of V */
    double offset;      /* tl_data_offset() */
    double hidden;      /* share of the centred power in entries of V below eps */
    double entries;     /* sum of their weights: M N without a mask */
    double certificate;
    int32_t doubt;      /* a tl_doubt */
    int32_t jd_outcome; /* of the search for the least L, a tlnmf_outcome */
    double gradient_norm;
    double orthogonality;
    int64_t iterations;
    int32_t outcome_of;     /* a tl_stage: whose outcome it is */
    int64_t nmf_iterations; /* of NMF after JD */
    int64_t starts, best_start;
    int64_t completed, agree; /* starts: all, and those that found the best minimum */
    int64_t nmf_completed, nmf_agree;
    double cpu_seconds, wall_seconds;
    double nmf_seconds, transform_seconds;
    double C_tl, I_tl, C_jd, L_jd, I_jd;
    int32_t chain;
    int64_t continued; /* starts that continued from a saved iterate */
} tl_info;

typedef struct tl_result {
    tl_info info;
    double *Phi, *W, *H, *energy;
    double *score; /* of each start, by its number; NaN: not completed */
    int64_t scores;
    tl_trace_row *trace;
    int64_t trace_length, trace_capacity;
    struct tl_result *other; /* the other method's result of an exchange, or NULL */
    tl_hooks hooks;
    void *block; /* holds the object itself and its arrays, but not the trace */
} tl_result;

void tl_result_free(tl_result *result);

/* A row as numbers, in the order of its fields. */
enum { TL_TRACE_COLUMNS = 9 };
void tl_trace_values(const tl_trace_row *row, double x[TL_TRACE_COLUMNS]);
tl_trace_row tl_trace_of_values(const double x[TL_TRACE_COLUMNS]);

#endif
