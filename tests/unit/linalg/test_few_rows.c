/* QR with column pivoting of few rows: keeps A' A, and reveals the rank. */
#include "support.h"

#include "linalg/linalg.h"

static double length(int64_t M, const double *x)
{
    double sum = 0.0;
    for (int64_t m = 0; m < M; m++)
        sum += x[m] * x[m];
    return sqrt(sum);
}

/* A' A = R' R, entry by entry. */
static void check_product(int64_t rows, int64_t M, const double *A, const double *R)
{
    double whole = length(rows * M, A);
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b <= a; b++) {
            double before = 0.0, after = 0.0;
            for (int64_t i = 0; i < rows; i++) {
                before += A[i * M + a] * A[i * M + b];
                after += R[i * M + a] * R[i * M + b];
            }
            assert_near(after / (whole * whole), before / (whole * whole), 1e-14);
        }
}

static void keeps_the_outer_product(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{1, 1},   {1, 7},   {2, 2},  {3, 8},
                                        {10, 61}, {32, 32}, {32, 45}};
    static const double scales[] = {1.0, 1e-95, 1e95};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
            int64_t rows = shapes[i][0], M = shapes[i][1];
            double *A = new_doubles(rows * M), *R = new_doubles(rows * M),
                   *scratch = new_doubles(2 * M);
            for (int64_t t = 0; t < rows * M; t++)
                A[t] = R[t] = scales[s] * sin(0.4 + 1.3 * (double)t + 0.1 * (double)(t * t % 17));
            assert_true(tl_few_rows(rows, M, R, scratch));
            check_product(rows, M, A, R);
            free(A);
            free(R);
            free(scratch);
        }
}

/* Rows that are combinations of two others vanish except for rounding. */
static void reveals_the_rank(void **state)
{
    (void)state;
    enum { ROWS = 9, M = 20 };
    double A[ROWS * M], R[ROWS * M], scratch[2 * M];
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t m = 0; m < M; m++)
            A[i * M + m] = R[i * M + m] =
                sin((double)(i + 1)) * cos(0.7 * (double)m) + cos((double)i) * sin(1.9 * (double)m);
    assert_true(tl_few_rows(ROWS, M, R, scratch));
    check_product(ROWS, M, A, R);
    double whole = length((int64_t)ROWS * M, A);
    assert_true(length(M, R) > 0.1 * whole && length(M, R + M) > 0.01 * whole);
    for (int64_t i = 2; i < ROWS; i++)
        assert_true(length(M, R + i * M) <= 1e-15 * whole);
}

static void handles_extreme_values(void **state)
{
    (void)state;
    double scratch[4], small[2] = {1e-120, 2e-120}, large[2] = {1e120, 2e120}, none[2] = {0.0, 0.0};
    assert_false(tl_few_rows(1, 2, small, scratch));
    assert_false(tl_few_rows(1, 2, large, scratch));
    assert_false(tl_few_rows(1, 2, none, scratch));
    assert_true(small[0] == 1e-120 && large[1] == 2e120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_the_outer_product),
                                       cmocka_unit_test(reveals_the_rank),
                                       cmocka_unit_test(handles_extreme_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
