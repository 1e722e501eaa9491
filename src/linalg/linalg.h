/* Dense linear algebra on matrices in C order. The only module that knows BLAS and LAPACK, and the
 * only one that narrows sizes to int: tl_check_size() must have accepted every dimension before. */
#ifndef TLNMF_LINALG_LINALG_H
#define TLNMF_LINALG_LINALG_H

#include "base/settings.h"

/* tlnmf_blas() copied to `name`; several threads may call it concurrently. */
enum { TL_BLAS_NAME = 256 };
void tl_blas_name(char name[TL_BLAS_NAME]);

/* Fails for a size that does not fit an int, in which BLAS and LAPACK count; the message names
 * it. */
tlnmf_error tl_check_size(tlnmf_ctx *ctx, const char *name, int64_t size);

typedef enum tl_op { TL_PLAIN, TL_TRANSPOSED } tl_op;

/* C (m x n) = alpha op(A) op(B) + beta C, inner dimension k; rows are lda, ldb, ldc apart. The
 * parameters and their order are those of BLAS. */
void tl_gemm(tl_op opA, tl_op opB, int64_t m, int64_t n, int64_t k, double alpha, const double *A,
             int64_t lda, const double *B, int64_t ldb, double beta, double *C, int64_t ldc);

/* The same as a struct. C may be neither A nor B. */
typedef struct tl_product {
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
} tl_product;

/* The precision in which products of double matrices are computed. */
typedef struct tl_arithmetic tl_arithmetic;
struct tl_arithmetic {
    /* in single precision, opA must be TL_PLAIN */
    void (*multiply)(const tl_arithmetic *self, const tl_product *product);
    /* C (n x n) = alpha A A', A is n x n */
    void (*gram)(const tl_arithmetic *self, int64_t n, double alpha, const double *A, double *C);
    bool one_at_a_time; /* it has scratch: two threads must not multiply concurrently */
};

static inline void tl_multiply(const tl_arithmetic *in, const tl_product *product)
{
    in->multiply(in, product);
}

extern const tl_arithmetic tl_double; /* in tiles */

/* Products in single precision, of A (up to M x inner) with B. */
typedef struct tl_single {
    tl_arithmetic arithmetic; /* first */
    float *A, *B, *C;
    tl_hooks hooks;
    void *block;
} tl_single;

tlnmf_error tl_single_create(tlnmf_ctx *ctx, int64_t M, int64_t inner, tl_single *single);
size_t tl_single_bytes(int64_t M, int64_t inner); /* allocated by tl_single_create */

/* C (n x n) = alpha A A', A is n x k; both triangles are written. */
void tl_gram(int64_t n, int64_t k, double alpha, const double *A, double *C);

/* y = A' x, A is rows x columns. */
void tl_gemv_transposed(int64_t rows, int64_t columns, const double *A, const double *x, double *y);

/* Largest entry of |A A' - I|; `scratch` is M x M. */
double tl_orthogonality(int64_t M, const double *A, double *scratch);

/* Fails if A (rows x columns) has an entry that is not finite; the message calls A `name`. */
tlnmf_error tl_check_finite(tlnmf_ctx *ctx, const char *name, int64_t rows, int64_t columns,
                            const double *A);
/* Fails if A has an entry that is not finite, or if *off, the largest entry of |A A' - I|, is above
 * `most`; the message calls A `name`. */
tlnmf_error tl_check_orthogonal_to(tlnmf_ctx *ctx, const char *name, int64_t M, const double *A,
                                   double most, double *off);
/* The same with 1e-8, the error of a matrix printed with nine digits. */
tlnmf_error tl_check_orthogonal(tlnmf_ctx *ctx, const char *name, int64_t M, const double *A);

/* Replaces A (M x M) by its orthogonal polar factor: U V' where A = U diag(s) V'. A singular A has
 * several; the result is one of them. */
tlnmf_error tl_polar(tlnmf_ctx *ctx, int64_t M, double *A);
/* One Newton step towards the polar factor, X <- (g X + (g X)^-T) / 2; g = 0 chooses Higham's scale
 * (1986), g^2 = |X^-1| / |X|. `inverse` is M x M, `work` TL_LU_BLOCK M, `pivot` M. False if X is
 * singular; *change is the Frobenius norm of the step. */
enum { TL_LU_BLOCK = 64 };
bool tl_polar_step(int64_t M, double g, double *X, double *inverse, double *work, int *pivot,
                   double *change);

/* Scratch for factoring matrices rows x M. */
typedef struct tl_qr {
    int64_t rows, M, work_length;
    double *tau, *work, *triangle;
    int *pivot;
    tl_hooks hooks;
    void *block;
} tl_qr;

tlnmf_error tl_qr_create(tlnmf_ctx *ctx, int64_t rows, int64_t M, tl_qr *qr);
void tl_qr_free(tl_qr *qr);
/* QR with column pivoting of A (column-major, rows x M, overwritten). The rows r_i of R, min(rows,
 * M) vectors of length M in roughly descending length, satisfy A' A = sum r_i r_i'. */
tlnmf_error tl_qr_rows(tlnmf_ctx *ctx, tl_qr *qr, double *A, double *R);

/* The same for up to TL_FEW_ROWS rows, at most M, without LAPACK, whose setup takes longer than the
 * work: A is rows x M in C order, and becomes R; `scratch` is 2 M. False, with A unchanged, if its
 * squares are near the limits of double. */
enum { TL_FEW_ROWS = 32 };
bool tl_few_rows(int64_t rows, int64_t M, double *A, double *scratch);

/* Scratch for eigenvalues and vectors of symmetric M x M matrices. */
typedef struct tl_eigen {
    int64_t M, work_length, iwork_length;
    double *lambda, *work;
    int *iwork;
    tl_hooks hooks;
    void *block;
} tl_eigen;

tlnmf_error tl_eigen_create(tlnmf_ctx *ctx, int64_t M, tl_eigen *eigen);
void tl_eigen_free(tl_eigen *eigen);
/* Overwrites A by its eigenvectors, one per row. eigen->lambda holds the eigenvalues, ascending. */
tlnmf_error tl_eigen_solve(tlnmf_ctx *ctx, tl_eigen *eigen, double *A);

/* LL' = A: the columns of L become the rows of A (n x n, symmetric) from the diagonal on; entries
 * below it stay. False if A is not safely positive definite: a pivot is at most tol. */
bool tl_cholesky(int64_t n, double *A, double tol);
/* Solves A x = b for each of the `count` rows b of B, which become the solutions. A (n x n,
 * symmetric, positive semidefinite) is overwritten. Where A is singular to rounding, the dependent
 * unknowns are 0 (Cholesky with pivoting): x stays bounded, and A x is as close to b as
 * possible. */
tlnmf_error tl_solve_semidefinite(tlnmf_ctx *ctx, int64_t n, double *A, int64_t count, double *B);

/* The assignment of n rows to n columns with the least sum of cost[row * n + column] (the Hungarian
 * method, O(n^3)); column_of_row receives it. The costs must be finite. */
tlnmf_error tl_assign(tlnmf_ctx *ctx, int64_t n, const double *cost, int64_t *column_of_row);

/* Fixed transforms, M x M. */
void tl_dct(int64_t M, double *Phi); /* orthonormal DCT-II */
void tl_dft(int64_t M, double *Phi); /* real: mean, cosine and sine pairs, alternating sign */
void tl_identity(int64_t M, double *Phi);
/* The fixed transform of this kind. */
tlnmf_error tl_fixed_transform(tlnmf_ctx *ctx, tl_transform kind, int64_t M, double *Phi);

/* ---- functions of a skew-symmetric matrix ---------------------------------------------------- */

/* Powers of one E, shared by all trial steps a of a line search. */
typedef struct tl_skew {
    int64_t M;
    const tl_arithmetic *arithmetic; /* the precision of products; tl_double at first */
    const double *E;
    double norm; /* upper bound on the spectral norm of E */
    double *E2;  /* E E; becomes scratch of polar factors and of tl_orthogonalise() */
    double *lu_work;
    int *pivot;
    tl_monitor *monitor; /* polled by tl_orthogonalise(), which then fails; NULL: not polled */
} tl_skew;

/* Scratch that the caller lends for one call: two matrices M x M. */
typedef struct tl_lent {
    double *a, *b;
} tl_lent;

enum { TL_SKEW_SLOTS = 3 };
/* Fills in the rows of the size table that a tl_skew needs. */
void tl_skew_slots(tl_skew *skew, int64_t M, tl_slot slots[TL_SKEW_SLOTS]);

/* Completes a skew-symmetric E from its lower triangle: zero diagonal, upper triangle negated. */
void tl_skew_complete(int64_t M, double *E);
/* The same from a lower triangle that is packed row by row. */
void tl_skew_unpack(int64_t M, const double *triangle, double *E);

void tl_skew_prepare(tl_skew *skew, const double *E);
/* exp(aE), or the orthogonal polar factor of I + aE. Call one of the two for any number of steps a;
 * switching to the other needs tl_skew_prepare() again. */
void tl_skew_exp(tl_skew *skew, double a, tl_lent lent, double *out);
void tl_skew_polar(tl_skew *skew, double a, tl_lent lent, double *out);

typedef enum tl_retraction { TL_EXP, TL_POLAR } tl_retraction;
/* out = Q Phi, where Q is one of these two. `Q` receives Q - I. `out` may be lent.a. */
void tl_skew_turn(tl_skew *skew, tl_retraction how, double a, const double *Phi, tl_lent lent,
                  double *Q, double *out);

/* Makes Q, whose singular values are below sqrt(7/3) (beyond, they grow), orthogonal to rounding.
 * It takes few products if Q is nearly orthogonal; false if it is nearly singular. */
bool tl_orthogonalise(tl_skew *skew, tl_lent lent, double *Q);
/* The polar factor of A in double, by the same products. False if A is nearly singular: then A has
 * become a matrix with the same polar factor. */
bool tl_polar_by_products(tl_skew *skew, tl_lent lent, double *A);
/* tl_polar with the scratch of a tl_skew. It allocates only if A is nearly singular. */
tlnmf_error tl_polar_with(tlnmf_ctx *ctx, tl_skew *skew, tl_lent lent, double *A);

#endif
