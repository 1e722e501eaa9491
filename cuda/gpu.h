/* The CUDA engine: its arrays and the functions that its files share. For cuda/ only. */
#ifndef TLNMF_CUDA_GPU_H
#define TLNMF_CUDA_GPU_H

#include "cuda/gpu_kernels.h"
#include "engine/device.h"

#include <cublas_v2.h>

/* The contents of U. */
typedef enum tl_cuda_U {
    TL_CUDA_U_NOTHING,
    TL_CUDA_U_WEIGHTS_C, /* B / (W H + floor) */
    TL_CUDA_U_WEIGHTS_L, /* B / (V + floor) */
} tl_cuda_U;

/* Steps are halved, so exp(aE) at a/2 and a/4 is kept for later tries. */
enum { TL_CUDA_KEPT = 2 };

/* Places of the numbers that kernels compute for the host. */
enum {
    TL_SCALAR_SUMS = 0,  /* four, tl_gpu_sums() */
    TL_SCALAR_NORMS = 4, /* two, tl_gpu_norms() */
    TL_SCALAR_SLOPE = 6,
    TL_SCALAR_NORM = 7,
    TL_SCALAR_LEARN = 8,  /* four, tl_gpu_learn() */
    TL_SCALAR_ONE = 12,   /* for any operation that reads it at once */
    TL_SCALAR_BELOW = 13, /* three, tl_gpu_below() */
    TL_SCALAR_COUNT = 16
};

/* A descent's coordinates, as in the cpu engine (cpu.h). */
typedef struct tl_cuda_descent {
    unsigned over;
    tl_counts n;
    double *gradient, *before, *direction, *metric; /* n.all */
    double unit;
    double *P, *Q, *P_new, *Q_new, *W_new, *H_new; /* M x K, K x N */
    double *scratch;                               /* n.W + n.H */
    /* pairs of L-BFGS */
    int memory, count, next;
    bool single, pending; /* pending: it is not yet known whether the last pair counts */
    void *s, *y;
    double *coefficients;
} tl_cuda_descent;

/* Scratch of products in single precision: both factors, each split into a high and a low part,
 * and the result. Sweeps keep U and X here. */
typedef struct tl_cuda_single {
    float *A_high, *A_low, *B_high, *B_low, *out;
} tl_cuda_single;

typedef struct tl_cuda {
    tl_engine is; /* first */
    tl_field f;
    tl_comm *frames_comm; /* NULL: one process has all frames */
    int device;           /* the GPU's number */
    tl_gpu gpu;
    cublasHandle_t blas;
    double gamma;
    int64_t slice; /* columns of UX */
    double flops;  /* number of operations in products so far */
    /* on the device: see cpu.h */
    double *R;
    double *B; /* M x N, or NULL: see tl_field */
    int64_t *offset;
    int *frame;
    double *Phi, *Phi_new, *W, *H, *X, *V, *U, *UX;
    double *G, *Gamma, *E, *E2; /* M x M; G, Gamma, Phi_new are scratch of a try */
    double *kept[TL_CUDA_KEPT]; /* M x M: exp(aE) - I at kept_a, which later tries may need */
    double kept_a[TL_CUDA_KEPT];
    double *gains, *floors, *num, *den, *column;
    double *W_num, *W_den; /* the sums of (8) */
    double *dots;          /* inner products of L-BFGS, where frames are distributed */
    double *pairs;         /* sums of a round of a sweep, where frames are distributed */
    void *workspace;       /* of cuBLAS */
    double norm;           /* upper bound on the spectral norm of E */
    double radius;         /* the norm that exponentials assume; 0: not known yet */
    tl_cuda_U U_is;
    double U_floor;
    tl_direction how;
    double logs; /* -sum log U: the part of C that steps along E do not change */
    tl_cuda_descent x;
    bool turned_X; /* the last step tried has rotated X, but not Phi yet */
    bool rough;    /* products and sweeps may be rounded now */
    tl_cuda_single single;
    /* TL_SCALAR_COUNT numbers in host memory that kernels write: its address on the host and on the
     * device. The host may read it after tl_cuda_wait(). */
    double *scalars, *scalars_device;
    void *device_block;
    /* on the host */
    double *exchanged; /* copy of a device array for sums over processes, with a flag and a vote */
    bool agreed;       /* all processes know that one has failed: no more sums are made */
    tl_point point;
    tl_skew skew;
    void *point_block;
    tl_hooks hooks;
    char why[256];
} tl_cuda;

/* Returns the engine, after selecting its GPU for the calling thread. */
static inline tl_cuda *tl_cuda_of(tl_engine *e)
{
    tl_cuda *self = (tl_cuda *)e;
    cudaSetDevice(self->device);
    return self;
}

/* ---- shared parts ---------------------------------------------------------------------------- */

/* Records a failure in the engine's fault, once. */
void tl_cuda_fault(tl_cuda *self, tlnmf_error error, const char *what, const char *why);
void tl_cuda_check(tl_cuda *self, cudaError_t error, const char *what);
/* Waits for the stream; false if something has failed. */
bool tl_cuda_wait(tl_cuda *self);
/* The shape, with the floor of now. */
const tl_field *tl_cuda_field(tl_cuda *self);

/* C (m x n) = alpha op(A) op(B) + beta C, in C order, without gaps between rows. */
typedef struct tl_cuda_product {
    tl_op opA, opB;
    int64_t m, n, k;
    double alpha;
    const double *A, *B;
    double beta;
    double *C;
    int64_t ldb; /* if not 0: numbers from one row of B to the next */
    int passes;  /* products in TF32 while the engine rounds: 3 or 1; 0: always in double */
} tl_cuda_product;
void tl_cuda_multiply(tl_cuda *self, const tl_cuda_product *p);
/* The same for two B and two C, `B_apart` and `C_apart` numbers apart. */
void tl_cuda_multiply_two(tl_cuda *self, const tl_cuda_product *p, int64_t B_apart,
                          int64_t C_apart);
/* C = alpha A B + beta C, all M x M; may be rounded. */
void tl_cuda_square_product(tl_cuda *self, double alpha, const double *A, const double *B,
                            double beta, double *C);
/* C = alpha A A', both M x M. */
void tl_cuda_gram(tl_cuda *self, double alpha, const double *A, double *C);
/* An M x N array times H' (M x K), over the local frames. */
void tl_cuda_times_H(tl_cuda *self, double alpha, const double *A, const double *H, double *out);

/* Numbers of an array of tl_cuda_single for M rows. */
int64_t tl_cuda_single_size(int64_t M, int64_t columns);

static inline void tl_cuda_swap(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

/* Copies numbers, to, from or on the device. */
void tl_cuda_copy(tl_cuda *self, double *to, const double *from, int64_t count);
void tl_cuda_refresh(tl_cuda *self);                         /* X, V from Phi */
void tl_cuda_coefficients(tl_cuda *self, const double *Phi); /* X = Phi R */
void tl_cuda_V_changed(tl_cuda *self);
void tl_cuda_U_holds(tl_cuda *self, tl_cuda_U what, double floor);
void tl_cuda_weights(tl_cuda *self, unsigned of, double floor);
/* U = B / (W H + floor), and the other outputs that `w` requests. Sets V and U of `w`. */
void tl_cuda_weigh(tl_cuda *self, const tl_field *f, tl_gpu_weigh w);
/* (10) at X and U, and at V and U, over the local frames. */
void tl_cuda_G(tl_cuda *self);
void tl_cuda_gamma(tl_cuda *self);
/* tl_gpu_sums() to TL_SCALAR_SUMS. */
void tl_cuda_objectives(tl_cuda *self, unsigned which, const double *X);

/* Sums over processes (gpu_comm.c); on one process tl_cuda_sum_scalars() only waits, and the others
 * do nothing. A failure on one process becomes a failure on all of them at its next sum, so that
 * all make the same calls. */

/* Waits for the stream and sums `count` numbers from scalars[place] on. False if a process failed.
 */
bool tl_cuda_sum_scalars(tl_cuda *self, int place, int count);
void tl_cuda_sum_array(tl_cuda *self, double *x, int64_t count); /* x is on the device */
/* The direction of L-BFGS; its slope is in TL_SCALAR_SLOPE, summed. False if a process failed. */
bool tl_cuda_direction(tl_cuda *self);
/* A sweep whose sums p and D of (14) are over the frames of all processes. */
void tl_cuda_sweep_frames(tl_cuda *self, const tl_gpu_sweep *s);

/* Functions of a skew-symmetric E (gpu_skew.c), as in linalg. */
void tl_cuda_prepare(tl_cuda *self); /* E^2 and its norms, which tl_cuda_prepared() reads */
void tl_cuda_prepared(tl_cuda *self);
void tl_cuda_turn(tl_cuda *self, tl_retraction how, double a); /* Phi_new and its X */
/* Applies exp(aE) to X and stores the result in UX; X itself stays. tl_cuda_turned() makes the
 * result X and rotates Phi. If UX does not have all columns (see tl_cuda_turns_X()), use
 * tl_cuda_turn(). */
bool tl_cuda_turns_X(const tl_cuda *self);
void tl_cuda_turn_X(tl_cuda *self, double a);
void tl_cuda_turned(tl_cuda *self);
/* Makes Q orthogonal, if its singular values lie in (0, sqrt 2]; false if it does not converge. */
bool tl_cuda_orthogonalise(tl_cuda *self, double *Q);
/* The same for a Phi in host memory, for tl_point. */
bool tl_cuda_orthogonalise_point(const tl_point *point);

/* Descents (gpu_descent.c). */
void tl_cuda_settle(tl_cuda *self); /* after a wait: whether the last pair counts */
void tl_cuda_aim_along(tl_cuda *self);
void tl_cuda_gradient_at(tl_cuda *self, double *out);
double tl_cuda_value_at(tl_cuda *self, double a);
/* Computes C at these W and H, and leaves their weights in U. If X is not NULL, V is computed
 * from it. */
double tl_cuda_C_at(tl_cuda *self, const double *W, const double *H, const double *X);
void tl_cuda_accept(tl_cuda *self);
void tl_cuda_learn(tl_cuda *self, double a);
void tl_cuda_restore(tl_cuda *self);
tl_gpu_pairs tl_cuda_pairs(const tl_cuda *self);

/* ---- operations (engine.h) ------------------------------------------------------------------- */

tlnmf_error tl_cuda_fill(tl_engine *e, unsigned parts, tl_fill fill, void *user);
void tl_cuda_store(const tl_engine *e, double *Phi, double *W, double *H);
void tl_cuda_project(tl_engine *e, unsigned parts);
bool tl_cuda_precision(tl_engine *e, bool rough);
bool tl_cuda_inspect(tl_engine *e, tl_inspection *found);
tl_values tl_cuda_values(tl_engine *e, unsigned which);
double tl_cuda_gradient(tl_engine *e, unsigned of, double *Ganti);
void tl_cuda_update(tl_engine *e, unsigned parts, int64_t count);
double tl_cuda_sweep(tl_engine *e, unsigned of, double floor, double least);
tl_aim tl_cuda_aim(tl_engine *e, tl_direction how);
double tl_cuda_try(tl_engine *e, double a);
double tl_cuda_slope(tl_engine *e);
void tl_cuda_take(tl_engine *e, double a);
double tl_cuda_begin(tl_engine *e, unsigned over);
double tl_cuda_norm(tl_engine *e, bool renew);
bool tl_cuda_revive(tl_engine *e, double least);

#endif
