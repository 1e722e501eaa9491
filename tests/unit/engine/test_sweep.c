/* Jacobi sweeps, compared with their definition. */
#include "support.h"

#include "engine/jacobi.h"
#include "model/kernels.h"

/* Rows to rotate: random data with random weights. */
typedef struct rows {
    int64_t M, N, T;
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    double *Phi, *X, *V, *U, *scratch;
} rows;

static rows create(uint64_t seed, int64_t S, int64_t M, int64_t N)
{
    rows r = {.M = M, .N = N, .ctx = new_ctx()};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, seed, 0);
    double *Y = new_normals(&rng, S * M * N);
    r.data = data_of(r.ctx, Y, S, M, N);
    free(Y);
    r.T = r.data->T;
    r.Phi = new_normals(&rng, M * M);
    assert_ok(r.ctx, tl_polar(r.ctx, M, r.Phi));
    r.U = new_positives(&rng, M * N);
    r.X = new_doubles(M * r.T);
    r.V = new_doubles(M * N);
    r.scratch = new_doubles(tl_sweep_scratch(r.data, NULL, 1));
    tl_coefficients(r.data, &tl_double, r.Phi, r.X, r.V);
    return r;
}

static void destroy(rows *r)
{
    double *arrays[] = {r->Phi, r->X, r->V, r->U, r->scratch};
    for (int i = 0; i < 5; i++)
        free(arrays[i]);
    tlnmf_data_free(r->data);
    tlnmf_ctx_free(r->ctx);
}

/* The number of the poll that stops the sweep, from 0; -1: none. */
static int patience = -1;

static int count_polls(const tlnmf_record *progress, void *user)
{
    int *asked = user;
    (void)progress;
    return patience >= 0 && ++*asked > patience;
}

static double sweep(rows *r)
{
    int asked = 0;
    tl_scope outer;
    tl_monitor *monitor = r->ctx->monitor;
    tlnmf_ctx_set_progress(r->ctx, count_polls, &asked);
    monitor->every = 0.0;
    tl_monitor_enter(monitor, 0.0, NULL, &outer);
    double gain = tl_sweep_double(&(tl_sweep){.data = r->data,
                                              .U = r->U,
                                              .X = r->X,
                                              .Phi = r->Phi,
                                              .scratch = r->scratch,
                                              .frames = (double)r->N,
                                              .monitor = monitor});
    tl_monitor_leave(monitor, &outer);
    tl_power(r->data, r->X, r->V);
    return gain;
}

static double weighted_sum(const rows *r)
{
    double sum = 0.0;
    for (int64_t i = 0; i < r->M * r->N; i++)
        sum += r->U[i] * r->V[i];
    return sum;
}

/* X = Phi R still holds, Phi is orthogonal, and the sum decreased by the returned gain. */
static void a_sweep_is_a_rotation_that_lowers_the_sum(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 2, 5},  {1, 7, 9},   {3, 8, 12},
                                        {1, 9, 33}, {5, 17, 20}, {1, 40, 31}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        rows r = create(i + 1, shapes[i][0], shapes[i][1], shapes[i][2]);
        double before = weighted_sum(&r), gain = sweep(&r), after = weighted_sum(&r);
        double *X = new_doubles(r.M * r.T), *scratch = new_doubles(r.M * r.M);
        assert_true(gain > 0.0);
        assert_near(before - after, gain, 1e-10 * before);
        tl_coefficients(r.data, &tl_double, r.Phi, X, r.V);
        assert_near(largest_difference(r.M * r.T, X, r.X), 0.0, 1e-13 * largest(r.M * r.T, X));
        assert_near(weighted_sum(&r), after, 1e-12 * after);
        assert_true(tl_orthogonality(r.M, r.Phi, scratch) < 1e-13);
        free(X);
        free(scratch);
        destroy(&r);
    }
}

/* The same holds for stopped sweeps, of few rows and of long rows; sweeps that stop later gain
 * more. */
static void a_stopped_sweep_is_a_part_of_one(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{5, 33, 20}, {1, 40, 31}, {1, 17, 700}};
    static const int stops[] = {0, 1, 3, 5, -1};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        double last = -1.0;
        for (size_t j = 0; j < sizeof stops / sizeof *stops; j++) {
            rows r = create(i + 1, shapes[i][0], shapes[i][1], shapes[i][2]);
            double *X = new_doubles(r.M * r.T), *scratch = new_doubles(r.M * r.M);
            patience = stops[j];
            double before = weighted_sum(&r), gain = sweep(&r);
            patience = -1;
            assert_near(before - weighted_sum(&r), gain, 1e-10 * before);
            assert_true(gain > last);
            last = gain;
            tl_coefficients(r.data, &tl_double, r.Phi, X, r.V);
            assert_near(largest_difference(r.M * r.T, X, r.X), 0.0, 1e-13 * largest(r.M * r.T, X));
            assert_true(tl_orthogonality(r.M, r.Phi, scratch) < 1e-13);
            free(X);
            free(scratch);
            destroy(&r);
        }
    }
}

/* Two rows: the angle of the sweep is better than ten thousand others. */
static void a_pair_is_rotated_to_its_minimum(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 30; seed++) {
        rows r = create(seed, 2, 2, 6);
        double Phi[4], least = INFINITY;
        memcpy(Phi, r.Phi, sizeof Phi);
        for (int i = 0; i < 10000; i++) {
            double t = 3.14159265358979 * i / 10000.0;
            for (int m = 0; m < 2; m++) {
                r.Phi[m] = cos(t) * Phi[m] + sin(t) * Phi[2 + m];
                r.Phi[2 + m] = cos(t) * Phi[2 + m] - sin(t) * Phi[m];
            }
            tl_coefficients(r.data, &tl_double, r.Phi, r.X, r.V);
            least = fmin(least, weighted_sum(&r));
        }
        memcpy(r.Phi, Phi, sizeof Phi);
        tl_coefficients(r.data, &tl_double, r.Phi, r.X, r.V);
        sweep(&r);
        assert_true(weighted_sum(&r) <= least * (1.0 + 1e-12));
        destroy(&r);
    }
}

/* Rows in the wrong order for their weights: a few sweeps permute them. */
static void a_sweep_finds_permutations(void **state)
{
    (void)state;
    enum { M = 6, N = 12 };
    double Y[M * N] = {0};
    for (int n = 0; n < N; n++)
        Y[(n % M) * N + n] = 1.0; /* frame n has all its power in row n mod M */
    rows r = create(1, 1, M, N);
    tlnmf_data_free(r.data);
    r.data = data_of(r.ctx, Y, 1, M, N);
    tl_identity(M, r.Phi);
    tl_coefficients(r.data, &tl_double, r.Phi, r.X, r.V);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N;
             n++) /* weights for which row m of Phi should select the next row of Y */
            r.U[m * N + n] = (m + 1) % M == n % M ? 0.1 : 1.0;
    for (int i = 0; i < 3; i++)
        sweep(&r);
    for (int m = 0; m < M; m++)
        assert_near(fabs(r.Phi[m * M + (m + 1) % M]), 1.0, 1e-12);
    destroy(&r);
}

/* If columns are dropped after the memory was estimated, a sweep needs no more memory. */
static void fewer_columns_need_no_more_scratch(void **state)
{
    (void)state;
    static const int64_t sizes[] = {3, 64, 130, 512};
    for (int i = 0; i < 4; i++)
        for (int64_t threads = 1; threads <= 16; threads *= 4) {
            int64_t before = 0;
            for (int64_t T = 1; T < 9000; T++) {
                tlnmf_data data = {.M = sizes[i], .N = T, .all = T, .S = 1, .T = T};
                int64_t now = tl_sweep_scratch(&data, NULL, threads);
                assert_true(now >= before);
                before = now;
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sweep_is_a_rotation_that_lowers_the_sum),
        cmocka_unit_test(a_stopped_sweep_is_a_part_of_one),
        cmocka_unit_test(a_pair_is_rotated_to_its_minimum),
        cmocka_unit_test(a_sweep_finds_permutations),
        cmocka_unit_test(fewer_columns_need_no_more_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
