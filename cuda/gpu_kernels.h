/* The kernels of the CUDA engine, as C functions that launch them. All arrays are in device memory,
 * in C order; sums go where the host can read them once the stream is synchronised. A launch that
 * fails shows in cudaGetLastError(). Numbers in (..) are equations of docs/spec.md. */
#ifndef TLNMF_CUDA_GPU_KERNELS_H
#define TLNMF_CUDA_GPU_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* TL_GPU_PAIRS must be equal to TL_LBFGS_MOST, TL_GPU_BLOCK to TL_SWEEP_BLOCK: engines agree. */
enum {
    TL_GPU_PARTIALS = 1 << 18,
    TL_GPU_PAIRS = 10,
    TL_GPU_BLOCK = 8,
    /* inner products of L-BFGS */
    TL_GPU_DOTS = 2 * TL_GPU_PAIRS * (TL_GPU_PAIRS + 1)
};

/* Where a launch runs, and scratch for its sums: TL_GPU_PARTIALS numbers, a counter that is 0
 * between launches. */
typedef struct tl_gpu {
    cudaStream_t stream;
    double *partial;
    unsigned *ticket;
    int processors;    /* multiprocessors of the device */
    int shared;        /* largest number of bytes of a block's shared memory */
    bool has_clusters; /* blocks can share their memories: sm_90 and later */
} tl_gpu;

/* The shape of the problem, and the data of its frames. */
typedef struct tl_field {
    int64_t M, N, T, K;
    const int64_t *offset; /* N + 1 */
    const int *frame;      /* T: the frame of each column */
    const double *B;       /* M x N: weights of the entries of V; NULL: all 1 */
    bool one_each;
    double eps;
} tl_field;

/* ---- entries of X, V, U ---------------------------------------------------------------------- */

/* (1) V from X. */
void tl_gpu_power(const tl_gpu *gpu, const tl_field *f, const double *X, double *V);

/* U = B / (W H + eps). Where `sums` is not NULL: sums[0] = sum (V + eps) U, sums[1] = sum B log(W H
 * + eps); and where X is not NULL and frames have one column each, V is computed from it on the
 * way. */
typedef struct tl_gpu_weigh {
    const double *W, *H, *X;
    double *V, *U;
    double *A; /* if not NULL: B (V + eps) / (W H + eps)^2 */
    double *sums;
} tl_gpu_weigh;
void tl_gpu_weights_C(const tl_gpu *gpu, const tl_field *f, const tl_gpu_weigh *w);

/* U = B / (V + floor). */
void tl_gpu_weights_L(const tl_gpu *gpu, const tl_field *f, double floor, const double *V,
                      double *U);

/* sums[0] = sum (V + eps) U, sums[1] = -sum B log(U / B), sums[2] = sum B (1 + log(V + eps)),
 * sums[3] = sum B f((V + eps) U / B): those named in `which`, whose bit i is sums[i]; X as above.
 */
void tl_gpu_sums(const tl_gpu *gpu, const tl_field *f, unsigned which, const double *X, double *V,
                 const double *U, double *sums);

/* UX (M x width, rows `width` apart) = U X over the columns from t0 on. */
void tl_gpu_weigh_columns(const tl_gpu *gpu, const tl_field *f, int64_t t0, int64_t width,
                          const double *X, const double *U, double *UX);
/* out = dC/dVhat = U - (V + eps) U^2 / B. */
void tl_gpu_slopes(const tl_gpu *gpu, const tl_field *f, const double *V, const double *U,
                   double *out);
/* out_m = scale sum_n x_mn; `rows` x `columns`. */
void tl_gpu_row_sums(const tl_gpu *gpu, int64_t rows, int64_t columns, double scale,
                     const double *x, double *out);
/* sums[0] = sum x. */
void tl_gpu_total(const tl_gpu *gpu, int64_t count, const double *x, double *sums);
/* sums[0] = how many entries of V that count are below eps, sums[1] = how many count,
 * sums[2] = the sum of those below eps. */
void tl_gpu_below(const tl_gpu *gpu, const tl_field *f, const double *V, double *sums);
/* sums[0] = max |x|. */
void tl_gpu_largest(const tl_gpu *gpu, int64_t count, const double *x, double *sums);

/* Multiplies x by (num / den)^gamma. If a denominator is 0, x stays. */
void tl_gpu_scale(const tl_gpu *gpu, int64_t count, double *x, double gamma, const double *num,
                  const double *den);

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* U, which holds W H, becomes 1 / (W H + eps), and A (V + eps) U^2; A may be NULL. */
void tl_gpu_invert(const tl_gpu *gpu, int64_t count, double eps, const double *V, double *U,
                   double *A);
/* The columns of W (rows x K) that may move, and rows of H (K x N); free = NULL: all. */
typedef struct tl_gpu_columns {
    int64_t rows, N, K;
    const bool *free;
} tl_gpu_columns;
/* Multiplies W by num / den (rows x K). If a denominator is 0, W stays. */
void tl_gpu_scale_columns(const tl_gpu *gpu, const tl_gpu_columns *c, const double *num,
                          const double *den, double *W);
/* (9) Columns of W to sum 1. `sums`: K numbers of scratch. */
void tl_gpu_normalise_columns(const tl_gpu *gpu, const tl_gpu_columns *c, double *W, double *H,
                              double *sums);

/* ---- spectra --------------------------------------------------------------------------------- */

/* The matrix of tl_dft, M x M. */
void tl_gpu_dft_matrix(const tl_gpu *gpu, int64_t M, double *Phi);
/* Frames of M samples, of `per_frame` columns each. */
typedef struct tl_gpu_frames {
    int64_t M, count, per_frame;
} tl_gpu_frames;
/* V ((M / 2 + 1) x count) from X (M x (count per_frame)): (25). */
void tl_gpu_spectral_power(const tl_gpu *gpu, const tl_gpu_frames *f, const double *X, double *V);
/* out = mask ((M / 2 + 1) x count) times X, cosine and sine alike. */
void tl_gpu_mask_columns(const tl_gpu *gpu, const tl_gpu_frames *f, const double *mask,
                         const double *X, double *out);

/* ---- Jacobi sweeps --------------------------------------------------------------------------- */

typedef struct tl_gpu_sweep {
    const void *U; /* M x N, and X M x T: of double or (single = true) of float */
    void *X;
    double *Phi, *gains; /* gains: tl_gpu_gains() numbers, one for each warp and pair of blocks */
    double *pairs;       /* tl_gpu_pair_sums() numbers: p and D of (14); for tl_gpu_sweep_sums() */
    double least;
    bool single;
    int64_t first, end; /* the steps that tl_gpu_sweep_all() runs, of tl_gpu_steps() */
} tl_gpu_sweep;
int64_t tl_gpu_gains(int64_t M);
int64_t tl_gpu_pair_sums(int64_t M);
/* Whether the columns of a pair of blocks fit the registers of a cluster; `single` needs that. */
bool tl_gpu_has_columns(const tl_gpu *gpu, const tl_field *f);
/* (14) for the pairs of rows of steps s->first .. s->end - 1, in the order of the naive engine. The
 * gains, 0 before the first step, add up to the amount by which sum U V fell. */
void tl_gpu_sweep_all(const tl_gpu *gpu, const tl_field *f, const tl_gpu_sweep *s);
/* The same in parts, with sums over processes in between: for each step up to tl_gpu_steps() and
 * each of TL_GPU_BLOCK rounds, p and D of the pairs of rows over the local columns, and then the
 * rotations. tl_gpu_sweep_sums() returns how many numbers of `pairs` it computes. */
int64_t tl_gpu_steps(int64_t M);
int64_t tl_gpu_sweep_sums(const tl_gpu *gpu, const tl_field *f, const tl_gpu_sweep *s, int64_t step,
                          int round);
void tl_gpu_sweep_turns(const tl_gpu *gpu, const tl_field *f, const tl_gpu_sweep *s, int64_t step,
                        int round);

/* ---- matrices M x M -------------------------------------------------------------------------- */

/* (11), (12): E = -Ganti / (Gsym - shift), from G and Gamma (+ floors of its rows, if not NULL)
 * times `scale`; 0 where the denominator is at most `least`. sums[0] = <E, G> times scale. */
typedef struct tl_gpu_newton {
    const double *G, *Gamma, *floors;
    double scale, shift, least;
} tl_gpu_newton;
void tl_gpu_quasi_newton(const tl_gpu *gpu, int64_t M, const tl_gpu_newton *q, double *E,
                         double *sums);
/* The coordinates of Phi as a packed lower triangle. From A = G: its gradient, G - G'. If `metric`,
 * from A = Gamma: its metric, (13). */
void tl_gpu_pack(const tl_gpu *gpu, int64_t M, const double *A, bool metric, double *out);
/* The skew-symmetric E of a packed lower triangle. */
void tl_gpu_unpack(const tl_gpu *gpu, int64_t M, const double *triangle, double *E);
/* sums[0] = sum of the squares of the antisymmetric part of G; out (if not NULL) that part. */
void tl_gpu_antisymmetric(const tl_gpu *gpu, int64_t M, const double *G, double *out, double *sums);
/* sums[i]: the largest row sum of |A_i|; B may be NULL. */
void tl_gpu_norms(const tl_gpu *gpu, int64_t M, const double *A, const double *B, double *sums);

/* out = c[0] I + c[1] A + c[2] B + c[3] D; B and D may be NULL, and any of them `out`. */
typedef struct tl_gpu_blend {
    const double *A, *B, *D;
    double c[4];
} tl_gpu_blend;
void tl_gpu_blend_all(const tl_gpu *gpu, int64_t M, const tl_gpu_blend *b, double *out);

/* What the Taylor polynomial of degree 8 needs between its products, from A = aE, A2 = A^2 and A4:
 * s = x[0] I + x[1] A + x[2] A2 + x[3] A4, A4 += x[4] A2, out = A + x[5] A2. */
typedef struct tl_gpu_taylor {
    const double *E, *E2;
    double a, x[6];
    double *A4, *s, *out;
} tl_gpu_taylor;
void tl_gpu_taylor8(const tl_gpu *gpu, int64_t M, const tl_gpu_taylor *t);

/* ---- single precision ------------------------------------------------------------------------ */

/* A matrix in double, rows `apart` numbers apart. */
typedef struct tl_gpu_matrix {
    double *x;
    int64_t rows, columns, apart;
} tl_gpu_matrix;
/* x = high + low but for rounding, both of TF32, rows `to` apart; low may be NULL. */
void tl_gpu_split(const tl_gpu *gpu, const tl_gpu_matrix *x, int64_t to, float *high, float *low);
/* out = factors[0] x + factors[1] out; rows of x are `from` apart. */
void tl_gpu_join(const tl_gpu *gpu, const tl_gpu_matrix *out, int64_t from, const float *x,
                 const double factors[2]);
/* out = x, rounded. */
void tl_gpu_round(const tl_gpu *gpu, int64_t count, const double *x, float *out);

/* ---- vectors of a descent -------------------------------------------------------------------- */

/* A factor that moves: new root = root + a d, out = its square. Two of them in one launch; a count
 * of 0: none. */
typedef struct tl_gpu_moving {
    int64_t count;
    double a;
    const double *root, *d;
    double *new_root, *out;
} tl_gpu_moving;
void tl_gpu_move(const tl_gpu *gpu, const tl_gpu_moving factors[2]);
/* x = 1 or -1, at random, always the same. */
void tl_gpu_signs(const tl_gpu *gpu, int64_t count, double *x);
/* out = (c x)^2 / B, 0 where B is; B may be NULL: 1. */
void tl_gpu_square(const tl_gpu *gpu, int64_t count, double c, const double *x, const double *B,
                   double *out);
/* out = sqrt(x) */
void tl_gpu_root(const tl_gpu *gpu, int64_t count, const double *x, double *out);
/* out *= x, for two of them in one launch. */
void tl_gpu_multiply(const tl_gpu *gpu, const int64_t count[2], const double *const x[2],
                     double *const out[2]);
/* out = the larger of c x out and mu, or 1 if that is not positive. */
void tl_gpu_larger(const tl_gpu *gpu, int64_t count, double c, const double *x, const double *mu,
                   double *out);
/* sums[0] = sum x y / z; z may be NULL: 1. */
void tl_gpu_dot(const tl_gpu *gpu, int64_t count, const double *x, const double *y, const double *z,
                double *sums);

/* Pairs of L-BFGS, in double or (single = true) in float, the latest first. */
typedef struct tl_gpu_pairs {
    int64_t size;
    bool single;
    int count, place[TL_GPU_PAIRS];
    int64_t skipped; /* leading coordinates that another process adds to sums */
    void *s, *y;     /* place i begins at i size */
    const double *gradient, *metric;
    double *coefficients; /* 2 TL_GPU_PAIRS numbers of scratch */
    double *dots;         /* TL_GPU_DOTS inner products; NULL: one process */
} tl_gpu_pairs;
/* The coefficients of the direction. If `dots` is not NULL: only the inner products of the local
 * coordinates, which the caller sums over processes before tl_gpu_two_loops(). */
void tl_gpu_inner_products(const tl_gpu *gpu, const tl_gpu_pairs *p);
void tl_gpu_two_loops(const tl_gpu *gpu, const tl_gpu_pairs *p);
/* The direction of L-BFGS from its coefficients; sums[0] = direction' gradient. */
void tl_gpu_direction(const tl_gpu *gpu, const tl_gpu_pairs *p, double *direction, double *sums);
/* Stores the pair of step a at `place`: s = a direction, y = gradient - before. sums = s' D s, y'
 * D^-1 y, s' y, g' D^-1 g. */
void tl_gpu_learn(const tl_gpu *gpu, const tl_gpu_pairs *p, int place, double a,
                  const double *direction, const double *before, double *sums);

/* Entries near zero that should grow, as in the cpu engine. sums[0] = how many. */
typedef struct tl_gpu_revive {
    int64_t count;
    const double *x, *root, *gradient, *expected;
    double unit, part;
} tl_gpu_revive;
void tl_gpu_revive_all(const tl_gpu *gpu, const tl_gpu_revive *r, double *out, double *sums);

#ifdef __cplusplus
}
#endif

#endif
