/* Every kernel, compared with its plain-loop twin at awkward sizes. */
#include "support.h"

#include "model/kernels.h"
#include "reference/naive_kernels.h"

/* S, M, N, K: ones, primes, one off the panel of 32, more components than rows. */
static const int64_t shapes[][4] = {
    {1, 1, 1, 1},    {1, 2, 3, 1},    {1, 7, 13, 3},  {3, 5, 31, 2},  {2, 11, 32, 4},
    {4, 10, 33, 5},  {10, 17, 64, 6}, {1, 31, 65, 2}, {2, 3, 97, 11}, {30, 13, 7, 20},
    {1, 40, 151, 1}, {1, 16, 96, 3},  {1, 7, 1, 3},   {2, 19, 1, 37},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct problem {
    int64_t S, M, N, K;
    double eps;
    double *Y, *Phi, *W, *H, *X, *V, *U, *UX, *G;
    double *V_true, *A; /* the twins' */
    tl_mu mu;
    void *block;
    tlnmf_ctx *ctx;
    tlnmf_data *data;
} problem;

static problem create(int which)
{
    const int64_t *shape = shapes[which];
    problem p = {.S = shape[0], .M = shape[1], .N = shape[2], .K = shape[3], .eps = 1e-3};
    int64_t M = p.M, N = p.N, K = p.K;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 77, (uint64_t)which);
    p.ctx = new_ctx();
    p.Y = new_normals(&rng, p.S * M * N);
    if (N > 5) /* a silent frame and a repeated one */
        for (int64_t i = 0; i < p.S * M; i++) {
            p.Y[i * N + 2] = 0.0;
            p.Y[i * N + 4] = p.Y[i * N + 3];
        }
    p.data = data_of(p.ctx, p.Y, p.S, M, N);
    p.Phi = new_normals(&rng, M * M);
    p.W = new_positives(&rng, M * K);
    p.H = new_positives(&rng, K * N);
    assert_ok(p.ctx, tl_polar(p.ctx, M, p.Phi));
    p.X = new_doubles(M * p.data->T);
    p.V = new_doubles(M * N);
    p.U = new_doubles(M * N);
    p.UX = new_doubles(tl_gradient_scratch(p.data));
    p.G = new_doubles(M * M);
    p.V_true = new_doubles(M * N);
    p.A = new_doubles(M * M + M * K + K * N);
    tl_coefficients(p.data, &tl_double, p.Phi, p.X, p.V);
    tl_weights(M, N, K, p.W, p.H, p.eps, p.U);
    tl_naive_power(p.S, M, N, p.Y, p.Phi, p.V_true);
    tl_slot table[TL_MU_SLOTS];
    tl_mu_slots(&p.mu, M, N, K, table);
    assert_ok(p.ctx, TL_ARENA(p.ctx, "a test", table, &p.block));
    p.mu.gamma = 1.0;
    return p;
}

static void destroy(problem *p)
{
    double *arrays[] = {p->Y, p->Phi, p->W, p->H, p->X, p->V, p->U, p->UX, p->G, p->V_true, p->A};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    tl_release(&p->ctx->hooks, p->block);
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
}

static void power(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        problem p = create(i);
        assert_near(largest_difference(p.M * p.N, p.V, p.V_true), 0.0,
                    1e-13 * largest(p.M * p.N, p.V));
        destroy(&p);
    }
}

static void objectives(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        problem p = create(i);
        int64_t MN = p.M * p.N;
        double count = (double)MN;
        double C = tl_sum_product(MN, p.V, p.eps, p.U) - tl_sum_log(MN, p.U, 0.0);
        double L = count + tl_sum_log(MN, p.V, p.eps), I = tl_divergence(MN, p.V, p.eps, p.U);
        assert_near(C, tl_naive_C(p.M, p.N, p.K, p.V_true, p.W, p.H, p.eps),
                    1e-12 * (fabs(C) + count));
        assert_near(L, tl_naive_L(p.M, p.N, p.V_true, p.eps), 1e-12 * (fabs(L) + count));
        assert_near(I, tl_naive_I(p.M, p.N, p.K, p.V_true, p.W, p.H, p.eps),
                    1e-12 * (fabs(I) + count));
        assert_near(C, L + I, 1e-12 * (fabs(C) + count));
        destroy(&p);
    }
}

static void gradient_and_gamma(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        problem p = create(i);
        tl_gradient(p.data, &tl_double, p.X, p.U, p.UX, p.G);
        tl_naive_gradient(p.S, p.M, p.N, p.Y, p.Phi, p.U, p.A);
        assert_near(largest_difference(p.M * p.M, p.G, p.A), 0.0, 1e-12 * largest(p.M * p.M, p.A));
        tl_gamma(&tl_double, p.M, p.N, p.U, p.V, p.G);
        tl_naive_gamma(p.M, p.N, p.U, p.V_true, p.A);
        assert_near(largest_difference(p.M * p.M, p.G, p.A), 0.0, 1e-12 * largest(p.M * p.M, p.A));
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
            memcpy(W, p.W, (size_t)(p.M * p.K) * sizeof *W);
            memcpy(H, p.H, (size_t)(p.K * p.N) * sizeof *H);
            p.mu.gamma = gamma;
            tl_mu_begin(&p.mu, p.V, p.U);
            for (int step = 0; step < 3; step++) {
                tl_mu_update(&p.mu, p.eps, p.W, p.H);
                tl_naive_update(&(tl_naive_nmf){p.M, p.N, p.K, gamma, p.eps, p.V_true, W, H, NULL});
                assert_near(largest_difference(p.M * p.K, p.W, W), 0.0, 1e-11);
                assert_near(largest_difference(p.K * p.N, p.H, H), 0.0,
                            1e-11 * largest(p.K * p.N, H));
            }
            destroy(&p);
        }
}

/* (8) computed from its sums has the bits of (8), since the sums are the same. */
static void update_of_W_in_two_parts(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        problem p = create(i);
        int64_t MK = p.M * p.K, KN = p.K * p.N;
        double *W = new_doubles(MK), *H = new_doubles(KN), *num = new_doubles(MK),
               *den = new_doubles(MK);
        memcpy(W, p.W, (size_t)MK * sizeof *W);
        memcpy(H, p.H, (size_t)KN * sizeof *H);
        tl_mu_begin(&p.mu, p.V, p.U);
        tl_mu_update(&p.mu, p.eps, p.W, p.H);
        tl_mu_update_H(&p.mu, p.eps, W, H);
        tl_mu_sums_W(&p.mu, p.eps, W, H, num, den);
        tl_mu_scale_W(&p.mu, num, den, W);
        tl_normalise(p.M, p.N, p.K, W, H);
        assert_memory_equal(W, p.W, (size_t)MK * sizeof *W);
        assert_memory_equal(H, p.H, (size_t)KN * sizeof *H);
        double *arrays[] = {W, H, num, den};
        for (int a = 0; a < 4; a++)
            free(arrays[a]);
        destroy(&p);
    }
}

/* Zeros are kept; a dead component (all of W_k or H_k zero) is harmless. */
static void updates_keep_zeros(void **state)
{
    (void)state;
    problem p = create(5);
    for (int64_t n = 0; n < p.N; n++)
        p.H[1 * p.N + n] = 0.0;
    for (int64_t m = 0; m < p.M; m++)
        p.W[m * p.K + 2] = 0.0;
    p.W[0] = 0.0;
    tl_mu_begin(&p.mu, p.V, p.U);
    for (int step = 0; step < 20; step++)
        tl_mu_update(&p.mu, p.eps, p.W, p.H);
    assert_true(p.W[0] == 0.0);
    for (int64_t n = 0; n < p.N; n++)
        assert_true(p.H[1 * p.N + n] == 0.0);
    for (int64_t i = 0; i < p.M * p.K; i++)
        assert_true(isfinite(p.W[i]));
    for (int64_t i = 0; i < p.K * p.N; i++)
        assert_true(isfinite(p.H[i]));
    destroy(&p);
}

/* The sum of logarithms at all scales of doubles, and at lengths around its block size. */
static void sum_of_logs(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 1, 15, 16, 17, 8191, 8192, 8193, 20000};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 3, 0);
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
        cmocka_unit_test(update_of_W_in_two_parts),
        cmocka_unit_test(updates_keep_zeros),
        cmocka_unit_test(sum_of_logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
