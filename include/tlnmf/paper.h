/* tlnmf/paper.h: data sets and theory of the paper, and distances between transforms.
 *
 * The rules of tlnmf/tlnmf.h apply. Numbers in brackets are equations of docs/spec.md. */
#ifndef TLNMF_PAPER_H
#define TLNMF_PAPER_H

#include "tlnmf/tlnmf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- data sets ------------------------------------------------------------------------------- */

/* Gaussian composite model: Y = Phi' (randn .* sqrt(W H)), Phi the DCT-II. Settings of task "gcm".
 * `sample` holds Y (S, M, N) and the truth: Phi, W, H. */
TLNMF_API tlnmf_error tlnmf_simulate_gcm(tlnmf_ctx *ctx, const tlnmf_settings *settings,
                                         tlnmf_record **sample);

/* The random number generator: the library's own, or that of numpy.random.RandomState. */
typedef enum tlnmf_stream { TLNMF_STREAM_OWN = 0, TLNMF_STREAM_NUMPY = 1 } tlnmf_stream;

/* Two notes, 440 and 466.16 Hz, first alone and then together, for 3 s at 5000 Hz. theta has the
 * shape {S, 2}: the phases of each realisation. `sample` holds Y (S, 200, 151), signal (S, 15000)
 * and rate. */
TLNMF_API tlnmf_error tlnmf_simulate_notes(tlnmf_ctx *ctx, const double *theta, int64_t S,
                                           tlnmf_record **sample);
/* Phases uniform in [0, 2 pi), in the order theta[s][note]. */
TLNMF_API tlnmf_error tlnmf_random_phases(tlnmf_ctx *ctx, uint64_t seed, tlnmf_stream stream,
                                          int64_t count, double *theta);

/* ---- theory ---------------------------------------------------------------------------------- */

/* Q(Phi) = D_eps(V | Vbar), (17). V is the power of Phi on `data`, and Vbar its power on
 * `truth`, which has the same M and N and the true covariances. */
TLNMF_API tlnmf_error tlnmf_theory_Q(tlnmf_ctx *ctx, const tlnmf_data *data,
                                     const tlnmf_data *truth, const double *Phi, double eps,
                                     double *Q);
/* Maximises Q over the transform, from Phi, in at most `iterations` steps. Phi is replaced by the
 * result; its Q is a lower bound on the maximum of Q. */
TLNMF_API tlnmf_error tlnmf_theory_climb(tlnmf_ctx *ctx, const tlnmf_data *data,
                                         const tlnmf_data *truth, double eps, int64_t iterations,
                                         double *Phi, double *Q);
/* Theorem 4, (18): an upper bound on the maximum of Q, which holds with at least the probability
 * tlnmf_theory_probability(N, t). Infinite if the theorem does not apply to S. These three
 * functions return NaN if a size is below 1 or t is negative. */
TLNMF_API double tlnmf_theory_bound(int64_t M, int64_t N, int64_t S, double t);
TLNMF_API double tlnmf_theory_probability(int64_t N, double t);
/* Remark 6, (19): approximate Q at the true transform, for S Gaussian realisations. */
TLNMF_API double tlnmf_theory_asymptote(int64_t M, int64_t N, int64_t S);

/* ---- distances ------------------------------------------------------------------------------- */

/* The least |Phi - P Phibar|_F over all orders and signs P of the rows of Phibar, (20). */
TLNMF_API tlnmf_error tlnmf_transform_distance(tlnmf_ctx *ctx, int64_t M, const double *Phi,
                                               const double *Phibar, double *distance);
/* The principal angles between the spans of the rows of A and of B (count x M, orthonormal rows),
 * in radians, the smallest first, (21). */
TLNMF_API tlnmf_error tlnmf_principal_angles(tlnmf_ctx *ctx, int64_t count, int64_t M,
                                             const double *A, const double *B, double *angles);

#ifdef __cplusplus
}
#endif
#endif
