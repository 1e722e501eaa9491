/* The likelihood of a frame with its activations integrated out. */
#ifndef TLNMF_API_MARGINAL_H
#define TLNMF_API_MARGINAL_H

#include "api/api.h"

/* The integral over h is a mean over this many draws, half around the mode, half from the prior. */
enum { TL_MARGINAL_DRAWS = 128, TL_MARGINAL_HALF = TL_MARGINAL_DRAWS / 2 };

/* A model as the integral reads it. The draws are the same for every frame. */
typedef struct tl_marginal {
    int64_t M, K;
    double eps;
    bool silent;         /* H of the fit is 0: the integral is the likelihood at h = 0 */
    double *W;           /* K x M: transposed */
    double *log_mu;      /* K: logarithms of the prior means */
    double *normal;      /* HALF x K: standard normal draws */
    double *prior;       /* HALF x K: draws of log h from the prior */
    double *inverse;     /* HALF x M: 1 / (W h + eps) of those draws */
    double *logs;        /* HALF: sum of log(W h + eps) over the rows */
    double *density;     /* HALF: log prior density of log h */
    tl_monitor *monitor; /* a frame whose integral is stopped has no value */
    tl_hooks hooks;
    void *memory;
} tl_marginal;

/* The prior of h_k is exponential, with the mean of row k of H (K x frames). */
tlnmf_error tl_marginal_create(tlnmf_ctx *ctx, int64_t M, const tl_model_point *model,
                               int64_t frames, tl_marginal *out);
void tl_marginal_free(tl_marginal *m);

/* Doubles of scratch that a frame needs. */
int64_t tl_marginal_scratch(const tl_marginal *m);
/* -2/S log p of a frame without the term M log 2 pi, that is, C of the frame with h integrated out.
 * y is V + eps (M), the mean of S realisations. */
double tl_marginal_frame(const tl_marginal *m, const double *y, double S, double *scratch);

/* out[n] = the same for every frame of the data, NaN for a frame without realisations; *mean is the
 * weighted mean per entry of V. Threads and time limit are those of `how`. TLNMF_ERR_CALLBACK if
 * the caller or the time limit stops it. */
tlnmf_error tl_marginal_data(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_model_point *model,
                             int64_t model_frames, const tl_settings *how, double *out,
                             double *mean);

/* Numbers in (0, 1), number i < HALF of dimension k: a scrambled Sobol sequence. */
double tl_sobol(int64_t i, int64_t k);
/* The inverse of the normal distribution function, for u and 1 - u at least 1e-10. */
double tl_normal_quantile(double u);

#endif
