/* Exponential, orthogonal factor, fixed transforms, decompositions, compared with plain loops. */
#include "support.h"

#include "linalg/linalg.h"

static const int64_t sizes[] = {1, 2, 3, 7, 10, 16, 17, 31, 64};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void multiply(int64_t M, const double *A, const double *B, double *C)
{
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < M; j++) {
            double sum = 0.0;
            for (int64_t k = 0; k < M; k++)
                sum += A[i * M + k] * B[k * M + j];
            C[i * M + j] = sum;
        }
}

/* exp(A) by halving 30 times, a short series, and squaring: slow and obvious. Long double, so that
 * the squarings cost no digits. */
static void naive_exp(int64_t M, const double *A, double *out)
{
    enum { HALVINGS = 12, TERMS = 14 };
    int64_t n = M * M;
    long double *B = malloc((size_t)n * sizeof *B), *T = malloc((size_t)n * sizeof *T),
                *S = malloc((size_t)n * sizeof *S), *P = malloc((size_t)n * sizeof *P);
    for (int64_t i = 0; i < n; i++) {
        B[i] = (long double)A[i] / (1 << HALVINGS);
        T[i] = S[i] = i % (M + 1) == 0 ? 1.0L : 0.0L;
    }
    for (int step = 1; step <= TERMS + HALVINGS; step++) {
        const long double *left = step <= TERMS ? T : S, *right = step <= TERMS ? B : S;
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < M; j++) {
                P[i * M + j] = 0.0L;
                for (int64_t k = 0; k < M; k++)
                    P[i * M + j] += left[i * M + k] * right[k * M + j];
            }
        for (int64_t i = 0; i < n; i++) {
            if (step <= TERMS)
                S[i] += T[i] = P[i] / step;
            else
                S[i] = P[i];
        }
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)S[i];
    free(B);
    free(T);
    free(S);
    free(P);
}

typedef struct skew_case {
    tlnmf_ctx *ctx;
    tl_skew skew;
    tl_lent lent;
    double *E, *Q, *other, *scratch;
    void *block;
} skew_case;

/* A random skew-symmetric E whose entries are of the given size. */
static skew_case skew_create(int64_t M, double size)
{
    skew_case c = {.ctx = new_ctx()};
    tl_slot table[2 + TL_SKEW_SLOTS] = {TL_SLOT(c.lent.a, M * M), TL_SLOT(c.lent.b, M * M)};
    tl_skew_slots(&c.skew, M, table + 2);
    assert_ok(c.ctx, TL_ARENA(c.ctx, "a test", table, &c.block));
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, (uint64_t)M, 9);
    c.E = new_doubles(M * M);
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < a; b++) {
            c.E[a * M + b] = size * tl_rng_normal(&rng);
            c.E[b * M + a] = -c.E[a * M + b];
        }
    c.Q = new_doubles(M * M);
    c.other = new_doubles(M * M);
    c.scratch = new_doubles(M * M);
    tl_skew_prepare(&c.skew, c.E);
    return c;
}

static void skew_destroy(skew_case *c)
{
    free(c->E);
    free(c->Q);
    free(c->other);
    free(c->scratch);
    tl_release(&c->ctx->hooks, c->block);
    tlnmf_ctx_free(c->ctx);
}

/* From its lower triangle, in place or packed; M is close to multiples of the tile size 16. */
static void skew_matrices_follow_from_a_triangle(void **state)
{
    (void)state;
    static const int64_t all[] = {1, 2, 15, 16, 17, 40};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int64_t M = all[i];
        double *packed = new_doubles(M * (M - 1) / 2), *E = new_doubles(M * M),
               *F = new_doubles(M * M);
        for (int64_t a = 0; a < M; a++)
            for (int64_t b = 0; b < M; b++) {
                int64_t number = 1 + a * (a - 1) / 2 + b;
                E[a * M + b] = F[a * M + b] = b < a ? (double)number : NAN;
            }
        for (int64_t e = 0; e < M * (M - 1) / 2; e++)
            packed[e] = (double)(1 + e);
        tl_skew_complete(M, E);
        tl_skew_unpack(M, packed, F);
        for (int64_t a = 0; a < M; a++)
            for (int64_t b = 0; b < M; b++) {
                double lower = (double)(1 + (a > b ? a * (a - 1) / 2 + b : b * (b - 1) / 2 + a));
                assert_true(E[a * M + b] == (a == b ? 0.0 : a > b ? lower : -lower));
                assert_true(F[a * M + b] == E[a * M + b]);
            }
        free(packed);
        free(E);
        free(F);
    }
}

static void exponential_is_the_series(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; i++)
        for (double size = 1e-4; size < 5.0; size *= 10.0)
            for (double a = 0.25; a <= 1.0; a *= 2.0) {
                int64_t M = sizes[i];
                skew_case c = skew_create(M, size);
                tl_skew_exp(&c.skew, a, c.lent, c.Q);
                for (int64_t e = 0; e < M * M; e++)
                    c.E[e] *= a;
                naive_exp(M, c.E, c.other);
                double norm = fmax(1.0, c.skew.norm);
                assert_near(largest_difference(M * M, c.Q, c.other), 0.0, 3e-14 * norm);
                assert_true(tl_orthogonality(M, c.Q, c.scratch) < 3e-14 * norm);
                skew_destroy(&c);
            }
}

/* The polar factor of I + aE by its definition: orthogonal, and Q' (I + aE) symmetric positive. */
static void polar_factor_is_polar(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; i++)
        for (double size = 1e-4; size < 500.0; size *= 10.0) {
            int64_t M = sizes[i];
            skew_case c = skew_create(M, size);
            tl_skew_polar(&c.skew, 0.5, c.lent, c.Q);
            assert_true(tl_orthogonality(M, c.Q, c.scratch) < 1e-13);
            double *A = new_doubles(M * M);
            for (int64_t a = 0; a < M; a++)
                for (int64_t b = 0; b < M; b++) /* (I + E/2) Q' = sqrt((I + E/2)(I + E/2)') */
                    for (int64_t k = 0; k < M; k++)
                        A[a * M + b] +=
                            (0.5 * c.E[a * M + k] + (a == k ? 1.0 : 0.0)) * c.Q[b * M + k];
            double scale = 1.0 + c.skew.norm;
            for (int64_t a = 0; a < M; a++) {
                assert_true(A[a * M + a] > 0.0);
                for (int64_t b = 0; b < a; b++)
                    assert_near(A[a * M + b], A[b * M + a], 1e-13 * scale);
            }
            memcpy(c.other, c.E, (size_t)(M * M) * sizeof(double));
            for (int64_t e = 0; e < M * M; e++)
                c.other[e] = 0.5 * c.other[e] + (e % (M + 1) == 0 ? 1.0 : 0.0);
            assert_ok(c.ctx, tl_polar(c.ctx, M, c.other)); /* by singular values */
            assert_near(largest_difference(M * M, c.Q, c.other), 0.0, 1e-12);
            free(A);
            skew_destroy(&c);
        }
}

/* Any matrix: the factor Q is orthogonal, and Q' A is symmetric and positive semidefinite. */
static void polar_factor_of_any_matrix(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    for (int i = 0; i <= SIZES; i++) /* the last: only by products */
        for (int kind = 0; kind < 3; kind++) {
            int64_t M = i < SIZES ? sizes[i] : 300;
            tl_rng rng;
            tl_rng_seed(&rng, TL_STREAM_OWN, 6, (uint64_t)i);
            double *A = new_normals(&rng, M * M), *Q = new_doubles(M * M),
                   *scratch = new_doubles(M * M);
            for (int64_t e = 0; e < M * M; e++) {
                int64_t row = e / M;
                if (kind == 1)
                    A[e] *= pow(10.0, -8.0 * (double)row / (double)M); /* badly scaled rows */
                if (kind == 2 && row == M - 1)
                    A[e] = M > 1 ? A[e - M] : 0.0; /* singular */
            }
            memcpy(Q, A, (size_t)(M * M) * sizeof *Q);
            assert_ok(ctx, tl_polar(ctx, M, Q));
            assert_true(tl_orthogonality(M, Q, scratch) < 1e-13);
            tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, M, M, 1.0, A, M, Q, M, 0.0, scratch, M);
            for (int64_t a = 0; a < M; a++) {
                assert_true(scratch[a * M + a] > -1e-12);
                for (int64_t b = 0; b < a; b++)
                    assert_near(scratch[a * M + b], scratch[b * M + a], 1e-12 * (double)M);
            }
            free(A);
            free(Q);
            free(scratch);
        }
    tlnmf_ctx_free(ctx);
}

static void fixed_transforms_are_orthogonal(void **state)
{
    (void)state;
    static const tl_transform kinds[] = {TL_TRANSFORM_DCT, TL_TRANSFORM_DFT, TL_TRANSFORM_IDENTITY};
    tlnmf_ctx *ctx = new_ctx();
    for (int i = 0; i < SIZES; i++)
        for (int k = 0; k < 3; k++) {
            int64_t M = sizes[i];
            double *Phi = new_doubles(M * M), *scratch = new_doubles(M * M);
            assert_ok(ctx, tl_fixed_transform(ctx, kinds[k], M, Phi));
            assert_true(tl_orthogonality(M, Phi, scratch) < 1e-14);
            free(Phi);
            free(scratch);
        }
    double not_a_number[4] = {NAN, 0.0, 0.0, 1.0}, scratch_of_it[4]; /* its last row has norm 1 */
    assert_true(isnan(tl_orthogonality(2, not_a_number, scratch_of_it)));
    double Phi[4];
    assert_int_equal(tl_fixed_transform(ctx, TL_TRANSFORM_RANDOM, 2, Phi), TLNMF_ERR_OPTION);
    assert_int_equal(tl_fixed_transform(ctx, TL_TRANSFORM_DCT, 0, Phi), TLNMF_ERR_SHAPE);
    tlnmf_ctx_free(ctx);
}

/* A sinusoid of whole periods is in the span of one pair of DFT rows. */
static void dft_rows_are_quadrature_pairs(void **state)
{
    (void)state;
    enum { M = 16 };
    double Phi[M * M];
    tl_dft(M, Phi);
    for (int k = 1; k < M / 2; k++) {
        double inside = 0.0;
        for (int row = 0; row < M; row++) {
            double x = 0.0;
            for (int m = 0; m < M; m++)
                x += Phi[row * M + m] * cos(2.0 * 3.14159265358979323846 * k * m / M + 0.3);
            inside += (row == 2 * k - 1 || row == 2 * k) ? x * x : 0.0;
        }
        assert_near(inside, M / 2.0, 1e-12);
    }
}

static void products_of_gram_and_gemm_agree(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; i++) {
        int64_t M = sizes[i];
        tl_rng rng;
        tl_rng_seed(&rng, TL_STREAM_OWN, 5, (uint64_t)i);
        double *A = new_normals(&rng, M * M), *B = new_doubles(M * M), *C = new_doubles(M * M);
        double *transposed = new_doubles(M * M);
        for (int64_t a = 0; a < M; a++)
            for (int64_t b = 0; b < M; b++)
                transposed[b * M + a] = A[a * M + b];
        tl_gram(M, M, 2.0, A, B);
        multiply(M, A, transposed, C);
        for (int64_t e = 0; e < M * M; e++)
            assert_near(B[e], 2.0 * C[e], 1e-12);
        free(A);
        free(B);
        free(C);
        free(transposed);
    }
}

static void sizes_beyond_blas_are_refused(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    assert_int_equal(tl_check_size(ctx, "N", (int64_t)1 << 31), TLNMF_ERR_TOO_LARGE);
    assert_string_equal(tlnmf_message(ctx),
                        "N = 2147483648 is more than BLAS can count (2147483647)");
    tlnmf_ctx_free(ctx);
}

/* A = F F' of rank r: the solution gives back every b in the range of A, and its own row when A is
 * regular. */
static void semidefinite_systems(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 1);
    for (int i = 0; i < SIZES; i++) {
        int64_t n = sizes[i];
        for (int64_t rank = 0; rank <= n; rank += 1 + n / 3) {
            enum { COUNT = 3 };
            double *F = new_normals(&rng, n * n), *A = new_doubles(n * n);
            double *x = new_normals(&rng, COUNT * n), *b = new_doubles(COUNT * n);
            for (int64_t a = 0; a < n; a++)
                for (int64_t c = 0; c < n; c++)
                    for (int64_t k = 0; k < rank; k++)
                        A[a * n + c] += F[a * n + k] * F[c * n + k];
            for (int64_t k = 0; k < COUNT; k++)
                for (int64_t a = 0; a < n; a++)
                    for (int64_t c = 0; c < n; c++)
                        b[k * n + a] += A[a * n + c] * x[k * n + c];
            tl_copy(F, A, n * n);
            tl_copy(x, b, COUNT * n);
            assert_ok(ctx, tl_solve_semidefinite(ctx, n, F, COUNT, x));
            for (int64_t k = 0; k < COUNT; k++)
                for (int64_t a = 0; a < n; a++) {
                    double sum = 0.0;
                    for (int64_t c = 0; c < n; c++)
                        sum += A[a * n + c] * x[k * n + c];
                    assert_near(sum, b[k * n + a], 1e-9 * (1.0 + largest(COUNT * n, b)));
                }
            free(F);
            free(A);
            free(x);
            free(b);
        }
    }
    tlnmf_ctx_free(ctx);
}

/* ---- assignment ------------------------------------------------------------------------------ */

static double best_by_trying(int64_t n, const double *cost, int64_t row, unsigned taken)
{
    double best = INFINITY;
    if (row == n)
        return 0.0;
    for (int64_t j = 0; j < n; j++)
        if ((taken & (1u << j)) == 0)
            best =
                fmin(best, cost[row * n + j] + best_by_trying(n, cost, row + 1, taken | (1u << j)));
    return best;
}

static void assignments_are_optimal(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 4, 0);
    for (int trial = 0; trial < 300; trial++) {
        int64_t n = pick(&rng, 1, 6), match[6];
        double *cost = new_normals(&rng, n * n), sum = 0.0;
        for (int64_t i = 0; trial % 3 == 0 && i < n * n; i++)
            cost[i] = floor(2.0 * cost[i]); /* ties */
        assert_ok(ctx, tl_assign(ctx, n, cost, match));
        unsigned seen = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += cost[i * n + match[i]];
            seen |= 1u << match[i];
        }
        assert_int_equal(seen, (1u << n) - 1);
        assert_near(sum, best_by_trying(n, cost, 0, 0), 1e-12);
        free(cost);
    }
    double bad[1] = {NAN};
    int64_t match;
    assert_int_equal(tl_assign(ctx, 1, bad, &match), TLNMF_ERR_DATA);
    tlnmf_ctx_free(ctx);
}

/* 50! permutations: the hidden one is far better than the rest. */
static void a_large_assignment_is_found(void **state)
{
    enum { MANY = 50 };
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 3, 1);
    double *cost = new_normals(&rng, MANY * MANY);
    int64_t column[MANY];
    for (int64_t i = 0; i < MANY; i++)
        cost[i * MANY + (17 * i + 5) % MANY] -= 100.0;
    assert_ok(ctx, tl_assign(ctx, MANY, cost, column));
    for (int64_t i = 0; i < MANY; i++)
        assert_int_equal(column[i], (17 * i + 5) % MANY);
    free(cost);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skew_matrices_follow_from_a_triangle),
        cmocka_unit_test(exponential_is_the_series),
        cmocka_unit_test(polar_factor_is_polar),
        cmocka_unit_test(polar_factor_of_any_matrix),
        cmocka_unit_test(fixed_transforms_are_orthogonal),
        cmocka_unit_test(dft_rows_are_quadrature_pairs),
        cmocka_unit_test(products_of_gram_and_gemm_agree),
        cmocka_unit_test(semidefinite_systems),
        cmocka_unit_test(sizes_beyond_blas_are_refused),
        cmocka_unit_test(assignments_are_optimal),
        cmocka_unit_test(a_large_assignment_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
