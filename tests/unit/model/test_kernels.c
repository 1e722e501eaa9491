/* Every kernel against its plain-loop twin, at awkward sizes. */
#include "support.h"

#include "linalg/linalg.h"
#include "model/model.h"
#include "model/naive.h"

/* S, M, N, K: ones, primes, one off the panel of 32, more components than rows. */
static const int64_t shapes[][4] = {
    {1, 1, 1, 1},   {1, 2, 3, 1},    {1, 7, 13, 3},   {3, 5, 31, 2},
    {2, 11, 32, 4}, {4, 10, 33, 5},  {10, 17, 64, 6}, {1, 31, 65, 2},
    {2, 3, 97, 11}, {30, 13, 7, 20}, {1, 40, 151, 1}, {1, 16, 96, 3},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct problem {
    int64_t S, M, N, K;
    double eps;
    double *Y, *V, *U, *A, *B;
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tl_model model;
} problem;

static problem create(int which)
{
    const int64_t *shape = shapes[which];
    problem p = {.S = shape[0], .M = shape[1], .N = shape[2], .K = shape[3], .eps = 1e-3};
    tl_rng rng;
    tl_rng_seed(&rng, TLNMF_STREAM_OWN, 77, (uint64_t)which);
    p.ctx = new_ctx();
    p.Y = new_normals(&rng, p.S * p.M * p.N);
    if (p.N > 5) /* a silent frame and a repeated one */
        for (int64_t i = 0; i < p.S * p.M; i++) {
            p.Y[i * p.N + 2] = 0.0;
            p.Y[i * p.N + 4] = p.Y[i * p.N + 3];
        }
    assert_ok(p.ctx, tlnmf_data_from_realisations(p.ctx, p.Y, p.S, p.M, p.N, &p.data));
    assert_ok(p.ctx, tl_model_create(p.ctx, p.data, p.K, p.eps, 1.0, &p.model));
    double *parts[] = {p.model.Phi, p.model.W, p.model.H};
    int64_t counts[] = {p.M * p.M, p.M * p.K, p.K * p.N};
    for (int i = 0; i < 3; i++)
        for (int64_t e = 0; e < counts[i]; e++)
            parts[i][e] = i == 0 ? tl_rng_normal(&rng) : fabs(tl_rng_normal(&rng)) + 0.01;
    assert_ok(p.ctx, tl_polar(p.ctx, p.M, p.model.Phi));
    tl_model_refresh(&p.model);
    p.V = new_doubles(p.M * p.N);
    p.U = new_doubles(p.M * p.N);
    p.A = new_doubles(p.M * p.M + p.M * p.K + p.K * p.N);
    p.B = new_doubles(p.M * p.M + p.M * p.K + p.K * p.N);
    tl_naive_power(p.S, p.M, p.N, p.Y, p.model.Phi, p.V);
    return p;
}

static void destroy(problem *p)
{
    tl_model_free(&p->model);
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
    free(p->Y);
    free(p->V);
    free(p->U);
    free(p->A);
    free(p->B);
}

static void power(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        problem p = create(i);
        assert_near(largest_difference(p.M * p.N, p.model.V, p.V), 0.0,
                    1e-13 * largest(p.M * p.N, p.V));
        destroy(&p);
    }
}

static void objectives(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        problem p = create(i);
        tl_values v = tl_model_values(&p.model);
        double count = (double)(p.M * p.N);
        assert_near(v.C, tl_naive_C(p.M, p.N, p.K, p.V, p.model.W, p.model.H, p.eps),
                    1e-12 * (fabs(v.C) + count));
        assert_near(v.L, tl_naive_L(p.M, p.N, p.V, p.eps), 1e-12 * (fabs(v.L) + count));
        assert_near(v.I, tl_naive_I(p.M, p.N, p.K, p.V, p.model.W, p.model.H, p.eps),
                    1e-12 * (fabs(v.I) + count));
        assert_near(v.C, v.L + v.I, 1e-12 * (fabs(v.C) + count));
        destroy(&p);
    }
}

static void gradient_and_gamma(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        problem p = create(i);
        tl_model_weights_C(&p.model);
        tl_gradient(p.data, &tl_double, p.model.X, p.model.U, p.model.UX, p.model.G);
        tl_naive_gradient(p.S, p.M, p.N, p.Y, p.model.Phi, p.model.U, p.A);
        assert_near(largest_difference(p.M * p.M, p.model.G, p.A), 0.0,
                    1e-12 * largest(p.M * p.M, p.A));
        tl_gamma(&tl_double, p.M, p.N, p.model.U, p.model.V, p.model.Gamma);
        tl_naive_gamma(p.M, p.N, p.model.U, p.V, p.A);
        assert_near(largest_difference(p.M * p.M, p.model.Gamma, p.A), 0.0,
                    1e-12 * largest(p.M * p.M, p.A));
        destroy(&p);
    }
}

static void updates(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++)
        for (double gamma = 0.5; gamma <= 1.0; gamma *= 2.0) {
            problem p = create(i);
            double *W = p.A, *H = p.A + p.M * p.K;
            memcpy(W, p.model.W, (size_t)(p.M * p.K) * sizeof *W);
            memcpy(H, p.model.H, (size_t)(p.K * p.N) * sizeof *H);
            p.model.mu.gamma = gamma;
            tl_mu_begin(&p.model.mu, p.model.V, p.model.U);
            for (int step = 0; step < 3; step++) {
                tl_mu_update(&p.model.mu, p.eps, p.model.W, p.model.H);
                tl_naive_mu(p.M, p.N, p.K, gamma, p.V, p.eps, W, H);
                assert_near(largest_difference(p.M * p.K, p.model.W, W), 0.0, 1e-11);
                assert_near(largest_difference(p.K * p.N, p.model.H, H), 0.0,
                            1e-11 * largest(p.K * p.N, H));
            }
            destroy(&p);
        }
}

/* Zeros stay, a dead component (all of W_k or H_k zero) does no harm. */
static void updates_keep_zeros(void **state)
{
    (void)state;
    problem p = create(5);
    for (int64_t n = 0; n < p.N; n++)
        p.model.H[1 * p.N + n] = 0.0;
    for (int64_t m = 0; m < p.M; m++)
        p.model.W[m * p.K + 2] = 0.0;
    p.model.W[0] = 0.0;
    tl_mu_begin(&p.model.mu, p.model.V, p.model.U);
    for (int step = 0; step < 20; step++)
        tl_mu_update(&p.model.mu, p.eps, p.model.W, p.model.H);
    assert_true(p.model.W[0] == 0.0);
    for (int64_t n = 0; n < p.N; n++)
        assert_true(p.model.H[1 * p.N + n] == 0.0);
    for (int64_t i = 0; i < p.M * p.K; i++)
        assert_true(isfinite(p.model.W[i]));
    for (int64_t i = 0; i < p.K * p.N; i++)
        assert_true(isfinite(p.model.H[i]));
    destroy(&p);
}

/* The sum of logarithms at every scale a double has, and at lengths around its blocks. */
static void sum_of_logs(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 1, 15, 16, 17, 8191, 8192, 8193, 20000};
    tl_rng rng;
    tl_rng_seed(&rng, TLNMF_STREAM_OWN, 3, 0);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        double *x = new_doubles(lengths[i]), sum = 0.0, size = 1.0;
        for (int64_t e = 0; e < lengths[i]; e++) {
            x[e] = exp2(2000.0 * tl_rng_uniform(&rng) - 1000.0);
            sum += log(x[e] + 1e-300);
            size += fabs(log(x[e] + 1e-300));
        }
        assert_near(tl_sum_log(lengths[i], x, 1e-300), sum, 1e-14 * size);
        free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power),
        cmocka_unit_test(objectives),
        cmocka_unit_test(gradient_and_gamma),
        cmocka_unit_test(updates),
        cmocka_unit_test(updates_keep_zeros),
        cmocka_unit_test(sum_of_logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
