/* Dense linear algebra on matrices in C order. The only module that knows BLAS and LAPACK, and the
 * only one that narrows sizes to int: tl_check_size() must have accepted every dimension before. */
#ifndef TLNMF_LINALG_LINALG_H
#define TLNMF_LINALG_LINALG_H

#include "base/base.h"

/* BLAS and LAPACK count in int: says which size does not fit. */
tlnmf_error tl_check_size(tlnmf_ctx *ctx, const char *name, int64_t size);

typedef enum tl_op { TL_PLAIN, TL_TRANSPOSED } tl_op;

/* C (m x n) = alpha op(A) op(B) + beta C, inner dimension k; rows are lda, ldb, ldc apart. The
 * parameters are those of BLAS, in its order: everybody knows them. */
void tl_gemm(tl_op opA, tl_op opB, int64_t m, int64_t n, int64_t k, double alpha, const double *A,
             int64_t lda, const double *B, int64_t ldb, double beta, double *C, int64_t ldc);

/* One product, C (m x n) = alpha A op(B) + beta C, as above. C may be neither A nor B. */
typedef struct tl_product {
    tl_op opB;
    int64_t m, n, k;
    double alpha;
    const double *A;
    int64_t lda;
    const double *B;
    int64_t ldb;
    double beta;
    double *C;
    int64_t ldc;
} tl_product;

/* In which precision products of matrices in double are computed. */
typedef struct tl_arithmetic tl_arithmetic;
struct tl_arithmetic {
    void (*multiply)(const tl_arithmetic *self, const tl_product *product);
    /* C (n x n) = alpha A A', A is n x n */
    void (*gram)(const tl_arithmetic *self, int64_t n, double alpha, const double *A, double *C);
};

static inline void tl_multiply(const tl_arithmetic *in, const tl_product *product)
{
    in->multiply(in, product);
}

extern const tl_arithmetic tl_double; /* BLAS as it is */

/* Products in single precision, of A (up to M x inner) with B. */
typedef struct tl_single {
    tl_arithmetic arithmetic; /* first */
    int64_t M, inner;
    float *A, *B, *C;
    tlnmf_hooks hooks;
    void *block;
} tl_single;

tlnmf_error tl_single_create(tlnmf_ctx *ctx, int64_t M, int64_t inner, tl_single *single);
size_t tl_single_bytes(int64_t M, int64_t inner); /* that it takes up */
void tl_single_free(tl_single *single);

/* C (n x n) = alpha A A', A is n x k; both triangles are written. */
void tl_gram(int64_t n, int64_t k, double alpha, const double *A, double *C);

/* y = A' x, A is M x M. */
void tl_gemv_transposed(int64_t M, const double *A, const double *x, double *y);

/* Largest entry of |A A' - I|; `scratch` is M x M. */
double tl_orthogonality(int64_t M, const double *A, double *scratch);

/* Whether A may pass for orthogonal; `name` is what the message calls it. */
tlnmf_error tl_check_orthogonal(tlnmf_ctx *ctx, const char *name, int64_t M, const double *A);

/* The orthogonal factor of A (M x M, overwritten): U V' where A = U diag(s) V'. A singular A has
 * several, and gets one of them. */
tlnmf_error tl_polar(tlnmf_ctx *ctx, int64_t M, double *A);
/* One step of Newton's iteration towards it, X <- (g X + (g X)^-T) / 2; g = 0 chooses Higham's
 * scale (1986), g^2 = |X^-1| / |X|. `inverse` is M x M, `work` TL_LU_BLOCK M, `pivot` M. False if X
 * is singular; *change is the Frobenius norm of the step. */
enum { TL_LU_BLOCK = 64 };
bool tl_polar_step(int64_t M, double g, double *X, double *inverse, double *work, int *pivot,
                   double *change);

/* Scratch for factoring matrices rows x M. */
typedef struct tl_qr {
    int64_t rows, M, work_length;
    double *tau, *work, *triangle;
    int *pivot;
    tlnmf_hooks hooks;
    void *block;
} tl_qr;

tlnmf_error tl_qr_create(tlnmf_ctx *ctx, int64_t rows, int64_t M, tl_qr *qr);
void tl_qr_free(tl_qr *qr);
/* A (column-major, rows x M, overwritten): leaves min(rows, M) vectors r_i, the rows of `R`, of
 * length M, longest first or nearly so, with A' A = sum r_i r_i' (QR with column pivoting). */
tlnmf_error tl_qr_rows(tlnmf_ctx *ctx, tl_qr *qr, double *A, double *R);

/* Scratch for eigenvalues and vectors of symmetric M x M matrices. */
typedef struct tl_eigen {
    int64_t M, work_length, iwork_length;
    double *lambda, *work;
    int *iwork;
    tlnmf_hooks hooks;
    void *block;
} tl_eigen;

tlnmf_error tl_eigen_create(tlnmf_ctx *ctx, int64_t M, tl_eigen *eigen);
void tl_eigen_free(tl_eigen *eigen);
/* A (overwritten by the vectors, one a row); the values are left in eigen->lambda, rising. */
tlnmf_error tl_eigen_solve(tlnmf_ctx *ctx, tl_eigen *eigen, double *A);

/* A (n x n, symmetric, nonnegative definite, overwritten) x = b for each of the `count` rows b of
 * B, which become the x. Where A is singular to rounding, x has zeros for the rows that say nothing
 * new (Cholesky with pivoting): A x is then the nearest to b there is, and x stays bounded. */
tlnmf_error tl_solve_semidefinite(tlnmf_ctx *ctx, int64_t n, double *A, int64_t count, double *B);

/* The assignment of n rows to n columns with the least sum of cost[row * n + column] (the Hungarian
 * method, O(n^3)); column_of_row receives it. The costs must be finite. */
tlnmf_error tl_assign(tlnmf_ctx *ctx, int64_t n, const double *cost, int64_t *column_of_row);

/* Fixed transforms, M x M. */
void tl_dct(int64_t M, double *Phi); /* orthonormal DCT-II */
void tl_dft(int64_t M, double *Phi); /* real: mean, cosine and sine pairs, alternating sign */
void tl_identity(int64_t M, double *Phi);

/* ---- functions of a skew-symmetric matrix ---------------------------------------------------- */

/* Powers of one E, shared by all the steps a that a line search tries. */
typedef struct tl_skew {
    int64_t M;
    const tl_arithmetic *arithmetic; /* the precision of products; tl_double at first */
    const double *E;
    double norm; /* at least the spectral norm of E */
    double *E2;  /* E E, until a polar factor or tl_orthogonalise() needs its place */
    double *lu_work;
    int *pivot;
} tl_skew;

/* Scratch that the caller lends for one call: two matrices M x M. */
typedef struct tl_lent {
    double *a, *b;
} tl_lent;

enum { TL_SKEW_SLOTS = 3 };
/* The rows of the size table that a tl_skew needs. */
void tl_skew_slots(tl_skew *skew, int64_t M, tl_slot slots[TL_SKEW_SLOTS]);

/* The lower triangle of E is given: the diagonal becomes 0 and the upper triangle its negative. */
void tl_skew_complete(int64_t M, double *E);
/* The same from a triangle that is packed row by row. */
void tl_skew_unpack(int64_t M, const double *triangle, double *E);

void tl_skew_prepare(tl_skew *skew, const double *E);
/* exp(aE), or the orthogonal factor of I + aE: for any number of steps a, but not both of one E. */
void tl_skew_exp(tl_skew *skew, double a, tl_lent lent, double *out);
void tl_skew_polar(tl_skew *skew, double a, tl_lent lent, double *out);

typedef enum tl_retraction { TL_EXP, TL_POLAR } tl_retraction;
/* out = Q Phi, Q being one of the two; Q - I is left in `Q`. `out` may be lent->a. */
void tl_skew_turn(tl_skew *skew, tl_retraction how, double a, const double *Phi, tl_lent lent,
                  double *Q, double *out);

/* Q, nearly orthogonal, becomes orthogonal to rounding. */
void tl_orthogonalise(tl_skew *skew, tl_lent lent, double *Q);
/* tl_polar in the scratch of a tl_skew; only an A that is nearly singular takes memory then. */
tlnmf_error tl_polar_with(tlnmf_ctx *ctx, tl_skew *skew, tl_lent lent, double *A);

#endif
