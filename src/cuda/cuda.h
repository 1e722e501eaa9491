/* The CUDA engine: its arrays and the functions that its files share. For src/cuda only. */
#ifndef TLNMF_CUDA_CUDA_H
#define TLNMF_CUDA_CUDA_H

#include "cuda/kernels.h"
#include "engine/device.h"

#include <cublas_v2.h>

/* What U holds at present. */
typedef enum tl_cuda_U {
    TL_CUDA_U_NOTHING,
    TL_CUDA_U_WEIGHTS_C, /* B / (W H + floor) */
    TL_CUDA_U_WEIGHTS_L, /* B / (V + floor) */
} tl_cuda_U;

/* Steps are halved, and exp(aE) comes from those of a/2 and a/4: as many are kept. */
enum { TL_CUDA_KEPT = 2 };

/* Numbers that kernels leave for the host, by place. */
enum {
    TL_SEEN_SUMS = 0,  /* four, tl_gpu_sums() */
    TL_SEEN_NORMS = 4, /* two */
    TL_SEEN_SLOPE = 6,
    TL_SEEN_NORM = 7,
    TL_SEEN_LEARN = 8, /* four */
    TL_SEEN_OTHER = 12,
    TL_SEEN_CG = 13,    /* five */
    TL_SEEN_BELOW = 18, /* two */
    TL_SEEN_COUNT = 20
};

/* A descent's coordinates, as in the cpu engine (cpu.h). */
typedef struct tl_cuda_descent {
    unsigned over;
    int64_t triangle, in_W, in_H, size;
    double *gradient, *before, *direction, *metric; /* size */
    double unit;
    double *P, *Q, *P_new, *Q_new, *W_new, *H_new; /* M x K, K x N */
    double *scratch;                               /* in_W + in_H */
    /* pairs of L-BFGS */
    int memory, count, next;
    bool single, pending; /* pending: whether the last pair counts is not known yet */
    void *s, *y;
    double *coefficients;
    /* conjugate gradients */
    double rr, *step, *residual, *d, *Hd, *cg_P, *cg_Q, *cg_W, *cg_H;
} tl_cuda_descent;

/* Scratch of products in single precision: both factors, each the sum of two, and the result; in
 * sweeps U and X. */
typedef struct tl_cuda_single {
    float *A_high, *A_low, *B_high, *B_low, *out;
} tl_cuda_single;

/* Panels that are computed and on their way. */
enum { TL_CUDA_BUFFERS = 2 };

/* Frames, spread evenly, by whose columns sweeps rotate where columns come in panels. */
typedef struct tl_cuda_sample {
    int64_t every, frames, columns;
    /* on the device */
    double *U;       /* M x frames */
    int64_t *offset; /* frames + 1; and the frame of each column: as tl_field has them */
    int *frame;
    int *column_in, *frame_in; /* where they are in their panels */
} tl_cuda_sample;

/* Columns in panels (panels.c). */
typedef struct tl_cuda_panels {
    const tlnmf_data *data; /* where they come from; NULL: there is one panel, and it stays */
    int64_t count, frames;  /* panels, and frames in each but the last */
    int64_t first;          /* frame of the panel that is there */
    double *R[TL_CUDA_BUFFERS], *B[TL_CUDA_BUFFERS];
    int64_t held[TL_CUDA_BUFFERS]; /* the panel in each buffer; -1: none */
    int now;                       /* the buffer of the panel that is there */
    cudaStream_t stream;
    cudaEvent_t arrived[TL_CUDA_BUFFERS], left[TL_CUDA_BUFFERS];
    bool pinned_R, pinned_B;
    bool at_new; /* X of a panel that comes is Phi_new R: a step is being tried */
    tl_cuda_sample sample;
} tl_cuda_panels;

typedef struct tl_cuda {
    tl_engine is; /* first */
    tl_field f;   /* of the panel that is there, as are R, X, V, U, UX */
    tl_cuda_panels panels;
    tl_gpu gpu;
    cublasHandle_t blas;
    double gamma;
    int64_t slice; /* columns of UX */
    double flops;  /* of products so far */
    /* on the device: see cpu.h */
    double *R;
    int64_t *offset; /* those of each panel follow each other */
    int *frame;
    double *Phi, *Phi_new, *W, *H, *X, *V, *U, *UX;
    double *G, *Gamma, *E, *E2; /* M x M; G, Gamma, Phi_new are scratch of a try */
    double *kept[TL_CUDA_KEPT]; /* M x M: exp(aE) - I at kept_a, which later tries may need */
    double kept_a[TL_CUDA_KEPT];
    double *gains, *floors, *num, *den, *column;
    double *W_num, *W_den; /* sums over all columns */
    double *part;          /* sums over a panel: M numbers, or more */
    void *workspace;       /* of cuBLAS */
    double norm;           /* upper bound on the spectral norm of E */
    double radius;         /* what exponentials take for that norm; 0: not known yet */
    tl_cuda_U U_is;
    double U_floor;
    tl_direction how;
    double logs; /* -sum log U: the part of C that steps along E do not change */
    tl_cuda_descent x;
    bool turned_X; /* the last step tried has turned X, and not Phi yet */
    bool rough;    /* products and sweeps may be rounded now */
    tl_cuda_single single;
    double *seen, *seen_there; /* TL_SEEN_COUNT numbers, for the host and for the device */
    void *device_block;
    /* on the host */
    tl_point point;
    tl_skew skew;
    void *point_block;
    tl_hooks hooks;
    char why[256];
} tl_cuda;

/* ---- shared parts ---------------------------------------------------------------------------- */

/* Records a failure in the engine's fault, once. */
void tl_cuda_fault(tl_cuda *self, tlnmf_error error, const char *what, const char *why);
void tl_cuda_check(tl_cuda *self, cudaError_t error, const char *what);
/* Waits for the stream; false if something has failed. */
bool tl_cuda_wait(tl_cuda *self);
/* The shape, with the floor of now. */
const tl_field *tl_cuda_field(tl_cuda *self);

/* C (m x n) = alpha op(A) op(B) + beta C, in C order. */
typedef struct tl_cuda_product {
    tl_op opA, opB;
    int64_t m, n, k;
    double alpha;
    const double *A;
    int64_t lda;
    const double *B;
    int64_t ldb;
    double beta;
    double *C;
    int64_t ldc;
    int passes; /* products in TF32 while the engine rounds: 3 or 1; 0: always in double */
} tl_cuda_product;
void tl_cuda_multiply(tl_cuda *self, const tl_cuda_product *p);
/* The same for two B and two C, `B_apart` and `C_apart` numbers apart. */
void tl_cuda_multiply_two(tl_cuda *self, const tl_cuda_product *p, int64_t B_apart,
                          int64_t C_apart);
/* C = alpha A B + beta C, all M x M; may be rounded. */
void tl_cuda_square_product(tl_cuda *self, double alpha, const double *A, const double *B,
                            double beta, double *C);

/* Numbers of an array of tl_cuda_single for M rows. */
int64_t tl_cuda_single_size(int64_t M, int64_t columns);

static inline void tl_cuda_swap(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

void tl_cuda_copy(tl_cuda *self, double *to, const double *from, int64_t count); /* on the device */
void tl_cuda_refresh(tl_cuda *self); /* X, V from Phi; in panels, when they come */
void tl_cuda_coefficients(tl_cuda *self, const double *Phi); /* the same of X alone */
void tl_cuda_times_R(tl_cuda *self, const double *Phi);      /* X = Phi R */
void tl_cuda_V_changed(tl_cuda *self);
void tl_cuda_factors_changed(tl_cuda *self);
void tl_cuda_U_holds(tl_cuda *self, tl_cuda_U what, double floor);
void tl_cuda_weights(tl_cuda *self, unsigned of, double floor);
/* U = B / (W H + floor), and what else `w` asks for; its V, U and H_apart are set here. */
void tl_cuda_weigh(tl_cuda *self, const tl_field *f, tl_gpu_weigh w);
/* (10) at X and U, and at V and U; p > 0: added to those of the panels before. */
void tl_cuda_G(tl_cuda *self, int64_t p);
void tl_cuda_gamma(tl_cuda *self, int64_t p);
/* tl_gpu_sums() to TL_SEEN_SUMS. */
void tl_cuda_objectives(tl_cuda *self, int64_t p, unsigned which, const double *X);
/* A sweep over the columns of the field; what else `s` needs is set here. True: X has not followed
 * Phi. The gain is in TL_SEEN_OTHER. */
bool tl_cuda_rotate(tl_cuda *self, const tl_field *f, const tl_gpu_sweep *s);

/* Panels (panels.c). All work over columns is a loop, for (p = 0; tl_cuda_bring(self, p); p++):
 * panel p is there in it. Sums of a panel go to tl_cuda_sums_of(), and tl_cuda_add_sums() adds
 * them to the total of those before. */
bool tl_cuda_bring(tl_cuda *self, int64_t p);
double *tl_cuda_sums_of(tl_cuda *self, int64_t p, double *total);
void tl_cuda_add_sums(tl_cuda *self, int64_t p, int64_t count, double *total);
double tl_cuda_sweep_sample(tl_cuda *self, unsigned of, double floor, double least);
/* Columns of the widest panel of so many frames. */
int64_t tl_cuda_widest(const tlnmf_data *data, int64_t frames);
/* `most`: columns that the arrays of a sweep have room for. */
tlnmf_error tl_cuda_open_panels(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t most,
                                tl_cuda *self);
void tl_cuda_close_panels(tl_cuda *self);

/* Arrays that are sent when an engine is made. */
typedef struct tl_cuda_sent {
    void *to;
    const void *from;
    size_t bytes;
} tl_cuda_sent;
tlnmf_error tl_cuda_send_all(tlnmf_ctx *ctx, size_t count, const tl_cuda_sent *sent);

/* Functions of a skew-symmetric E (skew.c), as in linalg. */
void tl_cuda_prepare(tl_cuda *self); /* E^2 and its norms, which tl_cuda_prepared() reads */
void tl_cuda_prepared(tl_cuda *self);
void tl_cuda_turn(tl_cuda *self, tl_retraction how, double a); /* Phi_new and its X */
/* exp(aE) applied to X alone, which stays: the result is in UX. tl_cuda_turned() makes it X and
 * turns Phi. Where UX has not all columns (tl_cuda_turns_X()), tl_cuda_turn() must do. */
bool tl_cuda_turns_X(const tl_cuda *self);
void tl_cuda_turn_X(tl_cuda *self, double a);
void tl_cuda_turned(tl_cuda *self);
/* Q of singular values in (0, sqrt 2]; false if it did not get there. */
bool tl_cuda_orthogonalise(tl_cuda *self, double *Q);
/* Of a Phi in host memory, for tl_point. */
bool tl_cuda_orthogonalise_point(const tl_point *point);

/* Descents (descent.c). */
void tl_cuda_settle(tl_cuda *self); /* after a wait: whether the last pair counts */
void tl_cuda_aim_along(tl_cuda *self);
void tl_cuda_gradient_at(tl_cuda *self, double *out);
double tl_cuda_value_at(tl_cuda *self, double a);
/* C at these W and H; X is not NULL: V is made from it. Leaves their weights in U. */
double tl_cuda_C_at(tl_cuda *self, const double *W, const double *H, const double *X);
void tl_cuda_accept(tl_cuda *self);
void tl_cuda_learn(tl_cuda *self, double a);
void tl_cuda_restore(tl_cuda *self);
tl_gpu_pairs tl_cuda_pairs(const tl_cuda *self);
void tl_cuda_curvature(tl_cuda *self, double *out);

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
tl_cg tl_cuda_cg(tl_engine *e, bool begins, double radius);

#endif
