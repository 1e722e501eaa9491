/* QR with column pivoting of few long rows, in place. LAPACK's setup takes longer than the work. */
#include "linalg/linalg.h"

#include <float.h>
#include <math.h>

/* Sums of squares of each column. */
TL_HOT static void add_squares(int64_t rows, int64_t M, const double *A, double *square)
{
    for (int64_t m = 0; m < M; m++)
        square[m] = 0.0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t m = 0; m < M; m++)
            square[m] += A[i * M + m] * A[i * M + m];
}

/* A - scale v (v' A), and the sums of squares of the columns below the first row. */
TL_HOT static void reflect(int64_t rows, int64_t M, const double *v, double scale, double *A,
                           double *product, double *square)
{
    for (int64_t m = 0; m < M; m++)
        product[m] = square[m] = 0.0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t m = 0; m < M; m++)
            product[m] += v[i] * A[i * M + m];
    for (int64_t m = 0; m < M; m++)
        A[m] -= scale * v[0] * product[m];
    for (int64_t i = 1; i < rows; i++)
        for (int64_t m = 0; m < M; m++) {
            A[i * M + m] -= scale * v[i] * product[m];
            square[m] += A[i * M + m] * A[i * M + m];
        }
}

static int64_t longest(int64_t M, const double *square)
{
    int64_t best = 0;
    for (int64_t m = 1; m < M; m++)
        if (square[m] > square[best])
            best = m;
    return best;
}

bool tl_few_rows(int64_t rows, int64_t M, double *A, double *scratch)
{
    double *square = scratch, *product = scratch + M, v[TL_FEW_ROWS], sum = 0.0;
    int64_t pivot[TL_FEW_ROWS];
    add_squares(rows, M, A, square);
    for (int64_t m = 0; m < M; m++)
        sum += square[m];
    if (!(sum > 1e-200 && sum < 1e200)) /* squares of small columns would lose their digits */
        return false;
    for (int64_t j = 0; j < rows; j++) {
        double *rest = A + j * M;
        int64_t p = pivot[j] = longest(M, square), count = rows - j;
        double length = 0.0, inner = 0.0;
        for (int64_t i = 0; i < count; i++) {
            v[i] = rest[i * M + p];
            length += v[i] * v[i];
        }
        if (!(length > sum * DBL_EPSILON * DBL_EPSILON / (double)rows)) { /* rounding is left */
            memset(rest, 0, (size_t)(count * M) * sizeof *rest);
            return true;
        }
        length = copysign(sqrt(length), v[0]);
        v[0] += length; /* the reflection makes the column (-length, 0, ..) */
        for (int64_t i = 0; i < count; i++)
            inner += v[i] * v[i];
        reflect(count, M, v, 2.0 / inner, rest, product, square);
        rest[p] = -length;
        for (int64_t i = 1; i < count; i++)
            rest[i * M + p] = 0.0;
        for (int64_t i = 0; i <= j; i++)
            square[pivot[i]] = -1.0; /* zero below the diagonal: the column is finished */
    }
    return true;
}
