/* The real DFT without a matrix equals the product with the matrix, at all kinds of lengths. */
#include "support.h"

#include "linalg/dft.h"
#include "linalg/linalg.h"

/* Phi' (mask X) by the matrix; each column of the mask applies to five columns of X. */
static void check_masked(const tl_dft_plan *plan, const double *Phi, int64_t columns,
                         const double *X)
{
    enum { EACH = 5 };
    int64_t M = plan->M, rows = M / 2 + 1, wide = columns / EACH;
    double *mask = new_doubles(rows * wide), *Z = new_doubles(M * columns);
    for (int64_t i = 0; i < rows * wide; i++)
        mask[i] = 0.5 + 0.5 * sin(2.3 * (double)i);
    tl_dft_inverse_masked(plan, columns, EACH, mask, X, Z);
    for (int64_t t = 0; t < M; t++)
        for (int64_t c = 0; c < columns; c++) {
            double sum = 0.0;
            for (int64_t m = 0; m < M; m++)
                sum += Phi[m * M + t] * mask[(m + 1) / 2 * wide + c / EACH] * X[m * columns + c];
            assert_near(Z[t * columns + c], sum, 1e-11);
        }
    free(mask);
    free(Z);
}

static void equals_the_matrix(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 30, 49, 64, 97, 126, 154, 441};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int64_t M = lengths[i], columns = 35;
        double *Phi = new_doubles(M * M), *Y = new_doubles(M * columns),
               *X = new_doubles(M * columns), *Z = new_doubles(M * columns);
        tl_dft_plan plan;
        assert_ok(ctx, tl_dft_plan_create(ctx, M, &plan));
        tl_dft(M, Phi);
        for (int64_t t = 0; t < M * columns; t++)
            Y[t] = sin(1.7 * (double)t + 0.3 * (double)(t % 11));
        tl_dft_forward(&plan, columns, Y, X);
        for (int64_t m = 0; m < M; m++)
            for (int64_t c = 0; c < columns; c++) {
                double sum = 0.0;
                for (int64_t t = 0; t < M; t++)
                    sum += Phi[m * M + t] * Y[t * columns + c];
                assert_near(X[m * columns + c], sum, 1e-11);
            }
        tl_dft_inverse(&plan, columns, X, Z);
        for (int64_t t = 0; t < M * columns; t++)
            assert_near(Z[t], Y[t], 1e-12);
        check_masked(&plan, Phi, columns, X);
        tl_dft_plan_free(&plan);
        free(Phi);
        free(Y);
        free(X);
        free(Z);
    }
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_the_matrix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
